"""Hidden Markov models over distances to a relevant page (Liu, Janssen & Milios 2004), first and second order.

States and observations are numbered from 0. The counts are those of the pages and links known by now, counted anew
whenever the models are learnt, beside those of other sites that the crawl began with.

Reading: A_ij is the share of the links that lead to distance j that come from pages of distance i, as Orlandi 2007
prints it (2.3), though it calls A_ij Pr[j | i]: divided by how often j is reached at all, so that "d or more", where
nearly all links lead, is no likelier than the others. Found after a fifth of the control with 40 sites, three draws,
text and path weighing alike: 1.00, 1.00 and .40, with the share of the links from i .28, .05 and .07. Laplace
smoothing over the states that pages were in is ours; the source says nothing of others, and here none is ever entered.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray

NEVER = -1e3
"""Log probability of a state that no page was in, and of what it shows: e**-1000, not 0, so that chains stay finite."""


class HMM:
    """First order: A_ij, B_io = Pr[observation o | state i], uniform start, Laplace smoothing.

    The Viterbi vector delta of a page (log probability of the best state sequence that ends in each state) follows from
    its parent's in O(n^2), so a chain of ancestors is never walked again. Vectors are shifted to a maximum of 0, which
    changes no comparison and keeps long chains finite. Those of many pages are rows, shape (pages, n).
    """

    order = 1

    def __init__(self, states: int, observations: int) -> None:
        self.states = states
        zeros = np.zeros((states,) * (self.order + 1)), np.zeros((states, observations))
        self._before = dict(zip(("transitions", "emissions"), zeros, strict=True))
        """Counts of other sites."""
        self.learn(*zeros)

    def learn(self, transitions: FloatArray, emissions: FloatArray) -> None:
        """Take the counts of links by the states along them, shape (n,) * (order + 1), and of observations, (n, o)."""
        self._own = {"transitions": transitions, "emissions": emissions}
        self.transitions = transitions + self._before["transitions"]
        self.emissions = emissions + self._before["emissions"]
        is_seen = self.is_seen = np.asarray(self.emissions.sum(axis=1) > 0.0)
        others = tuple(range(self.order))
        a = self.transitions + reduce(np.multiply.outer, [is_seen] * (self.order + 1))
        b = self.emissions + 1.0
        shares = a / np.maximum(a.sum(axis=others, keepdims=True), 1.0)
        self.log_a = np.log(shares, out=np.full(a.shape, NEVER), where=shares > 0.0)
        self.log_b = np.where(is_seen[:, None], np.log(b / b.sum(axis=1, keepdims=True)), NEVER)

    @property
    def is_trained(self) -> bool:
        return bool(self.transitions.any())

    def emitted(self, observations: IntArray) -> FloatArray:
        """Return log B of each page's observation, shape (pages, n)."""
        return self.log_b[:, observations].T

    def start(self, emitted: FloatArray) -> FloatArray:
        """Return delta of pages without a parent."""
        return shifted(emitted)

    def step(self, delta: FloatArray, emitted: FloatArray) -> FloatArray:
        """Return delta of pages from their parents': max_i (delta_i + log A_ij) + log B_jo."""
        return shifted((delta[:, :, None] + self.log_a).max(axis=1) + emitted)

    def state_of(self, delta: FloatArray) -> IntArray:
        """Return the most likely last states, the smaller one among equals, shape (pages,)."""
        return np.asarray(delta.argmax(axis=-1))

    def counts(self) -> dict[str, Any]:
        """Return what :meth:`begin_with` takes: copies, which stay as they are."""
        return {"transitions": self.transitions.copy(), "emissions": self.emissions.copy()}

    def begin_with(self, counts: Mapping[str, Any]) -> None:
        """Begin with the counts of other sites. Raises ``ValueError`` if they are of a model of another shape."""
        if counts["transitions"].shape != self.transitions.shape or counts["emissions"].shape != self.emissions.shape:
            raise ValueError(f"the saved model has {len(counts['emissions'])} states, this one {self.states}")
        self._before = {name: counts[name].copy() for name in ("transitions", "emissions")}
        self.learn(np.zeros_like(self.transitions), np.zeros_like(self.emissions))

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes: copies, which stay as they are."""
        counts = {"before": self._before, "own": self._own}
        return {which: {name: part.copy() for name, part in parts.items()} for which, parts in counts.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._before = state["before"]
        self.learn(**state["own"])


class SecondOrderHMM(HMM):
    """A_ijk is the share of the paths that lead to k that come over i and j; a step costs O(n^3).

    delta has shape (pages, n, n): the last two states.
    """

    order = 2

    def start(self, emitted: FloatArray) -> FloatArray:
        """Return delta of pages without a parent: the state before it is free."""
        return shifted(np.repeat(emitted[:, None, :], self.states, axis=1))

    def step(self, delta: FloatArray, emitted: FloatArray) -> FloatArray:
        return shifted((delta[:, :, :, None] + self.log_a).max(axis=1) + emitted[:, None, :])

    def state_of(self, delta: FloatArray) -> IntArray:
        return np.asarray(delta.max(axis=1).argmax(axis=-1))


def shifted(delta: FloatArray) -> FloatArray:
    return np.asarray(delta - delta.max(axis=tuple(range(1, delta.ndim)), keepdims=True))
