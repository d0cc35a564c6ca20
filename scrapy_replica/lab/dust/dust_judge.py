"""The judge of candidate rules: its examples, and how well it orders candidates of hosts that it does not know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from scrapy_replica.lab.dust.dust_splits import Row, family, halves
from scrapy_replica.lazy.lac import NEGATIVE, POSITIVE, Cube
from scrapy_replica.urls.interchange import priors
from scrapy_replica.urls.judge import SIZES, RuleJudge, Traits, traits_of
from scrapy_replica.urls.learners import combined
from scrapy_replica.urls.learners.candidates import candidates
from scrapy_replica.urls.learners.contexts import MAX_DEPTH
from scrapy_replica.urls.learners.evidence import HostEvidence, Tally, by_host
from scrapy_replica.urls.learners.proposing import finished, proposals
from scrapy_replica.urls.learners.selection import Proposal, Selection, preference
from scrapy_replica.urls.rule import Rule

ERRORS = (0.0, 0.02, 0.05, 0.1, 0.2)
"""Errors up to which the contexts of candidates are looked for."""
SUPPORT = 3
SHARES = (0.01, 0.05)
"""Shares of wrong removals at which recall is told."""
_WORST = 0.5
CAP = 20
"""Groups of one rule that count at most: one rule of a large host is one example."""
_PARTS = 5  # of a group, so that shares of few groups are kept

Example = tuple[Traits, int, int]
"""Traits of a rule, its right groups or pairs, its wrong ones."""


class Candidate(NamedTuple):
    """A rule that one half of a host's URLs suggests, and what it does to the other half."""

    proposal: Proposal
    outcome: Tally


class Half(NamedTuple):
    """What one half of a host's URLs suggests for the other."""

    learnt: HostEvidence
    judged: HostEvidence
    candidates: list[Candidate]


def halves_of(rows: Sequence[Row]) -> list[Half]:
    """Return the candidates of each half of the family split of one host's *rows*."""
    found = [next(by_host([r.url for r in part], [r.cluster for r in part]), None) for part in halves(rows, family)]
    one, other = found
    if one is None or other is None:
        return []
    return [Half(a, b, _candidates(a, b)) for a, b in ((one, other), (other, one))]


def _candidates(learnt: HostEvidence, judged: HostEvidence) -> list[Candidate]:
    changes = finished(candidates(learnt))
    known: dict[str, Proposal] = {}
    for error in ERRORS:
        for proposal in proposals(learnt, changes, error, SUPPORT, "combined", MAX_DEPTH):
            known.setdefault(proposal.rule.key, proposal)
    return [Candidate(proposal, outcome(judged, proposal.rule)) for proposal in known.values()]


def outcome(evidence: HostEvidence, rule: Rule) -> Tally:
    """Return the groups that *rule* makes of the URLs of *evidence*."""
    found = [a for a in evidence.applications(rule.transformation) if rule.holds(evidence.forms[a.member])]
    return evidence.tally(evidence.groups(found))


def cube_of(examples: Sequence[Example]) -> Cube:
    """Return the counts of *examples*."""
    counts: dict[Traits, list[int]] = {}
    for traits, right, wrong in examples:
        scale = _PARTS * min(1.0, CAP / max(right + wrong, 1))
        known = counts.setdefault(traits, [0, 0])
        known[NEGATIVE] += round(wrong * scale)
        known[POSITIVE] += round(right * scale)
    vectors = np.array(list(counts), dtype=np.int64).reshape(-1, len(SIZES))
    return Cube(SIZES, vectors, np.array(list(counts.values()), dtype=np.int64).reshape(-1, 2))


def examples_of(rows: Sequence[Row], found: Iterable[Half]) -> list[Example]:
    """Return the examples of one host: its candidates, and the shipped guesses on all of its *rows*."""
    examples = [(c.proposal.rule.traits, c.outcome.clean, c.outcome.mixed) for half in found for c in half.candidates]
    for evidence in by_host([row.url for row in rows], [row.cluster for row in rows]):
        for rule in priors():
            tally = outcome(evidence, rule)
            examples.append((traits_of(rule), tally.clean, tally.mixed))
    return [example for example in examples if example[1] + example[2]]


