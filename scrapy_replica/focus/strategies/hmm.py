"""HMM over context-graph layers: links inherit the estimated distance of their page (Orlandi 2007, chapter 5)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from scrapy_replica.focus.context import IS_RELEVANT, ContextGraph
from scrapy_replica.focus.frontier import UrlIds
from scrapy_replica.focus.hmm import HMM, SecondOrderHMM
from scrapy_replica.focus.layers import LayerBayes, nearness
from scrapy_replica.focus.state import pack, unpack
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.numeric import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy_replica.records import Link, Page

ALPHA = 0.25
"""The source has .5. On two topics that no table reports, one draw each, mean Pref of the dynamic model .957 with .5,
.963 with .25, .962 with .1; of the static one .934 with .5, .940 with .25."""
MAX_DISTANCE = 6
"""With 3 instead of 6 the same mean is .953. What did not help, with a weight of .5, one on top of the other: links
inherit a state that they made known themselves .952, the mean state instead of the likeliest .948, relevance as a
second observation .946, waiting links moved when the state of their page changes .947."""
NEVER_RAISED = -1e9
"""Score of a link that was found before, where the first parent stays."""
KNOWN = 50.0
"""Log odds by which a page of known state prefers it: e**50, not infinity, so that chains stay finite."""


class HmmStatic(Strategy):
    """sigma = a (d - delta) / d + (1 - a) Pr[page relevant]; children inherit sigma from the page that found them.

    delta is the last state of the Viterbi path over the observations (layer classes) of the page's crawl ancestors.
    A relevant page has delta 0; it starts a back-crawl that gives its visited ancestors their true state, and the layer
    model and the HMM follow at once. Before the first relevant page the order is best-first.

    *alpha* is a, *max_distance* d, *is_tfidf* whether the 40 terms of a page are chosen by TF-IDF or TF. Memory: 2 kB
    a visited page of 12 links, 330 bytes a URL found (measured at 100,000 pages); at most ``frontier.MOST_URLS`` URLs.
    """

    name: ClassVar[str] = "hmm-static"
    is_dynamic: ClassVar[bool] = False
    nearness: float
    """(d - delta) / d of the page visited last, 0 before the first training."""

    def __init__(
        self,
        alpha: float = ALPHA,
        max_distance: int = MAX_DISTANCE,
        is_tfidf: bool = True,
        urls: UrlIds | None = None,
    ) -> None:
        if not 0.0 <= alpha <= 1.0:
            raise ValueError(f"alpha weighs two shares and lies within 0..1, not {alpha}")
        self.alpha = alpha
        self.max_distance = max_distance
        self.graph = ContextGraph(max_distance, self._new_hmm(max_distance + 1), is_tfidf)
        self._urls = urls or UrlIds()
        self._deltas: dict[int, FloatArray] = {}
        self._parent: dict[int, int] = {}
        self._inherited: dict[int, float] = {}
        self._page = 0
        self._sigma = 0.0
        self.nearness = 0.0

    def _new_hmm(self, states: int) -> HMM:
        return HMM(states, states)

    def visited(self, page: Page, relevance: float) -> None:
        relevance = relevance if math.isfinite(relevance) else 0.0
        number = self._page = self._urls.id_of(page.url)
        observation, changed = self.graph.visit(number, page.terms, relevance)
        self._give_states(changed)
        if relevance > IS_RELEVANT:
            self._deltas[number] = self._known(0)
            distance = 0
        else:
            self._deltas[number] = self._infer(number, observation)
            distance = self.graph.hmm.state(self._deltas[number])
        self._sigma, self.nearness = relevance, 0.0
        if self.graph.is_trained:
            self.nearness = nearness(distance, self.max_distance)
            self._sigma = self.alpha * self.nearness + (1.0 - self.alpha) * relevance
        self._count_path(number)

    def scores(self, page: Page, links: Sequence[Link]) -> FloatArray:  # noqa: ARG002 - the page visited last
        return self.inherit([self._urls.id_of(link.url) for link in links])

    def inherit(self, numbers: Sequence[int]) -> FloatArray:
        """Enter the links of the page visited last, given by the numbers of their URLs, and return their scores."""
        self._give_states(self.graph.link(self._page, numbers))
        scores = np.full(len(numbers), self._sigma)
        for place, number in enumerate(numbers):
            inherited = self._inherited.get(number)
            if inherited is None or (self.is_dynamic and self._sigma > inherited):
                self._inherited[number] = self._sigma
                if number not in self._deltas:
                    self._parent[number] = self._page
            else:
                scores[place] = NEVER_RAISED if not self.is_dynamic else self._sigma
        return scores

    def save_models(self) -> bytes:
        """Return the layer model and the HMM as NPZ, for another crawl of the same topic to begin with."""
        graph = self.graph
        return pack({"hmm": graph.hmm.to_dict(), "bayes": graph.bayes.save(), "terms": graph.terms.state()})

    def load_models(self, state: bytes) -> None:
        """Begin with the models that :meth:`save_models` returned. Raises ``ValueError`` for another distance."""
        parts = unpack(state)
        self.graph.hmm.restore(parts["hmm"])
        self.graph.bayes = LayerBayes.load(parts["bayes"])
        self.graph.terms.restore(parts["terms"])

    def _infer(self, number: int, observation: int) -> FloatArray:
        parent = self._deltas.get(self._parent.get(number, -1))
        hmm = self.graph.hmm
        return hmm.start(observation) if parent is None else hmm.step(parent, observation)

    def _known(self, state: int) -> FloatArray:
        shape = (self.max_distance + 1,) * self.graph.hmm.order
        delta = np.full(shape, -KNOWN)
        delta[..., state] = 0.0
        return delta

    def _give_states(self, changed: Sequence[int]) -> None:
        for number in changed:
            self._deltas[number] = self._known(self.graph.distances[number])

    def _count_path(self, number: int) -> None:
        """Count what the crawl path to the page says; links are counted by the context graph."""


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

    def _count_path(self, number: int) -> None:
        parent = self._parent.get(number)
        grandparent = self._parent.get(parent) if parent is not None else None
        if parent is None or grandparent is None:
            return
        layers = (self.graph.distances[page] for page in (grandparent, parent, number))
        self.graph.hmm.count_transition(*layers)
