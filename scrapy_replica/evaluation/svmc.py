"""SVMC: support vector machines from positive and unlabelled examples, in two stages (Yu 2005).

Mapping finds strong negatives in U; convergence retrains a nu-SVM and moves what it calls negative, until nothing does.
To learn needs scikit-learn (extra ``eval``), to judge pages does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from scrapy_replica.focus.background import Background, examples_and_others
from scrapy_replica.focus.linear import LinearModel, term_idf, term_matrix
from scrapy_replica.numeric import BoolArray, FloatArray, sigmoid

Terms = Mapping[str, int]
Mapper = Callable[[Any, Any], BoolArray]

ROUNDS = 50
NU = 0.1
ONE_CLASS_NU = (0.005, 0.01, 0.02, 0.05, 0.1)


def one_dnf(positive: Any, unlabelled: Any) -> BoolArray:
    """Return which rows of *unlabelled* hold no strong positive term, shape (n,).

    A term is strong if its share of documents in P is above theta times that in U. theta is the largest value, by
    halving an interval, with which every positive still holds a strong term (recall 1 on P).
    """
    in_p = np.asarray((positive > 0).mean(axis=0)).ravel()
    in_u = np.asarray((unlabelled > 0).mean(axis=0)).ravel()
    ratio = in_p / np.maximum(in_u, 1.0 / (2 * unlabelled.shape[0]))
    low, high = 1.0, float(ratio.max(initial=1.0))
    for _ in range(30):
        middle = (low + high) / 2.0
        covered = np.asarray((positive[:, ratio > middle] > 0).sum(axis=1)).ravel() > 0
        low, high = (middle, high) if covered.all() else (low, middle)
    strong = np.asarray((unlabelled[:, ratio > low] > 0).sum(axis=1)).ravel() > 0
    return np.asarray(~strong)


def one_class(positive: Any, unlabelled: Any) -> BoolArray:
    """Return which rows of *unlabelled* a one-class SVM of P rejects; nu is the smallest that rejects any."""
    svm = _learn("sklearn.svm")
    rejected = np.zeros(unlabelled.shape[0], dtype=bool)
    for nu in ONE_CLASS_NU:
        model = svm.OneClassSVM(kernel="linear", nu=nu).fit(positive)
        line = np.min(model.decision_function(positive))
        rejected = model.decision_function(unlabelled) < line
        if rejected.any():
            break
    return rejected


def cosine(positive: Any, unlabelled: Any) -> BoolArray:
    """Return which rows of *unlabelled* are farther from the mean of P than any positive is."""
    mean = np.asarray(positive.mean(axis=0)).ravel()
    near = np.asarray(positive @ mean).ravel()
    return np.asarray(np.asarray(unlabelled @ mean).ravel() < near.min())


MAPPERS: dict[str, Mapper] = {"1-dnf": one_dnf, "osvm": one_class, "cosine": cosine}


class SVMC:
    """Relevance by the last nu-SVM; kernel: the cosine of TF-IDF rows. Unfitted it finds nothing relevant."""

    def __init__(self, mapper: str = "1-dnf") -> None:
        if mapper not in MAPPERS:
            raise ValueError(f"there is no mapper {mapper!r}; choose one of {', '.join(MAPPERS)}")
        self._map = MAPPERS[mapper]
        self._model = LinearModel()

    def fit(self, positives: Sequence[Terms], background: Background) -> None:
        """Learn a topic.

        Raises ``ValueError`` when no example has a term, the background has no other document, or the mapper finds
        none that is surely off topic, and ``ImportError`` without scikit-learn.
        """
        examples, others = examples_and_others(positives, background)
        if not others:
            raise ValueError("the background is empty: give unlabelled pages")
        idf = term_idf([*examples, *others])
        matrix = term_matrix([*examples, *others], idf)
        rows = _learn("scipy.sparse").csr_matrix((matrix.values, (matrix.rows, matrix.columns)), shape=matrix.shape)
        negatives = self._map(rows[: len(examples)], rows[len(examples) :])
        if not negatives.any():
            raise ValueError("the mapper found no page that is surely off topic: give more unlabelled pages")
        weights, intercept = converge(rows, negatives)
        self._model = LinearModel(idf, weights.tolist(), intercept)

    def relevance(self, terms: Terms) -> float:
        """Return the logistic function of the SVM's value, 0..1; a page without a known term gets 0."""
        return sigmoid(self._model.margin(terms))

    def save(self) -> bytes:
        """Return the fitted model as NPZ."""
        return self._model.save()

    def load(self, state: bytes) -> None:
        """Take the model that :meth:`save` returned."""
        self._model, _ = LinearModel.load(state)


def converge(rows: Any, negatives: BoolArray) -> tuple[FloatArray, float]:
    """Return weights and intercept of the nu-SVM that calls no more of U negative.

    *rows*: P above U, CSR; *negatives*: which rows of U the mapper is sure of. All inner products are taken once
    (8 n^2 bytes): a round on 3,300 documents costs .14 s instead of 2.7 s with sparse rows. nu is lowered where the
    classes are too unequal for it to be feasible.
    """
    positives = rows.shape[0] - len(negatives)
    products = (rows @ rows.T).toarray()
    for _ in range(ROUNDS):
        train = np.flatnonzero(np.concatenate([np.ones(positives, dtype=bool), negatives]))
        labels = np.where(train < positives, 1, -1)
        feasible = 2.0 * min(positives, len(train) - positives) / len(train)
        svm = _learn("sklearn.svm").NuSVC(kernel="precomputed", nu=min(NU, 0.95 * feasible))
        svm.fit(products[np.ix_(train, train)], labels)
        support, alphas, intercept = train[svm.support_], svm.dual_coef_.ravel(), float(svm.intercept_[0])
        moved = ~negatives & (products[positives:, support] @ alphas + intercept < 0)
        if not moved.any():
            break
        negatives = negatives | moved
    return np.asarray(rows[support].T @ alphas, dtype=np.float64), intercept


def _learn(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError("SVMC needs scikit-learn: pip install scrapy-replica[eval]") from error