class Hosts(NamedTuple):
    """The hosts of a table with what there is to learn from each."""

    halves: Mapping[str, list[Half]]
    examples: Mapping[str, list[Example]]

    def judge_without(self, group: str) -> RuleJudge:
        """Return the judge that knows every host but those of *group* (see :func:`group_of`)."""
        others = (known for host, known in self.examples.items() if group_of(host) != group)
        return RuleJudge(cube_of([example for known in others for example in known]))


def group_of(host: str) -> str:
    """Return what is left out together: hosts of one registered domain, as far as its last two names tell."""
    return ".".join(host.partition(":")[0].rsplit(".", 2)[-2:])


def hosts_of(rows: Iterable[Row]) -> Hosts:
    """Return what the hosts of *rows* have to teach."""
    by_name: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_name[row.host].append(row)
    found = {host: halves_of(own) for host, own in by_name.items()}
    return Hosts(found, {host: examples_of(own, found[host]) for host, own in by_name.items()})


def learnt_with(hosts: Hosts, epsilon: float, rows: Iterable[Row]) -> list[Rule]:
    """Return what ``combined`` learns from *rows* with judges that do not know the host."""
    by_group: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_group[group_of(row.host)].append(row)
    rules: list[Rule] = []
    for group, own in by_group.items():
        urls, clusters = [row.url for row in own], [row.cluster for row in own]
        rules += finished(combined.learn_in_steps(urls, clusters, epsilon, SUPPORT, hosts.judge_without(group)))
    return rules


Key = Callable[[str, Proposal], tuple[float, ...]]
"""(Host, proposal) -> its place in the order, the least first."""


def by_support_and_error(_host: str, proposal: Proposal) -> tuple[float, ...]:
    """Return the order without a judge."""
    return preference(proposal)[:2]


def by_judge(hosts: Hosts) -> Key:
    """Return the order of judges that do not know the host."""
    judges = {group: hosts.judge_without(group) for group in {group_of(host) for host in hosts.halves}}
    return lambda host, proposal: preference(proposal.judged(judges[group_of(host)]))[:2]


def recalls(hosts: Hosts, removable: int, key: Key) -> dict[float, float]:
    """Return the recall at each of :data:`SHARES`: candidates of all halves are put in force in the order of *key*.

    Each is asked for as long as it gains where it was learnt. The most right removals up to any place in the order up
    to which the share of wrong ones holds are what counts.
    """
    waiting = [
        (key(host, candidate.proposal), _Trial(half, candidate.proposal, selections))
        for host, found in hosts.halves.items()
        for half in found
        for selections in [(Selection(half.learnt), Selection(half.judged))]
        for candidate in half.candidates
    ]
    waiting.sort(key=lambda entry: (entry[0], entry[1].proposal.rule.key))
    right = wrong = 0
    best = dict.fromkeys(SHARES, 0)
    for _ in range(2):
        refused = []
        for place, trial in waiting:
            gain = trial.gain()
            if gain is None:
                refused.append((place, trial))
                continue
            right, wrong = right + gain[0], wrong + gain[1]
            for share in SHARES:
                if wrong <= share * (right + wrong):
                    best[share] = max(best[share], right)
        waiting = refused
    return {share: found / removable if removable else 0.0 for share, found in best.items()}


class _Trial(NamedTuple):
    half: Half
    proposal: Proposal
    selections: tuple[Selection, Selection]

    def gain(self) -> tuple[int, int] | None:
        """Put the proposal in force; return the right and wrong removals that the other half sees, None if refused."""
        learnt, judged = self.selections
        trial = learnt.try_out(self.proposal)
        if trial.right <= 0 or trial.wrong > _WORST * trial.right:
            return None
        learnt.accept(trial)
        seen = judged.try_out(self.proposal)
        judged.accept(seen)
        return seen.right, seen.wrong
