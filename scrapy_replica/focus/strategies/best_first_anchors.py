"""Best-first with anchors: the words of a link count beside the page it stands on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from scrapy_replica.focus.strategy import Account, Part, Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.focus.strategy import Needs
    from scrapy_replica.records import Link, Page

OWN_WORDS = 0.5
"""Weight of the link's own words; the page has the rest (Hersovici et al. 1998, shark-search, weighs both alike)."""


class BestFirstAnchors(Strategy):
    """Mean of the page's relevance and that of anchor text and URL words, by the same model. No memory but a cache."""

    name: ClassVar[str] = "best-first-anchors"
    remembers: ClassVar[bool] = False

    def __init__(self, link_words: LinkWords) -> None:
        self._words = link_words
        self._relevance = 0.0

    @classmethod
    def made(cls, needs: Needs) -> Self:
        return cls(needs.read(cls.name))

    def visited(self, page: Page, relevance: float) -> None:  # noqa: ARG002 - the relevance says it all
        self._relevance = relevance if math.isfinite(relevance) else 0.0

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        return (1.0 - OWN_WORDS) * self._relevance + OWN_WORDS * self._words(links)

    def account(self, url: str, score: float, relevance: float) -> Account:  # noqa: ARG002 - the numbers say it all
        words = (score - (1.0 - OWN_WORDS) * relevance) / OWN_WORDS
        if not 0.0 <= words <= 1.0:
            return Account([Part("score on a better page", score, 1.0)])
        return Account([Part("relevance", relevance, 1.0 - OWN_WORDS), Part("words", words, OWN_WORDS)])
