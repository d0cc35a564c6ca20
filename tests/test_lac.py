from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.lazy.lac import LAC, Cube


def brute_alpha(examples, items):
    """alpha(x, -) with every subset of *items* (pairs of feature and interval) counted over all examples."""
    confidences = {False: [], True: []}
    for size in range(1, len(items) + 1):
        for antecedent in combinations(sorted(items), size):
            matching = [label for y, label in examples if all(y[f] == item for f, item in antecedent)]
            for label in (False, True):
                if matching.count(label):
                    confidences[label].append(matching.count(label) / len(matching))
    score = {label: sum(found) / len(found) if found else 0.0 for label, found in confidences.items()}
    return score[False] / (score[False] + score[True]) if any(score.values()) else 0.5


vector = st.tuples(*[st.integers(0, 3)] * 4)
examples_of = st.lists(st.tuples(vector, st.booleans()), min_size=1, max_size=30)


def cube_of(examples):
    codes = np.array([x for x, _ in examples], dtype=np.int64)
    return Cube.from_examples((4, 4, 4, 4), codes, np.array([label for _, label in examples]))


class TestTable1:
    """Table 1 of Carvalho et al. 2017: eight examples, five features; intervals numbered by their lower end."""

    EXAMPLES = (
        # ip4, ip3, ndist, nmatch, fullpath
        ((1, 2, 2, 2, 2), True),
        ((1, 1, 3, 1, 1), False),
        ((3, 1, 2, 1, 1), True),
        ((1, 3, 2, 2, 2), True),
        ((2, 3, 1, 3, 2), True),
        ((1, 2, 2, 3, 2), False),
        ((1, 1, 3, 1, 2), False),
        ((2, 3, 1, 3, 2), True),
    )
    X = (1, 1, 2, 2, 1)

    def test_alpha_by_hand(self):
        # Projected on x: y1 {ip4 ndist nmatch}+ y2 {ip4 ip3 fullpath}- y3 {ip3 ndist fullpath}+ y4 {ip4 ndist nmatch}+
        # y6 {ip4 ndist}- y7 {ip4 ip3}-; y5 and y8 share nothing with x.
        # The rules that exist, with (support of +, support of -):
        #   ip4 2,3  ip3 1,2  ndist 3,1  nmatch 2,0  fullpath 1,1
        #   ip4 ip3 0,2  ip4 ndist 2,1  ip4 nmatch 2,0  ip4 fullpath 0,1  ip3 ndist 1,0  ip3 fullpath 1,1
        #   ndist nmatch 2,0  ndist fullpath 1,0
        #   ip4 ip3 fullpath 0,1  ip4 ndist nmatch 2,0  ip3 ndist fullpath 1,0
        positive = [2 / 5, 1 / 3, 3 / 4, 1, 1 / 2, 2 / 3, 1, 1, 1 / 2, 1, 1, 1, 1]
        negative = [3 / 5, 2 / 3, 1 / 4, 1 / 2, 1, 1 / 3, 1, 1 / 2, 1]
        score_positive = sum(positive) / 13
        score_negative = sum(negative) / 9
        alpha = score_negative / (score_negative + score_positive)
        codes = np.array([y for y, _ in self.EXAMPLES])
        labels = np.array([label for _, label in self.EXAMPLES])
        lac = LAC(Cube.from_examples((4, 4, 4, 4, 4), codes, labels))
        assert lac.alpha(np.array([self.X]))[0] == pytest.approx(alpha, abs=1e-12)
        assert lac.alpha_one(self.X) == pytest.approx(alpha, abs=1e-12)
        assert alpha == pytest.approx(0.4543, abs=1e-4)


class TestLAC:
    @given(examples_of, st.lists(vector, min_size=1, max_size=5))
    @settings(max_examples=60)
    def test_equals_brute_force(self, examples, asked):
        lac = LAC(cube_of(examples))
        batch = lac.alpha(np.array(asked))
        for x, alpha in zip(asked, batch, strict=True):
            expected = brute_alpha(examples, set(enumerate(x)))
            assert alpha == pytest.approx(expected, abs=1e-9)
            assert lac.alpha_one(x) == pytest.approx(expected, abs=1e-9)

    def test_nothing_in_common_is_undecided(self):
        lac = LAC(cube_of([((0, 0, 0, 0), True)]))
        assert lac.alpha_one((1, 1, 1, 1)) == 0.5


class TestCube:
    @given(examples_of, examples_of)
    @settings(max_examples=60)
    def test_merging_equals_counting_both(self, first, second):
        merged = cube_of(first).merged(cube_of(second))
        whole = cube_of(first + second)
        assert (merged.vectors == whole.vectors).all()
        assert (merged.counts == whole.counts).all()
        assert (merged.support == whole.support).all()

    @given(examples_of)
    @settings(max_examples=30)
    def test_survives_json(self, examples):
        cube = cube_of(examples)
        back = Cube.from_dict(json.loads(json.dumps(cube.to_dict())))
        assert back.sizes == cube.sizes
        assert (back.support == cube.support).all()

    def test_other_intervals_are_refused(self):
        cube = Cube.from_examples((2,), np.array([[1]]), np.array([True]))
        other = Cube.from_examples((3,), np.array([[1]]), np.array([True]))
        with pytest.raises(ValueError, match="different intervals"):
            cube.merged(other)

    def test_too_many_features_are_refused(self):
        with pytest.raises(ValueError, match="12 features"):
            Cube.from_examples((2,) * 13, np.zeros((1, 13), dtype=np.int64), np.array([True]))
