"""What a server answered to a request for a page, as far as it tells whether the page changed."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_replica.freshness.validators import Validators


class Answer(NamedTuple):
    """One answer."""

    status: int | None
    """HTTP status; ``None`` where no response came."""
    validators: Validators = Validators()
    body: int | None = None
    """Signed 64-bit hash of the body."""
    content: bytes | None = None
    """Stands for what counts: the main text, or where it redirects to; ``None`` where there is no page."""
    size: int = 0
    """Bytes of the body as sent."""
    is_conditional: bool = False
    """The page was asked for if it changed."""
    is_cached: bool = False
    """Nobody was asked: it comes from a cache."""
    terms: int | None = None
    """Under which a callback was through with it, 64 bits, signed; ``None`` where none was."""
    kept: bytes | None = None
    """SHA-1 of the body, as sent, if it is kept as WARC."""
    page: int | None = None
    """Signed 64-bit hash of *content* and of its URL without session ids; ``None`` where there is no page."""
    items: frozenset[int] = frozenset()
    """Hashes of the items that its callback gave, word by word but for session ids."""
