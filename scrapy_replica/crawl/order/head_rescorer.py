"""The present scores of what comes next."""

from __future__ import annotations

from collections.abc import Callable

from scrapy_replica.crawl.links.recent_links import RecentLinks
from scrapy_replica.crawl.order.strategy_runner import StrategyRunner
from scrapy_replica.crawldb.contract import URGENT, CrawlDB, Permission, UrlRow

LOOKED_AT = 8
"""Best waiting URLs of a host that are asked for their present scores together."""

MAX_LOOKS = 16
"""Such looks before a URL is taken; more would be one for each of many hosts with old high scores."""


class HeadRescorer:
    """Asks the strategy for the present scores of the few best waiting URLs before one of them is taken.

    So the order taken is that of present scores, without scoring all that waits after every page: a score that has
    fallen is noticed here, one that has risen the strategy tells by itself.

    :param is_known: whether there was a page at the URL of an id, which has its score for other reasons.
    """

    def __init__(
        self, store: CrawlDB, runner: StrategyRunner, recent_links: RecentLinks, is_known: Callable[[int], bool]
    ) -> None:
        self._store, self._runner, self._recent_links, self._is_known = store, runner, recent_links, is_known
        self._is_steady = False
        self._asked: set[int] = set()
        """URLs whose score is what the strategy says since it was shown the last page."""
        self._shown = 0

    def score(self) -> None:
        """Bring scores up to date until the first one's is."""
        if self._shown != self._runner.shown:
            self._shown = self._runner.shown
            self._asked.clear()
        asked = self._asked
        if self._is_steady or self._runner.is_warming_up:
            return
        urls = self._store.urls
        for _ in range(MAX_LOOKS):
            heads = urls.heads(LOOKED_AT) if urls.first_id() not in asked else ()
            if not heads or heads[0].id in asked:
                return
            new = [head for head in heads if head.id not in asked]
            asked.update(head.id for head in new)
            if not self._ask([head for head in new if self._may_move(head)]):
                return

    def _may_move(self, head: UrlRow) -> bool:
        return head.permission < Permission.EXEMPT and head.score < URGENT and not self._is_known(head.id)

    def _ask(self, heads: list[UrlRow]) -> bool:
        """Ask for the scores of *heads*; tell whether one of them has another now."""
        if not heads:
            return False
        scores = self._runner.scores_now([head.url for head in heads])
        self._is_steady = scores is None
        if scores is None:
            return False
        now = list(zip(heads, scores, strict=True))
        self._recent_links.update({head.url: score for head, score in now})
        moved = [(head, score) for head, score in now if score != head.score]
        self._store.urls.set_scores(moved)
        return bool(moved)
