"""The tables of a job in SQLite, kept equal to those of other processes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from scrapy_replica.crawldb.redis.errors import understanding
from scrapy_replica.crawldb.redis.libraries import msgpack
from scrapy_replica.crawldb.redis.server import Server
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.words.terminal import counted

logger = logging.getLogger(__name__)

URLS = "urls"

LOCAL_META = ("version", "fingerprints", "waiting", "last id")
"""Rows of ``meta`` that say something of the SQLite file alone. All other rows of all tables are everybody's."""

OWN_KEYS = {"work": ("work",)}
"""Tables whose rows are told apart otherwise than by their primary key: two processes may begin the same work."""

BATCH = 1_000
"""Rows copied at once."""

BETWEEN_S = 1.0
"""Seconds between two looks at the log while the job is copied."""

TELL_S = 10.0
"""Seconds between two lines of the log about the first copy."""

Row = tuple[Any, ...]

Packed = tuple[str, bytes, bytes | None]
"""Table, key and row, packed; ``None`` for a row that was deleted."""

_PACKER = msgpack.Packer(unicode_errors="surrogatepass")  # making one takes thrice as long as packing a row


def pack(values: Sequence[Any]) -> bytes:
    """Return values of SQLite as MessagePack: bytes stay bytes, and text text, also half a surrogate pair."""
    packed: bytes = _PACKER.pack(values)
    return packed


def unpack(packed: bytes) -> Row:
    values: Row = msgpack.unpackb(packed, use_list=False, unicode_errors="surrogatepass")
    return values


class UrlChange(NamedTuple):
    """A row of ``urls`` that was written."""

    id: int
    before: int | None
    """Its state (a number) before the transaction; ``None``: there was no such row."""
    row: Row | None
    """The row as it is, columns in their order; ``None``: it was deleted."""


class ChangedRows(NamedTuple):
    """What was written since the last commit."""

    rows: list[Packed]
    """Of all tables but ``urls``."""
    urls: list[UrlChange]


class LocalTables:
    """All tables of a connection; what is written to them is noted, until it was shipped, by triggers.

    The notes are in the transaction, so what is rolled back was never written. They cost 3 us a row.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._read, self._write, self.commit = connection.read, connection.write, connection.commit
        self._tables = {table.name: table for table in _tables(connection)}
        self._changed: list[str] = []
        """Tables of which :meth:`changed` returned rows."""
        self._depth = 0
        self._write("CREATE TEMP TABLE applying (is_on INTEGER)")
        for table in self._tables.values():
            for statement in table.statements():
                self._write(statement)
        some = "SELECT '{0}' WHERE EXISTS (SELECT 1 FROM temp.changed_{0})"
        self._touched = " UNION ALL ".join(some.format(name) for name in self._tables)
        connection.commit()

    # What is written here

    def changed(self) -> ChangedRows:
        """Return what was written since the last :meth:`shipped`, each row once, as it is now."""
        changes = ChangedRows([], [])
        self._changed = [name for (name,) in self._read(self._touched).fetchall()]
        for name in self._changed:
            table = self._tables[name]
            n_keys = len(table.key)
            for found in self._read(table.select).fetchall():
                if name == URLS:
                    row = found[2:]
                    changes.urls.append(UrlChange(found[0], found[1], row if row[0] is not None else None))
                else:
                    row = found[n_keys:]
                    packed = pack(row) if row[table.places[0]] is not None else None
                    changes.rows.append((name, pack(found[:n_keys]), packed))
        return changes

    def shipped(self) -> None:
        """Forget what :meth:`changed` returned, in the open transaction."""
        for name in self._changed:
            self._write(f"DELETE FROM temp.changed_{name}")

    # What others wrote

    def apply(self, rows: Iterable[Packed]) -> None:
        """Write rows of others, first written first, in the open transaction; they are not noted as written here.

        A row that was written here and not shipped yet stays: it will be the later one for the others as well.
        """
        tables: dict[str, dict[Row, Row | None]] = {}
        for name, key, row in rows:
            tables.setdefault(name, {})[unpack(key)] = unpack(row) if row is not None else None
        for name, changed in tables.items():
            self._apply(self._tables[name], changed)

    def apply_urls(self, rows: Iterable[tuple[int, Row | None]]) -> None:
        """Write rows of ``urls`` as :meth:`apply` does: id and row, ``None`` for one that was deleted."""
        self._apply(self._tables[URLS], {(url_id,): row for url_id, row in rows})

    def _apply(self, table: _Table, rows: dict[Row, Row | None]) -> None:
        for key in self._read(f"SELECT {', '.join(table.key)} FROM {table.changed}").fetchall():
            rows.pop(key, None)
        with self.silent():
            if gone := [key for key, row in rows.items() if row is None]:
                self._connection.write_many(table.delete, gone)
            if written := [row for row in rows.values() if row is not None]:
                self._connection.write_many(table.upsert, written)

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Do not note what is written inside: it is known to others."""
        self._write("INSERT INTO temp.applying VALUES (1)")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                self._write("DELETE FROM temp.applying")

    def copy(
        self, server: Server, urls: Iterable[Sequence[tuple[int, Row]]], between: Callable[[], object] = lambda: None
    ) -> int:
        """Write all rows of the job, in transactions of a batch each; return how many they are.

        Rows are read from the hashes ``t:TABLE`` (packed key -> packed row), and those of ``urls`` from *urls*, batch
        by batch. What others write meanwhile is in the log; *between* is called every second, to take it over.
        """
        n_rows, told, called = 0, time.monotonic(), time.monotonic()
        copied = self._copied(server, urls)
        while True:
            with understanding(server.address):
                size = next(copied, None)
            if size is None:
                return n_rows
            self._connection.commit()
            n_rows += size
            if time.monotonic() - called >= BETWEEN_S:
                between()
                called = time.monotonic()
            if time.monotonic() - told >= TELL_S:
                told = time.monotonic()
                logger.info("copying the job from %s: %s so far", server.address, counted(n_rows, "row"))

    def _copied(self, server: Server, urls: Iterable[Sequence[tuple[int, Row]]]) -> Iterator[int]:
        for name in self._tables:
            for found in _scan(server, f"t:{name}"):
                self.apply((name, key, row) for key, row in found)
                yield len(found)
        for batch in urls:
            self.apply_urls(batch)
            yield len(batch)


