"""Link-aware: what each link leads to, learnt from what the crawl's own links led to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_replica.focus.layers import MOST_TERMS
from scrapy_replica.focus.link_table import (
    ANCHOR,
    DIRECTORY,
    HUB,
    IN_LINKS,
    MAX_RELEVANCE,
    NEARNESS,
    PARENT,
    PLACE,
    SUM_RELEVANCE,
    WORDS,
    LinkTable,
)
from scrapy_replica.focus.online import DenseModel, TermModel
from scrapy_replica.focus.strategies.hmm import HmmDynamic
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray, IntArray, sigmoid

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    "is_new": 0.0,
    "hub": 1.0,
    "nearness": 0.5,
}
IS_NEW = list(START_WEIGHTS).index("is_new")
ALPHA = 0.5
"""Of the HMM that gives the feature: the nearer page is the parent, half by distance and half by relevance."""
RATE = 0.05
BONUS = 0.3
"""Added over sqrt(1 + outcomes in the directory): a directory that was never tried deserves a look."""
SURPRISE = 0.3
"""Error from which on the links beside the one fetched are scored again."""
RISEN = 0.1
"""Least rise of a score for which a waiting URL is moved."""
MOST_MOVED = 2_000
"""Most URLs moved at once, the best ones: each costs the crawl database some 30 us."""
GROWTH = 1.1
"""All that waits is scored again whenever the pages visited have grown by this factor."""


class LinkAware(Strategy):
    """Score = logit of an online logistic model of the relevance of each link's target, + a bonus for the unknown.

    Features of a waiting URL over all its known in-links: largest and mean relevance of the pages, their number,
    shrunk mean outcomes of its directory (backing off to parents, host, all), its host, its anchor text, the links
    followed on its best page and those within three places there; the relevance of anchor and URL words; what pages
    with the best page's terms led to; the nearness to relevant pages that the dynamic HMM estimates; products. One
    AdaGrad step a fetched page, on its relevance. Mean Pref over five topics of three labelled crawls, three draws:
    .934; best-first .882, with anchors .901.

    Memory: 540 bytes a URL found, 2 kB a visited page of 12 links (measured at 100,000 pages); at most
    ``frontier.MOST_URLS`` URLs.
    """

    name: ClassVar[str] = "link-aware"

    def __init__(self, link_words: LinkWords) -> None:
        self._words = link_words
        self._table = LinkTable()
        self._model = DenseModel(list(START_WEIGHTS.values()), RATE)
        self._distance = HmmDynamic(alpha=ALPHA, urls=self._table.ids)
        self._hub = TermModel(MOST_TERMS, 0.05, -2.0)
        self._moved: dict[str, float] = {}
        self._visited = 0
        self._next_sweep = 100.0
        self._page = 0
        self._relevance = 0.0

    def visited(self, page: Page, relevance: float) -> None:
        relevance = relevance if math.isfinite(relevance) else 0.0
        table = self._table
        row = table.id_of(page.url)
        self._distance.visited(page, relevance)
        self._page, self._relevance = row, relevance
        self._visited += 1
        if row and table.facts[row, IN_LINKS]:
            self._learn(row, relevance)
        table.fetched(row, relevance)

    def _learn(self, row: int, relevance: float) -> None:
        features = self._features(np.array([row]))
        logit = float(self._model.logits(features)[0])
        self._model.learn(features[0], relevance, logit)
        parent = int(self._table.groups[row, PARENT])
        if parent:
            self._hub.learn(self._distance.graph.terms_of(parent), relevance)
        if abs(sigmoid(logit) - relevance) > SURPRISE:
            self._rescore(self._table.siblings(row))

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        if not links:
            return np.zeros(0)
        hub = sigmoid(self._hub.logit(self._distance.graph.terms_of(self._page)))
        near = self._distance.nearness
        rows = self._table.add_links(self._page, links, self._words(links), self._relevance, hub, near)
        self._distance.inherit(rows.tolist())
        return self._score(rows)

    def rescored(self) -> dict[str, float]:
        if self._visited >= self._next_sweep:
            self._next_sweep = self._visited * GROWTH
            self._rescore(self._table.waiting())
        moved, self._moved = self._moved, {}
        return moved

    def scores_now(self, urls: Sequence[str]) -> FloatArray | None:
        return self._score(np.array([self._table.ids.numbers.get(url, 0) for url in urls], dtype=np.int64))

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
        urls = self._table.urls
        self._moved.update(zip((urls[row] for row in rows[risen].tolist()), scores[risen].tolist(), strict=True))

    def _score(self, rows: IntArray) -> FloatArray:
        features = self._features(rows)
        scores: FloatArray = self._model.logits(features) + BONUS * features[:, IS_NEW]
        self._table.scores[rows] = scores
        return scores

    def _features(self, rows: IntArray) -> FloatArray:
        table = self._table
        facts, groups = table.facts[rows].astype(np.float64).T, table.groups[rows].T
        directory, host, tried = table.directories.means(groups[DIRECTORY])
        everywhere = table.directories.mean
        in_links = np.maximum(facts[IN_LINKS], 1.0)
        parent, words = facts[MAX_RELEVANCE], facts[WORDS]
        children = table.parents.means(groups[PARENT], everywhere)
        columns = np.empty((len(START_WEIGHTS), len(rows)))
        columns[0] = 1.0
        columns[1] = parent
        columns[2] = facts[SUM_RELEVANCE] / in_links
        columns[3] = np.log(in_links)
        columns[4] = directory
        columns[5] = host
        columns[6] = table.anchors.means(groups[ANCHOR], everywhere)
        columns[7] = children
        columns[8] = table.neighbour_means(groups[PLACE], children)
        columns[9] = words
        columns[10] = words * parent
        columns[11] = directory * parent
        columns[12] = children * parent
        columns[IS_NEW] = 1.0 / np.sqrt(1.0 + tried)
        columns[14] = facts[HUB]
        columns[15] = facts[NEARNESS]
        return columns.T
