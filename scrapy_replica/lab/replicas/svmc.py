"""SVMC: support vector machines from positive and unlabelled examples, in two stages (Yu 2005).

Mapping finds strong negatives in U; convergence retrains a nu-SVM and moves what it calls negative, until nothing does.
As Orlandi (2007, pp. 48-54) describes it. To learn needs scikit-learn (extra ``lab``), to judge pages does not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from scrapy_replica.focus.background import Background, examples_and_others
from scrapy_replica.focus.linear import LinearModel, term_idf, term_matrix
from scrapy_replica.numeric import BoolArray, FloatArray, sigmoid

Terms = Mapping[str, int]
Mapper = Callable[[Any, Any], BoolArray]


class NoNegativesError(ValueError):
    """The mapper found no page that is surely off topic, so there is nothing to tell the examples from."""


ROUNDS = 50
NU = 0.1
"""Of the nu-SVM; the source does not give it."""
THETA = 3.0
"""One of the four printed beside the published figures (p. 55, from 1.0 to 3.1); on posts 1.4 and above are alike."""
GAMMA = 0.5
"""Of the RBF kernels: the middle of the source's (0, 1), which gives no value."""
ONE_CLASS_NU = np.arange(0.005, 0.1001, 0.005)


def one_dnf(positive: Any, unlabelled: Any, theta: float = 1.0) -> BoolArray:
    """Return which rows of *unlabelled* hold no strong positive term, shape (n,).

    A term is strong if its share of documents in P is more than *theta* times that in U.

    *Readings.* Frequencies are shares of documents, as in the example of the source (p. 49): counts would move theta by
    |P| / |U| and change nothing else. The search goes up from 1 for the best recall on P and takes the lowest theta
    among equals (p. 54); recall never grows with theta, so it ends where it begins.
    """
    in_p, in_u = (np.asarray((rows > 0).sum(axis=0)).ravel() for rows in (positive, unlabelled))
    is_strong = (
        in_p * unlabelled.shape[0] > theta * in_u * positive.shape[0]
    )  # in whole numbers: shares are often equal
    strong = np.asarray((unlabelled[:, is_strong] > 0).sum(axis=1)).ravel() > 0
    return np.asarray(~strong)


def one_class(positive: Any, unlabelled: Any) -> BoolArray:
    """Return which rows of *unlabelled* a one-class SVM of P with an RBF kernel calls negative, shape (n,).

    nu is searched from .005 to .1 in steps of .005 for the best recall on P.

    *Readings.* The lowest nu among equals, as with theta. The kernel, printed -gamma e^|x-y|^2 (p. 47), is
    e^(-gamma |x-y|^2).
    """
    svm = _learn("sklearn.svm")
    within = rbf(positive, positive)
    models = [svm.OneClassSVM(kernel="precomputed", nu=nu).fit(within) for nu in ONE_CLASS_NU]
    best = models[int(np.argmax([(model.predict(within) > 0).sum() for model in models]))]
    return np.asarray(best.predict(rbf(unlabelled, positive)) < 0)


def cosine(positive: Any, unlabelled: Any) -> BoolArray:
    """Return which rows of *unlabelled* have a smaller cosine with the mean of P than every row of P, shape (n,).

    In the space of the RBF kernel, where every row has length 1: the cosine is the mean kernel with the rows of P
    over the length of the mean, and that is the same for all.
    """
    return np.asarray(rbf(unlabelled, positive).mean(axis=1) < rbf(positive, positive).mean(axis=1).min())


def rbf(rows: Any, others: Any) -> FloatArray:
    """Return e^(-gamma |x-y|^2) of rows x and y, CSR, shape (rows, others)."""
    squares = [np.asarray(each.multiply(each).sum(axis=1)).ravel() for each in (rows, others)]
    return np.asarray(np.exp(-GAMMA * (squares[0][:, None] + squares[1] - 2.0 * (rows @ others.T).toarray())))


MAPPERS: dict[str, Mapper] = {
    "1-dnf": one_dnf,
    "1-dnf-printed": partial(one_dnf, theta=THETA),
    "osvm": one_class,
    "cosine": cosine,
}


class SVMC:
    """Relevance by the last nu-SVM; kernel: the cosine of TF-IDF rows. Unfitted it finds nothing relevant.

    *Reading.* The source gives the kernel of the mappers alone. *seed*: of the samples of convergence.
    """

    def __init__(self, mapper: str = "1-dnf", seed: int = 0) -> None:
        if mapper not in MAPPERS:
            raise ValueError(f"there is no mapper {mapper!r}; choose one of {', '.join(MAPPERS)}")
        self._map, self._seed = MAPPERS[mapper], seed
        self._model = LinearModel()

    def fit(self, positives: Sequence[Terms], background: Background) -> None:
        """Learn a topic.

        Raises ``ValueError`` when no example has a term or the background has no other document, ``NoNegativesError``
        when the mapper finds none that is surely off topic, and ``ImportError`` without scikit-learn.
        """
        examples, others = examples_and_others(positives, background)
        if not others:
            raise ValueError("the background is empty: give unlabelled pages")
        idf = term_idf([*examples, *others])
        matrix = term_matrix([*examples, *others], idf)
        rows = _learn("scipy.sparse").csr_matrix((matrix.values, (matrix.rows, matrix.columns)), shape=matrix.shape)
        negatives = self._map(rows[: len(examples)], rows[len(examples) :])
        if not negatives.any():
            raise NoNegativesError("the mapper found no page that is surely off topic: give more unlabelled pages")
        weights, intercept = converge(rows, negatives, np.random.default_rng(self._seed))
        self._model = LinearModel(idf, weights.tolist(), intercept)

    def relevance(self, terms: Terms) -> float:
        """Return the logistic function of the SVM's value, 0..1; a page without a known term gets 0."""
        return sigmoid(self._model.margin(terms))

    def save(self) -> bytes:
        """Return the fitted model as NPZ."""
        return self._model.save()

    def load(self, state: bytes) -> None:
        """Take the model that :meth:`save` returned."""
        self._model = LinearModel.load(state)


def converge(rows: Any, negatives: BoolArray, chance: np.random.Generator) -> tuple[FloatArray, float]:
    """Return weights and intercept of the nu-SVM that calls no more of U negative, after 50 rounds at most.

    *rows*: P above U, CSR; *negatives*: which rows of U the mapper is sure of. A round learns from as many rows of P as
    of N, drawn from the larger of the two. All inner products are taken once (8 n^2 bytes): a round on 3,300 documents
    costs .14 s instead of 2.7 s with sparse rows.
    """
    positives = rows.shape[0] - len(negatives)
    products = (rows @ rows.T).toarray()
    for _ in range(ROUNDS):
        known = np.arange(positives), positives + np.flatnonzero(negatives)
        smaller = min(map(len, known))
        train = np.concatenate([chance.choice(side, smaller, replace=False) for side in known])
        svm = _learn("sklearn.svm").NuSVC(kernel="precomputed", nu=NU)
        svm.fit(products[np.ix_(train, train)], np.where(train < positives, 1, -1))
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
        raise ImportError("SVMC needs scikit-learn: pip install 'scrapy-replica[lab]'") from error
