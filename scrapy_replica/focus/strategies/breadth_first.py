"""Breadth-first: links in the order in which they were found."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_replica.records import Link, Page


class BreadthFirst(Strategy):
    """Every link scores 0, so the one found first is fetched first."""

    name: ClassVar[str] = "breadth-first"
    needs_topic: ClassVar[bool] = False
    remembers: ClassVar[bool] = False
    reads_links: ClassVar[bool] = False

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the order found is all it needs
        return np.zeros(len(links))
