"""One SQLite file with one open transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scrapy_replica.crawldb.sqlite.schema import APPLICATION_ID, KEYS, SCHEMA, VERSION

CACHE_KIB = 24 * 1024
"""SQLite's page cache. With 24 MiB, discovering is bound by the CPU to a million waiting URLs."""


class DatabaseError(ValueError):
    """The file cannot be used: one line that names it and says what to do."""


def signed(value: int) -> int:
    """Return the unsigned 64-bit *value* as SQLite stores it."""
    return value - (1 << 64) if value >= 1 << 63 else value


class Connection:
    """A connection whose writes since the last :meth:`commit` form one transaction.

    :param path: the file, or ``None`` for a database in memory.
    :raises DatabaseError: the file is not ours, or of another version, or its URLs are keyed otherwise.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._sqlite = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=10)
        self.read = self._sqlite.execute
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            self._sqlite.close()
            raise DatabaseError(f"{path} is not a crawl database ({error}): give another JOBDIR") from None
        except DatabaseError:
            self._sqlite.close()
            raise

    def _open(self) -> None:
        self.read("PRAGMA journal_mode = WAL")
        # A commit survives the death of the process; an fsync at each one would only add survival of power cuts, at
        # 0.1 ms a page and more.
        self.read("PRAGMA synchronous = NORMAL")
        self.read(f"PRAGMA cache_size = -{CACHE_KIB}")
        self.read("PRAGMA wal_autocheckpoint = 10000")
        if self.read("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0:
            self._sqlite.executescript(f"BEGIN IMMEDIATE;{SCHEMA}PRAGMA application_id = {APPLICATION_ID};COMMIT;")
            self.set_meta("version", str(VERSION).encode())
            self.set_meta("fingerprints", KEYS.encode())
            self.commit()
        self._check()

    def _check(self) -> None:
        if self.read("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise DatabaseError(f"{self.path} is not a crawl database: give another JOBDIR")
        for key, wanted in (("version", str(VERSION)), ("fingerprints", KEYS)):
            found = (self.meta(key) or b"none").decode()
            if found != wanted:
                raise DatabaseError(
                    f"{self.path} has {key} {found}, this release reads {wanted}: "
                    f"finish that crawl with the release that began it, or give another JOBDIR"
                )

    def write(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute *sql* in the open transaction, beginning one if there is none."""
        if not self._sqlite.in_transaction:
            self.read("BEGIN IMMEDIATE")
        return self.read(sql, values)

    def commit(self) -> None:
        """Make everything since the last commit durable."""
        if self._sqlite.in_transaction:
            self.read("COMMIT")

    def close(self) -> None:
        """Commit and close."""
        self.commit()
        self._sqlite.close()

    def meta(self, key: str) -> bytes | None:
        """Return what :meth:`set_meta` stored under *key*."""
        row = self.read("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def set_meta(self, key: str, value: bytes) -> None:
        """Store *value*, the state of some part of the crawl."""
        self.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
