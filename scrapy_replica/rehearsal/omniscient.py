"""The order that knows every label, what no visit can do better than by luck; Orlandi 2007 (6.3) misses one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.records import Link, Page
from scrapy_replica.rehearsal.collection import Documents
from scrapy_replica.rehearsal.visit import NO_LIMITS, Limits, visit


def omniscient_order(collection: Documents, relevant: BoolArray, limits: Limits = NO_LIMITS) -> IntArray:
    """Return an order that knows every label: the waiting page with the nearest relevant page behind it comes first.

    The bound that every visit is compared with (the best order itself is a Steiner problem). Distances are counted
    along links, over the relevant pages not visited yet; pages that lead to nothing relevant come last.
    """
    return visit(collection, _Omniscient(collection, relevant), relevant.astype(float), limits, warm_up=0)


class _Omniscient(Strategy):
    """Distances only grow while relevant pages are used up, so they are counted anew when the nearest is in doubt."""

    name = "omniscient"

    def __init__(self, collection: Documents, relevant: BoolArray) -> None:
        self._numbers = {url: number for number, url in enumerate(collection.urls)}
        self._transposed = Transposed(collection)
        self._left = relevant.copy()
        self._open = np.ones(len(collection), dtype=bool)
        self._distance = self._transposed.distances(self._left, self._open)
        self._is_fresh = True

    def visited(self, page: Page, relevance: float) -> None:  # noqa: ARG002
        number = self._numbers[page.url]
        self._open[number] = False
        if self._left[number]:
            self._left[number] = False
            self._is_fresh = False

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002
        return self._score([link.url for link in links])

    def scores_now(self, urls: Sequence[str]) -> FloatArray | None:
        scores = self._score(urls)
        if -1e9 < scores.max() < 0 and not self._is_fresh:
            self._distance = self._transposed.distances(self._left, self._open)
            self._is_fresh = True
            scores = self._score(urls)
        return scores

    def _score(self, urls: Sequence[str]) -> FloatArray:
        distance = self._distance[[self._numbers[url] for url in urls]].astype(np.float64)
        return np.where(distance < 0, -1e9, -distance)


class Transposed:
    """The links of a collection by target."""

    def __init__(self, collection: Documents) -> None:
        link_start, targets = collection.graph()
        order = np.argsort(targets, kind="stable")
        self._size = len(collection)
        self._sources = np.repeat(np.arange(self._size), np.diff(link_start))[order]
        self._start = np.searchsorted(targets[order], np.arange(self._size + 1))

    def distances(self, pages: BoolArray, through: BoolArray) -> IntArray:
        """Return each page's link distance to the nearest of *pages*, along pages in *through* (-1: no way)."""
        distance = np.where(pages, 0, -1).astype(np.int64)
        border, steps = np.flatnonzero(pages), 0
        while border.size:
            steps += 1
            lengths = self._start[border + 1] - self._start[border]
            ends = np.cumsum(lengths)
            rows = np.arange(ends[-1]) + np.repeat(self._start[border] - ends + lengths, lengths)
            found = self._sources[rows]
            found = found[(distance[found] < 0) & through[found]]
            distance[found] = steps
            border = np.unique(found)
        return distance
