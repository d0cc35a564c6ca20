"""A logistic model learnt one outcome at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scrapy_replica.numeric import FloatArray, sigmoid


class DenseModel:
    """logit = features @ weights, from start weights that stand until outcomes outweigh them.

    Bayesian logistic regression by one step of Newton an outcome (the extended Kalman filter, Spiegelhalter & Lauritzen
    1990): the weights have a Gaussian prior round *weights* of the given *precisions*, 1 / variance, one for each; an
    outcome adds p (1 - p) x x' to the precision. So what outcomes do not tell apart stays as it was, and each moves the
    less the more there were. O(features^2) an outcome.
    """

    def __init__(self, weights: Sequence[float], precisions: Sequence[float]) -> None:
        self.weights = np.array(weights, dtype=np.float64)
        self._covariance = np.diag(1.0 / np.array(precisions, dtype=np.float64))

    def logits(self, features: FloatArray) -> FloatArray:
        return np.asarray(features @ self.weights, dtype=np.float64)

    def learn(self, features: FloatArray, outcome: float, logit: float) -> None:
        """Take the *outcome* (0..1, shares allowed) of a link into account."""
        expected = sigmoid(logit)
        information = expected * (1.0 - expected)
        step = self._covariance @ features
        gain = step / (1.0 + information * float(features @ step))
        self._covariance -= information * np.outer(gain, step)
        self.weights += (outcome - expected) * gain

    def state(self) -> dict[str, Any]:
        return {"weights": self.weights.copy(), "covariance": self._covariance.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.weights, self._covariance = state["weights"], state["covariance"]
