"""Liu's HMM: observations are clusters of pages in LSI space (Liu, Janssen & Milios 2004)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT, ContextGraph
from scrapy_replica.focus.hmm import HMM, NEVER
from scrapy_replica.focus.strategies.hmm import ALPHA, MAX_DISTANCE, HmmStatic
from scrapy_replica.lab.strategies.lsi import CLUSTERS, Clusters
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy_replica.focus.known_graph import KnownGraph
    from scrapy_replica.records import Page

SAMPLE = 300
"""Visited pages that the clusters are made of; their terms are dropped afterwards."""


class ObservedGraph(ContextGraph):
    """Pages show what *observe* returns of their terms; no classifier reads them."""

    def __init__(
        self, far: int, hmm: HMM, observe: Callable[[Mapping[str, int]], int], graph: KnownGraph | None
    ) -> None:
        super().__init__(far, hmm, graph)
        self._observe = observe

    @property
    def is_trained(self) -> bool:
        return self.hmm.is_trained

    def _enter(self, url: str, terms: Mapping[str, int], relevance: float, parent: int) -> None:
        super()._enter(url, terms, relevance, parent)
        self.graph.pages["observation"][self.graph.pages.row(self.graph.page)] = self._observe(terms)

    def learn_text(self, rows: IntArray, found: IntArray) -> None:
        """Learn nothing."""

    def _read(self, rows: IntArray) -> None:
        """Observations stay what they are."""

    def emitted(self, rows: IntArray) -> FloatArray:
        pages = self.graph.pages
        shown = self.hmm.emitted(pages["observation"][rows].astype(np.int64))
        shown[pages["relevance"][rows] <= IS_RELEVANT, 0] = NEVER
        return shown


class HmmLiu(HmmStatic):
    """As the static model, with K = 5 clusters of the first 300 pages as observations; the layers give A and B only.

    The paper trains on pages that a user browsed; here the states come from the visit's own back-crawl. Until the
    clusters exist all pages are one cluster.
    """

    name: ClassVar[str] = "hmm-liu"

    def __init__(self, alpha: float = ALPHA, max_distance: int = MAX_DISTANCE) -> None:
        super().__init__(alpha, max_distance)
        self._sample: list[tuple[int, Mapping[str, int]]] = []
        self._clusters: Clusters | None = None

    def _new_context(self, max_distance: int, graph: KnownGraph | None) -> ContextGraph:
        return ObservedGraph(max_distance, HMM(max_distance + 1, CLUSTERS), self._observe, graph)

    def visited(self, page: Page, relevance: float) -> None:
        super().visited(page, relevance)
        if self._clusters is None:
            self._sample.append((self.graph.page, page.terms))
            if len(self._sample) >= SAMPLE:
                self._cluster()

    def _cluster(self) -> None:
        self._clusters = Clusters.of([terms for _, terms in self._sample])
        for number, terms in self._sample:
            self.graph.pages["observation"][self.graph.pages.row(number)] = self._clusters(terms)
        self._sample.clear()

    def _observe(self, terms: Mapping[str, int]) -> int:
        return 0 if self._clusters is None else self._clusters(terms)

    def learnt(self) -> dict[str, Any]:
        """Return nothing: the clusters are those of the pages met."""
        return {}

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        """Take nothing."""

    def own_state(self) -> dict[str, Any]:
        sample = [[number, dict(terms)] for number, terms in self._sample]
        clusters = self._clusters.state() if self._clusters else {}
        return {**super().own_state(), "sample": sample, "clusters": clusters}

    def restore_own(self, state: Mapping[str, Any]) -> None:
        super().restore_own(state)
        self._sample = [(number, terms) for number, terms in state["sample"]]
        self._clusters = Clusters(**state["clusters"]) if "clusters" in state else None
