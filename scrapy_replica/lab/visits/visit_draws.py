"""Draws of a topic: examples, unlabelled pages, and what the model that learnt from them says of every page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.links import LinkWords, finite
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.visits.relevance_rows import relevance_of_rows
from scrapy_replica.lab.visits.visit_variants import Variant, new
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.pages.terms import terms as count_terms


@dataclass(frozen=True)
class Draw:
    """Examples of one draw, and the topic that is learnt from them."""

    labelled: BoolArray
    """Which pages are examples, shape (n,)."""
    topic: TopicAlone


class TopicAlone:
    """A topic given by examples, learnt against *background* and the pages of the visit; see ``Learner``."""

    def __init__(self, collection: Documents, examples: Sequence[int], background: Background) -> None:
        self._collection, self._background = collection, background
        self._positives = [collection.terms(page) for page in examples]
        self.variant, self.seed = Variant("breadth-first"), 0
        self.learn(())

    def learn(self, pages: Sequence[int]) -> None:
        """Make the model again with these *pages* as unlabelled ones."""
        self._model = Relevance()
        self._model.fit(self._positives, self._background.with_documents(map(self._collection.terms, pages)))
        self.words = LinkWords(self._model.relevance, count_terms)

    def new_strategy(self) -> Strategy:
        """Return a new strategy of the variant and seed that were set."""
        return new(self.variant, self.seed, self.words)

    def relevance(self, page: int) -> float:
        """Return what the model says by now of a page, 0..1."""
        return finite(self._model.relevance(self._collection.terms(page)))

    def of_all_pages(self) -> FloatArray:
        """Return what the model says of every page, shape (n,); read in order, some 10 us a page."""
        from tqdm import tqdm  # noqa: PLC0415 - an extra

        model, size = relevance_of_rows(self._model, self._collection.vocabulary), len(self._collection)
        found, first = np.zeros(size), 0
        bar: Any
        with tqdm(total=size, desc="relevance", unit=" pages", leave=False, disable=None) as bar:
            for batch in self._collection.batches():
                stop = first + len(batch)
                found[first:stop] = model(batch.term_start, batch.term_ids, batch.term_counts)
                bar.update(stop - first)
                first = stop
        return np.nan_to_num(found)


def draw(collection: Documents, relevant: BoolArray, seed: int, labelled: int, background: int) -> Draw:
    """Draw the examples among the relevant pages and the background among all others, labels unseen.

    With a *background* of 0 there are the shipped term statistics alone, as for a user who gives examples and no more.
    Raises ``ValueError`` if the topic has fewer than two pages: one is an example, one must be left to be found.
    """
    examples, sample = drawn_pages(relevant, seed, labelled, background)
    mask = np.zeros(len(collection), dtype=bool)
    mask[examples] = True
    pages = map(collection.terms, sample.tolist())
    unlabelled = Background.from_documents(pages) if background else Background.shipped()
    return Draw(mask, TopicAlone(collection, examples.tolist(), unlabelled))


def drawn_pages(relevant: BoolArray, seed: int, labelled: int, background: int) -> tuple[IntArray, IntArray]:
    """Return the numbers of the examples and of the unlabelled pages, see :func:`draw`."""
    chance = np.random.default_rng(seed)
    positive = np.flatnonzero(relevant)
    if len(positive) < 2:
        raise ValueError(f"the topic has {len(positive)} page(s); at least two are needed, one of them to be found")
    examples = chance.choice(positive, min(labelled, len(positive) // 2), replace=False)
    rest = np.setdiff1d(np.arange(len(relevant)), examples)
    return examples, chance.choice(rest, min(background, len(rest) // 2), replace=False)
