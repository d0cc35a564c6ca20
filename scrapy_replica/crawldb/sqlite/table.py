"""What every table of a job is read and written by."""

from __future__ import annotations

from scrapy_replica.crawldb.sqlite.connection import Connection


class Table:
    """Some tables of the database behind a *connection*."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read, self._write, self._write_many = connection.read, connection.write, connection.write_many

    def _has(self, sql: str, *values: object) -> bool:
        """Tell whether *sql* finds anything."""
        return self._read(sql, values).fetchone() is not None
