"""Download handler that answers from an archive: the engine crawls as on the live web, nothing leaves the machine."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.exceptions import NotConfigured
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.settings.default_settings import DOWNLOAD_HANDLERS_BASE

from scrapy_replica.warc.archive import open_archive

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_replica.warc.archive import Record

LOCAL_SCHEMES = frozenset({"data", "file"})
"""Schemes that open no socket: Scrapy's own handlers keep them."""

_MAGIC = {b"gzip": b"\x1f\x8b", b"x-gzip": b"\x1f\x8b", b"zstd": b"\x28\xb5\x2f\xfd"}


class ArchiveDownloadHandler(BaseDownloadHandler):
    """Serves GET and HEAD requests from the WARC files named in ``REPLICA_ARCHIVE`` (a list of paths).

    Responses carry the archived status and headers, ``ip_address`` from ``WARC-IP-Address``, and the flag ``archive``.
    Whatever the archive does not have, other methods and schemes included, is answered by an empty 404 with the flag
    ``not-in-archive`` and the header ``X-Not-In-Archive: 1``.
    """

    lazy = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        paths = crawler.settings.getlist("REPLICA_ARCHIVE")
        if not paths:
            raise NotConfigured("REPLICA_ARCHIVE names no WARC file")
        self.archive = open_archive(paths)

    async def download_request(self, request: Request) -> Response:
        # One turn of the loop, so that as many requests are in flight as on the live web.
        await asyncio.sleep(0)
        record = self.archive.get(request.url) if request.method in {"GET", "HEAD"} else None
        if record is None:
            headers = {"X-Not-In-Archive": "1"}
            return Response(request.url, status=404, headers=headers, flags=["not-in-archive"], request=request)
        return response_of(record, request)

    async def close(self) -> None:
        """Nothing to close: the archive holds no open file."""


def response_of(record: Record, request: Request) -> Response:
    """The Scrapy response for a capture, of the class that its headers, URL and body ask for."""
    headers = Headers()
    for name, value in record.headers:
        if name.lower() != b"content-encoding" or _is_encoded(value, record.body):
            headers.appendlist(name, value)
    body = b"" if request.method == "HEAD" else record.body
    kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
    return kind(
        request.url,
        status=record.status,
        headers=headers,
        body=body,
        flags=["archive"],
        request=request,
        ip_address=_address(record.ip),
    )


def _is_encoded(encoding: bytes, body: bytes) -> bool:
    """Whether *body* can be what its Content-Encoding says.

    Some archivers store the decoded page and leave the header; decoding it again would fail. gzip and zstd begin with
    magic numbers, brotli and deflate have none, but do not begin like HTML, XML or JSON.
    """
    last = encoding.split(b",")[-1].strip().lower()
    if last in _MAGIC:
        return body.startswith(_MAGIC[last])
    return body.lstrip()[:1] not in {b"<", b"{"}


def _address(ip: str | None) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(ip) if ip else None
    except ValueError:
        return None


def rehearsal_settings(paths: Iterable[str | os.PathLike[str]]) -> dict[str, Any]:
    """Settings of a crawl from the WARC files *paths* that opens no socket, whatever the scheme of a link.

    robots.txt is asked for only if the archive has some; nothing is retried, since an archive answers twice alike, and
    nothing is kept, since nothing is fetched.
    Opens the archive, with its errors (see :class:`~scrapy_replica.warc.archive.Archive`).
    """
    files = [str(path) for path in paths]
    archive = open_archive(files)
    schemes = {"http", "https", *DOWNLOAD_HANDLERS_BASE} - LOCAL_SCHEMES
    return {
        "REPLICA_ARCHIVE": files,
        "DOWNLOAD_HANDLERS": dict.fromkeys(sorted(schemes), ArchiveDownloadHandler),
        "ROBOTSTXT_OBEY": archive.has_robots,
        "RETRY_ENABLED": False,
        "REPLICA_WARC": None,
        "REPLICA_CRAWLDB": None,
        "REMOTE_CONTROL_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
