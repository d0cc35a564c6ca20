"""What requests have beyond a plain GET: stored with their URL, kept in memory, or shared with other processes."""

from __future__ import annotations

import json
import logging
import pickle
import sys
import uuid
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lxml import etree
from scrapy import Request
from scrapy.utils.request import request_from_dict

from scrapy_replica.address import origin_of, redacted
from scrapy_replica.components.plain_data import (
    IMMUTABLE,
    UnreadableError,
    UnsharedError,
    checked,
    is_json,
    more_than_data,
)
from scrapy_replica.components.told import OF_SCRAPY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy import Spider
    from scrapy.http import Headers

    from scrapy_replica.crawldb.contract import UrlRow

logger = logging.getLogger(__name__)

LIVE = b"live"
"""Beginning of the payload of a request that cannot be stored; it is kept in memory under the whole payload."""

REFERER = "r"
"""Stored in place of the header that names the page that the URL was found on."""

APART = frozenset({"url", "priority", "headers", "meta"})
"""Attributes that are columns of their own, or are stored otherwise."""

_PLAIN = Request("http://default.invalid").to_dict()
DEFAULTS = [(name, _PLAIN.get(name)) for name in Request.attributes if name not in APART]
"""The other attributes, and what they are of a plain GET."""

_encoded = json.JSONEncoder(separators=(",", ":")).encode

BYTES = "b"
"""Where a body is kept that is no ASCII, as Latin-1."""


class LostError(LookupError):
    """The request could only be kept in memory, and was that of an earlier run."""


