"""Keeps what is fetched as WARC files."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections import Counter
from http.client import responses
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlunparse

from scrapy.utils.asyncio import is_asyncio_available, run_in_thread, sleep
from scrapy.utils.httpobj import urlparse_cached

from scrapy_replica.address import without_user
from scrapy_replica.bucket import Bucket, is_url
from scrapy_replica.components.feeds import OutputError
from scrapy_replica.config import ConfigError
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.records import Capture
from scrapy_replica.usage import as_preferences, license_of, to_json, uses
from scrapy_replica.warc import records
from scrapy_replica.warc.folder import WarcFolder
from scrapy_replica.words.terminal import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.http import Headers, Response

    from scrapy_replica.components.flight import Flight
    from scrapy_replica.crawl.observation import Observation
    from scrapy_replica.crawldb.contract import CrawlDB

JOB = "warc"
"""Where a job keeps what tells its files from those of others."""

CREDENTIALS = re.compile(
    rb"cookie|authorization|token|secret|passw|api-?key|credential|session|csrf|xsrf|(?:^|-)auth(?:-|$)", re.IGNORECASE
)
"""Names of headers that are left out."""

_LINE_ENDS = re.compile(rb"[\r\n]+")

LONGEST_URL = 10_000
"""Characters of a URL: a record may name two, and readers give up on headers longer than 32 KiB."""

MOST_BYTES = 16 << 20
"""Records, not compressed yet, that may wait before nothing more is fetched."""

ROOM_SECONDS = 0.05
"""Time between two looks at whether there is room again."""

TRUNCATED = {"dataloss": "disconnect", "download_stopped": "unspecified"}
"""Scrapy's flags of responses that break off, in the words of WARC."""


