"""What the dynamic model leaves out, done in full: slow, to measure the error of leaving it out (Orlandi 2007, p. 75).

Two: models are learnt anew when the visit has grown by a fifth, not after each relevant page, and a page is inferred
from one parent, not from every visited page that links to it (definition 9 of the document, p. 61).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT
from scrapy_replica.focus.strategies.hmm import HmmDynamic
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.lab.visits.figures import figures
from scrapy_replica.lab.visits.visit import Limits, visit
from scrapy_replica.lab.visits.visit_clusters import HmmClusters
from scrapy_replica.lab.visits.visit_draws import draw
from scrapy_replica.lab.visits.visits import read
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.records import Page

SWEEPS = 50
"""Times at most that states are handed on from page to page after a visit; cycles of links have no order."""


class ExactHmm(HmmDynamic):
    """The dynamic model without its shortcuts, for some thousand pages: every page costs all pages before it.

    With *relearns* the models are learnt after every page, with *reparents* a page has the smallest state that any
    visited page that links to it gives.
    """

    name: ClassVar[str] = "hmm-exact"

    def __init__(self, relearns: bool, reparents: bool) -> None:
        super().__init__()
        self._relearns, self._reparents = relearns, reparents

    def visited(self, page: Page, relevance: float) -> None:
        if self._relearns:
            self.context.next_learning = 0
        super().visited(page, relevance)
        if self._reparents and self.context.is_trained:
            self._tell_by_all_parents()

    def _tell_by_all_parents(self) -> None:
        hmm, pages, rows = self.context.hmm, self.graph.pages, np.arange(self.graph.pages.used)
        relevance = pages["relevance"][rows].astype(np.float64)
        emitted = self._emitted(rows)
        deltas = self._infer(rows)
        deltas[relevance <= IS_RELEVANT] = hmm.start(emitted[relevance <= IS_RELEVANT])
        sources, targets = self.graph.page_links()
        free = relevance[targets] <= IS_RELEVANT
        sources, targets = sources[free], targets[free]
        for _ in range(SWEEPS):
            found = hmm.step(deltas[sources], emitted[targets])
            order = np.lexsort((hmm.state_of(found), targets))
            first = np.unique(targets[order], return_index=True)[1]
            before = deltas.copy()
            deltas[targets[order[first]]] = found[order[first]]
            if (deltas == before).all():
                break
        near = 1.0 - hmm.state_of(deltas) / self.max_distance
        pages["delta"][rows[1:]], pages["near"][rows[1:]] = deltas[1:], near[1:]
        pages["score"][rows[1:]] = (self.alpha * near + (1.0 - self.alpha) * relevance)[1:]
        self._move_waiting()


class Beside(HmmDynamic):
    """The dynamic model, and what *exact* says of the pages that it visits."""

    def __init__(self, exact: ExactHmm) -> None:
        super().__init__()
        self._exact = exact
        self.states: list[tuple[int, int]] = []
        """Of each page visited: the state of the dynamic model, and that without shortcuts."""

    def visited(self, page: Page, relevance: float) -> None:
        super().visited(page, relevance)
        self._exact.visited(page, relevance)
        if self.context.is_trained and self._exact.context.is_trained:
            self.states.append((_state(self), _state(self._exact)))

    def inherit(self, numbers: IntArray) -> FloatArray:
        urls = self.graph.urls
        self._exact.inherit(self._exact.graph.link([urls.urls[row] for row in urls.rows(numbers).tolist()]))
        return super().inherit(numbers)


def _state(strategy: HmmDynamic) -> int:
    """Return the state of the page visited last."""
    pages = strategy.graph.pages
    return round((1.0 - float(pages["near"][pages.row(strategy.graph.page)])) * strategy.max_distance)


EXACT = {
    "learnt after every page": (True, False),
    "all parents": (False, True),
    "both": (True, True),
}
"""What is done in full: *relearns* and *reparents* of :class:`ExactHmm`."""


def evaluate(
    file: Path, topic: str, draws: int, labelled: int, background: int, limits: Limits
) -> dict[str, dict[str, float]]:
    """Return ``pref`` and ``pref_sd`` over the draws of the dynamic model, of :data:`EXACT` and of the model that
    observes clusters, too; for :data:`EXACT` also ``equal`` and ``error``: the share of pages of which the dynamic
    model, in its own order, tells the state that is told without the shortcut, and their mean absolute difference.
    """
    collection = read(file)
    relevant = collection.relevant(topic)
    prefs: dict[str, list[float]] = {}
    apart: dict[str, list[IntArray]] = {name: [] for name in EXACT}
    for seed in range(draws):
        drawn = draw(collection, relevant, seed, labelled, background)
        relevance = drawn.topic.of_all_pages()
        strategies: dict[str, Strategy] = {"hmm-dynamic": HmmDynamic()}
        strategies |= {name: ExactHmm(*flags) for name, flags in EXACT.items()}
        strategies["layers and clusters"] = HmmClusters()
        for name, strategy in strategies.items():
            order = visit(collection, strategy, relevance, limits)
            prefs.setdefault(name, []).append(figures(order, relevant, drawn.labelled).pref)
        for name, flags in EXACT.items():
            beside = Beside(ExactHmm(*flags))
            visit(collection, beside, relevance, limits)
            apart[name].append(np.abs(np.diff(np.array(beside.states).reshape(-1, 2), axis=1)))
    result: dict[str, dict[str, float]] = {}
    for name, values in prefs.items():
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        result[name] = {"pref": float(np.mean(values)), "pref_sd": spread}
        difference = np.concatenate(apart.get(name, [np.zeros((0, 1), dtype=np.int64)]))
        if len(difference):
            result[name] |= {"equal": float((difference == 0).mean()), "error": float(difference.mean())}
    return result


def table(result: Mapping[str, Mapping[str, float]]) -> str:
    """Return the figures as text."""
    lines = [f"{'in full':<24} {'Pref':>7} {'sd':>7} {'same state':>10} {'error':>6}"]
    for name, row in result.items():
        told = f" {row['equal']:10.3f} {row['error']:6.3f}" if "equal" in row else ""
        lines.append(f"{name:<24} {row['pref']:7.4f} {row['pref_sd']:7.4f}{told}")
    return "\n".join(lines)