def _scan(server: Server, name: str) -> Iterator[list[tuple[bytes, bytes]]]:
    """Yield the fields of a hash and their values, batch by batch; some may come twice."""
    cursor = b"0"
    while True:
        cursor, found = server.run("HSCAN", server.key(name), cursor, "COUNT", BATCH)
        if found:
            yield list(zip(found[::2], found[1::2], strict=True))
        if cursor == b"0":
            return


def _tables(connection: Connection) -> Iterator[_Table]:
    names = connection.read("SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    for (name,) in names.fetchall():
        columns = connection.read(f"PRAGMA main.table_info({name})").fetchall()
        keys = [(place, column) for _, column, *_, place in columns if place]
        yield _Table(
            name, [column for _, column, *_ in columns], OWN_KEYS.get(name) or [column for _, column in sorted(keys)]
        )


class _Table:
    """A table, and the statements about it."""

    def __init__(self, name: str, columns: Sequence[str], key: Sequence[str]) -> None:
        self.name, self.key = name, key
        self.places = [columns.index(column) for column in key]
        self.changed = f"temp.changed_{name}"
        keys, same = ", ".join(key), " AND ".join(f"{column} = ?" for column in key)
        self.upsert = f"INSERT OR REPLACE INTO {name} VALUES ({', '.join('?' * len(columns))})"
        self.delete = f"DELETE FROM {name} WHERE {same}"
        self._before = ", before" if name == URLS else ""
        self.select = f"SELECT {keys}{self._before}, {name}.* FROM {self.changed} LEFT JOIN {name} USING ({keys})"

    def statements(self) -> Iterator[str]:
        """Yield what makes the list of keys of changed rows, and has it kept."""
        keys = ", ".join(self.key)
        yield f"CREATE TEMP TABLE changed_{self.name} ({keys}{self._before}, PRIMARY KEY ({keys})) WITHOUT ROWID"
        yield self._trigger("INSERT", "new")
        yield self._trigger("UPDATE", "new")
        yield self._trigger("DELETE", "old")
        yield self._trigger(f"UPDATE OF {keys}", "old")

    def _trigger(self, event: str, row: str) -> str:
        values = ", ".join(f"{row}.{column}" for column in self.key)
        if self._before:
            values += ", NULL" if event == "INSERT" else ", old.state"
        local = ", ".join(f"'{key}'" for key in LOCAL_META)
        only = f" AND {row}.key NOT IN ({local})" if self.name == "meta" else ""
        name = event.replace(" ", "_").replace(",", "")
        return (
            f"CREATE TEMP TRIGGER {name}_{self.name} AFTER {event} ON main.{self.name}"
            f" WHEN NOT EXISTS (SELECT 1 FROM temp.applying){only}"
            f" BEGIN INSERT OR IGNORE INTO changed_{self.name} VALUES ({values}); END"
        )
