"""In-link count: the URL that most visited pages link to comes first (Cho, Garcia-Molina & Page 1998)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_replica.focus.frontier import MOST_URLS
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_replica.records import Link, Page


class InLinkCount(Strategy):
    """Scores the number of visited pages that link to a URL. Memory: 150 bytes a URL, at most ``MOST_URLS``."""

    name: ClassVar[str] = "in-link-count"
    needs_topic: ClassVar[bool] = False

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:
        for url in {link.url for link in links} - {page.url}:
            if url in self._counts or len(self._counts) < MOST_URLS:
                self._counts[url] += 1
        return np.array([self._counts[link.url] for link in links], dtype=np.float64)
