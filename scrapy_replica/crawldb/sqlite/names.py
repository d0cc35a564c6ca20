"""The table of names: URLs that pages say are theirs, by ``rel=canonical`` and ``rel=shortlink``."""

from __future__ import annotations

from scrapy_replica.crawldb.sqlite.connection import Connection


class NameTable:
    """One row for each URL that a page named and that it was not fetched by."""

    def __init__(self, connection: Connection) -> None:
        self._read, self._write = connection.read, connection.write

    def enter(self, key: int, url_id: int, callback: str) -> None:
        """Write down that the page of that URL (its id), which *callback* got, says that *key* is a URL of its own.

        One that several pages claim is none of any: all parts of a list call its first part canonical.
        """
        self._write(
            "INSERT INTO names VALUES (?1, ?2, ?3) ON CONFLICT (key) DO UPDATE SET url = 0 WHERE url <> ?2",
            (key, url_id, callback),
        )

    def page_of(self, key: int, callback: str) -> int | None:
        """Return the id of the only page that says that the URL under *key* is its own, if *callback* got it."""
        row = self._read("SELECT url FROM names WHERE key = ? AND callback = ? AND url > 0", (key, callback)).fetchone()
        return int(row[0]) if row is not None else None

    def has_any(self) -> bool:
        """Tell whether any page named another URL."""
        return self._read("SELECT 1 FROM names LIMIT 1").fetchone() is not None
