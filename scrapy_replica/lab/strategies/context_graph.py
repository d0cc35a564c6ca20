"""Context graphs: one queue per estimated distance (Diligenti et al. 2000)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT, ContextGraph
from scrapy_replica.focus.hmm import HMM
from scrapy_replica.focus.strategies.layered import Layered
from scrapy_replica.lab.strategies.link_lists import BackLinkGraph
from scrapy_replica.numeric import IntArray

LAYERS = 4
"""Layers of the context graph, as in the paper; the distance layers come from the visit itself, not from backlinks."""
PAGES_A_LAYER = 300
"""Pages of a layer of the context graph of one relevant page."""


class CappedContextGraph(ContextGraph):
    """Layers by context graphs of at most 300 pages a layer (Diligenti et al. 2000; Orlandi 2007, p. 21).

    Every relevant page is the root of a graph of the pages visited before it, made when it is found; a page lies in the
    smallest of its layers. Of a layer that would have more the pages visited last are taken. 2 bytes a page more.
    """

    def __init__(self, far: int) -> None:
        self._back_links = BackLinkGraph()
        super().__init__(far, HMM(far + 1, far + 1), graph=self._back_links)
        self.graph.pages.add_column("nearer", np.int16)

    def layers(self) -> IntArray:
        return np.asarray(self.max_distance - self.graph.pages["nearer"][: self.graph.pages.used], dtype=np.int64)

    def _enter(self, url: str, terms: Mapping[str, int], relevance: float, parent: int) -> None:
        super()._enter(url, terms, relevance, parent)
        if relevance > IS_RELEVANT:
            self._back_crawl(self.graph.page)

    def _back_crawl(self, page: int) -> None:
        """Make the graph of a page that was found relevant."""
        pages = self.graph.pages
        seen = border = np.array([page])
        for distance in range(self.max_distance):
            rows = pages.rows(border)
            pages["nearer"][rows] = np.maximum(pages["nearer"][rows], self.max_distance - distance)
            found = [self._back_links.sources(each) for each in border.tolist()]
            border = np.setdiff1d(np.concatenate([*found, border[:0]]), seen)[-PAGES_A_LAYER:]
            seen = np.concatenate([seen, border])


class ContextGraphQueues(Layered):
    """A page's links go to the queue one nearer than its layer; the nearest queue first, best likelihood first.

    Score = (N - layer) + Pr[layer | page], 0 for "N or more"; best-first by relevance before the first training. Layer
    0 is told by relevance.

    *Readings* (Orlandi 2007, pp. 11 and 20-22). A search engine gave the source its context graphs, here they are made
    of the pages of the visit. "N or more" is a class that is learnt, in place of a threshold below which a page belongs
    to no layer. The models are learnt now and then, the source's whenever a page is taken from queue 0; a URL that
    waits moves then.

    Memory: that of :class:`ContextGraph` and :class:`KnownGraph`, 24 bytes more a page, at most 163 MB.
    """

    name: ClassVar[str] = "context-graph"

    def __init__(self) -> None:
        super().__init__(CappedContextGraph(LAYERS))

    def _tell(self, rows: IntArray) -> None:
        pages, context = self.graph.pages, self.context
        scores = pages["relevance"][rows].astype(np.float64)
        if context.model.is_fitted:
            told = context.probabilities(rows)
            layers, likelihoods = told.argmax(axis=1), told.max(axis=1)
            scores = np.where(layers < LAYERS, LAYERS - layers + np.minimum(likelihoods, 0.999), scores)
        pages["score"][rows] = scores
