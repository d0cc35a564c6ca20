"""What the judge of hosts learns from a collection: its pairs that are obvious by content.

A crawl does without: of four sources that were left out whole no figure changed in three digits, and a closed web of
9,033 pages was crawled by the same requests.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from scrapy_replica.lazy.lac import LAC, Cube
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.sites.features import Comparison, features_of
from scrapy_replica.sites.judge import MIN_ALIGNED, Judge, columns_of

MAX_FPR = 0.001
"""Wanted share of the pairs of different sites of a collection that are taken for replicas."""
MOST_NEAR = 0.17
"""Share of near texts up to which two hosts are obviously others."""


def labels_of(raw: FloatArray, n_aligned: IntArray, is_candidate: BoolArray) -> IntArray:
    """Return 1 for obvious replicas by content, -1 for obvious non-replicas, 0 for the rest, shape (n,)."""
    _, near, low, _, titles, same_language, other_numbers, _, _ = raw.T
    with np.errstate(invalid="ignore"):
        enough = n_aligned >= 5
        copies = enough & (near >= 0.8) & (low >= 0.7) & (titles >= 0.85) & (same_language >= 0.93)
        copies &= other_numbers <= 0.05
        is_other = near <= MOST_NEAR
        # copies that share one suffix yet are no candidates: as negatives, two of them raised a threshold by .2
        others = ~is_candidate & (is_other | np.isnan(near))
        others |= (n_aligned >= MIN_ALIGNED) & (is_other & (low <= 0.4) | (same_language <= 0.5))
    return np.where(copies, 1, np.where(others, -1, 0))


def taught(judge: Judge, pairs: Iterable[tuple[bool, Comparison]]) -> Judge:
    """Return *judge* after it learnt from those *pairs* that are obvious, with the threshold for them.

    *pairs* are compared, each with whether it is a candidate.
    """
    raw, n_aligned, is_candidate = [], [], []
    for was_candidate, comparison in pairs:
        if comparison.states_other:
            continue  # their texts would teach that shops of two countries are copies
        raw.append(features_of(comparison))
        n_aligned.append(len(comparison.aligned))
        is_candidate.append(was_candidate)
    if not raw:
        return judge
    table = np.array(raw)
    labels = labels_of(table, np.array(n_aligned), np.array(is_candidate))
    return with_threshold_for(retrained(judge, table, labels), table[labels == -1])


def retrained(judge: Judge, raw: FloatArray, labels: IntArray) -> Judge:
    """Return the judge that has also learnt the pairs with *labels* (1, -1; 0 is left out) among the *raw* ones.

    Their counts are added to those the judge has, so what it knew is not forgotten. What EM would say of the other
    pairs is not learnt: PU and NU together, as mean or product, took the F1 of pairs of other families from .98 to
    .95, and decided fewer of them.
    """
    is_learnt = labels != 0
    codes = judge.intervals.codes(columns_of(raw[is_learnt]))
    learnt = Cube.from_examples(judge.intervals.sizes, codes, labels[is_learnt] == 1)
    return replace(judge, lac=LAC(judge.lac.cube.merged(learnt)))


def with_threshold_for(judge: Judge, raw_negatives: FloatArray) -> Judge:
    """Return the judge whose threshold lets at most :data:`MAX_FPR` of these obvious negatives pass.

    The threshold is only ever raised: obvious negatives are easier than near misses.
    """
    if not len(raw_negatives):
        return judge
    return replace(judge, threshold=max(judge.threshold, threshold_at(judge.scores(raw_negatives), MAX_FPR)))


def threshold_at(negative_scores: FloatArray, max_fpr: float) -> float:
    """Return the least threshold that at most the share *max_fpr* of *negative_scores* reach."""
    ranked: Sequence[float] = np.sort(negative_scores)[::-1].tolist()
    allowed = int(max_fpr * len(ranked))
    return math.nextafter(ranked[allowed], math.inf) if allowed < len(ranked) else 0.0
