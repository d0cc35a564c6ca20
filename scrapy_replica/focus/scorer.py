"""A score of the user's own for each page, in place of the topic's relevance or beside it."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any

from scrapy_replica.records import Page

logger = logging.getLogger(__name__)

Score = Callable[[Page, float], float | None]
"""Called with a page and its relevance by the topic, 0 without one; returns 0..1, or None for that relevance."""

SLOW_S, TRIED = 0.1, 20
"""Mean seconds of a page from which a scorer is called slow, and pages after which that is told."""
MOST_TOLD = 3
"""Failures of a scorer that are logged with their trace; all are counted."""


class Scorer:
    """Calls what the user named; where that fails, the topic's relevance stands, and the crawl goes on.

    :raises ValueError: there is no such callable.
    """

    def __init__(self, name: str, counts: Counter[str]) -> None:
        module, _, attribute = name.partition(":")
        if not attribute:
            raise ValueError(f"REPLICA_SCORER: {name!r} names no function: write module:function")
        try:
            self._score: Score = getattr(import_module(module), attribute)
        except Exception as error:  # noqa: BLE001 - a user's module may raise anything: a folder without a model
            told = f"{type(error).__name__}: {error}"
            raise ValueError(f"REPLICA_SCORER: {name!r} cannot be imported as module:callable: {told}") from None
        if not callable(self._score):
            raise ValueError(f"REPLICA_SCORER: {name!r} cannot be called")
        self._name, self._counts = name, counts
        self._seconds, self._n_called = 0.0, 0

    def __call__(self, page: Page, relevance: float) -> float:
        """Return the score of *page*, 0..1, whose *relevance* by the topic is given."""
        begun = time.perf_counter()
        try:
            found: Any = self._score(page, relevance)
            score = relevance if found is None else float(found)
            if not math.isfinite(score):
                raise ValueError(f"it returned {found!r}")
        except Exception:
            self._counts["scorer/failed"] += 1
            if self._counts["scorer/failed"] <= MOST_TOLD:
                logger.exception(
                    "REPLICA_SCORER %s fails on %s: its relevance by the topic counts", self._name, page.url
                )
            score = relevance
        self._seconds += time.perf_counter() - begun
        self._n_called += 1
        self._counts["scorer/called"] += 1
        if self._n_called == TRIED and self._seconds > SLOW_S * TRIED:
            mean = self._seconds / TRIED
            logger.warning("REPLICA_SCORER %s takes %.1f s a page, in which nothing is fetched", self._name, mean)
        return min(1.0, max(0.0, score))
