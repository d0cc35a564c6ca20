"""A generated web as a WARC file of HTML pages, the same bytes for the same web."""

from __future__ import annotations

import base64
import gzip
import hashlib
from collections.abc import Iterable
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from scrapy_replica.lab.generation.html import Renderer
from scrapy_replica.lab.generation.web import Chunk, Web

LEVEL = 4
"""Of gzip: a page in 70 us and 1.3 kB; level 6 takes twice the time for 4 % less."""
DATE = "2026-01-01T00:00:00Z"


def write_warc(web: Web, file: Path, chunks: Iterable[Chunk]) -> None:
    """Write *chunks*, which are all of *web*; the record of each page is a gzip member of its own."""
    renderer = Renderer(web)
    with file.open("xb") as out:
        for chunk in chunks:
            hosts = web.plan.host_of(np.arange(chunk.first, chunk.stop)).tolist()
            for url, host, body in zip(chunk.urls, hosts, renderer.pages(chunk), strict=True):
                out.write(gzip.compress(record_of(url, address_of(host), body), LEVEL, mtime=0))


def record_of(url: str, ip: str, body: bytes, location: str = "") -> bytes:
    """Return the WARC record of the response with the HTML page *body*, or of a 301 that leads to *location*."""
    status = f"301 Moved Permanently\r\nLocation: {location}" if location else "200 OK"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
    block = head.encode() + body
    return (
        (
            f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <{uuid5(NAMESPACE_URL, url).urn}>\r\n"
            f"WARC-Date: {DATE}\r\nWARC-Target-URI: {url}\r\nWARC-IP-Address: {ip}\r\n"
            f"WARC-Payload-Digest: {digest_of(body)}\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(block)}\r\n\r\n"
        ).encode()
        + block
        + b"\r\n\r\n"
    )


def digest_of(body: bytes) -> str:
    """Return the digest of a payload, as WARC and its indexes have it."""
    return f"sha1:{base64.b32encode(hashlib.sha1(body).digest()).decode()}"


def address_of(host: int) -> str:
    """Return an address of the block for benchmarks (RFC 2544); hosts may share one."""
    return f"198.{18 + host // 65_536 % 2}.{host // 256 % 256}.{host % 256}"
