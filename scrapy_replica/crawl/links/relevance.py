"""The topic that a crawl has learnt."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.focus.links import finite
from scrapy_replica.focus.relevance import Relevance as Model
from scrapy_replica.records import Page

Terms = Mapping[str, int]

Fit = Callable[[list[Terms]], Model]
"""Unlabelled pages -> relevance model."""

KEY = "relevance model"


class Relevance:
    """The relevance model, kept in the crawl database. Without one nothing is relevant."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self._fit: Fit | None = None
        self._model: Model | None = None
        if (state := db.meta(KEY)) is not None:
            self._load(state)

    def _load(self, state: bytes) -> None:
        self._model = Model()
        self._model.load(state)

    def take(self, state: bytes) -> None:
        """Take the model of another crawl. Raises ``ValueError`` where *state* is none."""
        try:
            self._load(state)
        except Exception:  # noqa: BLE001 - of bytes that are no model anything may come
            raise ValueError("its relevance model is damaged") from None
        self._db.set_meta(KEY, state)

    @property
    def is_learnt(self) -> bool:
        return self._model is not None

    def learn(self, fit: Fit) -> None:
        """Take the model that *fit* makes of the user's examples, unless one was learnt before."""
        self._fit = fit
        if self._model is None:
            self.relearn([])

    def relearn(self, unlabelled: list[Terms]) -> bool:
        """Make the model again with *unlabelled* pages of this crawl beside the background; ``False`` without topic.

        They show what every page of these sites says.
        """
        if self._fit is None:
            return False
        self._model = self._fit(unlabelled)
        self._db.set_meta(KEY, self._model.save())
        return True

    def of(self, page: Page) -> float:
        """Return the probability that *page* is on topic, 0..1."""
        return self.of_terms(page.terms)

    def of_terms(self, terms: Terms) -> float:
        """Return the probability that text with these *terms* is on topic, 0..1; 0 where the model has no answer."""
        return finite(self._model.relevance(terms)) if self._model is not None else 0.0
