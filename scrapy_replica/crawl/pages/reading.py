"""Which pages are read: all of them, and a share where there seems to be nothing to save."""

from __future__ import annotations

from collections import Counter

import mmh3

from scrapy_replica.crawl.recent import Recent
from scrapy_replica.urls.shapes import shape

QUIET = 300
"""Pages in a row without a sign that fetches can be saved, after which not all are read."""
EVERY = 8
"""Of so many pages one is read then."""
FIRST = 30
"""Pages of a host, and of a set of arguments there, that are read whatever was found before."""
MAX_KINDS = 20_000
"""Hosts and sets of arguments that are counted; with one more all are counted anew."""
SHORT = 500
"""Bytes of text; a page of fewer is read, since many may say as little."""


class Reading:
    """Tells which pages are read for their main text, and compared by it.

    One that is not read is known by its URL, its head and its links. It is new, since no page so far has all of its
    text, word by word; it proves nothing, and is no evidence. Two such pages of one text are a sign that fetches can be
    saved, and so is whatever was found by reading: then all pages are read, until nothing was found for a while.

    :param salt: what draws depend on besides the URL.
    """

    def __init__(self, salt: int, *, reads_all: bool) -> None:
        self.reads_all = reads_all
        """Somebody uses what each page says."""
        self._salt, self._quiet = salt, 0
        self._texts, self._kinds = Recent(), Counter[str]()

    def found(self) -> None:
        """Take note of a sign that fetches can be saved."""
        self._quiet = 0

    def wants(self, url: str, text: bytes) -> bool:
        """Tell whether the page at *url* is to be read; *text* is all of its text, main or not, as its source has it.

        To be asked once for each page, those that are read for another reason as well.
        """
        if not self._texts.add(mmh3.hash64(text)[0]):
            self.found()
        self._quiet += 1
        kind = _kind_of(url)
        if len(self._kinds) >= MAX_KINDS:
            self._kinds.clear()
        self._kinds[kind] += 1
        is_known_kind = self._quiet > QUIET and self._kinds[kind] > FIRST
        return not is_known_kind or len(text) < SHORT or shape(url) is not None or self._is_drawn(url)

    def _is_drawn(self, url: str) -> bool:
        number: int = mmh3.hash64(url.encode("utf-8", "surrogatepass"), self._salt, signed=False)[0]
        return number % EVERY == 0


def _kind_of(url: str) -> str:
    base, _, query = url.partition("?")
    names = sorted({argument.partition("=")[0] for argument in query.replace(";", "&").split("&")})
    return "&".join([*base.split("/", 3)[2:3], *names])
