"""The simulated visit: any strategy over a collection, in the order in which the live scheduler would take its URLs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from publicsuffixlist import PublicSuffixList

from scrapy_replica.address import name_of
from scrapy_replica.focus.early_order import EarlyOrder
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.relearning import BestScores, next_stage, unlabelled
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.visits.frontier import Frontier
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.records import Link, Page

WARM_UP_PAGES = 60
"""Pages taken breadth-first before the scores count: a strategy that learns needs outcomes of both kinds."""


@dataclass(frozen=True)
class Limits:
    """Budget of a visit, in pages; ``None`` is no bound."""

    pages: int | None = None
    per_host: int | None = None
    per_domain: int | None = None
    """Per registered domain (``uci.edu``), after the public suffix list."""


NO_LIMITS = Limits()


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
    under_way = Visit(collection, strategy, relevance, limits, warm_up)
    while under_way.goes_on:
        under_way.step()
    return under_way.order


class Visit:
    """A visit under way: the pages so far, and those that wait. 20 bytes a page of the collection, and the heap.

    *relevance* as in :func:`visit`.
    """

    def __init__(
        self,
        collection: Documents,
        strategy: Strategy,
        relevance: FloatArray,
        limits: Limits = NO_LIMITS,
        warm_up: int = WARM_UP_PAGES,
    ) -> None:
        self.strategy = strategy
        self.pages = 0
        """Pages visited so far."""
        self._collection, self._relevance, self._warm_up = collection, relevance, warm_up
        most = len(collection) if limits.pages is None else min(limits.pages, len(collection))
        self._order = np.zeros(most, dtype=np.int32)
        self._budget = _Budget(collection, limits)
        self.frontier = Frontier(len(collection))
        seeds = np.unique(collection.seeds, return_index=True)[1]
        self.frontier.put(collection.seeds[np.sort(seeds)], np.zeros(len(seeds)))

    @property
    def order(self) -> IntArray:
        """Page numbers in the order of the visit, shape (pages,)."""
        return self._order[: self.pages].astype(np.int64)

    @property
    def most(self) -> int:
        """Pages that the visit takes at most."""
        return len(self._order)

    @property
    def goes_on(self) -> bool:
        return len(self.frontier) > 0 and self.pages < self.most

    def step(self) -> None:
        """Take the next page and let its links wait; a page that the budget has no room for is dropped."""
        number = self.frontier.oldest() if self.pages < self._warm_up else self.best()
        if self.admits(number):
            self.enter(number, *self.show(number))

    def best(self, *, is_steady: bool = False) -> int:
        """Take the best page, by the scores that they wait with where *is_steady*."""
        return self.frontier.best(None if is_steady else self._scores_now)

    def admits(self, number: int) -> bool:
        """Count a page as visited if the budget has room for it."""
        if not self._budget.admits(number):
            return False
        self._order[self.pages] = number
        self.pages += 1
        self.frontier.done(number)
        return True

    def _scores_now(self, pages: list[int]) -> FloatArray | None:
        return self.strategy.scores_now([self._name(page) for page in pages])

    def _name(self, number: int) -> str:
        """Return what the strategy knows a page by: its URL, or its number where it does not read URLs."""
        return self._collection.urls[number] if self.strategy.reads_links else str(number)

    def show(self, number: int) -> tuple[FloatArray, Mapping[str, float]]:
        """Show the strategy a page; return the scores of its links, and new ones of URLs found earlier."""
        page = self._page(number)
        relevance = float(self._relevance[number])
        self.strategy.visited(page, relevance if relevance == relevance else 0.0)  # noqa: PLR0124 - NaN
        return self.strategy.scores(page, page.links), self.strategy.rescored()

    def _page(self, number: int) -> Page:
        if self.strategy.reads_links:
            return self._collection.page(number)
        links: Any = _Unread(self._collection.targets(number))
        return Page(str(number), "", terms=_Terms(self._collection, number), links=links)

    def enter(self, number: int, scores: FloatArray, moved: Mapping[str, float]) -> None:
        """Let the links of a page wait with these *scores*, and give other URLs those that they were *moved* to."""
        self.frontier.put(self._collection.targets(number), scores)
        self.move(moved)

    def move(self, scores: Mapping[str, float]) -> None:
        """Give waiting URLs other scores."""
        if scores:
            self.frontier.move(self._numbers_of(list(scores)), np.fromiter(scores.values(), np.float64, len(scores)))

    def _numbers_of(self, names: Sequence[str]) -> IntArray:
        number: Callable[[str], int | None] = self._collection.number if self.strategy.reads_links else int
        return np.array([number(name) for name in names], dtype=np.int64)

    def state(self) -> dict[str, Any]:
        """Return the state without that of the strategy: named arrays, which stay as they are."""
        return {"order": self._order[: self.pages].copy(), **self.frontier.state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what :meth:`state` of a visit with the same arguments returned; the strategy has loaded its own."""
        self.pages = len(state["order"])
        self._order[: self.pages] = state["order"]
        self.frontier = Frontier(len(self._collection))
        self.frontier.restore(state)
        self._budget.restore(state["order"])


