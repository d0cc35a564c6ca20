"""What strategies share that estimate the distance of pages: links wait with the score of a page that links to them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.context import ContextGraph
from scrapy_replica.focus.links import finite
from scrapy_replica.focus.strategy import Distance, Strategy
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.records import Link, Page

MOST_MOVED = 500
"""Most URLs moved after a page, the best ones first: each costs the crawl database some 30 us."""
LONGEST_CHAIN = 256
"""Pages from which on the path to a page is cut: what lies so far back changes no state."""


class Layered(Strategy):
    """Links inherit the score of the page that found them or, where :attr:`is_dynamic`, of the best that links to them.

    Whenever the models are learnt anew all pages known are told their scores anew, and what waits is moved.
    """

    is_dynamic: ClassVar[bool] = True
    reads_links: ClassVar[bool] = False

    def __init__(self, context: ContextGraph) -> None:
        self.context, self.graph = context, context.graph
        self.graph.urls.add_column("parent", np.int32)
        self.graph.urls.add_column("inherited", np.float64)
        self.graph.pages.add_column("chain", np.int16)
        self.graph.pages.add_column("score", np.float64)
        self._moving = np.zeros(0, np.int64)
        """Numbers of waiting URLs whose score has changed and that were not moved yet."""

    @abstractmethod
    def _tell(self, rows: IntArray) -> None:
        """Score pages, those before them on their paths having been told theirs."""

    def visited(self, page: Page, relevance: float) -> None:
        relevance = finite(relevance)
        urls, pages = self.graph.urls, self.graph.pages
        parent = int(urls["parent"][urls.row(urls.find(page.url))])
        is_anew = self.context.visit(page.url, page.terms, relevance, parent)
        row, before = pages.row(self.graph.page), pages.row(parent)
        pages["chain"][row] = (pages["chain"][before] + 1) % LONGEST_CHAIN if before else 0
        if is_anew:
            self._tell_all()
        else:
            self._tell(np.array([row]))

    def _tell_all(self) -> None:
        pages = self.graph.pages
        chain = pages["chain"][1 : pages.used]
        order = np.argsort(chain, kind="stable")
        for rows in np.split(order + 1, np.flatnonzero(np.diff(chain[order])) + 1):
            self._tell(rows)
        self._move_waiting()

    def _move_waiting(self) -> None:
        """Give what waits the present scores of the pages that link to it."""
        urls, pages = self.graph.urls, self.graph.pages
        parents = self._best_parents() if self.is_dynamic else urls["parent"][: urls.used].astype(np.int64)
        rows = self.graph.waiting()
        rows = rows[pages.rows(parents[rows]) > 0]
        new, old = pages["score"][pages.rows(parents[rows])], urls["inherited"][rows]
        urls["inherited"][rows], urls["parent"][rows] = new, parents[rows]
        changed = np.flatnonzero(new != old)
        best_first = changed[np.argsort(-np.maximum(new, old)[changed], kind="stable")]
        self._moving = urls.numbers()[rows[best_first]]

    def _best_parents(self) -> IntArray:
        """Return by URL the page of the best score that links to it, of equals the first; without one its parent."""
        urls, pages = self.graph.urls, self.graph.pages
        sources, targets = self.graph.out_links()
        scores, numbers = pages["score"][sources], pages.numbers()[sources]
        best = np.full(urls.used, -np.inf)
        np.maximum.at(best, targets, scores)
        is_best = scores == best[targets]
        first = np.full(urls.used, np.iinfo(np.int64).max)
        np.minimum.at(first, targets[is_best], numbers[is_best])
        return np.where(np.isfinite(best), first, urls["parent"][: urls.used])

    def rescored(self) -> dict[str, float]:
        urls = self.graph.urls
        rows, self._moving = urls.rows(self._moving[:MOST_MOVED]), self._moving[MOST_MOVED:]
        rows = rows[(rows > 0) & (urls["page"][rows] == 0)]
        return dict(zip((urls.urls[row] for row in rows.tolist()), urls["inherited"][rows].tolist(), strict=True))

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        return self.inherit(self.graph.link([link.url for link in links]))

    def inherit(self, numbers: IntArray) -> FloatArray:
        """Return the scores of URLs that the page visited last links to, given by their *numbers*."""
        urls, pages = self.graph.urls, self.graph.pages
        rows, score = urls.rows(numbers), float(pages["score"][pages.row(self.graph.page)])
        inherited, parents = urls["inherited"][rows], urls["parent"][rows]
        is_better = (parents == 0) | (self.is_dynamic & (score > inherited))
        urls.write("inherited", rows, np.where(is_better, score, inherited))
        urls.write("parent", rows, np.where(is_better & (urls["page"][rows] == 0), self.graph.page, parents))
        return np.where(is_better | self.is_dynamic, score, inherited)

    def distance(self, url: str) -> Distance | None:
        return self.context.distance(url)

    def distances_told(self) -> Mapping[str, int]:
        return self.context.told()

    def unproductive(self, url: str) -> None:
        self.context.unproductive(url)

    def state(self) -> dict[str, Any]:
        return {"graph": self.graph.state(), **self.own_state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.graph.restore(state["graph"])
        self.restore_own(state)

    def own_state(self) -> dict[str, Any]:
        """Return the state without that of the graph, which may be shared."""
        return {"context": self.context.state(), "moving": self._moving.copy()}

    def restore_own(self, state: Mapping[str, Any]) -> None:
        """Take what :meth:`own_state` returned."""
        self.context.restore(state["context"])
        self._moving = state["moving"]
