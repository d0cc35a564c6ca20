"""SVMC: support vector machines from positive and unlabelled examples, in two stages (Yu 2005).

Mapping finds strong negatives in U; convergence retrains a nu-SVM and moves what it calls negative, until nothing does.
Needs scikit-learn (extra ``learn``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

BoolArray = NDArray[np.bool_]
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
    svm = _sklearn("svm")
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
    """Sparse rows of unit length -> decision values; positive means relevant."""

    def __init__(self, mapper: str = "1-dnf", nu: float = NU) -> None:
        if mapper not in MAPPERS:
            raise ValueError(f"there is no mapper {mapper!r}; choose one of {', '.join(MAPPERS)}")
        self._map = MAPPERS[mapper]
        self._nu = nu
        self.rounds = 0
        self.weights: NDArray[np.float64] = np.zeros(0)
        self.intercept = 0.0

    def fit(self, positive: Any, unlabelled: Any) -> None:
        """Learn from two SciPy CSR matrices. Raises ValueError if the mapper finds no strong negative."""
        negatives = self._map(positive, unlabelled)
        if not negatives.any():
            raise ValueError("the mapper found no page that is surely off topic: give more unlabelled pages")
        for self.rounds in range(1, ROUNDS + 1):
            self._train(positive, unlabelled[negatives])
            moved = ~negatives & (self.decide(unlabelled) < 0)
            if not moved.any():
                return
            negatives |= moved

    def _train(self, positive: Any, negative: Any) -> None:
        """Fit a linear nu-SVM; nu is lowered where the classes are too unequal for it to be feasible."""
        sparse = _scipy_sparse()
        rows = sparse.vstack([positive, negative])
        labels = np.repeat([1, -1], [positive.shape[0], negative.shape[0]])
        feasible = 2.0 * min(positive.shape[0], negative.shape[0]) / len(labels)
        model = _sklearn("svm").NuSVC(kernel="linear", nu=min(self._nu, 0.95 * feasible)).fit(rows, labels)
        self.weights = np.asarray(model.coef_.todense()).ravel()
        self.intercept = float(model.intercept_[0])

    def decide(self, rows: Any) -> NDArray[np.float64]:
        return np.asarray(rows @ self.weights, dtype=np.float64).ravel() + self.intercept


def _sklearn(module: str) -> Any:
    try:
        import importlib  # noqa: PLC0415

        return importlib.import_module(f"sklearn.{module}")
    except ImportError as error:
        raise ImportError("SVMC needs scikit-learn: pip install scrapy-replica[learn]") from error


def _scipy_sparse() -> Any:
    import importlib  # noqa: PLC0415

    return importlib.import_module("scipy.sparse")