class _Unread(Sequence[Link]):
    """Links of which the strategy reads no word: their pages' numbers stand for the URLs."""

    def __init__(self, targets: NDArray[np.int32]) -> None:
        self._targets = targets

    def __len__(self) -> int:
        return len(self._targets)

    def __getitem__(self, place: Any) -> Any:
        return Link(str(self._targets[place]), "", place)

    def __iter__(self) -> Iterator[Link]:
        return map(Link, map(str, self._targets.tolist()))


class _Terms(Mapping[str, int]):
    """The terms of a page, taken from the collection when they are first asked for."""

    def __init__(self, collection: Documents, number: int) -> None:
        self._collection, self._number = collection, number
        self._known: Mapping[str, int] | None = None

    @property
    def _terms(self) -> Mapping[str, int]:
        if self._known is None:
            self._known = self._collection.terms(self._number)
        return self._known

    def __getitem__(self, term: str) -> int:
        return self._terms[term]

    def __iter__(self) -> Iterator[str]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)

    def values(self) -> Any:
        return self._terms.values()

    def items(self) -> Any:
        return self._terms.items()


class Learner(Protocol):
    """A topic that is learnt while the visit goes on."""

    words: LinkWords
    """What the model says by now of links."""

    def relevance(self, page: int) -> float:
        """Return what the model says by now of a page, 0..1."""

    def new_strategy(self) -> Strategy:
        """Return a strategy that has seen nothing, for what the model says by now."""

    def learn(self, pages: Sequence[int]) -> None:
        """Make the model again with these *pages* as unlabelled ones."""


class _Present:
    """The relevance that a learner gives a page by now, by page number."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    def __getitem__(self, page: int) -> float:
        return self._learner.relevance(page)


def learning_visit(
    collection: Documents, learner: Learner, limits: Limits = NO_LIMITS, warm_up: int = WARM_UP_PAGES
) -> IntArray:
    """Visit *collection* as a crawl does that has a topic alone; return the page numbers in the order of the visit.

    The order of the warm-up, and when, from which pages and how the topic is learnt again, are those of the live crawl.
    """
    relevance: Any = _Present(learner)
    under_way = Visit(collection, learner.new_strategy(), relevance, limits)
    early, stage = EarlyOrder(lambda: learner.words), next_stage(0, warm_up)
    while under_way.goes_on:
        pages = under_way.pages
        if pages == stage:
            order = under_way.order.tolist()
            learner.learn([order[place] for place in unlabelled([collection.urls[page] for page in order], warm_up)])
            _begin_anew(under_way, learner.new_strategy(), collection)
            stage = next_stage(pages, warm_up)
        number = under_way.best(is_steady=pages < warm_up)
        if under_way.admits(number):
            scores, moved = under_way.show(number)
            if pages < warm_up:
                scores, moved = np.array(early.scores(collection.page(number).links), dtype=np.float64), {}
            under_way.enter(number, scores, moved)
    return under_way.order


def _begin_anew(under_way: Visit, strategy: Strategy, collection: Documents) -> None:
    """Go on under a fresh *strategy*, which is shown all pages so far with the relevance that they have by now."""
    under_way.strategy = strategy
    best = BestScores()
    for number in under_way.order.tolist():
        scores, moved = under_way.show(number)
        links = collection.page(number).links if strategy.reads_links else _Unread(collection.targets(number))
        best.add(links, scores.tolist(), moved)
    under_way.move(best.scores)


class _Budget:
    """What hosts and registered domains have left; only counted where there is a limit."""

    def __init__(self, collection: Documents, limits: Limits) -> None:
        self._counts: list[tuple[NDArray[np.int32], NDArray[np.int64], int]] = []
        hosts = collection.host_numbers if limits.per_host or limits.per_domain else np.zeros(0, np.int32)
        if limits.per_host:
            self._counts.append((hosts, np.zeros(len(collection.host_names), np.int64), limits.per_host))
        if limits.per_domain:
            numbers: dict[str, int] = {}
            names = map(registered_domain, collection.host_names)
            domains = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int32)
            self._counts.append((domains[hosts], np.zeros(len(numbers), np.int64), limits.per_domain))

    def admits(self, number: int) -> bool:
        if any(counts[groups[number]] >= most for groups, counts, most in self._counts):
            return False
        for groups, counts, _ in self._counts:
            counts[groups[number]] += 1
        return True

    def restore(self, order: NDArray[np.int32]) -> None:
        for groups, counts, _ in self._counts:
            counts[:] = np.bincount(groups[order], minlength=len(counts))


@cache
def registered_domain(host: str) -> str:
    """Return the registered domain of *host* (``www.ics.uci.edu`` -> ``uci.edu``), its name if it has none."""
    name = name_of(host)
    return _suffix_list().privatesuffix(name) or name


@cache
def _suffix_list() -> PublicSuffixList:
    return PublicSuffixList()
