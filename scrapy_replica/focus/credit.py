"""What lay behind the links that were followed: the discounted return of each fetched page."""

from __future__ import annotations

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.numeric import IntArray

GAMMA = 0.5
"""What a relevant page one link further is worth."""
EXPLORED = 0.6
"""Share of what was newly found through a page that must be fetched before it counts as leading to nothing."""
LEAST = 0.02
"""Returns below this are not handed on: six links back."""


class Credit:
    """Return of a page: the best of GAMMA^k times the relevance of pages k + 1 links behind it.

    It is told when it rises, or, as 0, when most of what was newly found through the page was fetched: a page whose
    links wait would teach that what is unexplored leads to nothing. Its columns are part of the graph.

    Behind a page lies what was newly found through it: a URL belongs to the first page that linked to it. So what was
    known anyway earns nobody credit (Rennie & McCallum 1999, learnt while the crawl runs). 13 bytes a page and 4 a URL.
    """

    def __init__(self, graph: KnownGraph) -> None:
        self._graph = graph
        graph.urls.add_column("finder", np.int32)
        graph.pages.add_column("return", np.float32)
        graph.pages.add_column("new", np.int32)
        graph.pages.add_column("tried", np.int32)
        graph.pages.add_column("explored", np.bool_)

    def found(self, rows: IntArray) -> list[int]:
        """Take note that the page visited last was the first to link to the URLs in *rows*.

        Return the page if there was nothing new on it, so that nothing can lie behind it.
        """
        finders, pages = self._graph.urls["finder"], self._graph.pages
        rows = np.unique(rows[(finders[rows] == 0) & (rows > 0)])
        finders[rows] = self._graph.page
        page = pages.row(self._graph.page)
        pages["new"][page] += len(rows)
        return self._explored(page)

    def fetched(self, row: int, relevance: float) -> list[tuple[int, float]]:
        """Take note of the page visited last; return the pages whose return rose by it, and what it is now.

        Or the page that it was found on, if by it most of that one is explored and nothing was found: 0.
        """
        urls, pages = self._graph.urls, self._graph.pages
        finder, value, told = int(urls["finder"][row]), relevance if relevance > IS_RELEVANT else 0.0, []
        explored = self.tried(row)
        while value > LEAST and (page := pages.row(finder)) and value > pages["return"][page]:
            pages["return"][page] = value
            told.append((finder, value))
            value *= GAMMA
            finder = int(urls["finder"][urls.row(int(pages["url"][page]))])
        return told or [(page, 0.0) for page in explored]

    def tried(self, row: int) -> list[int]:
        """Take note that a URL was fetched; return the page that it was found on if that one now leads to nothing."""
        pages = self._graph.pages
        if not (page := pages.row(int(self._graph.urls["finder"][row]))):
            return []
        pages["tried"][page] += 1
        return self._explored(page)

    def ignore(self) -> None:
        """Let the page visited last, a copy or one that was visited before, tell no return of its own."""
        self._graph.pages["explored"][self._graph.pages.row(self._graph.page)] = True

    def _explored(self, page: int) -> list[int]:
        pages = self._graph.pages
        if not page or pages["explored"][page] or pages["tried"][page] < EXPLORED * pages["new"][page]:
            return []
        pages["explored"][page] = True
        return [] if pages["return"][page] > 0.0 else [pages.number(page)]
