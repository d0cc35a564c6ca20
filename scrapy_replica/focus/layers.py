"""The terms of a page that count, and a classifier of text into distance layers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray

TOP_TERMS = 40
"""Terms of a page that count, by TF-IDF (seed 40 of the context-graph crawler)."""
MOST_TERMS = 100_000
RECENT = 50
"""Training pages of a layer among which the smallest probability is its threshold."""


class TopTerms:
    """Chooses the terms of a page by TF-IDF (or TF) over the pages seen so far and numbers them.

    At most ``MOST_TERMS`` terms are numbered (about 20 MB with the counts of seven layers); later ones are not seen.
    """

    def __init__(self, is_tfidf: bool = True) -> None:
        self.is_tfidf = is_tfidf
        self.pages = 0
        self.ids: dict[str, int] = {}
        self._holders = np.zeros(1024, dtype=np.int64)

    def see(self, terms: Mapping[str, int]) -> tuple[IntArray, FloatArray]:
        """Count a page; return the numbers of its top terms and their weights (counts, TF or TF-IDF), shape (k,)."""
        self.pages += 1
        found = list(map(self.ids.get, terms))
        if None in found:
            found = [self._new(term) if number is None else number for term, number in zip(terms, found, strict=True)]
        numbers = np.array(found, dtype=np.int64)
        weights = np.fromiter(terms.values(), np.float64, len(terms))
        if len(self.ids) >= MOST_TERMS:
            numbers, weights = numbers[numbers >= 0], weights[numbers >= 0]
        self._holders[numbers] += 1
        if len(numbers) > TOP_TERMS:
            rank = weights
            if self.is_tfidf:
                rank = weights * np.log((1 + self.pages) / self._holders[numbers])
            top = np.argpartition(-rank, TOP_TERMS)[:TOP_TERMS]
            numbers, weights = numbers[top], weights[top]
        return numbers, weights

    def _new(self, term: str) -> int:
        if len(self.ids) >= MOST_TERMS:
            return -1
        number = self.ids[term] = len(self.ids)
        if number >= len(self._holders):
            self._holders = np.append(self._holders, np.zeros_like(self._holders))
        return number

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes: copies, which stay as they are."""
        return {"pages": self.pages, "terms": list(self.ids), "holders": self._holders.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.pages = state["pages"]
        self.ids = {term: number for number, term in enumerate(state["terms"])}
        self._holders = state["holders"]


class LayerBayes:
    """Multinomial naive Bayes over layers 0..d-1 with a threshold; layer d is "d or more" (Diligenti et al. 2000).

    c* = argmax Pr[c|page]; if Pr[c*|page] < sigma_c*, the smallest Pr[c|page] among the last ``RECENT`` training pages
    of layer c*, the page is "d or more". Laplace smoothing, log space. Only counts are kept: a page that comes or
    changes its layer adds and subtracts, and the answer equals that of training on all of them anew.
    """

    def __init__(self, layers: int) -> None:
        if layers < 1:
            raise ValueError(f"a layer model needs at least one layer, not {layers}")
        self.layers = layers
        self.counts = np.zeros((layers, 1024))
        self.totals = np.zeros(layers)
        self.pages = np.zeros(layers)
        self._vocabulary = 1
        self._recent: list[deque[float]] = [deque(maxlen=RECENT) for _ in range(layers)]

    def add(self, layer: int, terms: IntArray, weights: FloatArray, times: float = 1.0) -> None:
        """Count a page of *layer* (*times* = -1 takes it back); the layer "d or more" is not counted."""
        if layer >= self.layers:
            return
        if len(terms) and terms.max() >= self.counts.shape[1]:
            grown = np.zeros((self.layers, max(2 * self.counts.shape[1], int(terms.max()) + 1)))
            grown[:, : self.counts.shape[1]] = self.counts
            self.counts = grown
        if len(terms):
            self._vocabulary = max(self._vocabulary, int(terms.max()) + 1)
        self.counts[layer, terms] += times * weights
        self.totals[layer] += times * float(weights.sum())
        self.pages[layer] += times

    def note_threshold(self, layer: int, terms: IntArray, weights: FloatArray) -> None:
        """Let a training page of *layer* take part in its threshold."""
        if layer < self.layers:
            self._recent[layer].append(float(self.probabilities(terms, weights)[layer]))

    def probabilities(self, terms: IntArray, weights: FloatArray) -> FloatArray:
        """Return Pr[c|page] of the layers 0..d-1, shape (d,); uniform before any training."""
        if not self.pages.any():
            return np.full(self.layers, 1.0 / self.layers)
        known = terms < self.counts.shape[1]
        vocabulary = float(self._vocabulary)
        likely = np.log(self.counts[:, terms[known]] + 1.0) - np.log(self.totals + vocabulary)[:, None]
        logs = likely @ weights[known] + np.log(self.pages + 1.0)
        odds = np.exp(logs - logs.max())
        return np.asarray(odds / odds.sum(), dtype=np.float64)

    def classify(self, terms: IntArray, weights: FloatArray) -> int:
        """Return the layer, 0..d, of a page."""
        if not self.pages.any():
            return self.layers
        probabilities = self.probabilities(terms, weights)
        best = int(probabilities.argmax())
        recent = self._recent[best]
        return self.layers if recent and probabilities[best] < min(recent) else best

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes: copies, which stay as they are."""
        return {
            "counts": self.counts.copy(),
            "vocabulary": self._vocabulary,
            "totals": self.totals.copy(),
            "pages": self.pages.copy(),
            "recent": [list(row) for row in self._recent],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.counts, self.totals, self.pages = state["counts"], state["totals"], state["pages"]
        self._vocabulary = state["vocabulary"]
        for row, values in zip(self._recent, state["recent"], strict=True):
            row.clear()
            row.extend(values)
