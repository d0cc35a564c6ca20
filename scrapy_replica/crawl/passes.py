"""The pass over a job that goes on, and the hosts whose word that a page did not change is doubted in it."""

from __future__ import annotations

import logging
from collections import Counter

from scrapy_replica.crawl.histories import without_not_modified
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.revisits import LAST_PASS, History, Pass

logger = logging.getLogger(__name__)

SLICE = 200
"""URLs looked at in one turn: 10 ms."""


class Passes:
    """Keeps the present pass, or the last one, in the store."""

    def __init__(self, store: CrawlDB, counts: Counter[str], *, is_on: bool) -> None:
        self._store, self._counts, self._is_on = store, counts, is_on
        self.present = Pass.load(store.meta(LAST_PASS))

    def begin(self, now: float) -> None:
        self.present = Pass(self.present.number + 1, now, is_over=False)
        self.keep()

    def keep(self) -> None:
        """Write down how far it is."""
        self._store.set_meta(LAST_PASS, self.present.dump())

    def count(self, what: str, n: int) -> None:
        """Count *n* of *what*, for this run and for the pass."""
        self._counts[f"revisit/{what}"] += n
        self.present.counts[what] = self.present.counts.get(what, 0) + n

    def count_believed(self, history: History, n: int) -> None:
        """Count a page that its server says did not change, or with -1 one that is asked for after all."""
        self.count("not_modified", n)
        self.count("bytes_saved", n * history.size)

    def end(self) -> None:
        """End it, and say what came of it."""
        self.present.is_over = True
        self.keep()
        if told := self.present.in_words():
            logger.info("%s", told)

    # Hosts whose ETags and dates say nothing: what they answered by 304 is asked for again

    def doubt(self, host: str) -> None:
        """Take note that *host* said of a page that changed that it did not."""
        if not self._store.revisits.is_doubted(host):
            self._store.revisits.doubt(host)
            self.count("hosts_doubted", 1)
            logger.info("%s says of pages that changed that they did not: it is asked without a condition", host)
        self.take_back_later(host)

    def take_back_later(self, host: str) -> None:
        """Let what *host* answered by 304 be asked for again, if a pass goes on."""
        if self._is_on and host not in self.present.doubted:
            self.present.doubted.append(host)
            self.keep()

    def take_some_back(self) -> None:
        """Ask again for some of what the first of these hosts answered by 304, as if it had not been asked."""
        host = self.present.doubted[0]
        believed = self._store.revisits.believed_of(host, SLICE)
        for history in believed:
            self._store.revisits.enter(without_not_modified(history))
            self.count_believed(history, -(history.checked_at >= self.present.began_at))
        renewed = [(history.url, 1.0, history.payload) for history in believed]
        self.count("taken_back", self._store.urls.renew(renewed))
        if not believed:
            self.present.doubted.remove(host)
            self.keep()
