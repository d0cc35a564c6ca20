"""The table of samples: what was to be dropped and is fetched all the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from scrapy_replica.crawldb.samples import Sample
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.decision import Outcome, Reason

COLUMNS = "url, cause, reason, target, corner, weight, outcome"


class SampleTable:
    """One row for each URL and cause."""

    def __init__(self, connection: Connection) -> None:
        self._read, self._write, self._write_many = connection.read, connection.write, connection.write_many

    def enter(self, samples: Iterable[Sample]) -> None:
        rows = [(*sample[:2], _value(sample.reason), *sample[3:6], _value(sample.outcome)) for sample in samples]
        self._write_many(f"INSERT OR IGNORE INTO samples ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)

    def of_url(self, url_id: int) -> list[Sample]:
        return self._samples("url = ?", url_id)

    def of_cause(self, cause: str) -> list[Sample]:
        return self._samples("cause = ?", cause)

    def _samples(self, condition: str, value: int | str) -> list[Sample]:
        return [_sample(row) for row in self._read(f"SELECT {COLUMNS} FROM samples WHERE {condition}", (value,))]

    def awaiting(self, target: int) -> list[int]:
        rows = self._read("SELECT url FROM samples WHERE target = ? AND outcome IS NULL", (target,))
        return list(dict.fromkeys(url for (url,) in rows))

    def settle(self, url_id: int, outcome: Outcome, cause: str | None = None) -> list[Sample]:
        rows = self._write(
            "UPDATE samples SET outcome = ?1 WHERE url = ?2 AND outcome IS NULL AND cause = COALESCE(?3, cause)"
            f" RETURNING {COLUMNS}",
            (outcome.value, url_id, cause),
        )
        return [_sample(row) for row in rows.fetchall()]

    def reconsider(self, url_id: int) -> list[Sample]:
        rows = self._write(
            f"UPDATE samples SET outcome = ? WHERE url = ? AND outcome = ? RETURNING {COLUMNS}",
            (Outcome.OTHER.value, url_id, Outcome.SAME.value),
        ).fetchall()
        return [_sample(row) for row in rows]

    def retire(self, mark: str) -> None:
        for kind in ("host", "rule", "rules"):
            self._write(
                "UPDATE samples SET cause = ?1 || cause WHERE cause > ?2 AND cause < ?3 AND outcome IS NOT NULL",
                (mark, f"{kind} ", f"{kind}!"),
            )

    def settled(self) -> Iterator[tuple[Reason, Outcome, float, float, int]]:
        rows = self._read(
            "SELECT reason, outcome, SUM(weight), SUM(weight * weight), COUNT(*) FROM samples"
            " WHERE reason IS NOT NULL AND outcome IS NOT NULL GROUP BY reason, outcome"
        )
        for reason, outcome, *sums in rows:
            yield Reason(reason), Outcome(outcome), *sums


def _value(one: Reason | Outcome | None) -> str | None:
    return one.value if one is not None else None


def _sample(row: tuple[Any, ...]) -> Sample:
    url_id, cause, reason, target, corner, weight, outcome = row
    return Sample(
        url_id,
        cause,
        Reason(reason) if reason is not None else None,
        target,
        corner,
        weight,
        Outcome(outcome) if outcome is not None else None,
    )
