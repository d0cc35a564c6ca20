"""A strategy of the user's own, which may fail and stops nothing."""

from __future__ import annotations

import logging
from collections import Counter
from traceback import extract_tb
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from scrapy_replica.focus.strategy import Account, Distance, Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from scrapy_replica.records import Link, Page

logger = logging.getLogger(__name__)

T = TypeVar("T")

FAILED = "strategy/failed"
"""Key of the count of failures."""

NOT_SAVED = b""
"""The only piece of a strategy that failed to be saved: it begins anew when the crawl is resumed."""


class OwnStrategy(Strategy):
    """Calls *strategy*, which ``REPLICA_STRATEGY`` named; links that it does not score have 0 and are taken as found.

    The first failure is told in one line, all are counted in *counts*.

    :raises ValueError: the strategy remembers pages and has no way to be saved.
    """

    def __init__(self, strategy: Strategy, name: str, counts: Counter[str]) -> None:
        kind = type(strategy)
        if strategy.remembers and kind.save is Strategy.save and kind.state is Strategy.state:
            raise ValueError(
                f"REPLICA_STRATEGY: {name!r} remembers pages and has no state() and restore(), without which no crawl "
                "can go on; write them, or say remembers = False"
            )
        self._strategy, self._counts = strategy, counts
        # Of other strategies the class says this.
        vars(self).update(
            name=name,
            warms_up=strategy.warms_up,
            needs_topic=strategy.needs_topic,
            remembers=strategy.remembers,
            reads_links=strategy.reads_links,
        )

    def visited(self, page: Page, relevance: float) -> None:
        self._try(lambda: self._strategy.visited(page, relevance), None)

    def unproductive(self, url: str) -> None:
        self._try(lambda: self._strategy.unproductive(url), None)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:
        return self._try(
            lambda: self._scores(self._strategy.scores(page, links), len(links)), np.zeros(len(links), np.float64)
        )

    def rescored(self) -> dict[str, float]:
        def rescored() -> dict[str, float]:
            found = self._strategy.rescored()
            if not all(isinstance(url, str) for url in found):
                raise TypeError("rescored() is to return URLs and their scores")
            return dict(zip(found, self._scores(list(found.values()), len(found)).tolist(), strict=True))

        return self._try(rescored, {})

    def scores_now(self, urls: Sequence[str]) -> FloatArray | None:
        def scores_now() -> FloatArray | None:
            found = self._strategy.scores_now(urls)
            return None if found is None else self._scores(found, len(urls))

        return self._try(scores_now, None)

    def account(self, url: str, score: float, relevance: float) -> Account | None:
        return self._try(lambda: self._strategy.account(url, score, relevance), None)

    def distance(self, url: str) -> Distance | None:
        return self._try(lambda: self._strategy.distance(url), None)

    def distances_told(self) -> Mapping[str, int]:
        return self._try(self._strategy.distances_told, {})

    def learnt(self) -> dict[str, Any]:
        return self._try(self._strategy.learnt, {})

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        self._strategy.begin_with(learnt)

    def save(self) -> Iterator[bytes]:
        return iter(self._try(lambda: list(self._strategy.save()), [NOT_SAVED]))

    def load(self, pieces: Iterable[bytes]) -> None:
        saved = list(pieces)
        if saved == [NOT_SAVED]:
            return
        try:
            self._strategy.load(saved)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise ValueError(
                f"REPLICA_STRATEGY: {self.name} cannot load what it saved ({told}); give another JOBDIR"
            ) from error

    def _scores(self, found: Any, n: int) -> FloatArray:
        """Return the *n* scores *found*; one that is no number counts as 0."""
        scores = np.asarray(found, np.float64)
        if scores.shape != (n,):
            raise ValueError(f"it was to return {n} scores, and the shape is {scores.shape}")
        if np.isnan(scores).any():
            self._failed(ValueError("it returned NaN"))
        return np.nan_to_num(scores)

    def _try(self, call: Callable[[], T], otherwise: T) -> T:
        try:
            return call()
        except Exception as error:  # noqa: BLE001 - it is code of the user's
            self._failed(error)
            return otherwise

    def _failed(self, error: Exception) -> None:
        self._counts[FAILED] += 1
        if self._counts[FAILED] > 1:
            return
        frames = [frame for frame in extract_tb(error.__traceback__) if frame.filename != __file__]
        place = f" ({frames[0].filename}, line {frames[0].lineno})" if frames else ""
        told = f"{type(error).__name__}: {' '.join(str(error).split())}{place}"
        logger.warning(
            "REPLICA_STRATEGY %s fails: %s. Links without a score have 0 and are taken as found; what fails from now "
            "on is counted as replica/%s",
            self.name,
            told,
            FAILED,
        )
