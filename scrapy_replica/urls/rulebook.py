"""All rules of a crawl, found by host and key, applied to a fixpoint."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scrapy_replica.urls.pattern import UrlPattern, parse, size_of
from scrapy_replica.urls.rule import Change, Rule, compiled, triggers

_ANY_URL = ""
_MAX_STEPS = 1000
_MAX_HOSTS_CACHED = 10_000


class _Entry(NamedTuple):
    place: int
    rule: Rule
    change: Change
    is_gate: bool


class RuleBook:
    """Canonicalises URLs with rules.

    Every step must make the URL *smaller*: shorter, or as long and earlier in the alphabet (:func:`size_of`). A rule
    that would not is refused there; a gate, which leads to one place whatever that is, acts once. So no set of rules
    can loop, and ``canonical`` is idempotent whatever they are.

    On a host with rules the arguments are sorted by name first, unless one of its rules ``keeps_order``. URLs of hosts
    without rules are returned as they are.
    """

    def __init__(self, rules: Iterable[Rule] = ()) -> None:
        self._ordered: Counter[str] = Counter()
        """Host -> rules that keep the order there."""
        self._rules: dict[str, Rule] = {}
        self._index: dict[str, dict[str, list[_Entry]]] = {}
        self._count = 0
        self._of_host: dict[str, list[dict[str, list[_Entry]]]] = {}
        for rule in rules:
            self.add(rule)

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def add(self, rule: Rule) -> None:
        """Take *rule* up; one that does the same takes its place."""
        if rule.key in self._rules:
            self.remove(rule)
        self._of_host.clear()
        self._rules[rule.key] = rule
        self._ordered[rule.host] += rule.keeps_order
        entry = _Entry(self._count, rule, compiled(rule.transformation), rule.is_gate)
        self._count += 1
        by_trigger = self._index.setdefault(rule.host, defaultdict(list))
        for trigger in triggers(rule.transformation) or (_ANY_URL,):
            by_trigger[trigger].append(entry)

    def remove(self, rule: Rule) -> None:
        """Withdraw *rule*; nothing happens if it is not there."""
        known = self._rules.pop(rule.key, None)
        if known is None:
            return
        self._ordered[rule.host] -= known.keeps_order
        self._of_host.clear()
        by_trigger = self._index[rule.host]
        for trigger in list(by_trigger):
            by_trigger[trigger] = [entry for entry in by_trigger[trigger] if entry.rule.key != rule.key]
            if not by_trigger[trigger]:
                del by_trigger[trigger]
        if not by_trigger:
            del self._index[rule.host]

    def canonical(self, url: str) -> tuple[str, tuple[Rule, ...]]:
        """Return the canonical form of *url* and the rules that led there, first applied first."""
        pattern = parse(url)
        host = pattern.host
        if not self._tables(host):
            return url, ()
        changed, applied = self.reduced(pattern, host)
        return str(changed), tuple(applied)

    def reduced(self, pattern: UrlPattern, host: str) -> tuple[UrlPattern, list[Rule]]:
        """Return the fixpoint of *pattern*, a URL of *host*, and the rules applied."""
        is_sorted = not self._ordered[host]
        if is_sorted:
            pattern = pattern.sorted()
        applied: list[Rule] = []
        changed = pattern
        while len(applied) < _MAX_STEPS:
            step = self._step(changed, host, is_sorted, applied)
            if step is None:
                return changed, applied if changed != pattern else []
            changed, rule = step
            applied.append(rule)
        return pattern, []  # a form that is no fixpoint would break idempotence

    def _step(
        self, pattern: UrlPattern, host: str, is_sorted: bool, applied: list[Rule]
    ) -> tuple[UrlPattern, Rule] | None:
        size = None
        for entry in self._candidates(pattern, host):
            if not entry.rule.holds(pattern) or (entry.is_gate and entry.rule in applied):
                continue
            changed = entry.change(pattern)
            if changed is None:
                continue
            if is_sorted:
                changed = changed.sorted()
            if size is None:
                size = size_of(pattern.local)
            if size_of(changed.local) < size or (entry.is_gate and changed != pattern):
                return changed, entry.rule
        return None

    def _candidates(self, pattern: UrlPattern, host: str) -> list[_Entry]:
        found: list[_Entry] = []
        for by_trigger in self._tables(host):
            found += by_trigger.get(_ANY_URL, ())
            for argument in pattern.arguments or ():
                found += by_trigger.get(argument.partition("=")[0], ())
        if len(found) > 1:
            found.sort(key=_place)
        return found

    def _tables(self, host: str) -> list[dict[str, list[_Entry]]]:
        """Return the rules of *host*, of its domains and of all hosts."""
        known = self._of_host.get(host)
        if known is None:
            if len(self._of_host) >= _MAX_HOSTS_CACHED:
                self._of_host.clear()
            labels = host.partition(":")[0].split(".")
            scopes = [host, *("." + ".".join(labels[place:]) for place in range(len(labels))), ""]
            known = [self._index[scope] for scope in dict.fromkeys(scopes) if scope in self._index]
            self._of_host[host] = known
        return known


def _place(entry: _Entry) -> int:
    return entry.place
