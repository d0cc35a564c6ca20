"""Soft and hard focus with a distiller: a classifier, and hubs found by weighted HITS (Chakrabarti et al. 1999)."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.address import host_of
from scrapy_replica.focus.context import IS_RELEVANT
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.strategies.link_lists import url_links
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.records import Link, Page

STEPS = 5
GROWTH = 1.2
TOP_HUBS = 0.02
"""Share of the visited pages whose waiting links are raised after a distillation."""
RAISED = 1.0
"""What they are raised by: above every link that has its page's relevance only."""
MOST_LINKS = 300_000
"""Links that count, those found last; a distillation of them takes some 60 ms."""
MOST_MOVED = 1_000
"""URLs raised at once, the best ones: each costs the crawl database some 30 us."""


class SoftFocus(Strategy):
    """Links inherit their page's relevance; links of the best hubs are raised above all others.

    The distiller weighs the edge u -> v by Pr[v] when hubs are scored and by Pr[u] when authorities are; it runs
    whenever the visit has grown by a fifth. Links within a host count for nothing in it, as in the paper: they say what
    a site thinks of itself. So on a single host nothing is raised.

    *Reading.* The source (Orlandi 2007, p. 9) says only that a modified HITS gives priorities to the frontier; the
    rest is the paper's. A page that was not visited is no authority, since nobody knows its relevance.

    Memory: 242 bytes a URL, 8 bytes a link, at most 77 MB.
    """

    name: ClassVar[str] = "soft-focus"

    def __init__(self) -> None:
        self._graph = KnownGraph(MOST_LINKS)
        self._graph.urls.add_column("relevance", np.float32)
        self._graph.urls.add_column("host", np.uint32)
        self._last = 0.0
        self._visited = 0
        self._next = 100.0

    def visited(self, page: Page, relevance: float) -> None:
        self._last = relevance if math.isfinite(relevance) else 0.0
        self._graph.visit(page.url)
        self._visited += 1
        urls = self._graph.urls
        row = urls.row(urls.find(page.url))
        urls["relevance"][row], urls["host"][row] = self._last, _hashed_host(page.url)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        self._graph.link([link.url for link in links])
        return np.full(len(links), self.worth(self._last))

    def worth(self, relevance: float) -> float:
        """Return what a link of a page of this *relevance* scores, 0..1."""
        return relevance

    def rescored(self) -> dict[str, float]:
        if self._visited < self._next:
            return {}
        self._next = self._visited * GROWTH
        sources, targets, degree = url_links(self._graph)
        relevance = self._graph.urls["relevance"][: len(degree)].astype(np.float64)
        is_apart = self._hosts_differ(sources, targets)
        hubs = distil(sources[is_apart], targets[is_apart], relevance)
        most = max(1, int(TOP_HUBS * np.count_nonzero(degree)))
        line = np.partition(hubs, -most)[-most]
        from_hubs = (hubs[sources] >= max(line, 1e-12)) & (self._graph.urls["page"][targets] == 0)
        best = np.zeros(len(degree))
        np.maximum.at(best, targets[from_hubs], relevance[sources[from_hubs]])
        chosen = np.unique(targets[from_hubs])
        chosen = chosen[np.argsort(-best[chosen], kind="stable")[:MOST_MOVED]]
        return {self._graph.urls.urls[row]: RAISED + self.worth(float(best[row])) for row in chosen.tolist()}

    def _hosts_differ(self, sources: IntArray, targets: IntArray) -> BoolArray:
        hosts = self._graph.urls["host"]
        return np.asarray((hosts[targets] > 0) & (hosts[sources] != hosts[targets]))

    def state(self) -> dict[str, Any]:
        return {"graph": self._graph.state(), "last": self._last, "visited": self._visited, "next": self._next}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._graph.restore(state["graph"])
        self._last, self._visited, self._next = state["last"], state["visited"], state["next"]


class HardFocus(SoftFocus):
    """Links of relevant pages (above .5) are followed in the order found, those of others after all of them.

    *Reading.* In the paper the links of a page that is not relevant are not followed at all, and a crawl may run dry;
    a strategy orders what waits, so here that is the end of the links that the paper follows. The distiller is that
    of soft focus.
    """

    name: ClassVar[str] = "hard-focus"

    def worth(self, relevance: float) -> float:
        return 1.0 if relevance > IS_RELEVANT else 0.0


def distil(sources: IntArray, targets: IntArray, relevance: FloatArray, steps: int = STEPS) -> FloatArray:
    """Return hub scores, shape (n,), of the links *sources* -> *targets* between n pages; largest is 1 or all are 0."""
    hubs = np.ones(len(relevance))
    for _ in range(steps):
        authorities = _largest_one(np.bincount(targets, hubs[sources] * relevance[sources], len(relevance)))
        hubs = _largest_one(np.bincount(sources, authorities[targets] * relevance[targets], len(relevance)))
    return hubs


def _hashed_host(url: str) -> int:
    return zlib.crc32(host_of(url).encode("utf-8", "surrogatepass")) | 1


def _largest_one(scores: Any) -> FloatArray:
    return np.asarray(scores / max(scores.max(initial=0.0), 1e-12), dtype=np.float64)
