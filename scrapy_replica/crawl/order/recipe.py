"""What the strategy of a job is made of, and how it is made again from what the job keeps of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from scrapy_replica.address import host_of
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawldb.contract import RELEVANCE
from scrapy_replica.crawldb.visits import Visit
from scrapy_replica.focus import strategies
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.model_file import OtherModelError, load
from scrapy_replica.focus.own_strategy import OwnStrategy
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import as_numbers
from scrapy_replica.pages.terms import terms as count_terms
from scrapy_replica.records import Link, Page

if TYPE_CHECKING:
    from scrapy_replica.crawldb.contract import CrawlDB
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

RECIPE, MODEL = "strategy", "model"
"""Keys of what is kept: the recipe, and the file of the model that the crawl began with."""

Job: TypeAlias = "CrawlDB | SqliteReader"
"""Of which a strategy is made again."""

OfTerms = Callable[[Mapping[str, int]], float]
"""Stem counts -> relevance."""


class Recipe(NamedTuple):
    """Name and settings of a strategy."""

    name: str
    seed: int
    language: str

    @classmethod
    def of(cls, config: Config, name: str) -> Recipe:
        return cls(name, config.seed, config.default_language)

    @classmethod
    def kept(cls, db: Job) -> Recipe | None:
        if (found := db.meta(RECIPE)) is None:
            return None
        return cls(*json.loads(found))

    def dump(self) -> bytes:
        """Return what :meth:`kept` reads."""
        return json.dumps(self).encode()

    def make(
        self, relevance: OfTerms, model: bytes | None, counts: Counter[str] | None = None
    ) -> tuple[Strategy, LinkWords]:
        """Return a fresh strategy, begun with the file of a *model*, and what it reads links with.

        *counts* has the failures of one that the user wrote.

        :raises ConfigError: there is no such strategy, or the model was learnt with other settings.
        """
        words = LinkWords(relevance, partial(count_terms, language=self.language))
        try:
            strategy = strategies.make(self.name, self.seed, words)
            if ":" in self.name:
                strategy = OwnStrategy(strategy, self.name, Counter() if counts is None else counts)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if model is not None:
            try:
                strategy.begin_with(load(model).strategy)
            except OtherModelError as error:
                raise ConfigError(f"REPLICA_TOPIC_MODEL (--model): {error}") from None
            except Exception:  # noqa: BLE001 - of a model that somebody made anything may come
                raise ConfigError("REPLICA_TOPIC_MODEL (--model): it is damaged") from None
        return strategy, words

    def try_out(self, relevance: OfTerms, model: bytes) -> None:
        """Raise ``ConfigError`` where a strategy that began with *model* could not judge pages and their links."""
        strategy, _ = self.make(relevance, model)
        try:
            terms = load(model).strategy.get("layers", {}).get("terms", {}).get("terms", ["wine"])[:100]
            for number in range(5):
                urls = [f"http://tried.example/{number + step}" for step in range(1, 4)]
                page = Page(f"http://tried.example/{number}", "tried.example", terms=dict.fromkeys(terms, 1))
                strategy.visited(page, number % 2)
                scores = [*strategy.scores(page, [Link(url, "wine") for url in urls]), *strategy.rescored().values()]
                now = strategy.scores_now(urls)
                if not np.isfinite([*scores, *(() if now is None else now)]).all():
                    raise ValueError("scores that are no numbers")
        except Exception:  # noqa: BLE001 - the same
            raise ConfigError("REPLICA_TOPIC_MODEL (--model): it is damaged") from None


def show(strategy: Strategy, visit: Visit, last: Page | None) -> tuple[Page | None, list[float]]:
    """Show *strategy* a visit; return its page, *last* where it is none or more of that page, and its links' scores.

    More links of a page are left out where another process's page came between: the strategy would take them for its.
    """
    if visit.is_unproductive:
        strategy.unproductive(visit.url)
        return last, []
    if visit.relevance is None and last is not None and last.url != visit.url:
        return last, []
    if visit.relevance is not None or last is None:
        last = Page(visit.url, host_of(visit.url), terms=visit.terms)
        strategy.visited(last, visit.relevance or 0.0)
    return last, as_numbers(strategy.scores(last, visit.links))


def made_again(db: Job) -> Strategy | None:
    """Return the strategy of a job as it is now: its checkpoint, and the pages since; ``None`` before it has one.

    That takes as long as those pages took the first time, 10 s at most. One that remembers no pages is fresh.
    """
    recipe = Recipe.kept(db)
    if recipe is None:
        return None
    strategy, _ = recipe.make(relevance_model(db).relevance, db.meta(MODEL))
    if (pieces := db.visits.checkpoint(strategy.name)) is not None:
        strategy.load(pieces)
    last = None
    for visit in db.visits.tail():
        last, _ = show(strategy, visit, last)
        if not visit.is_unproductive:
            strategy.rescored()
    return strategy


def relevance_model(db: Job) -> Relevance:
    """Return the relevance model of a job, one that finds nothing relevant where it has none."""
    model = Relevance()
    if (state := db.meta(RELEVANCE)) is not None:
        model.load(state)
    return model
