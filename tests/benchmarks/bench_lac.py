"""EM on 1.65 million pairs of five features with ten intervals, and what one move costs beside a rebuild."""

from __future__ import annotations

import time
from statistics import median

import numpy as np

from scrapy_replica.lab.replicas.em import Start, train
from scrapy_replica.lab.replicas.pareto import dominance_counts
from scrapy_replica.lazy.lac import Cube, distinct_vectors

N_PAIRS = 1_650_000
N_OBVIOUS_POSITIVE, N_OBVIOUS_NEGATIVE = 800, 800_000
SIZES = (11,) * 5


def examples():
    """1 % replicas whose values lie higher; about 33,000 distinct vectors."""
    rng = np.random.default_rng(0)
    is_replica = rng.random(N_PAIRS) < 0.01
    centre, spread = np.where(is_replica, 7.0, 4.0), np.where(is_replica, 2.0, 1.45)
    codes = np.clip(rng.normal(centre[:, None], spread[:, None], (N_PAIRS, 5)), 1, 10).astype(np.int64)
    return codes, is_replica


def seconds(call):
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def test_em_on_1_65_million_pairs():
    codes, is_replica = examples()
    obvious = np.zeros(N_PAIRS, dtype=np.int64)
    print(f"\n{len(distinct_vectors(SIZES, codes)[0])} distinct vectors; published: PU 112 s, NU 131 s incremental")
    for start, label, n in ((Start.PU, 1, N_OBVIOUS_POSITIVE), (Start.NU, -1, N_OBVIOUS_NEGATIVE)):
        chosen = obvious.copy()
        chosen[np.flatnonzero(is_replica if label == 1 else ~is_replica)[:n]] = label
        runs = [seconds(lambda: train(SIZES, codes, chosen, start)) for _ in range(3)]  # noqa: B023
        trained = runs[0][1]
        print(
            f"{start.name}: {median(s for s, _ in runs):.2f} s CPU, {trained.rounds} rounds, {sum(trained.moved)} moved"
        )


def test_a_move_beside_a_rebuild():
    codes, is_replica = examples()
    cube = Cube.from_examples(SIZES, codes, is_replica)
    rows = [np.array([row]) for row in range(2000)]
    one = np.array([1])

    def moves():
        for row in rows:
            move(cube, row, one, 1)

    move = seconds(moves)[0] / len(rows)
    rebuild = median(seconds(lambda: Cube(SIZES, cube.vectors, cube.counts))[0] for _ in range(3))
    print(f"\nmove {move * 1e6:.1f} us, rebuild {rebuild * 1e3:.1f} ms: {rebuild / move:.0f} times")


def test_pareto_of_a_million_points():
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 1_000_000))
    print(f"\ndominance counts of a million points: {seconds(lambda: dominance_counts(first, second))[0]:.2f} s CPU")
