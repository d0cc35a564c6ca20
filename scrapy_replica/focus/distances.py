"""How many links a visited page lies from a relevant one, as far as the visit knows."""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.numeric import IntArray


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
        rows = graph.pages.rows(graph.urls["page"][graph.urls.rows(urls)])
        distances = graph.pages["distance"]
        nearest = int(distances[rows[rows > 0]].min(initial=self.far)) + 1
        if nearest >= self[page]:
            return []
        distances[graph.pages.row(page)] = nearest
        return [page, *self._spread(page)]

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
            rows = self._graph.pages.rows(parents)
            is_nearer = distances[rows] > distance
            distances[rows[is_nearer]] = distance
            found = parents[is_nearer].tolist()
            changed.update(dict.fromkeys(found))
            queue.extend(found)
        return list(changed)


def nearness(distance: float, far: int) -> float:
    """Return (d - distance) / d: 1 for a relevant page, 0 for "d or more"."""
    return (far - distance) / far if math.isfinite(distance) else 0.0
