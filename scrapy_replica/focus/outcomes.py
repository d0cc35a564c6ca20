"""Means of the outcomes seen so far in groups of links: directories within hosts, anchor texts, pages that link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

PRIOR_WEIGHT = 3.0
"""Outcomes that the prior mean counts for."""


class Column:
    """A numpy array that grows by doubling; new entries hold *fill*."""

    def __init__(self, dtype: type, fill: float) -> None:
        self._fill = fill
        self.values: NDArray[Any] = np.full(1024, fill, dtype=dtype)

    def reserve(self, size: int) -> None:
        if size > len(self.values):
            grown = np.full(max(size, 2 * len(self.values)), self._fill, dtype=self.values.dtype)
            grown[: len(self.values)] = self.values
            self.values = grown


class Groups:
    """Number and sum of outcomes (0..1) of named groups; at most *most* names, later ones share group 0."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._ids: dict[str, int] = {}
        self.count = Column(np.float32, 0.0)
        self.total = Column(np.float32, 0.0)

    def id_of(self, name: str) -> int:
        known = self._ids.get(name)
        if known is None:
            if len(self._ids) + 1 >= self._most:
                return 0
            known = self._ids[name] = len(self._ids) + 1
            self.count.reserve(known + 1)
            self.total.reserve(known + 1)
        return known

    def add(self, group: int, outcome: float) -> None:
        self.count.values[group] += 1.0
        self.total.values[group] += outcome

    def means(self, groups: IntArray, prior: FloatArray | float) -> FloatArray:
        """Return shrunk means (sum + m * prior) / (n + m), m = ``PRIOR_WEIGHT``."""
        count, total = self.count.values[groups], self.total.values[groups]
        return np.asarray((total + PRIOR_WEIGHT * prior) / (count + PRIOR_WEIGHT), dtype=np.float64)

    def state(self) -> dict[str, Any]:
        return {"names": list(self._ids), "count": self.count.values, "total": self.total.values}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._ids = {name: number for number, name in enumerate(state["names"], 1)}
        self.count.values, self.total.values = state["count"].copy(), state["total"].copy()


class DirectoryTree:
    """Groups that lie within each other: the mean of a directory is shrunk to its parent's, a host's to all pages'."""

    def __init__(self, most: int) -> None:
        self.groups = Groups(most)
        self._parent = Column(np.int64, 0.0)
        self._host = Column(np.int64, 0.0)
        self.all_count = 0.0
        self.all_total = 0.0

    @property
    def mean(self) -> float:
        """Mean of all outcomes; .5 counts as one outcome, so that it is never 0 or 1."""
        return (self.all_total + 0.05) / (self.all_count + 1.0)

    def id_of(self, prefixes: Sequence[str]) -> int:
        """Return the group of the deepest of *prefixes* (host first)."""
        parent = host = 0
        for depth, prefix in enumerate(prefixes):
            group = self.groups.id_of(prefix)
            if group == 0:
                return parent
            self._parent.reserve(group + 1)
            self._host.reserve(group + 1)
            host = group if depth == 0 else host
            self._parent.values[group] = parent
            self._host.values[group] = host
            parent = group
        return parent

    def add(self, group: int, outcome: float) -> None:
        """Count an outcome in *group* and all that hold it."""
        self.all_count += 1.0
        self.all_total += outcome
        while group:
            self.groups.add(group, outcome)
            group = int(self._parent.values[group])

    def means(self, groups: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the shrunk means of the directories and of their hosts, shape (n,) each."""
        chain = [groups]
        while chain[-1].any():
            chain.append(self._parent.values[chain[-1]])
        mean = np.full(len(groups), self.mean)
        for level in reversed(chain[:-1]):
            mean = np.where(level > 0, self.groups.means(level, mean), mean)
        hosts = self._host.values[groups]
        return mean, np.where(hosts > 0, self.groups.means(hosts, self.mean), self.mean)

    def counts(self, groups: IntArray) -> FloatArray:
        return self.groups.count.values[groups].astype(np.float64)

    def state(self) -> dict[str, Any]:
        everything = [self.all_count, self.all_total]
        return {**self.groups.state(), "parent": self._parent.values, "host": self._host.values, "all": everything}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.groups.restore(state)
        self._parent.values, self._host.values = state["parent"].copy(), state["host"].copy()
        self.all_count, self.all_total = state["all"]
