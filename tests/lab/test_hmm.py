from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.focus.hmm import HMM, SecondOrderHMM


def trained(model: HMM, seed: int, unseen: int | None = None) -> HMM:
    """Give *model* counts by lot, none of the state *unseen*."""
    chance = np.random.default_rng(seed)
    a, b = (chance.integers(0, 20, each.shape).astype(float) for each in (model.transitions, model.emissions))
    b[:, 0] += 1.0
    if unseen is not None:
        b[unseen] = 0.0
        for axis in range(a.ndim):
            np.moveaxis(a, axis, 0)[unseen] = 0.0
    model.learn(a, b)
    return model


def last_delta(model: HMM, observations: list[int]) -> np.ndarray:
    emitted = model.emitted(np.array(observations))
    delta = model.start(emitted[:1])
    for place in range(1, len(observations)):
        delta = model.step(delta, emitted[place : place + 1])
    return delta


def last_state(model: HMM, observations: list[int]) -> int:
    return int(model.state_of(last_delta(model, observations))[0])


def best_path(model: HMM, observations: list[int], states: list[int]) -> tuple[float, dict[int, float]]:
    """Try every sequence of *states*; return the best log probability and the best one that ends in each.

    In second order a state without observation stands before the first page.
    """
    counts, b = model.transitions, model.emissions + 1.0
    b = np.log(b / b.sum(axis=1, keepdims=True))
    ends: dict[int, float] = {}
    for path in product(states, repeat=len(observations) + model.order - 1):
        total = sum(b[s, o] for s, o in zip(path[model.order - 1 :], observations, strict=True))
        for i in range(len(path) - model.order):
            step = path[i : i + model.order + 1]
            into = sum(counts[(*before, step[-1])] + 1.0 for before in product(states, repeat=model.order))
            total += np.log((counts[step] + 1.0) / into)
        ends[path[-1]] = max(ends.get(path[-1], -np.inf), total)
    return max(ends.values()), ends


class TestViterbiStep:
    @settings(max_examples=40)
    @given(
        seed=st.integers(0, 10_000),
        observations=st.lists(st.integers(0, 3), min_size=1, max_size=5),
        unseen=st.sampled_from([None, 0, 1, 2]),
    )
    def test_ends_in_the_state_of_the_best_whole_chain(
        self, seed: int, observations: list[int], unseen: int | None
    ) -> None:
        """And never in one that no page was in."""
        model = trained(HMM(3, 4), seed, unseen)
        best, ends = best_path(model, observations, [state for state in range(3) if state != unseen])
        assert ends[last_state(model, observations)] == pytest.approx(best)

    @settings(max_examples=25)
    @given(
        seed=st.integers(0, 10_000),
        observations=st.lists(st.integers(0, 3), min_size=3, max_size=5),
        unseen=st.sampled_from([None, 1]),
    )
    def test_second_order_too(self, seed: int, observations: list[int], unseen: int | None) -> None:
        model = trained(SecondOrderHMM(3, 4), seed, unseen)
        best, ends = best_path(model, observations, [state for state in range(3) if state != unseen])
        assert ends[last_state(model, observations)] == pytest.approx(best)

    def test_agrees_with_hmmlearn(self) -> None:
        """Of transitions that come to one from each state, as printed shares mostly do not."""
        hmmlearn = pytest.importorskip("hmmlearn.hmm")
        for seed in range(10):
            model = trained(HMM(7, 7), seed)
            a = np.random.default_rng(seed).dirichlet(np.ones(7), 7)
            model.log_a = np.log(a)
            observations = np.random.default_rng(seed).integers(0, 7, 40).tolist()
            peer = hmmlearn.CategoricalHMM(n_components=7)
            b = model.emissions + 1.0
            peer.startprob_, peer.n_features = np.full(7, 1 / 7), 7
            peer.transmat_, peer.emissionprob_ = a, b / b.sum(axis=1, keepdims=True)
            _, path = peer.decode(np.array(observations)[:, None])
            assert last_state(model, observations) == path[-1]

    def test_many_pages_are_told_at_once_what_each_is_told(self) -> None:
        for model in (trained(HMM(4, 4), 1), trained(SecondOrderHMM(4, 4), 1)):
            chains = np.random.default_rng(2).integers(0, 4, (5, 3)).tolist()
            alone = [last_delta(model, chain)[0] for chain in chains]
            emitted = [model.emitted(np.array(column)) for column in zip(*chains, strict=True)]
            together = model.step(model.step(model.start(emitted[0]), emitted[1]), emitted[2])
            assert together == pytest.approx(np.array(alone))

    def test_long_chains_stay_finite(self) -> None:
        assert 0 <= last_state(trained(HMM(7, 7), 1, unseen=3), [3] * 20_000) < 7


class TestCounts:
    def test_counts_of_other_sites_stay_beside_the_own(self) -> None:
        other = trained(HMM(3, 3), 5)
        model = HMM(3, 3)
        model.begin_with(other.counts())
        assert (model.log_a == other.log_a).all()
        model.learn(np.ones((3, 3)), np.ones((3, 3)))
        assert (model.transitions == other.transitions + 1.0).all()
        model.learn(np.zeros((3, 3)), np.zeros((3, 3)))
        assert (model.emissions == other.emissions).all()

    def test_saved_and_restored(self) -> None:
        model, other = HMM(3, 3), HMM(3, 3)
        model.begin_with(trained(HMM(3, 3), 5).counts())
        model.learn(np.full((3, 3), 0.1), np.full((3, 3), 0.2))
        other.restore(model.state())
        assert (other.log_a == model.log_a).all()
        assert (other.log_b == model.log_b).all()

    def test_refuses_a_model_of_another_shape(self) -> None:
        with pytest.raises(ValueError, match="3 states"):
            HMM(4, 4).begin_with(HMM(3, 3).counts())
