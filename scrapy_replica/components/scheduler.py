"""The scheduler: best first among the hosts that are ready, nothing lost."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import call_later
from scrapy.utils.httpobj import urlparse_cached

from scrapy_replica.address import hostname_of
from scrapy_replica.components import serialise
from scrapy_replica.components.extension import Pending, ReplicaExtension
from scrapy_replica.components.fingerprinter import is_exempt
from scrapy_replica.components.politeness import Politeness
from scrapy_replica.crawldb.sqlite.database import NewUrl, Waiting
from scrapy_replica.crawldb.sqlite.schema import PRIORITY_STEP, QUEUED
from scrapy_replica.decision import FETCH

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult
    from typing_extensions import Self

logger = logging.getLogger(__name__)

START = 0x5354415254
"""Mixed into the key of start requests."""

LIVE = b"live"
"""Beginning of the payload of a request that cannot be stored; it is kept in memory under the whole payload."""


NOTHING_KNOWN = Pending(0.0, None, None)


class Lease(NamedTuple):
    """A URL that was given out."""

    id: int
    host_id: int


class ReplicaScheduler(BaseScheduler):
    """Gives out the crawl database's best URL whose host is ready.

    A request that was given out is leased: its URL is acknowledged once the engine is through with it, which is after
    all that its callback yielded was entered. A crawl that is killed puts its leases back when it is resumed.
    """

    def __init__(self, crawler: Crawler, extension: ReplicaExtension) -> None:
        self._crawler, self._extension = crawler, extension
        self._crawl, self._db = extension.crawl, extension.crawl.db
        extension.has_frontier = True
        self._fingerprints = extension.fingerprints
        self._leases: dict[Request, Lease] = {}
        self._downloading: dict[Request, int] = {}
        self._statuses: dict[Request, int] = {}
        self._live: dict[bytes, Request] = {}
        self._live_count = 0
        self._timer: CallLaterResult | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = crawler.get_extension(ReplicaExtension)
        if extension is None:
            raise NotConfigured("ReplicaScheduler needs ReplicaExtension in EXTENSIONS; the add-on sets both")
        return cls(crawler, extension)

    def open(self, spider: Spider) -> None:
        self._spider = spider
        engine = self._crawler.engine
        assert engine is not None
        self._engine = engine
        self._politeness = Politeness(
            engine.downloader, hold=self._db.hold, release=self._db.release, now=time.monotonic
        )
        connect = self._crawler.signals.connect
        connect(self._left_downloader, signals.request_left_downloader)
        connect(self._response_downloaded, signals.response_downloaded)
        lost = self._db.forget_waiting(LIVE)
        if lost:
            logger.warning("%d requests of the last run could not be stored and are lost, e.g. %s", len(lost), lost[0])
        self._last_id_before = self._db.last_id
        if self._last_id_before:
            logger.info("Resuming the crawl: %d URLs wait", self._db.waiting)

    def close(self, reason: str) -> None:  # noqa: ARG002 - Scrapy hands it over
        if self._timer is not None:
            self._timer.cancel()
        self._acknowledge()
        self._db.commit()

    def has_pending_requests(self) -> bool:
        return self._db.waiting > 0

    # In

    def enqueue_request(self, request: Request) -> bool:
        """Enter *request*; ``False`` if it is known or dropped."""
        _forget_slot(request)
        exempt = is_exempt(request)
        host = urlparse_cached(request).hostname or ""
        score, parent, decision = self._extension.pending.pop(request, NOTHING_KNOWN)
        if decision is None:
            decision = (
                FETCH if exempt else self._crawl.decide(request.url, host, self._fingerprints.of_request(request))
            )
        asked = NewUrl(request.url, host, None, parent=parent)
        target, decision = self._crawl.follow_rewrites(asked, decision)
        if target is not asked:
            request, host = request.replace(url=target.url), target.host
        key, payload = self._key(request), self._payload(request)
        score += PRIORITY_STEP * request.priority
        depth = request.meta.get("depth", 0)
        is_live = payload is not None and payload.startswith(LIVE)
        known = self._db.find(key) if is_live and key is not None else None
        is_entered = self._crawl.enter(NewUrl(request.url, host, key, score, depth, parent, payload, exempt), decision)
        if is_live and payload is not None and (not is_entered or (known is not None and known[1] == QUEUED)):
            del self._live[payload]  # not stored, or another request of that URL waits and was raised
        return is_entered

    def _key(self, request: Request) -> int | None:
        """Return what *request* is known by; ``None`` where it is to be fetched even if it is known.

        Scrapy never marks a ``dont_filter`` request as seen, so neither is it here. Start requests are such, and
        ``Spider.start()`` runs again on resumption: they get a key of their own, by which a later run knows them.
        A redirect that comes back to where it began, with a cookie by now, is fetched as well; Scrapy bounds these.
        """
        fingerprint = self._fingerprints.of_request(request)
        is_start = request in self._extension.starts
        self._extension.starts.discard(request)
        if not request.dont_filter:
            return None if request.url in request.meta.get("redirect_urls", ()) else fingerprint
        if not is_start:
            return None
        key = fingerprint ^ START
        known = self._db.find(key)
        return key if known is None or known[0] <= self._last_id_before else None

    def _payload(self, request: Request) -> bytes | None:
        if not self._db.is_persistent and not serialise.is_plain(request):
            # As in Scrapy's memory queues, callbacks may share what they hand on.
            return self._keep(request)
        try:
            return serialise.dump(request, self._spider)
        except Exception:
            if self._db.is_persistent:
                logger.debug("%s cannot be stored and is kept in memory only", request, exc_info=True)
                self._count("unserializable", 1)
            return self._keep(request)

    def _keep(self, request: Request) -> bytes:
        self._live_count += 1
        key = LIVE + str(self._live_count).encode()
        self._live[key] = request
        return key

    # Out

    def next_request(self) -> Request | None:
        self._acknowledge()
        wait = self._politeness.wake()
        while (taken := self._crawl.take()) is not None:
            request = self._request(taken)
            if request is not None:
                return self._lease(request, taken)
        self._db.commit()
        self._set_timer(wait)
        return None

    def _lease(self, request: Request, taken: Waiting) -> Request:
        self._leases[request] = Lease(taken.id, taken.host_id)
        self._downloading[request] = taken.host_id
        self._extension.url_ids[request] = taken.id
        self._politeness.started(taken.host_id, taken.host)
        self._count("dequeued", 1)
        return request

    def _request(self, taken: Waiting) -> Request | None:
        if taken.payload is not None and taken.payload.startswith(LIVE):
            request = self._live.pop(taken.payload)
            return request if request.url == taken.url else request.replace(url=taken.url)
        try:
            return serialise.load(taken.payload, taken.url, taken.depth, self._spider)
        except Exception as error:
            logger.exception("The request of %s cannot be made again; did its callback go away?", taken.url)
            self._crawl.failed(taken.id, None, type(error).__name__)
            self._db.finish(taken.id)
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

    def _left_downloader(self, request: Request) -> None:
        host_id = self._downloading.pop(request, None)
        if host_id is not None:
            self._politeness.ended(host_id)
            self._schedule()

    def _response_downloaded(self, response: Response, request: Request) -> None:
        if request in self._leases:
            self._statuses[request] = response.status

    def _acknowledge(self) -> None:
        """Finish the leases that the engine is through with."""
        slot = self._engine._slot  # noqa: SLF001
        in_progress = slot.inprogress if slot is not None else ()
        ended = [request for request in self._leases if request not in in_progress]
        for request in ended:
            lease = self._leases.pop(request)
            self._left_downloader(request)
            status = self._statuses.pop(request, None)
            if request not in self._extension.observed:
                self._crawl.failed(lease.id, status, self._extension.errors.get(request))
            self._db.finish(lease.id)
        if ended:
            self._db.commit()

    def _count(self, what: str, n: int) -> None:
        self._crawl.counts[f"scheduler/{what}"] += n


def _forget_slot(request: Request) -> None:
    """Drop the download slot of the host that redirected here; one that the user chose stays.

    The downloader writes the slot into ``meta``, and redirects copy it.
    """
    before = request.meta.get("redirect_urls")
    if before and request.meta.get("download_slot") == hostname_of(before[-1]):
        del request.meta["download_slot"]
