"""Permalinks: links of a page that lead back to it, as that of each post of a thread (``/viewtopic.php?p=17``).

No rewrite rule says so: what the page is called does not stand in them.
"""

from __future__ import annotations

import re

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.hosts.schemes import SameByOther
from scrapy_replica.crawl.urls.host_pages import form_of
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.urls.pattern import UrlPattern, argument_name, parse

PROVED = 8
"""Pages to which links of one shape on pages of one shape led back, and none elsewhere, before others are said to: five
that teach it and three that prove it, as of a rewrite rule."""
MAX_SHAPES = 10_000
"""Pairs of shapes that are remembered, some 300 bytes each; the one met first is forgotten first."""

_DIGITS = re.compile(r"\d+")


class Permalinks:
    """Knows on which pages which links lead back. One that leads elsewhere ends that for good.

    Held in memory: a job that goes on counts from none.
    """

    def __init__(self, store: CrawlDB) -> None:
        self._store = store
        self._back: dict[Claim, set[int]] = {}
        """Claim -> ids of the pages that links led back to, :data:`PROVED` at most; none where a link led elsewhere."""
        self._hosts: set[str] = set()
        """Hosts on which any claim may act."""

    def finder_of(self, url_id: int) -> str | None:
        """Return the URL of the page that the URL of that id was found on."""
        parent = self._store.urls.row(url_id).parent
        return None if parent is None else self._store.urls.url_of(parent)

    def add(self, url_id: int, *, is_back: bool) -> list[Claim]:
        """Take note whether the URL of that id led back to the page that it was found on; return what this refutes."""
        row = self._store.urls.row(url_id)
        found = self._claim(row.url, row.host, row.parent)
        if found is None or row.parent is None:
            return []
        claim = found[0]
        if claim not in self._back and len(self._back) >= MAX_SHAPES:
            del self._back[next(iter(self._back))]
        pages = self._back.setdefault(claim, {row.parent} if is_back else set())
        if not is_back:
            was_proved = len(pages) == PROVED
            pages.clear()
            return [claim] if was_proved else []
        if pages and len(pages) < PROVED:
            pages.add(row.parent)
            if len(pages) == PROVED:
                self._hosts.add(row.host)
        return []

    def same_of(self, url: str, host: str, found_on: int | None) -> SameByOther | None:
        """Return the URL of the page of that id, which *url* was *found on*, where links like it lead back."""
        found = self._claim(url, host, found_on) if host in self._hosts else None
        if found is None or found_on is None:
            return None
        claim, there = found
        is_acting = len(self._back.get(claim, ())) == PROVED and not self._store.claims.is_refuted(claim)
        if not is_acting or not self._store.pages.has_page(found_on):
            return None
        return SameByOther(there, claim, is_proved=True)

    def _claim(self, url: str, host: str, found_on: int | None) -> tuple[Claim, str] | None:
        """Return the claim that *url* leads back to the page of that id, and its URL; nothing where a rule may say so.

        A rule says what follows from the URL, as that an argument more changes nothing.
        """
        there = self._store.urls.url_of(found_on) if found_on is not None else ""
        if host_of(there) != host:
            return None
        link, page = parse(form_of(url)), parse(form_of(there))
        if link.path == page.path and {*(page.arguments or ())} <= {*(link.arguments or ())}:
            return None
        return Claim(Kind.PERMALINK, host, f"{_shape(link)} on {_shape(page)}"), there


def _shape(url: UrlPattern) -> str:
    """Return what URLs of one machine have in common: the first name of the path, how many follow, the arguments."""
    first, *others = url.path.strip("/").split("/")
    names = "&".join(dict.fromkeys(map(argument_name, url.arguments or ())))
    return f"/{_DIGITS.sub('0', first)}{'/*' * len(others)}{'?' * bool(names)}{names}"
