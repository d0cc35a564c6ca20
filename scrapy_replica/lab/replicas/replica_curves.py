"""Rankings of pairs as curves: ROC, precision over recall, reduction of duplicate URLs over false positives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from scrapy_replica.lab.replicas.replicas import reduction_ratio
from scrapy_replica.numeric import BoolArray, FloatArray

RATES = tuple(np.linspace(0, 0.005, 21).round(5).tolist())
"""False-positive rates at which the reduction ratio is drawn (Carvalho 2014, figure 4.10)."""


@dataclass(frozen=True)
class Ranking:
    """Scores of the same pairs by several methods.

    Attributes:
        hosts: Names of the pairs.
        is_replica: The truth.
        scores: Method -> scores, more is more alike.
        weights: Host -> its duplicate URLs.
    """

    hosts: list[tuple[str, str]]
    is_replica: BoolArray
    scores: Mapping[str, FloatArray]
    weights: Mapping[str, int]

    def curve(self, method: str) -> FloatArray:
        """Return threshold, false-positive rate, recall and precision of *method*, one row for each distinct score."""
        scores = self.scores[method]
        order = np.argsort(-scores, kind="stable")
        is_last = np.append(np.diff(scores[order]) != 0, True)
        found = np.cumsum(self.is_replica[order])[is_last]
        called = np.arange(1, len(order) + 1)[is_last]
        n_others = max(int((~self.is_replica).sum()), 1)
        rates = (called - found) / n_others, found / max(int(self.is_replica.sum()), 1), found / called
        return np.column_stack([scores[order][is_last], *rates])

    def reductions(self, method: str, rates: Sequence[float] = RATES) -> list[tuple[float, float]]:
        """Return (false-positive rate, reduction ratio) of *method* at *rates*."""
        return [(rate, reduction_ratio(self, self.scores[method], rate, self.weights)) for rate in rates]
