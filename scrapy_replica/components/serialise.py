"""Requests as rows of the crawl database, and back."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.request import request_from_dict

if TYPE_CHECKING:
    from scrapy import Spider

IMMUTABLE = (str, int, float, bytes, type(None))

DEFAULTS = Request("http://default.invalid").to_dict()


def dump(request: Request, spider: Spider) -> bytes | None:
    """Return *request* without its URL and depth, which are columns of their own; ``None`` for a plain GET.

    :raises ValueError: a callback is not a method of *spider*.
    :raises Exception: whatever pickle raises for a ``meta`` or ``cb_kwargs`` that it cannot store.
    """
    fields = {key: value for key, value in request.to_dict(spider=spider).items() if DEFAULTS.get(key) != value}
    fields.pop("url", None)
    meta = fields.pop("meta", {})
    if stored := {key: value for key, value in meta.items() if key != "depth"}:
        fields["meta"] = stored
    return pickle.dumps(fields, protocol=4) if fields else None


def is_plain(request: Request) -> bool:
    """Tell whether a copy of *request* is as good as itself: nothing in ``meta`` and ``cb_kwargs`` can be changed."""
    return all(
        isinstance(value, IMMUTABLE) for values in (request.meta, request.cb_kwargs) for value in values.values()
    )


def load(payload: bytes | None, url: str, depth: int, spider: Spider) -> Request:
    """Return the request that :func:`dump` stored."""
    meta = {"depth": depth} if depth else {}
    if payload is None:
        return Request(url, meta=meta)
    fields = pickle.loads(payload)  # noqa: S301 - written by this crawl, as in Scrapy's own queues
    fields["url"] = url
    fields["meta"] = {**fields.get("meta", {}), **meta}
    return request_from_dict(fields, spider=spider)
