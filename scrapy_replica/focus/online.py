"""Logistic models learnt one outcome at a time (AdaGrad: Duchi, Hazan, Singer 2011)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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

    def state(self) -> FloatArray:
        return np.stack([self.weights, self._squares])

    def restore(self, state: FloatArray) -> None:
        self.weights, self._squares = state[0].copy(), state[1].copy()


class HashedModel:
    """A logistic model over hashed words, 2***bits* weights of 4 bytes and as many squares."""

    def __init__(self, bits: int, rate: float, bias: float) -> None:
        self._weights = np.zeros(1 << bits, dtype=np.float32)
        self._squares = np.full(1 << bits, 1e-2, dtype=np.float32)
        self._rate = rate
        self._bias = bias

    def logit(self, words: IntArray) -> float:
        """Return the logit of a set of hashed words, each of value 1/sqrt(n)."""
        if not len(words):
            return self._bias
        return self._bias + float(self._weights[words].sum()) / math.sqrt(len(words))

    def learn(self, words: IntArray, outcome: float) -> None:
        error = sigmoid(self.logit(words)) - outcome
        self._bias -= 0.02 * error
        if len(words):
            gradient = error / math.sqrt(len(words))
            self._squares[words] += gradient * gradient
            self._weights[words] -= self._rate * gradient / np.sqrt(self._squares[words])

    def state(self) -> dict[str, Any]:
        kept = np.flatnonzero(self._weights)
        return {
            "words": kept,
            "weights": self._weights[kept],
            "squares": self._squares[kept],
            "bias": self._bias,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._weights[state["words"]] = state["weights"]
        self._squares[state["words"]] = state["squares"]
        self._bias = float(state["bias"])


def sigmoid(logit: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(35.0, max(-35.0, logit))))
