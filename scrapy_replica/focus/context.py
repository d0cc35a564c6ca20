"""The context graph of the visit itself: layers, their classifier and the HMM counts, all kept as the visit grows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from scrapy_replica.focus.distances import Distances
from scrapy_replica.focus.hmm import HMM
from scrapy_replica.focus.known_graph import KnownGraph
from scrapy_replica.focus.layers import TOP_TERMS, LayerBayes, Thresholds, TopTerms
from scrapy_replica.focus.model_file import OtherModelError
from scrapy_replica.focus.strategy import Distance
from scrapy_replica.numeric import FloatArray, IntArray
from scrapy_replica.records import TermWeight

IS_RELEVANT = 0.5
"""Relevance above which a page is a root of the context graph."""
CARRIED_PAGES = 1_000
"""Pages that what was learnt on other sites counts for at most: a new site soon has as many of its own."""
MOST_FOLLOWED = 2_000
"""Links of pages that changed their layer looked at after a page, some 5 ms; what a page that all others link to
changes beyond that is done after the next ones."""


class ContextGraph:
    """Visited pages by their distance to the nearest relevant page that the visit knows of (0..d, d = "or more").

    Every page that is found relevant, and every page whose links lead to known layers, moves the pages behind it one or
    more layers nearer (the back-crawl); those pages are counted in their new layer, classified anew, and the counts
    of A (links between visited pages) and B (layer, observation) follow. So the models equal those trained
    from scratch on the present layers, but for observations of pages that kept their layer; pages that *graph* has
    forgotten stay in the layer they had.

    Memory: 350 bytes a page, at most 35 MB, besides *graph*; terms and their counts, at most 25 MB.
    """

    def __init__(
        self,
        max_distance: int,
        hmm: HMM,
        is_tfidf: bool = True,
        graph: KnownGraph | None = None,
        distances: type[Distances] = Distances,
    ) -> None:
        self.max_distance = max_distance
        self.hmm = hmm
        self.graph = graph or KnownGraph()
        self._counts_links = hmm.order == 1
        self.terms = TopTerms(is_tfidf)
        self.bayes = LayerBayes(max_distance, self.terms)
        self.distances = distances(max_distance, self.graph)
        self.observe: Callable[[Mapping[str, int]], int] | None = None
        """Observation of a page by its terms, instead of its layer class."""
        self._pending: deque[int] = deque()
        pages = self.graph.pages
        for column in ("layer", "observation", "terms", "estimate"):
            pages.add_column(column, np.int16)
        pages.add_column("term", np.int32, TOP_TERMS)
        pages.add_column("weight", np.float32, TOP_TERMS)
        self.thresholds = Thresholds(pages, max_distance)

    @property
    def is_trained(self) -> bool:
        return bool(self.bayes.pages.any())

    def terms_of(self, page: int) -> IntArray:
        """Return the numbers of a page's top terms, none if it was forgotten."""
        return self._document(self.graph.pages.row(page))[0]

    def estimated(self, page: int, distance: int) -> None:
        """Write down what the models say of a page before its distance is known."""
        self.graph.pages["estimate"][self.graph.pages.row(page)] = distance + 1

    def distance(self, url: str) -> Distance | None:
        """Return the distance of the fetched page at *url*; ``None`` where there is none or it was forgotten."""
        urls, pages = self.graph.urls, self.graph.pages
        row = pages.row(int(urls["page"][urls.row(urls.find(url))]))
        if not row:
            return None
        estimate = int(pages["estimate"][row])
        return Distance(estimate - 1 if estimate else None, int(pages["layer"][row]), self.max_distance)

    def told(self) -> dict[str, int]:
        """Return how many pages nearer than d, not relevant themselves, lie in a known layer; how many were told so.

        ``known``, ``right``, and ``near`` for those told rightly or by one layer too near or far. Of pages that lead to
        nothing relevant by now nobody knows.
        """
        pages, used = self.graph.pages, self.graph.pages.used
        layer, estimate = pages["layer"][:used], pages["estimate"][:used]
        is_known = (layer > 0) & (layer < self.max_distance) & (estimate > 0)
        error = np.abs(estimate[is_known] - 1 - layer[is_known])
        return {"known": len(error), "right": int((error == 0).sum()), "near": int((error <= 1).sum())}

    def likelihood(self, page: int, layer: int) -> float:
        """Return Pr[layer | page] of a visited page."""
        return float(self._probabilities(self.graph.pages.row(page))[layer])

    def visit(self, url: str, terms: Mapping[str, int], relevance: float) -> tuple[int, list[int]]:
        """Add a page; return its observation and the pages whose layer changed."""
        page = self.graph.visit(url)
        row = self.graph.pages.row(page)
        self._keep(row, *self.terms.see(terms))
        self.graph.pages["layer"][row] = self.max_distance
        self.graph.pages["observation"][row] = self._observation(row, terms)
        self._count(row, 1.0)
        if self._counts_links:
            sources = self._layers(self.graph.sources(page))
            self.hmm.count_links(sources, np.full_like(sources, self.max_distance))
        is_relevant = relevance > IS_RELEVANT
        nearer = self.distances.visit(page, is_relevant)
        changed = self._follow([page, *nearer] if is_relevant else nearer)
        return int(self.graph.pages["observation"][row]), [each for each in changed if each != page]

    def link(self, urls: IntArray) -> list[int]:
        """Take note of the *urls* that the page visited last links to; return the pages whose layer changed."""
        page = self.graph.page
        if self._counts_links:
            pages = self.graph.urls["page"][self.graph.urls.rows(np.unique(urls))]
            targets = self._layers(pages[(pages != page) & (self.graph.pages.rows(pages) > 0)])
            self.hmm.count_links(np.full_like(targets, self._layer(page)), targets)
        return self._follow(self.distances.link(page, urls))

    def observed(self, page: int, observation: int) -> None:
        """Give a page another observation and count it; what was counted before must have been dropped."""
        row = self.graph.pages.row(page)
        self.graph.pages["observation"][row] = observation
        self.hmm.count_observation(self._layer(page), observation)

    def _follow(self, changed: Sequence[int]) -> list[int]:
        """Train the models on the layers of pages whose distance changed, then classify these pages anew.

        Returns those that were moved.
        """
        self._pending.extend(changed)
        moved, links = [], 0
        while self._pending and links < MOST_FOLLOWED:
            page = self._pending.popleft()
            if self._layer(page) != self.distances[page]:
                links += self._move(page)
                moved.append(page)
        probabilities = {page: self._probabilities(self.graph.pages.row(page)) for page in moved}
        for page in moved:
            layer = self._layer(page)
            if layer < self.max_distance:
                self.thresholds.enter(page, layer, float(probabilities[page][layer]))
        for page in moved if self.observe is None else ():
            self._observe_again(self.graph.pages.row(page), probabilities[page])
        return moved

    def _move(self, page: int) -> int:
        row, old, new = self.graph.pages.row(page), self._layer(page), self.distances[page]
        targets = sources = np.zeros(0, dtype=np.int64)
        if self._counts_links:
            targets, sources = self._layers(self.graph.targets(page)), self._layers(self.graph.sources(page))
            for layer, times in ((old, -1.0), (new, 1.0)):
                self.hmm.count_links(np.full_like(targets, layer), targets, times)
                self.hmm.count_links(sources, np.full_like(sources, layer), times)
        self._count(row, -1.0)
        self.graph.pages["layer"][row] = new
        self._count(row, 1.0)
        return 20 + len(targets) + len(sources)

    def _observe_again(self, row: int, probabilities: FloatArray) -> None:
        pages, observation = self.graph.pages, self._classify(probabilities)
        layer, old = int(pages["layer"][row]), int(pages["observation"][row])
        self.hmm.count_observation(layer, old, -1.0)
        self.hmm.count_observation(layer, observation)
        pages["observation"][row] = observation

    def _observation(self, row: int, terms: Mapping[str, int]) -> int:
        return self.observe(terms) if self.observe else self._classify(self._probabilities(row))

    def _probabilities(self, row: int) -> FloatArray:
        return self.bayes.probabilities(*self._document(row))

    def _classify(self, probabilities: FloatArray) -> int:
        """Return the likeliest layer of a page, or d, "d or more", where its probability is at most its sigma."""
        if not self.is_trained:
            return self.max_distance
        best = int(probabilities.argmax())
        return best if probabilities[best] > self.thresholds[best] else self.max_distance

    def _count(self, row: int, times: float) -> None:
        layer, pages = int(self.graph.pages["layer"][row]), self.graph.pages
        self.bayes.add(layer, *self._document(row), times)
        self.hmm.count_observation(layer, int(pages["observation"][row]), times)

    def _layer(self, page: int) -> int:
        row = self.graph.pages.row(page)
        return int(self.graph.pages["layer"][row]) if row else self.max_distance

    def _layers(self, pages: IntArray) -> IntArray:
        return self.graph.pages["layer"][self.graph.pages.rows(pages)].astype(np.int64)

    def _keep(self, row: int, terms: IntArray, weights: FloatArray) -> None:
        pages = self.graph.pages
        pages["terms"][row] = len(terms)
        pages["term"][row, : len(terms)] = terms
        pages["weight"][row, : len(terms)] = weights

    def _document(self, row: int) -> tuple[IntArray, FloatArray]:
        pages = self.graph.pages
        count = int(pages["terms"][row])
        return pages["term"][row, :count].astype(np.int64), pages["weight"][row, :count].astype(np.float64)

    def learnt(self, kept: IntArray) -> dict[str, Any]:
        """Return the models without the graph, of the terms *kept*: what :meth:`begin_with` takes."""
        pages = float(np.maximum(self.hmm.emissions, 0.0).sum())
        share = min(1.0, CARRIED_PAGES / max(1.0, pages))
        counts = self.hmm.state_of_counts().items()
        return {
            "hmm": {name: np.maximum(part, 0.0) * share for name, part in counts},
            "bayes": self.bayes.learnt(kept, CARRIED_PAGES),
            "terms": self.terms.learnt(kept, CARRIED_PAGES),
            "is_tfidf": self.terms.is_tfidf,
        }

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        """Take what :meth:`learnt` returned. Raises ``ValueError`` where it was learnt with other settings."""
        if learnt["is_tfidf"] != self.terms.is_tfidf:
            weight = TermWeight.TFIDF if learnt["is_tfidf"] else TermWeight.TF
            raise OtherModelError(f"its layers were learnt with REPLICA_HMM_TERMS = {weight.value}: set that")
        if len(learnt["bayes"]["pages"]) != self.max_distance:
            far = len(learnt["bayes"]["pages"])
            raise OtherModelError(f"its layers were learnt with REPLICA_HMM_DISTANCE = {far}: set that")
        if learnt["hmm"]["transitions"].ndim == self.hmm.transitions.ndim:
            self.hmm.restore(learnt["hmm"])
        self.bayes.restore(learnt["bayes"])
        self.terms.restore(learnt["terms"])

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes, without *graph*: copies, which stay as they are."""
        return {
            "hmm": self.hmm.state_of_counts(),
            "terms": self.terms.state(),
            "bayes": self.bayes.state(),
            "thresholds": self.thresholds.state(),
            "pending": np.array(self._pending, dtype=np.int64),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.hmm.restore(state["hmm"])
        self.terms.restore(state["terms"])
        self.bayes.restore(state["bayes"])
        self.thresholds.restore(state["thresholds"])
        self._pending = deque(state["pending"].tolist())
