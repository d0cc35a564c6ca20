from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.evaluation.svmc import MAPPERS, NU, ROUNDS, SVMC, converge
from scrapy_replica.focus.background import Background

sparse = pytest.importorskip("scipy.sparse")
svm = pytest.importorskip("sklearn.svm")


def reference(rows: Any, negatives: np.ndarray) -> tuple[np.ndarray, float]:
    """The convergence stage as it is told: each round fits a linear nu-SVM to P and N from the rows themselves."""
    positives = rows.shape[0] - len(negatives)
    p, u = rows[:positives].toarray(), rows[positives:].toarray()
    for _ in range(ROUNDS):
        n = u[negatives]
        nu = min(NU, 0.95 * 2 * min(len(p), len(n)) / (len(p) + len(n)))
        model = svm.NuSVC(kernel="linear", nu=nu).fit(np.vstack([p, n]), [1] * len(p) + [-1] * len(n))
        moved = ~negatives & (model.decision_function(u) < 0)
        if not moved.any():
            break
        negatives = negatives | moved
    return model.coef_[0], model.intercept_[0]


class TestMappers:
    @pytest.mark.parametrize("mapper", sorted(MAPPERS))
    def test_strong_negatives_are_negative(self, mapper: str) -> None:
        positive = sparse.csr_matrix(np.tile([[0.8, 0.6, 0.0, 0.0]], (6, 1)))
        unlabelled = sparse.csr_matrix(np.array([[0.0, 0.0, 0.6, 0.8]] * 8 + [[0.8, 0.6, 0.0, 0.0]] * 2))
        chosen = MAPPERS[mapper](positive, unlabelled)
        assert chosen[:8].all()
        assert not chosen[8:].any()

    def test_unknown_mapper_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"no mapper '2-dnf'; choose one of 1-dnf, osvm, cosine"):
            SVMC("2-dnf")


class TestConverge:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 10_000), st.integers(1, 25), st.integers(1, 20))
    def test_as_the_slow_reference(self, seed: int, positives: int, sure: int) -> None:
        chance = np.random.default_rng(seed)
        dense = chance.random((positives + 40, 12)) * (chance.random((positives + 40, 12)) < 0.4)
        dense[:positives, :4] += 0.5
        dense /= np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-9)
        rows, negatives = sparse.csr_matrix(dense), np.arange(40) < sure
        weights, intercept = converge(rows, negatives)
        expected, line = reference(rows, negatives)
        scale = np.abs(dense @ expected + line).max()
        assert dense @ weights + intercept == pytest.approx(dense @ expected + line, abs=0.02 * scale)

    def test_moves_what_the_first_round_missed(self) -> None:
        rows = sparse.csr_matrix(np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 2 + [[0.3, 0.95]] * 3 + [[1.0, 0.1]]))
        weights, intercept = converge(rows, np.array([True, True, False, False, False, False]))
        decided = rows @ weights + intercept
        assert (decided[:4] > 0).all()
        assert (decided[4:9] < 0).all()


class TestWithoutScikitLearn:
    def test_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in ("sklearn", "sklearn.svm", "scipy", "scipy.sparse"):
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=r"needs scikit-learn: pip install 'scrapy-replica\[eval\]'"):
            SVMC().fit([{"puck": 1}], Background.from_documents([{"tax": 1}, {"vote": 1}]))
