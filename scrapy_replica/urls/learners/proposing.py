"""What the learners have in common: from transformations to rules that hold together."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Protocol

from scrapy_replica.urls.learners.contexts import safe_contexts
from scrapy_replica.urls.learners.evidence import HostEvidence, Transformation, by_host
from scrapy_replica.urls.learners.selection import Proposal, Selection, select
from scrapy_replica.urls.rule import Rule


class Learner(Protocol):
    """The contract of every learner."""

    def __call__(
        self, urls: Sequence[str], clusters: Sequence[Hashable], epsilon: float = 0.0, support: int = 3
    ) -> list[Rule]:
        """Return rules for the hosts of *urls*; ``clusters[i]`` is the cluster of the page at ``urls[i]``.

        *epsilon* is the highest error of a rule, 0..1, *support* the fewest image groups that prove one.
        """


def proposals(
    evidence: HostEvidence, changes: Iterable[Transformation], epsilon: float, support: int, name: str, max_depth: int
) -> list[Proposal]:
    """Return a rule for every context of at most *max_depth* conditions in which a transformation holds."""
    found = []
    known: set[int] = set()
    for change in changes:
        applications = evidence.applications(change)
        effect = hash(tuple(applications))
        if effect in known:  # 3 -> 1 does what days=3 -> days=1 does
            continue
        known.add(effect)
        for leaf in safe_contexts(evidence, applications, epsilon, support, max_depth):
            examples = tuple(
                (str(evidence.forms[a.member]), evidence.forms[a.member].head + a.image) for a in leaf.examples
            )
            proved, error = leaf.tally.clusters, leaf.tally.error
            keeps = not evidence.is_sorted
            rule = Rule(evidence.host, leaf.context, change, proved, error, name, examples, keeps)
            found.append(Proposal(rule, leaf.tally.removable, leaf.expected_error))
    return found


def learn_by_host(
    urls: Sequence[str],
    clusters: Sequence[Hashable],
    epsilon: float,
    propose: Callable[[HostEvidence], list[Proposal]],
) -> list[Rule]:
    """Return the proposals of every host that gain something and stay within *epsilon* together."""
    rules: list[Rule] = []
    for evidence in by_host(urls, clusters):
        found = propose(evidence)
        if found:
            selection = Selection(evidence)
            select([selection], [(0, proposal) for proposal in found], epsilon, budget=1.0)
            rules += [proposal.rule for proposal in selection.chosen]
    return rules
