"""Verdicts on hosts, and pairs of hosts that a person is asked about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from scrapy_replica.claim import Standing
from scrapy_replica.crawldb.sqlite.table import Table
from scrapy_replica.records import Doubt, PagePair, UncertainPair, Verdict

COLUMNS = "copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, evidence"
"""What a verdict is made of, in both tables."""

HOLDS = f"standing = '{Standing.IN_FORCE.value}'"

MAX_PAIRS = 200
"""Pairs kept; beyond, those farthest from a verdict go. 6 kB each at most."""


def verdict_of(cells: Sequence[Any], *, is_manual: bool = False) -> Verdict:
    """Return the verdict that those of :data:`COLUMNS` hold."""
    *fields, evidence = cells
    return Verdict(*[*fields, json.loads(evidence), is_manual])


def _cells(verdict: Verdict) -> tuple[Any, ...]:
    *fields, evidence = attrgetter(*COLUMNS.split(", "))(verdict)
    return (*fields, json.dumps(dict(evidence)))


class VerdictTable(Table):
    """Verdicts, those that hold and those that ended; none is ever deleted."""

    def enter(self, verdict: Verdict, at: float, expires_at: float) -> None:
        """Write *verdict*, reached at *at* (seconds since the epoch); one that a person gave never expires."""
        self._write(
            f"INSERT INTO verdicts (id, {COLUMNS}, at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self._connection.new_id("verdicts"), *_cells(verdict), at, None if verdict.is_manual else expires_at),
        )

    def end(self, copy: str, standing: Standing) -> None:
        """Write how the verdict on *copy*, which was in force, stands from now on."""
        self._write(f"UPDATE verdicts SET standing = ? WHERE copy = ? AND {HOLDS}", (standing.value, copy))

    def holding(self) -> Iterator[Verdict]:
        return self._held(f"{HOLDS} ORDER BY id")

    def of(self, copy: str) -> Verdict | None:
        """Return the verdict that holds on *copy*; ``None`` if there is none."""
        return next(self._held(f"copy = ? AND {HOLDS} ORDER BY id DESC", copy), None)

    def _held(self, condition: str, *values: str) -> Iterator[Verdict]:
        sql = f"SELECT {COLUMNS}, expires_at IS NULL FROM verdicts WHERE {condition}"
        for *cells, is_manual in self._read(sql, values):
            yield verdict_of(cells, is_manual=bool(is_manual))

    def refuted(self) -> list[tuple[str, str]]:
        """Return (copy, canonical) of the withdrawn verdicts: these pairs are never judged again."""
        return self._read("SELECT copy, canonical FROM verdicts WHERE standing = 'refuted'").fetchall()

    def expired(self, now: float) -> list[str]:
        return self._column(f"SELECT copy FROM verdicts WHERE {HOLDS} AND expires_at < ?", now)


class UncertainPairTable(Table):
    """One row for each two hosts."""

    def enter(self, pair: UncertainPair) -> None:
        """Write *pair*, in place of what was written of these two hosts."""
        verdict = pair.verdict
        self._write(
            "INSERT OR REPLACE INTO uncertain_pairs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                _name(verdict.copy, verdict.canonical),
                *_cells(verdict),
                pair.wanted,
                pair.doubt.value,
                json.dumps(pair.pages),
            ),
        )
        self._write(
            "DELETE FROM uncertain_pairs WHERE pair IN"
            " (SELECT pair FROM uncertain_pairs ORDER BY ABS(wanted - score), pair LIMIT -1 OFFSET ?)",
            (MAX_PAIRS,),
        )

    def decided(self, a: str, b: str) -> None:
        self._write("DELETE FROM uncertain_pairs WHERE pair = ?", (_name(a, b),))

    def forget(self, host: str) -> None:
        self._write("DELETE FROM uncertain_pairs WHERE copy = ?1 OR canonical = ?1", (host,))

    def all(self) -> list[UncertainPair]:
        """Return the pairs, nearest to a verdict first."""
        rows = self._read(
            f"SELECT {COLUMNS}, wanted, doubt, pages FROM uncertain_pairs ORDER BY ABS(wanted - score), pair"
        )
        found = []
        for *cells, wanted, doubt, pages in rows:
            pairs = tuple(PagePair(*map(tuple, pair)) for pair in json.loads(pages))
            found.append(UncertainPair(verdict_of(cells), wanted, Doubt(doubt), pairs))
        return found


def _name(a: str, b: str) -> str:
    return " ".join(sorted((a, b)))
