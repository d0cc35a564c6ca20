from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.evaluation.cuts import equal_frequency_cuts, equal_width_cuts
from scrapy_replica.lazy.intervals import Intervals

values_of = st.lists(st.integers(0, 12) | st.just(math.nan), min_size=1, max_size=60)


class TestUnsupervised:
    @given(values_of, st.integers(2, 6))
    @settings(max_examples=100, deadline=None)
    def test_equal_width_is_arithmetic(self, values, intervals):
        known = [value for value in values if not math.isnan(value)]
        cuts = equal_width_cuts(np.array(values, dtype=float), intervals)
        if len(set(known)) < 2:
            assert cuts == ()
        else:
            width = (max(known) - min(known)) / intervals
            np.testing.assert_allclose(cuts, [min(known) + width * i for i in range(1, intervals)])

    @given(values_of, st.integers(2, 6))
    @settings(max_examples=100, deadline=None)
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

    def test_names(self):
        intervals = Intervals(((0.1, 0.3),))
        assert [intervals.name(0, code) for code in range(4)] == ["unknown", "(-inf, 0.1]", "(0.1, 0.3]", "(0.3, inf]"]
