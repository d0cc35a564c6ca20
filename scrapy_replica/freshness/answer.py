"""What a server answered, as far as it tells whether a page changed: ETag and Last-Modified (RFC 9110, section 8.8)."""

from __future__ import annotations

import re
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import NamedTuple

MAX_ETAG = 256
"""Characters; what is longer is no tag worth a row and a header."""

CLOCK_SECONDS = 60.0
"""Clocks may differ by so much: a page that was modified later than now was not."""

_ENCODED = re.compile(r'[-;]+(gzip|br|deflate|df|zstd)"$')
_ETAG = re.compile(r'(W/)?"[\x21\x23-\x7e]*"')


class Validators(NamedTuple):
    """What a page is asked for with if it changed; ``None`` where the server said nothing of use."""

    etag: str | None = None
    last_modified: str | None = None
    """As the server wrote it."""

    def __bool__(self) -> bool:
        return self.etag is not None or self.last_modified is not None

    def promise(self, other: Validators) -> bool:
        """Tell whether a server that says *other* now says that the page is still the one of these.

        By the ETag where there was one, as servers do (RFC 9110, section 13.1.3); a weak one promises as much: that
        the page says the same.
        """
        if self.etag is not None:
            return other.etag is not None and is_same_etag(self.etag, other.etag)
        return self.last_modified is not None and self.last_modified == other.last_modified


def is_same_etag(one: str, other: str) -> bool:
    """Tell whether two tags stand for one page, however it is encoded: servers mark what they compressed."""
    return _opaque(one) == _opaque(other)


def _opaque(etag: str) -> str:
    return _ENCODED.sub('"', etag.removeprefix("W/"))


def validators_of(etag: bytes | None, last_modified: bytes | None, now: float) -> Validators:
    """Return what is of use of two headers at *now* (seconds since the epoch).

    A tag is one as it should be; a date can be read, and does not lie in the future.
    """
    tag, date = _text(etag), _text(last_modified)
    if tag is not None and not (len(tag) <= MAX_ETAG and _ETAG.fullmatch(tag)):
        tag = None
    if date is not None and not _is_past(date, now):
        date = None
    return Validators(tag, date)


def _text(header: bytes | None) -> str | None:
    return header.decode("latin-1").strip() if header is not None else None


def _is_past(date: str, now: float) -> bool:
    if not (date.isascii() and date.isprintable() and len(date) <= MAX_ETAG):
        return False
    try:
        at = parsedate_to_datetime(date)
        return (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp() <= now + CLOCK_SECONDS
    except (ValueError, TypeError, OverflowError, IndexError):
        return False


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
    callback_fingerprint: int | None = None
    """Under which a callback was through with it, 64 bits, signed; ``None`` where none was."""
    kept: bytes | None = None
    """SHA-1 of the body, as sent, if it is kept as WARC."""
    page: int | None = None
    """Signed 64-bit hash of *content* and of its URL without session ids; ``None`` where there is no page."""
    items: frozenset[int] = frozenset()
    """Hashes of the items that its callback gave, word by word but for session ids."""
