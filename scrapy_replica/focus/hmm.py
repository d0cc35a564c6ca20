"""Hidden Markov models over distances to a relevant page (Liu, Janssen & Milios 2004), first and second order.

States and observations are numbered from 0; everything is kept as counts, so that retraining adds counts only.

Reading: A_ij is the share of the links from pages of distance i that lead to distance j. Orlandi 2007 (2.3) prints the
links from i to j over all that lead to j, but calls A_ij Pr[j | i] and takes A_ji on the way from j to i (2.1.2).
Laplace smoothing is ours: the source says nothing of states that no link has led to yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray


class HMM:
    """First order: A_ij = Pr[state j | state i], B_io = Pr[observation o | state i], uniform start, Laplace smoothing.

    The Viterbi vector delta of a page (log probability of the best state sequence that ends in each state, shape (n,))
    follows from its parent's in O(n^2), so a chain of ancestors is never walked again. Vectors are shifted to a maximum
    of 0, which changes no comparison and keeps long chains finite.
    """

    order = 1

    def __init__(self, states: int, observations: int) -> None:
        if states < 1 or observations < 1:
            raise ValueError(f"a model needs states and observations, not {states} and {observations}")
        self.transitions = np.zeros((states,) * (self.order + 1))
        self.emissions = np.zeros((states, observations))
        self._log_a = self._log_b = np.zeros(0)
        self._is_stale = True

    @property
    def states(self) -> int:
        return len(self.emissions)

    @property
    def is_trained(self) -> bool:
        return bool(self.transitions.any())

    def count_transition(self, *states: int, times: float = 1.0) -> None:
        """Count a link from a page of the first state to one of the last."""
        self.transitions[states] += times
        self._is_stale = True

    def count_links(self, sources: IntArray, targets: IntArray, times: float = 1.0) -> None:
        """Count links between pages of these states, shape (n,) each (first order)."""
        np.add.at(self.transitions, (sources, targets), times)
        self._is_stale = True

    def count_observation(self, state: int, observation: int, times: float = 1.0) -> None:
        self.emissions[state, observation] += times
        self._is_stale = True

    def forget_observations(self) -> None:
        """Drop the emission counts: the observations have been numbered anew."""
        self.emissions[:] = 0.0
        self._is_stale = True

    def start(self, observation: int) -> FloatArray:
        """Return delta of a page without a parent."""
        return shifted(self.logs()[1][:, observation])

    def step(self, delta: FloatArray, observation: int) -> FloatArray:
        """Return delta of a page from its parent's: max_i (delta_i + log A_ij) + log B_jo."""
        log_a, log_b = self.logs()
        return shifted((delta[:, None] + log_a).max(axis=0) + log_b[:, observation])

    def state(self, delta: FloatArray) -> int:
        """Return the most likely last state, the smaller one among equals."""
        return int(delta.argmax())

    def logs(self) -> tuple[FloatArray, FloatArray]:
        """Return log A and log B, shape (n, n) (second order: (n, n, n)) and (n, observations)."""
        if self._is_stale:
            # Of a link that was forgotten more may be taken back than was counted.
            a, b = np.maximum(self.transitions, 0.0) + 1.0, self.emissions + 1.0
            self._log_a = np.log(a / a.sum(axis=-1, keepdims=True))
            self._log_b = np.log(b / b.sum(axis=-1, keepdims=True))
            self._is_stale = False
        return self._log_a, self._log_b

    def state_of_counts(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes: copies, which stay as they are."""
        return {"transitions": self.transitions.copy(), "emissions": self.emissions.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take the counts of a model. Raises ``ValueError`` if it is one of another shape."""
        transitions, emissions = state["transitions"], state["emissions"]
        if transitions.shape != self.transitions.shape or emissions.shape != self.emissions.shape:
            raise ValueError(f"the saved model has {len(emissions)} states, this one {self.states}")
        self.transitions, self.emissions = transitions.copy(), emissions.copy()
        self._is_stale = True


class SecondOrderHMM(HMM):
    """A_ijk = Pr[state k | states i, j]; delta has shape (n, n): the last two states. A step costs O(n^3)."""

    order = 2

    def start(self, observation: int) -> FloatArray:
        """Return delta of a page without a parent: the state before it is free."""
        log_b = self.logs()[1][:, observation]
        return shifted(np.repeat(log_b[None, :], self.states, axis=0))

    def step(self, delta: FloatArray, observation: int) -> FloatArray:
        log_a, log_b = self.logs()
        return shifted((delta[:, :, None] + log_a).max(axis=0) + log_b[None, :, observation])

    def state(self, delta: FloatArray) -> int:
        return int(delta.max(axis=0).argmax())


def shifted(delta: FloatArray) -> FloatArray:
    return np.asarray(delta - delta.max(), dtype=np.float64)
