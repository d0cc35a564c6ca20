"""The context graph of the visit itself: layers, their classifier and the HMM counts, all kept as the visit grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from scrapy_replica.focus.hmm import HMM
from scrapy_replica.focus.layers import Distances, LayerBayes, TopTerms
from scrapy_replica.numeric import FloatArray, IntArray

IS_RELEVANT = 0.5
"""Relevance above which a page is a root of the context graph."""


class ContextGraph:
    """Visited pages by their distance to the nearest relevant page that the visit knows of (0..d, d = "or more").

    Every page that is found relevant, and every page whose links lead to known layers, moves the pages behind it one or
    more layers nearer (the back-crawl); those pages are counted in their new layer, classified anew, and the counts
    of A (links between visited pages) and B (layer, observation) follow. So the models always equal those trained
    from scratch on the present layers, but for observations of pages that kept their layer.

    Memory: 1.8 kB a visited page of 12 links (measured at 100,000 pages).
    """

    def __init__(self, max_distance: int, hmm: HMM, is_tfidf: bool = True) -> None:
        self.max_distance = max_distance
        self.hmm = hmm
        self._counts_links = hmm.order == 1
        self.terms = TopTerms(is_tfidf)
        self.bayes = LayerBayes(max_distance)
        self.distances = Distances(max_distance)
        self.observations: dict[int, int] = {}
        self.observe: Callable[[Mapping[str, int]], int] | None = None
        """Observation of a page by its terms, instead of its layer class."""
        self._documents: dict[int, tuple[IntArray, FloatArray]] = {}

    @property
    def is_trained(self) -> bool:
        return bool(self.bayes.pages.any())

    def terms_of(self, page: int) -> IntArray:
        """Return the numbers of a visited page's top terms."""
        return self._documents[page][0]

    def likelihood(self, page: int, layer: int) -> float:
        """Return Pr[layer | page] of a visited page."""
        return float(self.bayes.probabilities(*self._documents[page])[layer])

    def visit(self, page: int, terms: Mapping[str, int], relevance: float) -> tuple[int, list[int]]:
        """Add a page; return its observation and the pages whose layer changed."""
        document = self.terms.see(terms)
        observation = self.observe(terms) if self.observe else self.bayes.classify(*document)
        self._documents[page], self.observations[page] = document, observation
        changes = self.distances.visit(page, relevance > IS_RELEVANT)
        olds = {changed: old for changed, old, _ in reversed(changes)}
        self._count(page, self.distances[page], 1.0)
        for parent in self.distances.parents_of(page):
            self._link(parent, page, olds)
        self._follow(changes)
        return observation, [changed for changed, _, _ in changes]

    def link(self, page: int, targets: Sequence[int]) -> list[int]:
        """Enter the links of a page; return the pages whose layer changed."""
        before = self.distances[page]
        changes = self.distances.link(page, targets)
        olds = {changed: old for changed, old, _ in reversed(changes)}
        olds.setdefault(page, before)
        for target in self.distances.links_of(page):
            self._link(page, target, olds)
        self._follow(changes)
        return list(olds) if changes else []

    def _follow(self, changes: Sequence[tuple[int, int, int]]) -> None:
        """Move the counts of changed pages; a page that changed more than once moves from its first to its last."""
        first = {page: old for page, old, _ in reversed(changes)}
        stale = dict(first)
        for page, old in first.items():
            new = self.distances[page]
            self._count(page, old, -1.0)
            for target in self.distances.links_of(page):
                self._relink(page, target, stale, old, new, is_source=True)
            for parent in self.distances.parents_of(page):
                self._relink(parent, page, stale, old, new, is_source=False)
            del stale[page]
            if self.observe is None:
                self.observations[page] = self.bayes.classify(*self._documents[page])
            self._count(page, new, 1.0)
            self.bayes.note_threshold(new, *self._documents[page])

    def _relink(self, source: int, target: int, stale: Mapping[int, int], old: int, new: int, is_source: bool) -> None:
        if not (self._counts_links and self.distances.is_visited(source) and self.distances.is_visited(target)):
            return
        other = target if is_source else source
        layer = stale.get(other, self.distances[other])
        self.hmm.count_transition(*((old, layer) if is_source else (layer, old)), times=-1.0)
        self.hmm.count_transition(*((new, layer) if is_source else (layer, new)), times=1.0)

    def _link(self, source: int, target: int, olds: Mapping[int, int]) -> None:
        if self._counts_links and self.distances.is_visited(target) and self.distances.is_visited(source):
            layers = olds.get(source, self.distances[source]), olds.get(target, self.distances[target])
            self.hmm.count_transition(*layers)

    def _count(self, page: int, layer: int, times: float) -> None:
        self.bayes.add(layer, *self._documents[page], times)
        self.hmm.count_observation(layer, self.observations[page], times)
