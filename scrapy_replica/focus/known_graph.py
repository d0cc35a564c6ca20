"""The links known so far, for strategies that compute over the whole of them now and then."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from scrapy_replica.focus.frontier import UrlIds
from scrapy_replica.numeric import IntArray


class KnownGraph:
    """URLs by number (0 stands for all beyond the bound of :class:`UrlIds`), links as two columns of 4 bytes."""

    def __init__(self) -> None:
        self._urls = UrlIds()
        self._sources, self._targets = array("i"), array("i")
        self._done: set[int] = set()
        self.page = 0
        """Number of the page visited last."""

    @property
    def size(self) -> int:
        return len(self._urls.numbers) + 1

    @property
    def visited(self) -> int:
        return len(self._done)

    def visit(self, url: str) -> None:
        self.page = self._urls.id_of(url)
        self._done.add(self.page)

    def add_links(self, urls: Sequence[str]) -> list[int]:
        """Enter links of the page visited last; return the numbers of their targets. Self links are not entered."""
        rows = [self._urls.id_of(url) for url in urls]
        for row in rows:
            if row != self.page:
                self._sources.append(self.page)
                self._targets.append(row)
        return rows

    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return sources and targets, shape (links,), and the number of links of each URL, shape (size,)."""
        sources = np.array(self._sources, dtype=np.int64)
        return sources, np.array(self._targets, dtype=np.int64), np.bincount(sources, minlength=self.size)

    def waiting(self) -> Iterator[tuple[str, int]]:
        return ((url, row) for url, row in self._urls.numbers.items() if row not in self._done)

    def is_visited(self, row: int) -> bool:
        return row in self._done
