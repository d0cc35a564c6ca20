"""Q-learning over link words: what following a link is worth, later rewards discounted (Rennie & McCallum 1999)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_replica.focus.frontier import UrlIds
from scrapy_replica.focus.layers import LayerBayes, TopTerms
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.records import Link, Page

GAMMA = 0.5
BINS = 5
LONGEST_PATH = 4
"""Links back over which a reward is handed on: gamma**5 is below 1/BINS."""


class QLearning(Strategy):
    """Q(link) = Pr[target] + gamma * max Q of the links followed there, cut into five bins; words vote by naive Bayes.

    The paper learns Q off-line from known sites; here it is learnt from the links that the visit itself has followed,
    so the first pages are taken by the words' relevance. Score = sum over bins of Pr[bin | words] * middle of the bin.
    Memory: about 500 bytes a link waiting or followed.
    """

    name: ClassVar[str] = "q-learning"

    def __init__(self, link_words: LinkWords) -> None:
        self._words = link_words
        self._terms = TopTerms(is_tfidf=False)
        self._bayes = LayerBayes(BINS)
        self._urls = UrlIds()
        self._documents: dict[int, tuple[IntArray, FloatArray]] = {}
        self._parent: dict[int, int] = {}
        self._q: dict[int, float] = {}
        self._page = 0

    def visited(self, page: Page, relevance: float) -> None:
        q = relevance if math.isfinite(relevance) else 0.0
        number: int | None = self._urls.id_of(page.url)
        self._page = int(number or 0)
        # A parent's Q is at least what its best link is worth, discounted; its own relevance where that is more.
        for _ in range(LONGEST_PATH):
            if number is None or (number in self._q and self._q[number] >= q):
                return
            self._learn(number, q)
            number = self._parent.get(number)
            q *= GAMMA

    def _learn(self, number: int, q: float) -> None:
        document = self._documents.get(number)
        if document is not None:
            if number in self._q:
                self._bayes.add(_bin(self._q[number]), *document, -1.0)
            self._bayes.add(_bin(q), *document)
        self._q[number] = q

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        if not self._bayes.pages.any():
            for link in links:
                self._document(link)
            return self._words(links)
        middles = (np.arange(BINS) + 0.5) / BINS
        return np.array(
            [self._bayes.probabilities(*self._document(link)) @ middles for link in links], dtype=np.float64
        )

    def _document(self, link: Link) -> tuple[IntArray, FloatArray]:
        number = self._urls.id_of(link.url)
        known = self._documents.get(number)
        if known is None:
            known = self._documents[number] = self._terms.see(self._words.terms(link))
            if number != self._page and number not in self._q:
                self._parent[number] = self._page
        return known


def _bin(q: float) -> int:
    return min(BINS - 1, int(q * BINS))
