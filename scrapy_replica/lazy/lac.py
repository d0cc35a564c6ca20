"""Lazy associative classifier (Veloso et al. 2006) on a contingency cube.

An example is a vector of interval numbers, one per feature. For a vector x the rules X -> label, X a non-empty subset
of x's items, are made when x is asked for, and vote as in Carvalho et al. 2017, section 3.2 (Carvalho 2014, 3.3.2).
Their supports are marginals of a contingency table over the *distinct* vectors, so the cost follows the number of
distinct vectors, not the number of examples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from scrapy_replica.numeric import BoolArray, FloatArray, IntArray

NEGATIVE, POSITIVE = 0, 1


class Cube:
    """Label counts of distinct vectors and of everything they project to.

    Attributes:
        sizes: Interval numbers per feature; at most 12 features, their product below 2**62.
        vectors: Distinct vectors, shape (m, features).
        counts: Examples of each distinct vector by label, shape (m, 2).
        cells: Cell number of each vector under each non-empty feature subset, shape (2**features - 1, m). Row s - 1
            is the subset whose members are the bits of s.
        support: Label counts of each cell: s(X u label), shape (cells, 2).

    Invariant: ``support`` is the sum of ``counts`` over the vectors of a cell, whatever was added.
    """

    def __init__(self, sizes: Sequence[int], vectors: IntArray, counts: IntArray) -> None:
        if len(sizes) > 12:
            raise ValueError(f"at most 12 features fit into the cube, got {len(sizes)}")
        self.sizes = tuple(int(size) for size in sizes)
        self.vectors = vectors
        self.counts = counts.astype(np.int64)

    @property
    def cells(self) -> IntArray:
        return self._numbered[0]

    @cached_property
    def support(self) -> IntArray:
        n_cells = sum(map(len, self._numbered[1]))
        support = np.zeros((n_cells, 2), dtype=np.int64)
        for row in self.cells:
            for label in (NEGATIVE, POSITIVE):
                weights = np.bincount(row, weights=self.counts[:, label], minlength=n_cells)
                support[:, label] += weights.astype(np.int64)
        return support

    @cached_property
    def _numbered(self) -> tuple[IntArray, list[dict[int, int]]]:
        """The cells, and for each subset the cell of each key; 7 ms of each model that ships, once it is asked."""
        subsets = range(1, 2 ** len(self.sizes))
        cells = np.empty((len(subsets), len(self.vectors)), dtype=np.int64)
        n_cells = 0
        cell_of: list[dict[int, int]] = []
        for subset in subsets:
            keys, places = np.unique(self._keys(self.vectors, subset), return_inverse=True)
            cells[subset - 1] = places + n_cells
            cell_of.append({key: n_cells + place for place, key in enumerate(keys.tolist())})
            n_cells += len(keys)
        return cells, cell_of

    def _keys(self, vectors: IntArray, subset: int) -> IntArray:
        """Return one number per vector that names its items in *subset*."""
        keys = np.zeros(len(vectors), dtype=np.int64)
        for feature, size in enumerate(self.sizes):
            if subset >> feature & 1:
                keys = keys * size + vectors[:, feature]
        return keys

    @classmethod
    def from_examples(cls, sizes: Sequence[int], codes: IntArray, is_positive: BoolArray) -> Cube:
        """Count the examples *codes*, shape (n, features), with their labels, shape (n,)."""
        vectors, places = distinct_vectors(sizes, codes)
        counts = np.zeros((len(vectors), 2), dtype=np.int64)
        counts[:, NEGATIVE] = np.bincount(places[~is_positive], minlength=len(vectors))
        counts[:, POSITIVE] = np.bincount(places[is_positive], minlength=len(vectors))
        return cls(sizes, vectors, counts)

    def merged(self, other: Cube) -> Cube:
        """Return the cube of both training sets: counts are added."""
        if self.sizes != other.sizes:
            raise ValueError(f"cubes of different intervals cannot be merged: {self.sizes} and {other.sizes}")
        vectors, places = distinct_vectors(self.sizes, np.concatenate([self.vectors, other.vectors]))
        counts = np.zeros((len(vectors), 2), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([self.counts, other.counts]))
        return Cube(self.sizes, vectors, counts)

    def supports(self, codes: IntArray) -> IntArray:
        """Return s(X u label) of every subset of each vector, shape (2**features, n, 2); row 0 (empty X) is 0."""
        found = np.zeros((2 ** len(self.sizes), len(codes), 2), dtype=np.int64)
        for subset in range(1, len(found)):
            cell_of = self._numbered[1][subset - 1]
            cells = np.array([cell_of.get(key, -1) for key in self._keys(codes, subset).tolist()], dtype=np.int64)
            found[subset] = np.where(cells[:, None] >= 0, self.support[cells], 0) if len(self.support) else 0
        return found

    def confidences(self) -> list[dict[int, tuple[float, float]]]:
        """Return for each subset the confidences of its rules for - and + by the number that names the antecedent."""
        shares = self.support / np.maximum(self.support.sum(axis=1, keepdims=True), 1)
        pairs = [(negative, positive) for negative, positive in shares.tolist()]
        return [{key: pairs[cell] for key, cell in cell_of.items()} for cell_of in self._numbered[1]]

    def to_dict(self) -> dict[str, object]:
        return {"sizes": list(self.sizes), "vectors": self.vectors.tolist(), "counts": self.counts.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Cube:
        sizes = data["sizes"]
        vectors = np.asarray(data["vectors"], dtype=np.int64).reshape(-1, len(sizes))
        counts = np.asarray(data["counts"], dtype=np.int64).reshape(-1, 2)
        if len(vectors) != len(counts):
            raise ValueError(f"{len(vectors)} vectors but {len(counts)} rows of counts")
        return cls(sizes, vectors, counts)


class LAC:
    """Scores of vectors under the rules of a cube, which is not to change any more."""

    def __init__(self, cube: Cube) -> None:
        self.cube = cube
        self._rules: list[dict[int, tuple[float, float]]] | None = None

    def alpha(self, codes: IntArray) -> FloatArray:
        """Return alpha(x, -) of each vector (equations 4, 5), 0..1, shape (n, features) -> (n,); 0.5 without a rule."""
        vectors, places = distinct_vectors(self.cube.sizes, codes)  # of 5,082 pairs of hosts most are like others
        alpha: FloatArray = alpha_of(*rule_sums(self.cube.supports(vectors)))[places]
        return alpha

    def alpha_one(self, code: Sequence[int]) -> float:
        """Return the same number for a single vector, in plain Python: 20 times faster than a batch of one."""
        if self._rules is None:
            self._rules = self.cube.confidences()
        keys = [0]
        for item, size in zip(code, self.cube.sizes, strict=True):
            keys += [key * size + item for key in keys]
        sums, rules = [0.0, 0.0], [0, 0]
        for place, rules_of_subset in enumerate(self._rules, start=1):
            confidence = rules_of_subset.get(keys[place])
            if confidence is None:
                continue
            for label in (NEGATIVE, POSITIVE):
                if confidence[label]:
                    sums[label] += confidence[label]
                    rules[label] += 1
        scores = [sums[label] / rules[label] if rules[label] else 0.0 for label in (NEGATIVE, POSITIVE)]
        return scores[NEGATIVE] / sum(scores) if any(scores) else 0.5


def distinct_vectors(sizes: Sequence[int], codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct rows of *codes* and, for each row, which of them it is."""
    key = np.zeros(len(codes), dtype=np.int64)
    for feature, size in enumerate(sizes):
        key = key * size + codes[:, feature]
    n_keys = int(np.prod(np.asarray(sizes, dtype=object)))
    if n_keys <= max(4 * len(key), 65536):  # a table is several times faster than sorting
        is_used = np.zeros(n_keys, dtype=bool)
        is_used[key] = True
        used = np.flatnonzero(is_used)
        place_of = np.cumsum(is_used) - 1
        places = place_of[key]
    else:
        used, places = np.unique(key, return_inverse=True)
    vectors = np.empty((len(used), len(sizes)), dtype=np.int64)
    rest = used.copy()
    for feature in range(len(sizes) - 1, -1, -1):
        rest, vectors[:, feature] = np.divmod(rest, sizes[feature])
    return vectors, places


def rule_sums(supports: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the sum of confidences and the number of rules by label, each of shape (n, 2).

    Args:
        supports: s(X u label) by subset, vector and label, shape (subsets, n, 2).
    """
    totals = supports.sum(axis=2, keepdims=True)
    confidence = np.divide(supports, totals, out=np.zeros(supports.shape), where=totals > 0)
    return confidence.sum(axis=0), (supports > 0).sum(axis=0)


def alpha_of(sums: FloatArray, rules: IntArray) -> FloatArray:
    """Return alpha(x, -) from summed confidences and rule counts, shapes (..., 2) -> (...,)."""
    scores = np.divide(sums, rules, out=np.zeros(sums.shape), where=rules > 0)
    both = scores.sum(axis=-1)
    alpha: FloatArray = np.divide(scores[..., NEGATIVE], both, out=np.full(both.shape, 0.5), where=both > 0)
    return alpha
