"""Context graphs: one queue per estimated distance (Diligenti et al. 2000)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_replica.focus.context import ContextGraph
from scrapy_replica.focus.frontier import UrlIds
from scrapy_replica.focus.hmm import HMM
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_replica.records import Link, Page

LAYERS = 4
"""Layers of the context graph, as in the paper; the distance layers come from the visit itself, not from backlinks."""


class ContextGraphQueues(Strategy):
    """A page's links go to the queue one nearer than its layer; the nearest queue first, best likelihood first.

    Score = (N - layer) + Pr[layer | page], 0 for "N or more"; best-first by relevance before the first training.
    Memory: see :class:`ContextGraph`.
    """

    name: ClassVar[str] = "context-graph"

    def __init__(self) -> None:
        self._graph = ContextGraph(LAYERS, HMM(LAYERS + 1, LAYERS + 1))
        self._urls = UrlIds()
        self._page = 0
        self._score = 0.0

    def visited(self, page: Page, relevance: float) -> None:
        relevance = relevance if math.isfinite(relevance) else 0.0
        self._page = self._urls.id_of(page.url)
        layer, _ = self._graph.visit(self._page, page.terms, relevance)
        self._score = relevance
        if self._graph.is_trained:
            likelihood = self._graph.likelihood(self._page, layer) if layer < LAYERS else relevance
            self._score = (LAYERS - layer) + min(likelihood, 0.999)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        self._graph.link(self._page, [self._urls.id_of(link.url) for link in links])
        return np.full(len(links), self._score)
