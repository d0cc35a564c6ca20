from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.lab.replicas.cuts import equal_frequency_cuts, equal_width_cuts, mdl_cuts
from scrapy_replica.lazy.intervals import Intervals

values_of = st.lists(st.integers(0, 12) | st.just(math.nan), min_size=1, max_size=60)


def entropy(labels):
    n = len(labels)
    return -sum(labels.count(x) / n * math.log2(labels.count(x) / n) for x in set(labels))


def slow_mdl(points):
    """Fayyad & Irani by recursion over a sorted list of (value, label)."""
    values = sorted({value for value, _ in points})
    labels = [label for _, label in points]
    best = None
    for low, high in pairwise(values):
        left = [label for value, label in points if value <= low]
        right = [label for value, label in points if value >= high]
        split = (len(left) * entropy(left) + len(right) * entropy(right)) / len(points)
        if best is None or round(split, 12) < round(best[0], 12):
            best = (split, low, high, left, right)
    if best is None:
        return []
    split, low, high, left, right = best
    k, k1, k2 = len(set(labels)), len(set(left)), len(set(right))
    delta = math.log2(3**k - 2) - (k * entropy(labels) - k1 * entropy(left) - k2 * entropy(right))
    if entropy(labels) - split <= (math.log2(len(points) - 1) + delta) / len(points) + 1e-12:
        return []
    below = [point for point in points if point[0] <= low]
    above = [point for point in points if point[0] >= high]
    return sorted([*slow_mdl(below), (low + high) / 2, *slow_mdl(above)])


class TestMDL:
    @given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9)), min_size=1, max_size=60), st.integers(0, 12))
    @settings(max_examples=150)
    def test_equals_the_recursion(self, points, middle):
        # labels follow the value but for one in ten, so that cuts are accepted
        labelled = [(float(value), (value > middle) != (noise == 0)) for value, noise in points]
        values, labels = (np.array(column) for column in zip(*labelled, strict=True))
        assert list(mdl_cuts(values, labels)) == slow_mdl(labelled)

    def test_unknown_values_are_left_aside(self):
        values = np.array([0.0] * 20 + [1.0] * 20 + [math.nan] * 5)
        labels = np.array([False] * 20 + [True] * 20 + [False] * 5)
        assert mdl_cuts(values, labels) == (0.5,)

    def test_noise_is_not_cut(self):
        rng = np.random.default_rng(3)
        assert mdl_cuts(rng.random(200), rng.random(200) < 0.5) == ()


class TestUnsupervised:
    @given(values_of, st.integers(2, 6))
    @settings(max_examples=100)
    def test_equal_width_is_arithmetic(self, values, intervals):
        known = [value for value in values if not math.isnan(value)]
        cuts = equal_width_cuts(np.array(values, dtype=float), intervals)
        if len(set(known)) < 2:
            assert cuts == ()
        else:
            width = (max(known) - min(known)) / intervals
            np.testing.assert_allclose(cuts, [min(known) + width * i for i in range(1, intervals)])

    @given(values_of, st.integers(2, 6))
    @settings(max_examples=100)
    def test_equal_frequency_follows_the_sorted_list(self, values, intervals):
        known = sorted(value for value in values if not math.isnan(value))
        places = [round(part * len(known) / intervals) - 1 for part in range(1, intervals)]
        expected = (
            sorted({known[place] for place in places if place >= 0 and known[place] != known[-1]}) if known else []
        )
        assert list(equal_frequency_cuts(np.array(values, dtype=float), intervals)) == expected

    def test_equal_frequency_fills_intervals_evenly(self):
        values = np.arange(100.0)
        codes = Intervals((equal_frequency_cuts(values, 5),)).codes(values[:, None])
        assert np.bincount(codes[:, 0]).tolist() == [0, 20, 20, 20, 20, 20]


class TestIntervals:
    def test_unknown_is_an_interval_of_its_own_and_cuts_belong_left(self):
        intervals = Intervals(((0.1, 0.3), ()))
        values = np.array([[math.nan, 0.0], [0.1, math.nan], [0.2, 1.0], [0.4, 1.0]])
        assert intervals.codes(values).tolist() == [[0, 1], [1, 0], [2, 1], [3, 1]]
        assert intervals.sizes == (4, 2)
