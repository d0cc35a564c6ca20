"""What a callback is told beside its page: by ``cb_kwargs``, ``meta``, or what it closes over."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any

import mmh3
from scrapy import Spider

from scrapy_replica.components.plain_data import IMMUTABLE

if TYPE_CHECKING:
    from scrapy import Request

OF_SCRAPY = re.compile(
    r"(?:depth|rule|link_text|cookiejar|proxy|_auth_proxy|max_retry_times|give_up_log_level|bindaddress|referrer_policy"
    r"|allow_offsite|is_start_request|verbatim_url|download_(?:timeout|latency|slot|maxsize|warnsize|delay|fail_on_dataloss)"
    r"|(?:dont|handle_httpstatus|redirect|retry|autothrottle|ftp)_\w+|(?:playwright|replica|splash|zyte_api)\w*)$"
)
"""Names in ``meta`` that tell Scrapy, its ``CrawlSpider`` or a download handler something, and no callback."""


def told_hash(request: Request, url_id: int) -> int:
    """Return 64 bits for what the callback of *request* is handed beside the page, 0 for nothing.

    What can be changed may be shared with other callbacks, as an item that many of them fill: it is that of the page
    with *url_id* alone.
    """
    told = _told(request)
    is_plain = all(type(value) in IMMUTABLE for value in told.values())
    text = repr(sorted(told.items(), key=str) if is_plain else url_id)
    return int(mmh3.hash64(text.encode("utf-8", "surrogatepass"))[0]) if told else 0


def told_text(request: Request) -> str:
    """Return what the callback of *request* is handed beside the page as one text; an item may say it again."""
    try:
        return repr([*_told(request).values()])
    except Exception:  # noqa: BLE001 - its values may do as they like
        return ""


def _told(request: Request) -> dict[str, Any]:
    told = {name: value for name, value in request.meta.items() if not OF_SCRAPY.match(name)} | request.cb_kwargs
    return told | _held_by(request.callback)


def _held_by(callback: Any) -> dict[str, Any]:
    """Return what a *callback* that is no method of the spider holds: the arguments of a partial, a lambda's names."""
    if isinstance(callback, partial):
        return {f"argument {n}": value for n, value in enumerate(callback.args)} | callback.keywords
    if not isinstance(callback, FunctionType):
        return {}
    held = [*(callback.__defaults__ or ()), *(callback.__kwdefaults__ or {}).values()]
    with suppress(ValueError):  # a name that has no value yet
        held += [cell.cell_contents for cell in callback.__closure__ or ()]
    return {f"held {n}": value for n, value in enumerate(held) if not isinstance(value, Spider)}
