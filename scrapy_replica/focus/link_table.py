"""What is known of every waiting URL, as columns: the pages that link to it, its place, its groups, its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.focus.known_graph import GAP, KnownGraph
from scrapy_replica.focus.links import MOST_WORDS, directories
from scrapy_replica.focus.outcomes import DirectoryTree, Groups, shrunk
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.records import Link

MOST_DIRECTORIES = 100_000
MOST_ANCHORS = 100_000
NEIGHBOURS = GAP
"""Places on each side of a link that count as its neighbours."""
AROUND = np.array([place for place in range(-NEIGHBOURS, NEIGHBOURS + 1) if place])

MAX_RELEVANCE, SUM_RELEVANCE, IN_LINKS, WORDS, HUB, NEARNESS = range(6)
"""Columns of :attr:`LinkTable.facts`: of the pages that link to the URL, and of its own words."""
DIRECTORY, ANCHOR, PARENT = range(3)
"""Columns of :attr:`LinkTable.groups`: numbers of the groups and of the best parent."""
IS_FETCHED, OUTCOME = range(2)
"""Columns of :attr:`LinkTable.fates`."""


class LinkTable:
    """Columns of the URLs of a *graph*, by row.

    A URL's best parent is the most relevant page known to link to it; place, hub value and distance are taken from
    there. Few wide arrays, because a look at eight rows costs as much as one at a single number. 88 bytes a URL and 8
    a page, at most 28 MB besides *graph*; directories at most 26 MB, anchors 23 MB.
    """

    def __init__(self, graph: KnownGraph) -> None:
        self.graph = graph
        self.directories = DirectoryTree(MOST_DIRECTORIES)
        self.anchors = Groups(MOST_ANCHORS)
        graph.urls.add_column("facts", np.float32, 6)
        graph.urls.add_column("groups", np.int32, 3)
        graph.urls.add_column("place", np.int64)
        graph.urls.add_column("fates", np.float32, 2)
        graph.urls.add_column("score", np.float32)
        graph.urls.add_column("link_words", np.uint16, MOST_WORDS)
        graph.pages.add_column("outcomes", np.float32, 2)

    @property
    def facts(self) -> NDArray[np.float32]:
        """Shape (rows or more, 6)."""
        return self.graph.urls["facts"]

    @property
    def groups(self) -> NDArray[np.int32]:
        """Shape (rows or more, 3)."""
        return self.graph.urls["groups"]

    @property
    def fates(self) -> NDArray[np.float32]:
        """Shape (rows or more, 2): 1 and the outcome of fetched URLs, 0 and 0 of others."""
        return self.graph.urls["fates"]

    @property
    def link_words(self) -> NDArray[np.uint16]:
        """Buckets of the words of the link that was found first, shape (rows or more, ``MOST_WORDS``)."""
        return self.graph.urls["link_words"]

    @property
    def scores(self) -> NDArray[np.float32]:
        """The score that each URL waits with, shape (rows or more,)."""
        return self.graph.urls["score"]

    def rows(self, urls: Sequence[str]) -> IntArray:
        """Return the rows of *urls*, 0 for those of which nothing is known, shape (n,)."""
        return np.array([self.graph.urls.row(self.graph.urls.find(url)) for url in urls], dtype=np.int64)

    def fetched(self, row: int, outcome: float) -> None:
        """Write down the outcome (relevance, 0..1) of a fetched URL and count it in its groups."""
        if self.fates[row, IS_FETCHED]:
            return
        self._place(row)
        self.fates[row] = 1.0, outcome
        directory, anchor, parent = self.groups[row].tolist()
        self.directories.add(directory, outcome)
        self.anchors.add(anchor, outcome)
        if page := self.graph.pages.row(parent):
            self.graph.pages["outcomes"][page] += (1.0, outcome)

    def wasted(self, row: int) -> None:
        """Count a fetch that brought nothing new where the URL lies."""
        self.directories.add_wasted(int(self.groups[row, DIRECTORY]))

    def _place(self, row: int) -> None:
        if not self.groups[row, DIRECTORY]:
            self.groups[row, DIRECTORY] = self.directories.id_of(directories(self.graph.urls.urls[row]))

    def add_links(
        self, links: Sequence[Link], words: FloatArray, relevance: float, hub: float, nearness: float
    ) -> IntArray:
        """Enter the *links* of the page visited last and return the numbers of their URLs, shape (n,)."""
        numbers = self.graph.link([link.url for link in links])
        rows = self.graph.urls.rows(numbers)
        first = self.graph.links.last - GAP - len(numbers) + 1
        for row in rows[self.groups[rows, DIRECTORY] == 0].tolist():
            self._place(row)
        facts, groups = self.facts, self.groups
        known = facts[rows]
        better = (known[:, IN_LINKS] == 0) | (relevance > known[:, MAX_RELEVANCE])
        known[:, SUM_RELEVANCE] += relevance
        known[:, IN_LINKS] += 1.0
        known[:, WORDS] = np.maximum(known[:, WORDS], words)
        known[:, HUB] = np.maximum(known[:, HUB], hub)
        known[:, NEARNESS] = np.maximum(known[:, NEARNESS], nearness)
        known[better, MAX_RELEVANCE] = relevance
        facts[rows] = known
        at = np.flatnonzero(better)
        groups[rows[at], ANCHOR] = [self.anchors.id_of(links[place].text.lower()) for place in at.tolist()]
        groups[rows[at], PARENT] = self.graph.page
        self.graph.urls.write("place", rows[at], first + at)
        facts[0] = groups[0] = 0
        return numbers

    def siblings(self, row: int) -> IntArray:
        """Return the rows of what the best parent links to and was not fetched, without *row* itself."""
        places = self.graph.places(int(self.groups[row, PARENT]))
        found = self.graph.urls.rows(self.graph.links["target"][self.graph.links.rows(places)])
        return np.asarray(found[(self.fates[found, IS_FETCHED] == 0) & (found != row) & (found > 0)])

    def parent_means(self, parents: IntArray, prior: float) -> FloatArray:
        """Return the shrunk mean outcomes of the links followed on each best parent, shape (n,)."""
        return shrunk(self.graph.pages["outcomes"][self.graph.pages.rows(parents)], prior)

    def neighbour_means(self, rows: IntArray, prior: FloatArray) -> FloatArray:
        """Return the mean outcome of fetched links within ``NEIGHBOURS`` places, *prior* counting as one of them."""
        places = self.graph.urls["place"][rows]
        around = np.where(places[:, None] > 0, places[:, None] + AROUND, 0)
        targets = self.graph.links["target"][self.graph.links.rows(around)]
        fates = self.fates[self.graph.urls.rows(targets)].sum(axis=1)
        return np.asarray((fates[:, OUTCOME] + prior) / (fates[:, IS_FETCHED] + 1.0), dtype=np.float64)

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes, without *graph*: copies, which stay as they are."""
        return {"directories": self.directories.state(), "anchors": self.anchors.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.directories.restore(state["directories"])
        self.anchors.restore(state["anchors"])
