"""Cut points of a feature's values: intervals of equal width, of equal frequency, or where labels change (MDL).

Carvalho 2014 (p. 13) cuts without labels, Carvalho et al. 2017 (section 3.1) where labels change; of neither is told
how many intervals there were.
"""

from __future__ import annotations

import numpy as np

from scrapy_replica.numeric import BoolArray, FloatArray


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


def mdl_cuts(values: FloatArray, labels: BoolArray) -> tuple[float, ...]:
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
    split = (below.sum(axis=1) * _entropy_bits(below) + above.sum(axis=1) * _entropy_bits(above)) / n
    best = int(np.argmin(np.round(split, 12)))
    whole, left, right = (float(_entropy_bits(part[None])[0]) for part in (total, below[best], above[best]))
    labels_whole, labels_left, labels_right = (int((part > 0).sum()) for part in (total, below[best], above[best]))
    delta = np.log2(3.0**labels_whole - 2) - (labels_whole * whole - labels_left * left - labels_right * right)
    gain = whole - float(split[best])
    return best + 1 if gain > (np.log2(n - 1) + delta) / n + 1e-12 else None


def _entropy_bits(counts: FloatArray) -> FloatArray:
    """Return the entropy in bits of each row of *counts*, shape (rows, labels) -> (rows,); 0 for an empty row."""
    totals = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return -np.asarray((shares * logs).sum(axis=1), dtype=np.float64)
