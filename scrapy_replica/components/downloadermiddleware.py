"""The gate: what must not be fetched is stopped here, before it costs a robots.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached

from scrapy_replica.address import host_of
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.flight import leeway_of
from scrapy_replica.crawldb.contract import Leeway, NewUrl, StoreError
from scrapy_replica.decision import Action

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class ReplicaDownloaderMiddleware:
    """Decides about requests where another scheduler is in use; notes what is sent to forms and why requests fail.

    Our scheduler decides when it takes a URL, which is cheaper: a URL that is dropped there takes no download place.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_request(self, request: Request) -> Request | None:
        extension = self._crawler.get_extension(ReplicaExtension)
        if extension is None or extension.error is not None:
            return None
        try:
            extension.note_form(request)
            return None if extension.has_frontier else self._decide(extension, request)
        except StoreError as error:
            extension.stop(error)
            return None

    def _decide(self, extension: ReplicaExtension, request: Request) -> Request | None:
        flight = extension.flights.of(request)
        leeway = leeway_of(request, is_start=flight.is_start)
        if leeway is Leeway.EXEMPT or urlparse_cached(request).path == "/robots.txt":
            return None
        host = host_of(request.url)
        if flight.key is None:
            flight.key = extension.fingerprints.of_request(request)
        decision = extension.crawl.policy.decide(request.url, host, leeway)
        if decision.action in {Action.DROP, Action.REWRITE}:
            extension.crawl.intake.enter([(NewUrl(request.url, host, flight.key), decision)])
        elif decision.reason is not None:
            extension.crawl.decided(request.url, decision)
        if decision.action is Action.DROP and decision.reason is not None:
            raise IgnoreRequest(decision.reason.value)
        if decision.action is not Action.REWRITE or decision.url is None:
            return None
        # The duplicate filter knows the two by one fingerprint, and has let this one through.
        moved = request.replace(url=decision.url, dont_filter=True)
        if host_of(decision.url) != host:
            moved.headers.pop("Referer", None)  # it was meant for the other host
        return moved

    def process_exception(self, request: Request, exception: Exception) -> None:
        extension = self._crawler.get_extension(ReplicaExtension)
        if extension is not None:
            extension.flights.of(request).error = type(exception).__name__
