"""The other processes of a crawl: what they wrote is applied, and the crawl ends when none has anything to do."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import create_looping_call

from scrapy_replica.components.statistics import SCRAPY_STATS
from scrapy_replica.crawldb.contract import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.statscollectors import StatsCollector

    from scrapy_replica.crawl.crawl import Crawl
    from scrapy_replica.crawldb.redis.database import RedisCrawlDB

logger = logging.getLogger(__name__)

LISTEN_SECONDS = 0.1
"""Time between two looks at what the others wrote: so much later a verdict or rule of theirs is obeyed here."""

ASK_EVERY, TELL_EVERY = 5, 20
"""Looks after which an idle process asks for something to fetch without having heard of any, as of a host that another
one gave up; and after which the statistics are told."""

SUMMED = ("downloader/", "item_", "response_", "retry/", "scheduler/", "dupefilter/", "spider_exceptions/")
"""Beginnings of Scrapy's statistics that sums are made of."""

ALL = "replica/all/"
"""Beginning of the statistics that are sums over all processes."""


class SharedCrawl:
    """A crawl that several processes share, as this one takes part in it.

    :param wake: lets the engine look for what is to be fetched.
    :param stop: told why the crawl cannot go on.
    """

    def __init__(
        self,
        crawl: Crawl,
        store: RedisCrawlDB,
        stats: StatsCollector,
        wake: Callable[[], None],
        stop: Callable[[StoreError], None],
    ) -> None:
        self._crawl, self._store, self._stats, self._wake, self._stop = crawl, store, stats, wake, stop
        self._is_idle: bool | None = None
        self._looks = self._idle_since = 0
        self._timer = create_looping_call(self._look)

    def open(self) -> None:
        self._timer.start(LISTEN_SECONDS, now=False)

    def close(self) -> None:
        """Listen no more."""
        if self._timer.running:
            self._timer.stop()

    def tell_idle(self, *, is_idle: bool) -> None:
        """Tell the others whether this process has nothing to do, if they were told otherwise."""
        if is_idle is not self._is_idle:
            self._store.idle(is_idle)
            self._is_idle, self._idle_since = is_idle, self._looks

    def _look(self) -> None:
        try:
            self._listen()
        except StoreError as error:
            self.close()
            self._stop(error)
        except Exception as error:
            # Whoever does not hear the others any more must not go on beside them.
            logger.exception("What other processes wrote cannot be applied")
            self.close()
            self._stop(StoreError(f"the others are not heard any more ({type(error).__name__}): start it again"))

    def _listen(self) -> None:
        self._looks += 1
        update = self._store.listen()
        if update is not None:
            self._crawl.remote.apply(update)
            if self._crawl.has_work:
                self.tell_idle(is_idle=False)
        if self._looks % TELL_EVERY == 0:
            self.tell()
        if update is not None or self._is_quiet or self._looks % ASK_EVERY == 0:
            self._wake()

    @property
    def _is_quiet(self) -> bool:
        """Whether all had nothing to do when this process, which had nothing to do, listened last."""
        is_heard = bool(self._is_idle) and self._looks > self._idle_since
        return is_heard and self._store.are_all_idle

    def end_if_idle(self) -> bool:
        """Tell whether the crawl is over; asked when nothing is on its way in this process.

        The process that leads looks once more at what the verdicts rest on when all have nothing to do.
        """
        crawl, store = self._crawl, self._store
        self.tell_idle(is_idle=not crawl.has_work)
        if not self._is_quiet:
            return False
        if not store.is_leader or store.is_over:
            return store.is_over
        if crawl.late_samples.draw():
            store.commit()
            self._wake()
            return False
        store.end()
        return store.is_over

    def tell(self) -> None:
        """Let the others know the statistics of this process."""
        self._store.tell(self._counted())

    def _counted(self) -> Mapping[str, float]:
        scrapy = {key: value for key, value in self._stats.get_stats().items() if key.startswith(SUMMED)}
        counts = self._crawl.counts.items()
        own = {key if key.startswith(SCRAPY_STATS) else f"replica/{key}": count for key, count in counts}
        return {key: value for key, value in {**scrapy, **own}.items() if type(value) is int}

    def set_sums(self) -> None:
        """Write the sums over all processes into the statistics of this one."""
        self.tell()
        for key, value in self._store.stats().items():
            self._stats.set_value(f"{ALL}{key.removeprefix('replica/')}", value)
        self._stats.set_value(f"{ALL}processes", len(self._store.processes()))
