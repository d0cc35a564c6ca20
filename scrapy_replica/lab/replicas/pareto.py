"""Pareto aggregation of two classifiers: how many candidates does each candidate dominate?

Carvalho et al. 2017, section 3.5. Reading: all candidates are ranked, as in Carvalho 2014, programme 5; algorithm 4 of
2017 counts for the frontier alone, which ranks too few.
"""

from __future__ import annotations

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray


def dominance_counts(first: FloatArray, second: FloatArray) -> IntArray:
    """Return, for each point (first[i], second[i]), how many points it dominates; O(n log n).

    a dominates b if it is at least as large in both coordinates and larger in one. The points at most as large in
    both are counted by merging sorted halves; the equal ones are taken off.
    """
    points, places, repeats = np.unique(
        np.column_stack([first, second]), axis=0, return_inverse=True, return_counts=True
    )
    order = np.unique(points[:, 1], return_inverse=True)[1].reshape(-1)
    return (_at_most(order, repeats) - repeats)[places.reshape(-1)]


def _at_most(ranks: IntArray, weights: IntArray) -> IntArray:
    """Return for each place the weight of the places up to it, itself included, whose rank is at most its own.

    Top-down over the bits of the rank: places that agree in the higher bits form a group, in order of place; a place
    with the bit set lies above all those of its group without it. Each level is one linear pass.
    """
    result = weights.copy()
    order = np.arange(len(ranks))
    for bit in range(int(ranks.max(initial=0)).bit_length() - 1, -1, -1):
        groups = ranks[order] >> (bit + 1)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        sizes = np.diff(np.append(starts, len(ranks)))
        is_high = (ranks[order] >> bit & 1).astype(bool)
        result[order[is_high]] += _running(np.where(is_high, 0, weights[order]), starts, sizes)[is_high]
        lows_before = _running((~is_high).astype(np.int64), starts, sizes)
        highs_before = _running(is_high.astype(np.int64), starts, sizes)
        lows = np.repeat(np.add.reduceat(~is_high, starts, dtype=np.int64), sizes)
        place = np.repeat(starts, sizes) + np.where(is_high, lows + highs_before, lows_before)
        moved = np.empty_like(order)
        moved[place] = order
        order = moved
    return result + _equal_before(ranks, weights, order)


def _running(values: IntArray, starts: IntArray, sizes: IntArray) -> IntArray:
    """Return the sum of the *values* before each place inside its group."""
    before = np.cumsum(values) - values
    return before - np.repeat(before[starts], sizes)


def _equal_before(ranks: IntArray, weights: IntArray, order: IntArray) -> IntArray:
    """Return for each place the weight of the earlier places of equal rank; *order* sorts by rank, then place."""
    starts = np.flatnonzero(np.diff(ranks[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(ranks)))
    result = np.zeros_like(weights)
    result[order] = _running(weights[order], starts, sizes)
    return result
