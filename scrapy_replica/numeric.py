"""Array types, and the formulas that several rooms need."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Float32Array = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


def as_numbers(values: FloatArray) -> list[float]:
    """Return *values* as a list; 0 for what is no number, the greatest numbers for what is infinite."""
    # np.nan_to_num alone takes three times as long, and there is hardly ever anything for it to do.
    numbers: list[float] = (values if np.isfinite(values).all() else np.nan_to_num(values)).tolist()
    return numbers


def sigmoid(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)), 0..1; minus infinity gives 0."""
    return 1.0 / (1.0 + math.exp(-logit)) if logit > -700.0 else 0.0


def minimised(
    gradient: Callable[[FloatArray], FloatArray], start: FloatArray, rate: float, steps: int, tolerance: float
) -> FloatArray:
    """Return where the convex function of that *gradient* is least, the shape of *start*.

    Barzilai-Borwein gradient descent (1988, the shorter step): the step length, *rate* at first, comes from two
    successive gradients. It ends after so many *steps*, or when the largest entry of the gradient is *tolerance* times
    what it was at first.
    """
    theta, slopes = start, gradient(start)
    first = float(np.abs(slopes).max())
    for _ in range(steps):
        if np.abs(slopes).max() <= tolerance * first:
            break
        moved = theta - rate * slopes
        after = gradient(moved)
        step, change = moved - theta, after - slopes
        turn = float(np.vdot(change, change))
        rate = abs(float(np.vdot(step, change))) / turn if turn > 0 else rate
        theta, slopes = moved, after
    return theta


def wilson_interval(hits: float, trials: float, z: float = 1.959964) -> tuple[float, float]:
    """Return the interval of the rate behind *hits* of *trials* (Wilson 1927); (0, 1) without trials.

    *z* is the normal quantile of the confidence asked for, 95 % unless told. Samples that were drawn with different
    probabilities count with their effective number (Kish 1965), which need not be whole.
    """
    if not trials:
        return 0.0, 1.0
    rate, correction = hits / trials, z * z / trials
    centre = rate + correction / 2
    spread = z * math.sqrt(rate * (1 - rate) / trials + correction / (4 * trials))
    return max(0.0, (centre - spread) / (1 + correction)), min(1.0, (centre + spread) / (1 + correction))


def weighted_share(hits: float, told: float, squares: float) -> tuple[float, float, float] | None:
    """Return the share *hits* of *told*, both sums of weights, and its 95 % interval; ``None`` where nothing is told.

    *squares* is the sum of the squares of the weights: told² / squares is the effective number of samples (Kish 1965).
    """
    if not told:
        return None
    share, effective = hits / told, told**2 / squares
    return (share, *wilson_interval(share * effective, effective))


def most_left(drawn: int, hits: int, left: int) -> int:
    """Return the most hits among *left* things, 95 % sure, of which *drawn* others were drawn at random before.

    Exact (Clopper and Pearson 1934, of a finite population: Buonaccorsi 1987): excluded are numbers that would make as
    few *hits* as there were less likely than 5 %.
    """

    def as_few(whole: int) -> float:
        """Return the probability of as few hits among *drawn* where there are *whole* in all."""
        total = drawn + left
        logs = [
            _log_choose(whole, n) + _log_choose(total - whole, drawn - n) - _log_choose(total, drawn)
            for n in range(max(0, whole - left), hits + 1)
        ]
        return math.fsum(map(math.exp, logs))

    excluded = 0.05 * (1 + 1e-9)  # a chance of exactly one in twenty is excluded, whatever the logarithms make of it
    return bisect_left(range(left + 1), True, key=lambda more: as_few(hits + more) <= excluded) - 1


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
