"""What a visit reached: how early the relevant pages came (Orlandi 2007, chapter 6).

Reading: V and R are the pages, and the relevant pages, of the visit. The source takes those of the collection, where a
relevant page that is never visited costs nothing; visits that end early would win by that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scrapy_replica.numeric import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Figures:
    """What one visit reached; shares are of the *relevant* pages that the whole visit found."""

    found: IntArray
    """B(t): relevant pages among the first t, t = 1..n."""
    pref: float
    """1 - (1 / (|V||R|)) * sum over relevant x visited of the irrelevant pages visited before x."""
    f1: FloatArray
    """F1(t) = 2 B(t) / (t + |R|)."""

    pref_so_far: FloatArray
    """Pref of the first t pages as if the visit ended there, t = 1..n; 1 before the first relevant page."""

    @property
    def harvest(self) -> FloatArray:
        """B(t) / t."""
        return self.found / np.arange(1, len(self.found) + 1)

    @property
    def f1_area(self) -> float:
        """Mean of F1(t) over the visit: the area below the curve, 0..1."""
        return float(self.f1.mean()) if len(self.f1) else 0.0

    def found_at(self, share: float) -> float:
        """Return the share of all relevant pages found after *share* of the visit."""
        if not len(self.found) or not self.found[-1]:
            return 0.0
        after = max(1, round(share * len(self.found)))
        return float(self.found[after - 1] / self.found[-1])


def figures(order: IntArray, relevant: BoolArray, ignored: BoolArray | None = None) -> Figures:
    """Measure a visit; pages in *ignored* (the labelled training pages) count neither way.

    With no relevant page in the visit Pref is 1: no order could have been better.
    """
    if ignored is not None:
        order = order[~ignored[order]]
    hits = relevant[order].astype(np.int64)
    found = np.cumsum(hits)
    total, pages = int(hits.sum()), len(order)
    misses_before = np.arange(pages) - found + hits
    visited = np.arange(1, pages + 1)
    prefs = 1.0 - np.cumsum(misses_before * hits) / (visited * np.maximum(found, 1))
    f1 = 2.0 * found / (visited + total) if total else np.zeros(pages)
    return Figures(found, float(prefs[-1]) if pages else 1.0, f1, prefs)
