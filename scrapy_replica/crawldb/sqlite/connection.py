"""One SQLite file with one open transaction."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.sqlite.schema import APPLICATION_ID, KEYS, SCHEMA, VERSION

CACHE_KIB = 8 * 1024
"""SQLite's page cache. The system caches the file as well; with 24 MiB a commit costs a third more CPU time."""

CHECKPOINT_PAGES = 500
"""Pages of 4 KiB after which a commit copies the log into the file: some 18 ms with ten million URLs, and 120 ms with
10,000 pages; fewer cost more in total."""

LOOKED_UP = 64
"""Keys that one statement looks up; fewer are filled up to a power of two, so that few statements are prepared."""

PACKAGE, RELEASE = "scrapy-replica", "release"
"""What is released, and where a file says which release made it."""

STATEMENTS = 256
"""Prepared statements kept; there are about a hundred."""


class OtherVersionError(StoreError):
    """The file is of another version than this release reads."""


def signed(value: int) -> int:
    """Return the unsigned 64-bit *value* as SQLite stores it."""
    return value - (1 << 64) if value >= 1 << 63 else value


ADVICE = (
    ("full", "free some space; the same command goes on with the job from its last commit"),
    ("locked", "end the program that has it open; the same command goes on with the job from its last commit"),
    ("readonly", "let it be written to; the same command goes on with the job from its last commit"),
    ("malformed", "'scrapy replica doctor JOB --salvage NEWJOB' reads what can be read of the job into a new one"),
    ("codec", "'scrapy replica doctor JOB --salvage NEWJOB' reads what can be read of the job into a new one"),
    ("not a database", "'scrapy replica doctor JOB --salvage NEWJOB' reads what can be read of the job into a new one"),
    ("", "look at the disk; the same command goes on with the job from its last commit"),
)
"""What of SQLite's words tells what to do."""

MOST_TOLD = 200
"""Characters of them: they may hold the whole text of a damaged statement."""

UNREADABLE = (sqlite3.DatabaseError, UnicodeDecodeError, MemoryError)
"""What reading a damaged file raises: its words may be no UTF-8, its lengths beyond all memory."""


def advice(error: BaseException | str) -> str:
    """Return what to do about an *error* of the file."""
    return next(what for words, what in ADVICE if words in str(error))


def told(error: BaseException) -> str:
    """Return the words of an *error* of the file, in one line."""
    return " ".join(str(error).split())[:MOST_TOLD] or type(error).__name__


def unpacked(packed: bytes) -> Any:
    """Return the JSON value that was packed with zlib.

    :raises StoreError: it is damaged.
    """
    try:
        return json.loads(zlib.decompress(packed).decode("utf-8", "surrogatepass"))
    except (zlib.error, ValueError) as error:
        raise damaged(str(error)) from None


def damaged(why: str) -> StoreError:
    """Return what is raised where a row makes no sense."""
    what = f"malformed row: {why}"
    return StoreError(f"the crawl database cannot be used ({what}): {advice(what)}")


def is_of_file(error: BaseException) -> bool:
    """Tell whether *error* is one of the file; else a value cannot be stored, and its statement alone is undone.

    Our statements write no key twice: where SQLite says so, index and table disagree.
    """
    return not isinstance(error, (sqlite3.ProgrammingError, sqlite3.DataError)) and (
        not isinstance(error, sqlite3.IntegrityError) or "UNIQUE" in str(error)
    )


class NewId(Protocol):
    """Gives the number of a new row of a table; ``None``: the next one, which SQLite gives."""

    def __call__(self, table: str, *names: str) -> int | None:
        """Return the number; rows of the same *names* have the same, where there are any."""


def next_id(table: str, *names: str) -> int | None:
    """Leave it to SQLite: nobody else writes these tables."""


class _Sqlite(sqlite3.Connection):
    failed: Callable[[BaseException], StoreError]


class _Cursor(sqlite3.Cursor):
    """Whose rows may turn out to be unreadable later than the statement; costs 0.4 us a statement."""

    connection: _Sqlite

    def fetchone(self) -> Any:
        try:
            return super().fetchone()
        except UNREADABLE as error:
            raise self.connection.failed(error) from error

    def fetchall(self) -> list[Any]:
        try:
            return super().fetchall()
        except UNREADABLE as error:
            raise self.connection.failed(error) from error

    def __next__(self) -> Any:
        try:
            return super().__next__()
        except UNREADABLE as error:
            raise self.connection.failed(error) from error


