"""Boosted trees of at most nine leaves beside a linear model, as plain arrays, without a loop over trees or rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from scrapy_replica.numeric import Float32Array

SPLITS = 8
"""Splits per tree, so that the answers of all splits to one row are one byte."""
_BITS = (128 >> np.arange(SPLITS)).astype(np.uint8)[:, None, None]
_COLUMNS = 256
"""Columns scored at a time, so that what is compared stays in the cache."""


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """A sum of trees and a start value, as log odds.

    The answers of a tree's splits to a row, eight bits, choose its value from a table of 256: the idea of QuickScorer
    (Lucchese et al., SIGIR 2015) with the table made beforehand.
    """

    split_features: NDArray[np.uint8]
    """Feature of each split, shape (t, 8); unused splits stand at feature 0 with threshold +inf."""
    thresholds: Float32Array
    """A row goes right where its feature is larger; shape (t, 8)."""
    right_sets: NDArray[np.uint16]
    """Per tree and leaf: the splits passed rightwards (high byte) and leftwards (low byte), shape (t, 9)."""
    leaf_values: Float32Array
    """Shape (t, 9)."""
    start: float
    table: Float32Array
    """Value of each tree for each byte of answers, flat, 256 a tree."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]], prefix: str) -> BoostedTrees:
        """Read the trees that :meth:`to_arrays` wrote under *prefix*."""
        splits, thresholds, right_sets, leaf_values, start = (arrays[prefix + name] for name in _NAMES)
        table = _table(right_sets.astype(np.uint16), leaf_values.astype(np.float32))
        return cls(
            splits.astype(np.uint8),
            thresholds.astype(np.float32),
            right_sets.astype(np.uint16),
            leaf_values.astype(np.float32),
            float(start.astype(np.float64)),
            table,
        )

    def to_arrays(self, prefix: str) -> dict[str, NDArray[np.generic]]:
        """Return what a model file holds, each array's name beginning with *prefix*."""
        start = np.array(self.start)
        values: list[NDArray[Any]] = [self.split_features, self.thresholds, self.right_sets, self.leaf_values, start]
        return {prefix + name: value for name, value in zip(_NAMES, values, strict=True)}

    def log_odds(self, rows: Float32Array) -> Float32Array:
        """Return the log odds of every column of *rows*, shape (features, n), as shape (n,)."""
        scores = np.full(rows.shape[1], self.start, np.float32)
        features, thresholds = self.split_features.T.ravel(), self.thresholds.T.reshape(-1, 1)
        for first in range(0, rows.shape[1], _COLUMNS):
            passed = rows[:, first : first + _COLUMNS].take(features, axis=0) > thresholds
            bits = passed.view(np.uint8).reshape(SPLITS, len(self.thresholds), -1) * _BITS
            places = np.bitwise_or.reduce(bits) + np.arange(0, len(self.table), 256)[:, None]
            scores[first : first + _COLUMNS] += self.table.take(places).sum(axis=0)
        return scores


@dataclass(frozen=True, slots=True)
class BlendedModel:
    """The mean log odds of boosted trees and of logistic regression on the features' logarithms.

    The linear part knows less and carries over better to kinds of pages that were not learned from.
    """

    trees: BoostedTrees
    weights: Float32Array
    """Of ``sign(x) ln(1 + |x|)`` of every feature, shape (features,)."""
    intercept: float

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]], prefix: str) -> BlendedModel:
        """Read the model that :meth:`to_arrays` wrote under *prefix*."""
        weights, intercept = arrays[prefix + "weights"], arrays[prefix + "intercept"]
        trees = BoostedTrees.from_arrays(arrays, prefix)
        return cls(trees, weights.astype(np.float32), float(intercept.astype(np.float64)))

    def to_arrays(self, prefix: str) -> dict[str, NDArray[np.generic]]:
        """Return what a model file holds, each array's name beginning with *prefix*."""
        linear = {prefix + "weights": self.weights, prefix + "intercept": np.array(self.intercept)}
        return self.trees.to_arrays(prefix) | linear

    def log_odds(self, rows: Float32Array, logarithms: Float32Array) -> Float32Array:
        """Return the log odds of every column of *rows*, shape (features, n), as shape (n,).

        *logarithms* are their :func:`signed_logarithms`.
        """
        linear = (self.weights @ logarithms).astype(np.float32) + np.float32(self.intercept)
        return np.float32(0.5) * (self.trees.log_odds(rows) + clipped(linear, 6))


def clipped(values: Float32Array, most: float) -> Float32Array:
    """Return *values* between minus *most* and *most*, at a fifth of the time that ``np.clip`` takes for a page."""
    return np.minimum(np.maximum(values, -most), most)


def signed_logarithms(values: Float32Array) -> Float32Array:
    """Return ``sign(x) ln(1 + |x|)`` of *values*, element by element."""
    # np.log1p takes three times as long; of what is near 0 the sum keeps seven digits behind the point.
    logarithms: Float32Array = np.copysign(np.log(np.abs(values) + np.float32(1)), values)
    return logarithms


_NAMES = ("features", "thresholds", "right_sets", "leaf_values", "start")


def _table(right_sets: NDArray[np.uint16], leaf_values: Float32Array) -> Float32Array:
    """Of every byte of answers the value of the one leaf whose path agrees with it."""
    answers = np.arange(256, dtype=np.uint16)[None, None, :]
    right, left = (right_sets >> 8)[:, :, None], (right_sets & 255)[:, :, None]
    agrees = ((answers & right) == right) & ((answers & left) == 0) & ((right | left) > 0)
    table: Float32Array = np.einsum("tl,tla->ta", leaf_values, agrees.astype(np.float32)).ravel()
    return table
