from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lac import brute_alpha, cube_of
from test_lac import examples_of as examples_of_four

from scrapy_replica.lab.replicas.em import Start, alphas_and_cuts, move, supports_in, train
from scrapy_replica.lab.replicas.em_in_order import times, train_in_order
from scrapy_replica.lazy.lac import Cube


def entropy(labels):
    n = len(labels)
    return -sum(labels.count(x) / n * math.log(labels.count(x) / n) for x in set(labels)) if n else 0.0


def slow_cut(examples, x):
    """The best entropy cut as the paper words it: a list of (alpha of the projection, label), every cut tried."""
    listed = []
    for y, label in examples:
        projection = {(f, item) for f, item in enumerate(y) if item == x[f]}
        if projection:
            listed.append((round(brute_alpha(examples, projection), 12), label))
    labels = [label for _, label in listed]
    best, best_entropy = math.nan, round(entropy(labels), 12)
    for f in sorted({alpha for alpha, _ in listed}):
        left = [label for alpha, label in listed if alpha <= f]
        right = [label for alpha, label in listed if alpha > f]
        value = round((len(left) * entropy(left) + len(right) * entropy(right)) / len(listed), 12)
        if value < best_entropy:
            best, best_entropy = f, value
    return best


examples_of = st.lists(st.tuples(st.tuples(*[st.integers(0, 2)] * 3), st.booleans()), min_size=1, max_size=25)
obvious_of = st.lists(st.tuples(st.tuples(*[st.integers(0, 2)] * 3), st.integers(-1, 1)), min_size=1, max_size=40)


def arrays(examples):
    return np.array([x for x, _ in examples], dtype=np.int64), np.array([y for _, y in examples])


class TestBestEntropyCut:
    @given(examples_of)
    @settings(max_examples=100)
    def test_equals_the_slow_search_over_projections(self, examples):
        codes, labels = arrays(examples)
        cube = Cube.from_examples((3, 3, 3), codes, labels)
        alpha, cut = alphas_and_cuts(supports_in(cube, np.arange(len(cube.vectors))))
        for place, x in enumerate(cube.vectors.tolist()):
            assert abs(alpha[place] - brute_alpha(examples, set(enumerate(x)))) < 1e-9
            expected = slow_cut(examples, x)
            assert (np.isnan(cut[place]) and math.isnan(expected)) or abs(cut[place] - expected) < 1e-9

    def test_pure_data_have_no_cut(self):
        cube = Cube.from_examples((3,), np.array([[0], [1]]), np.array([True, True]))
        assert np.isnan(alphas_and_cuts(supports_in(cube, np.arange(2)))[1]).all()


