"""What is known of every waiting URL, as columns: the pages that link to it, its place, its groups, its outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.focus.known_graph import GAP, KnownGraph
from scrapy_replica.focus.links import MOST_WORDS, directories
from scrapy_replica.focus.outcomes import CHANCE, OUTCOMES, DirectoryTree, Groups, shrunk
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.records import Link

MOST_DIRECTORIES = 100_000
MOST_ANCHORS = 100_000
NEIGHBOURS = GAP
"""Places on each side of a link that count as its neighbours."""
AROUND = np.array([place for place in range(-NEIGHBOURS, NEIGHBOURS + 1) if place])

MAX_RELEVANCE, SUM_RELEVANCE, IN_LINKS, WORDS = range(4)
"""Columns of :attr:`LinkTable.facts`: of the pages that link to the URL, and of its own words."""
DIRECTORY, ANCHOR, PARENT = range(3)
"""Columns of :attr:`LinkTable.groups`: numbers of the groups and of the best parent."""
IS_FETCHED, IS_RETURNED = range(2)
"""Columns of :attr:`LinkTable.fates`, whether each outcome is known; the outcomes are the columns after them."""


class LinkTable:
    """Columns of the URLs of a *graph*, by row.

    A URL's best parent is the most relevant page known to link to it; its place is taken from there. Few wide arrays,
    because a look at eight rows costs as much as one at a single number. 88 bytes a URL and 16 a page, at most 29 MB
    besides *graph*; directories at most 28 MB, anchors 24 MB.
    """

    def __init__(self, graph: KnownGraph) -> None:
        self.graph = graph
        self.directories = DirectoryTree(MOST_DIRECTORIES)
        self.anchors = Groups(MOST_ANCHORS)
        graph.urls.add_column("facts", np.float32, 4)
        graph.urls.add_column("groups", np.int32, 3)
        graph.urls.add_column("place", np.int64)
        graph.urls.add_column("fates", np.float32, 4)
        graph.urls.add_column("score", np.float32)
        graph.urls.add_column("link_words", np.uint16, MOST_WORDS)
        graph.pages.add_column("outcomes", np.float32, 4)

    @property
    def facts(self) -> NDArray[np.float32]:
        """Shape (rows or more, 4)."""
        return self.graph.urls["facts"]

    @property
    def groups(self) -> NDArray[np.int32]:
        """Shape (rows or more, 3)."""
        return self.graph.urls["groups"]

    @property
    def fates(self) -> NDArray[np.float32]:
        """Shape (rows or more, 4): 1 or 0, whether relevance and return are known, and these, 0 where not."""
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

    def tell(self, row: int, outcome: float, which: int = CHANCE) -> None:
        """Write down an *outcome* (0..1) of a fetched URL, or another than was written, and count it in its groups."""
        self._place(row)
        fates = self.fates[row]
        count, change = 1 - int(fates[which]), outcome - float(fates[len(OUTCOMES) + which])
        fates[which], fates[len(OUTCOMES) + which] = 1.0, outcome
        directory, anchor, parent = self.groups[row].tolist()
        self.directories.add(directory, change, which, count)
        self.anchors.add(anchor, change, which, count)
        if page := self.graph.pages.row(parent):
            self.graph.pages["outcomes"][page, 2 * which : 2 * which + 2] += (count, change)

    def unproductive(self, row: int) -> None:
        """Count a fetch that brought nothing new where the URL lies."""
        self.directories.add_wasted(int(self.groups[row, DIRECTORY]))

    def _place(self, row: int) -> None:
        if not self.groups[row, DIRECTORY]:
            self.groups[row, DIRECTORY] = self.directories.id_of(directories(self.graph.urls.urls[row]))

    def add_links(self, links: Sequence[Link], words: FloatArray, relevance: float) -> IntArray:
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

    def parent_means(self, pages: IntArray, added: NDArray[np.float32]) -> FloatArray:
        """Return the mean outcomes, :func:`shrunk`, of the links followed on the pages in these rows, (outcomes, n)."""
        outcomes = self.graph.pages["outcomes"].take(pages, axis=0)
        return shrunk(outcomes.reshape(-1, len(OUTCOMES), 2).swapaxes(0, 1), added)

    def neighbour_fates(self, rows: IntArray) -> NDArray[np.float32]:
        """Return the sums of the fates of the links within ``NEIGHBOURS`` places, shape (n, 4)."""
        places = self.graph.urls["place"].take(rows)[:, None]
        around = np.where(places > 0, places + AROUND, 0)
        targets = self.graph.links["target"].take(self.graph.links.rows(around))
        return np.asarray(np.add.reduce(self.fates.take(self.graph.urls.rows(targets), axis=0), axis=1))

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes, without *graph*: copies, which stay as they are."""
        return {"directories": self.directories.state(), "anchors": self.anchors.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.directories.restore(state["directories"])
        self.anchors.restore(state["anchors"])
