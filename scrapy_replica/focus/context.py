"""The context graph of the visit itself: layers of its pages, their classifier and the HMM, learnt anew as it grows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_replica.focus.hmm import HMM, NEVER
from scrapy_replica.focus.known_graph import KnownGraph, layers, tried
from scrapy_replica.focus.layer_model import LayerModel
from scrapy_replica.focus.model_file import OtherModelError
from scrapy_replica.focus.strategy import Distance
from scrapy_replica.focus.top_terms import TOP_TERMS, TopTerms
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray

IS_RELEVANT = 0.5
"""Relevance above which a page is a root of the context graph."""
CARRIED_PAGES = 1_000
"""Pages that what was learnt on other sites counts for at most: a new site soon has as many of its own."""
LEAST_TRIED = 0.6
"""Share of its links that was fetched, from which on a page is learnt from. Of others nobody knows yet what they lead
to, and taken for "d or more" they teach that what is unexplored lies far."""
TAUGHT = 300
"""Pages of a layer, those visited last, that the classifier is learnt from; layers have equal weight."""
LEAST = 1e-9
"""What a smaller probability is kept as, so that no page forbids a state."""
EVIDENCE = 2.0
"""Weight of the text beside the path, as speech recognisers weigh sound beside words: the classifier, learnt from few
pages of some layers, is less sure than it might be. Found after a fifth of the control with 40 sites, four draws: 1.00
each; with 4 1.00 thrice and .97; with 1 one draw of 1.00, .08 where the models are learnt from 10 pages on, not 50."""
FIRST, GROWTH, MOST_BETWEEN = 10, 1.2, 25_000
"""Models are learnt at so many pages, and whenever the visit has grown by this factor or by so many pages."""


class ContextGraph:
    """Visited pages by their distance to relevant ones found after them (0..d, d = "or more"), and what is learnt so.

    Layers (:func:`~scrapy_replica.focus.known_graph.layers`), the classifier of text into layers, and the counts of A
    (links between pages) and B (layer and observation) are made anew from the pages known, now and then, where the
    source does so after each relevant page. What is learnt from are pages of whose links most were fetched.

    Memory: 380 bytes a page, at most 38 MB, besides *graph*; terms and their weights, at most 25 MB.
    """

    def __init__(self, max_distance: int, hmm: HMM, graph: KnownGraph | None = None) -> None:
        self.max_distance = max_distance
        self.hmm = hmm
        self.graph = graph or KnownGraph()
        self.terms = TopTerms()
        self.model = LayerModel(max_distance, self.terms)
        self.next_learning = FIRST
        """Page at which the models are learnt next."""
        pages = self.graph.pages
        for column in ("layer", "observation", "estimate"):
            pages.add_column(column, np.int16)
        pages.add_column("parent", np.int32)
        pages.add_column("relevance", np.float32)
        pages.add_column("term", np.int32, TOP_TERMS)
        pages.add_column("count", np.uint8, TOP_TERMS)
        pages.add_column("said", np.float32, max_distance + 1)
        self.graph.urls.add_column("unproductive", np.bool_)

    @property
    def is_trained(self) -> bool:
        return self.hmm.is_trained and self.model.is_fitted

    def distance(self, url: str) -> Distance | None:
        """Return the distance of the fetched page at *url*; ``None`` where there is none or it was forgotten."""
        urls, pages = self.graph.urls, self.graph.pages
        row = pages.row(int(urls["page"][urls.row(urls.find(url))]))
        if not row:
            return None
        estimate = int(pages["estimate"][row])
        return Distance(estimate - 1 if estimate else None, int(self.layers()[row]), self.max_distance)

    def told(self) -> dict[str, int]:
        """Return how many pages nearer than d, not relevant themselves, lie in a known layer; how many were told so.

        ``known``, ``right``, and ``near`` for those told rightly or by one layer too near or far, as of when the models
        were learnt last. Of pages that lead to nothing relevant by then nobody knows.
        """
        pages, used = self.graph.pages, self.graph.pages.used
        layer, estimate = pages["layer"][:used], pages["estimate"][:used]
        is_known = (layer > 0) & (layer < self.max_distance) & (estimate > 0)
        error = np.abs(estimate[is_known] - 1 - layer[is_known])
        return {"known": len(error), "right": int((error == 0).sum()), "near": int((error <= 1).sum())}

    def layers(self) -> IntArray:
        """Return the layers of the pages by row, as they are known by now, shape (pages + 1,)."""
        return layers(self.graph, self._relevant(), self.max_distance)

    def _relevant(self) -> BoolArray:
        return np.asarray(self.graph.pages["relevance"][: self.graph.pages.used] > IS_RELEVANT)

    def visit(self, url: str, terms: Mapping[str, int], relevance: float, parent: int) -> bool:
        """Add a page, found on page number *parent*; return whether the models were learnt anew."""
        self._enter(url, terms, relevance, parent)
        if self.graph.page < self.next_learning:
            return False
        self.next_learning = int(min(self.graph.page * GROWTH, self.graph.page + MOST_BETWEEN)) + 1
        self.learn()
        return True

    def _enter(self, url: str, terms: Mapping[str, int], relevance: float, parent: int) -> None:
        pages, row = self.graph.pages, self.graph.pages.row(self.graph.visit(url))
        numbers, counts = self.terms.see(terms)
        pages["relevance"][row], pages["parent"][row] = relevance, parent
        pages["term"][row, : len(numbers)] = numbers
        pages["count"][row, : len(numbers)] = np.minimum(counts, 255)
        self._read(np.array([row]))

    def unproductive(self, url: str) -> None:
        """Take note that fetching *url* brought nothing new, so it is no longer untried."""
        urls = self.graph.urls
        urls.write("unproductive", np.array([urls.row(urls.find(url))]), True)

    def learn(self) -> None:
        """Learn classifier and HMM anew from the pages known, and observe all of them again."""
        pages, used = self.graph.pages, self.graph.pages.used
        found = self.layers()
        pages["layer"][1:used] = found[1:]
        is_known = (tried(self.graph) >= LEAST_TRIED) | (found == 0)
        is_known[0] = False
        self.learn_text(np.flatnonzero(is_known & (found > 0)), found)
        self._read(np.arange(1, used))
        self.learn_states(is_known, found)

    def learn_text(self, rows: IntArray, found: IntArray) -> None:
        """Learn the classifier from the pages in *rows*; *found* are the layers, shape (pages + 1,)."""
        newest_first = rows[np.argsort(-self.graph.pages.numbers()[rows])]
        of = found[newest_first]
        rows = np.concatenate([newest_first[of == layer][:TAUGHT] for layer in range(1, self.max_distance + 1)])
        sizes = np.bincount(found[rows], minlength=self.max_distance + 1)
        if np.count_nonzero(sizes) > 1:
            pages, weighs = self.graph.pages, len(rows) / np.count_nonzero(sizes) / np.maximum(sizes, 1)
            self.model.fit(pages["term"][rows], pages["count"][rows], found[rows], weighs[found[rows]])

    def learn_states(self, is_known: BoolArray, found: IntArray) -> None:
        """Learn the HMM from pages that are known to lie in the layers *found*, shape (pages + 1,)."""
        pages, used, states = self.graph.pages, self.graph.pages.used, self.max_distance + 1
        emissions = np.zeros_like(self.hmm.emissions)
        np.add.at(emissions, (found[is_known], pages["observation"][:used][is_known]), 1.0)
        path: tuple[IntArray, ...]
        if self.hmm.order == 1:
            path = self.graph.page_links()
        else:
            parents = pages.rows(pages["parent"][:used].astype(np.int64))
            path = parents[parents], parents, np.arange(used)
        whole = np.logical_and.reduce([is_known[rows] for rows in path])
        transitions = np.zeros((states,) * len(path))
        np.add.at(transitions, tuple(found[rows[whole]] for rows in path), 1.0)
        self.hmm.learn(transitions, emissions)

    def probabilities(self, rows: IntArray) -> FloatArray:
        """Return Pr[layer | page] of the pages in *rows*, shape (n, d + 1): relevant ones lie in layer 0, no others.

        They are those of the page's visit, or of when the models were learnt since.
        """
        return np.asarray(self.graph.pages["said"][rows], dtype=np.float64)

    def _read(self, rows: IntArray) -> None:
        """Classify pages; all that are not relevant are "d or more" before there is a classifier."""
        pages, said = self.graph.pages, np.zeros((len(rows), self.max_distance + 1))
        said[:, -1] = 1.0
        if self.model.is_fitted:
            said[:, 1:] = self.model.probabilities(pages["term"][rows], pages["count"][rows])
        said[pages["relevance"][rows] > IS_RELEVANT] = np.eye(1, self.max_distance + 1)
        pages["said"][rows] = said
        pages["observation"][rows] = said.argmax(axis=1)

    def emitted(self, rows: IntArray) -> FloatArray:
        """Return the log probability of what pages show, by state, shape (n, d + 1), up to a number a page.

        Reading: the source observes the likeliest class, whose B_jo says how often it is wrong. Here it is the text
        itself, Pr[text | j] ~ Pr[j | text] / Pr[j], as hybrids of HMM and classifier have it (Bourlard & Morgan 1994);
        Pr[j] is one for all layers, which are taught with equal weight. Found after a fifth of the control with 40
        sites: 1.00 so, .35 with classes; Pref of mail .883 and .863, of courses on WebKB .653 and .589, one draw,
        before A and weights were what they are.
        """
        logs = EVIDENCE * np.log(np.maximum(self.probabilities(rows), LEAST))
        shown = np.where(self.hmm.is_seen, logs, NEVER)
        shown[self.graph.pages["relevance"][rows] <= IS_RELEVANT, 0] = NEVER
        return shown

    def learnt(self, kept: IntArray) -> dict[str, Any]:
        """Return the models without the graph, of the terms *kept*: what :meth:`begin_with` takes."""
        share = min(1.0, CARRIED_PAGES / max(1.0, float(self.hmm.emissions.sum())))
        return {
            "hmm": {name: part * share for name, part in self.hmm.counts().items()},
            "model": self.model.learnt(kept),
            "terms": self.terms.learnt(kept, CARRIED_PAGES),
        }

    def begin_with(self, learnt: Mapping[str, Any]) -> None:
        """Take what :meth:`learnt` returned. Raises ``ValueError`` where it was learnt with other settings."""
        if (far := len(learnt["model"]["intercepts"])) != self.max_distance:
            raise OtherModelError(f"its layers count {far} distances, not {self.max_distance}")
        if learnt["hmm"]["transitions"].ndim == self.hmm.transitions.ndim:
            self.hmm.begin_with(learnt["hmm"])
        self.terms.restore(learnt["terms"])
        self.model.begin_with(learnt["model"])

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes, without *graph*: copies, which stay as they are."""
        parts = {"hmm": self.hmm.state(), "terms": self.terms.state(), "model": self.model.state()}
        return {**parts, "next": self.next_learning}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.hmm.restore(state["hmm"])
        self.terms.restore(state["terms"])
        self.model.restore(state["model"])
        self.next_learning = state["next"]
