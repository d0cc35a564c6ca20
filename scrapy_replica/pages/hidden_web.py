"""Content or noise, element by element, on pages that a form returned: text density joined with the domain query.

J. A. F. Lutz: Descoberta de ruído em páginas da web oculta através de uma abordagem de aprendizagem supervisionada,
dissertation, UFRGS 2013, section 3.2. The tree there sees five attributes of an element; this one sees its neighbours'
too, and is blended with logistic regression, which holds better on vendors that nothing was learnt of.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from lxml import etree

from scrapy_replica.numeric import BoolArray, FloatArray
from scrapy_replica.pages.forms import terms_of
from scrapy_replica.pages.noise import composite_text_densities, count, density_sums
from scrapy_replica.pages.text_tree import TextTree, read_text_tree

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

MODEL_FILE = Path(__file__).with_name("hidden_web.npz")
MAX_LEVELS = 64
"""A match counts for that many ancestors, so that a page of deep nesting costs no more than its size."""
MAX_ELEMENTS = 50_000
"""A larger page is not judged: 0.5 s and 80 MB at this size; the largest of the labelled pages has 671."""
N_QUERY_COLUMNS = 6
"""The last columns of :func:`node_features`: what the domain query adds."""


def own_matches(tree: TextTree, query: Collection[str]) -> FloatArray:
    """Return how often terms of *query* (case folded) stand in the own text of each entry of *tree*, shape (n,)."""
    matches = np.zeros(len(tree.tags))
    if not query:
        return matches
    for entry, run in zip(tree.text_entries, tree.text_runs, strict=True):
        matches[entry] += sum(term in query for term in terms_of(tree.runs[run]))
    return matches


def query_scores(parents: Sequence[int], matches: FloatArray) -> FloatArray:
    """Return QueryScore of each element (p. 40), shape (n,): the sum of matches / levels over matching texts below.

    An element's own text is one level below it.
    """
    scores = matches.copy()
    for entry in np.flatnonzero(matches).tolist():
        above, levels = parents[entry], 2
        while above >= 0 and levels <= MAX_LEVELS:
            scores[above] += matches[entry] / levels
            above = parents[above]
            levels += 1
    return scores


def node_features(tree: TextTree, matches: FloatArray) -> FloatArray:
    """Return one row per entry of *tree*, shape (n, f): density, place and repetition, then the query's columns."""
    parents = np.maximum(np.array(tree.parents, dtype=np.intp), 0)
    counts = count(tree)
    chars = counts.chars
    ctd = composite_text_densities(counts)
    sums = density_sums(tree, ctd)
    link_share = counts.link_chars / np.maximum(chars, 1)
    tags = np.array(tree.ends, dtype=np.float64) - np.arange(len(parents))
    depth = _depths(tree.parents)
    alike, alike_chars = _siblings(tree, parents, chars)
    columns = [ctd, sums, depth, chars, link_share, tags, alike, alike_chars, chars / max(chars[0], 1)]
    above = parents
    for _ in range(5):
        columns += [ctd[above], chars[above], link_share[above], tags[above], alike[above], alike_chars[above]]
        above = parents[above]
    columns += _inherited(tree.parents, alike, alike_chars, link_share)
    scores = query_scores(tree.parents, matches)
    below = np.concatenate([[0], np.cumsum(matches)])
    total = below[tree.ends] - below[: len(parents)]
    grand = parents[parents]
    columns += [scores, matches, scores[parents], scores[grand], total / np.maximum(chars, 1), total[parents]]
    return np.column_stack(columns)


def _depths(parents: Sequence[int]) -> FloatArray:
    depths = [0] * len(parents)
    for entry in range(1, len(parents)):
        depths[entry] = depths[parents[entry]] + 1
    return np.array(depths, dtype=np.float64)


