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
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.records import Link, Page
from scrapy_replica.rehearsal.collection import Collection

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
    collection: Collection,
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
    collection: Collection, learner: Learner, limits: Limits = NO_LIMITS, warm_up: int = WARM_UP_PAGES
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
        self, collection: Collection, strategy: Strategy, relevance: Callable[[int], float], limits: Limits
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
    def __init__(self, collection: Collection, limits: Limits) -> None:
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


def omniscient_order(collection: Collection, relevant: BoolArray, limits: Limits = NO_LIMITS) -> IntArray:
    """Return an order that knows every label: the waiting page with the nearest relevant page behind it comes first.

    The bound that every visit is compared with (the best order itself is a Steiner problem). Distances are counted
    along links, over the relevant pages not visited yet; pages that lead to nothing relevant come last.
    """
    return visit(collection, _Omniscient(collection, relevant), relevant.astype(float), limits, warm_up=0)


class _Omniscient(Strategy):
    """Distances only grow while relevant pages are used up, so they are counted anew when the nearest is in doubt."""

    name = "omniscient"

    def __init__(self, collection: Collection, relevant: BoolArray) -> None:
        self._numbers = {url: number for number, url in enumerate(collection.urls)}
        self._transposed = Transposed(collection)
        self._left = relevant.copy()
        self._open = np.ones(len(collection), dtype=bool)
        self._distance = self._transposed.distances(self._left, self._open)
        self._is_fresh = True

    def visited(self, page: Page, relevance: float) -> None:  # noqa: ARG002
        number = self._numbers[page.url]
        self._open[number] = False
        if self._left[number]:
            self._left[number] = False
            self._is_fresh = False

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002
        return self._score([link.url for link in links])

    def scores_now(self, urls: Sequence[str]) -> FloatArray | None:
        scores = self._score(urls)
        if -1e9 < scores.max() < 0 and not self._is_fresh:
            self._distance = self._transposed.distances(self._left, self._open)
            self._is_fresh = True
            scores = self._score(urls)
        return scores

    def _score(self, urls: Sequence[str]) -> FloatArray:
        distance = self._distance[[self._numbers[url] for url in urls]].astype(np.float64)
        return np.where(distance < 0, -1e9, -distance)


class Transposed:
    """The links of a collection by target."""

    def __init__(self, collection: Collection) -> None:
        order = np.argsort(collection.targets, kind="stable")
        self._size = len(collection)
        self._sources = np.repeat(np.arange(self._size), np.diff(collection.link_start))[order]
        self._start = np.searchsorted(collection.targets[order], np.arange(self._size + 1))

    def distances(self, pages: BoolArray, through: BoolArray) -> IntArray:
        """Return each page's link distance to the nearest of *pages*, along pages in *through* (-1: no way)."""
        distance = np.where(pages, 0, -1).astype(np.int64)
        border, steps = np.flatnonzero(pages), 0
        while border.size:
            steps += 1
            lengths = self._start[border + 1] - self._start[border]
            ends = np.cumsum(lengths)
            rows = np.arange(ends[-1]) + np.repeat(self._start[border] - ends + lengths, lengths)
            found = self._sources[rows]
            found = found[(distance[found] < 0) & through[found]]
            distance[found] = steps
            border = np.unique(found)
        return distance


@dataclass(frozen=True)
class Figures:
    """What one visit reached; shares are of the *relevant* pages that the whole visit found."""

    found: IntArray
    """B(t): relevant pages among the first t, t = 1..n."""
    pref: float
    """1 - (1 / (|V||R|)) * sum over relevant x visited of the irrelevant pages visited before x."""
    f1: FloatArray
    """F1(t) = 2 B(t) / (t + |R|)."""

    @property
    def harvest(self) -> FloatArray:
        """B(t) / t."""
        return self.found / np.arange(1, len(self.found) + 1)

    @property
    def f1_area(self) -> float:
        """Mean of F1(t) over the visit: the area below the curve, 0..1."""
        return float(self.f1.mean()) if len(self.f1) else 0.0

    def found_at(self, share: float) -> float:
        """Return the share of all relevant pages found after *share* of the visit."""
        if not len(self.found) or not self.found[-1]:
            return 0.0
        after = max(1, round(share * len(self.found)))
        return float(self.found[after - 1] / self.found[-1])


def figures(order: IntArray, relevant: BoolArray, ignored: BoolArray | None = None) -> Figures:
    """Measure a visit; pages in *ignored* (the labelled training pages) count neither way.

    With no relevant page in the visit Pref is 1: no order could have been better.
    """
    if ignored is not None:
        order = order[~ignored[order]]
    hits = relevant[order].astype(np.int64)
    found = np.cumsum(hits)
    total, pages = int(hits.sum()), len(order)
    misses_before = np.arange(pages) - found + hits
    pref = 1.0 - float((misses_before * hits).sum()) / (pages * total) if total else 1.0
    f1 = 2.0 * found / (np.arange(1, pages + 1) + total) if total else np.zeros(pages)
    return Figures(found, pref, f1)
