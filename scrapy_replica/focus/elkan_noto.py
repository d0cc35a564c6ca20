"""TF-IDF and logistic regression, corrected for positives that hide in the unlabelled sample (Elkan & Noto 2008)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from scrapy_replica.focus.background import Background, examples_and_others
from scrapy_replica.focus.linear import LinearModel, Matrix, term_idf, term_matrix
from scrapy_replica.focus.rows import Rows
from scrapy_replica.numeric import FloatArray, IntArray, sigmoid

Terms = Mapping[str, int]

FOLDS = 3


class ElkanNoto:
    """Pr[relevant | terms] from g, which tells labelled from unlabelled, and c, the mean g over held-out positives.

    Elkan & Noto's g / c (their equation 1; c is their e1, over *FOLDS* folds) is above 1 for the best pages, and cut at
    1 it loses their order. Here the logit of g is shifted so that the line of relevance stays theirs: Pr > .5 where
    g > c / 2 (average precision of the cut form .31 instead of .50).

    g is fitted with an L2 penalty of 1/2 |w|^2 / C, C = 1, and classes of equal weight (average precision .50 instead
    of .44 and .41 instead of .39 on two labelled crawls). A model that was not fitted finds nothing relevant.
    """

    def __init__(self) -> None:
        self._model = LinearModel()
        self._c = 1.0

    def fit(self, positives: Sequence[Terms], background: Background, negatives: Sequence[Terms] = ()) -> None:
        """Learn a topic. A negative weighs as much as an example, and so as many unlabelled documents as there are to
        each of these.

        Raises ``ValueError`` when no example has a term, or the background has no other document.
        """
        examples, others = examples_and_others(positives, background)
        if not others:
            raise ValueError("the background is empty: give unlabelled pages")
        documents = [*examples, *others, *negatives]
        idf = term_idf(documents)
        matrix = term_matrix(documents, idf)
        labels = np.repeat([1.0, 0.0], [len(examples), len(others) + len(negatives)])
        weighs = np.ones(len(documents))
        weighs[len(examples) + len(others) :] = len(others) / len(examples)
        weights, intercept = fit_logistic(matrix, labels, weighs)
        self._model = LinearModel(idf, weights.tolist(), intercept)
        self._c = _label_frequency(matrix, labels, weighs)

    def relevance(self, terms: Terms) -> float:
        """Return Pr[relevant | *terms*], 0..1; without a known term that of a page of which nothing is known.

        Many links have no text that says anything: to take them for the worst ones cost best-first-anchors .015 of
        Pref on the mail pages of a labelled crawl.
        """
        margin = self._model.margin(terms)
        if margin == -math.inf:
            margin = self._model.intercept
        return sigmoid(margin - self._line)

    @property
    def _line(self) -> float:
        """Margin from which on a page is relevant: where g is c / 2."""
        return math.log(self._c / 2.0 / (1.0 - self._c / 2.0))

    def rows(self, vocabulary: Sequence[str]) -> Rows:
        """Return :meth:`relevance` for many pages at once, their terms given as places in *vocabulary*."""
        margins = self._model.rows(vocabulary)

        def relevance(start: IntArray, ids: IntArray, counts: IntArray) -> FloatArray:
            found = margins(start, ids, counts)
            found[np.isneginf(found)] = self._model.intercept
            return np.asarray(1.0 / (1.0 + np.exp(np.clip(self._line - found, -700.0, 700.0))))

        return relevance

    def save(self) -> bytes:
        """Return the fitted model as NPZ."""
        return self._model.save(c=self._c)

    def load(self, state: bytes) -> None:
        """Take the model that :meth:`save` returned."""
        self._model, parts = LinearModel.load(state)
        self._c = float(parts["c"])
        if not 0.0 < self._c <= 1.0:
            raise ValueError(f"a label frequency of {self._c}: it lies within 0..1")


def fit_logistic(
    matrix: Matrix,
    labels: FloatArray,
    weighs: FloatArray,
    penalty: float = 1.0,
    steps: int = 500,
    tolerance: float = 1e-3,
) -> tuple[FloatArray, float]:
    """Minimise the log losses, both classes weighing n/2, + *penalty*/2 |w|^2 (the intercept goes free).

    *weighs*, shape (n,), tells how much a row weighs beside the others of its class.

    Returns (w, intercept). Barzilai-Borwein gradient descent (1988, the shorter step): the step length comes from two
    successive gradients; stops when the largest entry of the gradient is below *tolerance* times its first value.
    """
    is_positive = labels > 0
    total = np.where(is_positive, weighs[is_positive].sum(), weighs[~is_positive].sum())
    sizes = 0.5 * len(labels) * weighs / total
    theta = np.zeros(matrix.shape[1] + 1)
    gradient = _gradient(matrix, labels, sizes, theta, penalty)
    first = float(np.abs(gradient).max())
    rate = 1.0 / max(1.0, 0.25 * len(labels))
    for _ in range(steps):
        if np.abs(gradient).max() <= tolerance * first:
            break
        moved = theta - rate * gradient
        after = _gradient(matrix, labels, sizes, moved, penalty)
        step, change = moved - theta, after - gradient
        turn = float(change @ change)
        rate = abs(float(step @ change)) / turn if turn > 0 else rate
        theta, gradient = moved, after
    return theta[:-1], float(theta[-1])


def _gradient(matrix: Matrix, labels: FloatArray, sizes: FloatArray, theta: FloatArray, penalty: float) -> FloatArray:
    margins = np.clip(matrix.times(theta[:-1]) + theta[-1], -35.0, 35.0)
    residuals = sizes * (1.0 / (1.0 + np.exp(-margins)) - labels)
    return np.append(matrix.transposed_times(residuals) + penalty * theta[:-1], residuals.sum())


def _label_frequency(matrix: Matrix, labels: FloatArray, weighs: FloatArray) -> float:
    """Return c = Pr[labelled | relevant]: mean g over positives that g was not fitted on (1 for one or two)."""
    positive = np.flatnonzero(labels)
    if len(positive) < FOLDS:
        return 1.0
    held: list[float] = []
    for fold in range(FOLDS):
        out = positive[fold::FOLDS]
        rest = np.setdiff1d(np.arange(len(labels)), out)
        weights, intercept = fit_logistic(matrix.take(rest), labels[rest], weighs[rest])
        held.extend(map(sigmoid, matrix.take(out).times(weights) + intercept))
    return float(np.clip(np.mean(held), 1e-3, 1.0))
