"""When and from which pages a topic is learnt again, and how the link model moves away from its start."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus.link_head import DenseModel
from scrapy_replica.focus.links import directories
from scrapy_replica.focus.outcomes import CHANCE, DirectoryTree
from scrapy_replica.focus.relearning import MOST_UNLABELLED, next_stage, unlabelled


class TestStages:
    def test_four_times_as_many_pages_each_time(self) -> None:
        stages, pages = [], 0
        while (stage := next_stage(pages, 60)) is not None:
            stages.append(stage)
            pages = stage
        assert stages == [60, 240, 960, 3840]

    def test_a_long_warm_up_is_the_only_one_and_none_is_none(self) -> None:
        assert next_stage(0, 9_000) == 9_000
        assert next_stage(9_000, 9_000) is None
        assert next_stage(0, 0) is None


class TestUnlabelled:
    @settings(max_examples=50)
    @given(
        places=st.lists(st.sampled_from(["a.org", "a.org/x", "a.org/x/y", "b.org"]), max_size=300),
        warm_up=st.integers(0, 70),
    )
    def test_the_warm_up_and_fewer_of_each_directory_the_more_it_has(self, places: list[str], warm_up: int) -> None:
        urls = [f"http://{place}/{number}" for number, place in enumerate(places)]
        taken = unlabelled(urls, warm_up)
        assert taken == sorted(set(taken))
        assert set(range(min(warm_up, len(urls)))) <= set(taken)
        later = Counter(directories(url)[-1] for url in urls[warm_up:])
        found = Counter(directories(urls[place])[-1] for place in taken if place >= warm_up)
        assert found == {directory: math.ceil(n**0.75) for directory, n in later.items()}

    def test_never_more_than_the_model_is_given(self) -> None:
        taken = unlabelled([f"http://h{n % 2000}.org/{n}" for n in range(3_000)], 60)
        assert len(taken) == len(set(taken)) == MOST_UNLABELLED


class TestDenseModel:
    @pytest.mark.parametrize(
        ("precision", "outcomes", "expected"), [(1e3, 20, [-1.0, 2.0, 0.7]), (1.0, 6000, [0, -2, 0.7])]
    )
    def test_stands_at_first_and_follows_the_evidence_at_last(
        self, precision: float, outcomes: int, expected: list[float]
    ) -> None:
        """What outcomes tell apart is learnt, the last weight, of which they say nothing, keeps its start."""
        model = DenseModel([-1.0, 2.0, 0.7], [precision] * 3)
        chance = np.random.default_rng(1)
        for _ in range(outcomes):
            features = np.array([1.0, chance.random(), 0.0])
            outcome = float(chance.random() < 1 / (1 + math.exp(2.0 * features[1])))
            model.learn(features, outcome, float(model.logits(features[None])[0]))
        assert model.weights == pytest.approx(expected, abs=0.3)
        assert model.weights[2] == 0.7

    def test_equals_newton_on_all_outcomes_at_once(self) -> None:
        """Near the start the filter is the posterior mode of a linear-Gaussian model, which is solved directly."""
        chance = np.random.default_rng(3)
        rows = 0.1 * chance.standard_normal((40, 3))
        outcomes = 0.5 + 0.1 * chance.standard_normal(40)
        model = DenseModel([0.0, 0.0, 0.0], [2.0] * 3)
        for row, outcome in zip(rows, outcomes, strict=True):
            model.learn(row, float(outcome), float(model.logits(row[None])[0]))
        solved = np.linalg.solve(2.0 * np.eye(3) + 0.25 * rows.T @ rows, rows.T @ (outcomes - 0.5))
        assert model.weights == pytest.approx(solved, abs=2e-3)


class TestWasted:
    def test_a_directory_of_failures_falls_and_one_with_pages_does_not(self) -> None:
        tree = DirectoryTree(100)
        gone, alive, other = (tree.id_of(["a.org", f"a.org/{name}"]) for name in ("gone", "alive", "other"))
        for outcome in (0.6, 0.4, 0.5):
            tree.add(alive, outcome)
        before = tree.means(np.array([gone, alive, other]))[0, CHANCE]
        for _ in range(10):
            tree.add_wasted(gone)
            tree.add_wasted(alive)
        after = tree.means(np.array([gone, alive, other]))[0, CHANCE]
        assert after[0] < before[0] / 3
        assert after[1:].tolist() == before[1:].tolist()