def _siblings(tree: TextTree, parents: NDArray[np.intp], chars: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return, per entry, the siblings of the same tag and similar inside (tag count), and their mean characters."""
    tag_ids: dict[str, int] = {}
    tags = np.array([tag_ids.setdefault(str(tag), len(tag_ids)) for tag in tree.tags])
    keys = parents * len(tag_ids) + tags
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return counts[inverse].astype(np.float64), (np.bincount(inverse, weights=chars) / counts)[inverse]


def _inherited(
    parents: Sequence[int], alike: FloatArray, alike_chars: FloatArray, link_share: FloatArray
) -> list[FloatArray]:
    """What holds of the most repeated element on the path to the body: its repetition, size, links, distance."""
    best = list(range(len(parents)))
    weight = (np.minimum(alike, 30) * (1 - link_share) * (alike_chars > 30)).tolist()
    steps = [0] * len(parents)
    for entry in range(1, len(parents)):
        parent = parents[entry]
        if weight[best[parent]] >= weight[entry]:
            best[entry] = best[parent]
            steps[entry] = steps[parent] + 1
    return [alike[best], alike_chars[best], link_share[best], np.array(steps, dtype=np.float64)]


@dataclass(frozen=True, slots=True)
class DecisionTree:
    """A binary decision tree as arrays over its nodes; a row goes left where its feature is at most the threshold."""

    features: NDArray[np.int32]
    """-1 at a leaf."""
    thresholds: FloatArray
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    content_shares: FloatArray
    """Share of content among the training elements of the node."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> DecisionTree:
        """Read what :meth:`to_arrays` wrote."""
        kinds = (np.int32, np.float64, np.int32, np.int32, np.float64)
        return cls(*(arrays[name].astype(kind) for name, kind in zip(cls.__slots__, kinds, strict=True)))

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return what a model file holds."""
        return {name: getattr(self, name) for name in self.__slots__}

    def content_share(self, rows: FloatArray) -> FloatArray:
        """Return the share of content at the leaf of every row, shape (n,)."""
        nodes = np.zeros(len(rows), dtype=np.intp)
        while (inner := np.flatnonzero(self.features[nodes] >= 0)).size:
            at = nodes[inner]
            is_left = rows[inner, self.features[at]] <= self.thresholds[at]
            nodes[inner] = np.where(is_left, self.left[at], self.right[at])
        return self.content_shares[nodes]


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """Logistic regression on the signed logarithms of all features but the query's."""

    weights: FloatArray
    """Shape (f - :data:`N_QUERY_COLUMNS`,)."""
    intercept: float

    def content_share(self, rows: FloatArray) -> FloatArray:
        """Return the probability of content of every row, shape (n,)."""
        seen = rows[:, :-N_QUERY_COLUMNS]
        log_odds = np.copysign(np.log1p(np.abs(seen)), seen) @ self.weights + self.intercept
        share: FloatArray = 1 / (1 + np.exp(-np.clip(log_odds, -6, 6)))
        return share


LINEAR_SHARE = 0.7
"""Of .5 to .8 the best on vendors left out as they are and in other frames; more finds more of pages of few records."""


@dataclass(frozen=True, slots=True)
class RecordModel:
    """A decision tree, which knows the lists that it learnt from, and a linear model, which knows less of them."""

    tree: DecisionTree
    linear: LogisticModel

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[np.generic]]) -> RecordModel:
        """Read what :meth:`to_arrays` wrote."""
        weights, intercept = arrays["weights"].astype(np.float64), float(arrays["intercept"].astype(np.float64))
        return cls(DecisionTree.from_arrays(arrays), LogisticModel(weights, intercept))

    def to_arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return what a model file holds."""
        return self.tree.to_arrays() | {"weights": self.linear.weights, "intercept": np.array(self.linear.intercept)}

    def content_share(self, rows: FloatArray) -> FloatArray:
        """Return how far every row is content, 0..1, shape (n,)."""
        return (1 - LINEAR_SHARE) * self.tree.content_share(rows) + LINEAR_SHARE * self.linear.content_share(rows)


@cache
def shipped() -> RecordModel:
    """Return the model that comes with the package, read once."""
    with np.load(MODEL_FILE, allow_pickle=False) as arrays:
        return RecordModel.from_arrays(arrays)


def content_elements(tree: TextTree, shares: FloatArray) -> BoolArray:
    """Return which entries are content, shape (n,), from the model's *shares*: what lies inside content is content.

    An entry is judged by the mean share of its subtree, weighted by tags, and of its nearest four ancestors.
    """
    sums = np.concatenate([[0], np.cumsum(shares)])
    own = (sums[tree.ends] - sums[: len(shares)]) / (np.array(tree.ends) - np.arange(len(shares)))
    parents = np.maximum(np.array(tree.parents, dtype=np.intp), 0)
    above = parents
    nearby = np.zeros(len(shares))
    for _ in range(4):
        nearby += shares[above]
        above = parents[above]
    is_content: BoolArray = shares + own + nearby / 4 >= 1.5
    return is_content


def hidden_web_text(root: etree._Element, query: Collection[str]) -> str:
    """Return the content of a page that a form returned: a line per block, empty if every element is noise.

    Empty as well for a page of more than :data:`MAX_ELEMENTS`. *query* holds case-folded terms.
    """
    tree = read_text_tree(root)
    if len(tree.tags) > MAX_ELEMENTS or not tree.text([0]):
        return ""
    rows = node_features(tree, own_matches(tree, query))
    is_content = content_elements(tree, shipped().content_share(rows))
    is_content[0] = False  # the body holds everything: keeping it would keep all noise
    return tree.text(np.flatnonzero(is_content).tolist())
