"""A new job of what can be read of a damaged one.

What was lost must not be lost for the crawl: pages whose links fell into a gap are fetched again, and what was dropped
waits again unless what stands for it is there. That costs fetches; the other way it would cost pages.
"""

from __future__ import annotations

import json
import pickletools
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_replica.address import host_of, name_of
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawldb.contract import SPIDER, StoreError
from scrapy_replica.crawldb.reader import Salvaged
from scrapy_replica.crawldb.rules import RuleTable
from scrapy_replica.crawldb.sqlite.connection import Connection, OtherVersionError
from scrapy_replica.crawldb.sqlite.damaged import DamagedFile, Row
from scrapy_replica.crawldb.sqlite.database import FILE_NAME
from scrapy_replica.crawldb.sqlite.schema import DONE, DROPPED, LEASED, SCHEMA, STATES, WAITING
from scrapy_replica.crawldb.sqlite.urls import WAITING_META
from scrapy_replica.crawldb.texts import is_sound
from scrapy_replica.crawldb.verdicts import VerdictTable
from scrapy_replica.decision import Action, Outcome, Reason
from scrapy_replica.records import Novelty

LEFT_OUT = frozenset({"meta", "visits", "checkpoints", "blocks", "captures"})
"""What the crawl makes anew: half of a model or of a checkpoint is none."""

KNOWN_BY_SHAPE = ("samples", "claims")
"""Tables without row ids whose rows are known wherever they are found. What claims suppressed is not among them: an
entry of its index looks the same, and without it a URL comes back, which costs a fetch."""

BATCH = 1_000
NEAR = 50
"""URLs beside a gap whose pages tell when it was filled; a page gives a few of them."""

SLACK = 1.0
"""Seconds that links of a page may be entered later than those of a page fetched after it: callbacks that wait."""

_READ: Mapping[str, Callable[[Any], object]] = {
    "action": Action,
    "wanted": Action,
    "reason": Reason,
    "novelty": Novelty,
    "outcome": Outcome,
    "claim": Claim.read,
}
_JSON = frozenset({"evidence", "neighbours", "statements", "aliases", "rule", "proofs", "fields", "what"})
_TYPES: Mapping[str, tuple[type, ...]] = {"INTEGER": (int,), "REAL": (float, int), "TEXT": (str,), "BLOB": (bytes,)}


class Column(NamedTuple):
    """A column as the schema declares it."""

    name: str
    type: str
    is_null: bool
    """It may be NULL: in a record the id always is."""


def salvage(damaged: Path, folder: Path) -> Salvaged:
    """Read what can be read of the file *damaged* into a new job in *folder*.

    :raises StoreError: there is a job already, nothing could be read, or the file is of another version.
    :raises OSError: the file cannot be read, or the folder not be made.
    """
    if (folder / FILE_NAME).exists():
        raise StoreError(f"{folder / FILE_NAME} is there already: give a new folder")
    try:
        Connection(damaged, is_reader=True).abandon()
    except OtherVersionError:  # sound or not, its rows are not those of today
        raise
    except StoreError:
        pass
    source = DamagedFile(damaged)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    connection = Connection(folder / FILE_NAME)
    try:
        read = _copy(source, connection)
        if not read["urls"]:
            raise StoreError(f"{damaged}: no URL of a crawl can be read in it")
        salvaged = _mend(connection, read, is_cut=source.is_cut, n_unreadable=source.n_unreadable)
        connection.commit()
        return salvaged
    except BaseException:
        connection.abandon()
        (folder / FILE_NAME).unlink()
        for path in made:
            path.rmdir()
        raise
    finally:
        connection.abandon()


# Reading


def _copy(source: DamagedFile, connection: Connection) -> Counter[str]:
    """Enter the rows that make sense; return how many of each table."""
    tables, read = _tables(), Counter[str]()
    rows = ((table, row) for row in source.rows() if (table := _table_of(row, tables, connection)) is not None)
    while batch := list(islice(rows, BATCH)):
        for table in {table for table, _ in batch}:
            places = ",".join("?" * len(tables[table]))
            sql = f"INSERT OR IGNORE INTO {table} VALUES ({places})"
            connection.write_many(sql, [_with_id(row) for of, row in batch if of == table])
    for table in tables:
        read[table] = connection.read(f"SELECT COUNT(*) FROM {table}").fetchone()[0]
    return read


def _with_id(row: Row) -> tuple[Any, ...]:
    return row.values if row.id is None else (row.id, *row.values[1:])


