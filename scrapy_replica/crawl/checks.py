"""Checks: some of what waits is fetched at random, and tells how much of what is within reach was found."""

from __future__ import annotations

from collections import deque
from random import Random

from scrapy_replica.coverage import RECENT, Coverage
from scrapy_replica.crawldb.contract import CrawlDB

EVERY = 50
"""Fetches for each check."""
DRY = 50
"""Fetches that brought no content after which each is a check."""


class Checks:
    """Draws checks, and tells what they say.

    A URL that waits is asked for out of its turn, whatever demotes it: it would have been fetched later. What may not
    be fetched at all, as things stand when it is taken, is dropped as ever, and brings nothing.

    **The end** may have come when :data:`DRY` fetches brought nothing. All checks of one end tell of what waits, since
    nothing changes it but what they take. A content ends it, and they tell nothing any more: what waits then was not
    there when they were drawn. Of the vacancies of the everyday sites 25 of 315 contents were lost in place of 0 when a
    hundred checks in vain of an end that was over told of the 31 URLs that its last one had led to.

    :param stop_at: share of the contents at which the crawl has enough; 0: never, and nothing is drawn.
    :param seed: what draws depend on.
    :param is_topic: contents are those on the topic.
    """

    def __init__(self, store: CrawlDB, stop_at: float, seed: int, *, is_topic: bool) -> None:
        self._store, self._stop_at, self._is_topic = store, stop_at, is_topic
        self._random = Random(seed)
        self.is_on = False
        """The crawl is to stop by itself, and has the frontier alone."""
        self._pending: set[int] = set()
        """Ids of URLs that were drawn and are not fetched yet."""
        self._in_order: dict[int, bool | None] = {}
        """Id of each URL that was drawn since the last end began, or was over, and does not tell yet -> whether it
        brought a content; ``None`` where it is not fetched yet."""
        self._fetches = self._found = self._dry = 0
        self._end = self._checked = 0
        """Number of the last end, and its checks."""
        self._recent: deque[bool] = deque(maxlen=RECENT)

    def begin(self) -> None:
        """Take note that the crawl has the frontier; go on with what an earlier run drew.

        Where it is not to stop by itself there are none: they change the order, which somebody may rely on.
        """
        checks, self.is_on = self._store.checks, self._stop_at > 0
        if not self.is_on:
            return
        self._found = checks.found(is_topic=self._is_topic)
        self._end = checks.last_end()
        checked, news = checks.outcomes(is_topic=self._is_topic)
        if checked and checks.is_end():
            self._dry, self._checked = DRY, checked  # what ended with enough has it still
        else:
            self._recent.extend([True] * news + [False] * (checked - news))

    def is_check(self, url_id: int) -> bool:
        """Tell whether the URL of that id was drawn and is not fetched yet."""
        return url_id in self._pending

    def end(self, url_id: int, *, is_content: bool) -> None:
        """Take note that a URL was fetched, or dropped, and whether its page is a content; draw the next check."""
        if not self.is_on:
            return
        self._found += is_content
        self._fetches += 1
        was_end, self._dry = self._is_end, 0 if is_content else self._dry + 1
        self._pending.discard(url_id)
        if self._is_end is not was_end:
            self._in_order.clear()
            self._recent.clear()
            self._end, self._checked = self._end + self._is_end, 0
        elif url_id in self._in_order:
            self._in_order[url_id] = is_content
            self._count()
        if self._is_end or self._fetches % EVERY == 0:
            self._draw()

    def _count(self) -> None:
        """Let those checks tell before which none is pending, in the order in which they were drawn.

        What a claim drops at its turn ends at once, and what is fetched later: as they came, the first 140 of an end
        told of nothing but copies, where 84 of 1,553 URLs were contents.
        """
        while self._in_order and (is_content := next(iter(self._in_order.values()))) is not None:
            del self._in_order[next(iter(self._in_order))]
            self._checked += self._is_end
            self._recent.append(is_content)

    @property
    def _is_end(self) -> bool:
        return self._dry >= DRY

    def _draw(self) -> None:
        drawn = self._store.urls.draw(self._random, self._pending)
        if drawn is not None:
            self._pending.add(drawn)
            self._in_order[drawn] = None
            self._store.checks.enter(drawn, self._end if self._is_end else 0)

    @property
    def coverage(self) -> Coverage:
        told = (self._checked, 0) if self._is_end else (len(self._recent), sum(self._recent))
        return Coverage(self._found, self._store.urls.waiting, *told)

    @property
    def has_enough(self) -> bool:
        """Whether the crawl has found what it is to find: the lower end of the interval says so, of an end.

        While contents come each may lead to the next, as page after page of a list: few wait then, and none of those to
        come. Of questions 22 of 242 contents were lost, all of them lists.
        """
        if not self.is_on or not self._is_end:
            return False
        coverage = self.coverage
        share = coverage.share if coverage.waiting else None  # where nothing waits it ends by itself
        return share is not None and share[1] >= self._stop_at
