"""What a store keeps of fetched pages: the contract's records and what is asked of them."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class PageRow(NamedTuple):
    """What tells a duplicate from another page."""

    url_id: int
    url: str
    host: str
    title: str | None
    signature: bytes | None = None
    beside: int | None = None
    """Hash of what it says beside its main text."""


Judgement: TypeAlias = tuple[bytes | None, str, PageRow | None]
"""Signature, novelty and twin of a page."""


class HostPage(NamedTuple):
    """A fetch as those need it that know a host by its pages."""

    url_id: int
    url: str
    parent: int | None
    """Id of the URL that it was found on."""
    fetched_at: float
    status: int | None
    is_news: bool | None
    mark: bytes | None
    neighbours: str | None
    content: int | None
    cluster: int | None
    aliases: str | None
    leads: bytes | None


class TextPlace(NamedTuple):
    """Where a text stands on some host."""

    host_id: int
    host: str
    url: str
    words: int


class Fetched(NamedTuple):
    """The outcome of a fetch."""

    url: int
    """Id of the URL."""
    fetched_at: float
    status: int | None = None
    error: str | None = None
    signature: bytes | None = None
    simhash: int | None = None
    words: int | None = None
    title: str | None = None
    relevance: float | None = None
    novelty: str | None = None
    twin: int | None = None
    is_news: bool | None = None
    size: int | None = None
    """Bytes of the body as they came over the network."""
    beside: int | None = None
    """Hash of what the page says beside its main text, signed."""
    statements: str | None = None
    """JSON: what its site says may be done with the page, as :mod:`scrapy_replica.usage` writes it."""


class Trace(NamedTuple):
    """What a page is held against another by."""

    signature: bytes | None
    simhash: int | None
    words: int
    novelty: str
    is_news: bool | None
    mark: bytes | None
    beside: int | None = None


GONE = (404, 410)
"""Statuses that say that there is no page."""

NOT_MODIFIED = 304

MISSING = 400
"""From this status on there is no page to stand for another."""


def is_absent(status: int | None) -> bool:
    """Tell whether a *status* says that there is no page of its own at a URL: it is gone, or leads elsewhere.

    304 is about the page that was there before.
    """
    return status is not None and status != NOT_MODIFIED and (status in GONE or 300 <= status < MISSING)
