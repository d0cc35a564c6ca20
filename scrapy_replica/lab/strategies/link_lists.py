"""What strategies of the laboratory ask of the known graph beside what those of crawls do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scrapy_replica.focus.known_graph import GAP, KnownGraph
from scrapy_replica.numeric import IntArray


class BackLinkGraph(KnownGraph):
    """A graph that knows the links to a page: a list, newest first, by how many links ago the next lies (``before``).

    8 bytes a URL and 4 a link more.
    """

    def __init__(self) -> None:
        super().__init__()
        self.urls.add_column("in_link", np.int64)
        self.links.add_column("before", np.int32)

    def link(self, targets: Sequence[str]) -> IntArray:
        numbers = super().link(targets)
        if len(numbers):
            first = self.links.last - GAP - len(numbers) + 1
            places = np.arange(first, first + len(numbers))
            urls = self.urls.rows(numbers)
            ago = places - self.urls["in_link"][urls]
            self.links.write("before", self.links.rows(places), np.where(ago < self.links.most, ago, self.links.most))
            self.urls.write("in_link", urls, places)
        return numbers

    def sources(self, page: int) -> IntArray:
        """Return the numbers of the pages that link to *page*, without itself, newest first, shape (n,)."""
        links, sources, before = self.links, self.links["source"], self.links["before"]
        link = int(self.urls["in_link"][self.urls.row(int(self.pages["url"][self.pages.row(page)]))])
        found = []
        while row := links.row(link):
            found.append(int(sources[row]))
            link -= int(before[row])
        pages = np.array(found, dtype=np.int64)
        return np.asarray(pages[(pages != page) & (self.pages.rows(pages) > 0)])


def url_links(graph: KnownGraph) -> tuple[IntArray, IntArray, IntArray]:
    """Return the links as rows of URLs: sources, targets, shape (links,), and each URL's number of them."""
    places = np.arange(1, graph.links.used)
    sources = graph.urls.rows(graph.pages["url"][graph.pages.rows(graph.links["source"][places])])
    targets = graph.urls.rows(graph.links["target"][places])
    kept = (sources > 0) & (targets > 0) & (sources != targets)
    sources = sources[kept]
    return sources, targets[kept], np.bincount(sources, minlength=graph.urls.used)
