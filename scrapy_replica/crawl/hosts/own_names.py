"""Other URLs that pages say are theirs: not fetched, where samples show that pages of the host say the truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.given import KeyOf
from scrapy_replica.crawl.hosts.schemes import PROVED, SameByOther
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.decision import Outcome
from scrapy_replica.records import Page


class OwnNames:
    """Knows which URLs pages name as theirs by ``rel=canonical`` and ``rel=shortlink`` (RFC 6596)."""

    def __init__(self, store: CrawlDB, samples: Samples, key: KeyOf) -> None:
        self._store, self._samples, self._key = store, samples, key
        self._looked_up: dict[int, tuple[int, str] | None] = {}

    @contextmanager
    def looked_up(self, urls: Iterable[str]) -> Iterator[None]:
        """Within, what is known of *urls* was asked at once; nothing may be entered meanwhile."""
        self._looked_up = self._pages_of({self._key(url) for url in urls})
        try:
            yield
        finally:
            self._looked_up = {}

    def _pages_of(self, keys: Set[int]) -> dict[int, tuple[int, str] | None]:
        return dict.fromkeys(keys) | self._store.names.pages_of(keys)

    def add(self, page: Page, url_id: int, callback: str) -> None:
        """Take note of what the *page* of the URL of that id, of which *callback* is through, says of itself."""
        for name in filter(None, (page.canonical, page.shortlink)):
            key = self._key(name)
            if host_of(name) == page.host and key != self._store.urls.key_of(url_id):
                self._store.names.enter(key, url_id, callback)

    def same_of(self, url: str, host: str, callback: str) -> SameByOther | None:
        """Return the URL of the page that was fetched and says that *url*, another one, is its own.

        Only of one that *callback* got, which is to get *url*: another callback makes other items of the same page.
        """
        key = self._key(url)
        page_id, got_by = (self._looked_up if key in self._looked_up else self._pages_of({key}))[key] or (0, "")
        if not page_id or got_by != callback:
            return None
        claim = Claim(Kind.NAME, host)
        if self._store.claims.is_refuted(claim) or not self._store.pages.has_page(page_id):
            return None
        is_proved = self._samples.test_of(claim).outcomes[Outcome.SAME] >= PROVED
        return SameByOther(self._store.urls.url_of(page_id), claim, is_proved)
