"""Requests that callbacks make up of a page, which has no link to there: what they bring counts for that page."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

from scrapy_replica.crawldb.contract import CrawlDB, Permission

MOST, MOST_PAGES = 20_000, 8
"""Requests remembered, 14 MB at most, and pages that wait for what one brings; whoever asks for it later knows that."""
STEPS = 6
"""Requests made up one after another of which the first page is told what came: a product, its stock, its reviews."""


class MadeRequests:
    """Counts the items that a request brought for each page of which a callback made it up."""

    def __init__(self, store: CrawlDB) -> None:
        self._store = store
        self._pages: OrderedDict[int, set[int]] = OrderedDict()
        """Key of a request -> ids of the pages."""

    def add(self, url_id: int, keys: Collection[int]) -> bool:
        """Take note of the *keys* of requests that a callback made up of a page; tell whether one of them is new.

        What was found on the page itself is new: it may be here for the second time, because the crawl was killed.
        """
        known = self._store.urls.find(keys) if keys else {}
        for key in keys:
            pages = self._pages.setdefault(key, set())
            if len(pages) < MOST_PAGES:
                pages.add(url_id)
            if len(self._pages) > MOST:
                self._pages.popitem(last=False)
        there = [self._store.items.of_page(one.id) or () for one in known.values()]
        if brought := frozenset[int]().union(*there):
            self._store.items.add_brought(url_id, brought)
        return any(key not in known or known[key].parent == url_id for key in keys)

    def brought(self, url_id: int, items: Collection[int]) -> None:
        """Take note of the *items* that a callback made of what was fetched from the URL of that id."""
        pages = {url_id}
        for _ in range(STEPS):
            pages = {page for one in pages for page in self._makers(one)}
            for page in pages:
                self._store.items.add_brought(page, items)

    def _makers(self, url_id: int) -> Collection[int]:
        """Return the ids of the pages of which a callback made up the request for the URL of that id."""
        row = self._store.urls.row(url_id)
        if row.key is not None and row.key in self._pages:
            return self._pages[row.key]
        return [row.parent] if row.permission is Permission.AS_ASKED and row.parent is not None else []