class TestTrain:
    @given(obvious_of, st.sampled_from(Start), st.booleans(), st.sampled_from([None, 0.5]))
    @settings(max_examples=100)
    def test_incremental_supports_equal_a_rebuild(self, examples, start, is_locked, threshold):
        codes, obvious = arrays(examples)
        result = train((3, 3, 3), codes, obvious, start, is_locked=is_locked, threshold=threshold)
        rebuilt = Cube.from_examples((3, 3, 3), codes, result.is_positive)
        assert (rebuilt.counts == result.lac.cube.counts).all()
        assert (rebuilt.support == result.lac.cube.support).all()

    @given(obvious_of, st.sampled_from(Start))
    @settings(max_examples=100)
    def test_locked_cases_keep_their_label_and_moves_are_counted(self, examples, start):
        codes, obvious = arrays(examples)
        result = train((3, 3, 3), codes, obvious, start)
        assert result.is_positive[obvious == 1].all()
        assert not result.is_positive[obvious == -1].any()
        assert result.converged
        assert result.moved[-1] == 0
        assert sum(result.moved) == np.sum(result.is_positive[obvious == 0] == (start is Start.PU))

    def test_free_moves_take_obvious_cases_along(self):
        # an obvious negative among many obvious positives of the same vector
        codes = np.array([[1, 1]] * 9 + [[2, 2]] * 9 + [[1, 1]])
        obvious = np.array([1] * 9 + [0] * 9 + [-1])
        assert not train((3, 3), codes, obvious, Start.PU).is_positive[-1]
        assert train((3, 3), codes, obvious, Start.PU, is_locked=False, threshold=0.6).is_positive[-1]

    def test_unlabelled_twins_of_obvious_positives_become_positive(self):
        codes = np.array([[1, 1]] * 5 + [[1, 1]] * 3 + [[2, 2]] * 20)
        obvious = np.array([1] * 5 + [0] * 23)
        for threshold in (None, 0.6):
            result = train((3, 3), codes, obvious, Start.PU, threshold=threshold)
            assert result.is_positive.tolist() == [True] * 8 + [False] * 20

    def test_unlabelled_twins_of_obvious_negatives_become_negative(self):
        codes = np.array([[1, 1]] * 5 + [[1, 1]] * 3 + [[2, 2]] * 20)
        obvious = np.array([-1] * 5 + [0] * 23)
        result = train((3, 3), codes, obvious, Start.NU)
        assert result.moved == (3, 0)
        assert result.is_positive.tolist() == [False] * 8 + [True] * 20

    def test_rounds_limit_is_reported(self):
        codes = np.array([[1, 1]] * 5 + [[1, 1]] * 3 + [[2, 2]] * 20)
        obvious = np.array([1] * 5 + [0] * 23)
        assert not train((3, 3), codes, obvious, Start.PU, max_rounds=1).converged


def slow_in_order(codes, obvious, start):
    """The described loop as it is worded, on lists: one candidate after another, its rules from all examples."""
    labels = [start is Start.NU if mark == 0 else mark == 1 for mark in obvious]
    is_moved = True
    while is_moved:
        is_moved = False
        for x in sorted({code for code, mark in zip(codes, obvious, strict=True) if mark == 0}):
            examples = list(zip(codes, labels, strict=True))
            cut = slow_cut(examples, x)
            alpha = round(brute_alpha(examples, set(enumerate(x))), 12)
            is_positive = alpha <= (0.5 if math.isnan(cut) else cut)
            if is_positive != (start is Start.PU):
                continue
            for place, (code, mark) in enumerate(zip(codes, obvious, strict=True)):
                if code == x and mark == 0 and labels[place] != is_positive:
                    labels[place] = is_positive
                    is_moved = True
    return labels


class TestInOrder:
    @given(obvious_of, st.sampled_from(Start))
    @settings(max_examples=40)
    def test_from_scratch_and_incremental_are_the_described_loop(self, examples, start):
        codes, obvious = arrays(examples)
        expected = slow_in_order([code for code, _ in examples], obvious.tolist(), start)
        for is_incremental in (True, False):
            result = train_in_order((3, 3, 3), codes, obvious, start, is_incremental=is_incremental)
            assert result.is_positive.tolist() == expected
            assert (Cube.from_examples((3, 3, 3), codes, np.array(expected)).support == result.lac.cube.support).all()

    def test_times_are_told_for_each_number_of_pairs(self):
        rng = np.random.default_rng(0)
        codes, obvious = rng.integers(0, 3, (60, 3)), rng.integers(-1, 2, 60)
        heard = []
        figures = times((3, 3, 3), codes, obvious, (20, 60), heard.append)
        assert len(heard) == 4
        for number in (20, 60):
            assert figures[f"times.{number}.vectors"] <= 27
            assert 0 <= figures[f"times.{number}.pu.equal"] <= 1
            assert figures[f"times.{number}.nu.moved"] <= (obvious[:number] == 0).sum()


@given(examples_of_four, st.data())
@settings(max_examples=60)
def test_a_move_equals_a_rebuild(examples, data):
    cube = cube_of(examples)
    place = data.draw(st.integers(0, len(examples) - 1))
    x, label = examples[place]
    row = cube.vectors.tolist().index(list(x))
    move(cube, np.array([row]), np.array([1]), int(not label))
    rebuilt = cube_of([*examples[:place], (x, not label), *examples[place + 1 :]])
    assert (cube.support == rebuilt.support).all()
