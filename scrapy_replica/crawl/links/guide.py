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
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.records import Link, Page

logger = logging.getLogger(__name__)

WITH_BACKGROUND, WITH_TOPIC, WITHOUT_TOPIC = "link-aware", "best-first-anchors", "breadth-first"
"""What ``auto`` stands for. With 3,000 unlabelled pages, mean Pref over five topics of three labelled crawls, three
draws: link-aware .93, best-first-anchors .90, best-first .88, breadth-first .69. With the shipped statistics alone
relevance is too flat to learn links from: of a campus crawl's first 500 pages 180 were relevant with
best-first-anchors, 166 with best-first, 41 to 86 with link-aware."""


class Guide:
    """Shows the strategy each page once, in one order, and keeps what is needed to have its state back.

    At the end of the warm-up, when the relevance model is learnt anew, a fresh strategy is shown the warm-up's pages
    with their new relevance. Later a strategy that remembers pages is saved now and then (``Visits.is_due``), piece by
    piece between pages, and when a crawl is resumed a fresh one loads that checkpoint and is shown the pages since.
    Rows are written in the transaction of their page; strategies that do not remember pages need none after the
    warm-up.
    """

    def __init__(self, config: Config, db: CrawlDB) -> None:
        self._config, self._visits = config, db.visits
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
        self._early: list[Visit] = []
        self._early_order = EarlyOrder(lambda: self._words)
        self._best: dict[str, float] = {}
        self._moved: dict[str, float] = {}
        self.shown = 0
        """Pages that the strategy was shown; while it stands still, so do the present scores."""
        is_early = db.pages.count(config.warmup_pages) < config.warmup_pages
        self.is_warming_up = is_early and self._strategy.warms_up and self._model is None
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
            learns = config.background is not None or self._model is not None
            name = (WITH_BACKGROUND if learns else WITH_TOPIC) if has_topic else WITHOUT_TOPIC
        known = strategies.STRATEGIES.get(name)
        if known is not None and known.needs_topic and not has_topic:
            raise ConfigError(
                f"REPLICA_STRATEGY is {name}, which needs a topic: set REPLICA_TOPIC (--topic), or choose breadth-first"
            )
        return name

    def _new_strategy(self) -> Strategy:
        strategy, self._words = self._recipe.make(self.relevance.of_terms, self._model)
        return strategy

    def _resume(self) -> None:
        if (pieces := self._visits.checkpoint(self._strategy.name)) is not None:
            self._strategy.load(pieces)
        for count, visit in enumerate(self._visits.tail(), 1):
            if count == 1:
                logger.info("Showing the strategy the pages since its checkpoint")
            if self.is_warming_up:
                self._early_order.scores(visit.links)
                self._warm_up(visit)
            else:
                self._show(visit)

    def _show(self, visit: Visit) -> list[float]:
        self.shown += 1
        self._last, scores = show(self._strategy, visit, self._last)
        self._moved = self._strategy.rescored()
        return scores

    def distances_told(self) -> Mapping[str, int]:
        """Return how good the estimated distances were, as the strategy says."""
        return self._strategy.distances_told()

    def _warm_up(self, visit: Visit) -> None:
        """Show a page of the warm-up and keep it, and the best score of each link so far."""
        self._early.append(visit)
        for link, score in zip(visit.links, self._show(visit), strict=True):
            self._best[link.url] = max(score, self._best.get(link.url, score))
        self._best |= {url: score for url, score in self._moved.items() if url in self._best}

    def scores(self, page: Page, relevance: float, links: Sequence[Link]) -> tuple[list[float], dict[str, float]]:
        """Show the strategy a *page* and return the scores of its *links*, and new ones of URLs found earlier.

        In the warm-up they are those of :class:`EarlyOrder`, and 0 for a strategy without topic. More links of the page
        shown last may follow in a second call.
        """
        is_same = self._last is not None and page.url == self._last.url
        visit = Visit(page.url, None, {}, links) if is_same else Visit(page.url, relevance, page.terms, links)
        if self.is_warming_up:
            self._visits.add(visit)
            self._warm_up(visit)
            return self._early_order.scores(links) if self._strategy.needs_topic else [0.0] * len(links), {}
        if self._strategy.remembers:
            if self._visits.is_due and not is_same:
                self._visits.begin(self._strategy.name, self._strategy.save())
            self._visits.add(visit)
            self._visits.work()
        return self._show(visit), self._moved

    def scores_now(self, urls: Sequence[str]) -> list[float] | None:
        """Return the present scores of waiting *urls*; ``None`` where what they have stands."""
        if self.is_warming_up:
            return None
        scores = self._strategy.scores_now(urls)
        return None if scores is None else np.nan_to_num(scores).tolist()

    def end_warmup(self) -> dict[str, float]:
        """Learn the topic anew and show a fresh strategy the warm-up's pages.

        Return URL -> best score of the links shown so far, but for those that score 0 and did before.
        """
        self.is_warming_up = False
        early, self._early = self._early, []
        if self.relevance.relearn([visit.terms for visit in early if visit.relevance is not None]):
            self._strategy, self._last, self._best = self._new_strategy(), None, {}
            early = [self._judged_again(visit) for visit in early]
            for visit in early:
                self._warm_up(visit)
        self._early = []
        self._visits.clear()
        for visit in early if self._strategy.remembers else ():
            self._visits.add(visit)
        best, self._best = self._best, {}
        moved = self._early_order.end()
        return {url: score for url, score in best.items() if score or url in moved}

    def _judged_again(self, visit: Visit) -> Visit:
        if visit.relevance is None:
            return visit
        return visit._replace(relevance=self.relevance.of_terms(visit.terms))
