"""What the learners have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from scrapy_replica.urls.learners.evidence import HostEvidence, by_host
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
