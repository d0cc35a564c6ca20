"""Measures of a ranking of labelled pairs: AUC, TPR at a false-positive rate, replica detection rate."""

from __future__ import annotations

import math

import numpy as np

from scrapy_replica.numeric import BoolArray, FloatArray


def auc(scores: FloatArray, is_positive: BoolArray) -> float:
    """Return the area under the ROC curve: how often a positive stands above a negative, ties count half."""
    positives, negatives = scores[is_positive], np.sort(scores[~is_positive])
    if not len(positives) or not len(negatives):
        return math.nan
    below = np.searchsorted(negatives, positives, side="left")
    up_to = np.searchsorted(negatives, positives, side="right")
    return float((below + up_to).mean() / 2 / len(negatives))


def tpr_at_fpr(scores: FloatArray, is_positive: BoolArray, max_fpr: float) -> float:
    """Return the share of positives above all negatives but the share *max_fpr* of them."""
    negatives = np.sort(scores[~is_positive])[::-1]
    allowed = int(max_fpr * len(negatives))
    if allowed >= len(negatives):
        return 1.0
    return float((scores[is_positive] > negatives[allowed]).mean())


def rdr(scores: FloatArray, is_positive: BoolArray, k: int | None) -> float:
    """Return the replica detection rate: mean of 1 / rank of one positive among *k* random negatives.

    Carvalho et al. 2017, section 4.1.2, who draw 100 positives (Carvalho 2014, p. 40). Reading: the ranking is by the
    likelihood of a replica; alpha(x, -), as printed, would put replicas last. The expectation over all draws, computed
    exactly: with m of n negatives above it, the positive's rank is 1 + a hypergeometric number. Negatives that tie with
    it count as above. ``None`` for k takes all negatives.
    """
    negatives = np.sort(scores[~is_positive])
    n = len(negatives)
    above = n - np.searchsorted(negatives, scores[is_positive], side="left")
    if k is None or k >= n:
        return float((1 / (1 + above)).mean())
    return float(np.mean([_mean_reciprocal_rank(n, int(m), k) for m in above]))


def _mean_reciprocal_rank(n: int, m: int, k: int) -> float:
    """Return E[1 / (1 + X)], X hypergeometric: m of n are marked, k are drawn."""
    logs = [_log_choose(m, x) + _log_choose(n - m, k - x) for x in range(max(0, k - n + m), min(m, k) + 1)]
    total = _log_choose(n, k)
    first = max(0, k - n + m)
    return sum(math.exp(log - total) / (1 + first + place) for place, log in enumerate(logs))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def precision_recall_f1(is_called: BoolArray, is_positive: BoolArray) -> tuple[float, float, float]:
    """Return precision, recall and F1; 0 where nothing is called."""
    return from_counts(int((is_called & is_positive).sum()), int(is_called.sum()), int(is_positive.sum()))


def from_counts(hits: int, called: int, positive: int) -> tuple[float, float, float]:
    """Return precision, recall and F1 of *hits* among *called* and *positive* ones; 0 where there are none."""
    return hits / max(called, 1), hits / max(positive, 1), 2 * hits / max(called + positive, 1)


def best_f1_threshold(scores: FloatArray, is_positive: BoolArray) -> float:
    """Return the threshold of best F1, half-way between the scores it parts."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    found = np.cumsum(is_positive[order])
    f1 = 2 * found / (np.arange(len(ranked)) + 1 + is_positive.sum())
    f1[:-1][ranked[:-1] == ranked[1:]] = -1.0  # equal scores fall on one side
    best = int(np.argmax(f1))
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return float((ranked[best] + below) / 2)
