"""The gate, which stops what must not be fetched before it costs a robots.txt; the border; what is kept as WARC."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.httpobj import urlparse_cached

from scrapy_replica.address import host_of, origin_of
from scrapy_replica.components.borders import Borders, PrivateAddressError
from scrapy_replica.components.flight import permission_of
from scrapy_replica.components.middleware import Middleware
from scrapy_replica.components.payloads import callback_of, come_from_front
from scrapy_replica.components.scope import leaving
from scrapy_replica.crawldb.contract import NewUrl, Permission, StoreError
from scrapy_replica.crawldb.pages import NOT_MODIFIED
from scrapy_replica.decision import Action, Reason, as_guess

if TYPE_CHECKING:
    from scrapy.http import Response


logger = logging.getLogger(__name__)


class ReplicaDownloaderMiddleware(Middleware):
    """Decides about requests where another scheduler is in use; notes what is sent to forms and why requests fail.

    Our scheduler decides when it takes a URL, which is cheaper: a URL that is dropped there takes no download place.
    """

    def process_request(self, request: Request) -> Request | None:
        extension = self._extension
        if extension.error is not None:
            return None
        with extension.stopping():
            extension.pages.note_form(request)
            return None if extension.has_frontier else self._decide(request)
        return None

    def _decide(self, request: Request) -> Request | None:
        extension = self._extension
        flight = extension.flights.of(request)
        permission = permission_of(request, is_start=flight.is_start)
        if "redirect_urls" in request.meta and leaving(extension.crawl.scope, request) is not None:
            raise IgnoreRequest(Reason.OUT_OF_SCOPE.value)
        if permission is Permission.EXEMPT or urlparse_cached(request).path == "/robots.txt":
            return None
        host = host_of(request.url)
        if flight.key is None:
            flight.key = extension.fingerprints.of_request(request)
        found_on = flight.found_on.url_id if flight.found_on is not None else None
        decision = as_guess(
            extension.crawl.policy.decide(request.url, host, permission, callback_of(request), found_on)
        )
        if decision.action in {Action.DROP, Action.REWRITE}:
            extension.crawl.frontier.enter([(NewUrl(request.url, host, flight.key), decision)])
        elif decision.reason is not None:
            extension.crawl.record_decision(request.url, decision)
        if decision.action is Action.DROP and decision.reason is not None:
            raise IgnoreRequest(decision.reason.value)
        if decision.action is not Action.REWRITE or decision.url is None or decision.reason is None:
            return None
        if not extension.crawl.policy.may_ask(decision.url):
            raise IgnoreRequest(decision.reason.value)  # as our scheduler drops it at its turn
        # The duplicate filter knows the two by one fingerprint, and has let this one through.
        moved = request.replace(url=decision.url, dont_filter=True)
        if origin_of(decision.url) != origin_of(request.url):
            come_from_front(moved.headers, decision.url)
        return moved

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._extension.flights.of(request).error = type(exception).__name__


class AnswerMiddleware(Middleware):
    """Notes status and redirect of each response, whether the network or Scrapy's cache gave it."""

    def process_response(self, request: Request, response: Response) -> Response:
        flight = self._extension.flights.of(request)
        flight.status, flight.location = response.status, location_of(response)
        return response


class ConditionMiddleware(Middleware):
    """Asks for pages that are known if they changed."""

    def process_request(self, request: Request) -> None:
        if self._extension.error is None:
            with self._extension.stopping():
                self._extension.revalidation.add_conditions(request)

    def process_response(self, request: Request, response: Response) -> Response:
        if self._extension.revalidation.remove_conditions(request) and response.status == NOT_MODIFIED:
            request.meta["dont_cache"] = True
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:  # noqa: ARG002 - Scrapy hands it over
        self._extension.revalidation.remove_conditions(request)


class BorderMiddleware(Middleware):
    """Refuses requests that leave the web: links, redirects and what is asked for on the way."""

    def process_request(self, request: Request) -> None:
        borders = self._extension.borders
        if borders is None:
            return
        if (proxy := request.meta.get("proxy")) is not None:
            borders.add_proxy(proxy)
        if borders.refuses(request.url):
            raise self._refusal(request)

    def process_response(self, request: Request, response: Response) -> Response:
        # The last line, for download handlers that resolve names in some other way.
        if _is_refused(self._extension.borders, request, response):
            raise self._refusal(request)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        borders = self._extension.borders
        if borders is not None and borders.was_refused(request.url):
            raise self._refusal(request) from exception

    def _refusal(self, request: Request) -> PrivateAddressError:
        extension = self._extension
        extension.flights.of(request).error = PrivateAddressError.__name__
        extension.crawl.counts["border/refused"] += 1
        return PrivateAddressError(f"{request.url} leaves the web; REPLICA_PRIVATE_ADDRESSES=True lets it be fetched")


def _is_refused(borders: Borders | None, request: Request, response: Response) -> bool:
    """Tell whether *response* came from where nothing may be fetched; a proxy answers for all."""
    ip = response.ip_address
    if borders is None or ip is None or request.meta.get("proxy"):
        return False
    return borders.is_refused_answer(request.url, ip)


class WarcMiddleware(Middleware):
    """Has what is fetched kept; nothing is sent any more once it could not be kept."""

    async def process_request(self, request: Request) -> None:  # noqa: ARG002 - Scrapy hands it over
        extension = self._extension
        if extension.recorder is not None:
            await extension.recorder.room()
            if extension.error is not None:
                raise IgnoreRequest(str(extension.error))

    def process_response(self, request: Request, response: Response) -> Response:
        extension = self._extension
        if extension.recorder is None or not self._was_fetched(request, response):
            return response
        if extension.error is not None:
            raise IgnoreRequest(str(extension.error))
        try:
            extension.recorder.keep(request, response, extension.flights.of(request))
        except StoreError as error:
            extension.stop(error)
        except Exception as error:
            # A bad page never stops a crawl: what no record can be made of is crawled all the same.
            logger.error("Cannot keep %.200s: %s", request.url, error, exc_info=not isinstance(error, ValueError))
            extension.crawl.counts["warc/failed"] += 1
        return response

    def _was_fetched(self, request: Request, response: Response) -> bool:
        if "cached" in response.flags or urlparse_cached(request).scheme not in {"http", "https"}:
            return False
        return not _is_refused(self._extension.borders, request, response)


def location_of(response: Response) -> str | None:
    """Return the URL that *response* redirects to; ``None`` if to none that can be asked for."""
    location = response.headers.get("Location")
    if location is None or not 300 <= response.status < 400:
        return None
    try:
        return Request(response.urljoin(location.decode("latin-1"))).url
    except ValueError:
        return None
