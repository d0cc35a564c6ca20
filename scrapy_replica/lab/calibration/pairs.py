"""Which pairs of pages are compared: those that either index finds, and random ones of the rest.

Ten million random pairs of a crawl hold next to none that are alike. So pairs are drawn in two parts that do not
overlap, and each carries one over the probability that it was drawn with (Horvitz and Thompson 1952): sums of these
weights estimate without bias how many of all pairs there are of a kind.

*Near* is a pair whose simhashes differ in at most 7 bits, or whose legacy fingerprints share a band of four entries.
Near pairs lie in *blocks*: pages of two simhashes, or pages that share a band. Where there are too many, the largest
blocks are thinned to one number, so that a thousand copies of a login page do not take the place of all else. The rest
is drawn evenly. Pairs within a block, and those of the rest, are taken at equal steps from a random start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.lab.calibration.minhash import BAND, N_HASHES, Differences, bands, common_bands, differences
from scrapy_replica.lab.calibration.prints import Prints
from scrapy_replica.numeric import BoolArray, Float32Array, IntArray
from scrapy_replica.pages.near_duplicates import MAX_DISTANCE, NearDuplicates
from scrapy_replica.pages.simhash import UInt64Array

CHUNK = 1024
"""Pairs that are compared at a time: 2 MB of fingerprints stay in the cache (4,096: three times slower)."""
_NO_BAND = -1

Pages = NDArray[np.int32]
"""Numbers of pages."""
Bands = NDArray[np.int8]
Tell = Callable[[int], object]
"""Told how many pairs were compared since."""


class Pairs(NamedTuple):
    """Pairs of pages, each once, shape (n,) each."""

    left: Pages
    right: Pages
    legacy: Differences
    """Entries that differ, 0..128."""
    simhash: Differences
    """Bits that differ, 0..64."""
    weight: Float32Array
    """Pairs of the whole collection that it stands for, at least 1."""


class _Blocks(NamedTuple):
    """Sets of pairs, shape (n,) each: the pages of a block lie one behind the other in a list of pages."""

    left: IntArray
    """Place where the pages begin, and how many they are."""
    left_size: IntArray
    right: IntArray
    """The same of the others; where both begin at one place, pages of one set are paired among themselves."""
    right_size: IntArray
    band: IntArray
    """Band that its pages share, or -1: their simhashes are near."""

    @property
    def sizes(self) -> IntArray:
        """Pairs of each block."""
        own = self.left_size * (self.left_size - 1) // 2
        sizes: IntArray = np.where(self.left == self.right, own, self.left_size * self.right_size)
        return sizes


def draw(prints: Prints, most: int, rng: np.random.Generator, tell: Tell = lambda _: None) -> Pairs:
    """Return at most *most* pairs of the pages of *prints*, at most half of them near ones; all if they are no more.

    A near pair counts in the first of its blocks alone. What is drawn of others, and near pairs among the random ones,
    are left out, so that somewhat fewer pairs than *most* are returned.
    """
    if prints.n_pairs <= most:
        pairs, _ = _evenly(prints, prints.n_pairs, rng, tell)
        return pairs
    near = _near_pairs(prints, most // 2, rng, tell)
    rest, band = _evenly(prints, most - len(near.left), rng, tell)
    rest = _those(rest, (rest.simhash > MAX_DISTANCE) & (band == _NO_BAND))
    columns: Iterator[Any] = zip(near, rest, strict=True)
    return Pairs(*map(np.concatenate, columns))


def _those(pairs: Pairs, is_kept: BoolArray) -> Pairs:
    columns: tuple[Any, ...] = pairs
    return Pairs(*(column[is_kept] for column in columns))


def _near_pairs(prints: Prints, most: int, rng: np.random.Generator, tell: Tell) -> Pairs:
    members, blocks = _near_blocks(prints)
    blocks, blocks_each = _some(blocks, most, rng)
    sizes = blocks.sizes
    taken = thinned(sizes, most)
    block = np.repeat(np.arange(len(sizes)), taken)
    slots = every_nth(sizes, taken, rng)
    first, second = np.divmod(slots, blocks.right_size[block])
    is_own = (blocks.left == blocks.right)[block]
    first[is_own], second[is_own] = in_triangle(slots[is_own])
    left, right = members[blocks.left[block] + first], members[blocks.right[block] + second]
    legacy, simhash, band = _compared(prints, left, right, tell)
    weight = (blocks_each * sizes / taken)[block].astype(np.float32)
    is_first = np.where(simhash <= MAX_DISTANCE, _NO_BAND, band) == blocks.band[block]
    return _those(Pairs(left, right, legacy, simhash, weight), is_first)


def _some(blocks: _Blocks, most: int, rng: np.random.Generator) -> tuple[_Blocks, float]:
    """Return at most *most* of the blocks that hold pairs, and how many each stands for."""
    filled = np.flatnonzero(blocks.sizes)
    kept = rng.choice(filled, min(most, len(filled)), replace=False, shuffle=False)
    return _Blocks(*(column[kept] for column in blocks)), len(filled) / max(len(kept), 1)


def _evenly(prints: Prints, most: int, rng: np.random.Generator, tell: Tell) -> tuple[Pairs, Bands]:
    """Return *most* of all pairs, and the first band that each shares, or -1."""
    every = np.array([prints.n_pairs])
    order = rng.permutation(len(prints)).astype(np.int32)  # as they are, pages that lie close would come at a beat
    slots = every_nth(every, np.array([most]), rng)
    left, right = (order[side] for side in in_triangle(slots))
    legacy, simhash, band = _compared(prints, left, right, tell)
    return Pairs(left, right, legacy, simhash, np.full(most, every[0] / max(most, 1), dtype=np.float32)), band


def thinned(sizes: IntArray, most: int) -> IntArray:
    """Return how many pairs to take of blocks of these *sizes*: all of the small ones, of others one number.

    That number is the greatest with which the sum is at most *most*.
    """
    if sizes.sum() <= most:
        return sizes
    ascending = np.sort(sizes)
    before = np.cumsum(ascending) - ascending
    levels = (most - before) // np.arange(len(sizes), 0, -1)  # where all before are taken whole
    level: IntArray = levels[np.argmax(levels < ascending)]
    return np.minimum(sizes, level)


def every_nth(sizes: IntArray, taken: IntArray, rng: np.random.Generator) -> IntArray:
    """Return places within blocks of *sizes* at equal steps from a random start, *taken* of each, block by block.

    In a block each place has the same probability, taken / size, and none is drawn twice (systematic sampling, Madow
    and Madow 1944): whole numbers alone keep that exact.
    """
    block = np.repeat(np.arange(len(sizes)), taken)
    number = np.arange(len(block)) - np.repeat(np.cumsum(taken) - taken, taken)
    start = rng.integers(0, sizes)
    places: IntArray = (number * sizes[block] + start[block]) // taken[block]
    return places


def in_triangle(slots: IntArray) -> tuple[IntArray, IntArray]:
    """Return i < j of the *slots* j (j - 1) / 2 + i."""
    right = ((1 + np.sqrt(1 + 8 * slots.astype(np.float64))) / 2).astype(np.int64)
    right -= right * (right - 1) // 2 > slots
    right += right * (right + 1) // 2 <= slots
    return slots - right * (right - 1) // 2, right


def _compared(prints: Prints, left: Pages, right: Pages, tell: Tell) -> tuple[Differences, Differences, Bands]:
    """Return both differences of pairs, and the first band that they share, or -1."""
    simhashes, minhashes = prints.simhashes, prints.minhashes
    legacy, band = np.empty(len(left), dtype=np.uint8), np.full(len(left), _NO_BAND, dtype=np.int8)
    with prints.timed("simhash.pairs"):
        simhash = np.bitwise_count(simhashes[left] ^ simhashes[right])
    for first in range(0, len(left), CHUNK):
        part = slice(first, first + CHUNK)
        with prints.timed("legacy.pairs"):
            legacy[part] = differences(minhashes[left[part]], minhashes[right[part]])
        alike = first + np.flatnonzero(legacy[part] <= N_HASHES - BAND)
        is_common = common_bands(minhashes[left[alike]], minhashes[right[alike]])
        band[alike] = np.where(is_common.any(axis=1), is_common.argmax(axis=1), _NO_BAND)
        tell(len(legacy[part]))
    return legacy, simhash, band


# Blocks of near pairs


def _near_blocks(prints: Prints) -> tuple[Pages, _Blocks]:
    """Return lists of pages, one behind the other, and the blocks in them."""
    lists, blocks = [], []
    for number, (order, block) in enumerate(_lists_and_blocks(prints)):
        shift = number * len(prints)
        lists.append(order)
        blocks.append(block._replace(left=block.left + shift, right=block.right + shift))
    return np.concatenate(lists), _Blocks(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _lists_and_blocks(prints: Prints) -> Iterator[tuple[Pages, _Blocks]]:
    order, starts, counts, values = _grouped(prints.simhashes)
    pairs = _near_values(values)
    yield order, _blocks(starts, counts, *pairs, _NO_BAND)
    for band, keys in enumerate(bands(prints.minhashes).T):
        order, starts, counts, _ = _grouped(keys)
        large = np.flatnonzero(counts > 1)
        yield order, _blocks(starts, counts, large, large, band)


def _blocks(starts: IntArray, counts: IntArray, left: IntArray, right: IntArray, band: int) -> _Blocks:
    return _Blocks(starts[left], counts[left], starts[right], counts[right], np.full(len(left), band))


def _grouped(keys: UInt64Array) -> tuple[Pages, IntArray, IntArray, UInt64Array]:
    """Return pages in the order of their *keys*, where each key begins, how often it stands, and the keys."""
    values, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.argsort(inverse, kind="stable").astype(np.int32), np.cumsum(counts) - counts, counts, values


def _near_values(values: UInt64Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs of places of *values*, ascending, that are at most 7 bits apart, each once and with itself."""
    index = NearDuplicates()
    index.extend(values)
    found = [
        (place, np.array(index.query(value, MAX_DISTANCE), dtype=np.uint64))
        for place, value in enumerate(values.tolist())
    ]
    left = np.repeat(np.arange(len(values)), [len(near) for _, near in found])
    right = np.searchsorted(values, np.concatenate([near for _, near in found]))
    is_once = left <= right
    return left[is_once], right[is_once]
