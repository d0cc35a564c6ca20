"""Where in a WARC file each URL stands: built in one pass over the file, cached beside it.

A cache is a private file: it holds for one state of its WARC (size and time of change) and one version of this module,
and is made anew, without asking, for any other.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import tempfile
import zipfile
from array import array
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mmh3
import numpy as np
from w3lib.url import safe_url_string

from scrapy_replica.address import without_user
from scrapy_replica.warc.records import import_fastwarc

from .http_block import status_of

if TYPE_CHECKING:
    import numpy.typing as npt

logger = logging.getLogger(__name__)

VERSION = 2
"""Version of the cache file's layout and of :func:`url_key`."""

HEADER_BYTES = 1 << 20
"""Longest header of a record that is read: crawlers of others kept URLs of any length."""

SAME_PAYLOAD = "/revisit/identical-payload-digest"
"""End of the profile, in WARC 1.0 and 1.1, of a revisit record that has the payload of another one."""

_NO_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?]*")


def exact_form(url: str) -> str:
    """*url* without user and fragment, the path never empty."""
    url = without_user(url.partition("#")[0])
    return url + "/" if _NO_PATH.fullmatch(url) else url


def requested_form(url: str) -> str:
    """*url* as Scrapy requests it: unsafe characters escaped, the host name in lower case, no fragment."""
    with suppress(ValueError):
        url = safe_url_string(url)
    return exact_form(url)


def url_key(form: str) -> int:
    return int(mmh3.hash64(form.encode("utf-8", "surrogatepass"), signed=False)[0])


@dataclass(frozen=True, slots=True)
class Index:
    """The captures of one or many WARC files. 20 bytes each; a URL with two forms has two entries."""

    keys: npt.NDArray[np.uint64]
    """Ascending; equal keys in the order of their captures."""
    offsets: npt.NDArray[np.uint64]
    """Where the record (in a compressed file, its gzip member) begins, in bytes."""
    statuses: npt.NDArray[np.uint16]
    files: npt.NDArray[np.uint16]
    """Number of the file among those given."""
    records: int
    has_robots: bool
    """Some host's ``/robots.txt`` is among the captures."""
    cut_after: int | None
    """Number of records before the place where the file breaks off; None for a whole file."""


def merge(indexes: list[Index]) -> Index:
    """One index over several files, numbered in the order given."""
    keys = np.concatenate([index.keys for index in indexes])
    order = np.argsort(keys, kind="stable")
    files = [np.full(len(index.keys), number, np.uint16) for number, index in enumerate(indexes)]
    return Index(
        keys[order],
        np.concatenate([index.offsets for index in indexes])[order],
        np.concatenate([index.statuses for index in indexes])[order],
        np.concatenate(files)[order],
        sum(index.records for index in indexes),
        any(index.has_robots for index in indexes),
        None,
    )


def load_index(path: Path) -> Index:
    """The index of the WARC file *path*, from its cache where that is still true.

    Raises ValueError where the file is no WARC, or a WARC that cannot be read record by record.
    """
    stamp = _stamp(path)
    places = _cache_places(path)
    for place in places:
        index = _read_cache(place, stamp)
        if index is not None:
            return _warned(index, path)
    index = build_index(path)
    for place in places:
        if _write_cache(place, index, stamp):
            break
    return _warned(index, path)


def _warned(index: Index, path: Path) -> Index:
    if index.cut_after is not None:
        logger.warning("%s is cut off or damaged after %d records; these are used", path, index.cut_after)
    return index


class _Builder:
    """The arrays of an index while they grow, in machine words rather than Python objects."""

    def __init__(self) -> None:
        self.keys, self.offsets, self.statuses = array("Q"), array("Q"), array("H")
        self.seen = self.records = 0
        self.is_cut = self.has_robots = False

    def add(self, record: Any) -> bool:
        """Take one record of any type; False where the file breaks off inside it."""
        head = record.reader.read(16)
        length = len(head) + record.reader.consume()
        if record.headers.get("Content-Length") is None or length < record.content_length:
            return False
        self.seen += 1
        url = target_url(record)
        status = record_status(record, head)
        if url is not None and status is not None:
            self._add_capture(url, status, record.stream_pos)
        return True

    def _add_capture(self, url: str, status: int, offset: int) -> None:
        form = exact_form(url)
        for key in dict.fromkeys((url_key(form), url_key(requested_form(url)))):
            self.keys.append(key)
            self.offsets.append(offset)
            self.statuses.append(status)
        self.records += 1
        self.has_robots |= form.endswith("/robots.txt") and form.count("/") == 3

    def index(self) -> Index:
        keys = np.array(self.keys, np.uint64)
        order = np.argsort(keys, kind="stable")
        return Index(
            keys[order],
            np.array(self.offsets, np.uint64)[order],
            np.array(self.statuses, np.uint16)[order],
            np.zeros(len(keys), np.uint16),
            self.records,
            self.has_robots,
            self.seen if self.is_cut else None,
        )


