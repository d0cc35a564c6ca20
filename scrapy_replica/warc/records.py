"""The records of WARC 1.1 (ISO 28500:2017), made of what was asked of a server and what it answered."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_replica.records import Capture

IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
"""Profile of a revisit record whose payload is that of another record."""

NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
"""Profile of a revisit record of a page that the server says has not changed."""

NOT_MODIFIED_STATUS = 304

_FIELDS = "application/warc-fields"


def import_fastwarc() -> Any:
    """The module ``fastwarc.warc``; ModuleNotFoundError says which extra brings it."""
    try:
        import fastwarc.warc  # noqa: PLC0415  (an extra)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("WARC files need fastwarc: pip install 'scrapy-replica[warc]'") from error
    return fastwarc.warc


@dataclass(frozen=True)
class Exchange:
    """What was asked of a server, and what it answered."""

    url: str
    at: float
    """Seconds since the epoch, when it was asked."""
    request: bytes
    """Head of the request: request line, header lines, empty line. Its body is not kept."""
    has_body: bool
    """The request had a body."""
    head: bytes
    """Head of the response: status line, header lines, empty line."""
    body: bytes
    """Transfer encoding removed, content encoding as sent."""
    status: int = 200
    ip: str | None = None
    """Address that answered."""
    truncated: str | None = None
    """Why the body breaks off: ``disconnect``, ``unspecified``; ``None`` if it is whole."""

    @cached_property
    def date(self) -> str:
        """The ``WARC-Date``, to the microsecond."""
        return datetime.fromtimestamp(self.at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    @property
    def is_unchanged(self) -> bool:
        """The server says that the page is as it was."""
        return self.status == NOT_MODIFIED_STATUS

    @property
    def has_payload(self) -> bool:
        """There is a body, and all of it."""
        return bool(self.body) and self.truncated is None

    @cached_property
    def digest(self) -> bytes:
        """SHA-1 of the payload, 20 bytes."""
        return hashlib.sha1(self.body).digest()


def response(exchange: Exchange, original: Capture | None = None) -> tuple[str, bytes]:
    """Return id and bytes of the record of a response.

    It is a revisit record of *original*, which has the same payload or is what the server says has not changed.
    """
    headers = {
        "WARC-Target-URI": exchange.url,
        "WARC-Date": exchange.date,
        "WARC-IP-Address": exchange.ip,
        "WARC-Truncated": exchange.truncated,
        "Content-Type": "application/http; msgtype=response",
    }
    if original is None:
        return _record("response", headers, exchange.head + exchange.body, exchange.digest)
    headers["WARC-Profile"] = NOT_MODIFIED if exchange.is_unchanged else IDENTICAL_PAYLOAD
    headers |= {"WARC-Refers-To-Target-URI": original.url, "WARC-Refers-To-Date": original.date}
    return _record("revisit", headers, exchange.head, None if exchange.is_unchanged else exchange.digest)


def request(exchange: Exchange, response_id: str) -> bytes:
    """Return the record of the request that was answered by the record of that id."""
    headers = {
        "WARC-Target-URI": exchange.url,
        "WARC-Date": exchange.date,
        "WARC-Concurrent-To": response_id,
        "WARC-Truncated": "unspecified" if exchange.has_body else None,
        "Content-Type": "application/http; msgtype=request",
    }
    return _record("request", headers, exchange.request)[1]


def metadata(url: str, date: str, response_id: str, fields: Mapping[str, object]) -> bytes:
    """Return the record of what is known of a response, that of the given id."""
    headers = {
        "WARC-Target-URI": url,
        "WARC-Date": date,
        "WARC-Concurrent-To": response_id,
        "Content-Type": _FIELDS,
    }
    return _record("metadata", headers, _fields(fields))[1]


def info(filename: str, fields: Mapping[str, object]) -> bytes:
    """Return the record that a file begins with."""
    return _record("warcinfo", {"WARC-Filename": filename, "Content-Type": _FIELDS}, _fields(fields))[1]


def _record(
    kind: str, headers: Mapping[str, str | None], block: bytes, payload_digest: bytes | None = None
) -> tuple[str, bytes]:
    fastwarc = import_fastwarc()
    record = fastwarc.WarcRecord()
    record.init_headers(getattr(fastwarc, kind))
    for name, value in headers.items():
        if value is not None:
            # Line ends are folded by the library; half a surrogate pair is what else it does not take.
            record.headers[name] = value.encode("utf-8", "replace").decode()
    record.set_bytes_content(block)
    out = BytesIO()
    record.write(out, checksum_data=True, payload_digest=payload_digest)
    return record.record_id, out.getvalue()


def _fields(fields: Mapping[str, object]) -> bytes:
    lines = (f"{name}: {' '.join(str(value).split())}\r\n" for name, value in fields.items() if value is not None)
    return "".join(lines).encode("utf-8", "replace")
