"""Models asked about many pages at once: the terms of the pages lie one behind the other (CSR)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scrapy_replica.numeric import FloatArray

Rows = Callable[[Any, Any, Any], FloatArray]
"""Called with where the rows start, shape (n + 1,), term ids and their counts; returns one number a row, shape (n,)."""


def row_sums(start: Any, values: FloatArray) -> FloatArray:
    """Return the sums of *values* from each start to the next, shape (n,); 0 of a row without any."""
    sums = np.zeros(len(start) - 1)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        sums[filled] = np.add.reduceat(values, start[filled])
    return sums
