"""A strategy that takes the place of the present one when it has seen as much."""

from __future__ import annotations

from collections.abc import Callable

from scrapy_replica.crawl.order.recipe import show
from scrapy_replica.crawldb.visits import Visit, VisitTable
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.relearning import BestScores
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.records import Page

SHOWN_AT_ONCE = 100
"""Visits shown between two pages, some .2 s: at 3,840 pages all of them are 8 s, in which nothing would be fetched."""


class Successor:
    """A *strategy* as it was saved last, or a fresh one, and its *words*, shown the *visits* since as they are by now.

    *judge* tells the relevance of the pages that were shown before it was made; later ones have it already. *stage* is
    the one that ends with it, ``None`` where it is for marks. *keeps*: that relevance is written down.
    """

    def __init__(
        self,
        strategy: Strategy,
        words: LinkWords,
        visits: VisitTable,
        judge: Callable[[Visit], float],
        stage: int | None,
        *,
        keeps: bool = True,
    ) -> None:
        self.strategy, self.words = strategy, words
        self.last: Page | None = None
        self.best = BestScores()
        self.stage = stage
        self._visits, self._judge, self._keeps = visits, judge, keeps
        self._judged_until = self._newest = visits.newest
        self.seen = visits.saved_until
        """Number of the visit shown last."""

    def catch_up(self) -> bool:
        """Show it some more visits, and more than came meanwhile; return whether it has seen all."""
        most = max(SHOWN_AT_ONCE, 2 * self._visits.count_after(self._newest))
        self._newest = self._visits.newest
        rows, judged = self._visits.after(self.seen, most), []
        for number, visit in rows:
            self.seen = number
            if visit.relevance is not None and number <= self._judged_until:
                relevance = self._judge(visit)
                judged.append((number, relevance))
                visit = visit._replace(relevance=relevance)  # noqa: PLW2901 - the same visit, as it is by now
            self.last, scores = show(self.strategy, visit, self.last)
            if not visit.is_unproductive:
                self.best.add(visit.links, scores, self.strategy.rescored())
        if self._keeps:
            self._visits.judge(judged)
        return len(rows) < most