class Connection:
    """A connection whose writes since the last :meth:`commit` form one transaction.

    An error of the file (disk full, a page that cannot be read) is raised as ``StoreError``, and every further call
    raises it again: SQLite has taken the open transaction back by then, and nothing may be built on what is left in
    memory. A value that cannot be stored is no such error: it is raised as sqlite3 raises it.

    :param path: the file, or ``None`` for a database in memory.
    :param is_reader: only read, a file that must be there and that a crawl may have open.
    :param setting: what says where the file lies.
    :raises StoreError: the file is not ours, or of another version, or its URLs are keyed otherwise.
    """

    def __init__(self, path: Path | None, *, is_reader: bool = False, setting: str = "JOBDIR") -> None:
        self.path = path
        self.new_id: NewId = next_id
        self._error: StoreError | None = None
        name = f"{path.absolute().as_uri()}?mode=ro" if is_reader and path else path or ":memory:"
        try:
            self._sqlite = sqlite3.connect(
                name, uri=is_reader, isolation_level=None, timeout=10, cached_statements=STATEMENTS, factory=_Sqlite
            )
        except sqlite3.Error as error:
            raise StoreError(f"{path} cannot be opened ({error}): give another {setting}") from None
        self._sqlite.failed = self._failed
        self._cursor, self._execute = self._sqlite.cursor, self._sqlite.execute
        try:
            if is_reader:
                self._check()
            else:
                self._open()
        except UNREADABLE as error:
            self._sqlite.close()
            what = "is not a crawl database" if "not a database" in str(error) else "cannot be used"
            raise StoreError(f"{path} {what} ({told(error)}): give another {setting}, or {advice(error)}") from None
        except StoreError:
            self._sqlite.close()
            raise

    def _open(self) -> None:
        if self._execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0] == 0:
            self._create()
        else:
            self._check()
        self._execute("PRAGMA journal_mode = WAL")
        # A commit survives the death of the process; an fsync at each one would only add survival of power cuts, at
        # 0.1 ms a page and more.
        self._execute("PRAGMA synchronous = NORMAL")
        self._execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        # What a savepoint may have to take back is else written to a file: 0.1 ms for a page of 20 links.
        self._execute("PRAGMA temp_store = MEMORY")
        self._execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")

    def _create(self) -> None:
        # In one transaction, lest a kill leave a file that is refused for ever.
        self._sqlite.executescript(
            f"BEGIN IMMEDIATE;{SCHEMA}PRAGMA application_id = {APPLICATION_ID};"
            f"INSERT INTO meta VALUES ('version', X'{str(VERSION).encode().hex()}'),"
            f" ('fingerprints', X'{KEYS.encode().hex()}'), ('{RELEASE}', X'{version(PACKAGE).encode().hex()}');COMMIT;"
        )

    def _check(self) -> None:
        if self._execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise StoreError(f"{self.path} is not a crawl database: give another JOBDIR")
        for key, wanted in (("version", str(VERSION)), ("fingerprints", KEYS)):
            found = (self.meta(key) or b"none").decode("utf-8", "replace")
            if found != wanted:
                began = (self.meta(RELEASE) or b"").decode("utf-8", "replace")
                by = f"{PACKAGE} {began}, which began it" if began else "the release that began it"
                raise OtherVersionError(
                    f"{self.path} has {key} {found}, this release reads {wanted}: "
                    f"finish that crawl with {by}, or give another JOBDIR"
                )

    def _failed(self, error: BaseException) -> StoreError:
        name = self.path or "the crawl database in memory"
        self._error = StoreError(f"{name} cannot be used any more ({told(error)}): {advice(error)}")
        return self._error

    def read(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute *sql*, a query."""
        if self._error is not None:
            raise self._error
        try:
            return self._cursor(_Cursor).execute(sql, values)
        except UNREADABLE as error:
            if not is_of_file(error):
                raise
            raise self._failed(error) from error

    def rows_of(self, sql: str, keys: Collection[int]) -> list[Any]:
        """Return the rows that *sql*, which ends with ``IN``, gives for *keys*, in no order."""
        wanted = list(keys)
        rows: list[Any] = []
        for start in range(0, len(wanted), LOOKED_UP):
            some = wanted[start : start + LOOKED_UP]
            places = 1 << (len(some) - 1).bit_length()
            some += some[-1:] * (places - len(some))
            rows += self.read(f"{sql} ({','.join('?' * places)})", some)
        return rows

    def write(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Execute *sql* in the open transaction, beginning one if there is none."""
        self.begin()
        return self.read(sql, values)

    def write_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute *sql* for each of *rows* in the open transaction."""
        self.begin()
        try:
            self._sqlite.executemany(sql, rows)
        except sqlite3.DatabaseError as error:
            if not is_of_file(error):
                raise
            raise self._failed(error) from error

    def begin(self) -> None:
        if not self._sqlite.in_transaction:
            self.read("BEGIN IMMEDIATE")

    @contextmanager
    def span(self) -> Iterator[None]:
        """Take back what is written inside if it raises."""
        is_first = not self._sqlite.in_transaction  # then the transaction itself is the span
        self.read("BEGIN IMMEDIATE" if is_first else "SAVEPOINT span")
        try:
            yield
        except BaseException as error:
            if isinstance(error, sqlite3.DatabaseError) and is_of_file(error):
                raise self._failed(error) from error
            if self._error is None:
                self.read("ROLLBACK" if is_first else "ROLLBACK TO span")
                if not is_first:
                    self.read("RELEASE span")
            raise
        if not is_first:
            self.read("RELEASE span")

    def commit(self) -> None:
        """Make everything since the last commit durable."""
        if self._error is not None:
            raise self._error
        if self._sqlite.in_transaction:
            self.read("COMMIT")

    def close(self) -> None:
        try:
            self.commit()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close without a commit."""
        self._error = self._error or StoreError(f"{self.path or 'the crawl database in memory'} is closed")
        with suppress(sqlite3.Error):
            self._sqlite.close()

    def meta(self, key: str) -> bytes | None:
        """Return what :meth:`set_meta` stored under *key*."""
        row = self.read("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def sums(self, key: str) -> dict[str, int]:
        """Return the sums that processes added under *key*."""
        total = Counter[str]()
        for (value,) in self.read("SELECT value FROM meta WHERE key >= ? AND key < ?", (f"{key}: ", f"{key}:!")):
            total.update(json.loads(value))
        return dict(total)

    def set_meta(self, key: str, value: bytes) -> None:
        """Store *value*, the state of some part of the crawl."""
        self.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
