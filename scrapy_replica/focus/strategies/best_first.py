"""Best-first: a link is worth what the page it stands on is worth."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_replica.focus.strategy import Account, Part, Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_replica.records import Link, Page


class BestFirst(Strategy):
    """Children inherit the relevance of their parent (0..1); an unknown relevance (NaN, infinite) counts as 0.

    Where several pages link to a waiting URL it keeps the best of their relevances, since waiting URLs are only raised.
    """

    name: ClassVar[str] = "best-first"
    remembers: ClassVar[bool] = False
    reads_links: ClassVar[bool] = False

    def __init__(self) -> None:
        self._relevance = 0.0

    def visited(self, page: Page, relevance: float) -> None:  # noqa: ARG002 - the relevance says it all
        self._relevance = relevance if math.isfinite(relevance) else 0.0

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        return np.full(len(links), self._relevance)

    def account(self, url: str, score: float, relevance: float) -> Account:  # noqa: ARG002 - the numbers say it all
        return Account([Part("relevance", score, 1.0)])
