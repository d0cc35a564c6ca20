from __future__ import annotations

import numpy as np
import pytest

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.elkan_noto import ElkanNoto, Matrix, fit_logistic
from scrapy_replica.focus.relevance import Relevance

HOCKEY = [{"puck": 2, "goal": 1, f"name{i}": 1} for i in range(12)]
REST = [{"tax": 2, "vote": 1, f"town{i}": 1} for i in range(60)]


class TestElkanNoto:
    def test_finds_the_positives_hidden_in_the_unlabelled(self) -> None:
        model = ElkanNoto.fit(HOCKEY[:6], HOCKEY[6:] + REST)
        assert all(model.probability(terms) > 0.5 for terms in HOCKEY)
        assert all(model.probability(terms) < 0.5 for terms in REST)

    def test_one_example_is_enough(self) -> None:
        model = ElkanNoto.fit(HOCKEY[:1], REST + HOCKEY[5:6])
        assert model.probability(HOCKEY[3]) > model.probability(REST[3])

    def test_no_example_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="at least one page"):
            ElkanNoto.fit([], REST)

    def test_no_background_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="background"):
            ElkanNoto.fit(HOCKEY, [])

    def test_words_of_another_language_are_not_relevant(self) -> None:
        assert ElkanNoto.fit(HOCKEY[:6], REST).probability({"Eishockey": 3, "Tor": 2}) < 0.5

    def test_saved_and_loaded(self) -> None:
        model = ElkanNoto.fit(HOCKEY[:6], REST)
        assert ElkanNoto.load(model.save()).probability(HOCKEY[8]) == model.probability(HOCKEY[8])


class TestFitLogistic:
    def test_agrees_with_scikit_learn(self) -> None:
        linear = pytest.importorskip("sklearn.linear_model")
        chance = np.random.default_rng(3)
        dense = chance.random((80, 6)) * (chance.random((80, 6)) < 0.5)
        labels = (dense[:, 0] + 0.3 * chance.random(80) > 0.5).astype(float)
        rows, columns = np.nonzero(dense)
        matrix = Matrix(rows, columns, dense[rows, columns], dense.shape)
        weights, intercept = fit_logistic(matrix, labels, tolerance=1e-6)
        peer = linear.LogisticRegression(C=1.0, class_weight="balanced", tol=1e-8).fit(dense, labels)
        assert weights == pytest.approx(peer.coef_[0], abs=1e-3)
        assert intercept == pytest.approx(peer.intercept_[0], abs=1e-3)


class TestRelevance:
    def test_saved_and_loaded(self) -> None:
        model, again = Relevance(), Relevance()
        model.fit(HOCKEY[:6], Background.from_documents([{**terms, f"u{i}": 1} for i, terms in enumerate(REST * 4)]))
        again.load(model.save())
        assert again.relevance(HOCKEY[8]) == pytest.approx(model.relevance(HOCKEY[8]))
        assert model.relevance(HOCKEY[8]) > 0.5 > model.relevance(REST[2])
