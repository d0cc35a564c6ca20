"""The table of decisions."""

from __future__ import annotations

import json

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.decision import Decision, Reason


class Ledger:
    """One row for each decision, with its evidence; the outcome is added where the URL was fetched all the same."""

    def __init__(self, connection: Connection) -> None:
        self._read, self._write = connection.read, connection.write

    def record(self, url_id: int, decision: Decision, at: float) -> None:
        """Write *decision* about a URL, made at *at* (seconds since the epoch)."""
        assert decision.reason is not None
        self._write(
            "INSERT INTO decisions (at, url, action, wanted, reason, probability, evidence, is_sampled)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
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
        """Tell whether a decision for *reason* was written about a URL."""
        sql = "SELECT 1 FROM decisions WHERE url = ? AND reason = ?"
        return self._read(sql, (url_id, reason.value)).fetchone() is not None

    def settle(self, url_id: int, outcome: str) -> bool:
        """Write what fetching a URL showed that was to be dropped; ``False`` if it was not to be dropped."""
        changed = self._write(
            "UPDATE decisions SET outcome = ? WHERE url = ? AND wanted = 'drop' AND action = 'fetch'"
            " AND outcome IS NULL",
            (outcome, url_id),
        ).rowcount
        return changed > 0

    def rules_for(self, form: str) -> list[int]:
        """Return the ids of the DUST rules because of which the canonical *form* was to be fetched for others."""
        rows = self._read(
            "SELECT DISTINCT json_extract(evidence, '$.rules') FROM decisions WHERE reason = 'dust-rule'"
            " AND json_extract(evidence, '$.fetched') = 0 AND json_extract(evidence, '$.canonical') = ?",
            (form,),
        )
        return [rule for (rules,) in rows for rule in json.loads(rules)]

    def outcomes(self) -> dict[str, int]:
        """Return outcome -> number of URLs that were to be dropped and were fetched all the same."""
        return dict(
            self._read("SELECT outcome, COUNT(DISTINCT url) FROM decisions WHERE outcome IS NOT NULL GROUP BY 1")
        )
