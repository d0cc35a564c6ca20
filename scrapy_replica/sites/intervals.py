"""Discretisation: feature values become intervals; classifiers see interval numbers only.

Three ways to choose the cut points of a feature: Fayyad & Irani's recursive minimal-entropy partitioning with the
minimum-description-length stopping rule (supervised), equal frequency and equal width (unsupervised). A value that
equals a cut point belongs to the interval left of it. Unknown (NaN) is an interval of its own, number 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

UNKNOWN = 0
"""Interval number of NaN; the known intervals count from 1."""


@dataclass(frozen=True)
class Intervals:
    """The cut points of every feature, ascending; a feature of k cuts has k + 1 known intervals."""

    cuts: tuple[tuple[float, ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many interval numbers each feature can take, the unknown one included."""
        return tuple(len(cuts) + 2 for cuts in self.cuts)

    def codes(self, values: FloatArray) -> IntArray:
        """Return the interval numbers of *values*, both of shape (examples, features)."""
        codes = np.empty(values.shape, dtype=np.int64)
        for feature, cuts in enumerate(self.cuts):
            column = values[:, feature]
            codes[:, feature] = np.searchsorted(np.asarray(cuts), column, side="left") + 1
            codes[np.isnan(column), feature] = UNKNOWN
        return codes

    def code(self, values: Sequence[float]) -> list[int]:
        """Return the interval numbers of one example; the fast way for a single one."""
        return [
            UNKNOWN if value != value else bisect_left(cuts, value) + 1  # noqa: PLR0124 -- NaN alone differs from itself
            for value, cuts in zip(values, self.cuts, strict=True)
        ]

    def name(self, feature: int, code: int) -> str:
        """Return interval *code* of *feature* as people write it, for example ``(0.1, 0.3]``."""
        if code == UNKNOWN:
            return "unknown"
        bounds = (float("-inf"), *self.cuts[feature], float("inf"))
        return f"({bounds[code - 1]:g}, {bounds[code]:g}]"


def equal_width_cuts(values: FloatArray, intervals: int) -> tuple[float, ...]:
    """Cut the range of the known *values* into *intervals* of equal width."""
    known = values[~np.isnan(values)]
    if not known.size or known.min() == known.max():
        return ()
    inner = np.linspace(known.min(), known.max(), intervals + 1)[1:-1]
    return tuple(np.unique(inner).tolist())


def equal_frequency_cuts(values: FloatArray, intervals: int) -> tuple[float, ...]:
    """Cut the known *values* so that each of the *intervals* holds about as many of them.

    Equal values are never torn apart, so skewed features get fewer intervals.
    """
    known = np.sort(values[~np.isnan(values)])
    if not known.size:
        return ()
    last_of_part = [round(part * known.size / intervals) - 1 for part in range(1, intervals)]
    cuts = {float(known[place]) for place in last_of_part if place >= 0}
    cuts.discard(float(known[-1]))
    return tuple(sorted(cuts))


def mdl_cuts(values: FloatArray, labels: NDArray[np.bool_]) -> tuple[float, ...]:
    """Cut by recursive minimal entropy, stopped by description length (Fayyad & Irani 1993, equations 9 and 10).

    A cut stands half-way between two neighbouring distinct values.

    Args:
        values: One feature, shape (n,); NaN are left aside.
        labels: True for positive examples, shape (n,).
    """
    is_known = ~np.isnan(values)
    distinct, places = np.unique(values[is_known], return_inverse=True)
    counts = np.zeros((distinct.size, 2))
    np.add.at(counts, (places, labels[is_known].astype(np.int64)), 1)
    cuts: list[float] = []
    waiting = [(0, distinct.size)]
    while waiting:
        first, end = waiting.pop()
        place = _accepted_cut(counts[first:end])
        if place is not None:
            middle = first + place
            cuts.append(float((distinct[middle - 1] + distinct[middle]) / 2))
            waiting += [(first, middle), (middle, end)]
    return tuple(sorted(cuts))


def _accepted_cut(counts: FloatArray) -> int | None:
    """Return the best split of rows *counts* (values, labels), or None if the description would not get shorter."""
    if len(counts) < 2:
        return None
    below = counts.cumsum(axis=0)[:-1]
    total = counts.sum(axis=0)
    above = total - below
    n = float(total.sum())
    split = (below.sum(axis=1) * entropy_bits(below) + above.sum(axis=1) * entropy_bits(above)) / n
    best = int(np.argmin(np.round(split, 12)))
    whole, left, right = (float(entropy_bits(part[None])[0]) for part in (total, below[best], above[best]))
    labels_whole, labels_left, labels_right = (int((part > 0).sum()) for part in (total, below[best], above[best]))
    delta = np.log2(3.0**labels_whole - 2) - (labels_whole * whole - labels_left * left - labels_right * right)
    gain = whole - float(split[best])
    return best + 1 if gain > (np.log2(n - 1) + delta) / n + 1e-12 else None


def entropy_bits(counts: FloatArray) -> FloatArray:
    """Return the entropy in bits of each row of *counts*, shape (rows, labels) -> (rows,); 0 for an empty row."""
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts, dtype=np.float64), where=totals > 0)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return -np.asarray((shares * logs).sum(axis=1), dtype=np.float64)
