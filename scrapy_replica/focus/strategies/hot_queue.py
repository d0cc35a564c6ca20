"""Hot queue: URLs near relevant pages first (Cho, Garcia-Molina & Page 1998, similarity-based crawling)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT
from scrapy_replica.focus.strategies.path import PathMemory
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.records import Link, Page

HOT_WITHIN = 3


class HotQueue(Strategy):
    """A URL within three links of a relevant page is hot; hot ones come first, each queue by its page's relevance.

    Memory: 250 bytes a URL, at most 75 MB.
    """

    name: ClassVar[str] = "hot-queue"

    def __init__(self) -> None:
        self._steps = PathMemory(float(HOT_WITHIN), min)
        self._relevance = 0.0
        self._distance = float(HOT_WITHIN)

    def visited(self, page: Page, relevance: float) -> None:
        self._relevance = relevance if math.isfinite(relevance) else 0.0
        self._distance = 0.0 if self._relevance > IS_RELEVANT else self._steps.take(page.url)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        steps = min(self._distance + 1.0, float(HOT_WITHIN) + 1.0)
        for link in links:
            self._steps.put(link.url, steps)
        return np.full(len(links), self._relevance + (1.0 if steps <= HOT_WITHIN else 0.0))

    def state(self) -> dict[str, Any]:
        return {"steps": self._steps.state(), "relevance": self._relevance, "distance": self._distance}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._steps.restore(state["steps"])
        self._relevance, self._distance = state["relevance"], state["distance"]
