"""Random: waiting URLs in an order drawn by lot."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import mmh3
import numpy as np

from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from scrapy_replica.focus.strategy import Needs
    from scrapy_replica.records import Link, Page


class Random(Strategy):
    """A URL draws its score, uniform in [0, 1), once: when a page first links to it.

    The draw is a hash of seed and URL: a URL found again keeps its score (otherwise being raised would favour URLs with
    many in-links), the order does not depend on which page was fetched first, and there is no state to save.
    """

    name: ClassVar[str] = "random"
    needs_topic: ClassVar[bool] = False
    remembers: ClassVar[bool] = False

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    @classmethod
    def made(cls, needs: Needs) -> Self:
        return cls(needs.seed)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the URL alone decides
        urls = (link.url.encode("utf-8", "surrogatepass") for link in links)
        return np.array([mmh3.hash(url, self.seed, signed=False) / 2**32 for url in urls], dtype=np.float64)
