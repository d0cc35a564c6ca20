"""The table of decisions."""

from __future__ import annotations

import json

from scrapy_replica.crawldb.sqlite.table import Table
from scrapy_replica.decision import Decision, Reason


class LedgerTable(Table):
    """One row for each decision, with its evidence."""

    def record(self, url_id: int, decision: Decision, at: float) -> None:
        """Write *decision* about a URL, made at *at* (seconds since the epoch)."""
        assert decision.reason is not None
        self._write(
            "INSERT INTO decisions (id, at, url, action, wanted, reason, probability, evidence, is_sampled)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._connection.new_id("decisions"),
                at,
                url_id,
                decision.action.value,
                decision.wanted.value,
                decision.reason.value,
                decision.probability,
                json.dumps(decision.evidence),
                decision.is_sampled,
            ),
        )

    def knows(self, url_id: int, reason: Reason) -> bool:
        return self._has("SELECT 1 FROM decisions WHERE url = ? AND reason = ?", url_id, reason.value)

    def last(self, url_id: int) -> tuple[str, str] | None:
        sql = "SELECT action, reason FROM decisions WHERE url = ? ORDER BY id DESC LIMIT 1"
        row: tuple[str, str] | None = self._read(sql, (url_id,)).fetchone()
        return row
