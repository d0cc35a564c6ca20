"""Link-aware: what each link leads to, learnt from what the crawl's own links led to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.credit import GAMMA, Credit
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.link_features import LinkFeatures
from scrapy_replica.focus.link_head import shares
from scrapy_replica.focus.link_table import IN_LINKS, IS_FETCHED, PARENT, LinkTable
from scrapy_replica.focus.links import finite
from scrapy_replica.focus.outcomes import CHANCE, RETURN
from scrapy_replica.focus.strategies.hmm import HmmDynamic
from scrapy_replica.focus.strategies.layered import MOST_MOVED
from scrapy_replica.focus.strategy import Account, Distance, Part, Strategy
from scrapy_replica.numeric import FloatArray, IntArray, sigmoid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Self

    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.focus.strategy import Needs
    from scrapy_replica.records import Link, Page

HEADS = ("chance", "return")
SURPRISE = 0.3
"""Error from which on the links beside the one fetched are scored again."""
RISEN = 1.1
"""Least factor by which a score rises for a waiting URL to be moved."""
FIRST_FIT = 60
GROWTH, MOST_PAGES_BETWEEN = 1.25, 10_000
"""The regressions are learnt anew, and all that waits is scored again, whenever the pages visited have grown by this
factor, or by so many ..."""
SWEPT, REFRESHED = 4_096, 1_000
"""so many URLs after each page, in some 10 ms, once the pages are told anew what their words say, so many at a time."""


class LinkAware(Strategy):
    """Score = p + gamma V: the chance that the link's page is relevant, and the return of what lies behind it.

    Two online logistic models (heads) of the same features with means of their own outcomes: p learns the relevance of
    each page fetched, V the return of the page (:class:`Credit`) when a relevant page appears behind it, or when most
    of what was newly found through it was fetched: what is not explored yet says nothing.
    So the error of p never trains V. That is Rennie & McCallum 1999 done on the known graph while the crawl runs.

    It begins as best-first with anchors does: of the features (:class:`LinkFeatures`) groups without outcomes are
    alike, so page and words decide, and the start weights stand until outcomes outweigh them. A page that is a copy is
    no outcome.

    A URL found so long ago that it was forgotten is scored by its directory alone when it comes up, which stands for
    its pages and words. Memory: that of :class:`HmmStatic`, :class:`LinkTable`, :class:`LinkFeatures` and
    :class:`Credit`, and a cache of the link words.
    """

    name: ClassVar[str] = "link-aware"

    def __init__(self, link_words: LinkWords) -> None:
        self._words = link_words
        self.graph = KnownGraph()
        self.table = LinkTable(self.graph)
        self._credit = Credit(self.graph)
        self.features = LinkFeatures(self.table)
        self.heads = self.features.heads
        self.hmm = HmmDynamic(graph=self.graph)
        self._moved: dict[str, float] = {}
        self._visited = 0
        self._next_fit = float(FIRST_FIT)
        self._refreshed = self._swept = 0
        """Row of pages, and of URLs, from which on the sweep under way goes on, 0 if there is none."""
        self._relevance = 0.0
        self._unproductive = ""
        """The URL that brought nothing new last."""

    @classmethod
    def made(cls, needs: Needs) -> Self:
        return cls(needs.read(cls.name))

    def visited(self, page: Page, relevance: float) -> None:
        relevance = finite(relevance)
        self.hmm.visited(page, relevance)
        self._relevance = relevance
        self._visited += 1
        row = int(self.table.rows([page.url])[0])
        self.features.tell_words(np.array([self.graph.pages.row(self.graph.page)]))
        if page.url == self._unproductive or self.table.fates[row, IS_FETCHED]:
            self._credit.ignore()
            return
        features = self.features.of(np.array([row]))
        self.features.tell_way(np.array([self.graph.pages.row(self.graph.page)]), np.array([row]), features[RETURN])
        self._tell(row, relevance, CHANCE, features)
        for finder, value in self._credit.fetched(row, relevance):
            self._tell_return(finder, value)

    def _tell_return(self, page: int, value: float) -> None:
        url = int(self.graph.pages["url"][self.graph.pages.row(page)])
        if row := self.graph.urls.row(url):
            self._tell(row, value, RETURN)

    def _tell(self, row: int, outcome: float, which: int, features: FloatArray | None = None) -> None:
        """Let a head learn an outcome of a link that was followed, and count it; *features* where they are known."""
        if self.table.facts[row, IN_LINKS]:
            head, of_heads = self.heads[which], self.features.of(np.array([row])) if features is None else features
            logit = float(head.model.logits(of_heads[which])[0])
            head.model.learn(of_heads[which, 0], outcome, logit)
            if abs(sigmoid(logit) - outcome) > SURPRISE:
                self._rescore(self.table.siblings(row))
        self.table.tell(row, outcome, which)

    def unproductive(self, url: str) -> None:
        self._unproductive = url
        self.hmm.unproductive(url)
        row = int(self.table.rows([url])[0])
        self.table.unproductive(row)
        for finder in self._credit.tried(row):
            self._tell_return(finder, 0.0)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        if not links:
            self._find(np.zeros(0, dtype=np.int64))
            return np.zeros(0)
        numbers = self.table.add_links(links, self._words(links), self._relevance)
        self.hmm.inherit(numbers)
        rows = self.graph.urls.rows(numbers)
        self._find(rows[self.graph.urls["page"][rows] == 0])
        known = self.table.link_words
        for place in np.flatnonzero((known[rows, 0] == 0) & (rows > 0)).tolist():
            known[rows[place]] = self._words.buckets(links[place], place)
        return self._score(rows)

    def _find(self, rows: IntArray) -> None:
        for page in self._credit.found(rows):
            self._tell_return(page, 0.0)

    def rescored(self) -> dict[str, float]:
        if self._visited >= self._next_fit:
            self._next_fit = min(self._visited * GROWTH, self._visited + MOST_PAGES_BETWEEN)
            self.features.fit()
            self._refreshed, self._swept = 1, 0
        if self._refreshed:
            self._refresh()
        elif self._swept:
            self._sweep()
        moved, self._moved = self._moved, {}
        return moved

    def _refresh(self) -> None:
        stop = self._refreshed + REFRESHED
        rows = np.arange(self._refreshed, min(stop, self.graph.pages.used))
        self.features.tell_words(rows)
        of = self.graph.urls.rows(self.graph.pages["url"][rows].astype(np.int64))
        self.features.tell_way(rows, of, self.features.of(of)[RETURN])
        self._refreshed = stop if stop < self.graph.pages.used else 0
        self._swept = 0 if self._refreshed else 1

    def _sweep(self) -> None:
        stop = self._swept + SWEPT
        rows = np.arange(self._swept, min(stop, self.graph.urls.used))
        self._rescore(rows[self.table.fates[rows, IS_FETCHED] == 0])
        self._swept = stop if stop < self.graph.urls.used else 0

    def scores_now(self, urls: Sequence[str]) -> FloatArray | None:
        return self._score(self.table.rows(urls), urls)

    def _rescore(self, rows: IntArray) -> None:
        """Move up those whose score has risen; one that has fallen is noticed when it is about to be fetched."""
        if not len(rows):
            return
        before = self.table.scores[rows]
        scores = self._score(rows)
        # Not what was asked for in between: what is learnt depends on the pages shown alone.
        risen = np.flatnonzero(scores > before * RISEN)
        if len(risen) > MOST_MOVED:
            risen = risen[np.argsort(-scores[risen])[:MOST_MOVED]]
        self.table.scores[rows] = before
        self.table.scores[rows[risen]] = scores[risen]
        urls = self.graph.urls.urls
        self._moved.update(zip((urls[row] for row in rows[risen].tolist()), scores[risen].tolist(), strict=True))

    def _score(self, rows: IntArray, urls: Sequence[str] = ()) -> FloatArray:
        each = zip(self.heads, self.features.of(rows, urls), strict=True)
        chance, returned = shares(np.array([head.model.logits(features) for head, features in each]))
        scores: FloatArray = chance + GAMMA * returned
        self.table.scores[rows] = scores
        return scores

    def account(self, url: str, score: float, relevance: float) -> Account | None:  # noqa: ARG002 - known here
        rows = self.table.rows([url])
        if not self.table.facts[rows[0], IN_LINKS]:
            return None
        parts, log_odds = [], []
        for head, values, name, weight in zip(self.heads, self.features.of(rows), HEADS, (1.0, GAMMA), strict=True):
            parts.append(Part(name, float(shares(head.model.logits(values))[0]), weight))
            each = zip(head.names, values[0].tolist(), head.model.weights.tolist(), strict=True)
            log_odds.append([Part(*one) for one in each])
        page = self.graph.pages["url"][self.graph.pages.row(int(self.table.groups[rows[0], PARENT]))]
        parent = self.graph.urls.urls[self.graph.urls.row(int(page))] or None
        return Account(parts, parent, log_odds)

    def distance(self, url: str) -> Distance | None:
        return self.hmm.distance(url)

    def distances_told(self) -> Mapping[str, int]:
        return self.hmm.distances_told()

    def learnt(self) -> dict[str, Any]:
        kept = self.hmm.context.terms.common()
        heads = {name: head.learnt(kept) for name, head in zip(HEADS, self.heads, strict=True)}
        return {"layers": self.hmm.context.learnt(kept), **heads}

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        self.hmm.begin_with(learnt)
        for name, head in zip(HEADS, self.heads, strict=True):
            if name in learnt:
                head.begin_with(learnt[name])

    def state(self) -> dict[str, Any]:
        return {
            "graph": self.graph.state(),
            "distance": self.hmm.own_state(),
            "table": self.table.state(),
            **{name: head.state() for name, head in zip(HEADS, self.heads, strict=True)},
            "visited": self._visited,
            "next_fit": self._next_fit,
            "refreshed": self._refreshed,
            "swept": self._swept,
            "relevance": self._relevance,
            "unproductive": self._unproductive,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.graph.restore(state["graph"])
        self.hmm.restore_own(state["distance"])
        self.table.restore(state["table"])
        for name, head in zip(HEADS, self.heads, strict=True):
            head.restore(state[name])
        self._visited, self._next_fit = state["visited"], state["next_fit"]
        self._refreshed, self._swept = state["refreshed"], state["swept"]
        self._relevance, self._unproductive = state["relevance"], state["unproductive"]
