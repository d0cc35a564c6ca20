"""The terms of a page that count: those that most pages have."""

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
