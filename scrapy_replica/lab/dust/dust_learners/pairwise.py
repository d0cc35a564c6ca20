"""Pairwise rules with decision-tree generalisation (Koppula et al. 2010, *Learning URL patterns for webpage
de-duplication*, WSDM).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from scrapy_replica.lab.dust.dust_learners.learner import learn_by_host
from scrapy_replica.urls.learners.candidates import candidates
from scrapy_replica.urls.learners.contexts import MAX_DEPTH
from scrapy_replica.urls.learners.evidence import HostEvidence
from scrapy_replica.urls.learners.proposing import finished, proposals
from scrapy_replica.urls.learners.selection import Proposal
from scrapy_replica.urls.rule import Rule


def learn(urls: Sequence[str], clusters: Sequence[Hashable], epsilon: float = 0.0, support: int = 3) -> list[Rule]:
    """Learn one rule per pair of URLs, generalise its context with a decision tree, keep what gains most.

    One round; the tree's leaves are judged one by one, without an allowance for what was not seen.
    """

    def learn_host(host: HostEvidence) -> list[Proposal]:
        return proposals(host, finished(candidates(host)), epsilon, support, "pairwise", MAX_DEPTH)

    return learn_by_host(urls, clusters, epsilon, learn_host)
