"""EM as it is described, one candidate after another, and what it costs (Carvalho 2014, programme 4 and table 4.6).

For each candidate x its partial classifier L_x is asked, x changes its label or not, and the next candidate sees that.
L_x is counted from all examples again (from scratch), or only the rules inside a candidate that moved are updated
(incremental); the results are equal. Readings:

* "A partial classifier is built from scratch after each transition" (p. 48): L_x is counted whenever it is asked, since
  labels have changed meanwhile.
* Candidates of one vector of intervals have one L_x and change their label together, so each vector is asked once a
  round. Both ways save the same by that.

:func:`scrapy_replica.lab.replicas.em.train` asks all candidates of a round before any of them moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import process_time
from typing import TypeAlias, TypeVar

import numpy as np

from scrapy_replica.lab.replicas.em import Start, Trained, begin, move, should_move, supports_in, train
from scrapy_replica.lab.replicas.pareto import dominance_counts
from scrapy_replica.lazy.lac import LAC, Cube, alpha_of, distinct_vectors, rule_sums
from scrapy_replica.numeric import BoolArray, IntArray

T = TypeVar("T")
Told: TypeAlias = Callable[[str], object]
"""Hears what is about to be measured."""

_ASKED = 300
"""Candidates that the costs of one are the mean of."""


def train_in_order(
    sizes: Sequence[int], codes: IntArray, obvious: IntArray, start: Start, *, is_incremental: bool = True
) -> Trained:
    """Label the examples *codes*, shape (n, features), from the *obvious* ones, until a round moves nothing."""
    may_move, is_positive = begin(obvious, start)
    vectors, places = distinct_vectors(sizes, codes)
    members = np.split(np.argsort(places, kind="stable"), np.bincount(places, minlength=len(vectors)).cumsum()[:-1])
    waiting = {vector: found[may_move[found]] for vector, found in enumerate(members) if may_move[found].any()}
    cube = Cube.from_examples(sizes, codes, is_positive)
    moved: list[int] = []
    while not moved or moved[-1]:
        moved.append(0)
        for vector, examples in list(waiting.items()):
            place = np.array([vector])
            known = supports_in(cube, place) if is_incremental else counted(codes, is_positive, vectors[vector])
            if should_move(known, start)[0]:
                del waiting[vector]
                moved[-1] += len(examples)
                is_positive[examples] = start is Start.PU
                if is_incremental:
                    move(cube, place, np.array([len(examples)]), start.value)
    lac = LAC(cube if is_incremental else Cube.from_examples(sizes, codes, is_positive))
    return Trained(lac, is_positive, len(moved), tuple(moved), converged=True)


def counted(codes: IntArray, is_positive: BoolArray, x: IntArray) -> IntArray:
    """Return s(X u label) of every subset X of the vector *x*, counted from all examples, shape (2**features, 1, 2)."""
    projected = np.zeros(len(codes), dtype=np.int64)
    for feature, item in enumerate(x.tolist()):
        projected |= (codes[:, feature] == item).astype(np.int64) << feature
    supports = np.bincount(2 * projected + is_positive, minlength=2 << len(x)).reshape(-1, 1, 2)
    for feature in range(len(x)):
        halves = supports.reshape(-1, 2, 1 << feature, 1, 2)
        halves[:, 0] += halves[:, 1]
    supports[0] = 0
    return supports


def times(
    sizes: Sequence[int], codes: IntArray, obvious: IntArray, numbers: Sequence[int], told: Told = lambda _: None
) -> dict[str, float]:
    """Return what EM costs on *n* random pairs, in seconds of the processor, for each n of *numbers*.

    PU learns from the obvious replicas among them and the candidates, NU from the obvious others and the candidates.

    ``times.n.pu.scratch_s``, ``.incremental_s`` and their ``.ratio``; ``.rounds_s`` is that of :func:`train` and
    ``.equal`` the share of candidates that it labels alike; the same of ``nu``; ``times.n.rules_s``, ``.prediction_s``
    and ``.aggregation_s`` are those of one candidate, in both classifiers.

    :raises AssertionError: the results from scratch and incremental differ.
    """
    figures: dict[str, float] = {}
    order = np.random.default_rng(0).permutation(len(codes))
    for number in numbers:
        few, trained = order[:number], []
        figures[f"times.{number}.vectors"] = len(distinct_vectors(sizes, codes[few])[0])
        for start in Start:
            told(f"EM, {start.name}, {number:,} pairs")
            learnt = few[obvious[few] != (-1 if start is Start.PU else 1)]
            found, costs = _of_start(sizes, codes[learnt], obvious[learnt], start)
            trained.append(found)
            figures |= {f"times.{number}.{start.name.lower()}.{name}": value for name, value in costs.items()}
        figures |= {f"times.{number}.{name}": value for name, value in _of_one(trained, codes[few]).items()}
    return figures


def _of_start(
    sizes: Sequence[int], codes: IntArray, obvious: IntArray, start: Start
) -> tuple[Trained, dict[str, float]]:
    by_rounds, rounds = _timed(lambda: train(sizes, codes, obvious, start))
    quick, incremental = _timed(lambda: train_in_order(sizes, codes, obvious, start))
    slow, scratch = _timed(lambda: train_in_order(sizes, codes, obvious, start, is_incremental=False))
    assert incremental.moved == scratch.moved
    assert (incremental.is_positive == scratch.is_positive).all()
    assert (incremental.lac.cube.support == scratch.lac.cube.support).all()
    return incremental, {
        "scratch_s": slow,
        "incremental_s": quick,
        "ratio": slow / quick,
        "rounds_s": by_rounds,
        "moved": float(sum(scratch.moved)),
        "equal": float((rounds.is_positive == scratch.is_positive)[obvious == 0].mean()),
    }


def _of_one(trained: Sequence[Trained], codes: IntArray) -> dict[str, float]:
    asked = codes[:: max(1, len(codes) // _ASKED)]
    rules, supports = _timed(lambda: [[each.lac.cube.supports(x[None]) for each in trained] for x in asked])
    prediction, _ = _timed(lambda: [[alpha_of(*rule_sums(each)) for each in both] for both in supports])
    pu, nu = (1 - each.lac.alpha(codes) for each in trained)
    aggregation, _ = _timed(lambda: dominance_counts(pu, nu))
    return {
        "rules_s": rules / len(asked),
        "prediction_s": prediction / len(asked),
        "aggregation_s": aggregation / len(codes),
    }


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    begun = process_time()
    found = work()
    return process_time() - begun, found
