from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus.background import Background
from scrapy_replica.lab.replicas.svmc import GAMMA, MAPPERS, NU, ROUNDS, SVMC, THETA, converge

sparse = pytest.importorskip("scipy.sparse")
svm = pytest.importorskip("sklearn.svm")


def reference(rows: Any, negatives: np.ndarray, chance: np.random.Generator) -> tuple[np.ndarray, float]:
    """The convergence stage as it is told: each round fits a linear nu-SVM to equal samples of P and N, row by row."""
    positives = rows.shape[0] - len(negatives)
    p, u = rows[:positives].toarray(), rows[positives:].toarray()
    for _ in range(ROUNDS):
        n = u[negatives]
        size = min(len(p), len(n))
        p_drawn, n_drawn = (side[chance.choice(len(side), size, replace=False)] for side in (p, n))
        model = svm.NuSVC(kernel="linear", nu=NU).fit(np.vstack([p_drawn, n_drawn]), [1] * size + [-1] * size)
        moved = ~negatives & (model.decision_function(u) < 0)
        if not moved.any():
            break
        negatives = negatives | moved
    return model.coef_[0], model.intercept_[0]


def plain_kernel(x: np.ndarray, y: np.ndarray) -> float:
    return math.exp(-GAMMA * sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def plain_cosine(positive: np.ndarray, unlabelled: np.ndarray) -> list[bool]:
    """The cosine of each image with the mean of the images of P, from inner products alone."""
    length = math.sqrt(np.mean([plain_kernel(x, y) for x in positive for y in positive]))

    def cosine(y: np.ndarray) -> float:
        return np.mean([plain_kernel(x, y) for x in positive]) / (length * math.sqrt(plain_kernel(y, y)))

    smallest = min(map(cosine, positive))
    return [cosine(y) < smallest for y in unlabelled]


def plain_one_dnf(
    positive: np.ndarray, unlabelled: np.ndarray, thetas: Sequence[float] = tuple(np.arange(1.0, 5.0, 0.1))
) -> list[bool]:
    """theta by linear search: the best recall on P, the first among equals."""
    in_p, in_u = ([sum(column > 0) for column in rows.T] for rows in (positive, unlabelled))
    best, strong = -1, np.zeros(0)
    for theta in thetas:
        discriminates = np.array(
            [len(unlabelled) * p > theta * len(positive) * u for p, u in zip(in_p, in_u, strict=True)]
        )
        recall = sum((row[discriminates] > 0).any() for row in positive)
        if recall > best:
            best, strong = recall, discriminates
    return [not (row[strong] > 0).any() for row in unlabelled]


def plain_one_class(positive: np.ndarray, unlabelled: np.ndarray) -> list[bool]:
    best, rejected = -1, []
    for nu in np.arange(0.005, 0.1001, 0.005):
        model = svm.OneClassSVM(kernel="rbf", gamma=GAMMA, nu=nu).fit(positive)
        if (recall := (model.predict(positive) > 0).sum()) > best:
            best, rejected = recall, (model.predict(unlabelled) < 0).tolist()
    return rejected


PLAIN = {
    "1-dnf": plain_one_dnf,
    "1-dnf-printed": partial(plain_one_dnf, thetas=[THETA]),
    "osvm": plain_one_class,
    "cosine": plain_cosine,
}


def drawn(seed: int, positives: int, others: int = 40) -> np.ndarray:
    """Rows of unit length of 12 terms, those of P above the others."""
    chance = np.random.default_rng(seed)
    dense = chance.random((positives + others, 12)) * (chance.random((positives + others, 12)) < 0.4)
    dense[:positives, :4] += 0.5
    return np.asarray(dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9))


class TestMappers:
    @pytest.mark.parametrize("mapper", sorted(MAPPERS))
    def test_strong_negatives_are_negative(self, mapper: str) -> None:
        positive = sparse.csr_matrix(np.array([[0.8, 0.6, 0.0, 0.0]] * 3 + [[0.6, 0.8, 0.0, 0.0]] * 3))
        unlabelled = sparse.csr_matrix(np.array([[0.0, 0.0, 0.6, 0.8]] * 8 + [[0.7, 0.7, 0.0, 0.0]] * 2))
        chosen = MAPPERS[mapper](positive, unlabelled)
        assert chosen[:8].all()
        assert not chosen[8:].any()

    @settings(max_examples=15)
    @given(st.integers(0, 10_000), st.integers(2, 8))
    @pytest.mark.parametrize("mapper", sorted(MAPPERS))
    def test_as_the_slow_reference(self, mapper: str, seed: int, positives: int) -> None:
        rows = drawn(seed, positives, 15)
        found = MAPPERS[mapper](sparse.csr_matrix(rows[:positives]), sparse.csr_matrix(rows[positives:]))
        assert found.tolist() == PLAIN[mapper](rows[:positives], rows[positives:])

    def test_unknown_mapper_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"no mapper '2-dnf'; choose one of 1-dnf, 1-dnf-printed, osvm, cosine"):
            SVMC("2-dnf")


class TestConverge:
    @settings(max_examples=25)
    @given(st.integers(0, 10_000), st.integers(1, 25), st.integers(1, 20))
    def test_as_the_slow_reference(self, seed: int, positives: int, sure: int) -> None:
        dense = drawn(seed, positives)
        rows, negatives = sparse.csr_matrix(dense), np.arange(40) < sure
        weights, intercept = converge(rows, negatives, np.random.default_rng(seed))
        expected, line = reference(rows, negatives, np.random.default_rng(seed))
        scale = np.abs(dense @ expected + line).max()
        assert dense @ weights + intercept == pytest.approx(dense @ expected + line, abs=0.02 * scale)

    def test_moves_what_the_first_round_missed(self) -> None:
        rows = sparse.csr_matrix(np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 2 + [[0.3, 0.95]] * 3 + [[1.0, 0.1]]))
        weights, intercept = converge(rows, np.arange(6) < 2, np.random.default_rng(0))
        decided = rows @ weights + intercept
        assert (decided[:4] > 0).all()
        assert (decided[4:9] < 0).all()


class TestWithoutScikitLearn:
    def test_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in ("sklearn", "sklearn.svm", "scipy", "scipy.sparse"):
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=r"needs scikit-learn: pip install 'scrapy-replica\[lab\]'"):
            SVMC().fit([{"puck": 1}], Background.from_documents([{"tax": 1}, {"vote": 1}]))
