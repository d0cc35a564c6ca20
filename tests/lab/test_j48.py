"""J48 as Weka grows and prunes it."""

from __future__ import annotations

import numpy as np
import pytest

from scrapy_replica.lab.replicas.j48 import Node, added_errors, expected_errors, tree


def size(node: Node) -> int:
    return 1 + sum(map(size, node.sides))


@pytest.mark.parametrize(("rows", "errors", "share"), [(6, 0, 0.206), (9, 0, 0.143), (1, 0, 0.750), (16, 1, 0.157)])
def test_the_bound_of_a_leaf_is_that_of_the_book(rows: int, errors: int, share: float) -> None:
    """Quinlan 1993, p. 42; where there are errors Weka takes the normal distribution for the binomial."""
    assert (errors + added_errors(rows, errors)) / rows == pytest.approx(share, abs=0.0005 if not errors else 0.003)


def test_the_tree_of_the_book_becomes_a_leaf() -> None:
    """Three leaves of 6, 9 and 1 rows, one of them of the other class: expected are 3.273 errors, of a leaf 2.51."""
    labels = np.array([True] * 15 + [False])
    rows = np.array([[0.0]] * 6 + [[1.0]] * 9 + [[2.0]])
    assert size(tree(rows, labels)) == 1
    assert expected_errors(Node(label=True), rows, labels) == pytest.approx(2.51, abs=0.04)


def test_what_tells_is_kept_and_noise_is_not() -> None:
    chance = np.random.default_rng(0)
    rows = chance.normal(size=(2_000, 3))
    truth = (rows[:, 0] > 0) & (rows[:, 1] > 0.5)
    learnt = tree(rows, truth ^ (chance.random(2_000) < 0.1))
    others = chance.normal(size=(2_000, 3))
    assert (learnt.says(others) == ((others[:, 0] > 0) & (others[:, 1] > 0.5))).mean() > 0.98
    assert size(learnt) < 30


def test_no_node_is_left_that_a_leaf_or_its_largest_branch_could_stand_for() -> None:
    chance = np.random.default_rng(1)
    rows = chance.normal(size=(3_000, 5))
    labels = (rows[:, 0] + rows[:, 1] > 0) ^ (chance.random(3_000) < 0.2)
    learnt = tree(rows, labels)

    def expected(node: Node, places: np.ndarray) -> None:
        if node.cut is None:
            return
        parts = [places[part] for part in node.parts(rows[places])]
        largest = node.sides[int(len(parts[1]) > len(parts[0]))]
        whole = expected_errors(node, rows[places], labels[places])
        assert whole + 0.1 < expected_errors(largest, rows[places], labels[places])
        assert whole + 0.1 < expected_errors(Node(label=True), rows[places], labels[places])
        for side, part in zip(node.sides, parts, strict=True):
            expected(side, part)

    expected(learnt, np.arange(len(rows)))
    assert learnt.cut is not None
