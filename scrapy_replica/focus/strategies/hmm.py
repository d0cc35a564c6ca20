"""HMM over context-graph layers: links inherit the estimated distance of their page (Orlandi 2007, chapter 5)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT, ContextGraph
from scrapy_replica.focus.distances import nearness
from scrapy_replica.focus.hmm import HMM, SecondOrderHMM
from scrapy_replica.focus.strategy import Account, Distance, Part, Strategy
from scrapy_replica.numeric import FloatArray, IntArray

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy_replica.focus.known_graph import KnownGraph
    from scrapy_replica.records import Link, Page

ALPHA = 0.25
"""The source has .5. On two topics that no table reports, one draw each, mean Pref of the dynamic model .957 with .5,
.963 with .25, .962 with .1; of the static one .934 with .5, .940 with .25."""
MAX_DISTANCE = 6
"""With 3 instead of 6 the same mean is .953. What did not help, with a weight of .5, one on top of the other: links
inherit a state that they made known themselves .952, the mean state instead of the likeliest .948, relevance as a
second observation .946, waiting links moved when the state of their page changes .947."""
KNOWN = 50.0
"""Log odds by which a page of known state prefers it: e**50, not infinity, so that chains stay finite."""


class HmmStatic(Strategy):
    """sigma = a (d - delta) / d + (1 - a) Pr[page relevant]; children inherit sigma from the page that found them.

    delta is the last state of the Viterbi path over the observations (layer classes) of the page's crawl ancestors.
    A relevant page has delta 0; it starts a back-crawl that gives its visited ancestors their true state, and the layer
    model and the HMM follow at once. Before the first relevant page the order is best-first.

    *alpha* is a, *max_distance* d, *is_tfidf* whether the terms of a page weigh TF-IDF or TF. Memory: 12
    bytes a URL and 60 a page besides :class:`ContextGraph` and :class:`KnownGraph`, together at most 170 MB.
    """

    name: ClassVar[str] = "hmm-static"
    is_dynamic: ClassVar[bool] = False
    reads_links: ClassVar[bool] = False
    nearness: float
    """(d - delta) / d of the page visited last, 0 before the first training."""

    def __init__(
        self,
        alpha: float = ALPHA,
        max_distance: int = MAX_DISTANCE,
        is_tfidf: bool = True,
        graph: KnownGraph | None = None,
    ) -> None:
        if not 0.0 <= alpha <= 1.0:
            raise ValueError(f"alpha weighs two shares and lies within 0..1, not {alpha}")
        self.alpha = alpha
        self.max_distance = max_distance
        self.context = ContextGraph(max_distance, self._new_hmm(max_distance + 1), is_tfidf, graph)
        self.graph = self.context.graph
        self._shape = (max_distance + 1,) * self.context.hmm.order
        self.graph.urls.add_column("parent", np.int32)
        self.graph.urls.add_column("inherited", np.float64)
        self.graph.pages.add_column("parent", np.int32)
        self.graph.pages.add_column("delta", np.float64, math.prod(self._shape))
        self._sigma = 0.0
        self.nearness = 0.0

    def _new_hmm(self, states: int) -> HMM:
        return HMM(states, states)

    def visited(self, page: Page, relevance: float) -> None:
        relevance = relevance if math.isfinite(relevance) else 0.0
        observation, changed = self.context.visit(page.url, page.terms, relevance)
        self._give_states(changed)
        row = self.graph.pages.row(self.graph.page)
        parent = self.graph.urls["parent"][self.graph.urls.row(self.graph.urls.find(page.url))]
        self.graph.pages["parent"][row] = parent
        delta = self._known(0) if relevance > IS_RELEVANT else self._infer(int(parent), observation)
        self.graph.pages["delta"][row] = delta.ravel()
        self._sigma, self.nearness = relevance, 0.0
        if self.context.is_trained:
            distance = 0 if relevance > IS_RELEVANT else self.context.hmm.state(delta)
            self.context.estimated(self.graph.page, distance)
            self.nearness = nearness(distance, self.max_distance)
            self._sigma = self.alpha * self.nearness + (1.0 - self.alpha) * relevance
        self._count_path(row)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        return self.inherit(self.graph.link([link.url for link in links]))

    def inherit(self, numbers: IntArray) -> FloatArray:
        """Return the scores of URLs that the page visited last links to, given by their *numbers*."""
        self._give_states(self.context.link(numbers))
        urls = self.graph.urls
        rows = urls.rows(numbers)
        inherited, parents = urls["inherited"][rows], urls["parent"][rows]
        is_better = (parents == 0) | (self.is_dynamic & (self._sigma > inherited))
        urls.write("inherited", rows, np.where(is_better, self._sigma, inherited))
        urls.write("parent", rows, np.where(is_better & (urls["page"][rows] == 0), self.graph.page, parents))
        return np.where(is_better | self.is_dynamic, self._sigma, inherited)

    def account(self, url: str, score: float, relevance: float) -> Account | None:  # noqa: ARG002 - known here
        urls, pages = self.graph.urls, self.graph.pages
        row = urls.row(urls.find(url))
        page = pages.row(int(urls["parent"][row]))
        if not page:
            return None
        sigma, estimate = float(urls["inherited"][row]), int(pages["estimate"][page])
        parent = urls.urls[urls.row(int(pages["url"][page]))] or None
        if not estimate:
            return Account([Part("relevance", sigma, 1.0)], parent)
        near, rest = nearness(estimate - 1, self.max_distance), 1.0 - self.alpha
        relevant = (sigma - self.alpha * near) / rest if rest else 0.0
        return Account([Part("nearness", near, self.alpha), Part("relevance", relevant, rest)], parent)

    def distance(self, url: str) -> Distance | None:
        return self.context.distance(url)

    def distances_told(self) -> Mapping[str, int]:
        return self.context.told()

    def learnt(self) -> dict[str, Any]:
        return {"layers": self.context.learnt(self.context.terms.common())}

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        if "layers" in learnt:
            self.context.begin_with(learnt["layers"])

    def _infer(self, parent: int, observation: int) -> FloatArray:
        hmm, row = self.context.hmm, self.graph.pages.row(parent)
        if not row:
            return hmm.start(observation)
        return hmm.step(self.graph.pages["delta"][row].reshape(self._shape), observation)

    def _known(self, state: int) -> FloatArray:
        delta = np.full(self._shape, -KNOWN)
        delta[..., state] = 0.0
        return delta

    def _give_states(self, changed: Sequence[int]) -> None:
        for number in changed:
            known = self._known(self.context.distances[number])
            self.graph.pages["delta"][self.graph.pages.row(number)] = known.ravel()

    def _count_path(self, row: int) -> None:
        """Count what the crawl path to the page says; links are counted by the context graph."""

    def state(self) -> dict[str, Any]:
        return {"graph": self.graph.state(), **self.own_state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.graph.restore(state["graph"])
        self.restore_own(state)

    def own_state(self) -> dict[str, Any]:
        """Return the state without that of the graph, which may be shared."""
        return {"context": self.context.state(), "sigma": self._sigma, "nearness": self.nearness}

    def restore_own(self, state: Mapping[str, Any]) -> None:
        """Take what :meth:`own_state` returned."""
        self.context.restore(state["context"])
        self._sigma, self.nearness = state["sigma"], state["nearness"]


class HmmDynamic(HmmStatic):
    """The static model, and a waiting URL goes to a better-scored page that links to it: new parent, new priority."""

    name: ClassVar[str] = "hmm-dynamic"
    is_dynamic: ClassVar[bool] = True


class HmmSecondOrder(HmmDynamic):
    """The dynamic model with a second-order chain: states of grandparent and parent together give the next.

    Transitions are counted along crawl paths (grandparent, parent, page), in the layers known when the page was
    visited; a Viterbi step costs O(n^3) and a page keeps n^2 numbers.
    """

    name: ClassVar[str] = "hmm-second-order"

    def _new_hmm(self, states: int) -> HMM:
        return SecondOrderHMM(states, states)

    def _count_path(self, row: int) -> None:
        pages = self.graph.pages
        parent = pages.row(int(pages["parent"][row]))
        grandparent = pages.row(int(pages["parent"][parent]))
        if parent and grandparent:
            layers = (int(pages["distance"][each]) for each in (grandparent, parent, row))
            self.context.hmm.count_transition(*layers)
