"""Rewrite rules over keys (Dasgupta, Kumar, Sasturkar 2008, *De-duping URLs via rewrite rules*, KDD)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence

from scrapy_replica.lab.dust.dust_learners.learner import learn_by_host
from scrapy_replica.urls.learners.candidates import argument_changes, pairs, run_changes, tokens_of
from scrapy_replica.urls.learners.evidence import HostEvidence, Transformation
from scrapy_replica.urls.learners.proposing import proposals
from scrapy_replica.urls.rule import Rule

_PAIRS = 30
_LIMIT = 400


def learn(urls: Sequence[str], clusters: Sequence[Hashable], epsilon: float = 0.0, support: int = 3) -> list[Rule]:
    """Learn rules from the keys in which the URLs of a cluster differ.

    Contexts are literal (one condition on a key) or a wildcard (no condition), as in section 4 there.
    """
    return learn_by_host(
        urls, clusters, epsilon, lambda host: proposals(host, _changes(host), epsilon, support, "rewrite", 1)
    )


def _changes(evidence: HostEvidence) -> list[Transformation]:
    seen_in: dict[Transformation, set[int]] = defaultdict(set)
    for members in evidence.members():
        for one, other in pairs(members, _PAIRS):
            for change in _of_pair(evidence, one, other):
                seen_in[change].add(evidence.clusters[one])
    found = [change for change, clusters in seen_in.items() if len(clusters) > 1]
    found.sort(key=lambda change: (-len(seen_in[change]), str(change)))
    return found[:_LIMIT]


def _of_pair(evidence: HostEvidence, one: int, other: int) -> Iterator[Transformation]:
    left, right = evidence.forms[one], evidence.forms[other]
    if left.path == right.path:
        yield from argument_changes(left, right)
    elif left.arguments == right.arguments:
        yield from run_changes(tokens_of(left.local), tokens_of(right.local))
