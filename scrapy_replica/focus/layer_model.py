"""What the words of a page say of its distance to relevant pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_replica.focus.top_terms import TopTerms
from scrapy_replica.numeric import FloatArray, IntArray, minimised

PENALTY = 0.1
"""Found after a fifth of the control with 40 sites, three draws, before text weighed twice: 1.00 each; with .33 1.00,
1.00 and .40, with .03 1.00, 1.00 and .55."""
STEPS, TOLERANCE = 25, 1e-2
AT_ONCE = 8_192
"""Pages that are told their layer together, some 25 MB."""


class LayerModel:
    """Pr[layer | page] of the layers 1..d, the last of which is "d or more": multinomial logistic regression.

    A page is a row of unit length over its *terms*, each weighing (1 + ln count) * ln((1 + pages) / holders). Fitting
    minimises the weighed log losses + penalty / 2 |W - W0|^2; W0 is what was learnt on other sites,
    or 0. 16 bytes a layer and term.
    """

    def __init__(self, layers: int, terms: TopTerms) -> None:
        self.layers = layers
        self.is_fitted = False
        self._terms = terms
        self._weights = self._start = np.zeros((0, layers))
        self._intercepts = np.zeros(layers)

    def probabilities(self, terms: IntArray, counts: IntArray) -> FloatArray:
        """Return Pr[layer | page], shape (n, d); terms and counts of the pages have shape (n, k), count 0 is none."""
        self._reserve()
        found = np.empty((len(terms), self.layers))
        for first in range(0, len(terms), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            values = self._values(terms[part], counts[part])
            logits = np.einsum("nk,nkc->nc", values, self._weights[terms[part]]) + self._intercepts
            found[part] = _softmax(logits)
        return found

    def fit(self, terms: IntArray, counts: IntArray, layers: IntArray, weighs: FloatArray) -> None:
        """Learn from pages of these *layers* (1..d), shape (n,), each as if *weighs* times there.

        It begins with the weights it had.
        """
        self._reserve()
        rows, places = np.nonzero(counts)
        values = self._values(terms, counts)[rows, places]
        columns, at = np.unique(terms[rows, places], return_inverse=True)
        wanted = np.eye(self.layers)[layers - 1]
        start = np.vstack([self._start[columns], np.zeros(self.layers)])

        def sums(groups: IntArray, addends: FloatArray, of: IntArray, size: int) -> FloatArray:
            """Return the sums of values * addends[of] by group; a layer at a time takes a third of the time of all."""
            by_layer = np.ascontiguousarray(addends.T)
            return np.stack([np.bincount(groups, values * layer.take(of), size) for layer in by_layer], axis=1)

        def gradient(theta: FloatArray) -> FloatArray:
            logits = theta[-1] + sums(rows, theta, at, len(terms))
            residuals = (_softmax(logits) - wanted) * weighs[:, None]
            slopes = PENALTY * (theta - start)
            slopes[-1] = residuals.sum(axis=0)
            slopes[:-1] += sums(at, residuals, rows, len(columns))
            return slopes

        before = np.vstack([self._weights[columns], self._intercepts])
        theta = minimised(gradient, before, 1.0 / (1.0 + 0.25 * weighs.sum()), STEPS, TOLERANCE)
        self._weights = self._start.copy()
        self._weights[columns], self._intercepts = theta[:-1], theta[-1]
        self.is_fitted = True

    def _values(self, terms: IntArray, counts: IntArray) -> FloatArray:
        values = np.where(counts > 0, 1.0 + np.log(np.maximum(counts, 1)), 0.0)
        values *= self._terms.idf(terms)  # in half precision, as the logarithm of a byte: what was measured is of these
        norms = np.sqrt((values * values).sum(axis=1, keepdims=True))
        return np.asarray(values / np.where(norms > 0.0, norms, 1.0))

    def _reserve(self) -> None:
        more = max(1, len(self._terms.ids)) - len(self._weights)
        if more > 0:
            more = max(more, len(self._weights))
            self._weights, self._start = (np.pad(each, ((0, more), (0, 0))) for each in (self._weights, self._start))

    def learnt(self, kept: IntArray) -> dict[str, Any]:
        """Return what :meth:`begin_with` takes, of the terms *kept*, which are renumbered."""
        self._reserve()
        return {"weights": self._weights[kept], "intercepts": self._intercepts.copy()}

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        """Start from what was learnt on other sites, and stay near it where pages say nothing else."""
        self._weights, self._intercepts = learnt["weights"], learnt["intercepts"]
        self._start = self._weights.copy()
        self.is_fitted = True

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes, without the terms: copies, which stay as they are."""
        parts = {"weights": self._weights, "start": self._start, "intercepts": self._intercepts}
        return {**{name: part.copy() for name, part in parts.items()}, "is_fitted": self.is_fitted}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._weights, self._start, self._intercepts = state["weights"], state["start"], state["intercepts"]
        self.is_fitted = state["is_fitted"]


def _softmax(logits: FloatArray) -> FloatArray:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
