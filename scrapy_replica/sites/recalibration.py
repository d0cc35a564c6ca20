"""A judge that has learnt from the crawl that it judges."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import numpy as np

from scrapy_replica.sites.features import Comparison, features_of
from scrapy_replica.sites.judge import RAW, Judge, obvious_labels

_AT_ONCE = 2
"""Pairs compared in one turn."""


def recalibrated(
    judge: Judge, pairs: Iterable[tuple[bool, Comparison]], max_fpr: float
) -> Generator[None, None, Judge | None]:
    """Return *judge* after it learnt from those *pairs* that are obvious by content, with the threshold for *max_fpr*.

    *pairs* are compared, each with whether the crawl took it for a candidate, a few at each step of the generator;
    without any there is nothing to learn: ``None``.
    """
    raw, n_aligned, is_candidate = [], [], []
    for number, (was_candidate, comparison) in enumerate(pairs):
        if number % _AT_ONCE == _AT_ONCE - 1:
            yield
        if comparison.states_other:
            continue  # their texts would teach that shops of two countries are copies
        raw.append(features_of(comparison, RAW))
        n_aligned.append(len(comparison.aligned))
        is_candidate.append(was_candidate)
    if not raw:
        return None
    yield
    table = np.array(raw)
    obvious = obvious_labels(table, np.array(n_aligned), np.array(is_candidate))
    return judge.retrained(table, obvious).with_threshold_for(table[obvious == -1], max_fpr)
