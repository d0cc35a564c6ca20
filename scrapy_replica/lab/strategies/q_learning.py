"""Q-learning over link words: what following a link is worth, later rewards discounted (Rennie & McCallum 1999)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.focus.top_terms import TopTerms
from scrapy_replica.focus.window import UrlWindow
from scrapy_replica.lab.strategies.layer_bayes import LayerBayes
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Self

    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.focus.strategy import Needs
    from scrapy_replica.records import Link, Page

GAMMA = 0.5
LEAST_RISE = 1e-3
"""A rise of Q below this is not handed on; a rise halves with every link back, so eleven links see it at most."""
BORDERS = (-0.75, 0.5, 1.25)
"""Between the values that Q can have: -1 (leads to nothing relevant by one link), -.5 to 0 (leads to a relevant page),
1 (relevant itself), 1.5 to 2 (relevant, and leads to relevant ones)."""
MOST_WORDS = 16
"""Terms of a link that are kept, those of its anchor first."""


class QLearning(Strategy):
    """Q(link) = r + gamma max(0, Q of the links followed on its page), r = 1 for a relevant page and -1 for another.

    So Q is the reward of the best way from there, later rewards discounted (Orlandi 2007, p. 10). It is cut into four
    bins; naive Bayes over the words of a link tells its bin; score = sum over bins of Pr[bin | words] * mean Q there.

    *Readings.* The state of the crawler is left out, as the source says, so an action is a link and was taken where
    the visit found its target first. A link that was not followed yet has Q = 0. The sum of rewards begins with the
    page that the link leads to, undiscounted: a factor of gamma for all. The source prints that actions lead to
    *relevant* pages with a negative reward: to those that are not. Words near a link are those of its anchor and URL.
    The paper learns Q off-line from known sites; here it is learnt from the links that the visit itself followed, so
    the first pages are taken by the words' relevance.

    Memory: 390 bytes a URL, of the ``MOST_URLS`` found last, at most 118 MB; terms, 25 MB.
    """

    name: ClassVar[str] = "q-learning"

    def __init__(self, link_words: LinkWords) -> None:
        self._words = link_words
        self._terms = TopTerms()
        self._bayes = LayerBayes(len(BORDERS) + 1, self._terms)
        self._sums = np.zeros(len(BORDERS) + 1)
        """Sum of Q over the links in each bin."""
        self._urls = urls = UrlWindow()
        for column in ("q", "best"):
            urls.add_column(column, np.float64)
        urls.add_column("parent", np.int64)
        for column in ("reward", "is_read", "counted", "terms"):
            urls.add_column(column, np.int8)
        urls.add_column("term", np.int32, MOST_WORDS)
        urls.add_column("weight", np.float32, MOST_WORDS)
        self._page = 0

    @classmethod
    def made(cls, needs: Needs) -> Self:
        return cls(needs.read(cls.name))

    def visited(self, page: Page, relevance: float) -> None:
        urls, number = self._urls, self._urls.enter(page.url)
        self._page, row = number, urls.row(number)
        urls["reward"][row] = 1 if relevance > IS_RELEVANT else -1
        rise = self._learn(row)
        while (parent := urls.row(int(urls["parent"][row]))) and rise > LEAST_RISE:
            if urls["q"][row] <= urls["best"][parent]:
                return
            urls["best"][parent] = urls["q"][row]
            row, rise = parent, self._learn(parent)

    def _learn(self, row: int) -> float:
        """Give the link that led to a page its present Q, count its words in their bin; return by how much Q rose."""
        urls = self._urls
        old, q = float(urls["q"][row]), float(urls["reward"][row] + GAMMA * urls["best"][row])
        if urls["is_read"][row]:
            document = self._document(row)
            if counted := int(urls["counted"][row]):
                self._bayes.add(counted - 1, *document, -1.0)
                self._sums[counted - 1] -= old
            bin_ = int(np.searchsorted(BORDERS, q))
            self._bayes.add(bin_, *document)
            self._sums[bin_] += q
            urls["counted"][row] = bin_ + 1
        urls["q"][row] = q
        return math.inf if old == 0.0 else q - old

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        if not self._bayes.pages.any():
            for link in links:
                self._read(link)
            return self._words(links)
        means = self._sums / np.maximum(self._bayes.pages, 1.0)
        return np.array([self._bayes.probabilities(*self._read(link)) @ means for link in links], dtype=np.float64)

    def _read(self, link: Link) -> tuple[IntArray, FloatArray]:
        urls, number = self._urls, self._urls.enter(link.url)
        row = urls.row(number)
        if not urls["is_read"][row] and not urls["reward"][row]:
            numbers, weights = self._terms.see(self._words.terms(link))
            count = min(len(numbers), MOST_WORDS)
            urls["is_read"][row], urls["terms"][row] = True, count
            urls["term"][row, :count], urls["weight"][row, :count] = numbers[:count], weights[:count]
            urls["parent"][row] = self._page
        return self._document(row)

    def _document(self, row: int) -> tuple[IntArray, FloatArray]:
        count = int(self._urls["terms"][row])
        terms, weights = self._urls["term"][row, :count], self._urls["weight"][row, :count]
        return terms.astype(np.int64), weights.astype(np.float64)

    def state(self) -> dict[str, Any]:
        parts = {"urls": self._urls.state(), "terms": self._terms.state(), "bayes": self._bayes.state()}
        return {**parts, "sums": self._sums.copy(), "page": self._page}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._urls.restore(state["urls"])
        self._terms.restore(state["terms"])
        self._bayes.restore(state["bayes"])
        self._sums, self._page = state["sums"], state["page"]
