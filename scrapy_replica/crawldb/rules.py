"""DUST rules as a job keeps them: each with its state and its record."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, NamedTuple

from scrapy_replica.claim import Standing
from scrapy_replica.crawldb.sqlite.table import Table


class RuleRow(NamedTuple):
    """One rule and its record."""

    id: int
    rule: dict[str, Any]
    state: Standing
    is_manual: bool
    """A person gave it: it acts without a proof."""
    right: int
    """Pairs of URL and image that were fetched and are one page."""
    wrong: int
    images: int
    """Images fetched that are the page of their URL, less twice those that do not exist."""
    proofs: list[tuple[str, int]]
    """(image, URLs fetched on purpose for it) of each pair that was to prove it."""


def without_repeats(rows: Iterable[RuleRow]) -> list[RuleRow]:
    """Leave out each of the rules in force of which others do all: ``print=1`` where ``print`` goes whatever it says.

    It is one rule for whoever counts; it stays in force, for the others may end.
    """
    kept, taken = list[RuleRow](), defaultdict[str, set[str]](set)
    for row in sorted(rows, key=_breadth):
        names = {name for kind, name, _ in row.rule["transformation"] if kind == "drop"}
        is_drop = len(names) == len(row.rule["transformation"])
        if is_drop and not row.is_manual and names <= taken[row.rule["host"]] | taken[""]:
            continue
        kept.append(row)
        if is_drop and _breadth(row)[:2] == (0, 0):
            taken[row.rule["host"]] |= names
    return sorted(kept, key=attrgetter("id"))


def _breadth(row: RuleRow) -> tuple[int, int, int]:
    """Return how many conditions, values and steps a rule has: the first of several does most."""
    steps = row.rule["transformation"]
    return len(row.rule["context"]), sum(value is not None for *_, value in steps), len(steps)


class RuleTable(Table):
    """Rules of a crawl, from the moment they are proposed; none is ever deleted."""

    def enter(self, rule: dict[str, Any], at: float, *, is_manual: bool = False) -> int:
        """Write *rule* (its JSON form), proposed at *at*; return its id."""
        row = self._write(
            "INSERT INTO rules (id, rule, host, state, is_manual, at) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
            (
                self._connection.new_id("rules"),
                json.dumps(rule),
                rule["host"],
                (Standing.IN_FORCE if is_manual else Standing.CANDIDATE).value,
                is_manual,
                at,
            ),
        ).fetchone()
        return int(row[0])

    def update(self, rule_id: int, state: Standing, right: int, wrong: int, images: int) -> None:
        """Write the record of a rule; what a person disabled stays so."""
        self._write(
            "UPDATE rules SET state = CASE state WHEN 'disabled' THEN state ELSE ? END, right_pairs = ?,"
            " wrong_pairs = ?, images = ? WHERE id = ?",
            (state.value, right, wrong, images, rule_id),
        )

    def set_proofs(self, rule_id: int, proofs: list[tuple[str, int]]) -> None:
        self._write("UPDATE rules SET proofs = ? WHERE id = ?", (json.dumps(proofs), rule_id))

    def rows(self) -> Iterator[RuleRow]:
        """Yield the rules in the order of their ids."""
        yield from self._rows("id > 0")

    def of_host(self, name: str) -> Iterator[RuleRow]:
        """Yield the rules for exactly that host (and port), in the order of their ids."""
        yield from self._rows("host = ?", name)

    def wide(self) -> Iterator[RuleRow]:
        """Yield the rules for more than one host."""
        yield from self._rows("host = '' OR host >= '.' AND host < '/'")

    def acting(self) -> Iterator[RuleRow]:
        yield from self._rows(f"state = '{Standing.IN_FORCE.value}'")

    def refuted(self) -> Iterator[RuleRow]:
        """Yield the rules that were withdrawn."""
        yield from self._rows(f"state = '{Standing.REFUTED.value}'")

    def row(self, rule_id: int) -> RuleRow | None:
        return next(self._rows("id = ?", rule_id), None)

    def _rows(self, condition: str, *values: str | int) -> Iterator[RuleRow]:
        rows = self._read(
            "SELECT id, rule, state, is_manual, right_pairs, wrong_pairs, images, proofs FROM rules"
            f" WHERE {condition} ORDER BY id",
            values,
        )
        for rule_id, rule, state, is_manual, right, wrong, images, proofs in rows.fetchall():
            pairs = [(image, count) for image, count in json.loads(proofs)]
            yield RuleRow(rule_id, json.loads(rule), Standing(state), bool(is_manual), right, wrong, images, pairs)
