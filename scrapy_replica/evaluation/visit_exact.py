"""What the dynamic model leaves out, done in full: slow, to measure the error of leaving it out (Orlandi 2007, p. 75).

The document names two: observations are told anew only for pages whose layer changed, and a page is inferred from one
parent, not from every visited page that links to it (its definition 9, p. 61).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from scrapy_replica.evaluation.visit_clusters import HmmClusters
from scrapy_replica.evaluation.visit_draws import draw
from scrapy_replica.evaluation.visits import read
from scrapy_replica.focus.context import IS_RELEVANT
from scrapy_replica.focus.distances import nearness
from scrapy_replica.focus.strategies.hmm import KNOWN, HmmDynamic
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.records import Page
from scrapy_replica.rehearsal.figures import figures
from scrapy_replica.rehearsal.visit import Limits, visit

SWEEPS = 50
"""Times at most that states are handed on from page to page after a visit; cycles of links have no order."""


class ExactHmm(HmmDynamic):
    """The dynamic model without its shortcuts, for some thousand pages: every page costs all pages before it.

    With *reclassifies* all pages visited are classified anew after every page, with *reparents* a page has the smallest
    state that any visited page that links to it gives, and what waits the best score of these pages, both by the models
    of the moment. With neither the order is that of the dynamic model, and only the states are compared.
    """

    name: ClassVar[str] = "hmm-exact"

    def __init__(self, reclassifies: bool, reparents: bool, is_followed: bool = True) -> None:
        super().__init__()
        self._reclassifies, self._reparents, self._is_followed = reclassifies, reparents, is_followed
        self._relevance: list[float] = [0.0]
        self._given: dict[int, float] = {}
        """Scores that URLs were last moved to."""
        self.states: list[tuple[int, int]] = []
        """Of each page visited: the state of the dynamic model, and that without shortcuts."""

    def visited(self, page: Page, relevance: float) -> None:
        super().visited(page, relevance)
        self._relevance.append(relevance)
        if not self.context.is_trained:
            return
        observations = self._observations() if self._reclassifies else self._column("observation")
        states, deltas = self._inferred(observations)
        number = self.graph.page
        self.states.append((int(self._column("estimate")[number]) - 1, int(states[number])))
        if self._is_followed:
            self._take(observations, deltas)
            self._sigmas = self._scores_of(states)
            self._sigma = float(self._sigmas[number])

    def rescored(self) -> dict[str, float]:
        if not (self._is_followed and self._reparents and self.context.is_trained):
            return {}
        sources, targets, _ = self.graph.arrays()
        urls = self.graph.urls
        best = np.full(urls.used, -1.0)
        np.maximum.at(best, targets, self._sigmas[urls["page"][sources]])
        waiting = np.flatnonzero((urls["page"][: urls.used] == 0) & (best >= 0.0))
        moved = {row: float(best[row]) for row in waiting.tolist() if self._given.get(row) != best[row]}
        self._given.update(moved)
        return {urls.urls[row]: score for row, score in moved.items()}

    def _column(self, name: str) -> Any:
        return self.graph.pages[name][: self.graph.pages.used]

    def _observations(self) -> IntArray:
        """Classify all pages by the present model."""
        context = self.context
        terms, weights, counts = self._column("term"), self._column("weight").astype(np.float64), self._column("terms")
        weights = weights * (np.arange(weights.shape[1]) < counts[:, None])
        bayes = context.bayes
        table = np.log(bayes.counts[:, : max(int(terms.max()) + 1, 1)] + 1.0)
        logs = np.stack([(row[terms] * weights).sum(axis=1) for row in table], axis=1)
        logs -= weights.sum(axis=1)[:, None] * np.log(bayes.totals + max(1, len(context.terms.ids)))
        logs += np.log(bayes.pages + 1.0)
        odds = np.exp(logs - logs.max(axis=1, keepdims=True))
        odds /= odds.sum(axis=1, keepdims=True)
        best = odds.argmax(axis=1)
        sigmas = np.array([context.thresholds[layer] for layer in range(self.max_distance)])
        is_sure = odds[np.arange(len(best)), best] > sigmas[best]
        return np.where(is_sure, best, self.max_distance)

    def _inferred(self, observations: IntArray) -> tuple[IntArray, FloatArray]:
        """Return state and delta of every page by the present models, shape (pages + 1,) and (pages + 1, states)."""
        log_a, log_b = self.context.hmm.logs()
        sources, targets = self._edges()
        distances = self._column("distance").astype(np.int64)
        is_known = distances < self.max_distance
        known = np.full((self.max_distance + 1, self.max_distance + 1), -KNOWN)
        np.fill_diagonal(known, 0.0)
        start = _shifted(log_b[:, observations].T)
        deltas = np.where(is_known[:, None], known[distances], start)
        free = ~is_known[targets]
        sources, targets = sources[free], targets[free]
        for _ in range(SWEEPS):
            found = _shifted((deltas[sources][:, :, None] + log_a).max(axis=1) + log_b[:, observations[targets]].T)
            order = np.lexsort((found.argmax(axis=1), targets))
            first = np.unique(targets[order], return_index=True)[1]
            before = deltas.copy()
            deltas[targets[order[first]]] = found[order[first]]
            if (deltas == before).all():
                break
        return deltas.argmax(axis=1), deltas

    def _edges(self) -> tuple[IntArray, IntArray]:
        """Return which visited page may be the parent of which: all that link to it, or its own."""
        if not self._reparents:
            parents = self._column("parent").astype(np.int64)
            children = np.flatnonzero(parents)
            return parents[children], children
        sources, targets, _ = self.graph.arrays()
        pages = self.graph.urls["page"]
        is_visited = pages[targets] > 0
        return pages[sources[is_visited]].astype(np.int64), pages[targets[is_visited]].astype(np.int64)

    def _take(self, observations: IntArray, deltas: FloatArray) -> None:
        hmm, used = self.context.hmm, self.graph.pages.used
        hmm.forget_observations()
        layers = self._column("layer").astype(np.int64)
        np.add.at(hmm.emissions, (layers[1:], observations[1:]), 1.0)
        self.graph.pages["observation"][1:used] = observations[1:]
        self.graph.pages["delta"][1:used] = deltas[1:]

    def _scores_of(self, states: IntArray) -> FloatArray:
        relevance = np.array(self._relevance)
        distances = np.where(relevance > IS_RELEVANT, 0, states)
        near = np.array([nearness(each, self.max_distance) for each in range(self.max_distance + 1)])
        return np.asarray(self.alpha * near[distances] + (1.0 - self.alpha) * relevance)


def _shifted(deltas: FloatArray) -> FloatArray:
    return np.asarray(deltas - deltas.max(axis=1, keepdims=True))


EXACT = {
    "chains inferred anew": (False, False),
    "all pages reclassified": (True, False),
    "all parents": (False, True),
    "both": (True, True),
}
"""What is done in full: *reclassifies* and *reparents* of :class:`ExactHmm`."""


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
            beside = ExactHmm(*flags, is_followed=False)
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
