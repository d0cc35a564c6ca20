"""The part of the web that a visit saw last: URLs, pages and the links between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scrapy_replica.focus.window import UrlWindow, Window
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray

MOST_PAGES = 100_000
MOST_LINKS = 2_000_000
GAP = 3
"""Empty places after the links of a page, so that what lies around one of its links is never another page's."""


class KnownGraph:
    """Windows of URLs found, pages visited and links, which strategies add columns to.

    A page and its URL have numbers of their own, since a URL may be known and not visited, and a page outlives its URL.
    Links of a page lie side by side. Numbers of URLs and pages stay below 2**31. At most ``MOST_URLS`` URLs of 234
    bytes, ``MOST_PAGES`` pages of 20 bytes and ``MOST_LINKS`` links of 8 bytes, together 88 MB; what was found, visited
    or linked before is forgotten.
    """

    def __init__(self, most_links: int | None = None) -> None:
        self.urls = UrlWindow()
        self.pages = Window(MOST_PAGES)
        self.links = Window(most_links or MOST_LINKS)
        self.page = 0
        """Number of the page visited last."""
        self.urls.add_column("page", np.int32)
        self.pages.add_column("url", np.int32)
        self.pages.add_column("start", np.int64)
        self.pages.add_column("stop", np.int64)
        for column in ("target", "source"):
            self.links.add_column(column, np.int32)

    def visit(self, url: str) -> int:
        """Enter a fetched page and return its number."""
        number = self.urls.enter(url)
        self.page = self.pages.add()
        row = self.pages.row(self.page)
        self.pages["url"][row] = number
        self.pages["start"][row] = self.pages["stop"][row] = self.links.last + 1
        self.urls["page"][self.urls.row(number)] = self.page
        return self.page

    def link(self, targets: Sequence[str]) -> IntArray:
        """Enter links of the page visited last; return the numbers of the URLs, shape (n,)."""
        numbers = np.array([self.urls.enter(url) for url in targets], dtype=np.int64)
        if not len(numbers):
            return numbers
        first = self.links.add(len(numbers) + GAP)
        links = self.links.rows(np.arange(first, first + len(numbers)))
        self.links.write("target", links, numbers)
        self.links.write("source", links, self.page)
        self.pages["stop"][self.pages.row(self.page)] = first + len(numbers)
        return numbers

    def places(self, page: int) -> IntArray:
        """Return the numbers of the links of *page* that are still known, shape (n,)."""
        row = self.pages.row(page)
        start = max(int(self.pages["start"][row]), self.links.last - self.links.most + 1)
        return np.arange(start, max(start, int(self.pages["stop"][row])))

    def out_links(self) -> tuple[IntArray, IntArray]:
        """Return the links but those of pages to themselves: rows of pages and of URLs, shape (links,)."""
        places = np.arange(1, self.links.used)
        sources = self.pages.rows(self.links["source"][places].astype(np.int64))
        targets = self.links["target"][places].astype(np.int64)
        kept = (sources > 0) & (self.pages["url"][sources] != targets)
        rows = self.urls.rows(targets[kept])
        return sources[kept][rows > 0], rows[rows > 0]

    def page_links(self) -> tuple[IntArray, IntArray]:
        """Return the links between visited pages as rows of pages: sources and targets, shape (links,)."""
        sources, urls = self.out_links()
        targets = self.pages.rows(self.urls["page"][urls].astype(np.int64))
        return sources[targets > 0], targets[targets > 0]

    def waiting(self) -> IntArray:
        """Return the rows of URLs that were not visited, shape (n,)."""
        return np.flatnonzero(self.urls["page"][1 : self.urls.used] == 0) + 1

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes, the columns of strategies included: copies, which stay as they are."""
        return {
            "page": self.page,
            "urls": self.urls.state(),
            "pages": self.pages.state(),
            "links": self.links.state(),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.page = state["page"]
        self.urls.restore(state["urls"])
        self.pages.restore(state["pages"])
        self.links.restore(state["links"])


def layers(graph: KnownGraph, is_relevant: BoolArray, far: int) -> IntArray:
    """Return the layer of every visited page by row, shape (pages + 1,): 0 if relevant, *far* is "or more".

    The back-crawls of Orlandi 2007 (5.1, step 2), all at once: whenever a page is found relevant, pages visited before
    it lie as many links before it as the shortest way over pages visited before it has, and of several the smallest
    counts. So a layer is the distance to what was not found yet when the page was visited. A page that links to what
    was found before it gets nothing from that.

    A way counts if its end was visited after all of its pages, so of the ends that a page reaches in k links the one
    visited last is enough.
    """
    sources, targets = graph.page_links()
    numbers = graph.pages.numbers()
    end = np.where(is_relevant, numbers, 0)
    found = np.where(is_relevant, 0, far)
    for distance in range(1, far):
        reached = np.zeros_like(end)
        np.maximum.at(reached, sources, end[targets])
        end = np.where(reached > numbers, reached, 0)
        found = np.where((end > 0) & (found == far), distance, found)
    return found


def tried(graph: KnownGraph) -> FloatArray:
    """Return the share of each page's links that were fetched, in vain or not, shape (pages + 1,); 1 without links."""
    sources, urls = graph.out_links()
    is_tried = (graph.urls["page"][urls] > 0) | graph.urls["unproductive"][urls]
    links = np.bincount(sources, minlength=graph.pages.used)
    fetched = np.bincount(sources, is_tried, graph.pages.used)
    return np.where(links > 0, fetched / np.maximum(links, 1), 1.0)
