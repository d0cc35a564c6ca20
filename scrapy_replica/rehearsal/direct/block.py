"""A block of pages as bytes: terms, counts and links of 32 pages, compressed together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from zstandard import ZstdCompressor, ZstdDecompressor

from scrapy_replica.numeric import IntArray
from scrapy_replica.rehearsal.batch import Batch, CountArray, Int32Array

PAGES = 32
"""Pages of a block, as many as lie between two skips of the document (p. 31)."""

_pack, _unpack = ZstdCompressor(level=9).compress, ZstdDecompressor().decompress


def packed(batch: Batch) -> bytes:
    """Return terms, counts and links of the pages of *batch*."""
    sizes = np.array([len(batch), len(batch.term_ids), len(batch.targets)], dtype="<i4")
    parts = [
        sizes,
        np.diff(batch.term_start).astype("<i4"),
        np.diff(batch.link_start).astype("<i4"),
        batch.term_ids.astype("<i4"),
        batch.targets.astype("<i4"),
        batch.term_counts.astype("<u2"),
    ]
    return _pack(b"".join(part.tobytes() for part in parts))


def packed_numbers(numbers: NDArray[Any]) -> bytes:
    """Return a column of 32-bit numbers."""
    return _pack(numbers.astype("<i4").tobytes())


def unpacked_numbers(data: bytes | memoryview) -> Int32Array:
    """Return what :func:`packed_numbers` packed."""
    return np.frombuffer(_unpack(data), "<i4")


class Block:
    """The pages of one block, each decoded when it is asked for."""

    def __init__(self, data: bytes | memoryview) -> None:
        raw = _unpack(data)
        pages, terms, links = np.frombuffer(raw, "<i4", 3).tolist()
        numbers = np.frombuffer(raw, "<i4", 2 * pages + terms + links, 12)
        self.term_start, self.link_start = _starts(numbers[:pages]), _starts(numbers[pages : 2 * pages])
        self._ids, self._targets = numbers[2 * pages : 2 * pages + terms], numbers[2 * pages + terms :]
        self._counts = np.frombuffer(raw, "<u2", terms, 12 + numbers.nbytes)

    def term_ids(self, page: int) -> Int32Array:
        return self._ids[self.term_start[page] : self.term_start[page + 1]]

    def term_counts(self, page: int) -> CountArray:
        return self._counts[self.term_start[page] : self.term_start[page + 1]]

    def targets(self, page: int) -> Int32Array:
        return self._targets[self.link_start[page] : self.link_start[page + 1]]

    def columns(self) -> tuple[IntArray, Int32Array, CountArray, IntArray, Int32Array]:
        """Return the columns of a :class:`Batch` between URLs and anchors."""
        return self.term_start, self._ids, self._counts, self.link_start, self._targets


def _starts(lengths: Int32Array) -> IntArray:
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
