"""The files of an archive: blocks one behind the other, and strings in blocks."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import overload

import mmh3
import numpy as np
from zstandard import ZstdCompressor, ZstdDecompressor

from scrapy_replica.numeric import IntArray

STRINGS = 64
"""Strings of a block."""

_pack, _unpack = ZstdCompressor(level=9).compress, ZstdDecompressor().decompress


class BlockWriter:
    """Writes blocks one behind the other, and at the end where each begins."""

    def __init__(self, file: Path) -> None:
        self._file, self._out, self._ends = file, file.open("xb"), [0]

    def add(self, data: bytes) -> None:
        self._out.write(data)
        self._ends.append(self._ends[-1] + len(data))

    def close(self) -> None:
        self._out.close()
        np.array(self._ends, dtype="<i8").tofile(_index(self._file))


class Blocks:
    """Reads blocks by number; the file is mapped into memory."""

    def __init__(self, file: Path) -> None:
        self._starts = np.fromfile(_index(file), "<i8")
        with file.open("rb") as opened:
            size = opened.seek(0, 2)
            if size != self._starts[-1]:
                raise ValueError(f"{file} has {size} bytes of {self._starts[-1]}: build the archive again")
            self._data = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> memoryview:
        return self._data[self._starts[number] : self._starts[number + 1]]


def _index(file: Path) -> Path:
    return file.with_suffix(".starts")


class StringWriter:
    """Writes strings in the order in which they come."""

    def __init__(self, file: Path) -> None:
        self._blocks, self._waiting = BlockWriter(file), list[str]()

    def add(self, strings: Iterable[str]) -> None:
        self._waiting.extend(strings)
        whole = len(self._waiting) // STRINGS * STRINGS
        for place in range(0, whole, STRINGS):
            self._write(self._waiting[place : place + STRINGS])
        del self._waiting[:whole]

    def close(self) -> None:
        if self._waiting:
            self._write(self._waiting)
        self._blocks.close()

    def _write(self, strings: Sequence[str]) -> None:
        text = "\0".join(strings)
        if text.count("\0") >= len(strings):
            raise ValueError(f"a URL, title, term or anchor text holds a NUL character: {text[:200]!r}")
        self._blocks.add(_pack(_bytes(text)))


class Strings(Sequence[str]):
    """Strings by number, decoded in blocks of which those used last are held."""

    def __init__(self, file: Path, size: int) -> None:
        self._blocks, self._size = Blocks(file), size
        self._block = lru_cache(maxsize=4_096)(self._decoded)

    def _decoded(self, number: int) -> list[str]:
        return _unpack(self._blocks[number]).decode("utf-8", "surrogatepass").split("\0")

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(self._size))]
        if not -self._size <= place < self._size:
            raise IndexError(f"there is no string {place}: there are {self._size}")
        block, rest = divmod(place % self._size, STRINGS)
        return self._block(block)[rest]


def _bytes(text: str) -> bytes:
    # What crawls bring need not be valid Unicode.
    return text.encode("utf-8", "surrogatepass")


PER_BUCKET = 8
"""Strings of a bucket, on average."""


def hashes(strings: Iterable[str]) -> IntArray:
    """Return 64-bit hashes, which begin equally on every machine."""
    return np.fromiter((mmh3.hash64(_bytes(text))[0] for text in strings), np.int64)


def write_numbers(file: Path, hashed: IntArray) -> None:
    """Write from which hash follows which number: about 5.5 bytes a string."""
    buckets = max(1, len(hashed) // PER_BUCKET)
    bucket = _bucket(hashed, buckets)
    order = np.argsort(bucket, kind="stable")
    starts = np.searchsorted(bucket[order], np.arange(buckets + 1))
    with file.open("xb") as out:
        for column in (starts.astype("<i4"), order.astype("<i4"), hashed[order].astype("u1")):
            out.write(column.tobytes())


class Numbers:
    """The number of a string: those of its bucket with its last byte are looked at."""

    def __init__(self, file: Path, strings: Strings) -> None:
        self._strings, size = strings, len(strings)
        self._buckets = max(1, size // PER_BUCKET)
        raw = np.memmap(file, "u1", "r")
        ends = np.cumsum([4 * (self._buckets + 1), 4 * size, size])
        self._starts = raw[: ends[0]].view("<i4")
        self._order, self._bytes = raw[ends[0] : ends[1]].view("<i4"), raw[ends[1] : ends[2]]

    def of(self, text: str) -> int | None:
        """Return the number of *text*, the lowest if it occurs more than once."""
        hashed = hashes([text])
        bucket = int(_bucket(hashed, self._buckets)[0])
        span = slice(self._starts[bucket], self._starts[bucket + 1])
        likely = self._order[span][self._bytes[span] == hashed.astype("u1")[0]]
        return next((number for number in likely.tolist() if self._strings[number] == text), None)


def _bucket(hashed: IntArray, buckets: int) -> IntArray:
    return ((hashed.view(np.uint64) >> np.uint64(8)) % np.uint64(buckets)).astype(np.int64)