class RequestPayloads:
    """Makes payloads of requests, and requests of payloads; each payload belongs to one row.

    Plain data are JSON. What JSON cannot hold is pickled, as in Scrapy's own queues, where the job is a folder; in a
    job in memory, where callbacks may share what they hand on and classes of requests may have what is no attribute of
    theirs, the request itself is kept. So is one that cannot be pickled.

    Where processes share the job (*is_shared*) all is JSON: whoever can write to their database would have what is
    pickled there run as code.

    :param url_of: id of a page -> its URL.
    """

    def __init__(
        self, *, is_stored: bool, url_of: Callable[[int], str], counts: Counter[str], is_shared: bool = False
    ) -> None:
        self._is_stored, self._is_shared, self._url_of, self._counts = is_stored, is_shared, url_of, counts
        self._live: dict[bytes, Request] = {}
        self._live_count = 0
        self._live_prefix = LIVE + uuid.uuid4().bytes
        """Of this run: a row that was dropped in an earlier one may come back."""
        self.spider: Spider | None = None

    def dump(self, request: Request, parent: str | None) -> bytes | None:
        """Return *request* without its URL and what are columns of their own; ``None`` for a plain GET.

        *parent* is the URL of the page that it was found on.

        :raises UnsharedError: it is more than plain data, and the job is shared.
        """
        if self._is_shared:
            return self._shared(request, parent)
        if type(request) is not Request and not self._is_stored:
            return self._keep(request, is_lost=False)
        try:
            fields = self._fields(request, parent)
        except ValueError:  # a callback that is no method of the spider, a class that has no name
            return self._keep(request, is_lost=self._is_stored)
        if not fields:
            return None
        if self._is_json(fields):
            return _encoded(fields).encode()
        return self._pickled(fields, request) if self._is_stored else self._keep(request, is_lost=False)

    def _shared(self, request: Request, parent: str | None) -> bytes | None:
        try:
            fields = self._fields(request, parent)
            if isinstance(body := fields.get("body"), bytes):
                fields[BYTES], _ = body.decode("latin-1"), fields.pop("body")
            why = next(more_than_data(fields), None)
        except ValueError:
            why = "its callback or errback is no method of the spider, or its class is not found under its name"
        except RecursionError:
            why = "what it hands on holds itself"
        if why is None:
            return _encoded(fields).encode() if fields else None
        self._counts["scheduler/unserializable"] += 1
        name = self.spider.name if self.spider is not None else ""
        asked = f"{redacted(request.url)} (callback {callback_of(request) or 'parse'})"
        raise UnsharedError(
            f"spider {name!r}: {asked} is not fetched, since no other process could: {why}; give it methods of the "
            "spider, and text, numbers, lists and dicts in meta and cb_kwargs, or crawl with one process"
        )

    def _is_json(self, fields: dict[str, Any]) -> bool:
        shared = [*fields.get("meta", {}).values(), *fields.get("cb_kwargs", {}).values()]
        if not self._is_stored and any(type(value) not in IMMUTABLE for value in shared):
            return False
        try:
            return all(map(is_json, fields.values()))
        except RecursionError:
            return False

    def _pickled(self, fields: dict[str, Any], request: Request) -> bytes:
        try:
            payload = pickle.dumps(fields, protocol=4)
        except Exception:
            logger.debug("%s cannot be stored and is kept in memory only", request, exc_info=True)
            return self._keep(request, is_lost=True)
        self._counts["scheduler/pickled"] += 1
        return payload

    def _keep(self, request: Request, *, is_lost: bool) -> bytes:
        self._counts["scheduler/unserializable"] += is_lost
        self._live_count += 1
        payload = self._live_prefix + str(self._live_count).encode()
        self._live[payload] = request
        return payload

    def _fields(self, request: Request, parent: str | None) -> dict[str, Any]:
        """Return what of *request* differs from a plain GET.

        :raises ValueError: a callback is not a method of the spider, or the class is not found under its name.
        """
        kind = type(request)
        if kind is Request:
            each = ((name, getattr(request, name), default) for name, default in DEFAULTS)
            fields = {name: value for name, value, default in each if value != default}
        else:  # whose own defaults may be others
            fields = {name: getattr(request, name) for name in kind.attributes if name not in APART}
            fields["_class"] = _name_of(kind)
        for name in ("callback", "errback"):
            if callable(fields.get(name)):
                fields[name] = self._method(request, name)
        if "body" in fields and fields["body"].isascii() and request.encoding == "utf-8":
            fields["body"] = fields["body"].decode("ascii")
        headers = {name.decode("latin-1"): _texts(texts) for name, texts in request.headers.items()}
        if parent is not None and headers.get("Referer") == [parent]:
            del headers["Referer"]
            fields[REFERER] = 1
        if headers:
            fields["headers"] = headers
        if meta := {name: _plain(value) for name, value in request.meta.items() if name != "depth"}:
            fields["meta"] = meta
        if "cb_kwargs" in fields:
            fields["cb_kwargs"] = {name: _plain(value) for name, value in fields["cb_kwargs"].items()}
        return fields

    def _method(self, request: Request, name: str) -> str:
        """Return the name of a callback; Scrapy looks through all members of the spider for it, 20 us."""
        function = getattr(request, name)
        own: str = getattr(function, "__name__", "")
        if getattr(self.spider, own, None) == function:
            return own
        found: str = request.to_dict(spider=self.spider)[name]
        return found

    def load(self, taken: UrlRow) -> Request:
        """Return the request that waited, whose row gives its payload up.

        :raises LostError: an earlier run had it in memory.
        :raises Exception: it cannot be made again, because its callback went away, for example.
        """
        payload = taken.payload
        meta = {"depth": taken.depth} if taken.depth else {}
        if payload is None:
            return Request(taken.url, meta=meta, priority=taken.priority)
        if payload.startswith(LIVE):
            request = self._live.pop(payload, None)
            if request is None:
                raise LostError(taken.url)
            return request if request.url == taken.url else request.replace(url=taken.url)
        fields = self._fields_in(payload)
        fields["meta"] = {**fields.get("meta", {}), **meta}
        fields["headers"] = {name: _bytes(texts) for name, texts in fields.get("headers", {}).items()}
        if fields.pop(REFERER, None) and taken.parent is not None:
            fields["headers"]["Referer"] = [self._url_of(taken.parent)]
        if BYTES in fields:
            fields["body"] = fields.pop(BYTES).encode("latin-1")
        return request_from_dict({**fields, "url": taken.url, "priority": taken.priority}, spider=self.spider)

    def copy(self, payload: bytes | None) -> bytes | None:
        live = self._live_of(payload)
        return payload if live is None else self._keep(live.copy(), is_lost=False)

    def moved(self, payload: bytes | None, url: str) -> bytes | None:
        if payload is None or self.is_lost(payload):
            return payload
        if (live := self._live_of(payload)) is not None:
            request = self._live[payload] = live.copy()
            come_from_front(request.headers, url)
            return payload
        fields = self._told(payload)
        headers = fields.setdefault("headers", {})
        if fields.pop(REFERER, None) or "Referer" in headers:
            headers["Referer"] = [_front_of(url)]
        return _encoded(fields).encode() if payload.startswith(b"{") else pickle.dumps(fields, protocol=4)

    def callback(self, payload: bytes | None) -> str:
        if payload is None:
            return ""
        if (live := self._live_of(payload)) is not None:
            return callback_of(live)
        if not payload.startswith(b"{") or self._is_shared:
            return _callback_in(self._told(payload))
        return _callback_told(payload)

    def has_arguments(self, payload: bytes | None) -> bool:
        told = self._told(payload)
        return bool(told.get("cb_kwargs")) or not all(map(OF_SCRAPY.match, told.get("meta", ())))

    def may_leave(self, payload: bytes | None) -> bool:
        return says_it_leaves(self._told(payload).get("meta", {}))

    def is_lost(self, payload: bytes | None) -> bool:
        return payload is not None and payload.startswith(LIVE) and payload not in self._live

    def forget(self, payload: bytes | None) -> None:
        if payload is not None:
            self._live.pop(payload, None)

    def _live_of(self, payload: bytes | None) -> Request | None:
        return self._live.get(payload) if payload is not None else None

    def _fields_in(self, payload: bytes) -> dict[str, Any]:
        if self._is_shared:
            return checked(payload)
        # Pickled by this crawl, as in Scrapy's own queues.
        fields: dict[str, Any] = json.loads(payload) if payload.startswith(b"{") else pickle.loads(payload)  # noqa: S301
        return fields

    def _told(self, payload: bytes | None) -> dict[str, Any]:
        """Return what *payload* tells; nothing where it makes no sense, which is found out when it is loaded."""
        if (live := self._live_of(payload)) is not None:
            return {"cb_kwargs": live.cb_kwargs, "meta": live.meta}
        if payload is None or payload.startswith(LIVE):  # of an earlier run
            return {}
        try:
            return self._fields_in(payload)
        except UnreadableError:
            return {}


