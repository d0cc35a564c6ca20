"""The present scores of what comes next."""

from __future__ import annotations

from scrapy_replica.crawl.links.guide import Guide
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB, Waiting
from scrapy_replica.crawldb.sqlite.schema import PRIORITY_STEP

LOOKED_AT = 8
"""Best waiting URLs of a host that are asked for their present scores together."""

MAX_LOOKS = 16
"""Such looks before a URL is taken; more would be one for each of many hosts with old high scores."""

FOREIGN = 0.2 * PRIORITY_STEP
"""Own scores from here on are no strategy's, but a probe's."""


class Heads:
    """Asks the strategy for the present scores of the few best waiting URLs before one of them is taken.

    So the order taken is that of present scores, without scoring all that waits after every page: a score that has
    fallen is noticed here, one that has risen the strategy tells by itself.
    """

    def __init__(self, db: SqliteCrawlDB, guide: Guide, best_score: dict[str, float]) -> None:
        self._db, self._guide, self._best_score = db, guide, best_score
        self._is_steady = False
        self._asked: set[int] = set()
        """URLs whose score is what the strategy says since it was shown the last page."""
        self._shown = 0

    def score(self) -> None:
        """Bring scores up to date until the first one's is."""
        if self._shown != self._guide.shown:
            self._shown = self._guide.shown
            self._asked.clear()
        asked = self._asked
        for _ in range(MAX_LOOKS):
            heads = [] if self._is_steady or self._guide.is_warming_up else self._db.heads(LOOKED_AT)
            if not heads or heads[0].id in asked:
                return
            asked.update(head.id for head in heads)
            self._ask([head for head in heads if not head.is_exempt and abs(own_score(head)) < FOREIGN])

    def _ask(self, heads: list[Waiting]) -> None:
        if not heads:
            return
        scores = self._guide.scores_now([head.url for head in heads])
        self._is_steady = scores is None
        if scores is None:
            return
        moved: dict[int, float] = {}
        for head, score in zip(heads, scores, strict=True):
            if head.url in self._best_score:
                self._best_score[head.url] = score
            if score != own_score(head):
                moved[head.id] = head.score - own_score(head) + score
        self._db.set_scores(heads[0].host_id, moved)


def own_score(waiting: Waiting) -> float:
    """Return what the strategy gave *waiting*, without the user's priority and demotion."""
    return waiting.score - round(waiting.score / PRIORITY_STEP) * PRIORITY_STEP
