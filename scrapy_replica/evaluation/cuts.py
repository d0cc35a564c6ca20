"""Cut points of a feature's values without labels: intervals of equal width, or of equal frequency."""

from __future__ import annotations

import numpy as np

from scrapy_replica.numeric import FloatArray


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
