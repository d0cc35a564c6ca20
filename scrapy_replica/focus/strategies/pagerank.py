"""PageRank of the part of the web known so far (Cho, Garcia-Molina & Page 1998)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_replica.records import Link, Page

DAMPING = 0.9
STEPS = 20
GROWTH = 1.1
"""Ranks are computed anew whenever the pages visited have grown by this factor: amortised, a constant per page."""


class PageRank(Strategy):
    """Rank times the number of known URLs, damping .9; between two computations a link adds its page's share.

    URLs not visited yet have no known links: their rank goes to all. Memory: 150 bytes a URL, 4 bytes a link.
    """

    name: ClassVar[str] = "pagerank"
    needs_topic: ClassVar[bool] = False

    def __init__(self) -> None:
        self._graph = KnownGraph()
        self._ranks = np.zeros(0)
        self._gained: dict[int, float] = {}
        self._next = 20.0
        self._is_due = False

    def visited(self, page: Page, relevance: float) -> None:  # noqa: ARG002 - links alone decide
        self._graph.visit(page.url)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        rows = self._graph.add_links([link.url for link in links])
        share = DAMPING * self._rank(self._graph.page) / max(1, len(links))
        for row in rows:
            self._gained[row] = self._gained.get(row, 0.0) + share
        if self._graph.visited >= self._next:
            self._next = self._graph.visited * GROWTH
            self._is_due = True
        return np.array([self._rank(row) for row in rows], dtype=np.float64)

    def rescored(self) -> dict[str, float]:
        if not self._is_due:
            return {}
        self._is_due = False
        self._compute()
        return {url: float(self._ranks[row]) for url, row in self._graph.waiting()}

    def _rank(self, row: int) -> float:
        known = float(self._ranks[row]) if row < len(self._ranks) else 1.0 - DAMPING
        return known + self._gained.get(row, 0.0)

    def _compute(self) -> None:
        sources, targets, degree = self._graph.arrays()
        size = self._graph.size
        self._gained.clear()
        ranks = np.ones(size)
        ranks[: len(self._ranks)] = np.maximum(self._ranks, 1e-9)
        ranks *= size / ranks.sum()
        for _ in range(STEPS):
            flow = np.bincount(targets, ranks[sources] / degree[sources], minlength=size)
            ranks = DAMPING * (flow + ranks[degree == 0].sum() / size) + 1.0 - DAMPING
        self._ranks = ranks
