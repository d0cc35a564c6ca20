"""The scheduler: best first among the hosts that are ready, nothing lost."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import call_later, sleep
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from scrapy_replica.address import host_of
from scrapy_replica.components.dupefilter import Filters
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.feeds import Feeds
from scrapy_replica.components.fingerprinter import start_key
from scrapy_replica.components.flight import permission_of
from scrapy_replica.components.leases import Leases
from scrapy_replica.components.payloads import LIVE, LostError, callback_of
from scrapy_replica.components.plain_data import UnsharedError
from scrapy_replica.components.politeness import Politeness
from scrapy_replica.components.revalidation import spider_fingerprint
from scrapy_replica.components.scope import leaving
from scrapy_replica.components.slots import chosen_slot
from scrapy_replica.components.spider import TopicSpider
from scrapy_replica.components.takeover import PlainJob
from scrapy_replica.components.turns import Turns
from scrapy_replica.crawldb.contract import NewUrl, Permission, StoreError, UrlRow
from scrapy_replica.crawldb.rests import RESTS, dump, load
from scrapy_replica.decision import FETCH, Action, Decision

if TYPE_CHECKING:
    from collections.abc import Sized

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult
    from twisted.internet.defer import Deferred
    from typing_extensions import Self

    from scrapy_replica.components.flight import Flight

logger = logging.getLogger(__name__)

ENDED = "ended"
"""Key of whether the last run came to its end."""
MAX_PRIORITY = (1 << 63) - 1
"""What a store can hold; Python's integers may be greater."""


