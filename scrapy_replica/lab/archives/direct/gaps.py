"""The law of gaps in documents whose terms follow Zipf's law, simulated (Orlandi 2007, p. 28, steps 1 to 7)."""

from __future__ import annotations

import numpy as np

from scrapy_replica.lab.archives.direct import codes
from scrapy_replica.numeric import FloatArray, IntArray


def exponent_of_gaps(terms: int, exponent: float, length: int, documents: int, seed: int = 0) -> float:
    """Return the exponent of the gaps between the sorted term numbers of *documents* of *length* different terms.

    Terms 1..*terms* are drawn by Zipf's law with that *exponent*; the exponent of the gaps is the likeliest. Raises
    ``ValueError`` if there are fewer than twice *length* terms: documents would be no sample of them.
    """
    if terms < 2 * length:
        raise ValueError(f"{terms} terms are too few for documents of {length} different ones: at least {2 * length}")
    law = np.cumsum(np.arange(1, terms + 1, dtype=np.float64) ** -exponent)
    chance = np.random.default_rng(seed)
    gaps = np.concatenate([np.diff(document(law, length, chance), prepend=0) for _ in range(documents)])
    return codes.exponent(*np.unique(gaps, return_counts=True), terms)


def document(law: FloatArray, length: int, chance: np.random.Generator) -> IntArray:
    """Return *length* different numbers from 1 on, sorted, drawn by the cumulated *law* one after the other."""
    drawn = np.zeros(0, dtype=np.int64)
    while True:
        more = np.searchsorted(law, chance.random(max(2 * length, len(drawn))) * law[-1], side="right") + 1
        drawn = np.concatenate([drawn, more])
        numbers, first = np.unique(drawn, return_index=True)
        if len(numbers) >= length:  # to pass over what was drawn before is to draw without putting back
            return np.asarray(numbers[first <= np.sort(first)[length - 1]], dtype=np.int64)
