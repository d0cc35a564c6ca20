"""The smallest set of precise rules that covers most: greedy, and judged together, not one by one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from typing import NamedTuple

from scrapy_replica.urls.judge import RuleJudge
from scrapy_replica.urls.learners.evidence import HostEvidence, may_change
from scrapy_replica.urls.pattern import UrlPattern
from scrapy_replica.urls.rule import Rule, compiled
from scrapy_replica.urls.rulebook import RuleBook

_MOVED_OF_STEP = 100


class Proposal(NamedTuple):
    """A rule that a learner would like to see in force."""

    rule: Rule
    removable: int
    """URLs it saves among those it was learnt from."""
    expected_error: float
    """Share of wrong merges to expect among URLs not seen, 0..1."""
    groups: int = 0
    """Groups of two URLs or more that it was learnt from."""

    def judged(self, judge: RuleJudge) -> Proposal:
        """Return the proposal as *judge* sees it: it says one half of the error to expect, what was seen the other."""
        expected = judge.expected(self.rule.traits, self.rule.error * self.groups, self.groups)
        return self._replace(expected_error=(self.expected_error + expected) / 2)


class Selection:
    """The chosen rules of one host, and what they do to its evidence.

    A removal is right if the URL kept (the first of its image) is of the same cluster, wrong otherwise; a wrong rule on
    a group of four is three wrong removals, which the group's own error does not show.
    """

    def __init__(self, evidence: HostEvidence) -> None:
        self.evidence = evidence
        self.chosen: list[Proposal] = []
        self.right = 0
        self.wrong = 0
        self.unseen_wrong = 0.0
        """Wrong removals to expect beyond those seen."""
        self._book = RuleBook()
        self.forms: list[UrlPattern] = list(evidence.forms)
        """The canonical form of every form of the evidence."""
        self._locals = list(evidence.locals)
        self._images: dict[str, set[int]] = {local: {form} for form, local in enumerate(evidence.locals)}

    def try_out(self, proposal: Proposal) -> Trial:
        """Return what *proposal* would add to the chosen ones; nothing is changed."""
        rule = proposal.rule
        change = compiled(rule.transformation)
        self._book.add(rule)
        moved: dict[int, UrlPattern] = {}
        for number in may_change(rule.transformation, self._locals):
            form = self.forms[number]
            if rule.holds(form) and change(form) is not None:
                moved[number] = self._book.reduced(form, self.evidence.host)[0]
        self._book.remove(rule)
        right, wrong = self._difference(moved)
        unseen = max(proposal.expected_error - rule.error, 0.0) * max(right + wrong, 0)
        return Trial(proposal, moved, right, wrong, unseen)

    def _difference(self, moved: dict[int, UrlPattern]) -> tuple[int, int]:
        arriving: dict[str, set[int]] = defaultdict(set)
        leaving: dict[str, set[int]] = defaultdict(set)
        for number, form in moved.items():
            arriving[form.local].add(number)
            leaving[self._locals[number]].add(number)
        right = wrong = 0
        for image in arriving.keys() | leaving.keys():
            before = self._images.get(image, set())
            after = (before - leaving.get(image, set())) | arriving.get(image, set())
            for members, sign in ((before, -1), (after, 1)):
                r, w = self._removals(members)
                right, wrong = right + sign * r, wrong + sign * w
        return right, wrong

    def _removals(self, members: Iterable[int]) -> tuple[int, int]:
        ordered = sorted(members)
        if len(ordered) < 2:
            return 0, 0
        clusters = self.evidence.clusters
        right = sum(clusters[member] == clusters[ordered[0]] for member in ordered[1:])
        return right, len(ordered) - 1 - right

    def accept(self, trial: Trial) -> None:
        """Put the tried proposal in force."""
        self.chosen.append(trial.proposal)
        self._book.add(trial.proposal.rule)
        for number, form in trial.moved.items():
            self._images[self._locals[number]].discard(number)
            self._images.setdefault(form.local, set()).add(number)
            self.forms[number] = form
            self._locals[number] = form.local
        self.right += trial.right
        self.wrong += trial.wrong
        self.unseen_wrong += trial.unseen_wrong


class Trial(NamedTuple):
    """What one more rule would change."""

    proposal: Proposal
    moved: dict[int, UrlPattern]
    right: int
    wrong: int
    unseen_wrong: float


def preference(proposal: Proposal) -> tuple[float, float, str]:
    """Order of trial: surest first, then the one that saves most, each loose step counted 5 % against a rule: of two
    rules that save about as much the narrower one has more of its reach proved.
    """
    steps = proposal.rule.transformation
    looseness = len(steps) + sum(step.kind == "drop" and step.value is None for step in steps)
    return round(proposal.expected_error, 2), -proposal.removable * 0.95**looseness, proposal.rule.key


def select(
    selections: Sequence[Selection], proposals: Sequence[tuple[int, Proposal]], epsilon: float, budget: float
) -> Generator[None, None, None]:
    """Accept *proposals*, pairs (index of the host's selection, proposal), as long as each gains right removals, the
    share of wrong removals seen stays at most *epsilon* and the share expected on URLs not seen at most *budget*.

    In steps: to try a rule on a URL takes 50 us, 400 where thirty rules change it.
    """
    n_moved = 0
    waiting = sorted(proposals, key=lambda entry: preference(entry[1]))
    right = sum(selection.right for selection in selections)
    wrong = float(sum(selection.wrong for selection in selections))
    unseen = sum(selection.unseen_wrong for selection in selections)
    for _ in range(2):  # a rule of a later round gains only after the rules whose forms it was learnt on
        refused = []
        for entry in waiting:
            selection = selections[entry[0]]
            trial = selection.try_out(entry[1])
            n_moved += len(trial.moved)
            if n_moved > _MOVED_OF_STEP:
                n_moved = 0
                yield
            gains = trial.right > 0 and trial.wrong <= max(epsilon, budget) * 2 * trial.right
            total = right + trial.right + wrong + trial.wrong
            is_seen_well = wrong + trial.wrong <= epsilon * total
            if gains and is_seen_well and wrong + trial.wrong + unseen + trial.unseen_wrong <= budget * total:
                selection.accept(trial)
                right, wrong = right + trial.right, wrong + trial.wrong
                unseen += trial.unseen_wrong
            else:
                refused.append(entry)
        if len(refused) == len(waiting):
            return
        waiting = refused
