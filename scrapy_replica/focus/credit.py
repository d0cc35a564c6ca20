"""What lay behind the links that were followed: the discounted return of each fetched page."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.numeric import IntArray

GAMMA = 0.5
"""What a relevant page one link further is worth."""
WAIT = 30
"""Pages after which a return is told, whether anything was found or not."""
LEAST = 0.02
"""Returns below this are not handed on: six links back."""


class Credit:
    """Return of a page: the best of GAMMA^k times the relevance of pages k + 1 links behind it.

    Behind a page lies what was newly found through it: a URL belongs to the first page that linked to it. So what was
    known anyway earns nobody credit (Rennie & McCallum 1999, learnt while the crawl runs). 12 bytes a page and 4 a URL.
    """

    def __init__(self, graph: KnownGraph) -> None:
        self._graph = graph
        graph.urls.add_column("finder", np.int32)
        graph.pages.add_column("return", np.float32)
        graph.pages.add_column("new", np.int32)
        graph.pages.add_column("tried", np.int32)
        self._waiting: deque[tuple[int, int]] = deque()
        self._visited = 0

    def found(self, rows: IntArray) -> None:
        """Take note that the page visited last was the first to link to the URLs in *rows*."""
        finders, pages = self._graph.urls["finder"], self._graph.pages
        rows = np.unique(rows[(finders[rows] == 0) & (rows > 0)])
        finders[rows] = self._graph.page
        pages["new"][pages.row(self._graph.page)] += len(rows)

    def fetched(self, row: int, relevance: float) -> list[tuple[int, float]]:
        """Take note of the page visited last; return the pages whose return rose by it, and what it is now."""
        self._visited += 1
        self._waiting.append((self._visited + WAIT, self._graph.page))
        urls, pages = self._graph.urls, self._graph.pages
        finder, value, risen = int(urls["finder"][row]), relevance if relevance > IS_RELEVANT else 0.0, []
        if page := pages.row(finder):
            pages["tried"][page] += 1
        while value > LEAST and (page := pages.row(finder)) and value > pages["return"][page]:
            pages["return"][page] = value
            risen.append((finder, value))
            value *= GAMMA
            finder = int(urls["finder"][urls.row(int(pages["url"][page]))])
        return risen

    def due(self) -> list[int]:
        """Return the pages that were visited ``WAIT`` pages ago, once."""
        found = []
        while self._waiting and self._waiting[0][0] <= self._visited:
            found.append(self._waiting.popleft()[1])
        return found

    def of(self, page: int) -> float:
        """Return the return of a page as known by now."""
        return float(self._graph.pages["return"][self._graph.pages.row(page)])

    def untried(self, page: int) -> IntArray:
        """Return the rows of the URLs newly found through *page* that were not fetched, shape (n,)."""
        urls, links = self._graph.urls, self._graph.links
        rows = urls.rows(links["target"][links.rows(self._graph.places(page))])
        return np.asarray(rows[(urls["finder"][rows] == page) & (urls["page"][rows] == 0) & (rows > 0)])

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes, without *graph*."""
        return {"waiting": np.array(self._waiting, dtype=np.int64).reshape(-1, 2), "visited": self._visited}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._waiting = deque((due, page) for due, page in state["waiting"].tolist())
        self._visited = state["visited"]