def come_from_front(headers: Headers, url: str) -> None:
    """Let the referrer in *headers*, if any, be the front page of the host of *url*, to which the request moves.

    The page that led to it is nothing that host may hear of, and some hosts show a page only to who comes from them.
    """
    if "Referer" in headers:
        headers["Referer"] = _front_of(url)


def says_it_leaves(meta: Mapping[str, Any]) -> bool:
    """Tell whether the *meta* of a request lets it leave the scope, in our words or Scrapy's."""
    return meta.get("replica") is False or meta.get("allow_offsite") is True


def callback_of(request: Request) -> str:
    """Return the name of the callback of *request*, empty for the spider's ``parse``; of a ``CrawlSpider`` its rule."""
    callback = request.callback
    name = "" if callback is None else getattr(callback, "__name__", type(callback).__name__)
    return _callback_name(name, request.meta)


@lru_cache(maxsize=256)  # the requests of a spider have few callbacks, and most of them nothing else
def _callback_told(payload: bytes) -> str:
    return _callback_in(json.loads(payload))


def _callback_in(fields: Mapping[str, Any]) -> str:
    return _callback_name(fields.get("callback", ""), fields.get("meta", {}))


def _callback_name(name: str, meta: Mapping[str, Any]) -> str:
    rule = meta.get("rule")
    return f"{'' if name == 'parse' else name}{'' if rule is None else f' {rule}'}"


def _plain(value: object) -> object:
    """Return *value*; its letters alone where it holds on to the page, as ``link_text`` of a ``CrawlSpider`` does."""
    return str(value) if isinstance(value, etree._ElementUnicodeResult) else value  # noqa: SLF001


def _name_of(kind: type[Request]) -> str:
    if getattr(sys.modules.get(kind.__module__), kind.__name__, None) is not kind:
        raise ValueError(f"{kind} is not found under its name")
    return f"{kind.__module__}.{kind.__name__}"


def _texts(values: list[bytes]) -> list[str]:
    return [value.decode("latin-1") for value in values]


def _bytes(texts: list[str]) -> list[bytes]:
    return [text.encode("latin-1") for text in texts]


def _front_of(url: str) -> str:
    return f"{origin_of(url)}/"
