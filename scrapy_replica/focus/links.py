"""What a link says about its target before it is fetched: its anchor text, the words and the directory of its URL."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from urllib.parse import unquote, urlsplit

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.address import host_of
from scrapy_replica.numeric import FloatArray
from scrapy_replica.records import Link

CACHED_LINKS = 200_000
MOST_WORDS = 16
"""Buckets of a link that are learnt from."""
CACHED_TEXTS, CACHED_URLS = 10_000, 1_000
"""Anchors, and URLs of the page at hand, whose terms are kept: some 7 MB."""
BUCKETS = 1 << 16
"""What the words of links are hashed to, 0 for none."""
DEEPEST = 8
"""Directories kept below a host; deeper ones are counted with their ancestor."""

_WORD = re.compile(r"[^\W\d_]+")
# What urlsplit does to nearly all URLs, at a third of its time.
_PLAIN = re.compile(r"https?://[A-Za-z0-9_.:-]+((?:/[^?#\t\r\n]*)?)(?:\?([^#\t\r\n]*))?(?:#[^\t\r\n]*)?")


class LinkWords:
    """Relevance of each link's own words, by the page model: called with links, returns floats 0..1, shape (n,).

    The words of navigation links repeat on every page, so answers are kept for at most ``CACHED_LINKS`` different links
    (about 60 MB), then forgotten all at once.
    """

    def __init__(
        self, relevance: Callable[[Mapping[str, int]], float], count_terms: Callable[[str], Mapping[str, int]]
    ) -> None:
        self._relevance = relevance
        self._text_terms = lru_cache(CACHED_TEXTS)(count_terms)
        self._url_terms = lru_cache(CACHED_URLS)(lambda url: count_terms(url_words(url)))
        self._known: dict[tuple[str, str], float] = {}

    def terms(self, link: Link) -> Mapping[str, int]:
        """Return the stem counts of the anchor text and of the words of the URL."""
        counts = dict(self._text_terms(link.text))
        for term, count in self._url_terms(link.url).items():
            counts[term] = counts.get(term, 0) + count
        return counts

    def buckets(self, link: Link, place: int) -> NDArray[np.uint16]:
        """Return what tells a link from others, hashed to 1..65535; shape (``MOST_WORDS``,), 0 where there is less.

        Its place among five of its page, how many words its anchor has, their stems, those of its URL. The same words
        have the same buckets on every site.
        """
        names = [f"#{min(9, place // 5)}", f"~{min(4, len(link.text.split()))}"]
        names += [f"a{term}" for term in self._text_terms(link.text)]
        names += [f"u{term}" for term in self._url_terms(link.url)]
        hashed = dict.fromkeys(map(_bucket, names))
        found = np.zeros(MOST_WORDS, dtype=np.uint16)
        found[: len(hashed)] = list(hashed)[:MOST_WORDS]  # a longer slice ends at the end
        return found

    def __call__(self, links: Sequence[Link]) -> FloatArray:
        return np.array([self._one(link) for link in links], dtype=np.float64)

    def _one(self, link: Link) -> float:
        key = link.url, link.text
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= CACHED_LINKS:
                self._known.clear()
            known = self._known[key] = finite(self._relevance(self.terms(link)))
        return known


@lru_cache(maxsize=50_000)
def _bucket(name: str) -> int:
    return zlib.crc32(name.encode("utf-8", "replace")) % (BUCKETS - 1) + 1


def finite(relevance: float) -> float:
    """Return *relevance*, 0 where a model has no answer."""
    return relevance if math.isfinite(relevance) else 0.0


def url_words(url: str) -> str:
    """Return the words of path and query, in order, without digits and marks."""
    return " ".join(_WORD.findall(unquote(" ".join(path_and_query(url)))))


def path_and_query(url: str) -> tuple[str, str]:
    """Return both as they stand in *url*."""
    if plain := _PLAIN.fullmatch(url):
        return plain[1], plain[2] or ""
    parts = urlsplit(url)
    return parts.path, parts.query


def directories(url: str) -> list[str]:
    """Return the host and the directories that hold *url*, outermost first, each as a prefix of the URL.

    >>> directories("http://a.org/x/y/z.html")
    ['a.org', 'a.org/x', 'a.org/x/y']
    """
    names = path_and_query(url)[0].split("/")[1:-1][:DEEPEST]
    prefixes = [host_of(url)]
    for name in names:
        prefixes.append(f"{prefixes[-1]}/{name}")
    return prefixes
