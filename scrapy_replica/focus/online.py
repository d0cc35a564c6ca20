"""Logistic models learnt one outcome at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray, sigmoid


class DenseModel:
    """logit = features @ weights, from start weights that stand until outcomes outweigh them.

    Bayesian logistic regression by one step of Newton an outcome (the extended Kalman filter, Spiegelhalter & Lauritzen
    1990): the weights have a Gaussian prior round *weights* of the given *precision*, 1 / variance; an outcome adds
    p (1 - p) x x' to the precision. So what outcomes do not tell apart stays as it was, and each moves the less the
    more there were. O(features^2) an outcome.
    """

    def __init__(self, weights: Sequence[float], precision: float) -> None:
        self.weights = np.array(weights, dtype=np.float64)
        self._covariance = np.eye(len(weights)) / precision

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


class TermModel:
    """A logistic model over sets of numbered terms, *terms* weights of 4 bytes and as many squares.

    One AdaGrad step an outcome (Duchi, Hazan & Singer 2011).
    """

    def __init__(self, terms: int, rate: float, bias: float) -> None:
        self._weights = np.zeros(terms, dtype=np.float32)
        self._squares = np.full(terms, 1e-2, dtype=np.float32)
        self._rate = rate
        self._bias = bias

    def logit(self, terms: IntArray) -> float:
        """Return the logit of a set of distinct terms, each of value 1/sqrt(n)."""
        if not len(terms):
            return self._bias
        return self._bias + float(self._weights[terms].sum()) / math.sqrt(len(terms))

    def logits(self, rows: IntArray) -> FloatArray:
        """Return the logits of sets of terms, shape (n,), one a row of *rows*; 0 stands for none and weighs nothing."""
        sizes = np.maximum(1, np.count_nonzero(rows, axis=1))
        return np.asarray(self._bias + self._weights[rows].sum(axis=1) / np.sqrt(sizes), dtype=np.float64)

    def learn(self, terms: IntArray, outcome: float) -> None:
        error = sigmoid(self.logit(terms)) - outcome
        self._bias -= 0.02 * error
        if len(terms):
            gradient = error / math.sqrt(len(terms))
            self._squares[terms] += gradient * gradient
            self._weights[terms] -= self._rate * gradient / np.sqrt(self._squares[terms])

    def learnt(self, kept: IntArray) -> dict[str, Any]:
        """Return the weights of the terms *kept*, which are renumbered: what :meth:`begin_with` takes."""
        return {"weights": self._weights[kept], "bias": self._bias}

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        """Start from the weights of another model, as free to move as if from 0."""
        self._weights[: len(learnt["weights"])] = learnt["weights"]
        self._bias = learnt["bias"]

    def state(self) -> dict[str, Any]:
        return {"weights": self._weights.copy(), "squares": self._squares.copy(), "bias": self._bias}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._weights, self._squares, self._bias = state["weights"], state["squares"], state["bias"]
