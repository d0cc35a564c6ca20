"""HMM over context-graph layers: links inherit the estimated distance of their page (Orlandi 2007, chapter 5)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT, ContextGraph
from scrapy_replica.focus.hmm import HMM, SecondOrderHMM
from scrapy_replica.focus.strategies.layered import Layered
from scrapy_replica.focus.strategy import Account, Part
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy_replica.focus.known_graph import KnownGraph

ALPHA = 0.5
"""As in the source."""
MAX_DISTANCE = 6
KNOWN = 50.0
"""Log odds by which a relevant page prefers state 0: e**50, not infinity, so that chains stay finite."""


class HmmStatic(Layered):
    """sigma = a (d - delta) / d + (1 - a) Pr[page relevant]; children inherit sigma from the page that found them.

    delta is the last state of the Viterbi path over the observations (layer classes) of the page's crawl ancestors. A
    relevant page has state 0 and no other has (p. 59 prints 1 < class <= d). Before the models are learnt for the first
    time the order is best-first.

    *alpha* is a, *max_distance* d. Memory: 12 bytes a URL and 74 a page besides :class:`ContextGraph` and
    :class:`KnownGraph`, together at most 161 MB.
    """

    name: ClassVar[str] = "hmm-static"
    is_dynamic: ClassVar[bool] = False
    chain: ClassVar[type[HMM]] = HMM

    def __init__(self, alpha: float = ALPHA, max_distance: int = MAX_DISTANCE, graph: KnownGraph | None = None) -> None:
        if not 0.0 <= alpha <= 1.0:
            raise ValueError(f"alpha weighs two shares and lies within 0..1, not {alpha}")
        super().__init__(self._new_context(max_distance, graph))
        self.alpha = alpha
        self.max_distance = max_distance
        self._shape = (max_distance + 1,) * self.context.hmm.order
        self.graph.pages.add_column("delta", np.float64, math.prod(self._shape))
        self.graph.pages.add_column("near", np.float32)

    def _new_context(self, max_distance: int, graph: KnownGraph | None) -> ContextGraph:
        return ContextGraph(max_distance, self.chain(max_distance + 1, max_distance + 1), graph)

    def _tell(self, rows: IntArray) -> None:
        pages, hmm = self.graph.pages, self.context.hmm
        relevance = pages["relevance"][rows].astype(np.float64)
        if not self.context.is_trained:
            pages["score"][rows] = relevance
            return
        delta = self._infer(rows)
        pages["delta"][rows] = delta.reshape(len(rows), -1)
        states = hmm.state_of(delta)
        before = pages["estimate"][rows]
        pages["estimate"][rows] = np.where(before > 0, before, 1 + states)
        near = 1.0 - states / self.max_distance
        pages["near"][rows] = near
        pages["score"][rows] = self.alpha * near + (1.0 - self.alpha) * relevance

    def _infer(self, rows: IntArray) -> FloatArray:
        """Return delta of pages from their parents', shape (n, states) or (n, states, states)."""
        pages, hmm = self.graph.pages, self.context.hmm
        is_relevant = pages["relevance"][rows] > IS_RELEVANT
        emitted = self._emitted(rows)
        parents = pages.rows(pages["parent"][rows].astype(np.int64))
        has_parent = (parents > 0) & (pages["chain"][rows] > 0)
        delta = hmm.start(emitted)
        before = pages["delta"][parents[has_parent]].reshape(-1, *self._shape)
        delta[has_parent] = hmm.step(before, emitted[has_parent])
        delta[is_relevant] = -KNOWN
        delta[is_relevant, ..., 0] = 0.0
        return delta

    def _emitted(self, rows: IntArray) -> FloatArray:
        """Return the log probability of what pages show, by state, shape (n, states)."""
        return self.context.emitted(rows)

    def account(self, url: str, score: float, relevance: float) -> Account | None:  # noqa: ARG002 - known here
        urls, pages = self.graph.urls, self.graph.pages
        page = pages.row(int(urls["parent"][urls.row(urls.find(url))]))
        if not page:
            return None
        parent = urls.urls[urls.row(int(pages["url"][page]))] or None
        relevant = Part("relevance", float(pages["relevance"][page]), 1.0 - self.alpha)
        if not self.context.is_trained:
            return Account([relevant._replace(weight=1.0)], parent)
        return Account([Part("nearness", float(pages["near"][page]), self.alpha), relevant], parent)

    def learnt(self) -> dict[str, Any]:
        return {"layers": self.context.learnt(self.context.terms.common())}

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        if "layers" in learnt:
            self.context.begin_with(learnt["layers"])


class HmmDynamic(HmmStatic):
    """The static model, and a waiting URL goes to a better-scored page that links to it: new parent, new priority."""

    name: ClassVar[str] = "hmm-dynamic"
    is_dynamic: ClassVar[bool] = True


class HmmSecondOrder(HmmDynamic):
    """The dynamic model with a second-order chain: states of grandparent and parent together give the next.

    Transitions are those along crawl paths (grandparent, parent, page), counted anew in the layers that are known
    whenever the models are learnt; a Viterbi step costs O(n^3) and a page keeps n^2 numbers.
    """

    name: ClassVar[str] = "hmm-second-order"
    chain: ClassVar[type[HMM]] = SecondOrderHMM
