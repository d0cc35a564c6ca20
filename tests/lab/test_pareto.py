from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.lab.replicas.pareto import dominance_counts

points_of = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=60)


def slow_counts(points):
    def dominates(a, b):
        return a[0] >= b[0] and a[1] >= b[1] and (a[0] > b[0] or a[1] > b[1])

    return [sum(dominates(a, b) for b in points) for a in points]


class TestDominanceCounts:
    @given(points_of)
    @settings(max_examples=200)
    def test_equals_the_definition(self, points):
        first, second = np.array(points, dtype=float).T
        assert dominance_counts(first, second).tolist() == slow_counts(points)

    def test_many_different_values(self):
        rng = np.random.default_rng(1)
        points = rng.random((500, 2))
        assert dominance_counts(*points.T).tolist() == slow_counts(points.tolist())
