"""All candidates together: the smallest set of precise rules that covers most (greedy, checked together)."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence

from scrapy_replica.urls.judge import RuleJudge
from scrapy_replica.urls.learners.candidates import candidates
from scrapy_replica.urls.learners.contexts import MAX_DEPTH
from scrapy_replica.urls.learners.evidence import HostEvidence, by_host
from scrapy_replica.urls.learners.proposing import finished, proposals_in_steps
from scrapy_replica.urls.learners.selection import Proposal, Selection, select
from scrapy_replica.urls.rule import Rule

ROUNDS = 3
BUDGET = 0.015
"""Share of wrong removals to expect that is accepted at an error of 0."""
JUDGED_BUDGET = 0.05
"""The same with a judge: three clean groups of a kind of which a tenth was wrong, five of a quarter, ten of a half."""
_MAX_EXPECTED = 0.05
_MAX_JUDGED = 0.1
_BATCH_FORMS = 100_000  # evidence held at a time


def learn(urls: Sequence[str], clusters: Sequence[Hashable], epsilon: float = 0.0, support: int = 3) -> list[Rule]:
    """Learn the rules of every host in *urls*; ``clusters[i]`` is the cluster of the page at ``urls[i]``."""
    return finished(learn_in_steps(urls, clusters, epsilon, support))


def learn_in_steps(
    urls: Sequence[str],
    clusters: Sequence[Hashable],
    epsilon: float = 0.0,
    support: int = 3,
    judge: RuleJudge | None = None,
) -> Generator[None, None, list[Rule]]:
    """Do what :func:`learn` does, a step at a time: of 1,000 URLs none takes longer than about 50 ms.

    With a *judge* the candidates are ordered and chosen by what it expects of them.
    """
    rules: list[Rule] = []
    batch: list[tuple[HostEvidence, list[Proposal]]] = []
    waiting = 0
    budget = max(BUDGET if judge is None else JUDGED_BUDGET, epsilon / 2)
    for evidence in by_host(urls, clusters):
        found = yield from learn_host(evidence, epsilon, support, judge)
        if not found:
            continue
        batch.append((evidence, found))
        waiting += len(evidence.forms)
        if waiting > _BATCH_FORMS:
            rules += yield from _within_budget(batch, epsilon, budget)
            batch, waiting = [], 0
    rules += yield from _within_budget(batch, epsilon, budget)
    return rules


def _within_budget(
    batch: list[tuple[HostEvidence, list[Proposal]]], epsilon: float, budget: float
) -> Generator[None, None, list[Rule]]:
    """Return the proposals of several hosts that keep the wrong removals expected of all of them within the budget."""
    selections = [Selection(evidence) for evidence, _ in batch]
    proposed = [(host, proposal) for host, (_, found) in enumerate(batch) for proposal in found]
    yield from select(selections, proposed, epsilon, budget)
    return [proposal.rule for selection in selections for proposal in selection.chosen]


def learn_host(
    evidence: HostEvidence, epsilon: float, support: int, judge: RuleJudge | None = None
) -> Generator[None, None, list[Proposal]]:
    """Return what may be proposed for one host: learnt, applied, and learnt again on the canonical forms."""
    selection = Selection(evidence)
    current = evidence
    for _ in range(ROUNDS):
        before = len(selection.chosen)
        found = yield from _round(current, epsilon, support, judge)
        yield from select([selection], [(0, proposal) for proposal in found], epsilon, 1.0)
        yield
        if len(selection.chosen) == before:
            break
        current = HostEvidence(evidence.host, evidence.is_sorted)
        for form, cluster in zip(selection.forms, evidence.clusters, strict=True):
            current.add(form, cluster)
    return selection.chosen


def _round(
    evidence: HostEvidence, epsilon: float, support: int, judge: RuleJudge | None
) -> Generator[None, None, list[Proposal]]:
    changes = yield from candidates(evidence)
    yield
    found = yield from proposals_in_steps(evidence, changes, epsilon, support, "combined", MAX_DEPTH)
    if judge is not None:
        found = [proposal.judged(judge) for proposal in found]
    most = max(_MAX_EXPECTED if judge is None else _MAX_JUDGED, epsilon)
    return [proposal for proposal in found if proposal.expected_error <= most]
