"""Keeps what is fetched as WARC files."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from http.client import responses
from importlib.metadata import version
from typing import TYPE_CHECKING
from urllib.parse import urlunparse

from scrapy.utils.asyncio import is_asyncio_available, run_in_thread
from scrapy.utils.httpobj import urlparse_cached

from scrapy_replica.address import without_user
from scrapy_replica.components.outputs import OutputError
from scrapy_replica.config import ConfigError
from scrapy_replica.records import Capture
from scrapy_replica.warc import records
from scrapy_replica.warc.folder import WarcFolder

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from pathlib import Path

    from scrapy import Request
    from scrapy.http import Headers, Response

    from scrapy_replica.components.flight import Flight
    from scrapy_replica.crawl import Observation
    from scrapy_replica.crawldb.contract import CrawlDB

logger = logging.getLogger(__name__)

JOB = "warc"
"""Where a job keeps what tells its files from those of others."""

CREDENTIALS = re.compile(
    rb"cookie|authorization|token|secret|passw|api-?key|credential|session|csrf|xsrf|(?:^|-)auth(?:-|$)", re.IGNORECASE
)
"""Names of headers that are left out."""

_LINE_ENDS = re.compile(rb"[\r\n]+")

TRUNCATED = {"dataloss": "disconnect", "download_stopped": "unspecified"}
"""Scrapy's flags of responses that break off, in the words of WARC."""


class _Batch:
    """Records that are written together."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.file: str | None = None
        """Name of the file that they are in, once they are on the disk."""


class Keeper:
    """Writes requests, responses and what is known of them.

    Invariant: :meth:`keep` returns when the records are on the disk, and a response goes on its way after that. So no
    URL is done whose record could be lost, and what was fetched and not kept is fetched again when the job goes on.
    After an error of the disk everything raises it again.

    :raises ConfigError: the folder cannot be written to, or the extra is missing.
    """

    def __init__(self, folder: Path, size: int, store: CrawlDB, spider: str, counts: Counter[str]) -> None:
        self._store, self._counts, self._path = store, counts, folder
        self._check()
        about = {
            "software": f"scrapy-replica/{version('scrapy-replica')} Scrapy/{version('scrapy')}",
            "format": "WARC File Format 1.1",
            "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "description": f"spider {spider}; bodies of requests and headers with credentials are left out",
        }
        self._folder = WarcFolder(folder, spider, self._job(), size, about)
        self._batch, self._lock = _Batch(), asyncio.Lock()
        self._pending: dict[bytes, Capture] = {}
        """What is being written, by the SHA-1 of its payload."""
        self.error: OutputError | None = None
        """Why nothing can be kept any more."""

    def _check(self) -> None:
        if not is_asyncio_available():
            raise ConfigError("it needs asyncio, which is Scrapy's default: leave TWISTED_REACTOR alone")
        try:
            records.import_fastwarc()
        except ModuleNotFoundError as error:
            raise ConfigError(str(error)) from None

    def _job(self) -> str:
        job = self._store.meta(JOB)
        if job is None:
            job = secrets.token_hex(4).encode()
            self._store.set_meta(JOB, job)
        return job.decode()

    async def keep(self, request: Request, response: Response, flight: Flight) -> None:
        """Write *request* and *response*.

        :raises OutputError: they cannot be written.
        """
        exchange = exchange_of(request, response)
        is_told_by_payload = bool(exchange.body) and exchange.truncated is None
        original = self._original(exchange.digest) if is_told_by_payload else None
        record_id, record = records.response(exchange, original)
        batch = self._batch
        batch.records += (record, records.request(exchange, record_id))
        flight.record = record_id, exchange.date
        self._counts["warc/responses" if original is None else "warc/revisits"] += 1
        if original is not None or not is_told_by_payload:
            await self._written(batch)
            return
        self._pending[exchange.digest] = Capture(exchange.url, exchange.date, "")
        file = await self._written(batch)
        self._store.captures.enter(exchange.digest, self._pending.pop(exchange.digest)._replace(file=file))

    def _original(self, digest: bytes) -> Capture | None:
        """Return where a payload is kept; what is in none of the folder's files is kept once more."""
        if digest in self._pending:  # where it is not written, nothing after it is
            return self._pending[digest]
        original = self._store.captures.find(digest)
        return original if original is not None and self._folder.has(original.file) else None

    def note(self, flight: Flight, response: Response, observation: Observation | None, *, has_topic: bool) -> None:
        """Write what is known of a response with the next records; relevance where the crawl *has_topic*."""
        if flight.record is not None and flight.url_id is not None:
            record_id, date = flight.record
            fields = self._known(flight.url_id, observation)
            if not has_topic:
                fields.pop("relevance", None)
            url = without_user(response.url)
            self._batch.records.append(records.metadata(url, date, record_id, fields))

    def _known(self, url_id: int, observation: Observation | None) -> dict[str, object]:
        urls = self._store.urls
        row = urls.row(url_id)
        action, reason = self._store.ledger.last(url_id) or ("fetch", None)
        fields: dict[str, object] = {
            "via": without_user(urls.url_of(row.parent)) if row.parent is not None else None,
            "depth": row.depth,
            "decision": action,
            "reason": reason,
        }
        if observation is not None:
            twin = observation.twin
            fields |= {
                "relevance": f"{observation.relevance:.4f}",
                "novelty": observation.novelty.value,
                "repeats": without_user(urls.url_of(twin.url_id)) if twin is not None else None,
            }
        return fields

    async def written(self) -> None:
        """Return when everything so far is on the disk.

        :raises OutputError: it is not.
        """
        if self._batch.records:
            await self._written(self._batch)

    async def _written(self, batch: _Batch) -> str:
        # Whoever comes first writes what has come together while the disk was busy.
        async with self._lock:
            if batch.file is None and self.error is None:
                self._batch = _Batch()
                try:
                    batch.file = await run_in_thread(self._folder.write, batch.records)
                except OSError as error:
                    self.error = self._failed(error)
        if batch.file is None:
            assert self.error is not None
            raise self.error
        return batch.file

    def _failed(self, error: OSError) -> OutputError:
        return OutputError(
            f"REPLICA_WARC: {self._path} cannot be written to ({error.strerror}): free some space; "
            "the same command goes on with a job"
        )

    async def close(self) -> None:
        """Write what is left and give the last file its name.

        :raises OutputError: it cannot be written.
        """
        try:
            if self.error is None:
                await self.written()
            self._folder.close()
        except OSError as error:
            raise self._failed(error) from error


