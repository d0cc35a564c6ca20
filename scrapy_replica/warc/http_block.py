"""An HTTP response as a WARC record holds it: status line, header lines, body."""

from __future__ import annotations

import re
from typing import NamedTuple

_STATUS_LINE = re.compile(rb"HTTP/[\d.]+[ \t]+(\d{3})")
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_CHUNK_SIZE = re.compile(rb"[ \t]*([0-9A-Fa-f]+)[^\n]*\n")


class HttpResponse(NamedTuple):
    status: int
    headers: list[tuple[bytes, bytes]]
    """Names and values in the order sent, ``Transfer-Encoding`` left out."""
    body: bytes
    """The payload, transfer encoding removed, content encoding (gzip, br ...) not."""


def status_of(block: bytes) -> int | None:
    """The status code of a block, of which the first 16 bytes suffice; None where this is no HTTP response."""
    match = _STATUS_LINE.match(block)
    return int(match[1]) if match else None


def parse_response(block: bytes) -> HttpResponse | None:
    """Take an HTTP response apart; None where *block* does not begin with a status line."""
    status = status_of(block)
    if status is None:
        return None
    end = _END_OF_HEAD.search(block)
    head, body = (block[: end.start()], block[end.end() :]) if end else (block, b"")
    headers = _header_lines(head)
    if any(name.lower() == b"transfer-encoding" and b"chunked" in value.lower() for name, value in headers):
        body = remove_chunks(body)
    return HttpResponse(status, [pair for pair in headers if pair[0].lower() != b"transfer-encoding"], body)


def _header_lines(head: bytes) -> list[tuple[bytes, bytes]]:
    headers: list[tuple[bytes, bytes]] = []
    for line in head.splitlines()[1:]:
        if line[:1] in (b" ", b"\t") and headers:
            name, value = headers[-1]
            headers[-1] = (name, value + b" " + line.strip())
            continue
        name, colon, value = line.partition(b":")
        if colon and name.strip():
            headers.append((name.strip(), value.strip()))
    return headers


def remove_chunks(body: bytes) -> bytes:
    """The payload of a chunked body (RFC 9112, section 7.1).

    Some archivers store the payload without its chunks and leave the header: such a body is returned as it is. Of a
    body that breaks off, what is there is returned.
    """
    parts: list[bytes] = []
    position = 0
    while match := _CHUNK_SIZE.match(body, position):
        size = int(match[1], 16)
        if size == 0:
            break
        parts.append(body[match.end() : match.end() + size])
        position = match.end() + size
        # The line end behind the chunk's data; some servers send a bare LF.
        position += 2 if body[position : position + 2] == b"\r\n" else 1
    return b"".join(parts) if position or body.startswith(b"0") else body
