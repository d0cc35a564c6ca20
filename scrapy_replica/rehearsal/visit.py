"""The simulated visit: any strategy over a collection, in the order in which the live scheduler would take its URLs."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from publicsuffixlist import PublicSuffixList

from scrapy_replica.address import name_of
from scrapy_replica.focus.early_order import EarlyOrder
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.relearning import BestScores, next_stage, unlabelled
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.rehearsal.collection import Documents

WARM_UP_PAGES = 60
"""Pages taken breadth-first before the scores count: a strategy that learns needs outcomes of both kinds."""

LOOKED_AT = 8
"""Best waiting pages that are asked for their present score together."""


@dataclass(frozen=True)
class Limits:
    """Budget of a visit, in pages; ``None`` is no bound."""

    pages: int | None = None
    per_host: int | None = None
    per_domain: int | None = None
    """Per registered domain (``uci.edu``), after the public suffix list."""


NO_LIMITS = Limits()


class Frontier:
    """Waiting pages; gives the one with the highest score, the one found first among equals.

    Invariant: ``scores[p]`` is the present score of a waiting page; a heap entry with another score is outdated and is
    skipped when it comes up, so raising costs O(log n) and leaves at most one stale entry a raise.
    """

    def __init__(self) -> None:
        self.scores: dict[int, float] = {}
        self._found: dict[int, int] = {}
        self._heap: list[tuple[float, int, int]] = []
        self._is_steady = False

    def __len__(self) -> int:
        return len(self.scores)

    def put(self, page: int, score: float) -> None:
        """Add a page, or raise it if *score* is better than its present one."""
        present = self.scores.get(page)
        if present is None or score > present:
            self.move(page, score)

    def move(self, page: int, score: float) -> None:
        """Give a page another score, better or worse."""
        if not np.isfinite(score):
            raise ValueError(f"the score of page {page} is {score}: a strategy must return finite numbers")
        found = self._found.setdefault(page, len(self._found))
        self.scores[page] = score
        heapq.heappush(self._heap, (-score, found, page))

    def oldest(self) -> int:
        """Take the page found first, whatever its score."""
        page = min(self.scores, key=self._found.__getitem__)
        del self.scores[page]
        return page

    def best(self, scores_now: Callable[[list[int]], FloatArray | None] | None = None) -> int:
        """Take the best page; *scores_now* is asked for the present scores of the few best, ``None`` if they stand."""
        while True:
            is_steady = self._is_steady or scores_now is None
            pages = self._top(1 if is_steady else LOOKED_AT)
            now = None if is_steady or scores_now is None else scores_now(pages)
            if now is None:
                self._is_steady = scores_now is not None
                for page in pages[1:]:
                    self.move(page, self.scores[page])
                del self.scores[pages[0]]
                return pages[0]
            best = int(now.argmax())
            for page, score in zip(pages, now.tolist(), strict=True):
                self.move(page, score)
            if -now[best] <= self._heap[0][0]:
                page = pages[best]
                del self.scores[page]
                return page

    def _top(self, most: int) -> list[int]:
        pages: list[int] = []
        while self._heap and len(pages) < most:
            negated, _, page = heapq.heappop(self._heap)
            if self.scores.get(page) == -negated and page not in pages:
                pages.append(page)
        return pages


def visit(
    collection: Documents,
    strategy: Strategy,
    relevance: FloatArray,
    limits: Limits = NO_LIMITS,
    warm_up: int = WARM_UP_PAGES,
) -> IntArray:
    """Visit *collection* from its seeds and return the page numbers in the order of the visit.

    *relevance*, shape (n,), is what the relevance model says of each page (0..1; NaN counts as 0). The strategy sees a
    page's relevance when it is visited, never before, and never a label. Deterministic: chance is the strategy's own.
    """
    relevance = np.nan_to_num(relevance)
    under_way = _Visit(collection, strategy, lambda page: float(relevance[page]), limits)
    while under_way.goes_on:
        number = under_way.oldest() if len(under_way.order) < warm_up else under_way.best()
        if number is not None:
            under_way.enter(number, *under_way.show(number))
    return np.array(under_way.order, dtype=np.int64)


class Learner(Protocol):
    """A topic that is learnt while the visit goes on."""

    words: LinkWords
    """What the model says by now of links."""

    def relevance(self, page: int) -> float:
        """Return what the model says by now of a page, 0..1."""

    def new_strategy(self) -> Strategy:
        """Return a strategy that was shown nothing yet, and goes by what the model says by now."""

    def learn(self, pages: Sequence[int]) -> None:
        """Make the model again with these *pages* as unlabelled ones."""


def learning_visit(
    collection: Documents, learner: Learner, limits: Limits = NO_LIMITS, warm_up: int = WARM_UP_PAGES
) -> IntArray:
    """Visit *collection* as a crawl does that has a topic alone; return the page numbers in the order of the visit.

    The order of the warm-up, and when, from which pages and how the topic is learnt again, are those of the live crawl.
    """
    under_way = _Visit(collection, learner.new_strategy(), learner.relevance, limits)
    early, stage = EarlyOrder(lambda: learner.words), next_stage(0, warm_up)
    while under_way.goes_on:
        pages = len(under_way.order)
        if pages == stage:
            learner.learn([under_way.order[place] for place in unlabelled(under_way.urls, warm_up)])
            under_way.begin_anew(learner.new_strategy())
            stage = next_stage(pages, warm_up)
        number = under_way.best(is_steady=pages < warm_up)
        if number is not None:
            scores, moved = under_way.show(number)
            if pages < warm_up:
                scores, moved = early.scores(collection.page(number).links), {}
            under_way.enter(number, scores, moved)
    return np.array(under_way.order, dtype=np.int64)


class _Visit:
    """A visit under way: the pages so far, and those that wait."""

    def __init__(
        self, collection: Documents, strategy: Strategy, relevance: Callable[[int], float], limits: Limits
    ) -> None:
        self.order: list[int] = []
        self._collection, self._limits = collection, limits
        self._strategy, self._relevance = strategy, relevance
        self._numbers = {url: number for number, url in enumerate(collection.urls)}
        self._frontier, self._done = Frontier(), np.zeros(len(collection), dtype=bool)
        self._budget = _Budget(collection, limits)
        for seed in collection.seeds.tolist():
            self._frontier.put(seed, 0.0)

    @property
    def goes_on(self) -> bool:
        return len(self._frontier) > 0 and (self._limits.pages is None or len(self.order) < self._limits.pages)

    @property
    def urls(self) -> list[str]:
        return [self._collection.urls[number] for number in self.order]

    def oldest(self) -> int | None:
        """Take the page found first; ``None`` where the budget has no room for it."""
        return self._admitted(self._frontier.oldest())

    def best(self, *, is_steady: bool = False) -> int | None:
        """Take the best page, by the scores that they wait with where *is_steady*; ``None`` as :meth:`oldest`."""
        return self._admitted(self._frontier.best(None if is_steady else self._scores_now))

    def _admitted(self, number: int) -> int | None:
        if not self._budget.admits(number):
            return None
        self.order.append(number)
        self._done[number] = True
        return number

    def _scores_now(self, pages: list[int]) -> FloatArray | None:
        return self._strategy.scores_now([self._collection.urls[page] for page in pages])

    def show(self, number: int) -> tuple[list[float], dict[str, float]]:
        """Show the strategy a page; return the scores of its links, and new ones of URLs found earlier."""
        page = self._collection.page(number)
        self._strategy.visited(page, self._relevance(number))
        scores: list[float] = self._strategy.scores(page, page.links).tolist()
        return scores, self._strategy.rescored()

    def enter(self, number: int, scores: Sequence[float], moved: Mapping[str, float]) -> None:
        """Let the links of a page wait with these *scores*, and give other URLs those that they were *moved* to."""
        for target, score in zip(self._collection.links(number), scores, strict=True):
            if not self._done[target]:
                self._frontier.put(target, score)
        self._move(moved)

    def _move(self, scores: Mapping[str, float]) -> None:
        for url, score in scores.items():
            target = self._numbers[url]
            if target in self._frontier.scores:
                self._frontier.move(target, score)

    def begin_anew(self, strategy: Strategy) -> None:
        """Go on under a fresh *strategy*, which is shown all pages so far with the relevance that they have by now."""
        self._strategy = strategy
        best = BestScores()
        for number in self.order:
            best.add(self._collection.page(number).links, *self.show(number))
        self._move(best.scores)


class _Budget:
    def __init__(self, collection: Documents, limits: Limits) -> None:
        self._limits = limits
        self._hosts = collection.hosts if limits.per_host or limits.per_domain else []
        self._per_host: Counter[str] = Counter()
        self._per_domain: Counter[str] = Counter()

    def admits(self, number: int) -> bool:
        if not self._hosts:
            return True
        host = self._hosts[number]
        if self._limits.per_host is not None and self._per_host[host] >= self._limits.per_host:
            return False
        domain = registered_domain(host)
        if self._limits.per_domain is not None and self._per_domain[domain] >= self._limits.per_domain:
            return False
        self._per_host[host] += 1
        self._per_domain[domain] += 1
        return True


@cache
def registered_domain(host: str) -> str:
    """Return the registered domain of *host* (``www.ics.uci.edu`` -> ``uci.edu``), its name if it has none."""
    name = name_of(host)
    return _suffix_list().privatesuffix(name) or name


@cache
def _suffix_list() -> PublicSuffixList:
    return PublicSuffixList()
