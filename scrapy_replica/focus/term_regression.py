"""Logistic regression over sets of numbered terms, learnt anew from all that is known now and then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.numeric import FloatArray, IntArray, minimised

Terms = NDArray[np.int64] | NDArray[np.uint16]

STEPS, TOLERANCE = 80, 1e-3
LEAST_SHARE = 1e-3
"""The intercept begins where the mean share of the outcomes is, not nearer to 0 or 1 than this."""


def lengths(rows: Terms) -> FloatArray:
    """Return sqrt(n) of sets of n terms, 1 of one without any, shape (n,); term 0 is none."""
    return np.asarray(np.sqrt(np.maximum(1, np.add.reduce(rows != 0, axis=1, dtype=np.int64))), dtype=np.float64)


class TermRegression:
    """What sets of the terms 1..*terms* say of an outcome; a term weighs 1/sqrt(n) in a set of n.

    Fitting minimises the log losses + *penalty* / 2 |w - w0|^2; w0 is what was learnt on other sites, or 0. 8 bytes a
    term.
    """

    def __init__(self, terms: int, penalty: float) -> None:
        self._weights, self._start = (np.zeros(terms + 1, dtype=np.float32) for _ in range(2))
        self._penalty = penalty

    def log_odds(self, rows: Terms, of_length: FloatArray | None = None) -> FloatArray:
        """Return by how much the log odds are above those of a set that says nothing, shape (n,); term 0 is none.

        *of_length*: the :func:`lengths` of the sets, where they are known.
        """
        of_length = lengths(rows) if of_length is None else of_length
        # The method sum() takes twice as long for the sets of eight links.
        return np.asarray(np.add.reduce(self._weights.take(rows), axis=1) / of_length, dtype=np.float64)

    def fit(self, rows: IntArray, counts: FloatArray, sums: FloatArray) -> None:
        """Learn from sets of terms, shape (n, k), each with *counts* outcomes (0..1), *sums* in all, shape (n,)."""
        places, at = np.nonzero(rows)
        terms, columns = np.unique(rows[places, at], return_inverse=True)
        values = 1.0 / np.sqrt(np.count_nonzero(rows, axis=1))[places]
        shares = sums / counts
        start = self._start[terms].astype(np.float64)

        def gradient(theta: FloatArray) -> FloatArray:
            logits = np.bincount(places, values * theta[columns], len(rows)) + theta[-1]
            residuals = counts * (1.0 / (1.0 + np.exp(-np.clip(logits, -35.0, 35.0))) - shares)
            slopes = np.bincount(columns, values * residuals[places], len(terms))
            return np.append(slopes + self._penalty * (theta[:-1] - start), residuals.sum())

        mean = float(np.clip(sums.sum() / counts.sum(), LEAST_SHARE, 1.0 - LEAST_SHARE))
        theta = np.append(start, np.log(mean / (1.0 - mean)))
        theta = minimised(gradient, theta, 1.0 / max(1.0, 0.25 * float(counts.sum())), STEPS, TOLERANCE)
        self._weights = self._start.copy()
        self._weights[terms] = theta[:-1]

    def learnt(self, kept: IntArray) -> FloatArray:
        """Return the weights of the terms *kept*, which are renumbered from 1 on: what :meth:`begin_with` takes."""
        return np.asarray(self._weights[kept])

    def begin_with(self, learnt: FloatArray) -> None:
        """Start from what was learnt on other sites, and stay near it where outcomes say nothing else."""
        self._start[1 : len(learnt) + 1] = learnt
        self._weights = self._start.copy()

    def state(self) -> dict[str, Any]:
        return {"weights": self._weights.copy(), "start": self._start.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._weights, self._start = state["weights"], state["start"]
