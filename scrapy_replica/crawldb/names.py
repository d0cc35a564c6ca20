"""The table of names: URLs that pages say are theirs, by ``rel=canonical`` and ``rel=shortlink``."""

from __future__ import annotations

from collections.abc import Collection

from scrapy_replica.crawldb.key_set import KeySet
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.table import Table


class NameTable(Table):
    """One row for each URL that a page named and that it was not fetched by."""

    def __init__(self, connection: Connection, *, is_own: bool) -> None:
        super().__init__(connection)
        self._keys = KeySet(connection, "names", "key", is_own=is_own)

    def enter(self, key: int, url_id: int, callback: str) -> None:
        """Write down that the page of that URL (its id), which *callback* got, says that *key* is a URL of its own.

        One that several pages claim is none of any: all parts of a list call its first part canonical.
        """
        self._keys.add(key)
        self._write(
            "INSERT INTO names VALUES (?1, ?2, ?3) ON CONFLICT (key) DO UPDATE SET url = 0 WHERE url <> ?2",
            (key, url_id, callback),
        )

    def pages_of(self, keys: Collection[int]) -> dict[int, tuple[int, str]]:
        """Return the id of the only page that says that the URL under a key is its own, and the callback that got it.

        Of those *keys* of which a page says so.
        """
        wanted = [key for key in keys if key in self._keys]
        rows = self._connection.rows_of("SELECT key, url, callback FROM names WHERE url > 0 AND key IN", wanted)
        return {key: (url_id, callback) for key, url_id, callback in rows}
