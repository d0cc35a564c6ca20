"""Link-aware: what each link leads to, learnt from what the crawl's own links led to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.credit import GAMMA, Credit
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.link_head import LinkHead, shares
from scrapy_replica.focus.link_table import (
    ANCHOR,
    DIRECTORY,
    IN_LINKS,
    IS_FETCHED,
    MAX_RELEVANCE,
    PARENT,
    SUM_RELEVANCE,
    WORDS,
    LinkTable,
)
from scrapy_replica.focus.links import directories
from scrapy_replica.focus.outcomes import CHANCE, OUTCOMES, RETURN
from scrapy_replica.focus.strategies.hmm import MAX_DISTANCE, HmmDynamic
from scrapy_replica.focus.strategy import Account, Distance, Part, Strategy
from scrapy_replica.focus.term_regression import lengths
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from typing_extensions import Self

    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.focus.strategy import Needs
    from scrapy_replica.records import Link, Page

CHANCE_WEIGHTS = {
    "bias": -2.0,
    "parent": 1.5,
    "mean_parent": 0.0,
    "in_links": 0.0,
    "directory": 1.5,
    "host": 0.0,
    "anchor": 0.5,
    "children": 1.0,
    "neighbours": 0.5,
    "words": 1.5,
    "words_x_parent": 0.0,
    "directory_x_parent": 0.0,
    "children_x_parent": 0.0,
    "is_new": 0.3,
    "nearness": 0.5,
    "untried": 0.0,
    "page_words": 0.5,
    "link_words": 1.0,
    "way": 0.2,
}
"""Start weights. A directory that was never tried deserves a look (``is_new``): without it Pref is .936 instead of .946
on one topic with 3,000 unlabelled pages, and at most .001 apart on three others. What links with such words led to
(``link_words``) weighs as much as in the return: with .3 Pref is .786 instead of .799 in the mean of 13 visits of four
collections, and .79 instead of .87 where anchors alone tell the way. With the words of the page at 1 as well it is .58
instead of .70 on one of them."""
RETURN_WEIGHTS = CHANCE_WEIGHTS | {"parent": 0.0, "words": 0.0, "page_words": 1.0, "way": 0.5}
FREE = (("bias", "nearness", "way"), ("bias", "untried", "nearness", "page_words", "link_words", "way"))
"""Weights that are not held back by their start, of each head. With that of nearness held in the chance Pref is .689
instead of .742 in the mean of five topics of two collections, on each of them less; of four others one
loses by .02."""
HEADS = ("chance", "return")
MOST_LOG_ODDS = 6.0
"""What words may say for or against a link."""
SURPRISE = 0.3
"""Error from which on the links beside the one fetched are scored again."""
RISEN = 1.1
"""Least factor by which a score rises for a waiting URL to be moved."""
MOST_MOVED = 500
"""Most URLs moved at once, the best ones: each costs the crawl database some 30 us."""
FIRST_FIT = 60
GROWTH, MOST_PAGES_BETWEEN = 1.25, 10_000
"""The regressions are learnt anew, and all that waits is scored again, whenever the pages visited have grown by this
factor, or by so many ..."""
FITTED, MOST_COUNTED = 3_000, 10.0
"""... from so many pages and links, evenly spread, a page counting for so many of its links at most, in some .1 s;"""
SWEPT, REFRESHED = 4_096, 1_000
"""so many URLs after each page, in some 10 ms, once the pages are told anew what their words say, so many at a time."""


class LinkAware(Strategy):
    """Score = p + gamma V: the chance that the link's page is relevant, and the return of what lies behind it.

    Two online logistic models (heads) of the same features with means of their own outcomes: p learns the relevance of
    each page fetched, V the return of the page (:class:`Credit`) when a relevant page appears behind it, or when most
    of what was newly found through it was fetched: what is not explored yet says nothing.
    So the error of p never trains V. That is Rennie & McCallum 1999 done on the known graph while the crawl runs.

    Features of a waiting URL over all its known in-links: largest and mean relevance of the pages, their number; shrunk
    mean outcomes of its directory (backing off to parents, host, all), its host, its anchor text, the links followed on
    its best page and those within three places there; the relevance of anchor and URL words; the nearness of its
    best page to relevant ones, by the dynamic HMM; the URLs newly found on that page and not tried; what the words of
    that page, and those of the link, led to (regressions, learnt anew as the crawl grows); what V says of the link by
    which that page was found, so that two links in a row can tell the way (``way``); products. It begins as
    best-first with anchors does: groups without outcomes are alike, so page and words decide, and the start weights
    stand until outcomes outweigh them. A page that is a copy is no outcome.

    A URL found so long ago that it was forgotten is scored by its directory alone when it comes up, which stands for
    its pages and words. Memory: that of :class:`HmmStatic`, :class:`LinkTable` and :class:`Credit`, 20 bytes a page, 3
    MB of words, and a cache of the link words.
    """

    name: ClassVar[str] = "link-aware"

    def __init__(self, link_words: LinkWords, max_distance: int = MAX_DISTANCE, is_tfidf: bool = True) -> None:
        self._words = link_words
        self._graph = KnownGraph()
        self._table = LinkTable(self._graph)
        self._credit = Credit(self._graph)
        self._graph.pages.add_column("word_odds", np.float32, len(OUTCOMES))
        self._graph.pages.add_column("way", np.float32)
        starts = (CHANCE_WEIGHTS, RETURN_WEIGHTS)
        self._heads = tuple(LinkHead(start, free) for start, free in zip(starts, FREE, strict=True))
        self._distance = HmmDynamic(max_distance=max_distance, is_tfidf=is_tfidf, graph=self._graph)
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
        return cls(needs.read(cls.name), needs.hmm.max_distance, needs.hmm.is_tfidf)

    def visited(self, page: Page, relevance: float) -> None:
        relevance = relevance if math.isfinite(relevance) else 0.0
        self._distance.visited(page, relevance)
        self._relevance = relevance
        self._visited += 1
        row = int(self._table.rows([page.url])[0])
        self._tell_words(np.array([self._graph.pages.row(self._graph.page)]))
        if page.url == self._unproductive or self._table.fates[row, IS_FETCHED]:
            self._credit.ignore()
            return
        features = self._features(np.array([row]))
        self._tell_way(np.array([self._graph.pages.row(self._graph.page)]), np.array([row]), features[RETURN])
        self._tell(row, relevance, CHANCE, features)
        for finder, value in self._credit.fetched(row, relevance):
            self._tell_return(finder, value)

    def _tell_return(self, page: int, value: float) -> None:
        url = int(self._graph.pages["url"][self._graph.pages.row(page)])
        if row := self._graph.urls.row(url):
            self._tell(row, value, RETURN)

    def _tell(self, row: int, outcome: float, which: int, features: FloatArray | None = None) -> None:
        """Let a head learn an outcome of a link that was followed, and count it; *features* where they are known."""
        if self._table.facts[row, IN_LINKS]:
            head, of_heads = self._heads[which], self._features(np.array([row])) if features is None else features
            logits = head.model.logits(of_heads[which])
            expected = float(shares(logits)[0])
            head.model.learn(of_heads[which, 0], outcome, float(logits[0]))
            if abs(expected - outcome) > SURPRISE:
                self._rescore(self._table.siblings(row))
        self._table.tell(row, outcome, which)

    def unproductive(self, url: str) -> None:
        self._unproductive = url
        self._distance.unproductive(url)
        row = int(self._table.rows([url])[0])
        self._table.unproductive(row)
        for finder in self._credit.tried(row):
            self._tell_return(finder, 0.0)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        if not links:
            self._find(np.zeros(0, dtype=np.int64))
            return np.zeros(0)
        numbers = self._table.add_links(links, self._words(links), self._relevance)
        self._distance.inherit(numbers)
        rows = self._graph.urls.rows(numbers)
        self._find(rows[self._graph.urls["page"][rows] == 0])
        known = self._table.link_words
        for place in np.flatnonzero((known[rows, 0] == 0) & (rows > 0)).tolist():
            known[rows[place]] = self._words.buckets(links[place], place)
        return self._score(rows)

    def _find(self, rows: IntArray) -> None:
        for page in self._credit.found(rows):
            self._tell_return(page, 0.0)

    def rescored(self) -> dict[str, float]:
        if self._visited >= self._next_fit:
            self._next_fit = min(self._visited * GROWTH, self._visited + MOST_PAGES_BETWEEN)
            self._fit()
            self._refreshed, self._swept = 1, 0
        if self._refreshed:
            self._refresh()
        elif self._swept:
            self._sweep()
        moved, self._moved = self._moved, {}
        return moved

    def _fit(self) -> None:
        """Learn the regressions anew from the outcomes known by now."""
        pages, urls, fates = self._graph.pages, self._graph.urls, self._table.fates
        is_linked = self._table.facts[: urls.used, IN_LINKS] > 0
        for which, head in enumerate(self._heads):
            counts, sums = pages["outcomes"][: pages.used, 2 * which : 2 * which + 2].astype(np.float64).T
            rows = _spread(np.flatnonzero(counts > 0))
            if len(rows):
                counted = np.minimum(counts[rows], MOST_COUNTED)
                means = np.clip(sums[rows] / counts[rows], 0.0, 1.0)
                head.page_words.fit(self._terms(rows), counted, counted * means)
            rows = _spread(np.flatnonzero(is_linked & (fates[: urls.used, which] > 0)))
            if len(rows):
                outcomes = fates[rows, len(OUTCOMES) + which].astype(np.float64)
                head.link_words.fit(self._table.link_words[rows].astype(np.int64), np.ones(len(rows)), outcomes)

    def _terms(self, rows: IntArray) -> IntArray:
        """Return the terms of the pages in *rows*, numbered from 1, shape (n, ``TOP_TERMS``), 0 for none."""
        pages = self._graph.pages
        return np.where(pages["count"].take(rows, axis=0) > 0, pages["term"].take(rows, axis=0) + 1, 0)

    def _tell_words(self, rows: IntArray) -> None:
        """Write down what the words of the pages in *rows* say of their links."""
        terms = self._terms(rows)
        for which, head in enumerate(self._heads):
            self._graph.pages["word_odds"][rows, which] = head.page_words.log_odds(terms)

    def _tell_way(self, rows: IntArray, of: IntArray, features: FloatArray) -> None:
        """Write down what the return head says of the links by which the pages in *rows* were found.

        Their URLs lie in the rows *of*, and have these *features*.
        """
        model = self._heads[RETURN].model
        odds = model.logits(features) - model.weights[0]
        self._graph.pages["way"][rows] = np.where(self._table.facts[of, IN_LINKS] > 0, odds, 0.0)

    def _refresh(self) -> None:
        stop = self._refreshed + REFRESHED
        rows = np.arange(self._refreshed, min(stop, self._graph.pages.used))
        self._tell_words(rows)
        of = self._graph.urls.rows(self._graph.pages["url"][rows].astype(np.int64))
        self._tell_way(rows, of, self._features(of)[RETURN])
        self._refreshed = stop if stop < self._graph.pages.used else 0
        self._swept = 0 if self._refreshed else 1

    def _sweep(self) -> None:
        stop = self._swept + SWEPT
        rows = np.arange(self._swept, min(stop, self._graph.urls.used))
        self._rescore(rows[self._table.fates[rows, IS_FETCHED] == 0])
        self._swept = stop if stop < self._graph.urls.used else 0

    def scores_now(self, urls: Sequence[str]) -> FloatArray | None:
        return self._score(self._table.rows(urls), urls)

    def _rescore(self, rows: IntArray) -> None:
        """Move up those whose score has risen; one that has fallen is noticed when it is about to be fetched."""
        if not len(rows):
            return
        before = self._table.scores[rows]
        scores = self._score(rows)
        # Not what was asked for in between: what is learnt depends on the pages shown alone.
        risen = np.flatnonzero(scores > before * RISEN)
        if len(risen) > MOST_MOVED:
            risen = risen[np.argsort(-scores[risen])[:MOST_MOVED]]
        self._table.scores[rows] = before
        self._table.scores[rows[risen]] = scores[risen]
        urls = self._graph.urls.urls
        self._moved.update(zip((urls[row] for row in rows[risen].tolist()), scores[risen].tolist(), strict=True))

    def _score(self, rows: IntArray, urls: Sequence[str] = ()) -> FloatArray:
        each = zip(self._heads, self._features(rows, urls), strict=True)
        chance, returned = shares(np.array([head.model.logits(features) for head, features in each]))
        scores: FloatArray = chance + GAMMA * returned
        self._table.scores[rows] = scores
        return scores

    def _features(self, rows: IntArray, urls: Sequence[str] = ()) -> FloatArray:
        """Return the features of both heads, shape (2, n, features); *urls* where some may be forgotten (row 0)."""
        table, pages = self._table, self._graph.pages
        facts, groups = table.facts.take(rows, axis=0).astype(np.float64).T[None], table.groups.take(rows, axis=0).T
        forgotten = (rows == 0).nonzero()[0] if len(urls) else rows[:0]
        for place in forgotten.tolist():
            groups[DIRECTORY, place] = table.directories.find(directories(urls[place]))
        directory, host, tried = table.directories.means(groups[DIRECTORY])
        if len(forgotten):
            facts = facts.repeat(len(OUTCOMES), axis=0)
            facts[:, :, forgotten] = directory[:, None, forgotten]
        everywhere = table.directories.added()
        in_links = np.maximum(facts[:, IN_LINKS], 1.0)
        parent, words = facts[:, MAX_RELEVANCE], facts[:, WORDS]
        parents = pages.rows(groups[PARENT])
        children = table.parent_means(parents, everywhere)
        fates = table.neighbour_fates(rows).T
        link_words = table.link_words.take(rows, axis=0)
        of_length = lengths(link_words)
        # One row a feature, so that those of a URL lie apart, as its head reads them.
        columns = np.empty((len(OUTCOMES), len(CHANCE_WEIGHTS), len(rows)))
        columns[:, 0] = 1.0
        columns[:, 1] = parent
        columns[:, 2] = facts[:, SUM_RELEVANCE] / in_links
        columns[:, 3] = np.log(in_links)
        columns[:, 4] = directory
        columns[:, 5] = host
        columns[:, 6] = table.anchors.means(groups[ANCHOR], everywhere)
        columns[:, 7] = children
        columns[:, 8] = (fates[len(OUTCOMES) :] + children) / (fates[: len(OUTCOMES)] + 1.0)
        columns[:, 9] = words
        columns[:, 10] = words * parent
        columns[:, 11] = directory * parent
        columns[:, 12] = children * parent
        columns[:, 13] = 1.0 / np.sqrt(1.0 + tried)
        columns[:, 14] = pages["near"].take(parents)
        columns[:, 15] = np.log1p(np.maximum(0, pages["new"].take(parents) - pages["tried"].take(parents)))
        columns[:, 16] = pages["word_odds"].take(parents, axis=0).T
        for which, head in enumerate(self._heads):
            columns[which, 17] = head.link_words.log_odds(link_words, of_length)
        columns[:, 18] = pages["way"].take(parents)
        said = columns[:, 16:]
        np.minimum(np.maximum(said, -MOST_LOG_ODDS, out=said), MOST_LOG_ODDS, out=said)
        return columns.swapaxes(1, 2)

    def account(self, url: str, score: float, relevance: float) -> Account | None:  # noqa: ARG002 - known here
        rows = self._table.rows([url])
        if not self._table.facts[rows[0], IN_LINKS]:
            return None
        parts, log_odds = [], []
        for head, values, name, weight in zip(self._heads, self._features(rows), HEADS, (1.0, GAMMA), strict=True):
            parts.append(Part(name, float(shares(head.model.logits(values))[0]), weight))
            each = zip(head.names, values[0].tolist(), head.model.weights.tolist(), strict=True)
            log_odds.append([Part(*one) for one in each])
        page = self._graph.pages["url"][self._graph.pages.row(int(self._table.groups[rows[0], PARENT]))]
        parent = self._graph.urls.urls[self._graph.urls.row(int(page))] or None
        return Account(parts, parent, log_odds)

    def distance(self, url: str) -> Distance | None:
        return self._distance.distance(url)

    def distances_told(self) -> Mapping[str, int]:
        return self._distance.distances_told()

    def learnt(self) -> dict[str, Any]:
        kept = self._distance.context.terms.common()
        heads = {name: head.learnt(kept) for name, head in zip(HEADS, self._heads, strict=True)}
        return {"layers": self._distance.context.learnt(kept), **heads}

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        self._distance.begin_with(learnt)
        for name, head in zip(HEADS, self._heads, strict=True):
            if name in learnt:
                head.begin_with(learnt[name])

    def state(self) -> dict[str, Any]:
        return {
            "graph": self._graph.state(),
            "distance": self._distance.own_state(),
            "table": self._table.state(),
            **{name: head.state() for name, head in zip(HEADS, self._heads, strict=True)},
            "visited": self._visited,
            "next_fit": self._next_fit,
            "refreshed": self._refreshed,
            "swept": self._swept,
            "relevance": self._relevance,
            "unproductive": self._unproductive,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._graph.restore(state["graph"])
        self._distance.restore_own(state["distance"])
        self._table.restore(state["table"])
        for name, head in zip(HEADS, self._heads, strict=True):
            head.restore(state[name])
        self._visited, self._next_fit = state["visited"], state["next_fit"]
        self._refreshed, self._swept = state["refreshed"], state["swept"]
        self._relevance, self._unproductive = state["relevance"], state["unproductive"]


def _spread(rows: IntArray) -> IntArray:
    """Return at most ``FITTED`` of *rows*, evenly spread."""
    if len(rows) <= FITTED:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, FITTED).astype(np.int64)])
