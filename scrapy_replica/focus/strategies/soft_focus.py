"""Soft focus with a distiller: relevance of the page, and hubs found by weighted HITS (Chakrabarti et al. 1999)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.outcomes import Column
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_replica.records import Link, Page

STEPS = 5
GROWTH = 1.2
TOP_HUBS = 0.02
"""Share of the visited pages whose waiting links are raised after a distillation."""
RAISED = 1.0
"""What they are raised by: above every link that has its page's relevance only."""


class SoftFocus(Strategy):
    """Links inherit their page's relevance; links of the best hubs are raised above all others.

    The distiller weighs the edge u -> v by Pr[v] when hubs are scored and by Pr[u] when authorities are; it runs
    whenever the visit has grown by a fifth. Memory: 150 bytes a URL, 8 bytes a link.
    """

    name: ClassVar[str] = "soft-focus"

    def __init__(self) -> None:
        self._graph = KnownGraph()
        self._relevance = Column(np.float32)
        self._last = 0.0
        self._next = 100.0

    def visited(self, page: Page, relevance: float) -> None:
        self._last = relevance if math.isfinite(relevance) else 0.0
        self._graph.visit(page.url)
        self._relevance.reserve(self._graph.page + 1)
        self._relevance.values[self._graph.page] = self._last

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        self._graph.add_links([link.url for link in links])
        return np.full(len(links), self._last)

    def rescored(self) -> dict[str, float]:
        if self._graph.visited < self._next:
            return {}
        self._next = self._graph.visited * GROWTH
        sources, targets, _ = self._graph.arrays()
        self._relevance.reserve(self._graph.size)
        relevance = self._relevance.values[: self._graph.size].astype(np.float64)
        hubs = distil(sources, targets, relevance)
        line = np.partition(hubs, -max(1, int(TOP_HUBS * self._graph.visited)))[
            -max(1, int(TOP_HUBS * self._graph.visited))
        ]
        from_hubs = (hubs[sources] >= max(line, 1e-12)) & (relevance[targets] == 0)
        best = np.zeros(self._graph.size)
        np.maximum.at(best, targets[from_hubs], relevance[sources[from_hubs]])
        chosen = set(targets[from_hubs].tolist())
        return {url: RAISED + float(best[row]) for url, row in self._graph.waiting() if row in chosen}


def distil(sources: IntArray, targets: IntArray, relevance: FloatArray, steps: int = STEPS) -> FloatArray:
    """Return hub scores, shape (n,), of the links *sources* -> *targets* between n pages; largest is 1 or all are 0."""
    hubs = np.ones(len(relevance))
    for _ in range(steps):
        authorities = _largest_one(np.bincount(targets, hubs[sources] * relevance[sources], len(relevance)))
        hubs = _largest_one(np.bincount(sources, authorities[targets] * relevance[targets], len(relevance)))
    return hubs


def _largest_one(scores: Any) -> FloatArray:
    return np.asarray(scores / max(scores.max(initial=0.0), 1e-12), dtype=np.float64)
