"""The topic that a crawl has learnt."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence

from scrapy_replica.crawl.topic.marks import Marks, Terms
from scrapy_replica.crawldb.contract import RELEVANCE, CrawlDB
from scrapy_replica.crawldb.visits import Visit
from scrapy_replica.focus.links import finite
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.scorer import Scorer
from scrapy_replica.records import Page

UNLABELLED = "unlabelled pages"


Fit = Callable[[Sequence[Terms], Sequence[Terms], Sequence[Terms]], Relevance]
"""Makes a model of the user's examples, beside unlabelled pages and those that a person said yes and no to; raises
``ValueError`` where nothing can be learnt."""

Choose = Callable[[Sequence[tuple[str, Terms]]], None]
"""Takes pages of the crawl for examples, from URL and terms of those that were seen."""


class CrawlRelevance:
    """The relevance model, kept in the crawl database, and a person's marks. Without a model nothing is relevant."""

    def __init__(self, db: CrawlDB, scorer: Scorer | None = None) -> None:
        self._db, self._scorer = db, scorer
        self._fit: Fit | None = None
        self.choose: Choose | None = None
        """What takes pages for examples, of a topic in words."""
        self._model: Relevance | None = None
        self.marks = Marks(db)
        self.version = 0
        """Grows with each new model."""
        if (state := db.meta(RELEVANCE)) is not None:
            self._load(state)

    def _load(self, state: bytes) -> None:
        self._model = Relevance()
        self._model.load(state)

    def take(self, state: bytes) -> None:
        """Take the model of another crawl. Raises ``ValueError`` where *state* is none."""
        try:
            self._load(state)
        except Exception:  # noqa: BLE001 - of bytes that are no model anything may come
            raise ValueError("its relevance model is damaged") from None
        self._db.set_meta(RELEVANCE, state)

    @property
    def is_learnt(self) -> bool:
        return self._model is not None

    def learn(self, fit: Fit, choose: Choose | None = None) -> None:
        """Take the model that *fit* makes of the user's examples, unless one was learnt before.

        Of a topic in words *choose* takes pages of the crawl for examples.
        """
        self._fit, self.choose = fit, choose
        if self._model is None:
            self._learn(fit, [])

    def relearn(self, unlabelled: list[Terms] | None = None) -> bool:
        """Make the model again with *unlabelled* pages of this crawl beside the background; ``False`` without topic.

        They show what every page of these sites says. Without them those of the last time are taken, for the marks.
        Raises ``ValueError`` where nothing can be learnt from these.
        """
        if self._fit is None:
            return False
        if unlabelled is None:
            unlabelled = _read(self._db.meta(UNLABELLED))
        else:
            self._db.set_meta(UNLABELLED, zlib.compress(json.dumps(unlabelled).encode(), 1))
        self.marks.begin()
        self._learn(self._fit, unlabelled)
        return True

    def _learn(self, fit: Fit, unlabelled: Sequence[Terms]) -> None:
        self._model = fit(unlabelled, *self.marks.terms())
        self.version += 1
        if self._db.is_leader:
            self._db.set_meta(RELEVANCE, self._model.save())

    def read_again(self) -> None:
        if (state := self._db.meta(RELEVANCE)) is not None:
            self._load(state)
            self.version += 1

    def of(self, page: Page) -> float:
        """Return the probability that *page* is on topic, 0..1; what a person said of it where it is marked.

        Where the user has a scorer, that has the last word but for the person.
        """
        marked = self.marks.relevance(page.url)
        if marked is not None:
            return marked
        relevance = self.of_terms(page.terms)
        return relevance if self._scorer is None else self._scorer(page, relevance)

    def of_visit(self, visit: Visit) -> float:
        """Return the same of a page that was visited; a scorer is not asked once more."""
        marked = self.marks.relevance(visit.url)
        if marked is not None:
            return marked
        return self.of_terms(visit.terms) if self._scorer is None else finite(visit.relevance or 0.0)

    def have_no_topic(self) -> None:
        """Take note that the scorer alone says what is relevant: by its text no page is."""
        if self._model is None:
            self._model = Relevance.of_nothing()
            self._db.set_meta(RELEVANCE, self._model.save())

    def of_terms(self, terms: Terms) -> float:
        """Return the probability that text with these *terms* is on topic, 0..1; 0 where the model has no answer."""
        return finite(self._model.relevance(terms)) if self._model is not None else 0.0


def _read(packed: bytes | None) -> list[Terms]:
    found: list[Terms] = json.loads(zlib.decompress(packed)) if packed is not None else []
    return found
