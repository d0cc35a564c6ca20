"""Rewrite rules that change a URL together: what each of them changes, and what lies between two URLs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from scrapy_replica.crawl.urls.watched_rule import WatchedRule


class Joint(NamedTuple):
    """Two fetched forms of one canonical form that several rules make one, and no single rule."""

    changed: str
    other: str
    rules: Mapping[WatchedRule, str]
    """Those that change the one and not the other, or both in another way, and what each of them changes: one of the
    two, or what the others make of it.
    """

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(sorted(rule.id for rule in self.rules))


def applied(rules: Iterable[WatchedRule], form: str) -> Iterator[tuple[WatchedRule, str]]:
    """Yield *rules*, in the order in which they change *form*, each with the form that it changes: this one, or what
    those before it make of it, where only that is of its kind.
    """
    changed, before = form, None
    for rule in rules:
        if before is not None:  # not after the last one: most forms are changed by one
            changed = before.changed.image(changed) or changed
        yield rule, form if before is None or rule.changed.image(form) is not None else changed
        before = rule


def between(
    form: str, rules: Iterable[WatchedRule], other: str, others: Iterable[WatchedRule]
) -> dict[WatchedRule, str]:
    """Return the rules that make one of *form*, which *rules* change, and the *other*, which *others* do, and what each
    changes: not those that take the same from both, unless the rest does not make one of them by itself.

    Of a gate only what leads there is asked: its page is the same by all of its names.
    """
    mine, its = dict(applied(rules, form)), dict(applied(others, other))
    asked = mine if any(rule.rule.is_gate for rule in mine) else its | mine
    found = {rule: one for rule, one in asked.items() if _taken(rule, mine) != _taken(rule, its)}
    for rule in found:
        form, other = rule.changed.image(form) or form, rule.changed.image(other) or other
    return found if form == other else asked


def _taken(rule: WatchedRule, changed: Mapping[WatchedRule, str]) -> tuple[str, ...]:
    return rule.changed.taken(changed[rule]) if rule in changed else ()
