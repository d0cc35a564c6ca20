"""How often pages change, estimated from visits that each found a change or none.

A page changes as a Poisson process, and a visit tells only whether it changed since the one before, not how often: Cho
and Garcia-Molina, "Estimating frequency of change", ACM Transactions on Internet Technology 3(3), 2003.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from scrapy_replica.numeric import FloatArray

WEIGHT = 2.0
"""Visits that the host of a page stands for beside the page's own, and all hosts beside those of a host.

With 1 more changes are found where most pages change between visits, with 4 where few do.
"""

STEPS = 80
"""Halvings of the range that the logarithm of a rate lies in: more than its digits."""

LOWEST, HIGHEST = 1e-12, 1e4
"""Changes a second between which rates are looked for: one in 30,000 years, and 10,000."""


class Changes(NamedTuple):
    """What the visits to many pages found, each held against the visit before."""

    visits: float = 0
    changes: float = 0
    """Visits that found a change."""
    seconds: float = 0.0
    """Sum of the times between visits."""

    @property
    def interval(self) -> float:
        """Mean time between two visits, seconds."""
        return self.seconds / self.visits

    @property
    def share(self) -> float:
        """Share of visits at that interval that find a change, 0..1, as the rate of the host has it."""
        return -math.expm1(-regular_rate(self.visits, self.changes, self.interval) * self.interval)


def pooled(hosts: Mapping[str, Changes]) -> tuple[Changes, dict[str, Changes]]:
    """Return what is to be expected of a host that was never visited again, and of each of *hosts*.

    Half a change is added to what was found in all: what never changed may.
    """
    visits, changes, seconds = (sum(values) for values in zip(*hosts.values(), strict=True)) if hosts else (0, 0, 0.0)
    if not visits:
        return Changes(), {}
    every = Changes(visits, min(changes + 0.5, visits), seconds)
    share, interval = WEIGHT * every.changes / every.visits, WEIGHT * every.interval
    return every, {
        name: Changes(host.visits + WEIGHT, host.changes + share, host.seconds + interval)
        for name, host in hosts.items()
    }


def regular_rate(visits: float, changes: float, interval: float) -> float:
    """Return the changes a second of a page visited every *interval* seconds, of which so many found a change.

    The improved estimator of section 4.2, -log((n - X + 0.5) / (n + 0.5)) changes an interval, which is finite where
    all visits found a change and has a hundredth of the bias of X / n.
    """
    return -math.log((visits - changes + 0.5) / (visits + 0.5)) / interval


def rates(changed: FloatArray, unchanged: FloatArray, share: FloatArray, interval: FloatArray) -> FloatArray:
    """Return the changes a second of pages, shape (n,).

    The maximum likelihood for irregular visits (section 4.3): the rate r at which the sum of t / (exp(r t) - 1) over
    the times *t* before which a change was found equals the sum of the times that ended without one. With the host
    stand :data:`WEIGHT` visits at its mean interval, of which its share found a change: a page without visits of its
    own has the rate of its host, and what was seen twice and changed twice no infinite one. With equal intervals that
    is the estimator above with other constants: -log((n - X + w (1 - p)) / (n + w)).

    :param changed: seconds between visits that found a change, shape (n, k), 0 where there are fewer.
    :param unchanged: sum of the seconds between visits that found none, shape (n,).
    :param share: of the visits to its host that find a change, 0..1, shape (n,): :attr:`Changes.share`.
    :param interval: mean seconds between those visits, shape (n,).
    """
    times = np.hstack([changed, interval[:, None]])
    weights = np.hstack([(changed > 0).astype(float), WEIGHT * share[:, None]])
    unchanged = unchanged + WEIGHT * (1 - share) * interval
    low, high = np.full(len(times), math.log(LOWEST)), np.full(len(times), math.log(HIGHEST))
    for _ in range(STEPS):
        middle = (low + high) / 2
        is_low = _expected(times, weights, np.exp(middle)) > unchanged
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    has_changed = weights.sum(axis=1) > 0
    return np.where(has_changed, np.exp((low + high) / 2), 0.0)


def _expected(times: FloatArray, weights: FloatArray, rate: FloatArray) -> FloatArray:
    """Return the left side of the equation, which falls as the rate grows."""
    exponent = np.minimum(times * rate[:, None], 700.0)
    terms = np.divide(times, np.expm1(exponent), out=np.zeros_like(times), where=exponent > 0)
    result: FloatArray = (weights * terms).sum(axis=1)
    return result


def chances(rate: FloatArray, age: FloatArray) -> FloatArray:
    """Return the chance, 0..1, that pages changed that were seen *age* seconds ago."""
    result: FloatArray = -np.expm1(-rate * age)
    return result
