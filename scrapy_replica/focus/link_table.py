"""What is known of every waiting URL, as columns: the pages that link to it, its place, its groups, its outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.focus.frontier import UrlIds
from scrapy_replica.focus.links import directories
from scrapy_replica.focus.outcomes import Column, DirectoryTree, Groups
from scrapy_replica.records import Link

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_DIRECTORIES = 200_000
MOST_ANCHORS = 200_000
NEIGHBOURS = 3
"""Places on each side of a link that count as its neighbours."""
OFFSETS = np.array([offset for offset in range(-NEIGHBOURS, NEIGHBOURS + 1) if offset])


class LinkTable:
    """Rows are URLs in the order found; *page* rows are those that were fetched.

    A URL's best parent is the most relevant page known to link to it; place, hub value and distance are taken from
    there. About 60 bytes a URL, 4 bytes a link, 250 bytes for the URL's own string and number; at most
    ``frontier.MOST_URLS`` URLs, later ones get the row 0 of a URL about which nothing is known.
    """

    def __init__(self) -> None:
        self.ids = UrlIds()
        self.urls: list[str] = [""]
        self.directories = DirectoryTree(MOST_DIRECTORIES)
        self.anchors = Groups(MOST_ANCHORS)
        self.parents = Groups(0)
        self.columns = {
            "max_relevance": Column(np.float32, 0.0),
            "sum_relevance": Column(np.float32, 0.0),
            "in_links": Column(np.int32, 0),
            "directory": Column(np.int32, 0),
            "anchor": Column(np.int32, 0),
            "parent": Column(np.int32, 0),
            "place": Column(np.int64, NEIGHBOURS),
            "words": Column(np.float32, 0.0),
            "hub": Column(np.float32, 0.0),
            "nearness": Column(np.float32, 0.0),
            "outcome": Column(np.float32, 0.0),
            "is_fetched": Column(np.float32, 0.0),
            "score": Column(np.float32, 0.0),
        }
        self.slots = Column(np.int32, 0)
        self.page_start = Column(np.int64, 0)
        self.page_stop = Column(np.int64, 0)
        # The first slots stay empty: a URL without a place has its neighbours there.
        self._used = 2 * NEIGHBOURS + 1

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name].values

    def __len__(self) -> int:
        return len(self.urls)

    def id_of(self, url: str) -> int:
        """Return the row of *url*, a new one if it was never seen."""
        row = self.ids.id_of(url)
        if row < len(self.urls):
            return row
        self.urls.append(url)
        for column in (*self.columns.values(), self.page_start, self.page_stop):
            column.reserve(row + 1)
        self["directory"][row] = self.directories.id_of(directories(url))
        return row

    def fetched(self, row: int, outcome: float) -> None:
        """Write down the outcome (relevance, 0..1) of a fetched URL and count it in its groups."""
        if not row or self["is_fetched"][row]:
            return
        self["outcome"][row], self["is_fetched"][row] = outcome, 1.0
        self.directories.add(int(self["directory"][row]), outcome)
        self.anchors.add(int(self["anchor"][row]), outcome)
        parent = int(self["parent"][row])
        if parent:
            self.parents.count.reserve(parent + 1)
            self.parents.total.reserve(parent + 1)
            self.parents.add(parent, outcome)

    def add_links(
        self, page: int, links: Sequence[Link], words: FloatArray, relevance: float, hub: float, nearness: float
    ) -> IntArray:
        """Enter the *links* of a fetched *page* and return their rows, shape (n,)."""
        rows = np.array([self.id_of(link.url) for link in links], dtype=np.int64)
        if not len(rows):
            return rows
        start, stop = self._used, self._used + len(rows)
        # Zeros between pages: neighbours never reach over to another page's links.
        self._used = stop + NEIGHBOURS
        self.slots.reserve(self._used + NEIGHBOURS)
        self.slots.values[start:stop] = rows
        self.page_start.values[page], self.page_stop.values[page] = start, stop
        self.parents.count.reserve(page + 1)
        self.parents.total.reserve(page + 1)
        is_first = self["in_links"][rows] == 0
        better = is_first | (relevance > self["max_relevance"][rows])
        self["in_links"][rows] += 1
        self["sum_relevance"][rows] += relevance
        self["words"][rows] = np.maximum(self["words"][rows], words)
        self["hub"][rows] = np.maximum(self["hub"][rows], hub)
        self["nearness"][rows] = np.maximum(self["nearness"][rows], nearness)
        chosen = rows[better]
        self["max_relevance"][chosen] = relevance
        self["parent"][chosen] = page
        self["place"][chosen] = np.arange(start, stop)[better]
        for at in np.flatnonzero(better).tolist():
            self["anchor"][rows[at]] = self.anchors.id_of(links[at].text.lower())
        return rows

    def siblings(self, row: int) -> IntArray:
        """Return the rows on the best parent's page that were not fetched, without *row* itself."""
        parent = int(self["parent"][row])
        found = self.slots.values[self.page_start.values[parent] : self.page_stop.values[parent]]
        return np.asarray(found[(self["is_fetched"][found] == 0) & (found != row)], dtype=np.int64)

    def waiting(self) -> IntArray:
        return np.flatnonzero(self["is_fetched"][: len(self.urls)] == 0)[1:]

    def neighbour_means(self, rows: IntArray, prior: FloatArray) -> FloatArray:
        """Return the mean outcome of fetched links within ``NEIGHBOURS`` places, *prior* counting as one of them."""
        around = self.slots.values[self["place"][rows][:, None] + OFFSETS]
        total, known = self["outcome"][around].sum(axis=1), self["is_fetched"][around].sum(axis=1)
        return np.asarray((total + prior) / (known + 1.0), dtype=np.float64)