def target_url(record: Any) -> str | None:
    """The record's URL if it is one of http or https (and not ``dns:``, ``urn:`` ...)."""
    # The first WARC tools wrote the URL in angle brackets, as a grammar of WARC 1.0 has it.
    url = (record.headers.get("WARC-Target-URI") or "").strip().removeprefix("<").removesuffix(">")
    return url if url[:8].lower().startswith(("http://", "https://")) else None


def record_status(record: Any, head: bytes) -> int | None:
    """HTTP status of a capture with the first bytes *head*; a resource record is a page without a header."""
    kind = (record.headers.get("WARC-Type") or "").lower()
    if kind == "response" or (kind == "revisit" and is_same_payload(record)):
        return status_of(head)
    return 200 if kind == "resource" else None


def is_same_payload(record: Any) -> bool:
    """Whether a revisit record says that its payload is that of another record."""
    return (record.headers.get("WARC-Profile") or "").endswith(SAME_PAYLOAD)


def build_index(path: Path) -> Index:
    """Read *path* once from end to end. Progress goes to standard error if that is a terminal."""
    fastwarc, builder = import_fastwarc(), _Builder()
    size = path.stat().st_size
    with path.open("rb") as file, _progress(path, size) as bar:
        try:
            for record in fastwarc.ArchiveIterator(file, parse_http=False, max_header_len=HEADER_BYTES):
                if not builder.add(record):
                    builder.is_cut = True
                    break
                bar.update(record.stream_pos - bar.n)
        except OSError:
            builder.is_cut = True
    if not builder.seen:
        raise ValueError(f"{path} is no WARC file: give files made by a crawler, as .warc or .warc.gz")
    _require_members(path, np.unique(np.array(builder.offsets, np.int64)), size)
    return builder.index()


def _progress(path: Path, size: int) -> Any:
    from tqdm import tqdm  # noqa: PLC0415  (an extra)

    # disable=None: nothing where standard error is no terminal.
    return tqdm(total=size, desc=f"indexing {path.name}", unit="B", unit_scale=True, leave=False, disable=None)


def _require_members(path: Path, offsets: npt.NDArray[np.int64], size: int) -> None:
    """Refuse a WARC compressed as a whole: each look at a record would decompress everything before it."""
    with path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b" or not len(offsets):
            return
    data = np.memmap(path, np.uint8, mode="r")
    inside = offsets[offsets + 1 < size]
    if len(inside) < len(offsets) or not np.all((data[inside] == 0x1F) & (data[inside + 1] == 0x8B)):
        raise ValueError(f"{path} is compressed as a whole: unpack it with gunzip, or run: fastwarc recompress")


def _stamp(path: Path) -> npt.NDArray[np.int64]:
    status = path.stat()
    return np.array([VERSION, status.st_size, status.st_mtime_ns], np.int64)


def _cache_places(path: Path) -> list[Path]:
    """Where the cache may stand, best place first."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]
    return [path.with_name(path.name + ".index.npz"), base / "scrapy-replica" / f"{name}.index.npz"]


def _read_cache(place: Path, stamp: npt.NDArray[np.int64]) -> Index | None:
    try:
        # The file is opened here, since np.load does not close one that it cannot read.
        with place.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            if not np.array_equal(stored["stamp"], stamp):
                return None
            keys, offsets, statuses = stored["keys"], stored["offsets"], stored["statuses"]
            records, has_robots, cut_after = (int(number) for number in stored["facts"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    files = np.zeros(len(keys), np.uint16)
    return Index(keys, offsets, statuses, files, records, bool(has_robots), None if cut_after < 0 else cut_after)


def _write_cache(place: Path, index: Index, stamp: npt.NDArray[np.int64]) -> bool:
    """Write the cache in one step; False where that place cannot be written."""
    cut_after = -1 if index.cut_after is None else index.cut_after
    facts = np.array([index.records, index.has_robots, cut_after], np.int64)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        # A folder without any write bit is meant to stay as it is, whoever asks: root may write everywhere.
        if not place.parent.stat().st_mode & 0o222:
            return False
        handle, name = tempfile.mkstemp(dir=place.parent, prefix=place.name, suffix=".tmp")
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(
                file,
                stamp=stamp,
                facts=facts,
                keys=index.keys,
                offsets=index.offsets,
                statuses=index.statuses,
            )
        Path(name).replace(place)
    except OSError:
        Path(name).unlink(missing_ok=True)
        return False
    return True
