"""The tables of what asking for URLs again showed, and of what hosts say about changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scrapy_replica.crawldb.revisits import Done, History
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.schema import DONE

# The fields of the records are columns; the host is that of the URL.
COLUMNS = ", ".join(f"revisits.{name}" for name in History._fields)

MOST_OF_PAGE = 100
"""URLs of one page that are looked at."""

INSERT = (
    f"INSERT OR REPLACE INTO revisits ({', '.join(History._fields)}, host)"
    f" VALUES ({', '.join('?' * len(History._fields))}, (SELECT host FROM urls WHERE id = ?1))"
)


class RevisitTable:
    """One row for each URL that was asked for, and one for each host that was drawn."""

    def __init__(self, connection: Connection) -> None:
        self._read, self._write, self._write_many = connection.read, connection.write, connection.write_many

    def of(self, url_id: int) -> History | None:
        """Return the history of the URL of that id; ``None`` if there is none."""
        row = self._read(f"SELECT {COLUMNS} FROM revisits WHERE url = ?", (url_id,)).fetchone()
        return None if row is None else _history(row)

    def enter(self, history: History) -> None:
        """Keep *history* in place of an earlier one of its URL."""
        changed = np.array(history.changed, dtype="<f4").tobytes()
        items = np.array(sorted(history.items), dtype="<i8").tobytes()
        self._write(INSERT, history._replace(changed=changed, items=items))  # type: ignore[arg-type]

    def of_page(self, page: int) -> list[History]:
        """Return the histories of the URLs that had that page."""
        rows = self._read(f"SELECT {COLUMNS} FROM revisits WHERE page = ? LIMIT {MOST_OF_PAGE}", (page,))
        return [_history(row) for row in rows]

    def done_after(self, url_id: int, most: int) -> list[Done]:
        """Return the histories of at most so many URLs that are done, and where they lie, in the order of ids."""
        rows = self._read(
            f"SELECT {COLUMNS}, hosts.name, urls.depth FROM revisits JOIN urls ON urls.id = revisits.url"
            f" JOIN hosts ON hosts.id = revisits.host WHERE revisits.url > ? AND urls.state = {DONE}"
            " ORDER BY revisits.url LIMIT ?",
            (url_id, most),
        )
        return [Done(_history(row[:-2]), *row[-2:]) for row in rows]

    def forget_terms(self, url_ids: Iterable[int]) -> None:
        """Take note that no callback is through with the pages of the URLs of these ids."""
        self._write_many("UPDATE revisits SET terms = NULL WHERE url = ?", [(url_id,) for url_id in url_ids])

    def changes_of_hosts(self) -> Mapping[str, tuple[int, int, float]]:
        """Return for each host its visits beyond the first to each URL, those that found a change, and the seconds."""
        rows = self._read(
            "SELECT name, SUM(visits - 1), SUM(changes), SUM(checked_at - first_at)"
            " FROM revisits JOIN hosts ON hosts.id = revisits.host WHERE visits > 1 GROUP BY name"
        )
        return {name: (visits, changes, seconds) for name, visits, changes, seconds in rows}

    def believed_of(self, host: str, most: int) -> list[History]:
        """Return the histories of at most so many URLs of *host* whose last visit was answered by 304."""
        rows = self._read(
            f"SELECT {COLUMNS} FROM revisits INDEXED BY believed"
            " WHERE host IN (SELECT id FROM hosts WHERE name = ?) AND believed > 0 LIMIT ?",
            (host, most),
        )
        return [_history(row) for row in rows]

    def is_doubted(self, host: str) -> bool:
        """Tell whether a page of *host* changed and its ETag and Last-Modified did not."""
        return self._read("SELECT 1 FROM doubted WHERE host = ?", (host,)).fetchone() is not None

    def doubt(self, host: str) -> None:
        """Keep that this is so of *host*."""
        self._write("INSERT OR IGNORE INTO doubted VALUES (?)", (host,))


def _history(row: Sequence[Any]) -> History:
    history = History(*row)
    changed: Any = history.changed
    items: Any = history.items
    return history._replace(
        changed=tuple(np.frombuffer(changed, dtype="<f4").tolist()),
        items=frozenset(np.frombuffer(items, dtype="<i8").tolist()),
    )
