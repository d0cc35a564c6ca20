"""Means of the outcomes seen so far in groups of links: directories within hosts, anchor texts, pages that link."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.numeric import FloatArray, IntArray

PRIOR_WEIGHT = 3.0
"""Outcomes that the prior mean counts for."""
MANY = 64
"""Rows from which on equal groups are looked up once."""


class Column:
    """A numpy array that grows by doubling along its first axis; new entries hold 0. *width*: of a second axis."""

    def __init__(self, dtype: type, width: int | None = None) -> None:
        self.values: NDArray[Any] = np.zeros(1024 if width is None else (1024, width), dtype=dtype)

    def reserve(self, size: int) -> None:
        if size > len(self.values):
            grown = np.zeros((max(size, 2 * len(self.values)), *self.values.shape[1:]), dtype=self.values.dtype)
            grown[: len(self.values)] = self.values
            self.values = grown


class Groups:
    """Number and sum of outcomes (0..1) of named groups; at most *most* names, later ones share group 0."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._ids: dict[str, int] = {}
        self.sums = Column(np.float32, 2)
        """Number and sum of the outcomes of each group."""

    def id_of(self, name: str) -> int:
        known = self._ids.get(name)
        if known is None:
            if len(self._ids) + 1 >= self._most:
                return 0
            known = self._ids[name] = len(self._ids) + 1
            self.sums.reserve(known + 1)
        return known

    def add(self, group: int, outcome: float) -> None:
        self.sums.values[group] += (1.0, outcome)

    def means(self, groups: IntArray, prior: FloatArray | float) -> FloatArray:
        """Return shrunk means (sum + m * prior) / (n + m), m = ``PRIOR_WEIGHT``."""
        sums = self.sums.values[groups]
        return np.asarray((sums[:, 1] + PRIOR_WEIGHT * prior) / (sums[:, 0] + PRIOR_WEIGHT), dtype=np.float64)


class DirectoryTree:
    """Groups that lie within each other: the mean of a directory is shrunk to its parent's, a host's to all pages'.

    At most *most* directories, deeper ones found later are counted with their parent. Means are kept until the next
    outcome: the links of a page and the best that wait lie in a dozen directories.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._ids: dict[str, int] = {}
        self._parent = [0]
        self._host = [0]
        self._count = [0.0]
        self._total = [0.0]
        self._means: dict[int, float] = {}

    @property
    def mean(self) -> float:
        """Mean of all outcomes; .5 counts as a tenth of an outcome, so that it is never 0 or 1."""
        return (self._total[0] + 0.05) / (self._count[0] + 1.0)

    def id_of(self, prefixes: Sequence[str]) -> int:
        """Return the group of the deepest of *prefixes* (host first)."""
        parent = host = 0
        for depth, prefix in enumerate(prefixes):
            group = self._ids.get(prefix)
            if group is None:
                if len(self._parent) >= self._most:
                    return parent
                group = self._ids[prefix] = len(self._parent)
                host = group if depth == 0 else host
                self._parent.append(parent)
                self._host.append(host)
                self._count.append(0.0)
                self._total.append(0.0)
            parent = group
            host = group if depth == 0 else host
        return parent

    def add(self, group: int, outcome: float) -> None:
        """Count an outcome in *group* and all that hold it."""
        self._means.clear()
        self._count[0] += 1.0
        self._total[0] += outcome
        while group:
            self._count[group] += 1.0
            self._total[group] += outcome
            group = self._parent[group]

    def means(self, groups: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the shrunk means of the directories, of their hosts, and the directories' outcomes, shape (n,)."""
        if len(groups) > MANY:
            distinct, places = np.unique(groups, return_inverse=True)
            directory, host, count = self._rows(distinct.tolist())
            return directory[places], host[places], count[places]
        return self._rows(groups.tolist())

    def _rows(self, groups: Sequence[int]) -> tuple[FloatArray, FloatArray, FloatArray]:
        mean, hosts, counts = self._mean, self._host, self._count
        return (
            np.array([mean(group) for group in groups], dtype=np.float64),
            np.array([mean(hosts[group]) for group in groups], dtype=np.float64),
            np.array([counts[group] if group else 0.0 for group in groups], dtype=np.float64),
        )

    def _mean(self, group: int) -> float:
        known = self._means.get(group)
        if known is None:
            if group == 0:
                known = self.mean
            else:
                prior = self._mean(self._parent[group])
                known = (self._total[group] + PRIOR_WEIGHT * prior) / (self._count[group] + PRIOR_WEIGHT)
            self._means[group] = known
        return known
