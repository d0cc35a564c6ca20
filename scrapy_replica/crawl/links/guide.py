"""What steers a crawl: the relevance model and the strategy, the warm-up of both, and what they learnt from."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

from scrapy_replica.address import host_of
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.links.relevance import Relevance
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.visits import Visit
from scrapy_replica.focus import strategies
from scrapy_replica.focus.links import LinkWords
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.pages.terms import terms as count_terms
from scrapy_replica.records import Link, Page

logger = logging.getLogger(__name__)

WITH_BACKGROUND, WITH_TOPIC, WITHOUT_TOPIC = "link-aware", "best-first-anchors", "breadth-first"
"""What ``auto`` stands for. With 3,000 unlabelled pages, mean Pref over five topics of three labelled crawls, three
draws: link-aware .93, best-first-anchors .90, best-first .88, breadth-first .69. With the shipped statistics alone
relevance is too flat to learn links from: of a campus crawl's first 500 pages 180 were relevant with
best-first-anchors, 166 with best-first, 41 to 86 with link-aware."""


class Guide:
    """Shows the strategy each page once, in one order, and keeps that order, so that it can be shown again.

    A strategy is a function of the pages that it was shown. At the end of the warm-up, when the relevance model is
    learnt anew, a fresh strategy is shown the warm-up's pages with their new relevance; when a crawl is resumed, one is
    shown all pages of the crawl database. Rows are written in the transaction of their page, at the same cost for every
    page; strategies that do not remember pages need none after the warm-up.
    """

    def __init__(self, config: Config, db: SqliteCrawlDB) -> None:
        self._config, self._db = config, db
        self.relevance = Relevance(db)
        self._strategy = self._new_strategy()
        self._last: Page | None = None
        self._early: list[Visit] = []
        self._moved: dict[str, float] = {}
        self.shown = 0
        """Pages that the strategy was shown; while it stands still, so do the present scores."""
        self.is_warming_up = self._strategy.warms_up and db.pages.count() < config.warmup_pages
        self._replay()

    def _new_strategy(self) -> Strategy:
        config = self._config
        name = config.strategy
        if name == "auto":
            with_topic = WITH_BACKGROUND if config.background else WITH_TOPIC
            name = with_topic if config.topic else WITHOUT_TOPIC
        known = strategies.STRATEGIES.get(name)
        if known is not None and known.needs_topic and config.topic is None:
            raise ConfigError(
                f"REPLICA_STRATEGY is {name}, which needs a topic: set REPLICA_TOPIC (--topic), or choose breadth-first"
            )
        words = LinkWords(self.relevance.of_terms, partial(count_terms, language=config.language))
        try:
            return strategies.make(name, config.seed, words)
        except ValueError as error:
            raise ConfigError(str(error)) from None

    def _replay(self) -> None:
        for count, visit in enumerate(self._db.visits, 1):
            if count == 1:
                logger.info("Showing the strategy the pages of the crawl so far")
            if self.is_warming_up:
                self._early.append(visit)
            self._show(visit)

    def _show(self, visit: Visit) -> list[float]:
        self.shown += 1
        if visit.relevance is not None:
            self._last = Page(visit.url, host_of(visit.url), terms=visit.terms)
            self._strategy.visited(self._last, visit.relevance)
        assert self._last is not None
        scores: list[float] = self._strategy.scores(self._last, visit.links).tolist()
        self._moved = self._strategy.rescored()
        return scores

    def scores(self, page: Page, relevance: float, links: Sequence[Link]) -> tuple[list[float], dict[str, float]]:
        """Show the strategy a *page* and return the scores of its *links*, and new ones of URLs found earlier.

        More links of the page shown last may follow in a second call.
        """
        is_same = self._last is not None and page.url == self._last.url
        visit = Visit(page.url, None, {}, links) if is_same else Visit(page.url, relevance, page.terms, links)
        if self.is_warming_up:
            self._early.append(visit)
        if self._db.is_persistent and (self.is_warming_up or self._strategy.remembers):
            self._db.visits.add(visit)
        return self._show(visit), self._moved

    def scores_now(self, urls: Sequence[str]) -> list[float] | None:
        """Return the present scores of waiting *urls*; ``None`` where what they have stands."""
        if self.is_warming_up:
            return None
        scores = self._strategy.scores_now(urls)
        return None if scores is None else scores.tolist()

    def end_warmup(self) -> dict[str, float]:
        """Learn the topic anew and show a fresh strategy the warm-up's pages; return URL -> its best score."""
        self.is_warming_up = False
        early, self._early = self._early, []
        best: dict[str, float] = {}
        if self.relevance.relearn([visit.terms for visit in early if visit.relevance is not None]):
            self._strategy, self._last = self._new_strategy(), None
            early = [self._judged_again(visit) for visit in early]
            for visit in early:
                for link, score in zip(visit.links, self._show(visit), strict=True):
                    best[link.url] = max(score, best.get(link.url, score))
                best |= {url: score for url, score in self._moved.items() if url in best}
        if self._db.is_persistent:
            self._db.visits.clear()
            for visit in early if self._strategy.remembers else ():
                self._db.visits.add(visit)
        return best

    def _judged_again(self, visit: Visit) -> Visit:
        if visit.relevance is None:
            return visit
        return visit._replace(relevance=self.relevance.of_terms(visit.terms))
