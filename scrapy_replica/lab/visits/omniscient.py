"""The order that knows every label, what no visit can do better than by luck; Orlandi 2007 (6.3) misses one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.arrays import ragged
from scrapy_replica.lab.visits.visit import NO_LIMITS, Limits, visit
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.records import Link, Page


def omniscient_order(collection: Documents, relevant: BoolArray, limits: Limits = NO_LIMITS) -> IntArray:
    """Return an order that knows every label: the waiting page with the nearest relevant page behind it comes first.

    The bound that every visit is compared with (the best order itself is a Steiner problem). Distances are counted
    along links, over the relevant pages not visited yet; pages that lead to nothing relevant come last.
    """
    return visit(collection, Omniscient(collection, relevant), relevant.astype(float), limits, warm_up=0)


class Omniscient(Strategy):
    """Distances only grow while relevant pages are used up, so they are counted anew when the nearest is in doubt.

    For a visit without warm-up. 9 bytes a page and 4 bytes a link.
    """

    name = "omniscient"
    reads_links: ClassVar[bool] = False

    def __init__(self, collection: Documents, relevant: BoolArray) -> None:
        self._transposed = Transposed(collection)
        self._left = relevant.copy()
        self._open = np.ones(len(collection), dtype=bool)
        self._distance = self._transposed.distances(self._left, self._open)
        self._is_fresh = True

    def visited(self, page: Page, relevance: float) -> None:  # noqa: ARG002
        number = int(page.url)
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
        distance = self._distance[list(map(int, urls))].astype(np.float64)
        return np.where(distance < 0, -1e9, -distance)

    def state(self) -> dict[str, Any]:
        columns = {"left": self._left.copy(), "open": self._open.copy(), "distance": self._distance.copy()}
        return {**columns, "is_fresh": self._is_fresh}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._left, self._open, self._distance = state["left"], state["open"], state["distance"]
        self._is_fresh = state["is_fresh"]


class Transposed:
    """The links of a collection by target: 4 bytes a link, three times as many while it is made."""

    def __init__(self, collection: Documents) -> None:
        link_start, targets = collection.graph()
        order = np.argsort(targets, kind="stable").astype(np.int32 if len(targets) < 2**31 else np.int64)
        self._size = len(collection)
        self._sources = np.repeat(np.arange(self._size, dtype=np.int32), np.diff(link_start))[order]
        self._start = np.zeros(self._size + 1, dtype=np.int64)
        np.cumsum(np.bincount(targets, minlength=self._size), out=self._start[1:])

    def distances(self, pages: BoolArray, through: BoolArray, far: int | None = None) -> NDArray[np.int32]:
        """Return each page's link distance to the nearest of *pages*, along pages in *through*.

        -1 where there is no way, or none shorter than *far*.
        """
        distance = np.where(pages, 0, -1).astype(np.int32)
        border, steps = np.flatnonzero(pages), 0
        while border.size and (far is None or steps + 1 < far):
            steps += 1
            first = self._start[border]
            found = self._sources[ragged(first, self._start[border + 1] - first)]
            found = found[(distance[found] < 0) & through[found]]
            distance[found] = steps
            border = np.unique(found)
        return distance
