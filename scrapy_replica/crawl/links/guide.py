"""What steers a crawl: the relevance model and the strategy, the warm-up of both, and what they learnt from."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np

from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.links.recipe import MODEL, RECIPE, Recipe, show
from scrapy_replica.crawl.links.relevance import Relevance
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.visits import Visit
from scrapy_replica.focus import strategies
from scrapy_replica.focus.early_order import EarlyOrder
from scrapy_replica.focus.model_file import load
from scrapy_replica.focus.relearning import BestScores, next_stage, unlabelled
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.records import Link, Page

logger = logging.getLogger(__name__)

WITH_TOPIC, WITHOUT_TOPIC = "link-aware", "breadth-first"
"""What ``auto`` stands for."""

STAGE = "stage"
"""Key of the number of pages at which the topic was learnt last."""


class Guide:
    """Shows the strategy each page once, in one order, and keeps what is needed to have its state back.

    When the relevance model is learnt anew, at the end of the warm-up and later
    (:mod:`~scrapy_replica.focus.relearning`), a fresh strategy is shown all pages so far with their new relevance. When
    that is over, a strategy that remembers pages is saved now and then (``Visits.is_due``), piece by piece between
    pages, and when a crawl is resumed a fresh one loads that checkpoint and is shown the pages since. Rows are written
    in the transaction of their page; strategies that do not remember pages need no more of them then.
    """

    def __init__(self, config: Config, db: CrawlDB) -> None:
        self._config, self._db, self._visits = config, db, db.visits
        self.relevance = Relevance(db)
        self._model = self._begun_with(db)
        self._recipe = Recipe.of(config, self._name())
        self._recipe.check(Recipe.kept(db))
        self._strategy = self._new_strategy()
        if db.meta(RECIPE) != (recipe := self._recipe.dump()):
            db.set_meta(RECIPE, recipe)
        if self._model is not None and db.meta(MODEL) is None:
            db.set_meta(MODEL, self._model)
        self._last: Page | None = None
        self._early_order = EarlyOrder(lambda: self._words)
        self._best = BestScores()
        self._moved: dict[str, float] = {}
        self.shown = 0
        """Pages that the strategy was shown; while it stands still, so do the present scores."""
        past = db.meta(STAGE)
        learns = self._strategy.warms_up and self._model is None
        self._stage = self._stage_after(int(past) if past is not None else 0) if learns else None
        self.is_warming_up = self._stage is not None and past is None
        self._resume()

    def _begun_with(self, db: CrawlDB) -> bytes | None:
        """Return the file of the model that the job began with, which it keeps."""
        file, config = db.meta(MODEL), self._config
        if config.topic is not None and (config.model is not None or file is not None):
            raise ConfigError(
                "REPLICA_TOPIC is set, and the model of the crawl holds a topic as well: give one of them"
            )
        if config.model is None or file is not None:
            return file
        if db.meta(RECIPE) is not None:
            raise ConfigError("REPLICA_MODEL: the crawl began without a model; give another JOBDIR")
        try:
            file = config.model.read_bytes()
            self.relevance.take(load(file).relevance)
        except (ValueError, OSError) as error:
            told = error.strerror if isinstance(error, OSError) else error
            raise ConfigError(f"REPLICA_MODEL: {config.model}: {told}") from None
        return file

    def _name(self) -> str:
        config = self._config
        has_topic = config.topic is not None or self._model is not None
        name = config.strategy
        if name == "auto":
            name = WITH_TOPIC if has_topic else WITHOUT_TOPIC
        known = strategies.STRATEGIES.get(name)
        if known is not None and known.needs_topic and not has_topic:
            raise ConfigError(
                f"REPLICA_STRATEGY is {name}, which needs a topic: set REPLICA_TOPIC (--topic), or choose breadth-first"
            )
        return name

    def _new_strategy(self) -> Strategy:
        strategy, self._words = self._recipe.make(self.relevance.of_terms, self._model)
        return strategy

    def _stage_after(self, pages: int) -> int | None:
        stage = next_stage(pages, self._config.warmup_pages)
        return stage if pages == 0 or self._config.topic is not None else None

    @property
    def is_learning(self) -> bool:
        """The topic will be learnt anew."""
        return self._stage is not None and self._config.topic is not None

    @property
    def _keeps_visits(self) -> bool:
        return self._stage is not None or (self._strategy.remembers and self._visits.lasts)

    def _resume(self) -> None:
        if (pieces := self._visits.checkpoint(self._strategy.name)) is not None:
            self._strategy.load(pieces)
        for count, visit in enumerate(self._visits.tail(), 1):
            if count == 1:
                logger.info("Showing the strategy the pages since its checkpoint")
            if self.is_warming_up:
                self._early_order.scores(visit.links)
            self._show(visit)

    def _show(self, visit: Visit) -> list[float]:
        self.shown += 1
        self._last, scores = show(self._strategy, visit, self._last)
        if visit.is_wasted:
            return []
        self._moved = self._strategy.rescored()
        if self.is_warming_up:
            self._best.add(visit.links, scores, self._moved)
        return scores

    def distances_told(self) -> Mapping[str, int]:
        """Return how good the estimated distances were, as the strategy says."""
        return self._strategy.distances_told()

    def scores(self, page: Page, relevance: float, links: Sequence[Link]) -> tuple[list[float], dict[str, float]]:
        """Show the strategy a *page* and return the scores of its *links*, and new ones of URLs found earlier.

        In the warm-up they are those of :class:`EarlyOrder`, and 0 for a strategy without topic. More links of the page
        shown last may follow in a second call.
        """
        is_same = self._last is not None and page.url == self._last.url
        visit = Visit(page.url, None, {}, links) if is_same else Visit(page.url, relevance, page.terms, links)
        scores = self._keep_and_show(visit)
        if self.is_warming_up:
            return self._early_order.scores(links) if self._strategy.needs_topic else [0.0] * len(links), {}
        return scores, self._moved

    def wasted(self, url: str) -> None:
        """Show the strategy that fetching *url* brought nothing new; where it was a page after all, before that."""
        self._keep_and_show(Visit(url, None, {}, (), is_wasted=True))

    def _keep_and_show(self, visit: Visit) -> list[float]:
        if self._keeps_visits:
            if self._stage is None and self._visits.is_due and visit.relevance is not None:
                self._visits.begin(self._strategy.name, self._strategy.save())
            self._visits.add(visit)
            self._visits.work()
        return self._show(visit)

    def scores_now(self, urls: Sequence[str]) -> list[float] | None:
        """Return the present scores of waiting *urls*; ``None`` where what they have stands."""
        if self.is_warming_up:
            return None
        scores = self._strategy.scores_now(urls)
        return None if scores is None else np.nan_to_num(scores).tolist()

    def is_due(self, pages: int) -> bool:
        """Tell whether after so many *pages* the topic is to be learnt anew, or the warm-up ends."""
        return self._stage is not None and pages >= self._stage

    def learn_anew(self) -> dict[str, float]:
        """Learn the topic anew and show a fresh strategy the pages so far; the warm-up is over.

        Return URL -> best score of the links shown so far, but for those of the warm-up that score 0 and did before.
        """
        assert self._stage is not None
        was_early, self.is_warming_up = self.is_warming_up, False
        best, self._best = self._best.scores, BestScores()
        if self.relevance.relearn(self._unlabelled()):
            best = self._show_again()
        self._db.set_meta(STAGE, str(self._stage).encode())
        self._stage = self._stage_after(self._stage)
        if not self._keeps_visits:
            self._visits.clear()
        moved = self._early_order.end() if was_early else set()
        return {url: score for url, score in best.items() if score or not was_early or url in moved}

    def _unlabelled(self) -> list[Mapping[str, int]]:
        urls = [visit.url for visit in self._visits.tail() if visit.relevance is not None]
        places = set(unlabelled(urls, self._config.warmup_pages))
        pages = (visit for visit in self._visits.tail() if visit.relevance is not None)
        return [visit.terms for place, visit in enumerate(pages) if place in places]

    def _show_again(self) -> dict[str, float]:
        """Show a fresh strategy the pages so far with their new relevance; return the best score of each link."""
        self._strategy, self._last = self._new_strategy(), None
        best, relevances = BestScores(), []
        for visit in self._visits.tail():
            if visit.relevance is not None:
                relevances.append(self.relevance.of_terms(visit.terms))
            shown = visit if visit.relevance is None else visit._replace(relevance=relevances[-1])
            best.add(shown.links, self._show(shown), self._moved)
        self._visits.judge(relevances)
        return best.scores
