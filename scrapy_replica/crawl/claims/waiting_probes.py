"""Probes: pages asked for to decide about candidates. They do not crowd out the pages that a crawl begins with."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from typing import NamedTuple

from scrapy_replica.address import host_of
from scrapy_replica.crawl.frontier import Frontier
from scrapy_replica.crawl.hosts.replicas import ProbeUrl
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.pages.reading import Reading
from scrapy_replica.crawldb.contract import URGENT, CrawlDB

EARLY_PAGES = 200
"""In so many pages one of four at most is a probe. On the demo's web (six hosts, four of them copies of each other)
every other page of the first hundred was one."""
EVERY = 4


class WaitingProbe(NamedTuple):
    """A page to ask for, and where it was thought of."""

    page: ProbeUrl
    depth: int
    parent: int


class Probes:
    """Probes that wait for their turn: those that decide about mirrors first, then those about rewrite rules.

    What waits is lost with the process: it is thought of again, or was not needed.
    """

    def __init__(self, store: CrawlDB, frontier: Frontier, reading: Reading, counts: Counter[str]) -> None:
        self._store, self._frontier, self._reading, self._counts = store, frontier, reading, counts
        self.may_enter = False
        """The spider follows links by itself, so that a page it did not ask for does no harm to its callbacks."""
        self._pages = self._free_at = store.pages.count(EARLY_PAGES)
        self._mirrors: deque[WaitingProbe] = deque()
        self._rules: deque[WaitingProbe] = deque()

    def add_of_mirrors(self, urls: Iterable[ProbeUrl], found_on: Observation) -> None:
        self._mirrors.extend(WaitingProbe(url, found_on.depth + 1, found_on.url_id) for url in urls)

    def add_of_rules(self, forms: Iterable[str], depth: int, parent: int) -> None:
        """Take probes that decide about a rewrite rule, thought of at a page of that *depth* and id."""
        urls = (ProbeUrl(form, host_of(form), is_known=True) for form in forms)
        self._rules.extend(WaitingProbe(url, depth + 1, parent) for url in urls)

    def add_page(self) -> None:
        """Take note that a page was fetched, and ask for those whose turn it is."""
        self._pages += 1
        self.ask()

    def ask(self) -> None:
        """Ask for those whose turn it is."""
        while waiting := self._mirrors or self._rules:
            self._reading.found()
            if self._pages < EARLY_PAGES and self._pages < self._free_at:
                return
            self._free_at = self._pages + EVERY
            probe = waiting.popleft()
            if waiting is self._mirrors:
                self._counts["host/probes"] += self._ask(probe)
            else:
                unknown = probe._replace(page=probe.page._replace(is_known=False))
                self._counts["dust/probes"] += self._ask(probe) or self._ask(unknown)

    def _ask(self, probe: WaitingProbe) -> bool:
        page = probe.page
        if page.is_known:
            return self._store.urls.rescore({self._frontier.key(page.url): URGENT}) > 0
        return self.may_enter and self._frontier.ask_for(page.url, page.host, depth=probe.depth, parent=probe.parent)
