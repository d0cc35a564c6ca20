"""Link-aware: what each link leads to, learnt from what the crawl's own links led to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import mmh3
import numpy as np

from scrapy_replica.focus.link_table import LinkTable
from scrapy_replica.focus.online import DenseModel, HashedModel, sigmoid
from scrapy_replica.focus.state import pack, unpack
from scrapy_replica.focus.strategies.hmm import HmmDynamic
from scrapy_replica.focus.strategy import FloatArray, Strategy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.focus.link_table import IntArray
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
RATE = 0.05
BONUS = 0.3
"""Added over sqrt(1 + outcomes in the directory): a directory that was never tried deserves a look."""
SURPRISE = 0.3
"""Error from which on the links beside the one fetched are scored again."""
GROWTH = 1.1
"""All that waits is scored again whenever the pages visited have grown by this factor."""
HUB_BITS = 18
HUB_TERMS = 40


class LinkAware(Strategy):
    """Score = logit of an online logistic model of the relevance of each link's target, + a bonus for the unknown.

    Features of a waiting URL over all its known in-links: largest and mean relevance of the pages, their number,
    shrunk mean outcomes of its directory (backing off to parents, host, all), its host, its anchor text, the links
    followed on its best page and those within three places there; the relevance of anchor and URL words; what pages
    with the best page's terms led to; the nearness to relevant pages that the dynamic HMM estimates; products. One
    AdaGrad step a fetched page, on its relevance. Mean Pref over five topics of three labelled crawls, three draws:
    .929; best-first .875, with anchors .887.

    Memory: about 700 bytes a URL found, 1.6 kB a visited page, 16 bytes a link; at most ``link_table.MOST_URLS`` URLs.
    :meth:`save` returns all of it but the context graph of earlier pages, about 60 bytes a URL.
    """

    name: ClassVar[str] = "link-aware"

    def __init__(self, link_words: LinkWords) -> None:
        self._words = link_words
        self._table = LinkTable()
        self._model = DenseModel(list(START_WEIGHTS.values()), RATE)
        self._distance = HmmDynamic()
        self._hub = HashedModel(HUB_BITS, 0.05, -2.0)
        self._hub_terms: dict[int, IntArray] = {}
        self._moved: dict[str, float] = {}
        self._visited = 0
        self._next_sweep = 100.0
        self._page = 0
        self._relevance = 0.0

    def visited(self, page: Page, relevance: float) -> None:
        relevance = relevance if math.isfinite(relevance) else 0.0
        table = self._table
        self._distance.visited(page, relevance)
        row = table.id_of(page.url)
        self._page, self._relevance = row, relevance
        self._visited += 1
        if row and table["in_links"][row]:
            self._learn(row, relevance)
        table.fetched(row, relevance)
        self._hub_terms[row] = _hashed(page.terms)

    def _learn(self, row: int, relevance: float) -> None:
        features = self._features(np.array([row]))
        logit = float(self._model.logits(features)[0])
        self._model.learn(features[0], relevance, logit)
        parent = int(self._table["parent"][row])
        if parent in self._hub_terms:
            self._hub.learn(self._hub_terms[parent], relevance)
        if abs(sigmoid(logit) - relevance) > SURPRISE:
            self._rescore(self._table.siblings(row))

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:
        if not links:
            return np.zeros(0)
        self._distance.scores(page, links)
        hub = sigmoid(self._hub.logit(self._hub_terms[self._page]))
        near = self._distance.nearness
        rows = self._table.add_links(self._page, links, self._words(links), self._relevance, hub, near)
        return self._score(rows)

    def rescored(self) -> dict[str, float]:
        if self._visited >= self._next_sweep:
            self._next_sweep = self._visited * GROWTH
            self._rescore(self._table.waiting())
        moved, self._moved = self._moved, {}
        return moved

    def scores_now(self, urls: Sequence[str]) -> FloatArray | None:
        return self._score(np.array([self._table.ids.get(url, 0) for url in urls]))

    def save(self) -> bytes:
        numbers = np.array(list(self._hub_terms), dtype=np.int64)
        lengths = np.array([len(words) for words in self._hub_terms.values()], dtype=np.int64)
        parts = {f"table.{key}": value for key, value in self._table.state().items()}
        parts |= {f"hub.{key}": value for key, value in self._hub.state().items()}
        parts |= {"model": self._model.state(), "distance": self._distance.save(), "hub_pages": numbers}
        parts |= {
            "hub_lengths": lengths,
            "hub_words": np.concatenate([np.zeros(0, np.int64), *self._hub_terms.values()]),
        }
        return pack(parts | {"visited": self._visited, "next_sweep": self._next_sweep})

    def load(self, state: bytes) -> None:
        parts = unpack(state)
        below = {key: value for key, value in parts.items() if key.startswith("table.")}
        self._table.restore({key.removeprefix("table."): value for key, value in below.items()})
        self._hub.restore({key.removeprefix("hub."): value for key, value in parts.items() if key.startswith("hub.")})
        self._model.restore(parts["model"])
        self._distance.load(parts["distance"])
        words = np.split(parts["hub_words"], np.cumsum(parts["hub_lengths"])[:-1]) if len(parts["hub_pages"]) else []
        self._hub_terms = dict(zip(parts["hub_pages"].tolist(), words, strict=True))
        self._visited, self._next_sweep = int(parts["visited"]), float(parts["next_sweep"])

    def _rescore(self, rows: IntArray) -> None:
        if len(rows):
            urls = self._table.urls
            self._moved.update(zip((urls[row] for row in rows.tolist()), self._score(rows).tolist(), strict=True))

    def _score(self, rows: IntArray) -> FloatArray:
        tried = self._table.directories.counts(self._table["directory"][rows])
        return self._model.logits(self._features(rows)) + BONUS / np.sqrt(1.0 + tried)

    def _features(self, rows: IntArray) -> FloatArray:
        table = self._table
        groups = table["directory"][rows]
        directory, host = table.directories.means(groups)
        everywhere = table.directories.mean
        in_links = table["in_links"][rows].astype(np.float64)
        parent = table["max_relevance"][rows]
        children = table.parents.means(table["parent"][rows], everywhere)
        words = table["words"][rows]
        return np.column_stack(
            [
                np.ones(len(rows)),
                parent,
                table["sum_relevance"][rows] / np.maximum(in_links, 1.0),
                np.log(np.maximum(in_links, 1.0)),
                directory,
                host,
                table.anchors.means(table["anchor"][rows], everywhere),
                children,
                table.neighbour_means(rows, children),
                words,
                words * parent,
                directory * parent,
                children * parent,
                1.0 / np.sqrt(1.0 + table.directories.counts(groups)),
                table["hub"][rows],
                table["nearness"][rows],
            ]
        )


def _hashed(terms: Mapping[str, int]) -> IntArray:
    counts = sorted(terms.items(), key=lambda item: -item[1])[:HUB_TERMS]
    return np.array([mmh3.hash(term, signed=False) & ((1 << HUB_BITS) - 1) for term, _ in counts], dtype=np.int64)
