"""How many links a visited page lies from a relevant one, as far as the visit knows."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.numeric import IntArray

PAGES_A_LAYER = 300
"""Pages of a layer of the context graph of one relevant page."""


class Distances:
    """Link distance of every page of *graph* to the nearest relevant one, kept as the visit grows; *far* is "or more".

    The back-crawl of Orlandi 2007 (5.1, step 2): from a relevant page over in-links to depth d, visited pages only. A
    page whose known distance is not larger stops it, so each page is touched at most d times in the whole visit. 2
    bytes a page.
    """

    def __init__(self, far: int, graph: KnownGraph) -> None:
        self.far = far
        self._graph = graph
        graph.pages.add_column("distance", np.int16)

    def __getitem__(self, page: int) -> int:
        row = self._graph.pages.row(page)
        return int(self._graph.pages["distance"][row]) if row else self.far

    def visit(self, page: int, is_relevant: bool) -> list[int]:
        """Add a page, its links unknown so far; return the others whose distance changed by it."""
        self._graph.pages["distance"][self._graph.pages.row(page)] = 0 if is_relevant else self.far
        return self._spread(page)

    def link(self, page: int, urls: IntArray) -> list[int]:
        """Take note of the *urls* that a page links to; return the pages whose distance changed, itself included."""
        graph = self._graph
        targets = graph.urls["page"][graph.urls.rows(urls)].astype(np.int64)
        targets = targets[graph.pages.rows(targets) > 0]
        distances = graph.pages["distance"][graph.pages.rows(targets)]
        for place in np.argsort(distances, kind="stable"):
            distance = int(distances[place]) + 1
            if distance >= self[page]:
                return []
            if len(self._joining(np.array([page]), int(targets[place]), distance)):
                graph.pages["distance"][graph.pages.row(page)] = distance
                return [page, *self._spread(page)]
        return []

    def _joining(self, pages: IntArray, target: int, distance: int) -> IntArray:  # noqa: ARG002 - all of them
        """Return which of *pages* are given a *distance* as they link to *target*."""
        return pages

    def _spread(self, page: int) -> list[int]:
        changed: dict[int, None] = {}
        queue = deque([page])
        distances = self._graph.pages["distance"]
        while queue:
            target = queue.popleft()
            distance = self[target] + 1
            if distance >= self.far:
                continue
            parents = self._graph.sources(target)
            is_nearer = distances[self._graph.pages.rows(parents)] > distance
            joined = self._joining(parents[is_nearer], target, distance)
            distances[self._graph.pages.rows(joined)] = distance
            found = joined.tolist()
            changed.update(dict.fromkeys(found))
            queue.extend(found)
        return list(changed)


class CappedDistances(Distances):
    """Distances by context graphs of at most 300 pages a layer (Diligenti et al. 2000; Orlandi 2007, p. 21).

    Every relevant page is the root of a graph. A page joins that of the page through which it is found, unless its
    layer there is full; where it lies in several graphs its smallest distance counts.

    *Reading.* The source asks a search engine for the graph of a root, here it grows with the visit, so the first 300
    pages found are those of the layer, and a page that has come nearer to another root keeps its place.

    8 bytes a page more, and 4 for its root.
    """

    def __init__(self, far: int, graph: KnownGraph) -> None:
        super().__init__(far, graph)
        graph.pages.add_column("root", np.int32)
        graph.pages.add_column("members", np.int16, far)

    def visit(self, page: int, is_relevant: bool) -> list[int]:
        self._graph.pages["root"][self._graph.pages.row(page)] = page if is_relevant else 0
        return super().visit(page, is_relevant)

    def _joining(self, pages: IntArray, target: int, distance: int) -> IntArray:
        columns = self._graph.pages
        root = int(columns["root"][columns.row(target)])
        row = columns.row(root)
        if row:  # a root that was forgotten has no count
            pages = np.unique(pages)[: PAGES_A_LAYER - int(columns["members"][row, distance])]
            columns["members"][row, distance] += len(pages)
        columns["root"][columns.rows(pages)] = root
        return pages


def nearness(distance: float, far: int) -> float:
    """Return (d - distance) / d: 1 for a relevant page, 0 for "d or more"."""
    return (far - distance) / far if math.isfinite(distance) else 0.0
