"""The relevance model of a topic asked about many pages at once: some 10 us a page, a tenth of what one by one takes.

The terms of the pages lie one behind the other (CSR): where the rows start, shape (n + 1,), term ids and their counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.state import unpack
from scrapy_replica.numeric import FloatArray

Rows = Callable[[Any, Any, Any], FloatArray]
"""Called with starts, ids and counts; returns one number a row, shape (n,)."""


def relevance_of_rows(model: Relevance, vocabulary: Sequence[str]) -> Rows:
    """Return ``model.relevance`` for pages whose term ids are places in *vocabulary*; *model* has learnt examples."""
    parts = unpack(model.save())
    models = [_bayes(json.loads(parts["bayes"]), vocabulary)] if parts["bayes"] else []
    if parts["regression"]:
        models.append(_regression(unpack(parts["regression"]), vocabulary))
    return lambda *rows: np.asarray(np.mean([of_rows(*rows) for of_rows in models], axis=0))


def _bayes(saved: Mapping[str, Any], vocabulary: Sequence[str]) -> Rows:
    weights = np.array([saved["weights"].get(stem, 0.0) for stem in vocabulary])

    def relevance(start: Any, ids: Any, counts: Any) -> FloatArray:
        damped = 1.0 + np.log(counts)
        memberships = _row_sums(start, weights[ids] * damped) / (_row_sums(start, damped) + saved["empty_words"])
        return np.asarray(np.clip(memberships / (1.0 - saved["p"]), 0.0, 1.0))

    return relevance


def _regression(saved: Mapping[str, Any], vocabulary: Sequence[str]) -> Rows:
    of_term = dict(zip(saved["terms"], zip(saved["idf"].tolist(), saved["weights"].tolist(), strict=True), strict=True))
    idf, weights = np.array([of_term.get(term, (0.0, 0.0)) for term in vocabulary]).T

    def relevance(start: Any, ids: Any, counts: Any) -> FloatArray:
        values = (1.0 + np.log(counts)) * idf[ids]
        norm = _row_sums(start, values * values)
        margins = saved["intercept"] + _row_sums(start, values * weights[ids]) / np.sqrt(
            np.where(norm > 0.0, norm, 1.0)
        )
        return np.asarray(1.0 / (1.0 + np.exp(np.clip(-margins, -700.0, 700.0))))

    return relevance


def _row_sums(start: Any, values: FloatArray) -> FloatArray:
    """Return the sums of *values* from each start to the next, shape (n,); 0 of a row without any."""
    sums = np.zeros(len(start) - 1)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        sums[filled] = np.add.reduceat(values, start[filled])
    return sums
