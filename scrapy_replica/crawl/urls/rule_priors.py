"""Rules that are tried on a host before its own pages teach any: guesses, what held on others, and what is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from scrapy_replica.urls.interchange import GIVEN, priors
from scrapy_replica.urls.judge import traits_of
from scrapy_replica.urls.pattern import argument_name, parse
from scrapy_replica.urls.rule import Change, Rule, Step, compiled, triggers

GENERAL = 3
"""Hosts on which a rule holds for certain before it is proposed on any."""
REFUTED = 2
"""Hosts on which a step was wrong, and certain on no more, after which no other is asked about it."""


class RulePriors:
    """What is proposed on a host because of others."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[Rule]] = {}
        self._of_paths: dict[Rule, Change] = {}
        self._proved_on: dict[tuple[object, object], set[str]] = {}
        """What a certain rule does -> hosts on which one does it, at most :data:`GENERAL`."""
        self._right: dict[Step, set[str]] = {}
        self._wrong: dict[Step, set[str]] = {}
        self._given: dict[str, list[Rule]] = {}
        """Host, or .domain, -> rules of another crawl's pages."""
        self._carry(priors())

    def give(self, rules: Iterable[Rule]) -> None:
        """Propose *rules* that were learnt elsewhere on the hosts that they are for."""
        for rule in rules:
            given = replace(rule, learnt_from=GIVEN)
            if rule.host:
                self._given.setdefault(rule.host, []).append(given)
            else:
                self._carry([given])

    def _given_for(self, name: str) -> list[Rule]:
        if not self._given:
            return []
        labels = name.partition(":")[0].split(".")
        scopes = [name, *(f".{'.'.join(labels[place:])}" for place in range(len(labels)))]
        return [replace(rule, host=name) for scope in scopes for rule in self._given.get(scope, ())]

    def add_certain(self, rule: Rule) -> None:
        if not rule.host:
            return
        for step in rule.transformation:
            self._right.setdefault(step, set()).add(rule.host)
        hosts = self._proved_on.setdefault((rule.context, rule.transformation), set())
        if len(hosts) < GENERAL:
            hosts.add(rule.host)
            if len(hosts) == GENERAL:
                self._carry([rule.anywhere()])

    def add_refuted(self, rule: Rule) -> None:
        for step in rule.transformation:
            self._wrong.setdefault(step, set()).add(rule.host)
            self._right.get(step, set()).discard(rule.host)

    def _is_trusted(self, rule: Rule) -> bool:
        wrong = max((len(self._wrong.get(step, ())) for step in rule.transformation), default=0)
        return wrong < REFUTED or wrong <= min(len(self._right.get(step, ())) for step in rule.transformation)

    def _carry(self, rules: Iterable[Rule]) -> None:
        """Remember *rules* for any host, to be proposed where their argument is met or they change a path."""
        for rule in rules:
            names = triggers(rule.transformation)
            if not names and rule not in self._of_paths:
                self._of_paths[rule] = compiled(rule.transformation)
            for name in names:
                known = self._by_name.setdefault(name, [])
                if rule not in known:
                    known.append(rule)

    def rules_for(self, form: str, name: str) -> list[Rule]:
        """Return the rules that fit *form*, for the host *name*.

        Arguments of one kind that come together (``C`` and ``O``) go together.
        """
        pattern = parse(form)
        kinds: dict[str, list[Rule]] = {}
        for argument in dict.fromkeys(map(argument_name, pattern.arguments or ())):
            for rule in filter(self._is_trusted, self._by_name.get(argument, ())):
                kinds.setdefault(rule.learnt_from, []).append(rule)
        found = [rule for rule, change in self._of_paths.items() if change(pattern) is not None]
        found = list(filter(self._is_trusted, found))
        for rules in kinds.values():
            steps = dict.fromkeys(step for rule in rules for step in rule.transformation)
            is_plain = all(not rule.context for rule in rules)
            is_joint = is_plain and len(rules) > 1
            found += [replace(rules[0], transformation=tuple(sorted(steps)))] if is_joint else rules
        given = self._given_for(name)
        return given + [replace(rule, host=name, traits=traits_of(rule)) for rule in found]
