"""Discretisation: feature values become intervals; classifiers see interval numbers only.

A value that equals a cut point belongs to the interval left of it. Unknown (NaN) is an interval of its own, number 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray

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
