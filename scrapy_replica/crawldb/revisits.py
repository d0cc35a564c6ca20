"""What asking for URLs again showed, and what hosts say about changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from scrapy_replica.crawldb.sqlite.schema import DONE
from scrapy_replica.crawldb.sqlite.table import OF_HOST, Table
from scrapy_replica.words.phrases import passed


class History(NamedTuple):
    """What asking for a URL showed so far; times are seconds since the epoch."""

    url: int
    """Id of the URL."""
    payload: bytes | None = None
    """Its request where it is more than a plain GET."""
    etag: str | None = None
    last_modified: str | None = None
    body: int | None = None
    """Signed 64-bit hash of the body last sent; ``None`` where there was none."""
    content: bytes | None = None
    """Stands for what counts of it: its main text, or where it redirects to; ``None`` where it never had a page."""
    size: int = 0
    """Bytes of that body, as sent."""
    visits: int = 0
    """That brought it, or word that it is as it was."""
    changes: int = 0
    """Visits that found it changed."""
    first_at: float = 0.0
    seen_at: float = 0.0
    """When its body was sent last."""
    checked_at: float = 0.0
    """When it was visited last."""
    believed: int = 0
    """Visits since its body was sent, all answered by 304."""
    unchanged_s: float = 0.0
    """Sum of the times between visits that found no change, seconds."""
    changed: tuple[float, ...] = ()
    """Times between visits that found a change, seconds; the last few."""
    misses: int = 0
    """Visits in a row that brought nothing."""
    absences: int = 0
    """Of these and those between them the ones that said that there is no page: 404 or 410."""
    gone_at: float | None = None
    """Since when there is no page."""
    callback_fingerprint: int | None = None
    """Under which a callback was through with that body, signed 64-bit hash; ``None`` where none was."""
    kept: bytes | None = None
    """SHA-1 of that body, as sent, if it is kept as WARC."""
    page: int | None = None
    """Signed 64-bit hash of what its last page said and of its URL without session ids; ``None``: it had none."""
    items: frozenset[int] = frozenset()
    """Hashes of the items that the callback gave of that page, word by word but for session ids."""


class Done(NamedTuple):
    """A URL that may be asked for again."""

    history: History
    host: str
    depth: int
    """Links from the seeds; 0 for a seed."""


LAST_PASS = "revisits"  # noqa: S105 - no password
"""Key of the pass over the job that was begun last."""


@dataclass
class Pass:
    """One pass over the URLs of a job."""

    number: int = 0
    began_at: float = 0.0
    """Seconds since the epoch."""
    after: int | None = 0
    """Id of the last URL that was looked at whether it is due; ``None`` when all were."""
    tested: list[int] = field(default_factory=list)
    """Ids of URLs that were answered by 304 and are to be asked for again without a condition."""
    doubted: list[str] = field(default_factory=list)
    """Hosts whose answers by 304 are taken back."""
    counts: dict[str, int] = field(default_factory=dict)
    """What came of it, by the names of the statistics."""
    is_over: bool = True

    @classmethod
    def load(cls, state: bytes | None) -> Pass:
        """Return what :meth:`dump` made; one that never began of ``None``."""
        return cls(**json.loads(state)) if state is not None else cls()

    def dump(self) -> bytes:
        """Return it as bytes to be stored."""
        return json.dumps(vars(self)).encode()

    def in_words(self) -> str:
        """Return what came of it; empty where nothing was asked for."""
        return passed(self.number, self.counts, is_over=self.is_over)


# The fields of the records are columns; the host is that of the URL.
COLUMNS = ", ".join(f"revisits.{name}" for name in History._fields)

MOST_OF_PAGE = 100
"""URLs of one page that are looked at."""

INSERT = (
    f"INSERT OR REPLACE INTO revisits ({', '.join(History._fields)}, host)"
    f" VALUES ({', '.join('?' * len(History._fields))}, (SELECT host FROM urls WHERE id = ?1))"
)


class RevisitTable(Table):
    """One row for each URL that was asked for, and one for each host that was drawn."""

    def of(self, url_id: int) -> History | None:
        row = self._read(f"SELECT {COLUMNS} FROM revisits WHERE url = ?", (url_id,)).fetchone()
        return None if row is None else _history(row)

    def enter(self, history: History) -> None:
        """Keep *history* in place of an earlier one of its URL."""
        changed = np.array(history.changed, dtype="<f4").tobytes()
        items = np.array(sorted(history.items), dtype="<i8").tobytes()
        self._write(INSERT, history._replace(changed=changed, items=items))  # type: ignore[arg-type]

    def of_page(self, page: int) -> list[History]:
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

    def forget_fingerprints(self, url_ids: Iterable[int]) -> None:
        """Take note that no callback is through with the pages of the URLs of these ids."""
        self._write_many(
            "UPDATE revisits SET callback_fingerprint = NULL WHERE url = ?", [(url_id,) for url_id in url_ids]
        )

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
            f"SELECT {COLUMNS} FROM revisits INDEXED BY believed WHERE {OF_HOST} AND believed > 0 LIMIT ?",
            (host, most),
        )
        return [_history(row) for row in rows]

    def is_doubted(self, host: str) -> bool:
        """Tell whether a page of *host* changed and its ETag and Last-Modified did not."""
        return self._has("SELECT 1 FROM doubted WHERE host = ?", host)

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
