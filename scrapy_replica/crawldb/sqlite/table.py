"""What every table of a job is read and written by."""

from __future__ import annotations

from typing import Any

from scrapy_replica.crawldb.sqlite.connection import Connection

OF_HOST = "host IN (SELECT id FROM hosts WHERE name = ?)"
"""Condition on the rows of a host, which has a number for each of its download slots."""


class Table:
    """Some tables of the database behind a *connection*."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read, self._write, self._write_many = connection.read, connection.write, connection.write_many

    def _cell(self, sql: str, *values: object) -> Any | None:
        """Return the first column of the first row that *sql* finds; ``None`` if it finds none."""
        row = self._read(sql, values).fetchone()
        return row[0] if row is not None else None

    def _column(self, sql: str, *values: object) -> list[Any]:
        """Return the first column of the rows that *sql* finds."""
        return [row[0] for row in self._read(sql, values)]

    def _number(self, sql: str, *values: object) -> int:
        """Return the number that *sql* counts or adds up."""
        return int(self._read(sql, values).fetchone()[0])

    def _has(self, sql: str, *values: object) -> bool:
        """Tell whether *sql* finds anything."""
        return self._read(sql, values).fetchone() is not None
