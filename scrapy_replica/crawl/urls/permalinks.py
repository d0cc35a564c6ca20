"""Permalinks: links of a page that lead back to it, as that of each post of a thread (``/viewtopic.php?p=17``).

No rewrite rule says so: what the page is called does not stand in them.
"""

from __future__ import annotations

import re

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.hosts.schemes import SameByOther
from scrapy_replica.crawl.urls.contents import form_of
from scrapy_replica.crawldb.contract import CrawlDB, UrlRow
from scrapy_replica.urls.pattern import UrlPattern, argument_name, parse

PROVED = 8
"""Pages to which links of one shape on pages of one shape led back, and none elsewhere, before others are said to: five
that teach it and three that prove it, as of a rewrite rule."""
MAX_SHAPES = 10_000
"""Pairs of shapes that are remembered, 300 bytes to 1 kB each; the one met first is forgotten first."""
LONGEST = 300
"""Characters of two shapes; of longer ones nothing is remembered."""

_DIGITS = re.compile(r"\d+")


class Permalinks:
    """Knows on which pages which links lead back. One that leads elsewhere ends that for good.

    Held in memory: a job that goes on counts from none, and what an earlier run suppressed still ends so.
    """

    def __init__(self, store: CrawlDB) -> None:
        self._store = store
        self._back: dict[Claim, set[int]] = {}
        """Claim -> ids of the pages that links led back to, :data:`PROVED` at most; none where a link led elsewhere."""
        self._hosts: set[str] = set()
        """Hosts on which any claim may act."""

    def add(self, link: UrlRow, there: str, *, is_back: bool) -> list[Claim]:
        """Take note whether the URL of *link* led back to the page at *there*, its finder; return what this refutes."""
        claim = _claim(link.url, link.host, there)
        if claim is None or link.parent is None:
            return []
        is_remembered = claim in self._back
        if not is_remembered and len(self._back) >= MAX_SHAPES:
            del self._back[next(iter(self._back))]
        pages = self._back.setdefault(claim, {link.parent} if is_back else set())
        if not is_back:
            was_proved = len(pages) == PROVED or (not is_remembered and self._store.suppressed.newest_of(claim) > 0)
            pages.clear()
            return [claim] if was_proved else []
        if pages and len(pages) < PROVED:
            pages.add(link.parent)
            if len(pages) == PROVED:
                self._hosts.add(link.host)
        return []

    def same_of(self, url: str, host: str, parent: int | None) -> SameByOther | None:
        """Return the URL of the page of that id, which *url* was *found on*, where links like it lead back."""
        if host not in self._hosts or parent is None:
            return None
        there = self._store.urls.url_of(parent)
        claim = _claim(url, host, there)
        if claim is None or len(self._back.get(claim, ())) < PROVED or self._store.claims.is_refuted(claim):
            return None
        return SameByOther(there, claim, is_proved=True) if self._store.pages.has_page(parent) else None


def _claim(url: str, host: str, there: str) -> Claim | None:
    """Return the claim that *url* leads back to the page at *there*, of one *host*; ``None`` where a rule may say so.

    A rule says what follows from the URL, as that an argument more changes nothing.
    """
    link, page = parse(form_of(url)), parse(form_of(there))
    is_more = link.path == page.path and {*(page.arguments or ())} <= {*(link.arguments or ())}
    shapes = f"{_shape(link)} on {_shape(page)}"
    is_told = host_of(there) == host and not is_more and len(shapes) <= LONGEST
    return Claim(Kind.PERMALINK, host, shapes) if is_told else None


def _shape(url: UrlPattern) -> str:
    """Return what URLs of one machine have in common: the names of the arguments and of the path, but for the last that
    is not the first and for those that are no word.
    """
    first, *others = url.path.strip("/").split("/")
    places = "".join(f"/{name}" if name.isalpha() else "/*" for name in others[:-1])
    names = "&".join(dict.fromkeys(map(argument_name, url.arguments or ())))
    return f"/{_DIGITS.sub('0', first)}{places}{'/*' * bool(others)}{'?' * bool(names)}{names}"
