"""What a link is scored by: outcomes of its groups and neighbours, the distance of its page, what words led to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from scrapy_replica.focus.link_head import LinkHead
from scrapy_replica.focus.link_table import (
    ANCHOR,
    DIRECTORY,
    IN_LINKS,
    MAX_RELEVANCE,
    PARENT,
    SUM_RELEVANCE,
    WORDS,
    LinkTable,
)
from scrapy_replica.focus.links import directories
from scrapy_replica.focus.outcomes import OUTCOMES, RETURN
from scrapy_replica.focus.term_regression import lengths
from scrapy_replica.numeric import FloatArray, IntArray

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
"""Weights that are not held back by their start, of each head. With that of nearness held in the chance what waits is
ordered worse: after the same 1,200 pages the area under ROC is .017 lower in the mean of twelve draws of four
collections, .002 higher in one of these."""
SAID, MOST_LOG_ODDS = 3, 6.0
"""The last so many features, what words and the way say, are log odds; each may say so much for or against a link."""
FITTED, MOST_COUNTED = 3_000, 10.0
"""The regressions are learnt from so many pages and links, evenly spread, in some .1 s; a page counts for so many of
its links at most."""


class LinkFeatures:
    """The features of the URLs in a *table*, and the two ``heads`` that learn from them.

    Of a waiting URL, over all its known in-links: largest and mean relevance of the pages, their number; shrunk
    mean outcomes of its directory (backing off to parents, host, all), its host, its anchor text, the links followed on
    its best page and those within three places there; the relevance of anchor and URL words; the nearness of its
    best page to relevant ones, by the dynamic HMM; the URLs newly found on that page and not tried; what the words of
    that page, and those of the link, led to (regressions, learnt anew as the crawl grows); what the return head says of
    the link by which that page was found, so that two links in a row can tell the way (``way``); products.

    Memory: 12 bytes a page and 3 MB of words, besides *table*.
    """

    def __init__(self, table: LinkTable) -> None:
        self._table, self._graph = table, table.graph
        starts = (CHANCE_WEIGHTS, RETURN_WEIGHTS)
        self.heads = tuple(LinkHead(start, free) for start, free in zip(starts, FREE, strict=True))
        self._graph.pages.add_column("word_odds", np.float32, len(OUTCOMES))
        self._graph.pages.add_column("way", np.float32)

    def of(self, rows: IntArray, urls: Sequence[str] = ()) -> FloatArray:
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
        values = {
            "bias": 1.0,
            "parent": parent,
            "mean_parent": facts[:, SUM_RELEVANCE] / in_links,
            "in_links": np.log(in_links),
            "directory": directory,
            "host": host,
            "anchor": table.anchors.means(groups[ANCHOR], everywhere),
            "children": children,
            "neighbours": (fates[len(OUTCOMES) :] + children) / (fates[: len(OUTCOMES)] + 1.0),
            "words": words,
            "words_x_parent": words * parent,
            "directory_x_parent": directory * parent,
            "children_x_parent": children * parent,
            "is_new": 1.0 / np.sqrt(1.0 + tried),
            "nearness": pages["near"].take(parents),
            "untried": np.log1p(np.maximum(0, pages["new"].take(parents) - pages["tried"].take(parents))),
            "page_words": pages["word_odds"].take(parents, axis=0).T,
            "link_words": [head.link_words.log_odds(link_words, of_length) for head in self.heads],
            "way": pages["way"].take(parents),
        }
        # One row a feature, so that those of a URL lie apart, as its head reads them.
        columns = np.empty((len(OUTCOMES), len(values), len(rows)))
        for place, name in enumerate(CHANCE_WEIGHTS):
            columns[:, place] = values[name]
        said = columns[:, -SAID:]
        np.minimum(np.maximum(said, -MOST_LOG_ODDS, out=said), MOST_LOG_ODDS, out=said)
        return columns.swapaxes(1, 2)

    def fit(self) -> None:
        """Learn the regressions anew from the outcomes known by now."""
        pages, urls, fates = self._graph.pages, self._graph.urls, self._table.fates
        is_linked = self._table.facts[: urls.used, IN_LINKS] > 0
        for which, head in enumerate(self.heads):
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

    def tell_words(self, rows: IntArray) -> None:
        """Write down what the words of the pages in *rows* say of their links."""
        terms = self._terms(rows)
        of_length = lengths(terms)
        for which, head in enumerate(self.heads):
            self._graph.pages["word_odds"][rows, which] = head.page_words.log_odds(terms, of_length)

    def tell_way(self, rows: IntArray, of: IntArray, features: FloatArray) -> None:
        """Write down what the return head says of the links by which the pages in *rows* were found.

        Their URLs lie in the rows *of*, and have these *features*.
        """
        model = self.heads[RETURN].model
        odds = model.logits(features) - model.weights[0]
        self._graph.pages["way"][rows] = np.where(self._table.facts[of, IN_LINKS] > 0, odds, 0.0)


def _spread(rows: IntArray) -> IntArray:
    """Return at most ``FITTED`` of *rows*, evenly spread."""
    if len(rows) <= FITTED:
        return rows
    return np.asarray(rows[np.linspace(0, len(rows) - 1, FITTED).astype(np.int64)])
