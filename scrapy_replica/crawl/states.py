"""Whether a URL is known, fetched or missing, for whoever wants to fetch it in the place of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from scrapy_replica.crawl.given import KeyOf
from scrapy_replica.crawl.revisits import Revisits
from scrapy_replica.crawldb.contract import CrawlDB, Known, State

FOUND = frozenset({State.WAITING, State.LEASED, State.DONE})


class UrlStates:
    """Asks the crawl database for the state of a URL."""

    def __init__(self, store: CrawlDB, key: KeyOf, revisits: Revisits) -> None:
        self._store, self._key, self._revisits = store, key, revisits
        self._looked_up: dict[int, Known | None] = {}

    @contextmanager
    def looked_up(self, urls: Iterable[str]) -> Iterator[None]:
        """Within, what is known of *urls* was asked at once; nothing may be entered meanwhile."""
        if keys := {self._key(url) for url in urls}:
            self._looked_up = dict.fromkeys(keys) | self._store.urls.find(keys)
        try:
            yield
        finally:
            self._looked_up = {}

    def of(self, url: str) -> Known | None:
        """Return what is known of *url*; ``None`` if it was never entered."""
        key = self._key(url)
        return self._looked_up[key] if key in self._looked_up else self._store.urls.known(key)

    def is_known(self, url: str) -> bool:
        """Tell whether *url* was fetched or waits."""
        known = self.of(url)
        return known is not None and known.state in FOUND

    def is_wanted(self, url: str) -> bool:
        """Tell whether *url* was fetched, or waits for more than to stand in the place of others."""
        known = self.of(url)
        if known is None or known.state not in FOUND:
            return False
        return known.state is not State.WAITING or known.id not in self._store.unrequested.ids

    def is_fetched(self, url: str) -> bool:
        known = self.of(url)
        return known is not None and known.state in {State.LEASED, State.DONE}

    def has_error(self, url: str) -> bool:
        """Tell whether *url* was fetched and brought neither a page nor a place where one is."""
        known = self.of(url)
        if known is None or known.state is State.WAITING:
            return False
        is_away = self._revisits.is_away(known.id, is_done=known.state is State.DONE)
        return is_away or self._store.pages.has_error(known.id)

    def is_missing(self, url: str) -> bool:
        known = self.of(url)
        if known is None or known.state is State.WAITING:
            return False
        pages, is_done = self._store.pages, known.state is State.DONE
        if self._revisits.is_away(known.id, is_done=is_done):
            return True
        # What is done and brought no page of its own led elsewhere.
        return not pages.has_page(known.id) if is_done else pages.has_failed(known.id)
