"""Leases: the requests that were given out, until the engine is through with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_replica.components.fingerprinter import start_key
from scrapy_replica.components.patience import WAITS
from scrapy_replica.components.payloads import LIVE, callback_of
from scrapy_replica.components.revalidation import has_conditions

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request
    from scrapy.core.engine import ExecutionEngine

    from scrapy_replica.components.extension import ReplicaExtension
    from scrapy_replica.components.feeds import Feeds
    from scrapy_replica.components.flight import Flight
    from scrapy_replica.components.politeness import Politeness
    from scrapy_replica.crawldb.contract import UrlRow


class Leases:
    """Holds the lease and the download slot of each request that was given out.

    The URL of a request is acknowledged once the engine is through with it, which is after all that its callback
    yielded was entered, and all that is kept of it is on the disk.

    :param schedule: lets the engine look for what is to be fetched.
    """

    def __init__(
        self,
        extension: ReplicaExtension,
        engine: ExecutionEngine,
        politeness: Politeness,
        feeds: Feeds,
        schedule: Callable[[], None],
    ) -> None:
        self._extension, self._engine = extension, engine
        self._politeness, self._feeds, self._schedule = politeness, feeds, schedule
        self._crawl, self._urls = extension.crawl, extension.crawl.store.urls
        self._requests: list[Request] = []
        self._first: dict[int, bytes | None] = {}
        """Id of a URL that is tried again -> what its request had beyond a plain GET at first."""

    def add(self, request: Request, taken: UrlRow) -> None:
        self._requests.append(request)
        flight = self._extension.flights.of(request)
        flight.url_id, flight.slot, flight.key = taken.id, taken.slot, taken.key
        flight.is_retry = taken.id in self._first
        flight.payload, flight.has_conditions = self._first.pop(taken.id, taken.payload), has_conditions(request)
        flight.ready_at = self._politeness.started(taken.slot)

    def retry(self, request: Request, priority: int) -> bool:
        """Let the URL of *request* wait again if it tries once more what failed; tell whether it does."""
        tries = _tries(request)
        if not tries or not request.dont_filter:
            return False
        tried = next((lease for lease in self._requests if self._is_retry(request, lease, tries)), None)
        if tried is None:
            return False
        flight = self._extension.flights.of(tried)
        assert flight.url_id is not None
        payload = self._extension.job.payloads.dump(request, None)
        self._requests.remove(tried)
        self.left_downloader(tried)
        self._first[flight.url_id] = flight.payload
        self._urls.retry(flight.url_id, priority, payload)
        self._crawl.counts["page/failed" if flight.status is None else "page/other"] += 1
        self._crawl.counts["scheduler/enqueued"] += 1
        return True

    def _is_retry(self, request: Request, lease: Request, tries: int) -> bool:
        is_next = tries == _tries(lease) + 1
        is_same = (request.url, request.method, request.body) == (lease.url, lease.method, lease.body)
        return is_next and is_same and not self._extension.flights.of(lease).is_observed

    def reached_downloader(self, request: Request) -> None:
        """Take note that *request* needs the delay of its slot."""
        self._extension.flights.of(request).ready_at = None

    def left_downloader(self, request: Request) -> None:
        """Take note that *request* has no slot any more."""
        flight = self._extension.flights.of(request)
        if flight.slot is not None:
            slot, flight.slot = flight.slot, None
            if flight.ready_at is not None:
                self._politeness.unused(slot, flight.ready_at)
            self._politeness.ended(slot)
            self._schedule()

    def acknowledge(self) -> None:
        """Finish the requests that the engine is through with."""
        slot = self._engine._slot  # noqa: SLF001 - the engine has no public way to tell
        in_progress = slot.inprogress if slot is not None else ()
        of = self._extension.flights.of
        ended = [request for request in self._requests if request not in in_progress and of(request).is_kept]
        if not ended:
            return
        self._feeds.flush()
        through = set(ended)
        self._requests = [request for request in self._requests if request not in through]
        for request in ended:
            self._finish(request)
        if not self._crawl.store.is_shared:  # else with the next URL
            self._crawl.store.commit()

    def _finish(self, request: Request) -> None:
        self.left_downloader(request)
        flight = self._extension.flights.of(request)
        assert flight.url_id is not None
        self._extension.observer.end_callback(request)  # its callback raised before it gave anything
        if not flight.is_observed:
            via, callback = request.meta.get("redirect_urls", ()), callback_of(request)
            self._crawl.fetches.observe_failure(
                flight.url_id, flight.status, flight.error, via, flight.location, flight.size, callback
            )
        self._note_answer(request, flight)
        self._urls.finish([flight.url_id])

    def _note_answer(self, request: Request, flight: Flight) -> None:
        """Take note what *request* showed, if it can be asked again."""
        is_lost = flight.payload is not None and flight.payload.startswith(LIVE)
        if is_lost or flight.has_conditions or request.method != "GET" or request.body:
            return
        answer, url_id = self._extension.revalidation.answer_of(flight), flight.url_id
        if flight.key is None:  # it was tried again, and the first time counted
            url_id = self._asked_before(request) if answer.content is not None else None
        if url_id is not None:
            self._crawl.fetches.settle_visit(url_id, answer, flight.payload)

    def _asked_before(self, request: Request) -> int | None:
        """Return the id of the URL that *request*, which goes past the filter of duplicates, asked for once more.

        So does what is tried again.
        """
        key = self._extension.fingerprints.of_request(request)
        found = self._urls.find([key, start_key(key)])
        known = found.get(key) or found.get(start_key(key))
        return known.id if known is not None else None


def _tries(request: Request) -> int:
    """Return how often *request* was made before: Scrapy tries again what failed, and hosts ask for patience."""
    return int(request.meta.get("retry_times") or 0) + int(request.meta.get(WAITS) or 0)