def _tables() -> dict[str, list[Column]]:
    """Return the columns of the tables to copy."""
    empty = sqlite3.connect(":memory:")
    empty.executescript(SCHEMA)
    names = [name for (name,) in empty.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    tables = {}
    for name in names:
        if name not in LEFT_OUT:
            columns = empty.execute(f"PRAGMA table_info({name})").fetchall()
            tables[name] = [Column(c[1], c[2], not c[3] or (c[5] > 0 and c[2] == "INTEGER")) for c in columns]
    empty.close()
    return tables


def _table_of(row: Row, tables: Mapping[str, list[Column]], connection: Connection) -> str | None:
    """Return the table that *row* belongs to: where it was found, or the only one that it fits."""
    if row.table == "meta":
        if row.values[0] == SPIDER and isinstance(row.values[1], bytes):
            connection.set_meta(SPIDER, row.values[1])
        return None
    if row.table is not None and row.table in tables and _fits(row, tables[row.table]):
        return row.table
    possible = tables if row.id is not None else KNOWN_BY_SHAPE
    fitting = [name for name in possible if _fits(row, tables[name])]
    return fitting[0] if len(fitting) == 1 else None


def _fits(row: Row, columns: list[Column]) -> bool:
    if len(row.values) != len(columns):
        return False
    has_id = row.id is not None and columns[0].type == "INTEGER"
    if has_id != (row.values[0] is None and row.id is not None and row.id > 0):
        return False
    pairs = list(zip(row.values, columns, strict=True))[has_id:]
    return all(_is_sound(value, column) for value, column in pairs)


def _is_sound(value: Any, column: Column) -> bool:
    if value is None:
        return column.is_null
    if not isinstance(value, _TYPES[column.type]):
        return False
    if column.name == "url" and isinstance(value, str):
        return value.isprintable() and ":" in value
    if column.name == "payload" and isinstance(value, bytes):
        return _is_request(value)
    if column.name == "terms" and isinstance(value, bytes):
        return is_sound(value)
    if column.name == "state" and isinstance(value, int):
        return 0 <= value < len(STATES)
    try:
        if column.name in _READ:
            _READ[column.name](value)
        elif isinstance(value, str) and column.name in _JSON:
            json.loads(value)
    except ValueError:
        return False
    return True


def _is_request(payload: bytes) -> bool:
    """Tell whether *payload* can be read; what is pickled is looked through, not carried out."""
    try:
        if payload.startswith(b"{"):
            json.loads(payload)
        else:
            deque(pickletools.genops(payload), maxlen=0)
    except Exception:  # noqa: BLE001 - whatever a damaged pickle raises
        return False
    return True


# Mending


def _mend(connection: Connection, read: Counter[str], *, is_cut: bool, n_unreadable: int) -> Salvaged:
    """Make one whole of what was read; nothing that was lost may keep anything from being fetched."""
    n_lost = _last_id(connection) - read["urls"]
    n_again = _fetch_again(connection) if n_lost or is_cut or n_unreadable else 0
    _forget_what_hangs(connection)
    _number_hosts(connection)
    n_restored = _restore(connection)
    connection.write(f"UPDATE urls SET state = {WAITING} WHERE state = {LEASED}")
    states = dict(connection.read("SELECT state, COUNT(*) FROM urls GROUP BY state").fetchall())
    connection.set_meta(WAITING_META, str(states.get(WAITING, 0)).encode())
    return Salvaged(
        {STATES[state]: count for state, count in states.items()},
        {table: read[table] for table in ("pages", "decisions", "verdicts", "rules", "samples", "orders")},
        n_lost,
        n_again,
        n_restored,
        n_unreadable,
    )


def _last_id(connection: Connection) -> int:
    """Return the highest id of a URL that anything speaks of."""
    queries = [f"SELECT MAX(url) FROM {table}" for table in _referring()]
    queries += ["SELECT MAX(id) FROM urls", "SELECT MAX(parent) FROM urls"]
    return max(connection.read(query).fetchone()[0] or 0 for query in queries)


def _referring() -> list[str]:
    """Return the tables of what belongs to a URL by its id."""
    tables = _tables().items()
    return [name for name, columns in tables if ("url", "INTEGER") in [(one.name, one.type) for one in columns]]


def _forget_what_hangs(connection: Connection) -> None:
    """Delete what belongs to URLs that were lost, and what was suppressed by what was lost."""
    for table in _referring():
        connection.write(f"DELETE FROM {table} WHERE url NOT IN (SELECT id FROM urls)")
    connection.write("UPDATE urls SET parent = NULL WHERE parent NOT IN (SELECT id FROM urls)")
    connection.write("UPDATE pages SET twin = NULL WHERE twin NOT IN (SELECT id FROM urls)")
    connection.write(
        "DELETE FROM suppressed WHERE representative IS NOT NULL"
        " AND representative NOT IN (SELECT key FROM urls WHERE key != 0)"
    )
    in_force = {Claim(Kind.RULE, str(row.id)) for row in RuleTable(connection).acting()}
    in_force |= {verdict.claim for verdict in VerdictTable(connection).holding()}
    names = connection.read("SELECT DISTINCT claim FROM suppressed").fetchall()
    for claim in (Claim.read(name) for (name,) in names):
        if any(one.kind in {Kind.MIRROR, Kind.RULE} and one not in in_force for one in claim.parts):
            connection.write("DELETE FROM suppressed WHERE claim = ?", (str(claim),))


def _number_hosts(connection: Connection) -> None:
    """Give hosts the numbers 1, 2, 3 ... again, those that were lost as well: what their URLs say."""
    known = {row[0]: row[1:] for row in connection.read("SELECT id, name, slot, ip FROM hosts").fetchall()}
    numbers: dict[tuple[str, str], int] = {}
    ips: dict[int, str | None] = {}
    last, urls = 0, connection.read("SELECT id, host, url FROM urls WHERE id > 0 ORDER BY id LIMIT ?", (BATCH,))
    while batch := urls.fetchall():
        changes = []
        for url_id, host, url in batch:
            name, slot, ip = known.get(host) or (host_of(url), name_of(host_of(url)), None)
            number = numbers.setdefault((name, slot), len(numbers) + 1)
            ips.setdefault(number, ip)
            changes.append((number, url_id))
            last = url_id
        connection.write_many("UPDATE urls SET host = ? WHERE id = ?", changes)
        urls = connection.read("SELECT id, host, url FROM urls WHERE id > ? ORDER BY id LIMIT ?", (last, BATCH))
    connection.write("DELETE FROM hosts")
    rows = [(number, name, slot, ips[number]) for (name, slot), number in numbers.items()]
    connection.write_many("INSERT INTO hosts VALUES (?, ?, ?, ?)", rows)
    for table in ("pages", "revisits"):
        connection.write(f"UPDATE {table} SET host = (SELECT host FROM urls WHERE id = {table}.url)")


def _fetch_again(connection: Connection) -> int:
    """Let the pages wait whose links may have been lost; return how many.

    Ids are given in the order of discovery, so the pages that filled a gap were fetched between those that gave the
    URLs before it and those that gave the URLs after it.
    """
    pages = set[int]()
    for begin, end in _gaps(connection):
        rows = connection.read("SELECT url FROM pages WHERE fetched_at BETWEEN ? AND ?", (begin, end))
        pages |= {url for (url,) in rows}
    # Of what is done and has no page nobody can tell which links it gave.
    rows = connection.read(f"SELECT id FROM urls WHERE state = {DONE} AND id NOT IN (SELECT url FROM pages)")
    pages |= {url for (url,) in rows}
    connection.write_many(f"UPDATE urls SET state = {WAITING} WHERE id = ?", [(url,) for url in pages])
    connection.write_many("DELETE FROM pages WHERE url = ?", [(url,) for url in pages])
    return len(pages)


def _gaps(connection: Connection) -> Iterator[tuple[float, float]]:
    """Yield between which times, in seconds since the epoch, the pages were fetched that filled each gap.

    One gap is the end: the last URLs may be lost without a trace. Rather too much than too little is fetched again:
    some times were damaged, and a URL in place of another has a parent that was fetched long before.
    """
    sql = "SELECT urls.id, fetched_at FROM urls LEFT JOIN pages ON pages.url = parent ORDER BY urls.id"
    before, expected, begin = deque[float](maxlen=NEAR), 1, None
    after: list[float] = []
    for url_id, at in connection.read(sql):
        if url_id != expected:
            begin, after = _begin(before) if begin is None else begin, []
        expected = url_id + 1
        if at is not None:
            before.append(at)
            after.append(at)
        if begin is not None and len(after) == NEAR:
            yield begin - SLACK, max(after) + SLACK
            begin = None
    yield (_begin(before) if begin is None else begin) - SLACK, float("inf")


def _begin(before: Iterable[float]) -> float:
    """Return by when the page was fetched that gave the last of some URLs, if two of the times may be damaged."""
    return ([0.0] * 3 + sorted(before))[-3]


def _restore(connection: Connection) -> int:
    """Let dropped URLs wait, behind the others, that nothing stands for; return how many."""
    return connection.write(
        f"UPDATE urls SET state = {WAITING}, is_demoted = 1 WHERE state = {DROPPED}"
        " AND id NOT IN (SELECT url FROM suppressed)"
    ).rowcount
