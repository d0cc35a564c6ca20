from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus.hmm import HMM, SecondOrderHMM


def trained(model: HMM, seed: int) -> HMM:
    chance = np.random.default_rng(seed)
    for states in product(range(model.states), repeat=model.order + 1):
        model.count_transition(*states, times=float(chance.integers(0, 20)))
    for state in range(model.states):
        for observation in range(model.emissions.shape[1]):
            model.count_observation(state, observation, float(chance.integers(0, 20)))
    return model


def last_state(model: HMM, observations: list[int]) -> int:
    delta = model.start(observations[0])
    for observation in observations[1:]:
        delta = model.step(delta, observation)
    return model.state(delta)


def best_path(model: HMM, observations: list[int]) -> tuple[float, dict[int, float]]:
    """Try every state sequence; return the best log probability and the best one that ends in each state.

    In second order a state without observation stands before the first page.
    """
    a, b = model.transitions + 1.0, model.emissions + 1.0
    a, b = np.log(a / a.sum(axis=-1, keepdims=True)), np.log(b / b.sum(axis=-1, keepdims=True))
    ends: dict[int, float] = {}
    for path in product(range(model.states), repeat=len(observations) + model.order - 1):
        total = sum(b[s, o] for s, o in zip(path[model.order - 1 :], observations, strict=True))
        total += sum(a[path[i : i + model.order + 1]] for i in range(len(path) - model.order))
        ends[path[-1]] = max(ends.get(path[-1], -np.inf), total)
    return max(ends.values()), ends


class TestViterbiStep:
    @settings(max_examples=40, deadline=None)
    @given(seed=st.integers(0, 10_000), observations=st.lists(st.integers(0, 3), min_size=1, max_size=5))
    def test_ends_in_the_state_of_the_best_whole_chain(self, seed: int, observations: list[int]) -> None:
        model = trained(HMM(3, 4), seed)
        best, ends = best_path(model, observations)
        assert ends[last_state(model, observations)] == pytest.approx(best)

    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 10_000), observations=st.lists(st.integers(0, 3), min_size=3, max_size=5))
    def test_second_order_too(self, seed: int, observations: list[int]) -> None:
        model = trained(SecondOrderHMM(3, 4), seed)
        best, ends = best_path(model, observations)
        assert ends[last_state(model, observations)] == pytest.approx(best)

    def test_agrees_with_hmmlearn(self) -> None:
        hmmlearn = pytest.importorskip("hmmlearn.hmm")
        for seed in range(10):
            model = trained(HMM(7, 7), seed)
            observations = np.random.default_rng(seed).integers(0, 7, 40).tolist()
            peer = hmmlearn.CategoricalHMM(n_components=7)
            a, b = model.transitions + 1.0, model.emissions + 1.0
            peer.startprob_, peer.n_features = np.full(7, 1 / 7), 7
            peer.transmat_ = a / a.sum(axis=1, keepdims=True)
            peer.emissionprob_ = b / b.sum(axis=1, keepdims=True)
            _, path = peer.decode(np.array(observations)[:, None])
            assert last_state(model, observations) == path[-1]

    def test_long_chains_stay_finite(self) -> None:
        assert 0 <= last_state(trained(HMM(7, 7), 1), [3] * 20_000) < 7


class TestCounts:
    def test_taking_back_what_was_counted_leaves_nothing(self) -> None:
        model, fresh = trained(HMM(3, 3), 5), trained(HMM(3, 3), 5)
        model.start(0)
        model.count_transition(0, 1, times=4.0)
        model.count_transition(0, 1, times=-4.0)
        assert (model.start(1) == fresh.start(1)).all()
        assert (model.step(model.start(1), 2) == fresh.step(fresh.start(1), 2)).all()

    def test_saved_and_restored(self) -> None:
        model, other = trained(HMM(3, 3), 5), HMM(3, 3)
        other.restore(model.state_of_counts())
        assert (other.start(2) == model.start(2)).all()

    def test_refuses_a_model_of_another_shape(self) -> None:
        with pytest.raises(ValueError, match="3 states"):
            HMM(4, 4).restore(HMM(3, 3).state_of_counts())

    def test_refuses_no_states(self) -> None:
        with pytest.raises(ValueError, match="needs states"):
            HMM(0, 3)