class Batch:
    """Records that are written together."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.captures: dict[bytes, Capture] = {}
        """What it keeps, by the SHA-1 of its payload; the file is not known yet."""
        self.counts: Counter[str] = Counter()
        """Statistics of what it holds."""
        self.is_written = False
        """Its records are on the disk."""


class Recorder:
    """Writes requests, responses and what is known of them, in a thread, while the crawl goes on.

    Invariant: a URL is acknowledged when its records are on the disk (``Flight.is_kept``), so none is done whose
    record could be lost, and what was fetched and not kept is fetched again when the job goes on. After the first error
    nothing is written any more. At most :data:`MOST_BYTES` and what is on its way wait to be written.

    :param on_error: told why nothing can be kept any more.
    :param is_shared: other processes of the job may write to the folder as well.
    :param bucket: where files are moved when they are whole.
    :raises ConfigError: there is no asyncio.
    :raises ModuleNotFoundError: the extra is missing.
    :raises OSError: the folder or the bucket cannot be written to.
    """

    def __init__(
        self,
        folder: Path,
        size: int,
        store: CrawlDB,
        spider: str,
        counts: Counter[str],
        on_error: Callable[[StoreError], None],
        *,
        is_shared: bool = False,
        bucket: Bucket | None = None,
    ) -> None:
        self._store, self._counts, self._path, self._on_error = store, counts, folder, on_error
        self._bucket = bucket
        self.on_written: Callable[[], None] = lambda: None
        """Called when records came to the disk."""
        if not is_asyncio_available():
            raise ConfigError("it needs asyncio, which is Scrapy's default: leave TWISTED_REACTOR alone")
        records.import_fastwarc()
        about = {
            "software": f"scrapy-replica/{version('scrapy-replica')} Scrapy/{version('scrapy')}",
            "format": "WARC File Format 1.1",
            "conformsTo": "https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "description": f"spider {spider}; bodies of requests and headers with credentials are left out",
        }
        process = secrets.token_hex(4) if is_shared else ""
        self._folder = WarcFolder(folder, spider, self._job(), size, about, process, bucket)
        self._batch = Batch()
        self._pending: dict[bytes, Capture] = {}
        """The captures of batches that are not written yet."""
        self._waiting_bytes = 0
        self._has_failed = False
        self._task: asyncio.Future[None] | None = None
        self._file = ""
        """Name of the file that was written to last."""
        self._moving: asyncio.Future[None] | None = None
        """Moves whole files to the bucket, while the next ones are written."""

    def _job(self) -> str:
        job = self._store.meta(JOB)
        if job is None:
            job = secrets.token_hex(4).encode()
            self._store.set_meta(JOB, job)
        return job.decode()

    def keep(self, request: Request, response: Response, flight: Flight) -> None:
        """Have *request* and *response* written.

        :raises ValueError: no record can be made of them.
        """
        if len(request.url) > LONGEST_URL:
            raise ValueError(f"its URL has {len(request.url)} characters; {LONGEST_URL} are the most")
        exchange = exchange_of(request, response)
        original = flight.original if exchange.is_unchanged and flight.original else self._original(exchange)
        record_id, record = records.response(exchange, original)
        flight.record = record_id, exchange.date
        self._batch.counts["warc/responses" if original is None else "warc/revisits"] += 1
        flight.kept = exchange.digest if exchange.has_payload else None
        if original is None and exchange.has_payload:
            capture = Capture(exchange.url, exchange.date, "")
            self._batch.captures[exchange.digest] = self._pending[exchange.digest] = capture
        self._add(flight, record, records.request(exchange, record_id))

    def _original(self, exchange: records.Exchange) -> Capture | None:
        """Return where the payload is kept; what is in none of the folder's files is kept once more."""
        if not exchange.is_unchanged:
            return self.find(exchange.digest) if exchange.has_payload else None
        pending = (capture for capture in self._pending.values() if capture.url == exchange.url)
        return next(pending, None) or self._at_hand(self._store.captures.of_url(exchange.url))

    def find(self, digest: bytes) -> Capture | None:
        """Return where the payload with that SHA-1 is kept in the folder; ``None``: nowhere."""
        if digest in self._pending:  # where it is not written, nothing after it is
            return self._pending[digest]
        return self._at_hand(self._store.captures.find(digest))

    def _at_hand(self, capture: Capture | None) -> Capture | None:
        return capture if capture is not None and self._folder.has(capture.file) else None

    def note(self, flight: Flight, response: Response, observation: Observation | None, *, has_topic: bool) -> None:
        """Have what is known of a response written; relevance where the crawl *has_topic*."""
        if flight.record is not None and flight.url_id is not None:
            record_id, date = flight.record
            fields = self._known(flight.url_id, observation)
            if not has_topic:
                fields.pop("relevance", None)
            url = without_user(response.url)
            self._add(flight, records.metadata(url, date, record_id, fields))

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
                "content-usage": as_preferences(uses(observation.page.statements)) or None,
                "license": license_of(observation.page.statements),
                "statements": to_json(observation.page.statements),
            }
        return fields

    def _add(self, flight: Flight, *made: bytes) -> None:
        self._batch.records += made
        self._waiting_bytes += sum(map(len, made))
        flight.batch = self._batch
        if not self.is_busy:
            self._task = asyncio.ensure_future(self._write())

    @property
    def is_busy(self) -> bool:
        """Whether something is still to be written."""
        return self._task is not None and not self._task.done()

    async def room(self) -> None:
        """Wait while too much is to be written, as on a disk that is slower than the web."""
        while self._waiting_bytes > MOST_BYTES and self.is_busy:
            await sleep(ROOM_SECONDS)

    async def written(self) -> None:
        """Return when everything so far is on the disk, or cannot be written."""
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        while self._batch.records and not self._has_failed:
            batch, self._batch = self._batch, Batch()
            try:
                await self._write_batch(batch)
            except Exception as error:  # noqa: BLE001 - whatever it is, nothing may be done without its records
                self._has_failed = True
                self._on_error(error if isinstance(error, StoreError) else self._failed(error))
            self.on_written()

    async def _write_batch(self, batch: Batch) -> None:
        file = await run_in_thread(self._folder.write, batch.records)
        self._waiting_bytes -= sum(map(len, batch.records))
        for digest, capture in batch.captures.items():
            self._store.captures.enter(digest, capture._replace(file=file))
            self._pending.pop(digest, None)
        self._counts.update(batch.counts)
        batch.records.clear()
        batch.is_written = True
        is_moving = self._moving is not None and not self._moving.done()
        if file != self._file and not is_moving:  # those before it are whole
            self._moving = asyncio.ensure_future(run_in_thread(self._folder.move))
        self._file = file

    def _failed(self, error: Exception) -> OutputError:
        why = getattr(error, "strerror", None) or error
        return OutputError(
            f"REPLICA_WARC: {self._path} cannot be written to ({why}): free some space; "
            "the same command goes on with a job"
        )

    async def close(self) -> None:
        """Write what is left, give the last file its name and move it to the bucket if there is one.

        :raises OutputError: the file cannot be finished, or the bucket is away.
        """
        await self.written()
        try:
            await run_in_thread(self._folder.close)
            if self._moving is not None:
                await self._moving
            await run_in_thread(self._folder.move)
        except OSError as error:
            raise self._failed(error) from error
        if self._bucket is not None and (left := len(self._folder.left())):
            self._counts["warc/left"] = left
            raise OutputError(
                f"REPLICA_WARC: {self._bucket.url} did not take {counted(left, 'file')}: kept in {self._path}, and the "
                "same command moves what is there"
            )


def where_kept(place: str, job: str | None) -> tuple[Path, Bucket | None]:
    """Return the folder to which files are written, and the bucket to which they are moved if *place* is a URL.

    :raises ConfigError: there is no JOBDIR *job* in which they could wait.
    :raises ModuleNotFoundError: an extra is missing.
    """
    if not is_url(place):
        return Path(place).expanduser(), None
    if job is None:
        raise ConfigError(f"files wait in the JOBDIR (--job) until they are whole and go to {place}: give one")
    return Path(job) / JOB, Bucket(place)


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
        response.status,
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
