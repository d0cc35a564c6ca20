"""The gate: what must not be fetched is stopped here, before it costs a robots.txt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached

from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.fingerprinter import is_exempt
from scrapy_replica.crawldb.sqlite.database import NewUrl
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
        if extension is None:
            return None
        extension.note_form(request)
        parts = urlparse_cached(request)
        if extension.has_frontier or is_exempt(request) or parts.path == "/robots.txt":
            return None
        host = parts.hostname or ""
        fingerprint = extension.fingerprints.of_request(request)
        decision = extension.crawl.decide(request.url, host, fingerprint)
        if decision.action in {Action.DROP, Action.REWRITE}:
            extension.crawl.enter(NewUrl(request.url, host, fingerprint), decision)
        if decision.action is Action.DROP and decision.reason is not None:
            raise IgnoreRequest(decision.reason.value)
        if decision.url is None:
            return None
        # The duplicate filter knows the two by one fingerprint, and has let this one through.
        return request.replace(url=decision.url, dont_filter=True)

    def process_exception(self, request: Request, exception: Exception) -> None:
        extension = self._crawler.get_extension(ReplicaExtension)
        if extension is not None:
            extension.errors[request] = type(exception).__name__
