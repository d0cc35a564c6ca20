"""What steers a crawl: the relevance model and the strategy, the warm-up of both, and what they learnt from."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence, Set

from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.order import beginning
from scrapy_replica.crawl.order.recipe import MODEL, RECIPE, Recipe, show
from scrapy_replica.crawl.order.successor import SHOWN_AT_ONCE, Successor
from scrapy_replica.crawl.recent import Recent
from scrapy_replica.crawl.topic.relevance import CrawlRelevance
from scrapy_replica.crawldb.contract import RELEVANCE, CrawlDB, StoreError
from scrapy_replica.crawldb.visits import Visit
from scrapy_replica.focus.early_order import EarlyOrder
from scrapy_replica.focus.relearning import CHOOSES_AT, MOST_UNLABELLED, BestScores, even, next_stage, unlabelled
from scrapy_replica.focus.scorer import Scorer
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import as_numbers
from scrapy_replica.records import Link, Page

logger = logging.getLogger(__name__)

STAGE = "stage"
"""Key of the number of pages at which the topic was learnt last."""
SCORES_AT_ONCE = 2_000
"""Waiting URLs moved between two pages, some .1 s."""


class StrategyRunner:
    """Shows the strategy each page once, in one order, and keeps what is needed to have its state back.

    When the relevance model is learnt anew, at the end of the warm-up and later
    (:mod:`~scrapy_replica.focus.relearning`), a fresh strategy is shown all pages so far with their new relevance, some
    between two pages, and takes over when it has seen all. When there is no more to be learnt, a strategy that
    remembers pages is saved now and then (``Visits.is_due``), piece by piece between pages, and when a crawl is resumed
    a fresh one loads that checkpoint and is shown the pages since. Rows are written in the transaction of their page;
    strategies that do not remember pages need no more of them then.
    """

    def __init__(self, config: Config, db: CrawlDB, counts: Counter[str] | None = None) -> None:
        self._config, self._db, self._visits = config, db, db.visits
        self._counts: Counter[str] = Counter() if counts is None else counts
        try:
            scorer = Scorer(config.scorer, self._counts) if config.scorer else None
        except ValueError as error:
            raise ConfigError(str(error)) from None
        self.relevance = CrawlRelevance(db, scorer)
        self._model = beginning.model_of(config, db, self.relevance)
        beginning.check_words(config, db)
        if scorer is not None and config.topic is None and self._model is None:
            self.relevance.have_no_topic()
        self._recipe = Recipe.of(config, self.order)
        if self._model is not None and db.meta(MODEL) is None:
            self._recipe.try_out(self.relevance.of_terms, self._model)
        self._strategy = self._new_strategy()
        if db.meta(RECIPE) != (recipe := self._recipe.dump()):
            db.set_meta(RECIPE, recipe)
        if self._model is not None and db.meta(MODEL) is None:
            db.set_meta(MODEL, self._model)
        self._last: Page | None = None
        self._early_order = EarlyOrder(lambda: self._words)
        self._best = BestScores()
        self._moved: dict[str, float] = {}
        self._successor: Successor | None = None
        self._new_scores: dict[str, float] = {}
        """URL -> its score by a new strategy, handed out a few at a time."""
        self._others: deque[int] = deque()
        """Numbers of the visits of other processes that the strategy is to be shown."""
        self._numbers = Recent()
        """Numbers of visits that were met: each is heard of again when it is judged anew."""
        self.shown = 0
        """Pages that the strategy was shown; while it stands still, so do the present scores."""
        past = db.meta(STAGE)
        learns = self._strategy.warms_up and self._model is None
        self._stage = self._stage_after(int(past) if past is not None else 0) if learns else None
        self.is_warming_up = self._stage is not None and past is None
        self._resume()

    @property
    def order(self) -> str:
        return beginning.order_of(self._config, has_model=self._model is not None)

    def _new_strategy(self) -> Strategy:
        strategy, self._words = self._recipe.make(self.relevance.of_terms, self._model, self._counts)
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
                logger.info("The strategy is shown again the pages that came after it was last kept")
            if self.is_warming_up:
                self._early_order.scores(visit.links)
            self._show(visit)

    def _show(self, visit: Visit) -> list[float]:
        self.shown += 1
        self._last, scores = show(self._strategy, visit, self._last)
        if visit.is_unproductive:
            return []
        self._moved = self._strategy.rescored()
        if self.is_warming_up:
            self._best.add(visit.links, scores, self._moved)
        return scores

    # Other processes

    def apply_remote(self, visits: Iterable[int]) -> None:
        """Take note of the numbers of *visits* of other processes; the strategy is shown them before the next page.

        A strategy that sees half of the pages knows half of the links to a URL, and none to one that others found. Of a
        labelled crawl over 40 hosts, share of the topic in the first 3,000 of 6,000 pages, two topics: .49 and .16;
        .20 and .16 where two processes are shown each other's visits at the stages alone; 1.2 ms a visit.
        """
        if self._strategy.remembers:
            self._others.extend(filter(self._numbers.add, visits))

    def _show_others(self) -> dict[str, float]:
        """Show the strategy some visits of others; return new scores of URLs found earlier."""
        moved: dict[str, float] = {}
        some = [self._others.popleft() for _ in range(min(len(self._others), SHOWN_AT_ONCE))]
        for _, visit in self._visits.of(some):
            if self.is_warming_up:
                self._early_order.scores(visit.links)
            self._show(visit)
            moved.update(self._moved)
        return {} if self.is_warming_up else moved

    def follow(self, meta: Set[str]) -> None:
        """Take over what the process that leads has learnt, where that is among the keys *meta* that it wrote."""
        if RELEVANCE in meta:
            self.relevance.read_again()
            self._successor = self._new_successor(None)
        if STAGE in meta:
            self._follow_stage(self._best.scores)

    def _follow_stage(self, best: Mapping[str, float]) -> None:
        """End the stage that the process that leads has ended, unless the strategy still has pages to see for it."""
        past = int(self._db.meta(STAGE) or 0)
        if self._successor is None and self._stage is not None and past >= self._stage:
            self._stage = past
            self._end_stage(best)

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
        self._forget_new_scores(self._moved)
        return scores, self._moved

    def unproductive(self, url: str) -> None:
        """Show the strategy that fetching *url* brought nothing new; where it was a page after all, before that."""
        self._keep_and_show(Visit(url, None, {}, (), is_unproductive=True))

    def _keep_and_show(self, visit: Visit) -> list[float]:
        if self._keeps_visits:
            is_due = self._stage is None and self._successor is None and self._visits.is_due and self._db.is_leader
            if is_due and visit.relevance is not None:
                self._visits.begin(self._strategy.name, self._strategy.save())
            number = self._visits.add(visit)
            if self._db.is_shared:
                self._numbers.add(number)
            if self._db.is_leader:
                self._visits.work()
        return self._show(visit)

    def scores_now(self, urls: Sequence[str]) -> list[float] | None:
        """Return the present scores of waiting *urls*; ``None`` where what they have stands."""
        if self.is_warming_up:
            return None
        scores = self._strategy.scores_now(urls)
        return None if scores is None else as_numbers(scores)

    def has_to_learn(self, pages: int) -> bool:
        is_under_way = self._successor is not None or bool(self._others) or bool(self._new_scores)
        return is_under_way or self._is_due(pages) or self._is_marked

    def _is_due(self, pages: int) -> bool:
        return self._stage is not None and pages >= self._stage and self._db.is_leader

    def learn_anew(self, pages: int) -> dict[str, float]:
        """Learn the topic anew, from new marks as well, or end the warm-up; called once a page, so many *pages* so far.

        Return new scores of URLs found earlier: when a fresh strategy has taken over, the best score of each link so
        far, but for those of the warm-up that score 0 and did before. Where it cannot be learnt anew, because an
        example has lost its text, the crawl goes on with what it knows. Where another process leads, that one learns.
        """
        is_due = self._is_due(pages)
        moved: dict[str, float] = {}
        try:
            if self._others:
                moved = self._show_others()
                self._forget_new_scores(moved)
            if self._successor is None and is_due:
                self._begin_anew(self._stage or 0)
            elif self._is_marked and self._successor is None and not self._visits.is_saving:
                self._take_up_marks()
            if self._successor is not None and self._successor.catch_up():
                self._succeed(self._successor)
        except StoreError:
            raise
        except Exception as error:
            logger.exception("The topic is not learnt again, and the crawl goes on as it was: %s", error)
            self._successor = None
            self.relevance.marks.end()
            if is_due:
                self._end_stage(self._best.scores)
        n_moved = min(len(self._new_scores), SCORES_AT_ONCE)
        return dict(self._new_scores.popitem() for _ in range(n_moved)) | moved

    def _forget_new_scores(self, urls: Iterable[str]) -> None:
        """Take note that *urls* have later scores."""
        for url in urls:
            self._new_scores.pop(url, None)

    @property
    def _is_marked(self) -> bool:
        return self.relevance.marks.are_new and self._db.is_leader

    def _begin_anew(self, stage: int) -> None:
        if self.relevance.choose is not None and stage >= CHOOSES_AT:
            pages = self._visits.pages()
            some = [pages[place] for place in even(range(stage), MOST_UNLABELLED)]
            seen = self._visits.of([number for number, _ in some])
            self.relevance.choose([(visit.url, visit.terms) for _, visit in seen if visit.terms])
        if self.relevance.relearn(self._unlabelled(stage)):
            self._successor = self._new_successor(stage)
        else:
            self._end_stage(self._best.scores)

    def _new_successor(self, stage: int | None) -> Successor:
        strategy, words = self._recipe.make(self.relevance.of_terms, self._model, self._counts)
        if (pieces := self._visits.checkpoint(strategy.name)) is not None:
            strategy.load(pieces)
        judge, keeps = self.relevance.of_visit, self._db.is_leader
        return Successor(strategy, words, self._visits, judge, stage, keeps=keeps)

    def _take_up_marks(self) -> None:
        """Learn from what a person said of pages, and let the strategy see the pages so far in its light.

        Where their visits are not kept, and in the warm-up, at whose end they are shown once more anyway, what comes
        from now on is.
        """
        if not self.relevance.relearn():
            return
        if self._keeps_visits and not self.is_warming_up:
            self._successor = self._new_successor(None)
            return
        _, self._words = self._recipe.make(self.relevance.of_terms, self._model)
        self.relevance.marks.end()

    def _unlabelled(self, stage: int) -> list[Mapping[str, int]]:
        pages = self._visits.pages()[:stage]
        taken = unlabelled([url for _, url in pages], self._config.warmup_pages)
        return [visit.terms for _, visit in self._visits.of([pages[place][0] for place in taken])]

    def _succeed(self, successor: Successor) -> None:
        self._strategy, self._words, self._last = successor.strategy, successor.words, successor.last
        self._successor = None
        self.shown += 1
        self._others = deque(number for number in self._others if number > successor.seen)
        if not self._db.is_leader:
            self._best = successor.best
            self._follow_stage(successor.best.scores)
            return
        if successor.stage is not None:
            self._end_stage(successor.best.scores)
        else:
            self._new_scores = dict(successor.best.scores)
        self.relevance.marks.end()

    def _end_stage(self, best: Mapping[str, float]) -> None:
        was_early, self.is_warming_up = self.is_warming_up, False
        self._best = BestScores()
        moved = self._early_order.end() if was_early else set()
        stage, self._stage = self._stage, self._stage_after(self._stage or 0)
        if not self._db.is_leader:
            # The process that leads moves all but what the early order of this one moved.
            self._new_scores = {url: best[url] for url in moved & best.keys()}
            return
        self._db.set_meta(STAGE, str(stage).encode())
        if not self._keeps_visits:
            self._visits.clear()
        self._new_scores = {url: score for url, score in best.items() if score or not was_early or url in moved}
