"""Which keys a table may have, so that most of those that it has not are not looked for."""

from __future__ import annotations

from scrapy_replica.crawldb.sqlite.connection import Connection

MOST_HELD = 100_000
"""Keys that are held of a column, 60 bytes each; a table with more rows is asked for every key."""


class KeySet:
    """The keys that a *column* of a *table* has, and those that it gets.

    :param is_own: nobody else writes the table, which is so where one process has the whole crawl; otherwise any key
        may be there.
    """

    def __init__(self, connection: Connection, table: str, column: str, *, is_own: bool) -> None:
        self._keys: set[int] | None = None
        if is_own:
            sql = f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT ?"
            rows = connection.read(sql, (MOST_HELD + 1,)).fetchall()
            self._keys = {key for (key,) in rows} if len(rows) <= MOST_HELD else None

    def __contains__(self, key: int) -> bool:
        return self._keys is None or key in self._keys

    def add(self, key: int) -> None:
        """Take note that the column has *key*, or is about to."""
        if self._keys is not None:
            self._keys.add(key)
            if len(self._keys) > MOST_HELD:
                self._keys = None
