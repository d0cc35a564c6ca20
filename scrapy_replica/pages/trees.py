"""Boosted trees of at most nine leaves as plain arrays, scored without a loop over trees or rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

SPLITS = 8
"""Splits per tree, so that the answers of all splits to one row are one byte."""


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """A sum of trees and a start value, as log odds.

    The answers of a tree's splits to a row, eight bits, choose its value from a table of 256: the idea of QuickScorer
    (Lucchese et al., SIGIR 2015) with the table made beforehand.
    """

    split_features: NDArray[np.uint8]
    """Feature of each split, shape (t, 8); unused splits stand at feature 0 with threshold +inf."""
    thresholds: NDArray[np.float32]
    """A row goes right where its feature is larger; shape (t, 8)."""
    right_sets: NDArray[np.uint16]
    """Per tree and leaf: the splits passed rightwards (high byte) and leftwards (low byte), shape (t, 9)."""
    leaf_values: NDArray[np.float32]
    """Shape (t, 9)."""
    start: float
    table: NDArray[np.float32]
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
        values = (self.split_features, self.thresholds, self.right_sets, self.leaf_values, np.array(self.start))
        return {prefix + name: value for name, value in zip(_NAMES, values, strict=True)}

    def log_odds(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the log odds of every column of *rows*, shape (features, n), as shape (n,)."""
        answers = rows[self.split_features.ravel()] > self.thresholds.ravel()[:, None]
        places = np.packbits(answers.reshape(-1, SPLITS, rows.shape[1]), axis=1)[:, 0, :].astype(np.intp)
        places += np.arange(0, len(self.table), 256)[:, None]
        scores: NDArray[np.float32] = self.table[places].sum(axis=0) + np.float32(self.start)
        return scores


_NAMES = ("features", "thresholds", "right_sets", "leaf_values", "start")


def _table(right_sets: NDArray[np.uint16], leaf_values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of every byte of answers the value of the one leaf whose path agrees with it."""
    answers = np.arange(256, dtype=np.uint16)[None, None, :]
    right, left = (right_sets >> 8)[:, :, None], (right_sets & 255)[:, :, None]
    agrees = ((answers & right) == right) & ((answers & left) == 0) & ((right | left) > 0)
    return np.einsum("tl,tla->ta", leaf_values, agrees.astype(np.float32)).ravel()
