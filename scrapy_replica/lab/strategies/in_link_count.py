"""In-link count: the URL that most visited pages link to comes first (Cho, Garcia-Molina & Page 1998)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.focus.window import UrlWindow
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.records import Link, Page


class InLinkCount(Strategy):
    """Scores the number of visited pages that link to a URL.

    Memory: 240 bytes a URL, of the ``MOST_URLS`` found last, at most 72 MB; one that was forgotten counts from 0.
    """

    name: ClassVar[str] = "in-link-count"
    needs_topic: ClassVar[bool] = False
    reads_links: ClassVar[bool] = False

    def __init__(self) -> None:
        self._urls = UrlWindow()
        self._urls.add_column("count", np.int64)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:
        numbers = np.array([self._urls.enter(link.url) for link in links], dtype=np.int64)
        rows = self._urls.rows(numbers)
        counts = self._urls["count"]
        counts[np.setdiff1d(rows, [0, self._urls.row(self._urls.find(page.url))])] += 1
        return counts[rows].astype(np.float64)

    def state(self) -> dict[str, Any]:
        return self._urls.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._urls.restore(state)
