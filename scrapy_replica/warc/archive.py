"""A read-only collection of captured pages: one or many WARC files, looked up by URL."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from scrapy_replica.warc.records import import_fastwarc

from .archive_index import (
    HEADER_BYTES,
    Index,
    exact_form,
    load_index,
    merge,
    requested_form,
    target_url,
    url_key,
)
from .http_block import HttpResponse, parse_response

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from datetime import datetime

_BUFFER_BYTES = 16 << 10
"""Read ahead per random access; a typical compressed page takes 3 kB."""


@dataclass(frozen=True, slots=True)
class Record:
    """One capture: what a server answered when a URL was asked for."""

    url: str
    """As the archive has it."""
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    """HTTP payload, transfer encoding (chunks) removed, content encoding (gzip ...) as sent."""
    ip: str | None
    """Address that answered."""
    date: datetime | None
    """When it was captured."""


class Archive:
    """The captures of WARC files, plain or compressed record by record.

    ``response`` records of http and https count, ``resource`` records as pages with status 200, and ``revisit`` records
    of payloads that are in these files. A URL is found in the spelling of the archive and in the one that Scrapy
    requests (``w3lib.url.safe_url_string``); fragments do not count. Of several captures of a URL the first with status
    200 is given, else the first.

    ``len`` counts captures. The object holds 20 bytes per capture and no open file; it may be used by several threads.
    Of a file that breaks off, what comes before is used and a warning is logged.

    Raises FileNotFoundError, ValueError for a file that is no WARC, ModuleNotFoundError without the extra ``warc``.
    """

    def __init__(self, paths: Iterable[str | os.PathLike[str]]) -> None:
        self.paths = [Path(path) for path in paths]
        import_fastwarc()  # now, not at the first page: the index may be in its cache
        self._index: Index = merge([load_index(path) for path in self.paths])

    @property
    def has_robots(self) -> bool:
        """Some host's ``/robots.txt`` is among the captures."""
        return self._index.has_robots

    def __len__(self) -> int:
        return self._index.records

    def records(self) -> Iterator[Record]:
        """All captures, in the order of the files."""
        for number, path in enumerate(self.paths):
            offsets = np.unique(self._index.offsets[self._index.files == number])
            with path.open("rb") as file:
                for offset in offsets.tolist():
                    record = self._record(file, offset)
                    if record is not None:
                        yield record

    def get(self, url: str) -> Record | None:
        """The capture of *url*, None where there is none."""
        for form in dict.fromkeys((exact_form(url), requested_form(url))):
            for entry in self._entries(form):
                record = self._read(entry)
                # Two URLs may share a key: one pair in about 2^32 captures.
                if record is not None and form in {exact_form(record.url), requested_form(record.url)}:
                    return record
        return None

    def _entries(self, form: str) -> list[int]:
        """The index's entries for one form of a URL, the best capture first."""
        index, key = self._index, np.uint64(url_key(form))
        first = int(np.searchsorted(index.keys, key))
        end = int(np.searchsorted(index.keys, key, side="right"))
        return sorted(range(first, end), key=lambda entry: index.statuses[entry] != 200)

    def _read(self, entry: int) -> Record | None:
        with self.paths[self._index.files[entry]].open("rb") as file:
            return self._record(file, int(self._index.offsets[entry]))

    def _record(self, file: BinaryIO, offset: int) -> Record | None:
        archived = _archived(file, offset)
        if archived is None:
            return None
        url, response = target_url(archived), _response(archived, archived.reader.read())
        if url is None or response is None:
            return None
        if _kind(archived) == "revisit":
            body = self._payload(archived)
            if body is None:
                return None
            response = response._replace(body=body)
        date = archived.record_date if archived.headers.get("WARC-Date") else None
        return Record(url, *response, ip=archived.headers.get("WARC-IP-Address"), date=date)

    def _payload(self, revisit: Any) -> bytes | None:
        """The payload that a revisit record stands for, None where it is not in these files."""
        headers = revisit.headers
        for entry in self._entries(exact_form(headers.get("WARC-Refers-To-Target-URI") or "")):
            with self.paths[self._index.files[entry]].open("rb") as file:
                original = _archived(file, int(self._index.offsets[entry]))
                if original is None or _kind(original) == "revisit":
                    continue
                digests = [record.headers.get("WARC-Payload-Digest") for record in (revisit, original)]
                is_dated = original.headers.get("WARC-Date") == headers.get("WARC-Refers-To-Date")
                if digests[0] == digests[1] if all(digests) else is_dated:
                    response = _response(original, original.reader.read())
                    return response.body if response is not None else None
        return None


def _archived(file: BinaryIO, offset: int) -> Any:
    file.seek(offset)
    return next(
        iter(
            import_fastwarc().ArchiveIterator(
                file, parse_http=False, buffer_size=_BUFFER_BYTES, max_header_len=HEADER_BYTES
            )
        ),
        None,
    )


def _kind(archived: Any) -> str:
    return (archived.headers.get("WARC-Type") or "").lower()


def _response(archived: Any, block: bytes) -> HttpResponse | None:
    if _kind(archived) == "resource":
        kind = (archived.headers.get("Content-Type") or "application/octet-stream").encode()
        return HttpResponse(200, [(b"Content-Type", kind)], block)
    return parse_response(block)


def open_archive(paths: Iterable[str | os.PathLike[str]]) -> Archive:
    """The one :class:`Archive` over *paths* in this process; a changed file gives a new one."""
    resolved = [Path(path).resolve() for path in paths]
    return _open(tuple((path, *_state(path)) for path in resolved))


def _state(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@lru_cache(maxsize=4)
def _open(states: tuple[tuple[Path, int, int], ...]) -> Archive:
    return Archive(state[0] for state in states)
