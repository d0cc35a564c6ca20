"""Q-learning over link words: what following a link is worth, later rewards discounted (Rennie & McCallum 1999)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.layers import LayerBayes, TopTerms
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.focus.window import UrlWindow
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.records import Link, Page

GAMMA = 0.5
BINS = 5
LONGEST_PATH = 4
"""Links back over which a reward is handed on: gamma**5 is below 1/BINS."""
MOST_WORDS = 16
"""Terms of a link that are kept, those of its anchor first."""


class QLearning(Strategy):
    """Q(link) = Pr[target] + gamma * max Q of the links followed there, cut into five bins; words vote by naive Bayes.

    The paper learns Q off-line from known sites; here it is learnt from the links that the visit itself has followed,
    so the first pages are taken by the words' relevance. Score = sum over bins of Pr[bin | words] * middle of the bin.
    Memory: 380 bytes a URL, of the ``MOST_URLS`` found last, at most 115 MB; terms, 25 MB.
    """

    name: ClassVar[str] = "q-learning"

    def __init__(self, link_words: LinkWords) -> None:
        self._words = link_words
        self._terms = TopTerms(is_tfidf=False)
        self._bayes = LayerBayes(BINS, self._terms)
        self._urls = urls = UrlWindow()
        urls.add_column("q", np.float64)
        urls.add_column("parent", np.int64)
        for column in ("is_read", "has_q", "counted", "terms"):
            urls.add_column(column, np.int8)
        urls.add_column("term", np.int32, MOST_WORDS)
        urls.add_column("weight", np.float32, MOST_WORDS)
        self._page = 0

    def visited(self, page: Page, relevance: float) -> None:
        q = relevance if math.isfinite(relevance) else 0.0
        number = self._page = self._urls.enter(page.url)
        # A parent's Q is at least what its best link is worth, discounted; its own relevance where that is more.
        for _ in range(LONGEST_PATH):
            row = self._urls.row(number)
            if not row or (self._urls["has_q"][row] and self._urls["q"][row] >= q):
                return
            self._learn(row, q)
            number = int(self._urls["parent"][row])
            q *= GAMMA

    def _learn(self, row: int, q: float) -> None:
        urls = self._urls
        if urls["is_read"][row]:
            document = self._document(row)
            if counted := int(urls["counted"][row]):
                self._bayes.add(counted - 1, *document, -1.0)
            self._bayes.add(_bin(q), *document)
            urls["counted"][row] = _bin(q) + 1
        urls["q"][row], urls["has_q"][row] = q, True

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        if not self._bayes.pages.any():
            for link in links:
                self._read(link)
            return self._words(links)
        middles = (np.arange(BINS) + 0.5) / BINS
        return np.array([self._bayes.probabilities(*self._read(link)) @ middles for link in links], dtype=np.float64)

    def _read(self, link: Link) -> tuple[IntArray, FloatArray]:
        urls, number = self._urls, self._urls.enter(link.url)
        row = urls.row(number)
        if not urls["is_read"][row]:
            numbers, weights = self._terms.see(self._words.terms(link))
            count = min(len(numbers), MOST_WORDS)
            urls["is_read"][row], urls["terms"][row] = True, count
            urls["term"][row, :count], urls["weight"][row, :count] = numbers[:count], weights[:count]
            if number != self._page and not urls["has_q"][row]:
                urls["parent"][row] = self._page
        return self._document(row)

    def _document(self, row: int) -> tuple[IntArray, FloatArray]:
        count = int(self._urls["terms"][row])
        terms, weights = self._urls["term"][row, :count], self._urls["weight"][row, :count]
        return terms.astype(np.int64), weights.astype(np.float64)

    def state(self) -> dict[str, Any]:
        parts = {"urls": self._urls.state(), "terms": self._terms.state(), "bayes": self._bayes.state()}
        return {**parts, "page": self._page}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._urls.restore(state["urls"])
        self._terms.restore(state["terms"])
        self._bayes.restore(state["bayes"])
        self._page = state["page"]


def _bin(q: float) -> int:
    return min(BINS - 1, int(q * BINS))
