"""J48, the decision tree of Weka: C4.5 (Quinlan 1993) of numeric attributes and two classes, with its settings.

At least 2 rows a side (``-M 2``), and pruned by the upper bound of the error at confidence .25 (``-C 0.25``), a node by
a leaf or by its largest branch (subtree raising), as Weka's ``J48`` does where nothing is set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scrapy_replica.numeric import BoolArray, FloatArray, IntArray

CONFIDENCE, LEAST_ROWS, MOST_NEEDED = 0.25, 2, 25
"""A side of a cut has a tenth of the rows for each class, but at least and at most so many."""
QUANTILE = 0.6744897501960817
"""Of the normal distribution, at 1 - ``CONFIDENCE``."""
SLACK = 0.1
"""Expected errors by which a pruned tree may be worse."""


class Cut(NamedTuple):
    """Rows with at most *value* in *attribute* go to the first side; *gain* in bits a row, less what the cut costs."""

    attribute: int
    value: float
    gain: float
    ratio: float


@dataclass
class Node:
    """A leaf that says *label*, or a node with two sides."""

    label: bool
    cut: Cut | None = None
    sides: tuple[Node, ...] = ()

    def says(self, rows: FloatArray) -> BoolArray:
        """Return the labels of *rows*, shape (n, attributes)."""
        if self.cut is None:
            return np.full(len(rows), self.label)
        found = np.empty(len(rows), dtype=bool)
        for side, part in zip(self.sides, self.parts(rows), strict=True):
            found[part] = side.says(rows[part])
        return found

    def parts(self, rows: FloatArray) -> tuple[IntArray, IntArray]:
        """Return the places of the rows of each side."""
        assert self.cut is not None
        is_first = rows[:, self.cut.attribute] <= self.cut.value
        return np.flatnonzero(is_first), np.flatnonzero(~is_first)


def tree(rows: FloatArray, labels: BoolArray) -> Node:
    """Return the pruned tree of *rows*, shape (n, attributes), with *labels*, shape (n,)."""
    return _pruned(_grown(rows, labels), rows, labels)


def added_errors(n: float, errors: float) -> float:
    """Return what is added to the *errors* of a leaf of *n* rows: their upper bound, less themselves."""
    if errors < 1:
        none: float = n * (1 - CONFIDENCE ** (1 / n))
        return none + errors * (added_errors(n, 1.0) - none) if errors else none
    if errors + 0.5 >= n:
        return max(n - errors, 0.0)
    share, z = (errors + 0.5) / n, QUANTILE
    bound = share + z * z / (2 * n) + z * math.sqrt(share / n - share * share / n + z * z / (4 * n * n))
    return bound / (1 + z * z / n) * n - errors


def expected_errors(node: Node, rows: FloatArray, labels: BoolArray) -> float:
    """Return the sum over the leaves of what is expected of them, with the *rows* that come to each."""
    if node.cut is None:
        return _of_leaf(labels)
    each = zip(node.sides, node.parts(rows), strict=True)
    return sum(expected_errors(side, rows[part], labels[part]) for side, part in each)


def _of_leaf(labels: BoolArray) -> float:
    if not len(labels):
        return 0.0
    errors = float(min(labels.sum(), (~labels).sum()))
    return errors + added_errors(len(labels), errors)


def _grown(rows: FloatArray, labels: BoolArray) -> Node:
    label = bool(2 * labels.sum() > len(labels))
    is_pure = labels.all() or not labels.any()
    cut = None if is_pure or len(labels) < 2 * LEAST_ROWS else _best_cut(rows, labels)
    if cut is None:
        return Node(label)
    node = Node(label, cut)
    parts = node.parts(rows)
    node.sides = tuple(_grown(rows[part], labels[part]) for part in parts)
    # A subtree that makes no fewer errors than a leaf is one.
    return node if (node.says(rows) != labels).sum() < min(labels.sum(), (~labels).sum()) else Node(label)


def _best_cut(rows: FloatArray, labels: BoolArray) -> Cut | None:
    """Return the cut of the largest gain ratio among those of at least the mean gain, None if none gains."""
    cuts = [cut for attribute in range(rows.shape[1]) if (cut := _cut_of(rows[:, attribute], labels, attribute))]
    if not cuts:
        return None
    mean = sum(cut.gain for cut in cuts) / len(cuts) - 1e-3
    return max((cut for cut in cuts if cut.gain >= mean), key=lambda cut: cut.ratio)


def _cut_of(values: FloatArray, labels: BoolArray, attribute: int) -> Cut | None:
    order = np.argsort(values, kind="stable")
    ordered, n = values[order], len(values)
    needed = min(max(0.1 * n / 2, LEAST_ROWS), MOST_NEEDED)
    before = np.arange(1, n)
    places = np.flatnonzero((np.diff(ordered) > 1e-5) & (before >= needed) & (n - before >= needed))
    if not len(places):
        return None
    first, positives = before[places], np.cumsum(labels[order])[places]
    whole = _bits(np.array([labels.sum(), n - labels.sum()]))
    left = _bits(np.array([positives, first - positives]))
    right = _bits(np.array([labels.sum() - positives, n - first - (labels.sum() - positives)]))
    gains = (whole - left - right) / n
    best = int(np.argmax(gains))
    gain = float(gains[best]) - float(np.log2(len(places))) / n
    if gain <= 0:
        return None
    of_sides = float(_bits(np.array([first[best], n - first[best]]))) / n
    return Cut(attribute, float(ordered[places[best]] + ordered[places[best] + 1]) / 2, gain, gain / of_sides)


def _bits(counts: IntArray) -> FloatArray:
    """Return n times the entropy of the classes, *counts* (classes, ...)."""
    floats = counts.astype(np.float64)
    totals = floats.sum(axis=0)
    return np.asarray(totals * np.log2(np.maximum(totals, 1)) - (floats * np.log2(np.maximum(floats, 1))).sum(axis=0))


def _pruned(node: Node, rows: FloatArray, labels: BoolArray) -> Node:
    if node.cut is None:
        return Node(bool(2 * labels.sum() > len(labels)) if len(labels) else node.label)
    parts = node.parts(rows)
    each = zip(node.sides, parts, strict=True)
    node = Node(node.label, node.cut, tuple(_pruned(side, rows[part], labels[part]) for side, part in each))
    largest = node.sides[int(len(parts[1]) > len(parts[0]))]
    whole, raised, leaf = expected_errors(node, rows, labels), expected_errors(largest, rows, labels), _of_leaf(labels)
    if leaf <= min(whole, raised) + SLACK:
        return Node(bool(2 * labels.sum() > len(labels)))
    if raised <= whole + SLACK:
        return _pruned(largest, rows, labels)
    return node
