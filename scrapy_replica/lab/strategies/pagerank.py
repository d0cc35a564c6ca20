"""PageRank of the part of the web known so far (Cho, Garcia-Molina & Page 1998)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.strategies.link_lists import url_links
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.records import Link, Page

DAMPING = 0.9
STEPS = 20
GROWTH = 1.1
"""Ranks are computed anew whenever the pages visited have grown by this factor: amortised, a constant per page."""
MOST_LINKS = 300_000
"""Links that count, those found last; a step over them takes some 15 ms."""
LINKS_AT_ONCE = 1_000_000
"""Links that the steps after one page look at, together."""
MOVED_AT_ONCE = 1_000
"""URLs that are moved after one page: each costs the crawl database some 30 us."""


class PageRank(Strategy):
    """Rank times the number of known URLs, damping .9; between two computations a link adds its page's share.

    URLs not visited yet have no known links: their rank goes to all. Where the graph is large a computation takes
    several pages, and the URLs that wait are moved bit by bit. Memory: 262 bytes a URL, 8 bytes a link, at most 83 MB.
    """

    name: ClassVar[str] = "pagerank"
    needs_topic: ClassVar[bool] = False
    reads_links: ClassVar[bool] = False

    def __init__(self) -> None:
        self._graph = KnownGraph(MOST_LINKS)
        for column in ("rank", "gained", "next_rank"):
            self._graph.urls.add_column(column, np.float64)
        self._visited = 0
        self._next = 20.0
        self._steps = 0
        """Steps left of the computation under way."""
        self._moving = 0
        """Row of the first URL that was not moved since the last computation, 0 if all were."""

    def visited(self, page: Page, relevance: float) -> None:  # noqa: ARG002 - links alone decide
        self._graph.visit(page.url)
        self._visited += 1

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        urls = self._graph.urls
        rows = urls.rows(self._graph.link([link.url for link in links]))
        own = urls.row(int(self._graph.pages["url"][self._graph.pages.row(self._graph.page)]))
        np.add.at(urls["gained"], rows, DAMPING * float(self._ranks(np.array([own]))[0]) / max(1, len(links)))
        urls["gained"][0] = 0.0
        if self._visited >= self._next:
            self._next = self._visited * GROWTH
            self._steps, self._moving = STEPS, 0
            urls["next_rank"][:] = urls["rank"]
        return self._ranks(rows)

    def rescored(self) -> dict[str, float]:
        if self._steps:
            self._compute()
        if self._steps or not self._moving:
            return {}
        rows = self._graph.waiting()
        rows = rows[rows >= self._moving][:MOVED_AT_ONCE]
        self._moving = int(rows[-1]) + 1 if len(rows) == MOVED_AT_ONCE else 0
        urls = self._graph.urls
        return dict(zip([urls.urls[row] for row in rows.tolist()], urls["rank"][rows].tolist(), strict=True))

    def _ranks(self, rows: IntArray) -> FloatArray:
        ranks = self._graph.urls["rank"][rows]
        ranks = np.where(ranks > 0.0, ranks, 1.0 - DAMPING) + self._graph.urls["gained"][rows]
        return np.asarray(ranks, dtype=np.float64)

    def _compute(self) -> None:
        sources, targets, degree = url_links(self._graph)
        column = self._graph.urls["next_rank"]
        size = self._graph.urls.used
        ranks = np.where(column[1:size] > 0.0, column[1:size], 1.0)
        ranks = np.append(0.0, ranks * (size - 1) / max(ranks.sum(), 1.0))
        is_end = degree == 0
        is_end[0] = False
        for _ in range(min(self._steps, max(1, LINKS_AT_ONCE // max(1, len(sources) + size)))):
            flow = np.bincount(targets, ranks[sources] / degree[sources], minlength=size)
            ranks = DAMPING * (flow + ranks[is_end].sum() / max(1, size - 1)) + 1.0 - DAMPING
            ranks[0] = 0.0
            self._steps -= 1
        column[:size] = ranks
        if not self._steps:
            self._graph.urls["rank"][:size] = ranks
            self._graph.urls["gained"][:] = 0.0
            self._moving = 1

    def state(self) -> dict[str, Any]:
        counts = {"visited": self._visited, "next": self._next, "steps": self._steps, "moving": self._moving}
        return {"graph": self._graph.state(), **counts}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._graph.restore(state["graph"])
        self._visited, self._next = state["visited"], state["next"]
        self._steps, self._moving = state["steps"], state["moving"]
