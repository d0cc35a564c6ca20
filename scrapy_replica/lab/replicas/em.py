"""Training sets from obvious cases by expectation-maximisation (Carvalho et al. 2017, section 3.3, algorithm 2).

PU: obvious positives are known, everything else counts as negative at first, and examples move from - to +.
NU: obvious negatives are known, everything else counts as positive at first, and examples move from + to -.
An example x moves if alpha(x, -) lies on the other side of its own best entropy cut, or of one fixed threshold.

Reading: the condition of NU is printed as alpha(x, +) <= cut (Carvalho 2014, p. 31), with > and a sign that cannot be
read (its programme 4), and as alpha(x, +) > cut (2017, algorithm 2), which would move the examples most like replicas.
Here it is alpha(x, -) > cut, the mirror image of PU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from scrapy_replica.lazy.lac import LAC, NEGATIVE, POSITIVE, Cube, alpha_of, distinct_vectors
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray

_DECIMALS = 12  # alphas that are equal on paper differ by rounding only
_EVEN = 0.5  # stands in where no cut tells anything apart: without it, PU would move what has negative rules only


class Start(Enum):
    """Which of the obvious cases the training begins with."""

    PU = POSITIVE
    NU = NEGATIVE


@dataclass(frozen=True)
class Trained:
    """What the training came to.

    Attributes:
        lac: Classifier over the final labels.
        is_positive: Final label of every example, shape (n,).
        rounds: Rounds run; the last one moved nothing if *converged*.
        moved: Examples moved in each round.
    """

    lac: LAC
    is_positive: BoolArray
    rounds: int
    moved: tuple[int, ...]
    converged: bool


def train(
    sizes: Sequence[int],
    codes: IntArray,
    obvious: IntArray,
    start: Start,
    *,
    is_locked: bool = True,
    threshold: float | None = None,
    max_rounds: int = 200,
) -> Trained:
    """Label the examples *codes*, shape (n, features), starting from the *obvious* ones.

    All examples of one vector have one alpha and one cut, so they move together; supports are updated by the moves
    only. With free moves the training splits related from unrelated pairs, not replicas from near misses, so the
    obvious cases are locked.

    Args:
        sizes: Interval numbers per feature.
        codes: Interval numbers of the examples.
        obvious: 1 obvious positive, -1 obvious negative, 0 unlabelled, shape (n,).
        start: PU or NU.
        is_locked: Obvious cases of both kinds keep their label. Otherwise those that *start* does not build on
            count as unlabelled.
        threshold: One alpha(x, -) for all examples in place of the best entropy cut (0.6 PU and 0.5 NU were best
            in Carvalho 2014, table 4.1).
        max_rounds: Rounds after which it stops without having converged.
    """
    target = POSITIVE if start is Start.PU else NEGATIVE
    may_move, is_positive = begin(obvious, start, is_locked=is_locked)
    vectors, places = distinct_vectors(sizes, codes)
    counts = np.column_stack([np.bincount(places[is_positive == label], minlength=len(vectors)) for label in (0, 1)])
    cube = Cube(sizes, vectors, counts)
    waiting = np.bincount(places[may_move], minlength=len(vectors))
    moved: list[int] = []
    while len(moved) < max_rounds:
        active = np.flatnonzero(waiting)
        chosen = active[should_move(supports_in(cube, active), start, threshold)]
        move(cube, chosen, waiting[chosen], target)
        moved.append(int(waiting[chosen].sum()))
        waiting[chosen] = 0
        if not moved[-1]:
            break
    is_positive[may_move & (waiting[places] == 0)] = start is Start.PU
    return Trained(LAC(cube), is_positive, len(moved), tuple(moved), moved[-1] == 0 if moved else True)


def begin(obvious: IntArray, start: Start, *, is_locked: bool = True) -> tuple[BoolArray, BoolArray]:
    """Return which examples may move, and which are positive at first; see :func:`train`."""
    may_move = obvious == 0
    if not is_locked:
        may_move |= obvious == (-1 if start is Start.PU else 1)
    return may_move, np.where(may_move, start is Start.NU, obvious == 1)


def supports_in(cube: Cube, active: IntArray) -> IntArray:
    """Return s(X u label) of every subset X of the distinct vectors *active*, shape (2**features, n, 2)."""
    supports = np.zeros((len(cube.cells) + 1, len(active), 2), dtype=np.int64)
    supports[1:] = cube.support[cube.cells[:, active]]
    return supports


def should_move(supports: IntArray, start: Start, threshold: float | None = None) -> BoolArray:
    """Tell which candidates change their label, by their *supports* as :func:`supports_in` has them, shape (n,)."""
    alpha, cut = alphas_and_cuts(supports)
    cut = np.where(np.isnan(cut), _EVEN, cut) if threshold is None else np.full(len(alpha), threshold)
    if start is Start.PU:
        return np.asarray(alpha <= cut)
    return np.asarray(alpha > cut)


def alphas_and_cuts(supports: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return alpha(x, -) and the best entropy cut of n vectors by their *supports*, (2**features, n, 2), shapes (n,).

    The projection of an example y on x is a subset of x's items. How many examples project exactly to a subset
    follows from the supports by Moebius inversion; the rules that apply there are those of its subsets. The cut is
    the alpha whose two parts have the least weighted entropy (the smallest of equal ones), NaN where no cut lowers
    the entropy: nothing is to be told apart there. Reading: both sources print that E(O) - E(O_f) is minimised, which
    is the worst cut; their text and the figure (Carvalho 2014, 3.3) say that E(O_f) is.
    """
    n_subsets, n, _ = supports.shape
    totals = supports.sum(axis=2, keepdims=True)
    sums = np.divide(supports, totals, out=np.zeros(supports.shape), where=totals > 0)
    rules = (supports > 0).astype(np.int64)
    exact = supports.copy()
    step = 1
    while step < n_subsets:
        for table, is_superset in ((exact, True), (sums, False), (rules, False)):
            halves = table.reshape(n_subsets // (2 * step), 2, step, n, 2)
            if is_superset:
                halves[:, 0] -= halves[:, 1]
            else:
                halves[:, 1] += halves[:, 0]
        step *= 2
    alpha = np.round(alpha_of(sums[1:], rules[1:]), _DECIMALS)
    return alpha[-1], _best_cuts(alpha, exact[1:])


def _best_cuts(alpha: FloatArray, counts: IntArray) -> FloatArray:
    """Return the alpha of least weighted entropy per column; *alpha* (subsets, n), *counts* (subsets, n, 2)."""
    order = np.argsort(alpha, axis=0, kind="stable")
    alpha = np.take_along_axis(alpha, order, axis=0)
    below = np.cumsum(np.take_along_axis(counts, order[:, :, None], axis=0), axis=0)
    whole = below[-1]
    total = whole.sum(axis=1)
    split = (_entropy_mass(below) + _entropy_mass(whole - below)) / np.maximum(total, 1)
    # a cut lies after the last of equal alphas
    split[:-1][alpha[:-1] == alpha[1:]] = np.inf
    split = np.round(split, _DECIMALS)
    best = np.argmin(split, axis=0)
    columns = np.arange(alpha.shape[1])
    entropy = np.round(_entropy_mass(whole) / np.maximum(total, 1), _DECIMALS)
    return np.where(split[best, columns] < entropy, alpha[best, columns], np.nan)


def _entropy_mass(counts: IntArray) -> FloatArray:
    """Return |O| E(O) for counts (..., 2), natural logarithm."""
    total = counts.sum(axis=-1)
    logs = _n_log_n(counts)
    return np.asarray(_n_log_n(total) - logs[..., 0] - logs[..., 1])


def _n_log_n(numbers: IntArray) -> FloatArray:
    floats = numbers.astype(np.float64)
    return floats * np.log(np.maximum(floats, 1.0))


def move(cube: Cube, vectors: IntArray, amounts: IntArray, target: int) -> None:
    """Relabel examples: *amounts*[i] examples of distinct vector *vectors*[i] become label *target*.

    Only the rules X -> label with X inside a moved vector change; the result equals a rebuild.
    """
    touched, support = cube.cells[:, vectors], cube.support  # counted before the counts change
    cube.counts[vectors, target] += amounts
    cube.counts[vectors, 1 - target] -= amounts
    if len(vectors) == 1:  # a vector has one cell per subset, so nothing repeats: a fifth of the time of add.at
        rows = touched[:, 0]
        support[rows, target] += amounts[0]
        support[rows, 1 - target] -= amounts[0]
        return
    spread = np.broadcast_to(amounts, touched.shape)
    np.add.at(support[:, target], touched, spread)
    np.subtract.at(support[:, 1 - target], touched, spread)
