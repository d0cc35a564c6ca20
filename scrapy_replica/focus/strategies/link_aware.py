"""Link-aware: what each link leads to, learnt from what the crawl's own links led to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.layers import MOST_TERMS
from scrapy_replica.focus.link_table import (
    ANCHOR,
    DIRECTORY,
    HUB,
    IN_LINKS,
    IS_FETCHED,
    MAX_RELEVANCE,
    NEARNESS,
    PARENT,
    SUM_RELEVANCE,
    WORDS,
    LinkTable,
)
from scrapy_replica.focus.links import BUCKETS, directories
from scrapy_replica.focus.model_file import OtherModelError
from scrapy_replica.focus.online import DenseModel, TermModel
from scrapy_replica.focus.strategies.hmm import MAX_DISTANCE, HmmDynamic
from scrapy_replica.focus.strategy import Account, Distance, Part, Strategy
from scrapy_replica.numeric import FloatArray, IntArray, sigmoid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.focus.links import LinkWords
    from scrapy_replica.records import Link, Page

START_WEIGHTS = {
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
    "hub": 1.0,
    "nearness": 0.5,
    "link_words": 0.5,
}
"""A directory that was never tried deserves a look (``is_new``): without it Pref is .936 instead of .946 on one
topic with 3,000 unlabelled pages, and at most .001 apart on three others."""
PRECISION = 1_000.0
"""Of the start weights, see :class:`DenseModel`. With a topic alone, relevant pages among the first 250, 500, 1,250 and
2,500 of a campus web, four draws of 30 examples: 86, 183, 310, 330; with 300 88, 177, 286, 330; with 100 85, 191, 281,
296; with weights that never move 86, 160, 283, 349; best-first with anchors 80, 153, 252, 311. Pref on another web,
two draws: .888, .883, .879, .839 and .878. With AdaGrad steps instead .89 on four topics where 100 has .905."""
SURPRISE = 0.3
"""Error from which on the links beside the one fetched are scored again."""
RISEN = 0.1
"""Least rise of a score for which a waiting URL is moved."""
MOST_MOVED = 500
"""Most URLs moved at once, the best ones: each costs the crawl database some 30 us."""
GROWTH, MOST_PAGES_BETWEEN = 1.1, 10_000
"""All that waits is scored again whenever the pages visited have grown by this factor, or by so many ..."""
SWEPT = 4_096
"""... so many URLs after each page, in some 10 ms."""


class LinkAware(Strategy):
    """Score = logit of an online logistic model of the relevance of each link's target.

    Features of a waiting URL over all its known in-links: largest and mean relevance of the pages, their number,
    shrunk mean outcomes of its directory (backing off to parents, host, all), its host, its anchor text, the links
    followed on its best page and those within three places there; the relevance of anchor and URL words; what pages
    with the best page's terms led to; the nearness to relevant pages that the dynamic HMM estimates; what links with
    its words, and at its place, led to (a term model over hashed stems of anchor and URL: the mean share of the topic
    found over the first quarter of a visit .698 instead of .681, seven visits, four topics); products. One
    step a fetched page, on its relevance. It begins as best-first with anchors does: groups without outcomes are alike,
    so page and words decide, and the start weights stand until outcomes outweigh them. A page that is a copy is no
    outcome. Mean Pref over five topics of three labelled crawls, two or three draws: .940; best-first .883, with
    anchors .900.

    A URL found so long ago that it was forgotten is scored by its directory alone when it comes up, which stands for
    its pages and words. Memory: that of :class:`HmmStatic` and :class:`LinkTable`, and a cache of the link words;
    measured without the 10 MB of hashed words 284 MB after 100,000 pages of 20 links, 299 MB after 200,000.
    """

    name: ClassVar[str] = "link-aware"

    def __init__(self, link_words: LinkWords, max_distance: int = MAX_DISTANCE, is_tfidf: bool = True) -> None:
        self._words = link_words
        self._graph = KnownGraph()
        self._table = LinkTable(self._graph)
        self._model = DenseModel(list(START_WEIGHTS.values()), PRECISION)
        self._distance = HmmDynamic(max_distance=max_distance, is_tfidf=is_tfidf, graph=self._graph)
        self._hub = TermModel(MOST_TERMS, 0.05, -2.0)
        self._link_words = TermModel(BUCKETS, 0.1, -2.0)
        self._moved: dict[str, float] = {}
        self._visited = 0
        self._next_sweep = 100.0
        self._swept = 0
        """Row from which on the sweep under way goes on, 0 if there is none."""
        self._relevance = 0.0
        self._wasted = ""
        """The URL that brought nothing new last."""

    def visited(self, page: Page, relevance: float) -> None:
        relevance = relevance if math.isfinite(relevance) else 0.0
        self._distance.visited(page, relevance)
        self._relevance = relevance
        self._visited += 1
        row = int(self._table.rows([page.url])[0])
        if page.url == self._wasted:
            return
        if self._table.facts[row, IN_LINKS]:
            self._learn(row, relevance)
        self._table.fetched(row, relevance)

    def wasted(self, url: str) -> None:
        self._wasted = url
        self._distance.wasted(url)
        self._table.wasted(int(self._table.rows([url])[0]))

    def _learn(self, row: int, relevance: float) -> None:
        features = self._features(np.array([row]))
        logit = float(self._model.logits(features)[0])
        self._model.learn(features[0], relevance, logit)
        words = self._table.link_words[row].astype(np.int64)
        self._link_words.learn(words[words > 0], relevance)
        parent = int(self._table.groups[row, PARENT])
        if self._graph.pages.row(parent):
            self._hub.learn(self._distance.context.terms_of(parent), relevance)
        if abs(sigmoid(logit) - relevance) > SURPRISE:
            self._rescore(self._table.siblings(row))

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        if not links:
            return np.zeros(0)
        hub = sigmoid(self._hub.logit(self._distance.context.terms_of(self._graph.page)))
        near = self._distance.nearness
        numbers = self._table.add_links(links, self._words(links), self._relevance, hub, near)
        self._distance.inherit(numbers)
        rows = self._graph.urls.rows(numbers)
        known = self._table.link_words
        for place in np.flatnonzero((known[rows, 0] == 0) & (rows > 0)).tolist():
            known[rows[place]] = self._words.buckets(links[place], place)
        return self._score(rows)

    def rescored(self) -> dict[str, float]:
        if self._visited >= self._next_sweep:
            self._next_sweep = min(self._visited * GROWTH, self._visited + MOST_PAGES_BETWEEN)
            self._swept = 1
        if self._swept:
            self._sweep()
        moved, self._moved = self._moved, {}
        return moved

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
        risen = np.flatnonzero(scores > before + RISEN)
        if len(risen) > MOST_MOVED:
            risen = risen[np.argsort(-scores[risen])[:MOST_MOVED]]
        self._table.scores[rows] = before
        self._table.scores[rows[risen]] = scores[risen]
        urls = self._graph.urls.urls
        self._moved.update(zip((urls[row] for row in rows[risen].tolist()), scores[risen].tolist(), strict=True))

    def _score(self, rows: IntArray, urls: Sequence[str] = ()) -> FloatArray:
        features = self._features(rows, urls)
        scores = self._model.logits(features)
        self._table.scores[rows] = scores
        return scores

    def _features(self, rows: IntArray, urls: Sequence[str] = ()) -> FloatArray:
        """Return the features, shape (n, features); *urls* where some may be forgotten (row 0)."""
        table = self._table
        facts, groups = table.facts[rows].astype(np.float64).T, table.groups[rows].T
        forgotten = np.flatnonzero(rows == 0) if len(urls) else rows[:0]
        for place in forgotten.tolist():
            groups[DIRECTORY, place] = table.directories.find(directories(urls[place]))
        directory, host, tried = table.directories.means(groups[DIRECTORY])
        facts[:, forgotten] = directory[forgotten]
        everywhere = table.directories.mean
        in_links = np.maximum(facts[IN_LINKS], 1.0)
        parent, words = facts[MAX_RELEVANCE], facts[WORDS]
        children = table.parent_means(groups[PARENT], everywhere)
        columns = np.empty((len(START_WEIGHTS), len(rows)))
        columns[0] = 1.0
        columns[1] = parent
        columns[2] = facts[SUM_RELEVANCE] / in_links
        columns[3] = np.log(in_links)
        columns[4] = directory
        columns[5] = host
        columns[6] = table.anchors.means(groups[ANCHOR], everywhere)
        columns[7] = children
        columns[8] = table.neighbour_means(rows, children)
        columns[9] = words
        columns[10] = words * parent
        columns[11] = directory * parent
        columns[12] = children * parent
        columns[13] = 1.0 / np.sqrt(1.0 + tried)
        columns[14] = facts[HUB]
        columns[15] = facts[NEARNESS]
        columns[16] = 1.0 / (1.0 + np.exp(-self._link_words.logits(table.link_words[rows].astype(np.int64))))
        return columns.T

    def account(self, url: str, score: float, relevance: float) -> Account | None:  # noqa: ARG002 - known here
        rows = self._table.rows([url])
        if not self._table.facts[rows[0], IN_LINKS]:
            return None
        values = self._features(rows)[0].tolist()
        parts = [Part(*each) for each in zip(START_WEIGHTS, values, self._model.weights.tolist(), strict=True)]
        page = self._graph.pages["url"][self._graph.pages.row(int(self._table.groups[rows[0], PARENT]))]
        parent = self._graph.urls.urls[self._graph.urls.row(int(page))] or None
        return Account(parts, parent)

    def distance(self, url: str) -> Distance | None:
        return self._distance.distance(url)

    def distances_told(self) -> Mapping[str, int]:
        return self._distance.distances_told()

    def learnt(self) -> dict[str, Any]:
        kept = self._distance.context.terms.common()
        model = {"names": list(START_WEIGHTS), "weights": self._model.weights.copy()}
        own = {"hub": self._hub.learnt(kept), "link_words": self._link_words.learnt(np.arange(BUCKETS))}
        return {"layers": self._distance.context.learnt(kept), "links": model, **own}

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        self._distance.begin_with(learnt)
        if "links" not in learnt:
            return
        if learnt["links"]["names"] != list(START_WEIGHTS):
            raise OtherModelError("its link model has other features than this version of scrapy-replica")
        self._model.weights = learnt["links"]["weights"]
        self._hub.begin_with(learnt["hub"])
        self._link_words.begin_with(learnt["link_words"])

    def state(self) -> dict[str, Any]:
        return {
            "graph": self._graph.state(),
            "distance": self._distance.own_state(),
            "table": self._table.state(),
            "model": self._model.state(),
            "hub": self._hub.state(),
            "link_words": self._link_words.state(),
            "visited": self._visited,
            "next_sweep": self._next_sweep,
            "swept": self._swept,
            "relevance": self._relevance,
            "wasted": self._wasted,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self._graph.restore(state["graph"])
        self._distance.restore_own(state["distance"])
        self._table.restore(state["table"])
        self._model.restore(state["model"])
        self._hub.restore(state["hub"])
        self._link_words.restore(state["link_words"])
        self._visited, self._next_sweep = state["visited"], state["next_sweep"]
        self._swept, self._relevance, self._wasted = state["swept"], state["relevance"], state["wasted"]
