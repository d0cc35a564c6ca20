"""Where a transformation is safe: a small decision tree over the facts about a URL.

Koppula et al. 2010 generalise rules with a C4.5 tree; this one is a Gini tree whose leaves are not classes but
contexts, and whose evidence is counted in image groups: the same group seen through many members is one witness.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scrapy_replica.numeric import FloatArray
from scrapy_replica.urls.context import Condition, Fact
from scrapy_replica.urls.learners.evidence import Application, HostEvidence, Tally

MAX_DEPTH = 4
SIGNIFICANCE = 0.05
PRIOR_MIXED, PRIOR_GROUPS = 0.1, 0.2
_MAX_INSTANCES = 4_000


class Leaf(NamedTuple):
    """A context in which a transformation held."""

    context: tuple[Condition, ...]
    tally: Tally
    expected_error: float
    """Share of mixed groups to expect among URLs not seen, from ``_expected``."""
    applications: list[Application]


class _Limits(NamedTuple):
    epsilon: float
    support: int
    root_error: float
    evidence_wanted: float
    """Nats by which the groups of a context must speak against the error of the whole."""


def safe_contexts(
    evidence: HostEvidence,
    applications: Sequence[Application],
    epsilon: float,
    support: int,
    max_depth: int = MAX_DEPTH,
) -> list[Leaf]:
    """Return the contexts with at least *support* image groups, and from two clusters at least, and an error of at most
    *epsilon*, at most *max_depth* conditions long.

    A condition that only sets single bad groups aside (fewer than *support*) is an exception: it may stand in the rule,
    but says nothing of URLs not seen, so the error before the exceptions is the one to expect. Any other condition
    was chosen among many, so its context must differ from the whole by more than chance (Chernoff bound, Bonferroni).
    """
    applications = list(applications)
    groups = evidence.groups(applications)
    tally = evidence.tally(groups)
    if tally.clusters < 2 or tally.clean + tally.mixed < support:
        return []
    facts_tried = 1
    if tally.error > epsilon:
        # facts of fewer groups can only make exceptions, so they were not tried as conditions
        counts = Counter(fact for members in groups.values() for fact in evidence.facts_of(members[0]).tolist())
        facts_tried = sum(count >= support for count in counts.values())
    limits = _Limits(epsilon, support, tally.error, math.log(max(facts_tried, 1) / SIGNIFICANCE))
    return _grow(evidence, applications, (), limits, max_depth, tally)


def _grow(
    evidence: HostEvidence,
    applications: list[Application],
    context: tuple[Condition, ...],
    limits: _Limits,
    depth: int,
    basis: Tally,
) -> list[Leaf]:
    """*basis* is the tally of the context without its last exceptions."""
    groups = evidence.groups(applications)
    tally = evidence.tally(groups)
    if tally.clusters < 2 or tally.clean + tally.mixed < limits.support:
        return []
    if tally.error <= limits.epsilon:
        if context and not _is_significant(basis, limits):
            return []
        return [Leaf(context, tally, _expected(basis), applications)]
    fact = _best_split(evidence, applications, groups, {condition.fact for condition in context}) if depth else None
    if fact is None:
        return []
    number, named = fact
    parts: tuple[list[Application], list[Application]] = ([], [])
    for application in applications:
        parts[number not in evidence.facts_of(application.member)].append(application)
    tallies = [evidence.tally(evidence.groups(part)) for part in parts]
    is_exception = min(part.clean + part.mixed for part in tallies) < limits.support
    found = []
    for part, holds, own in zip(parts, (True, False), tallies, strict=True):
        longer = (*context, Condition(named, holds))
        found += _grow(evidence, part, longer, limits, depth - 1, basis if is_exception else own)
    return found


def _expected(tally: Tally) -> float:
    groups = tally.clean + tally.mixed
    return (tally.mixed + PRIOR_MIXED) / (groups + PRIOR_GROUPS)


def _is_significant(tally: Tally, limits: _Limits) -> bool:
    """Tell whether *tally* is better than the whole by more than chance; the whole itself passes."""
    groups, whole = tally.clean + tally.mixed, limits.root_error
    share = tally.mixed / groups
    if share >= whole:
        return share == whole
    distance = (1 - share) * math.log((1 - share) / (1 - whole)) if whole < 1 else math.inf
    if share:
        distance += share * math.log(share / whole)
    return groups * distance >= limits.evidence_wanted


def _best_split(
    evidence: HostEvidence, applications: list[Application], groups: dict[str, list[int]], used: set[Fact]
) -> tuple[int, Fact] | None:
    """Return the fact that separates members of clean from members of mixed groups best, by Gini impurity."""
    members, is_bad, weights = _instances(evidence, applications, groups)
    ids = [evidence.facts_of(member) for member in members]
    numbers, flat = np.unique(np.concatenate(ids), return_inverse=True)
    owner = np.repeat(np.arange(len(ids)), [len(known) for known in ids])
    bad = np.bincount(flat, weights=(is_bad * weights)[owner], minlength=len(numbers)).astype(np.float64)
    all_ = np.bincount(flat, weights=weights[owner], minlength=len(numbers)).astype(np.float64)
    impurity = _impurity(bad, all_) + _impurity((is_bad * weights).sum() - bad, weights.sum() - all_)
    whole = _impurity(np.array([(is_bad * weights).sum()]), np.array([weights.sum()]))[0]
    by_id = evidence.facts_by_id()
    for place in np.argsort(impurity, kind="stable")[: len(used) + 1]:
        named = by_id[numbers[place]]
        if named not in used:
            return (int(numbers[place]), named) if impurity[place] < whole - 1e-9 else None
    return None


def _instances(
    evidence: HostEvidence, applications: list[Application], groups: dict[str, list[int]]
) -> tuple[list[int], FloatArray, FloatArray]:
    """Return changed members of groups, whether their group is mixed, and weights that sum to 1 in a group."""
    changed = {application.member for application in applications}
    members: list[int] = []
    is_bad: list[bool] = []
    weights: list[float] = []
    for forms in groups.values():
        mine = [form for form in forms if form in changed]
        members += mine
        is_bad += [not evidence.is_clean(forms)] * len(mine)
        weights += [1 / len(mine)] * len(mine)
    step = -(-len(members) // _MAX_INSTANCES)
    return members[::step], np.array(is_bad[::step], float), np.array(weights[::step])


def _impurity(bad: FloatArray, all_: FloatArray) -> FloatArray:
    """Return the Gini impurity times the weight, 2 b (n - b) / n."""
    result: FloatArray = 2 * bad * (all_ - bad) / np.maximum(all_, 1e-12)
    return result
