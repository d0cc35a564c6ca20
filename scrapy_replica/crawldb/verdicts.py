"""The table of verdicts on hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator

from scrapy_replica.claim import Standing
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.records import Verdict

HOLDS = f"standing = '{Standing.IN_FORCE.value}'"


class VerdictTable:
    """Verdicts, those that hold and those that ended; none is ever deleted."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read, self._write = connection.read, connection.write

    def enter(self, verdict: Verdict, at: float, expires_at: float | None) -> None:
        """Write *verdict*, reached at *at* (seconds since the epoch)."""
        self._write(
            "INSERT INTO verdicts (id, copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, evidence, at,"
            " expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._connection.new_id("verdicts"),
                verdict.copy,
                verdict.canonical,
                verdict.copy_prefix,
                verdict.canonical_prefix,
                verdict.score,
                verdict.n_aligned,
                json.dumps(dict(verdict.evidence)),
                at,
                expires_at,
            ),
        )

    def end(self, copy: str, standing: Standing) -> None:
        """Write how the verdict on *copy*, which was in force, stands from now on."""
        self._write(f"UPDATE verdicts SET standing = ? WHERE copy = ? AND {HOLDS}", (standing.value, copy))

    def holding(self) -> Iterator[tuple[Verdict, bool]]:
        """Yield the verdicts that hold, and whether a person gave them."""
        return self._held(f"{HOLDS} ORDER BY id")

    def of(self, copy: str) -> tuple[Verdict, bool] | None:
        """Return the verdict that holds on *copy*, and whether a person gave it; ``None`` if there is none."""
        return next(self._held(f"copy = ? AND {HOLDS} ORDER BY id DESC", copy), None)

    def _held(self, condition: str, *values: str) -> Iterator[tuple[Verdict, bool]]:
        rows = self._read(
            "SELECT copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, evidence, expires_at IS NULL"
            f" FROM verdicts WHERE {condition}",
            values,
        )
        for copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, evidence, is_manual in rows:
            verdict = Verdict(copy, canonical, copy_prefix, canonical_prefix, score, n_aligned, json.loads(evidence))
            yield verdict, bool(is_manual)

    def refuted(self) -> list[tuple[str, str]]:
        """Return (copy, canonical) of the withdrawn verdicts: these pairs are never judged again."""
        return self._read("SELECT copy, canonical FROM verdicts WHERE standing = 'refuted'").fetchall()

    def expired(self, now: float) -> list[str]:
        """Return the copies whose verdict ended by its age."""
        rows = self._read(f"SELECT copy FROM verdicts WHERE {HOLDS} AND expires_at < ?", (now,))
        return [copy for (copy,) in rows]
