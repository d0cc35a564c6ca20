"""The judge of candidate rules as this crawl has taught it."""

from __future__ import annotations

from scrapy_replica.crawl.urls.watched_rule import WatchedRule
from scrapy_replica.urls.judge import Example, RuleJudge, shipped

MOST_TRIED = 300
"""Rules of the crawl that teach, those tried last: to learn them anew takes 20 ms, 10,000 would take 240."""


class CrawlRuleJudge:
    """The shipped judge, and what came of the rules of this crawl that ended or became certain."""

    def __init__(self) -> None:
        self._tried: dict[int, Example] = {}
        """Id of a rule -> what came of it."""
        self._judge: RuleJudge | None = None

    def tried(self, watched: WatchedRule) -> None:
        """Take note of what came of a rule: other candidates are looked at in the light of it."""
        if self._tried.get(watched.id) == watched.example:
            return
        self._tried.pop(watched.id, None)
        self._tried[watched.id] = watched.example
        if len(self._tried) > MOST_TRIED:
            del self._tried[next(iter(self._tried))]
        self._judge = None

    @property
    def judge(self) -> RuleJudge:
        """The judge as it is by now."""
        if self._judge is None:
            self._judge = shipped().taught(self._tried.values())
        return self._judge
