"""The terms of a page that count, a classifier of text into distance layers, and its thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray

TOP_TERMS = 64
"""Terms of a page that count: those that most pages have. What tells a layer are the words that its pages share: with
40 such terms the AUC of "one or two links away against more" is .779, .886 and .763 on three topics, with 64 .787, .893
and .808; with the 40 of the largest TF-IDF, as in the context-graph crawler, .458, .778 and .791, with all terms .753,
.881 and .823."""
MOST_TERMS = 100_000
MOST_CARRIED = 20_000
"""Terms that are given to another crawl, those in most pages: the rest of the room is for its own."""


class TopTerms:
    """Numbers the terms of pages, counts in how many they are, and chooses those of a page that most pages have.

    At most ``MOST_TERMS`` terms are numbered (about 20 MB with the weights of seven layers); later ones are not seen.
    """

    def __init__(self) -> None:
        self.pages = 0
        self.ids: dict[str, int] = {}
        self._holders = np.zeros(1024, dtype=np.int64)

    def idf(self, terms: IntArray) -> FloatArray:
        """Return ln((1 + pages) / holders) of numbered terms, the same shape."""
        return np.asarray(np.log((1.0 + self.pages) / np.maximum(self._holders[terms], 1)))

    def see(self, terms: Mapping[str, int]) -> tuple[IntArray, FloatArray]:
        """Count a page; return the numbers of its top terms and how often it has them, shape (k,)."""
        self.pages += 1
        found = list(map(self.ids.get, terms))
        if None in found:
            found = [self._new(term) if number is None else number for term, number in zip(terms, found, strict=True)]
        numbers = np.array(found, dtype=np.int64)
        counts = np.fromiter(terms.values(), np.float64, len(terms))
        if len(self.ids) >= MOST_TERMS:
            numbers, counts = numbers[numbers >= 0], counts[numbers >= 0]
        self._holders[numbers] += 1
        if len(numbers) > TOP_TERMS:
            top = np.argpartition(-self._holders[numbers], TOP_TERMS)[:TOP_TERMS]
            numbers, counts = numbers[top], counts[top]
        return numbers, counts

    def _new(self, term: str) -> int:
        if len(self.ids) >= MOST_TERMS:
            return -1
        number = self.ids[term] = len(self.ids)
        if number >= len(self._holders):
            self._holders = np.append(self._holders, np.zeros_like(self._holders))
        return number

    def common(self) -> IntArray:
        """Return the numbers of the terms in most pages, at most ``MOST_CARRIED``, in their order."""
        holders = self._holders[: len(self.ids)]
        return np.sort(np.argsort(-holders, kind="stable")[:MOST_CARRIED])

    def learnt(self, kept: IntArray, most_pages: int) -> dict[str, Any]:
        """Return what :meth:`restore` takes, of the terms *kept* alone, as if there had been at most *most_pages*."""
        names, pages = list(self.ids), min(self.pages, most_pages)
        return {
            "pages": pages,
            "terms": [names[number] for number in kept.tolist()],
            "holders": np.maximum(1, self._holders[kept] * pages // max(1, self.pages)),
        }

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes: copies, which stay as they are."""
        return {"pages": self.pages, "terms": list(self.ids), "holders": self._holders.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.pages = state["pages"]
        self.ids = {term: number for number, term in enumerate(state["terms"])}
        self._holders = np.zeros(max(1024, len(state["holders"])), dtype=np.int64)
        self._holders[: len(state["holders"])] = state["holders"]


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
