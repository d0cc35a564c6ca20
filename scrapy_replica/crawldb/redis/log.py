"""The log of changes of a job, and what follows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.redis.errors import understanding
from scrapy_replica.crawldb.redis.libraries import msgpack
from scrapy_replica.crawldb.redis.local_tables import URLS, LocalTables, Packed
from scrapy_replica.crawldb.redis.records import IN_BUCKET, Records, UrlColumns
from scrapy_replica.crawldb.redis.server import PASSED_OVER, Server

MOST_CHANGES = 1_000
"""Changes that are read in one turn."""

BUCKETS = 16
"""Hashes of URLs that are read at once."""
MOST_MISSING = 10 * PASSED_OVER["id"]
"""Numbers in a row that no URL has, where the last one given says that there are more."""

NONE, NOTHING = msgpack.packb([]), msgpack.packb([[], [], []])

Key = tuple[str, bytes | int]
"""Table and packed key of a row, or ``urls`` and an id."""


def told(what: object) -> bytes:
    """Return *what* as a script can read it: Lua has one kind of strings."""
    packed: bytes = msgpack.packb(what, use_bin_type=False, unicode_errors="surrogatepass")
    return packed


def read(reply: bytes) -> Any:
    """Return what a script packed: Lua has one kind of strings, which come as bytes."""
    return msgpack.unpackb(reply, raw=True)


class BehindError(StoreError):
    """What is missing is not in the log any more."""


class Entry(NamedTuple):
    """A change that another process made."""

    rows: Sequence[Packed]
    new: Sequence[int]
    """Ids of the URLs that it found."""


class Log:
    """Takes over what others wrote into the local tables.

    :param seen: number of the last change that the local tables have.
    """

    def __init__(self, server: Server, tables: LocalTables, records: Records, seen: int) -> None:
        self._server, self._tables, self._records, self.seen = server, tables, records, seen

    def catch_up(self) -> Iterator[Entry]:
        """Take over all changes that are not known here, and yield those of others.

        :raises BehindError: some of them are not kept any more.
        """
        theirs: set[Key] = set()
        while fields := self._read():
            changed: dict[Key, bytes | None] = {}
            with understanding(self._server.address):
                found = [self._follow(one, theirs, changed) for one in fields]
                self._apply(changed)
            yield from (entry for entry in found if entry is not None)
            if len(fields) < MOST_CHANGES:
                break

    def take_over(self) -> None:
        """Take over all changes that are not known here."""
        for _ in self.catch_up():
            pass

    def _read(self) -> list[dict[bytes, bytes]]:
        server = self._server
        begin = f"{self.seen + 1}-0"
        entries = server.run("XRANGE", server.key("log"), begin, "+", "COUNT", MOST_CHANGES)
        if not entries:
            return []
        if _number(entries[0]) != self.seen + 1:
            raise BehindError(
                f"{server.address}: this process fell behind the others by more changes than are kept: start it again"
            )
        self.seen = server.seen = _number(entries[-1])
        return [dict(zip(fields[::2], fields[1::2], strict=True)) for _, fields in entries]

    def _follow(
        self, fields: Mapping[bytes, bytes], theirs: set[Key], changed: dict[Key, bytes | None]
    ) -> Entry | None:
        """Add the rows of one change to *changed*.

        Of a change of this process, what others wrote before it and was taken over a moment ago (*theirs*): it came
        later than theirs.
        """
        named, urls, new = read(fields.get(b"d", NOTHING))
        rows = [(table.decode(), key, row) for table, key, row in named]
        these: dict[Key, bytes | None] = {(table, key): row for table, key, row in rows}
        these |= {("suppressed", key): None for key in read(fields.get(b"n", NONE))}
        these |= {("rules", key): row for key, row in read(fields.get(b"r", NONE))}
        these |= {(URLS, url_id): record for url_id, record in (*urls, *read(fields.get(b"f", NONE)))}
        if fields[b"p"] == self._server.name.encode():
            changed |= {what: row for what, row in these.items() if what in theirs}
            return None
        theirs.update(these)
        changed |= these
        return Entry(rows, new)

    def _apply(self, changed: Mapping[Key, bytes | None]) -> None:
        self._tables.apply((table, key, row) for (table, key), row in changed.items() if isinstance(key, bytes))
        self._tables.apply_urls(
            (key, self._records.unpack(key, row) if row else None)
            for (_, key), row in changed.items()
            if isinstance(key, int)
        )
        self._tables.commit()


def _number(entry: tuple[bytes, Any]) -> int:
    return int(entry[0].partition(b"-")[0])


def all_urls(server: Server, records: Records) -> Iterator[list[tuple[int, UrlColumns]]]:
    """Yield the URLs of the job on *server* and their rows, batch by batch.

    :raises ValueError: the last number that was given is none.
    """
    last = int(server.run("GET", server.key("id")) or 0)
    known = 0
    for begin in range(0, last // IN_BUCKET + 1, BUCKETS):
        numbers = range(begin, min(begin + BUCKETS, last // IN_BUCKET + 1))
        found = server.run_many([["HGETALL", server.key(f"u:{number}")] for number in numbers])
        found_records = [
            (IN_BUCKET * number + place[0], record)
            for number, fields in zip(numbers, found, strict=True)
            for place, record in zip(fields[::2], fields[1::2], strict=True)
        ]
        yield [(url_id, records.unpack(url_id, record)) for url_id, record in found_records]
        known = found_records[-1][0] if found_records else known
        if begin * IN_BUCKET > known + MOST_MISSING:
            raise ValueError(f"no URL after number {known}, and it has been told of more")
