from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.elkan_noto import ElkanNoto, fit_logistic
from scrapy_replica.focus.linear import Matrix

Terms = Mapping[str, int]

HOCKEY = [{"puck": 2, "goal": 1, f"name{i}": 1} for i in range(12)]
REST = [{"tax": 2, "vote": 1, f"town{i}": 1} for i in range(60)]


def fitted(positives: Sequence[Terms], unlabelled: Sequence[Terms]) -> ElkanNoto:
    model = ElkanNoto()
    model.fit(positives, Background.from_documents(unlabelled))
    return model


class TestElkanNoto:
    def test_finds_the_positives_hidden_in_the_unlabelled(self) -> None:
        model = fitted(HOCKEY[:6], HOCKEY[6:] + REST)
        assert all(model.relevance(terms) > 0.5 for terms in HOCKEY)
        assert all(model.relevance(terms) < 0.5 for terms in REST)

    def test_one_example_is_enough(self) -> None:
        model = fitted(HOCKEY[:1], REST + HOCKEY[5:6])
        assert model.relevance(HOCKEY[3]) > model.relevance(REST[3])


class TestFitLogistic:
    def test_agrees_with_scikit_learn(self) -> None:
        linear = pytest.importorskip("sklearn.linear_model")
        chance = np.random.default_rng(3)
        dense = chance.random((80, 6)) * (chance.random((80, 6)) < 0.5)
        labels = (dense[:, 0] + 0.3 * chance.random(80) > 0.5).astype(float)
        rows, columns = np.nonzero(dense)
        matrix = Matrix(rows, columns, dense[rows, columns], dense.shape)
        weights, intercept = fit_logistic(matrix, labels, np.ones(len(labels)), tolerance=1e-6)
        peer = linear.LogisticRegression(C=1.0, class_weight="balanced", tol=1e-8).fit(dense, labels)
        assert weights == pytest.approx(peer.coef_[0], abs=1e-3)
        assert intercept == pytest.approx(peer.intercept_[0], abs=1e-3)


def test_a_link_without_a_text_is_no_bad_link():
    on = [{"kernel": 3, "svm": n} for n in range(1, 9)]
    off = [{word: 3, "cup": n} for word in ("football", "opera", "garden") for n in range(1, 20)]
    model = ElkanNoto()
    model.fit(on, Background(documents=off, frequencies={}))
    assert model.relevance({"football": 2, "opera": 1}) < model.relevance({}) < model.relevance({"kernel": 2, "svm": 1})
