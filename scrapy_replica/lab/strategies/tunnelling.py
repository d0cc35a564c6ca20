"""Tunnelling: a bounded run of poor pages is followed, good ones may lie behind (Bergmark, Lagoze, Sbityakov 2002)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.strategies.path import PathMemory
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.records import Link, Page

LONGEST_RUN = 5
"""Poor pages in a row that are followed at full priority."""
GRANDPARENTS = 0.5
"""Share of a link's score that comes from the pages before the one it stands on."""


class Tunnelling(Strategy):
    """Score = (1 - g) Pr[page] + g score of the page, halved for each poor page beyond a run of five.

    The path score weighs grand-parents by g, their parents by g**2 and so on; where several pages link to a URL the
    best score and the shortest run count.

    *Readings.* The source (Orlandi 2007, pp. 11-12) reports what was measured, no formula: of tunnels 90 % are shorter
    than 10, and where a page is poor its parents tell more. Five is half of that 10, and g = .5 lets the three pages
    before a link, which the source looks at, make up 7/8 of its score.

    Memory: 500 bytes a URL, at most 150 MB.
    """

    name: ClassVar[str] = "tunnelling"
    reads_links: ClassVar[bool] = False

    def __init__(self) -> None:
        self._path = PathMemory(0.0, max)
        self._runs = PathMemory(0.0, min)
        self._score = 0.0
        self._run = 0.0

    def visited(self, page: Page, relevance: float) -> None:
        relevance = relevance if math.isfinite(relevance) else 0.0
        inherited, run = self._path.take(page.url), self._runs.take(page.url)
        self._run = 0.0 if relevance > IS_RELEVANT else run + 1.0
        self._score = (1.0 - GRANDPARENTS) * relevance + GRANDPARENTS * inherited

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        score = self._score * 0.5 ** max(0.0, self._run - LONGEST_RUN)
        for link in links:
            self._path.put(link.url, score)
            self._runs.put(link.url, self._run)
        return np.full(len(links), score)

    def state(self) -> dict[str, Any]:
        return {"path": self._path.state(), "runs": self._runs.state(), "score": self._score, "run": self._run}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._path.restore(state["path"])
        self._runs.restore(state["runs"])
        self._score, self._run = state["score"], state["run"]
