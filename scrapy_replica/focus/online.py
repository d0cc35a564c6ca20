"""Logistic models learnt one outcome at a time (AdaGrad: Duchi, Hazan, Singer 2011)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray, sigmoid


class DenseModel:
    """logit = features @ weights; one AdaGrad step an outcome."""

    def __init__(self, weights: Sequence[float], rate: float) -> None:
        self.weights = np.array(weights, dtype=np.float64)
        self._squares = np.full(len(weights), 1e-2)
        self._rate = rate

    def logits(self, features: FloatArray) -> FloatArray:
        return np.asarray(features @ self.weights, dtype=np.float64)

    def learn(self, features: FloatArray, outcome: float, logit: float) -> None:
        """Take one step on the log loss of *outcome* (0..1, shares allowed)."""
        gradient = (sigmoid(logit) - outcome) * features
        self._squares += gradient * gradient
        self.weights -= self._rate * gradient / np.sqrt(self._squares)

    def state(self) -> dict[str, Any]:
        return {"weights": self.weights.copy(), "squares": self._squares.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.weights, self._squares = state["weights"], state["squares"]


class TermModel:
    """A logistic model over sets of numbered terms, *terms* weights of 4 bytes and as many squares."""

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
