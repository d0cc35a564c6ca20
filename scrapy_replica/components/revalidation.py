"""Revalidation (RFC 9110, 13): a page is asked for if it changed, and where it did not no callback need look at it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mmh3
from scrapy.http import HtmlResponse

from scrapy_replica.components.extract import tree_of
from scrapy_replica.crawldb.pages import NOT_MODIFIED
from scrapy_replica.freshness.answer import Answer, validators_of
from scrapy_replica.pages.page import all_text, text_signature
from scrapy_replica.urls.sessions import Sessions

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from scrapy_replica.components.flight import Flight, Flights
    from scrapy_replica.components.warc import Recorder
    from scrapy_replica.crawl.revisits import Revisits
    from scrapy_replica.records import Page

ETAG, DATE = "If-None-Match", "If-Modified-Since"


class Revalidation:
    """Puts conditions on requests for pages that are known, and tells what of their responses is news.

    :param recorder: keeps what is fetched. Word that a page did not change is kept only beside the page: one that is
        not at hand there is asked for without a condition.
    """

    def __init__(self, revisits: Revisits, flights: Flights, recorder: Recorder | None) -> None:
        self._revisits, self._flights, self._recorder = revisits, flights, recorder
        self.sessions = Sessions()

    def add_conditions(self, request: Request) -> None:
        """Ask for the page if it changed, unless somebody else puts conditions on *request*."""
        flight = self._flights.of(request)
        if flight.url_id is None or flight.is_retry or has_conditions(request) or not self._is_at_hand(flight):
            return
        condition = self._revisits.condition(flight.url_id)
        if condition.etag is not None:
            request.headers[ETAG] = condition.etag
        if condition.last_modified is not None:
            request.headers[DATE] = condition.last_modified
        flight.is_conditional = bool(condition)

    def _is_at_hand(self, flight: Flight) -> bool:
        if self._recorder is None:
            return True
        before = self._revisits.reusable(flight.url_id) if flight.url_id is not None else None
        flight.original = self._recorder.find(before.kept) if before is not None and before.kept is not None else None
        return flight.original is not None

    def remove_conditions(self, request: Request) -> bool:
        """Take the conditions off *request*, whose copies are other requests; tell whether there were any."""
        is_conditional = self._flights.of(request).is_conditional
        if is_conditional:
            request.headers.pop(ETAG, None)
            request.headers.pop(DATE, None)
        return is_conditional

    def is_unchanged(self, response: Response) -> bool:
        """Tell whether the page is the one that was sent before, byte for byte."""
        assert response.request is not None
        flight = self._flights.of(response.request)
        before = self._revisits.reusable(flight.url_id) if flight.url_id is not None else None
        if before is None:
            return False
        if response.status == NOT_MODIFIED:
            is_unchanged = flight.is_conditional
        else:
            is_unchanged = response.status == 200 and before.body == _hash(response)
        if is_unchanged:
            flight.is_observed = True
            answer = self._answer(response, flight, before.content)
            flight.answer = answer._replace(page=before.page, items=before.items)
        return is_unchanged

    def is_known(self, response: Response, flight: Flight, page: Page) -> bool:
        """Tell whether the *page* of *response* says what it said before, and take note of what it says.

        One that was not read then is known by all of its text. What the session is called is nothing that it says.
        """
        before = self._revisits.history_of(flight.url_id) if flight.url_id is not None else None
        self.sessions.see(page.host, [link.url for link in page.links])
        content, was = self._content(page), before.content if before is not None else None
        if isinstance(response, HtmlResponse) and (not page.is_read or _is_hash(was)):
            text = all_text(tree_of(response)).decode("utf-8", "surrogatepass")
            told = _as_content(mmh3.hash64(self.sessions.without(page.host, text).encode("utf-8", "surrogatepass"))[0])
            content = content if page.is_read and was != told else told
        answer = self._answer(response, flight, content)
        assert answer.content is not None
        url = self.sessions.without(page.host, page.url).encode("utf-8", "surrogatepass")
        flight.answer = answer._replace(page=mmh3.hash64(url + answer.content)[0])
        return was == answer.content

    def _content(self, page: Page) -> bytes | None:
        told = self.sessions.without(page.host, page.text)
        # Where the text is a part of the page, all of it has to be as it was.
        return (
            page.signature if told == page.text or page.signature != text_signature(page.text) else text_signature(told)
        )

    def given(self, flight: Flight) -> frozenset[int]:
        """Return the hashes of the items that the page of *flight* gave before, maybe in another session."""
        if flight.answer is None or flight.answer.page is None or flight.url_id is None:
            return frozenset()
        return self._revisits.items_given(flight.url_id, flight.answer.page)

    def mark_unfinished(self, request: Request) -> None:
        """Take note that not all that the callback of *request* gave is done with: it is to get the page again."""
        flight = self._flights.of(request)
        if flight.answer is not None:
            flight.answer = flight.answer._replace(callback_fingerprint=None)

    def answer_of(self, flight: Flight) -> Answer:
        """Return what the response of *flight* tells, which the engine is through with.

        Of one that no callback got: where it redirects to is what there is at its URL.
        """
        if flight.answer is not None:
            answer = flight.answer._replace(items=flight.answer.items | flight.items)
            return answer if flight.is_through else answer._replace(callback_fingerprint=None)
        content = flight.location.encode("utf-8", "surrogatepass") if flight.location is not None else None
        fingerprint = self._revisits.callback_fingerprint
        is_cached = flight.status is not None and flight.size is None
        return Answer(
            flight.status,
            content=content,
            is_conditional=flight.is_conditional,
            is_cached=is_cached,
            callback_fingerprint=fingerprint,
        )

    def _answer(self, response: Response, flight: Flight, content: bytes | None) -> Answer:
        headers, body = response.headers, _hash(response)
        return Answer(
            response.status,
            validators_of(headers.get("ETag"), headers.get("Last-Modified"), self._revisits.now()),
            body,
            content if content is not None else _as_content(body),
            flight.size or 0,
            flight.is_conditional,
            is_cached=flight.size is None,
            callback_fingerprint=self._revisits.callback_fingerprint,
            kept=flight.kept,
        )


def has_conditions(request: Request) -> bool:
    """Tell whether *request* asks for a page if it changed."""
    return ETAG in request.headers or DATE in request.headers


def silence(response: Response) -> None:
    """Let no callback and no errback see *response*."""
    request = response.request
    assert request is not None
    request.callback = _nothing
    request.meta["handle_httpstatus_all"] = True  # else 304 is an error


def _nothing(response: Response, **_: Any) -> None:
    pass


def _hash(response: Response) -> int:
    return int(mmh3.hash64(response.body)[0])


def _as_content(text: int) -> bytes:
    """Return a hash of all that a page says as what stands for its main text."""
    return text.to_bytes(8, "big", signed=True)


def _is_hash(content: bytes | None) -> bool:
    return content is not None and len(content) == 8


LIMITS = ("DEPTH_LIMIT", "URLLENGTH_LIMIT")
"""Settings of Scrapy by which requests are left out without a trace."""


def spider_fingerprint(spider: Spider, settings: BaseSettings) -> bytes:
    """Return what the outputs of *spider* depend on beside the pages, as JSON; *settings* are those of the crawl.

    That is the files in which its class and those that it is made of are defined, its attributes that are text, as
    arguments are, the domains that it stays in, and the limits of Scrapy. Modules that those files import are not
    looked at.
    """
    told = {
        "code": [_hash_of_file(file) for file in _files(type(spider))],
        "arguments": {name: value for name, value in sorted(vars(spider).items()) if isinstance(value, str)},
        "domains": sorted(map(str, getattr(spider, "allowed_domains", None) or ())),
        "limits": [settings.getint(name) for name in LIMITS],
    }
    return json.dumps(told).encode()


def _files(spidercls: type) -> list[str]:
    modules = dict.fromkeys(kind.__module__ for kind in spidercls.__mro__)
    own = [name for name in modules if name.partition(".")[0] not in {"scrapy", "builtins"}]
    files = [getattr(sys.modules.get(name), "__file__", None) for name in own]
    return [file for file in files if file is not None]


def _hash_of_file(file: str) -> int:
    try:
        return int(mmh3.hash64(Path(file).read_bytes())[0])
    except OSError:  # it lies in an archive
        return 0
