"""Index of 64-bit fingerprints: which of those seen are at most k bits away."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

MAX_DISTANCE = 7
MAX_RECENT = 4096
"""Fingerprints added last, which a query looks at one and all."""
_BLOCKS = 4
_BUCKETS = 1 << 16
_FLIPS = tuple(1 << bit for bit in range(16))
_GROWTH = 8

Fingerprints = NDArray[np.uint64]


class _Level:
    """Fingerprints in four tables, each in the order of its 16-bit block, with the place where each bucket begins."""

    def __init__(self) -> None:
        self.tables: list[Fingerprints] = []
        self._bytes: list[memoryview] = []
        self._starts: list[array[int]] = []

    def __len__(self) -> int:
        return len(self.tables[0]) if self.tables else 0

    def add_table(self, members: Fingerprints) -> None:
        """Make the next of the four tables."""
        keys = (members >> np.uint64(16 * len(self.tables))).astype(np.uint16)
        starts = np.zeros(_BUCKETS + 1, dtype=np.uint32)
        np.cumsum(np.bincount(keys, minlength=_BUCKETS), out=starts[1:])
        table = members[np.argsort(keys, kind="stable")]  # radix sort on 16 bits
        self.tables.append(table)
        # single places of a NumPy array cost five times as much as of these
        self._bytes.append(table.view(np.uint8).data)
        self._starts.append(array("I", starts.tobytes()))

    def bucket(self, block: int, key: int) -> memoryview:
        """Return the bytes of the fingerprints whose *block* is *key*."""
        starts = self._starts[block]
        return self._bytes[block][8 * starts[key] : 8 * starts[key + 1]]


class NearDuplicates:
    """A set of fingerprints that answers exactly which members lie within a Hamming distance of up to 7.

    Two fingerprints that differ in at most k bits agree on one block up to radius 0 or 1 (pigeonhole principle), so a
    query reads one bucket per block and, for k > 3, the 16 one-bit neighbours in the first k - 3 blocks. Buckets hold
    fingerprints and not ids: one sequential read each, where ids cost 2-5 times as much at ten million.

    Members stand in two levels and among the recent ones. The recent ones go into the small level when they are
    :data:`MAX_RECENT`, the small one into the large one when it has an eighth of its size. Of a level one table is made
    at each ``add``, so that no addition takes longer than a sort of one table: 20 ms at a million, 0.2 s at ten.
    Memory: 32 bytes a fingerprint and 2 MB, while the large level is made 32 bytes more.

    A fingerprint is stored once, however often it is added (one empty-looking page inserted 100,000 times would make
    a query 3,000 times slower): what carries it is for the crawl database to know.
    """

    def __init__(self) -> None:
        self._large, self._small = _Level(), _Level()
        self._recent = np.zeros(2 * MAX_RECENT, dtype=np.uint64)
        self._recent_set: set[int] = set()
        self._merge: Iterator[None] | None = None

    def __len__(self) -> int:
        return len(self._large) + len(self._small) + len(self._recent_set)

    def __contains__(self, simhash: int) -> bool:
        if simhash in self._recent_set:
            return True
        return any(
            len(level) and simhash in level.bucket(0, simhash & 0xFFFF).cast("Q")
            for level in (self._large, self._small)
        )

    def add(self, simhash: int) -> bool:
        """Store *simhash*, 0 <= value < 2**64; False if it was there already."""
        if simhash in self:
            return False
        self._recent[len(self._recent_set)] = simhash
        self._recent_set.add(simhash)
        if self._merge is None and len(self._recent_set) >= MAX_RECENT:
            self._merge = self._merged()
        if self._merge is not None and next(self._merge, True):
            self._merge = None
        return True

    def _merged(self) -> Iterator[None]:
        """Take what is recent by now into the levels, one table at a step."""
        count = len(self._recent_set)
        recent = self._recent[:count].copy()
        is_large = len(self._small) + count > len(self._large) // _GROWTH
        merged = _Level()
        for block in range(_BLOCKS):
            parts = [level.tables[block] for level in (self._small, self._large)[: 1 + is_large] if len(level)]
            merged.add_table(np.concatenate([recent, *parts]))
            yield
        self._small, self._large = (_Level(), merged) if is_large else (merged, self._large)
        rest = self._recent[count : len(self._recent_set)].copy()
        self._recent[: len(rest)] = rest
        self._recent_set = set(rest.tolist())

    def query(self, simhash: int, distance: int) -> list[int]:
        """Return the members that differ from *simhash* in at most *distance* bits (0..7), nearest first."""
        buckets = [self._recent[: len(self._recent_set)].view(np.uint8).data]
        for level in (self._small, self._large):
            if not len(level):
                continue
            for block in range(_BLOCKS):
                own = simhash >> (16 * block) & 0xFFFF
                buckets.append(level.bucket(block, own))
                if block < distance - 3:
                    buckets += [level.bucket(block, own ^ flip) for flip in _FLIPS]
        members = np.frombuffer(b"".join(buckets), dtype=np.uint64)
        distances = np.bitwise_count(members ^ np.uint64(simhash))
        places = (distances <= distance).nonzero()[0]
        if not len(places):
            return []
        found = dict(zip(members[places].tolist(), distances[places].tolist(), strict=True))
        return sorted(found, key=lambda member: (found[member], member))

    def extend(self, simhashes: Fingerprints) -> None:
        """Store all *simhashes*, shape (n,); for a million many times faster than one at a time."""
        while self._merge is not None and next(self._merge, True) is None:
            pass
        self._merge = None
        known = [level.tables[0] for level in (self._small, self._large) if len(level)]
        recent = self._recent[: len(self._recent_set)]
        members = np.unique(np.concatenate([np.asarray(simhashes, dtype=np.uint64), recent, *known]))
        self._large, self._small, self._recent_set = _Level(), _Level(), set()
        for _ in range(_BLOCKS if len(members) else 0):
            self._large.add_table(members)
