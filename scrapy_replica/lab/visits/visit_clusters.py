"""Semantic areas together with layers, which the document names as future work (Orlandi 2007, p. 74)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from scrapy_replica.focus.strategies.hmm import HmmDynamic
from scrapy_replica.lab.strategies.lsi import CLUSTERS, Clusters
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.records import Page

SAMPLE = 300
"""Pages that the clusters are made of."""
COUNTED = 25
"""Pages after which the clusters of each layer are counted again."""


class HmmClusters(HmmDynamic):
    """The dynamic model that observes layer class and cluster of a page.

    *Reading*: given its state, the two are taken as independent, Pr[layer, cluster | state] = Pr[layer | state]
    Pr[cluster | state]; one observation for each pair of the two would have 35 columns for seven states and few pages
    in most. Clusters are those of ``hmm-liu``: five, of the first 300 pages in LSI space.
    """

    name: ClassVar[str] = "hmm-clusters"

    def __init__(self) -> None:
        super().__init__()
        self.graph.pages.add_column("cluster", np.int16)
        self._sample: list[Mapping[str, int]] = []
        self._clusters: Clusters | None = None
        self._cluster = 0
        """Of the page visited last, from 1; 0 is none."""
        self._log = np.zeros((self.max_distance + 1, CLUSTERS + 1))

    def visited(self, page: Page, relevance: float) -> None:
        self._cluster = self._clusters(page.terms) + 1 if self._clusters else 0
        super().visited(page, relevance)
        number, pages = self.graph.page, self.graph.pages
        if self._clusters is None:
            self._sample.append(page.terms)
            if number == SAMPLE:
                self._clusters = Clusters.of(self._sample)
                pages["cluster"][1 : number + 1] = [self._clusters(terms) + 1 for terms in self._sample]
        if number % COUNTED == 0:
            self._count_clusters()

    def _count_clusters(self) -> None:
        pages, used = self.graph.pages, self.graph.pages.used
        counts = np.ones((self.max_distance + 1, CLUSTERS + 1))
        counts[:, 0] = 0.0
        has_one = np.flatnonzero(pages["cluster"][:used])
        np.add.at(counts, (pages["layer"][has_one], pages["cluster"][has_one]), 1.0)
        self._log[:, 1:] = np.log(counts[:, 1:] / counts.sum(axis=1, keepdims=True))

    def _emitted(self, rows: IntArray) -> FloatArray:
        self.graph.pages["cluster"][self.graph.pages.row(self.graph.page)] = self._cluster
        return super()._emitted(rows) + self._log[:, self.graph.pages["cluster"][rows]].T
