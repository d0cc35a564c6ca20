"""Naive Bayes over the terms of pages, learnt anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_replica.focus.top_terms import TopTerms
from scrapy_replica.numeric import FloatArray, IntArray


class LayerBayes:
    """Multinomial naive Bayes over layers 0..d-1 (Diligenti et al. 2000; Orlandi 2007, 2.1.1): Laplace smoothing, logs.

    Pr[c] = (1 + pages in c) / (d + pages), Pr[term | c] = (1 + its weights in c) / (W + all weights in c), W the terms
    that *terms* numbered. Reading: the text of the source has a term stand in a page or not, its estimates are these,
    of weights, and it classifies TF-IDF weights with them (5.3). Only sums are kept: a page that comes or changes its
    layer adds and subtracts, and the answer equals that of training on all of them anew.
    """

    def __init__(self, layers: int, terms: TopTerms) -> None:
        if layers < 1:
            raise ValueError(f"a layer model needs at least one layer, not {layers}")
        self.layers = layers
        self.counts = np.zeros((layers, 1024))
        self.totals = np.zeros(layers)
        self.pages = np.zeros(layers)
        self._terms = terms

    def add(self, layer: int, terms: IntArray, weights: FloatArray, times: float = 1.0) -> None:
        """Count a page of *layer* (*times* = -1 takes it back); the layer "d or more" is not counted."""
        if layer >= self.layers:
            return
        self._reserve(terms)
        self.counts[layer, terms] += times * weights
        self.totals[layer] += times * float(weights.sum())
        self.pages[layer] += times

    def _reserve(self, terms: IntArray) -> None:
        reserved = self.counts.shape[1]
        if len(terms) and terms.max() >= reserved:
            more = max(reserved, int(terms.max()) + 1 - reserved)
            self.counts = np.pad(self.counts, ((0, 0), (0, more)))

    def probabilities(self, terms: IntArray, weights: FloatArray) -> FloatArray:
        """Return Pr[c | page] of the layers 0..d-1, shape (d,); uniform before any training."""
        if not self.pages.any():
            return np.full(self.layers, 1.0 / self.layers)
        self._reserve(terms)
        vocabulary = max(1, len(self._terms.ids))
        likely = np.log(self.counts[:, terms] + 1.0) - np.log(self.totals + vocabulary)[:, None]
        logs = likely @ weights + np.log(self.pages + 1.0)
        odds = np.exp(logs - logs.max())
        return np.asarray(odds / odds.sum(), dtype=np.float64)

    def learnt(self, kept: IntArray, most_pages: int) -> dict[str, Any]:
        """Return what :meth:`restore` takes, of the terms *kept*, as if there had been at most *most_pages*."""
        self._reserve(kept)
        share = min(1.0, most_pages / max(1.0, float(self.pages.sum())))
        sums = {"counts": self.counts[:, kept], "totals": self.totals, "pages": self.pages}
        return {name: np.maximum(column, 0.0) * share for name, column in sums.items()}

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes, without the terms: copies, which stay as they are."""
        return {"counts": self.counts.copy(), "totals": self.totals.copy(), "pages": self.pages.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.counts, self.totals, self.pages = state["counts"], state["totals"], state["pages"]
