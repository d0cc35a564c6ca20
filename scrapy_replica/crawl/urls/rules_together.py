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
    """Those that change the one and not the other, or both in another way, and what each of them changes: the form, or
    what the others make of it.
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
    """Return those of *rules*, which change *form*, that do not change the *other*, whose rules are *others*, in the
    same way, and what each changes.
    """
    taken = {rule: rule.changed.taken(one) for rule, one in applied(others, other)}
    return {rule: one for rule, one in applied(rules, form) if rule.changed.taken(one) != taken.get(rule, ())}
