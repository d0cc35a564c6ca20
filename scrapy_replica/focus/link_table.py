"""What is known of every waiting URL, as columns: the pages that link to it, its place, its groups, its outcome."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.focus.frontier import UrlIds
from scrapy_replica.focus.links import directories
from scrapy_replica.focus.outcomes import Column, DirectoryTree, Groups
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.records import Link

MOST_DIRECTORIES = 200_000
MOST_ANCHORS = 200_000
NEIGHBOURS = 3
"""Places on each side of a link that count as its neighbours."""
AROUND = np.array([place for place in range(2 * NEIGHBOURS + 1) if place != NEIGHBOURS])

MAX_RELEVANCE, SUM_RELEVANCE, IN_LINKS, WORDS, HUB, NEARNESS = range(6)
"""Columns of :attr:`LinkTable.facts`: of the pages that link to the URL, and of its own words."""
DIRECTORY, ANCHOR, PARENT, PLACE = range(4)
"""Columns of :attr:`LinkTable.groups`: numbers of groups, and of the first of the slots around the link."""
IS_FETCHED, OUTCOME = range(2)
"""Columns of :attr:`LinkTable.fates`."""


class LinkTable:
    """Rows are URLs in the order found; *page* rows are those that were fetched.

    A URL's best parent is the most relevant page known to link to it; place, hub value and distance are taken from
    there. Few wide arrays, because a look at eight rows costs as much as one at a single number. A URL takes 350
    bytes with its string and number, a link 4; at most ``frontier.MOST_URLS`` URLs, later ones get
    the row 0 of a URL about which nothing is known.
    """

    def __init__(self) -> None:
        self.ids = UrlIds()
        self.urls: list[str] = [""]
        self.directories = DirectoryTree(MOST_DIRECTORIES)
        self.anchors = Groups(MOST_ANCHORS)
        self.parents = Groups(0)
        self._facts = Column(np.float32, 6)
        self._groups = Column(np.int64, 4)
        self._fates = Column(np.float32, 2)
        self._scores = Column(np.float32)
        self._slots = Column(np.int32)
        self._spans = Column(np.int64, 2)
        # The first slots stay empty: a URL without a place has its neighbours there.
        self._used = 2 * NEIGHBOURS + 1

    @property
    def facts(self) -> NDArray[np.float32]:
        """Shape (URLs or more, 6)."""
        return self._facts.values

    @property
    def groups(self) -> IntArray:
        """Shape (URLs or more, 4)."""
        return self._groups.values

    @property
    def fates(self) -> NDArray[np.float32]:
        """Shape (URLs or more, 2): 1 and the outcome of fetched URLs, 0 and 0 of others."""
        return self._fates.values

    @property
    def scores(self) -> NDArray[np.float32]:
        """The score that each URL waits with, shape (URLs or more,)."""
        return self._scores.values

    def __len__(self) -> int:
        return len(self.urls)

    def id_of(self, url: str) -> int:
        """Return the row of *url*, a new one if it was never seen."""
        row = self.ids.id_of(url)
        if row < len(self.urls):
            return row
        self.urls.append(url)
        for column in (self._facts, self._groups, self._fates, self._scores, self._spans, self.parents.sums):
            column.reserve(row + 1)
        self.groups[row, DIRECTORY] = self.directories.id_of(directories(url))
        return row

    def fetched(self, row: int, outcome: float) -> None:
        """Write down the outcome (relevance, 0..1) of a fetched URL and count it in its groups."""
        if not row or self.fates[row, IS_FETCHED]:
            return
        self.fates[row] = 1.0, outcome
        directory, anchor, parent, _ = self.groups[row].tolist()
        self.directories.add(directory, outcome)
        self.anchors.add(anchor, outcome)
        if parent:
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
        self._slots.reserve(self._used + NEIGHBOURS)
        self._slots.values[start:stop] = rows
        self._spans.values[page] = start, stop
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
        anchors = [self.anchors.id_of(links[place].text.lower()) for place in at.tolist()]
        groups[rows[at], ANCHOR] = anchors
        groups[rows[at], PARENT] = page
        groups[rows[at], PLACE] = start + at - NEIGHBOURS
        return rows

    def siblings(self, row: int) -> IntArray:
        """Return the rows on the best parent's page that were not fetched, without *row* itself."""
        start, stop = self._spans.values[self.groups[row, PARENT]]
        found = self._slots.values[start:stop]
        return np.asarray(found[(self.fates[found, IS_FETCHED] == 0) & (found != row)], dtype=np.int64)

    def waiting(self) -> IntArray:
        return np.flatnonzero(self.fates[: len(self.urls), IS_FETCHED] == 0)[1:]

    def neighbour_means(self, places: IntArray, prior: FloatArray) -> FloatArray:
        """Return the mean outcome of fetched links within ``NEIGHBOURS`` places, *prior* counting as one of them."""
        fates = self.fates[self._slots.values[places[:, None] + AROUND]].sum(axis=1)
        return np.asarray((fates[:, OUTCOME] + prior) / (fates[:, IS_FETCHED] + 1.0), dtype=np.float64)
