"""TF-IDF and logistic regression, corrected for positives that hide in the unlabelled sample (Elkan & Noto 2008)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from scrapy_replica.focus.background import Background, examples_and_others
from scrapy_replica.focus.linear import LinearModel, Matrix, term_idf, term_matrix
from scrapy_replica.numeric import FloatArray, minimised, sigmoid
from scrapy_replica.records import Terms

FOLDS = 3
STEPS, TOLERANCE = 500, 1e-3


class ElkanNoto:
    """Pr[relevant | terms] from g, which tells labelled from unlabelled, and what g says of pages that were held out.

    Elkan & Noto's g / c (their equation 1; c is their e1, the mean of g over positives, in *FOLDS* folds) is above 1
    for the best pages, and cut at 1 it loses their order. Here the logit of g is shifted so that Pr > .5 from a line on
    (average precision of the cut form .31 instead of .50). Theirs is c / 2, which takes g of other pages for 0. Against
    few of them the penalty holds all g near .5, and c / 2 calls a third of a site relevant of which a tenth is: there
    the line lies in the middle between the log odds of positives and of others. Against thousands that is lower, and
    c / 2 stays. The median of others does not see the positives among them.

    g is fitted with an L2 penalty of 1/2 |w|^2 / C, C = 1, and classes of equal weight (average precision .50 instead
    of .44 and .41 instead of .39 on two labelled crawls). A model that was not fitted finds nothing relevant.
    """

    def __init__(self) -> None:
        self._model = LinearModel()

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
        self._model = LinearModel(idf, weights.tolist(), intercept - _line(matrix, labels, weighs))

    def relevance(self, terms: Terms) -> float:
        """Return Pr[relevant | *terms*], 0..1; without a known term that of a page of which nothing is known.

        Many links have no text that says anything: to take them for the worst ones cost best-first-anchors .015 of
        Pref on the mail pages of a labelled crawl.
        """
        margin = self._model.margin(terms)
        if margin == -math.inf:
            margin = self._model.intercept
        return sigmoid(margin)

    def save(self) -> bytes:
        """Return the fitted model as NPZ."""
        return self._model.save()

    def load(self, state: bytes) -> None:
        """Take the model that :meth:`save` returned."""
        self._model = LinearModel.load(state)


def fit_logistic(matrix: Matrix, labels: FloatArray, weighs: FloatArray) -> tuple[FloatArray, float]:
    """Return (w, intercept) with the least log losses, both classes weighing n/2, + |w|^2 / 2 (the intercept is free).

    *weighs*, shape (n,), tells how much a row weighs beside the others of its class.
    """
    is_positive = labels > 0
    total = np.where(is_positive, weighs[is_positive].sum(), weighs[~is_positive].sum())
    sizes = 0.5 * len(labels) * weighs / total

    def gradient(theta: FloatArray) -> FloatArray:
        margins = np.clip(matrix.times(theta[:-1]) + theta[-1], -35.0, 35.0)
        residuals = sizes * (1.0 / (1.0 + np.exp(-margins)) - labels)
        return np.append(matrix.transposed_times(residuals) + theta[:-1], residuals.sum())

    start = np.zeros(matrix.shape[1] + 1)
    theta = minimised(gradient, start, 1.0 / max(1.0, 0.25 * len(labels)), STEPS, TOLERANCE)
    return theta[:-1], float(theta[-1])


def _line(matrix: Matrix, labels: FloatArray, weighs: FloatArray) -> float:
    """Return the margin of c / 2, or the middle between mean margin of positives and median of others if it is higher.

    Each by a g that was not fitted on the page; 0 where there are fewer than *FOLDS* positives.
    """
    positive, others = np.flatnonzero(labels), np.flatnonzero(labels == 0.0)
    if len(positive) < FOLDS:
        return 0.0
    held: tuple[list[float], list[float]] = ([], [])
    for fold in range(FOLDS):
        out = positive[fold::FOLDS], others[fold::FOLDS]
        rest = np.setdiff1d(np.arange(len(labels)), np.concatenate(out))
        weights, intercept = fit_logistic(matrix.take(rest), labels[rest], weighs[rest])
        for found, rows in zip(held, out, strict=True):
            found.extend(matrix.take(rows).times(weights) + intercept)
    half = max(float(np.mean([sigmoid(margin) for margin in held[0]])) / 2.0, 1e-3)
    return max(math.log(half / (1.0 - half)), float(np.mean(held[0]) + np.median(held[1])) / 2.0)
