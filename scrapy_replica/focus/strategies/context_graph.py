"""Context graphs: one queue per estimated distance (Diligenti et al. 2000)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT, ContextGraph
from scrapy_replica.focus.distances import CappedDistances
from scrapy_replica.focus.hmm import HMM
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.records import Link, Page

LAYERS = 4
"""Layers of the context graph, as in the paper; the distance layers come from the visit itself, not from backlinks."""


class ContextGraphQueues(Strategy):
    """A page's links go to the queue one nearer than its layer; the nearest queue first, best likelihood first.

    Score = (N - layer) + Pr[layer | page], 0 for "N or more"; best-first by relevance before the first training. The
    classifier of layer 0 is that of relevance: with the layers' own, mean Pref on three topics, one draw, is .57, with
    it .79. The context graph of each relevant page has at most 300 pages a layer.

    *Readings* (Orlandi 2007, pp. 11 and 20-22). A search engine gave the source its context graphs, here they are made
    of the pages of the visit. The models learn from every page, the source's whenever a page is taken from queue 0. A
    URL that waits goes to a better queue, never to a worse one, which the paper leaves open.

    Memory: that of :class:`ContextGraph` and :class:`KnownGraph`, 12 bytes more a page, at most 161 MB.
    """

    name: ClassVar[str] = "context-graph"
    reads_links: ClassVar[bool] = False

    def __init__(self) -> None:
        self._context = ContextGraph(LAYERS, HMM(LAYERS + 1, LAYERS + 1), distances=CappedDistances)
        self._score = 0.0

    def visited(self, page: Page, relevance: float) -> None:
        relevance = relevance if math.isfinite(relevance) else 0.0
        layer, _ = self._context.visit(page.url, page.terms, relevance)
        self._score = relevance
        if self._context.is_trained:
            layer = 0 if relevance > IS_RELEVANT else layer
            likelihood = self._context.likelihood(self._context.graph.page, layer) if layer < LAYERS else relevance
            self._score = (LAYERS - layer) + min(likelihood, 0.999)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        self._context.link(self._context.graph.link([link.url for link in links]))
        return np.full(len(links), self._score)

    def state(self) -> dict[str, Any]:
        return {"graph": self._context.graph.state(), "context": self._context.state(), "score": self._score}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._context.graph.restore(state["graph"])
        self._context.restore(state["context"])
        self._score = state["score"]