def exchange_of(request: Request, response: Response) -> records.Exchange:
    """Return what was sent and what came, without credentials."""
    parts = urlparse_cached(request)
    target = urlunparse(("", "", parts.path or "/", parts.params, parts.query, ""))
    protocol = response.protocol or ""
    spoken = protocol if protocol.startswith("HTTP/1") else "HTTP/1.1"
    is_proxied = bool(request.meta.get("proxy"))
    return records.Exchange(
        without_user(request.url),
        time.time() - request.meta.get("download_latency", 0.0),
        _head(f"{request.method} {target} HTTP/1.1", request.headers, {b"Host": parts.netloc.rpartition("@")[2]}),
        bool(request.body),
        _head(f"{spoken} {response.status} {responses.get(response.status, '')}".rstrip(), response.headers, {}),
        response.body,
        None if is_proxied or response.ip_address is None else str(response.ip_address),
        next((TRUNCATED[flag] for flag in response.flags if flag in TRUNCATED), None),
    )


def _head(first: str, headers: Headers, more: dict[bytes, str]) -> bytes:
    own = [name + b": " + value.encode("utf-8", "replace") for name, value in more.items() if name not in headers]
    lines = (first.encode("utf-8", "replace"), *own, *_lines(headers), b"", b"")
    return b"\r\n".join(_LINE_ENDS.sub(b" ", line) for line in lines)


def _lines(headers: Headers) -> Iterator[bytes]:
    for name, values in headers.items():
        # Bodies come without chunks.
        if name != b"Transfer-Encoding" and not CREDENTIALS.search(name):
            yield from (name + b": " + value for value in values)
