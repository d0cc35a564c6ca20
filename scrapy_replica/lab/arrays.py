"""Operations on arrays that the laboratory needs in several rooms."""

from __future__ import annotations

import numpy as np

from scrapy_replica.numeric import IntArray


def ragged(starts: IntArray, lengths: IntArray) -> IntArray:
    """Return ``starts[0], starts[0] + 1, ...`` (lengths[0] of them), then those of the next, as one array."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total)
