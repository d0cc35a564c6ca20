"""The table of verdicts on hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.records import Verdict


class VerdictTable:
    """Verdicts, those that hold and those that ended; none is ever deleted."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read, self._write = connection.read, connection.write

    def enter(self, verdict: Verdict, at: float, expires_at: float | None) -> None:
        """Write *verdict*, reached at *at* (seconds since the epoch)."""
        self._write(
            "INSERT INTO verdicts (id, copy, keeper, copy_prefix, keeper_prefix, score, n_aligned, evidence, at,"
            " expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._connection.new_id("verdicts"),
                verdict.copy,
                verdict.keeper,
                verdict.copy_prefix,
                verdict.keeper_prefix,
                verdict.score,
                verdict.n_aligned,
                json.dumps(dict(verdict.evidence)),
                at,
                expires_at,
            ),
        )

    def end(self, copy: str, why: str) -> None:
        """Write that the verdict on *copy* holds no more: withdrawn, expired or allowed."""
        self._write("UPDATE verdicts SET ended = ? WHERE copy = ? AND ended IS NULL", (why, copy))

    def holding(self) -> Iterator[tuple[Verdict, bool]]:
        """Yield the verdicts that hold, and whether a person gave them."""
        return self._held("ended IS NULL ORDER BY id")

    def of(self, copy: str) -> tuple[Verdict, bool] | None:
        """Return the verdict that holds on *copy*, and whether a person gave it; ``None`` if there is none."""
        return next(self._held("copy = ? AND ended IS NULL ORDER BY id DESC", copy), None)

    def _held(self, condition: str, *values: str) -> Iterator[tuple[Verdict, bool]]:
        rows = self._read(
            "SELECT copy, keeper, copy_prefix, keeper_prefix, score, n_aligned, evidence, expires_at IS NULL"
            f" FROM verdicts WHERE {condition}",
            values,
        )
        for copy, keeper, copy_prefix, keeper_prefix, score, n_aligned, evidence, is_manual in rows:
            verdict = Verdict(copy, keeper, copy_prefix, keeper_prefix, score, n_aligned, json.loads(evidence))
            yield verdict, bool(is_manual)

    def withdrawn(self) -> list[tuple[str, str]]:
        """Return (copy, keeper) of the verdicts that were taken back for good."""
        return self._read("SELECT copy, keeper FROM verdicts WHERE ended = 'withdrawn'").fetchall()

    def expired(self, now: float) -> list[str]:
        """Return the copies whose verdict ended by its age."""
        rows = self._read("SELECT copy FROM verdicts WHERE ended IS NULL AND expires_at < ?", (now,))
        return [copy for (copy,) in rows]