class ReplicaScheduler(BaseScheduler):
    """Gives out the crawl database's best URL whose host is ready.

    A request that was given out is leased (:class:`~scrapy_replica.components.leases.Leases`). A crawl that is killed
    puts its leases back when it is resumed.
    """

    def __init__(self, crawler: Crawler, extension: ReplicaExtension) -> None:
        self._crawler, self._extension = crawler, extension
        self._crawl, self._payloads = extension.crawl, extension.job.payloads
        self._urls = extension.crawl.store.urls
        extension.serve_frontier()
        self._last_id = 0
        """Of the URLs that earlier runs entered."""
        self._begins_anew = False
        """The last run came to its end, and nothing waits."""
        self._begun: set[int] = set()
        """Keys of the start requests that this process was the first to enter, where others share the job."""
        self._timer: CallLaterResult | None = None
        self._turns = Turns(self._extension, self._set_timer)
        self._rests: dict[str, float] = {}
        """Slots that rest because their hosts asked for it, and until when, in seconds since the epoch."""
        self._plain = PlainJob(crawler, extension.crawl.store)
        self._filters = Filters(crawler, self._crawl.frontier, extension.fingerprints, self._plain)
        self.df = self._filters.shown
        """What other code may ask whether a request was asked for."""
        self.mqs: Sized = () if self._is_stored else self
        """What waits in memory."""
        self.dqs: Sized | None = self if self._is_stored else None
        """What waits on the disk; ``None`` without a job that lasts."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = crawler.get_extension(ReplicaExtension)
        if extension is None:
            raise NotConfigured("ReplicaScheduler needs ReplicaExtension in EXTENSIONS; the add-on sets both")
        return cls(crawler, extension)

    # What other code asks Scrapy's scheduler

    def __len__(self) -> int:
        return self._urls.waiting

    @property
    def _is_stored(self) -> bool:
        return bool(self._crawler.settings["JOBDIR"]) or self._extension.shared_crawl is not None

    # From open to close

    def open(self, spider: Spider) -> Deferred[None] | None:
        self._payloads.spider = spider
        self._crawl.revisits.set_spider(spider_fingerprint(spider, self._crawler.settings))
        engine = self._crawler.engine
        assert engine is not None
        self._engine = engine
        self._extension.wake = self._schedule
        self._politeness = Politeness(
            engine.downloader,
            hold=self._urls.hold,
            release=self._urls.release,
            now=time.monotonic,
            asked=self._extension.crawl_delays,
        )
        self._extension.rest, self._extension.recover = self._rest, self._politeness.recover
        self._go_on_resting()
        if self._extension.recorder is not None:
            self._extension.recorder.on_written = self._schedule
        feeds = Feeds(self._crawler)
        if self._is_stored:
            feeds.resume(is_resumed=self._urls.last_id > 0)
        self._leases = Leases(self._extension, engine, self._politeness, feeds, self._schedule)
        connect = self._crawler.signals.connect
        connect(self._leases.reached_downloader, signals.request_reached_downloader)
        connect(self._leases.left_downloader, signals.request_left_downloader)
        lost = self._urls.forget_waiting(LIVE) if self._extension.shared_crawl is None else ()
        if lost:
            logger.warning(
                "%d requests of the last run could not be stored and are lost, e.g. %s", len(lost), lost[0][0]
            )
            self._crawl.store.revisits.forget_fingerprints({parent for _, parent in lost if parent is not None})
        if self._extension.shared_crawl is None:  # else it was refused
            self._last_id = self._urls.last_id
            has_ended = bool(self._crawl.store.meta(ENDED)) and not self._urls.waiting
            self._begins_anew = has_ended and not self._crawl.revisits.is_on
            self._crawl.store.set_meta(ENDED, b"")
            self._plain.take_queue(self._enter_taken)
        if self._filters.own is not None and isinstance(spider, TopicSpider):
            logger.warning(
                "DUPEFILTER_CLASS is asked about requests only; a TopicSpider's links are known by their URLs"
            )
        if self._urls.waiting:
            logger.info("Resuming the crawl: %d URLs wait", self._urls.waiting)
        return self.df.open()

    def _rest(self, slot: str, seconds: float) -> None:
        """Let *slot* rest, and keep it: a crawl that goes on does not ask its host earlier.

        Of processes that share a job each lets its own slots rest, and gives none of these up.
        """
        self._politeness.rest(slot, seconds)
        if self._extension.shared_crawl is None:
            self._rests.pop(slot, None)
            self._rests[slot] = time.time() + seconds
            self._crawl.store.set_meta(RESTS, stored := dump(self._rests, time.time()))
            self._rests = load(stored)

    def _go_on_resting(self) -> None:
        self._rests = load(self._crawl.store.meta(RESTS))
        for slot, until in self._rests.items():
            if until > time.time():
                self._politeness.rest(slot, until - time.time())

    def close(self, reason: str) -> Deferred[None]:
        if self._timer is not None:
            self._timer.cancel()
        return deferred_from_coro(self._close(reason))

    async def _close(self, reason: str) -> None:
        with self._extension.stopping():
            if self._extension.recorder is not None:
                await self._extension.recorder.written()
            # What could not be written is not done: it is fetched again when the job goes on.
            if self._extension.error is None:
                self._leases.acknowledge()
                if reason == "finished":
                    self._crawl.revisits.end()
                    self._crawl.store.set_meta(ENDED, b"1")
            self._crawl.store.commit()
            if self._extension.shared_crawl is not None and reason != "finished":
                await sleep(self._politeness.longest)  # then the hosts are free for others
        if (closing := self.df.close(reason)) is not None:
            await maybe_deferred_to_future(closing)

    def has_pending_requests(self) -> bool:
        is_pending = self._turns.run(self._draw_late_or_end)
        return self._extension.error is None if is_pending is None else is_pending

    def _draw_late_or_end(self) -> bool:
        recorder, shared = self._extension.recorder, self._extension.shared_crawl
        if recorder is not None and recorder.is_busy:
            return True
        if shared is not None:
            return not shared.end_if_idle()
        if self._crawl.is_pending:
            return True
        # Asked when nothing is on its way any more: what the verdicts rest on is looked at once more.
        if not self._crawl.late_samples.draw():
            return False
        self._schedule()
        return True

    # In

    def enqueue_request(self, request: Request) -> bool:
        """Enter *request*; ``False`` if it is known or dropped."""
        if self._extension.error is not None:
            return False
        try:
            with self._extension.stopping():
                if not self._filters.know(request):
                    return self._leases.retry(request, _priority_of(request)) or self._enter(request)
                self._crawl.counts["dupefilter/filtered"] += 1
        except UnsharedError as error:
            logger.error("%s", error)
        return False

    def _enter_taken(self, request: Request) -> None:
        """Enter what waited in a job of Scrapy's own scheduler; ``Spider.start()`` may ask for it once more."""
        self._extension.flights.of(request).is_start = bool(request.meta.get("is_start_request"))
        self._enter(request)
        self._last_id = self._urls.last_id

    def _enter(self, request: Request) -> bool:
        slot = chosen_slot(request)
        flight = self._extension.flights.of(request)
        permission, host = permission_of(request, is_start=flight.is_start), host_of(request.url)
        if flight.key is None:
            flight.key = self._extension.fingerprints.of_request(request)
        if self._extension.fingerprints.is_told_by_more(request, flight.key):
            # What is fetched in place of a URL is known by its URL alone: several requests would become one.
            permission, flight.decision = max(permission, Permission.AS_ASKED), None
        decision = flight.decision or self._crawl.policy.decide(request.url, host, permission, callback_of(request))
        if flight.found_on is None:
            decision = leaving(self._crawl.scope, request) or decision
        key = self._key(request, flight)
        if self._is_let_through(key, decision):
            key, permission, decision = None, max(permission, Permission.AS_ASKED), FETCH
        # Not needed any more: where the request itself is kept, so would be the page.
        found_on, flight.found_on = flight.found_on, None
        new = NewUrl(
            request.url,
            host,
            key,
            flight.score,
            _priority_of(request),
            depth=request.meta.get("depth", 0),
            parent=found_on.url_id if found_on is not None else None,
            payload=self._payloads.dump(request, found_on.page.url if found_on is not None else None),
            permission=permission,
            slot=slot,
        )
        via = request.meta.get("redirect_urls") or [None]
        entered = self._crawl.frontier.enter([(new, decision)], via=via[-1])[0]
        if found_on is not None and permission < Permission.AS_ASKED:
            self._crawl.outlinks.note(found_on, [(new, entered.decision)])
        return entered.is_waiting

    def _is_let_through(self, key: int | None, decision: Decision) -> bool:
        """Tell whether the user's filter asks once more for what is known, and nothing stands in its place."""
        is_fetched = decision.action in {Action.FETCH, Action.DEMOTE}
        return self._filters.own is not None and is_fetched and key is not None and bool(self._urls.find([key]))

    def _key(self, request: Request, flight: Flight) -> int | None:
        """Return what *request* is known by; ``None`` where it is to be fetched even if it is known.

        Scrapy never marks a ``dont_filter`` request as seen, so neither is it here. Start requests are such, and
        ``Spider.start()`` runs again on resumption: they get a key of their own, by which a run that goes on knows
        them. Where the last one came to its end they are asked for again, as Scrapy does: what is new stands there.
        """
        assert flight.key is not None
        if not request.dont_filter:
            return flight.key
        if not flight.is_start:
            return None
        key = start_key(flight.key)
        known = self._urls.known(key)
        if self._extension.shared_crawl is None:  # ids tell, lest each start request of an endless spider be held
            return None if known is not None and (known.id > self._last_id or self._begins_anew) else key
        if known is None:
            self._begun.add(key)
        return None if known is not None and key in self._begun else key

    # Out

    def next_request(self) -> Request | None:
        request = self._turns.run(self._next)
        if request is not None:
            self._turns.went_on()
        return request

    def _next(self) -> Request | None:
        self._leases.acknowledge()
        wait = self._politeness.wake()
        while (taken := self._crawl.take()) is not None:
            request = self._request(taken)
            if request is not None:
                self._leases.add(request, taken)
                if self._extension.shared_crawl is not None:
                    self._extension.shared_crawl.tell_idle(is_idle=False)
                self._crawl.counts["scheduler/dequeued"] += 1
                return request
        self._crawl.store.commit()
        self._set_timer(0 if self._crawl.has_work else wait)
        return None

    def _request(self, taken: UrlRow) -> Request | None:
        try:
            return self._payloads.load(taken)
        except StoreError:
            raise
        except LostError as error:
            logger.warning(
                "%s was asked for by a request that an earlier run had in memory only; it is lost", taken.url
            )
            self._crawl.fetches.observe_failure(taken.id, None, type(error).__name__)
            if taken.parent is not None:
                self._crawl.store.revisits.forget_fingerprints([taken.parent])
            self._urls.drop(taken.id)  # a link may find it anew, and then it comes back
            return None
        except Exception as error:
            logger.exception("The request of %s cannot be made again; did its callback go away?", taken.url)
            self._crawl.fetches.observe_failure(taken.id, None, type(error).__name__)
            self._urls.finish([taken.id])
            return None

    def _set_timer(self, wait: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if wait is not None:
            self._timer = call_later(max(wait, 0.001), self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._schedule()

    def _schedule(self) -> None:
        # The engine has no public way to be woken; without it a delayed host is asked once in 5 seconds.
        if self._engine._slot is not None:  # noqa: SLF001
            self._engine._slot.nextcall.schedule()  # noqa: SLF001


def _priority_of(request: Request) -> int:
    return max(-MAX_PRIORITY, min(request.priority, MAX_PRIORITY))
