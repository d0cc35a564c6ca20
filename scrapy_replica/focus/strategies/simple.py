"""The simple orders: breadth-first, depth-first, and best-first by the page alone or with the words of its links."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.links import finite
from scrapy_replica.focus.strategy import Account, Part, Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Self

    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.focus.strategy import Needs
    from scrapy_replica.records import Link, Page


class BreadthFirst(Strategy):
    """Every link scores 0, so the one found first is fetched first."""

    name: ClassVar[str] = "breadth-first"
    needs_topic: ClassVar[bool] = False
    remembers: ClassVar[bool] = False
    reads_links: ClassVar[bool] = False

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the order found is all it needs
        return np.zeros(len(links))


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
        self._relevance = finite(relevance)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        return np.full(len(links), self._relevance)

    def account(self, url: str, score: float, relevance: float) -> Account:  # noqa: ARG002 - the numbers say it all
        return Account([Part("relevance", score, 1.0)])


OWN_WORDS = 0.5
"""Weight of the link's own words; the page has the rest (Hersovici et al. 1998, shark-search, weighs both alike)."""


class BestFirstAnchors(BestFirst):
    """Mean of the page's relevance and that of anchor text and URL words, by the same model. No memory but a cache."""

    name: ClassVar[str] = "best-first-anchors"
    reads_links: ClassVar[bool] = True

    def __init__(self, link_words: LinkWords) -> None:
        super().__init__()
        self._words = link_words

    @classmethod
    def made(cls, needs: Needs) -> Self:
        return cls(needs.read(cls.name))

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        return (1.0 - OWN_WORDS) * self._relevance + OWN_WORDS * self._words(links)

    def account(self, url: str, score: float, relevance: float) -> Account:  # noqa: ARG002 - the numbers say it all
        words = (score - (1.0 - OWN_WORDS) * relevance) / OWN_WORDS
        if not 0.0 <= words <= 1.0:
            return Account([Part("score on a better page", score, 1.0)])
        return Account([Part("relevance", relevance, 1.0 - OWN_WORDS), Part("words", words, OWN_WORDS)])
