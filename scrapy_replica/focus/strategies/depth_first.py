"""Depth-first: the links of the page visited last come first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.records import Link, Page


class DepthFirst(Strategy):
    """A link scores the number of pages visited so far; links of one page keep their order on it.

    A waiting URL that a later page links to is raised with that page's links, as a stack would have it.
    """

    name: ClassVar[str] = "depth-first"
    needs_topic: ClassVar[bool] = False
    reads_links: ClassVar[bool] = False

    def __init__(self) -> None:
        self._visited = 0

    def visited(self, page: Page, relevance: float) -> None:  # noqa: ARG002 - only that a page was visited counts
        self._visited += 1

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - see the class
        return np.full(len(links), float(self._visited))

    def state(self) -> dict[str, Any]:
        return {"visited": self._visited}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._visited = state["visited"]
