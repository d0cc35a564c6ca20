"""All candidates together: the smallest set of precise rules that covers most (greedy, checked together)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from scrapy_replica.urls.learners.candidates import candidates
from scrapy_replica.urls.learners.contexts import safe_contexts
from scrapy_replica.urls.learners.evidence import HostEvidence, by_host, evidence_of
from scrapy_replica.urls.rule import Rule
from scrapy_replica.urls.rulebook import RuleBook

ROUNDS = 3
BUDGET = 0.01


class _Proposal(NamedTuple):
    rule: Rule
    removable: int
    expected_error: float


def learn(urls: Sequence[str], clusters: Sequence[Hashable], epsilon: float = 0.0, support: int = 3) -> list[Rule]:
    """Learn the rules of every host in *urls*; ``clusters[i]`` is the cluster of the page at ``urls[i]``."""
    proposals: list[_Proposal] = []
    for evidence in by_host(urls, clusters):
        proposals += learn_host(evidence, epsilon, support)
    return within_budget(proposals, max(BUDGET, epsilon / 2))


def within_budget(proposals: list[_Proposal], budget: float) -> list[Rule]:
    kept: list[_Proposal] = []
    removed = wrong = 0.0
    for proposal in sorted(proposals, key=lambda proposal: (proposal.expected_error, -proposal.removable)):
        removed += proposal.removable
        wrong += proposal.removable * proposal.expected_error
        if wrong <= budget * removed:
            kept.append(proposal)
        else:
            removed -= proposal.removable
            wrong -= proposal.removable * proposal.expected_error
    chosen = {id(proposal.rule) for proposal in kept}
    return [proposal.rule for proposal in proposals if id(proposal.rule) in chosen]


def learn_host(evidence: HostEvidence, epsilon: float, support: int) -> list[_Proposal]:
    proposals: list[_Proposal] = []
    current = evidence
    for _ in range(ROUNDS):
        found = _round(current, epsilon, support)
        together = proposals + found
        kept = {id(rule) for rule in _checked(evidence, [proposal.rule for proposal in together], epsilon)}
        together = [proposal for proposal in together if id(proposal.rule) in kept]
        if len(together) <= len(proposals):
            break
        proposals = together
        current = _reduced(evidence, [proposal.rule for proposal in proposals])
    return proposals


def _round(evidence: HostEvidence, epsilon: float, support: int) -> list[_Proposal]:
    found: list[_Proposal] = []
    for change in candidates(evidence):
        applications = evidence.applications(change)
        for leaf in safe_contexts(evidence, applications, epsilon, support):
            rule = Rule(evidence.host, leaf.context, change, leaf.tally.clusters, leaf.tally.error, "combined")
            found.append(_Proposal(rule, leaf.tally.removable, leaf.expected_error))
    found.sort(key=lambda proposal: -proposal.removable)
    return found


def _reduced(evidence: HostEvidence, rules: list[Rule]) -> HostEvidence:
    book = RuleBook(rules, () if evidence.is_sorted else (evidence.host,))
    forms = [book.reduced(form, evidence.host)[0] for form in evidence.forms]
    result = HostEvidence(evidence.host, evidence.is_sorted)
    for form, cluster in zip(forms, evidence.clusters, strict=True):
        result.add(form, cluster)
    return result


def _checked(evidence: HostEvidence, rules: list[Rule], epsilon: float) -> list[Rule]:
    """Drop the worst rule until all of them together stay below *epsilon*."""
    rules = list(rules)
    paths = _paths(evidence, rules, range(len(evidence.forms)))
    while rules:
        right, wrong, n_right, n_wrong = _blame(evidence, paths)
        if n_wrong <= epsilon * (n_right + n_wrong):
            return [rule for rule in rules if right[id(rule)] or wrong[id(rule)]]
        worst = max(rules, key=lambda rule: (wrong[id(rule)] / max(wrong[id(rule)] + right[id(rule)], 1), -right[id(rule)]))
        rules = [rule for rule in rules if rule is not worst]
        touched = [form for form, (_, used) in enumerate(paths) if any(rule is worst for rule in used)]
        for form, path in zip(touched, _paths(evidence, rules, touched), strict=True):
            paths[form] = path
    return []


def _paths(evidence: HostEvidence, rules: list[Rule], forms: Sequence[int]) -> list[tuple[str, list[Rule]]]:
    book = RuleBook(rules, () if evidence.is_sorted else (evidence.host,))
    found = []
    for form in forms:
        image, used = book.reduced(evidence.forms[form], evidence.host)
        found.append((image.local, used))
    return found


def _blame(
    evidence: HostEvidence, paths: list[tuple[str, list[Rule]]]
) -> tuple[Counter[int], Counter[int], int, int]:
    by_image: dict[str, list[int]] = defaultdict(list)
    for form, (image, _) in enumerate(paths):
        by_image[image].append(form)
    right: Counter[int] = Counter()
    wrong: Counter[int] = Counter()
    n_right = n_wrong = 0
    for members in by_image.values():
        if len(members) < 2:
            continue
        is_clean = evidence.is_clean(members)
        n_right += is_clean
        n_wrong += not is_clean
        for rule in {id(rule) for member in members for rule in paths[member][1]}:
            (right if is_clean else wrong)[rule] += 1
    return right, wrong, n_right, n_wrong
