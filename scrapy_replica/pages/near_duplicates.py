"""Index of 64-bit fingerprints: which of those seen are at most k bits away."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

MAX_DISTANCE = 7
_BLOCKS = 4
_BUCKETS = 1 << 16
_FLIPS = tuple(1 << bit for bit in range(16))
_NOTHING = bytearray()
_ORDER: Literal["little", "big"] = "little" if np.little_endian else "big"


class NearDuplicates:
    """A set of fingerprints that answers exactly which members lie within a Hamming distance of up to 7.

    Invariant: every member stands once in each of the four tables, in the bucket of the table's 16-bit block, whole,
    as 8 bytes in native order. Two fingerprints that differ in at most k bits agree on one block up to radius 0 or 1
    (pigeonhole principle), so a query reads one bucket per block and, for k > 3, the 16 one-bit neighbours in the first
    k - 3 blocks. Buckets hold fingerprints and not ids: one sequential read each, where ids cost 2-5 times as much
    at ten million. They are bytearrays because the garbage collector does not track these.

    A fingerprint is stored once, however often it is added (one empty-looking page inserted 100,000 times would make
    a query 3,000 times slower): what carries it is for the crawl database to know.
    """

    def __init__(self) -> None:
        self._tables: list[bytearray] = [_NOTHING] * (_BLOCKS * _BUCKETS)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __contains__(self, simhash: int) -> bool:
        bucket = self._tables[simhash & 0xFFFF]
        key = simhash.to_bytes(8, _ORDER)
        place = bucket.find(key)
        while place >= 0 and place % 8:  # a match across the border of two members
            place = bucket.find(key, place + 1)
        return place >= 0

    def add(self, simhash: int) -> bool:
        """Store *simhash*, 0 <= value < 2**64; False if it was there already."""
        if simhash in self:
            return False
        key = simhash.to_bytes(8, _ORDER)
        for index in _own_buckets(simhash):
            bucket = self._tables[index]
            if bucket:
                bucket += key
            else:
                self._tables[index] = bytearray(key)
        self._size += 1
        return True

    def query(self, simhash: int, distance: int) -> list[int]:
        """Return the members that differ from *simhash* in at most *distance* bits, nearest first.

        :raises ValueError: *distance* is not in 0..7.
        """
        if not 0 <= distance <= MAX_DISTANCE:
            raise ValueError(f"distance must be 0 to {MAX_DISTANCE} bits, not {distance}")
        tables = self._tables
        buckets = [tables[index] for index in _own_buckets(simhash)]
        for block in range(distance - 3):
            own = simhash >> (16 * block) & 0xFFFF
            buckets += [tables[block * _BUCKETS + (own ^ flip)] for flip in _FLIPS]
        members = np.frombuffer(b"".join(buckets), dtype=np.uint64)
        distances = np.bitwise_count(members ^ np.uint64(simhash))
        places = (distances <= distance).nonzero()[0]
        if not len(places):
            return []
        found = dict(zip(members[places].tolist(), distances[places].tolist(), strict=True))
        return sorted(found, key=lambda member: (found[member], member))

    def extend(self, simhashes: NDArray[np.uint64]) -> None:
        """Store all *simhashes*, shape (n,); for a million many times faster than one at a time."""
        new = np.unique(np.asarray(simhashes, dtype=np.uint64))
        if self._size:
            members = np.frombuffer(b"".join(self._tables[:_BUCKETS]), dtype=np.uint64)
            new = np.setdiff1d(new, members, assume_unique=True)
        for block in range(_BLOCKS):
            self._extend_table(block, new)
        self._size += len(new)

    def _extend_table(self, block: int, new: NDArray[np.uint64]) -> None:
        keys = (new >> np.uint64(16 * block)).astype(np.uint16)
        order = np.argsort(keys, kind="stable")  # radix sort on 16 bits
        packed = memoryview(new[order].tobytes())
        counts = np.bincount(keys, minlength=_BUCKETS)
        ends = (np.cumsum(counts) * 8).tolist()
        first = block * _BUCKETS
        start = 0
        for index, end in enumerate(ends, first):
            if end > start:
                self._tables[index] = self._tables[index] + packed[start:end]
                start = end


def _own_buckets(simhash: int) -> tuple[int, int, int, int]:
    return (
        simhash & 0xFFFF,
        _BUCKETS + (simhash >> 16 & 0xFFFF),
        2 * _BUCKETS + (simhash >> 32 & 0xFFFF),
        3 * _BUCKETS + (simhash >> 48),
    )
