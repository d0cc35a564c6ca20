from __future__ import annotations

import numpy as np
import pytest

from scrapy_replica.lab.training.train_extractor import exported
from scrapy_replica.pages.trees import BoostedTrees


class TestBoostedTrees:
    def test_log_odds_are_those_of_scikit_learn_also_after_saving(self):
        ensemble = pytest.importorskip("sklearn.ensemble")
        rng = np.random.default_rng(1)
        samples = rng.normal(size=(500, 6)).astype(np.float32)
        labels = (samples[:, 0] * samples[:, 1] > 0.2) | (samples[:, 2] > 1)
        model = ensemble.HistGradientBoostingClassifier(
            max_leaf_nodes=9, max_iter=20, min_samples_leaf=5, early_stopping=False, random_state=0
        ).fit(samples, labels)
        trees = exported(model)
        again = BoostedTrees.from_arrays(trees.to_arrays("x_"), "x_")
        expected = model.decision_function(samples)
        assert np.allclose(trees.log_odds(samples.T), expected, atol=1e-4)
        assert np.allclose(again.log_odds(samples.T), expected, atol=1e-4)

    def test_a_tree_without_a_split_adds_its_value(self):
        ensemble = pytest.importorskip("sklearn.ensemble")
        samples = np.zeros((100, 2), np.float32)
        model = ensemble.HistGradientBoostingClassifier(max_leaf_nodes=9, max_iter=3, early_stopping=False)
        model.fit(samples, np.arange(100) < 30)
        assert np.allclose(exported(model).log_odds(samples.T), model.decision_function(samples), atol=1e-5)
