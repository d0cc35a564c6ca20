"""CDX and CDXJ: lines about captures, whose payloads are known by their digests alone."""

from __future__ import annotations

import binascii
import gzip
import json
import zlib
from base64 import b32decode
from calendar import timegm
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from scrapy_replica.address import host_of
from scrapy_replica.mining.rows import MinedRow, PageWriter
from scrapy_replica.sites.evidence import path_of

FIELDS = "N b a m s k"
"""First fields of a line where no header tells: those of all common kinds are these."""

HTML = frozenset({"text/html", "application/xhtml+xml"})

SIGNATURE_BYTES = 16

GZIP = b"\x1f\x8b"


class IndexedCapture(NamedTuple):
    """What a line tells."""

    url: str
    at: float
    """Seconds since the epoch."""
    mime: str
    status: str
    digest: str


def convert(path: Path, out: PageWriter, tell: Callable[[int], None]) -> Counter[str]:
    """Write the HTML pages of a CDX or CDXJ file with status 200; return how many lines of each kind there were.

    :param tell: told from time to time how many bytes of the file were read since.
    :raises ValueError: it holds no line that could be read.
    """
    counts: Counter[str] = Counter()
    with path.open("rb") as file:
        for capture in captures(file, counts, tell):
            row = row_of(capture, counts) if capture is not None else None
            if row is not None:
                out.page(row)
    if not counts:
        raise ValueError(f"{path} is empty: give a CDX or CDXJ file that has lines")
    if set(counts) <= {"bad records", "cut off"}:
        raise ValueError(f"{path} is no CDX file: no line of it has a key, a time and a URL")
    return counts


def captures(file: BinaryIO, counts: Counter[str], tell: Callable[[int], None]) -> Iterator[IndexedCapture | None]:
    """Yield what each line tells; ``None``, counted, for one that cannot be read."""
    fields, at = FIELDS.split(), 0
    for number, raw in enumerate(lines(file, counts)):
        if not number % 10_000:
            tell(file.tell() - at)
            at = file.tell()
        line = raw.decode("utf-8", "replace").strip("\r\n")
        if line.lstrip()[:4] == "CDX ":
            fields = line.split()[1:]
        elif line.strip() and not line.startswith("!"):
            capture = of_json(line) if "{" in line else of_fields(line, fields)
            counts["bad records"] += capture is None
            yield capture
    tell(file.tell() - at)


def lines(file: BinaryIO, counts: Counter[str]) -> Iterator[bytes]:
    """Yield the lines of a file, compressed or not, up to where it breaks off."""
    is_compressed = file.read(2) == GZIP
    file.seek(0)
    source = cast("BinaryIO", gzip.GzipFile(fileobj=file)) if is_compressed else file
    try:
        yield from source
    except (EOFError, zlib.error, gzip.BadGzipFile):
        counts["cut off"] += 1


def of_fields(line: str, fields: list[str]) -> IndexedCapture | None:
    """Return what a line of CDX tells, its values in the order of *fields*."""
    found = dict(zip(fields, line.split(), strict=False))
    at = seconds_of(found.get("b", ""))
    if at is None or "a" not in found:
        return None
    return IndexedCapture(found["a"], at, found.get("m", "-"), found.get("s", "-"), found.get("k", "-"))


def of_json(line: str) -> IndexedCapture | None:
    """Return what a line of CDXJ tells: key, time and an object."""
    head, _, told = line.partition("{")
    try:
        found = json.loads("{" + told)
        at = seconds_of(head.split()[1])
        url = found["url"]
    except (ValueError, IndexError, KeyError, RecursionError):
        return None
    if at is None:
        return None
    mime, status, digest = (str(found.get(name, "-")) for name in ("mime", "status", "digest"))
    return IndexedCapture(str(url), at, mime, status, digest)


def row_of(capture: IndexedCapture, counts: Counter[str]) -> MinedRow | None:
    """Return the page that was captured; ``None``, counted, for what is none."""
    if capture.mime == "warc/revisit":
        kind = "revisit records"
    elif capture.status != "200":
        kind = "not status 200"
    elif capture.mime.partition(";")[0].strip().lower() not in HTML:
        kind = "not HTML"
    else:
        row = _page(capture)
        counts["bad records" if row is None else "pages"] += 1
        return row
    counts[kind] += 1
    return None


def _page(capture: IndexedCapture) -> MinedRow | None:
    host = host_of(capture.url)
    if not host or not capture.url.lower().startswith(("http://", "https://")):
        return None
    signature = signature_of(capture.digest)
    return MinedRow(capture.url, host, path_of(capture.url), signature=signature, status=200, at=capture.at)


def seconds_of(timestamp: str) -> float | None:
    """Return a time of 4 to 14 digits, ``20261122091500``, in seconds since the epoch; ``None`` if it is none."""
    if not timestamp.isdecimal() or not 4 <= len(timestamp) <= 17:
        return None
    whole = timestamp[:14] + "00000101000000"[len(timestamp) :]
    year, rest = int(whole[:4]), [int(whole[place : place + 2]) for place in range(4, 14, 2)]
    if not (1990 <= year < 2200 and 1 <= rest[0] <= 12 and 1 <= rest[1] <= 31):
        return None
    return float(timegm((year, *rest, 0, 0, 0)))


def signature_of(digest: str) -> bytes | None:
    """Return the first 16 bytes of a digest, in base 32 or hexadecimal digits; ``None`` where there is none."""
    bare = digest.rpartition(":")[2]
    if (len(bare) == 32 and bare.isupper()) or not set(bare) <= set("0123456789abcdefABCDEF"):
        with suppress(binascii.Error, ValueError):
            return _long_enough(b32decode(bare.upper() + "=" * (-len(bare) % 8)))
        return None
    return _long_enough(bytes.fromhex(bare)) if len(bare) % 2 == 0 else None


def _long_enough(digest: bytes) -> bytes | None:
    return digest[:SIGNATURE_BYTES] if len(digest) >= SIGNATURE_BYTES else None
