"""URL pattern tree (Lei et al. 2010, *A pattern tree-based approach to learning URL normalization rules*, WWW)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence

from scrapy_replica.lab.dust.dust_learners.learner import learn_by_host
from scrapy_replica.urls.context import Condition, Fact, value_of
from scrapy_replica.urls.learners.contexts import SIGNIFICANCE
from scrapy_replica.urls.learners.evidence import HostEvidence
from scrapy_replica.urls.learners.selection import Proposal
from scrapy_replica.urls.pattern import argument_name
from scrapy_replica.urls.rule import Rule, Step

_MAX_DEPTH = 4
_MAX_CHILDREN = 50


def learn(urls: Sequence[str], clusters: Sequence[Hashable], epsilon: float = 0.0, support: int = 3) -> list[Rule]:
    """Split the URLs of a host top-down by the key of lowest entropy; at every node, arguments whose values do not
    change the page give a rule that drops them there.
    """
    return learn_by_host(urls, clusters, epsilon, lambda host: list(_proposals(host, epsilon, support)))


def _proposals(evidence: HostEvidence, epsilon: float, support: int) -> Iterator[Proposal]:
    waiting: list[tuple[tuple[Condition, ...], list[int]]] = [((), list(range(len(evidence.forms))))]
    while waiting:
        context, members = waiting.pop()
        settled = {condition.fact.key for condition in context}
        yield from _rules_of_node(evidence, context, members, epsilon, support)
        if len(context) < _MAX_DEPTH and len(members) > support:
            waiting += [((*context, condition), part) for condition, part in _split(evidence, members, settled)]


def _rules_of_node(
    evidence: HostEvidence, context: tuple[Condition, ...], members: list[int], epsilon: float, support: int
) -> Iterator[Proposal]:
    inside = set(members)
    names = {argument_name(argument) for member in members for argument in evidence.forms[member].arguments or ()}
    for name in sorted(names - {""}):
        change = (Step("drop", name),)
        applications = [application for application in evidence.applications(change) if application.member in inside]
        tally = evidence.tally(evidence.groups(applications))
        if tally.clusters > 1 and tally.clean + tally.mixed >= support and tally.error <= epsilon:
            rule = Rule(
                evidence.host, context, change, tally.clusters, tally.error, "pattern_tree", (), not evidence.is_sorted
            )
            yield Proposal(rule, tally.removable, (tally.mixed + SIGNIFICANCE) / (tally.clean + tally.mixed))


def _split(evidence: HostEvidence, members: list[int], settled: set[str]) -> list[tuple[Condition, list[int]]]:
    """Return the children by the key with the lowest entropy among those that split, at most 50 of them."""
    best: tuple[float, str] | None = None
    for key in ("args", "p0", "p1", "p-1", "depth", "ext"):
        counts = Counter(value_of(key, evidence.forms[member]) for member in members)
        if key in settled or len(counts) < 2 or len(counts) > _MAX_CHILDREN:
            continue
        entropy = -sum(n / len(members) * math.log(n / len(members)) for n in counts.values())
        best = min(best, (entropy, key)) if best else (entropy, key)
    if best is None:
        return []
    parts: dict[str, list[int]] = defaultdict(list)
    for member in members:
        value = value_of(best[1], evidence.forms[member])
        if value is not None:
            parts[value].append(member)
    return [(Condition(Fact(best[1], "=", value)), part) for value, part in sorted(parts.items())]
