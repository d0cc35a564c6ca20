"""What the learners have in common."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

from scrapy_replica.lab.dust.dust_splits import Row
from scrapy_replica.urls.learners.evidence import HostEvidence, by_host
from scrapy_replica.urls.learners.proposing import finished
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


class Book(Protocol):
    """Rules in force."""

    def __len__(self) -> int:
        """Return how many there are."""

    def canonical(self, url: str) -> tuple[str, tuple[Any, ...]]:
        """Return the canonical form of *url* and the rules that led there."""


class RowLearner(Protocol):
    """The contract of learners that are held against the crawl's, but could not take its place."""

    def __call__(self, rows: Sequence[Row], epsilon: float = 0.0, support: int = 3) -> Book:
        """Return the rules learnt from *rows*, with the limits of :class:`Learner`."""


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
            finished(select([selection], [(0, proposal) for proposal in found], epsilon, budget=1.0))
            rules += [proposal.rule for proposal in selection.chosen]
    return rules
