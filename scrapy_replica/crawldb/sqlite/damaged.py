"""The rows of a SQLite file that SQLite itself cannot read any more, page by page (https://sqlite.org/fileformat2.html).

SQLite finds a row through the pages above it, and gives up where one is damaged. Here each page is read for what it
holds: first those that can be reached from the root of a table, then those that cannot, whose rows are told by shape.
"""

from __future__ import annotations

import sqlite3
import struct
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, NamedTuple

TABLE_INTERIOR, TABLE_LEAF, INDEX_INTERIOR, INDEX_LEAF = 5, 13, 2, 10

PAGE_SIZE = 4096
"""Of a file whose header is lost: what SQLite takes by default."""

HEADER = 100
"""Bytes of the file's header, on its first page."""

MAX_PAYLOAD = 64 << 20
"""Longer records are none of ours."""

_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


class Row(NamedTuple):
    """A record of a table."""

    table: str | None
    """``None`` where no root leads to its page."""
    id: int | None
    """Its rowid; ``None`` in a table that has none."""
    values: tuple[Any, ...]


class DamagedFile:
    """A SQLite file and its log, read without SQLite and never written.

    :raises OSError: the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._file = _contents(path)
        size = int.from_bytes(self._file[16:18], "big")
        size = 1 << 16 if size == 1 else size
        self._size = size if 512 <= size <= 1 << 16 and size & (size - 1) == 0 else PAGE_SIZE
        log = path.with_name(path.name + "-wal")
        self._log = _contents(log) if log.is_file() else b""
        self._logged = self._committed()
        self.n_pages = max([-(-len(self._file) // self._size), *self._logged])
        self.n_unreadable = 0
        """Pages and records that make no sense, of those that were read."""

    @property
    def is_cut(self) -> bool:
        """The file is shorter than its header says."""
        promised = int.from_bytes(self._file[28:32], "big")
        return promised > self.n_pages

    def _committed(self) -> dict[int, int]:
        """Return page number -> place in the log of what was last committed of it."""
        found: dict[int, int] = {}
        pending: dict[int, int] = {}
        salts, place = self._log[16:24], 32
        while place + 24 + self._size <= len(self._log) and self._log[place + 8 : place + 16] == salts:
            number, n_pages = struct.unpack_from(">II", self._log, place)
            pending[number] = place + 24
            if n_pages:
                found |= pending
                pending.clear()
            place += 24 + self._size
        return found

    def _page(self, number: int) -> bytes:
        if (place := self._logged.get(number)) is not None:
            return self._log[place : place + self._size]
        page = self._file[(number - 1) * self._size : number * self._size]
        return page + bytes(self._size - len(page))

    def rows(self) -> Iterator[Row]:
        """Yield what can be read: rows that a root leads to, then the others."""
        tables, indexes = {}, []
        for _, _, values in self._tree(None, 1, seen := set[int]()):
            if len(values) == 5 and values[0] == "table" and isinstance(values[3], int):
                tables[str(values[1])] = values[3]
            elif len(values) == 5 and values[0] == "index" and isinstance(values[3], int):
                indexes.append(values[3])
        for table, root in tables.items():
            if table != "sqlite_master":
                yield from self._tree(table, root, seen)
        n_unreadable = self.n_unreadable
        for root in indexes:  # what they hold stands in their tables as well
            deque(self._tree(None, root, seen), maxlen=0)
        self.n_unreadable = n_unreadable
        for number in range(2, self.n_pages + 1):
            if number not in seen and self._page(number)[0] in {TABLE_LEAF, INDEX_INTERIOR, INDEX_LEAF}:
                yield from self._rows_of(None, number, [])

    def _tree(self, table: str | None, root: int, seen: set[int]) -> Iterator[Row]:
        """Yield the rows of the table whose root is page *root*; take its pages into *seen*."""
        waiting = [root]
        while waiting:
            number = waiting.pop()
            if 0 < number <= self.n_pages and number not in seen:
                seen.add(number)
                children: list[int] = []
                yield from self._rows_of(table, number, children)
                waiting += reversed(children)

    def _rows_of(self, table: str | None, number: int, children: list[int]) -> Iterator[Row]:
        page, start = self._page(number), HEADER if number == 1 else 0
        kind = page[start]
        if kind not in {TABLE_INTERIOR, TABLE_LEAF, INDEX_INTERIOR, INDEX_LEAF}:
            self.n_unreadable += 1
            return
        n_cells = int.from_bytes(page[start + 3 : start + 5], "big")
        first = start + (8 if kind in {TABLE_LEAF, INDEX_LEAF} else 12)
        for place in range(first, min(first + 2 * n_cells, self._size - 1), 2):
            cell = int.from_bytes(page[place : place + 2], "big")
            if kind in {TABLE_INTERIOR, INDEX_INTERIOR}:
                children.append(int.from_bytes(page[cell : cell + 4], "big"))
                cell += 4
            if kind != TABLE_INTERIOR:
                row = self._row(table, page, cell, has_id=kind == TABLE_LEAF)
                self.n_unreadable += row is None
                if row is not None:
                    yield row
        if kind in {TABLE_INTERIOR, INDEX_INTERIOR}:
            children.append(int.from_bytes(page[start + 8 : start + 12], "big"))

    def _row(self, table: str | None, page: bytes, place: int, *, has_id: bool) -> Row | None:
        try:
            size, place = _varint(page, place)
            row_id = None
            if has_id:
                row_id, place = _varint(page, place)
            return Row(table, row_id, _values(self._payload(page, place, size, has_id=has_id)))
        except (IndexError, ValueError, struct.error):
            return None

    def _payload(self, page: bytes, place: int, size: int, *, has_id: bool) -> bytes:
        """Return a record, from its page and the pages that it runs over to."""
        if size > MAX_PAYLOAD:
            raise ValueError("too long")
        most = self._size - 35 if has_id else (self._size - 12) * 64 // 255 - 23
        here = size
        if size > most:
            least = (self._size - 12) * 32 // 255 - 23
            here = least + (size - least) % (self._size - 4)
            here = here if here <= most else least
        if place + here > len(page):
            raise ValueError("beyond the page")
        payload = bytearray(page[place : place + here])
        following = int.from_bytes(page[place + here : place + here + 4], "big")
        while len(payload) < size:
            if not 0 < following <= self.n_pages:
                raise ValueError("leads nowhere")
            more = self._page(following)
            payload += more[4 : 4 + size - len(payload)]
            following = int.from_bytes(more[:4], "big")
        return bytes(payload)


def _contents(path: Path) -> bytes | mmap:
    with path.open("rb") as file:
        return mmap(file.fileno(), 0, access=ACCESS_READ) if path.stat().st_size else b""


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = 0
    for _ in range(8):
        byte = data[place]
        place += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place
    value = value << 8 | data[place]
    return value - (1 << 64) if value >= 1 << 63 else value, place + 1


def _values(payload: bytes) -> tuple[Any, ...]:
    """Return the columns of a record.

    :raises ValueError: it is none.
    """
    end, place = _varint(payload, 0)
    body, values = end, []
    while place < end:
        kind, place = _varint(payload, place)
        value, body = _value(payload, body, kind)
        values.append(value)
    if place != end or body != len(payload):
        raise ValueError("not a record")
    return tuple(values)


def _value(payload: bytes, place: int, kind: int) -> tuple[Any, int]:
    if kind == 0:
        return None, place
    if kind in {8, 9}:
        return kind - 8, place
    size = _INTEGERS.get(kind, 8) if kind <= 7 else (kind - 12) // 2
    if kind in {10, 11} or size < 0:
        raise ValueError("no such type")
    data = payload[place : place + size]
    if kind in _INTEGERS:
        return int.from_bytes(data, "big", signed=True), place + size
    if kind == 7:
        return struct.unpack(">d", data)[0], place + size
    return (data if kind % 2 == 0 else data.decode()), place + size


STEPS = 100_000
"""Steps of SQLite between two looks at the clock."""


def quick_check(path: Path, seconds: float) -> tuple[str | None, bool]:
    """Read the file at *path* for at most so many *seconds*, while a crawl may have it open.

    Returns what is wrong with it in SQLite's words, ``None`` if nothing was found, and whether all of it was read.
    """
    end = time.monotonic() + seconds
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=1)) as db:
            db.set_progress_handler(lambda: time.monotonic() > end, STEPS)
            found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.OperationalError as error:
        return (None, False) if "interrupted" in str(error) else (str(error), True)
    except sqlite3.DatabaseError as error:
        return str(error), True
    return None if found == "ok" else found, True
