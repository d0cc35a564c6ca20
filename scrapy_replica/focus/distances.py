"""How many links a visited page lies before a relevant one that was found later, as far as the visit knows."""

from __future__ import annotations

import numpy as np

from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray


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
