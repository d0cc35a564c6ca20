"""URLs as the scripts have them: records of few bytes, which say where a waiting URL stands."""

from __future__ import annotations

import struct
from contextlib import AbstractContextManager
from typing import NamedTuple

from scrapy_replica.crawldb.redis.errors import understanding
from scrapy_replica.crawldb.redis.local_tables import LocalTables, pack, unpack
from scrapy_replica.crawldb.redis.server import Server
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.schema import VERSION

DEMOTED, FIRST, USUAL, LAST = 0x80, 1, 2, 3
"""Bit of the first byte, and its rest: a priority above 0, of 0 and below."""

MOST = (1 << 63) - 1
"""Greatest priority."""

SIGN = 1 << 63

FLOAT, BITS = struct.Struct(">d"), struct.Struct(">Q")
USUAL_PLACE, OTHER_PLACE = struct.Struct(">BQ"), struct.Struct(">BQQ")


class OrderPlace(NamedTuple):
    """What the order of waiting URLs goes by, before the order in which they were found."""

    is_demoted: bool
    priority: int
    """The user's, -2^63 < priority < 2^63."""
    score: float
    """The strategy's, which may be infinite."""

    def pack(self) -> bytes:
        """Return 9 bytes, 17 where there is a priority: the first in the order are the smallest."""
        (bits,) = BITS.unpack(FLOAT.pack(self.score + 0.0))
        # Floats sort as their bits do, but for the negative ones.
        score = bits if bits & SIGN else MOST - bits
        demoted = DEMOTED * self.is_demoted
        if not self.priority:
            return USUAL_PLACE.pack(demoted | USUAL, score)
        return OTHER_PLACE.pack(demoted | (FIRST if self.priority > 0 else LAST), MOST - self.priority, score)

    @classmethod
    def unpack(cls, packed: bytes) -> OrderPlace:
        is_usual = packed[0] & ~DEMOTED == USUAL
        priority = 0 if is_usual else MOST - BITS.unpack(packed[1:9])[0]
        (bits,) = BITS.unpack(packed[-8:])
        (score,) = FLOAT.unpack(BITS.pack(bits if bits & SIGN else MOST - bits))
        return cls(bool(packed[0] & DEMOTED), priority, score)


LAYOUT = f"1.{VERSION}"
"""Number of the layout, and of that of the tables; a job of another one is refused."""

HOST_BYTES = 5

IN_BUCKET = 128
"""URLs of a hash, as the scripts have it."""

SCHEMES = ("http://", "https://")
"""What most URLs begin with, before the name of their host, which their record leaves out: it is a fifth of it."""


class UrlColumns(NamedTuple):
    """A row of the table, its columns in their order."""

    id: int
    host: int
    url: str
    key: int | None
    state: int
    is_demoted: int
    priority: int
    score: float
    depth: int
    parent: int | None
    payload: bytes | None
    permission: int


def packed_key(key: int | None) -> bytes:
    """Return the 8 bytes of a signed *key*, none where there is none."""
    return b"" if key is None else key.to_bytes(8, "big", signed=True)


class Records:
    """Packs rows of ``urls``, and knows the hosts that they are of."""

    def __init__(self, server: Server, tables: LocalTables, connection: Connection) -> None:
        self._server, self._tables, self._connection = server, tables, connection
        self._hosts: dict[int, tuple[str, str]] = {}
        """Name and slot: 250 bytes a host."""

    def understanding(self) -> AbstractContextManager[None]:
        """Raise ``StoreError`` where what is read inside makes no sense."""
        return understanding(self._server.address)

    def host(self, host: int) -> tuple[str, str]:
        """Return name and slot of a host, which another process may have entered a moment ago."""
        found = self._hosts.get(host)
        if found is None:
            found = self._hosts[host] = self._stored(host) or self._asked(host)
        return found

    def _stored(self, host: int) -> tuple[str, str] | None:
        found: tuple[str, str] | None = self._connection.read(
            "SELECT name, slot FROM hosts WHERE id = ?", (host,)
        ).fetchone()
        return found

    def _asked(self, host: int) -> tuple[str, str]:
        key = pack((host,))
        row = self._server.run("HGET", self._server.key("t:hosts"), key)
        self._tables.apply([("hosts", key, row)])
        _, name, slot, _ = unpack(row)
        return name, slot

    def asked(self, url_id: int) -> UrlColumns:
        """Return the row of a URL, which another process may have entered a moment ago."""
        bucket, place = divmod(url_id, IN_BUCKET)
        with self.understanding():
            return self.unpack(url_id, self._server.run("HGET", self._server.key(f"u:{bucket}"), bytes([place])))

    def pack(self, row: UrlColumns) -> bytes:
        place = OrderPlace(bool(row.is_demoted), row.priority, row.score).pack()
        name = self.host(row.host)[0]
        rest = [_short(row.url, name), packed_key(row.key), row.depth, row.parent, row.payload, row.permission]
        return b"%d%c%b%b%b" % (row.state, len(place), place, row.host.to_bytes(HOST_BYTES, "big"), pack(rest))

    def unpack(self, url_id: int, record: bytes) -> UrlColumns:
        """Return the row that :meth:`pack` made a record of."""
        end = 2 + record[1]
        place = OrderPlace.unpack(record[2:end])
        host = int.from_bytes(record[end : end + HOST_BYTES], "big")
        url, key, *rest = unpack(record[end + HOST_BYTES :])
        signed = int.from_bytes(key, "big", signed=True) if key else None
        return UrlColumns(url_id, host, self._long(url, host), signed, record[0] - ord("0"), *place, *rest)

    def _long(self, url: str, host: int) -> str:
        scheme = ord(url[0]) if url else len(SCHEMES)
        return f"{SCHEMES[scheme]}{self.host(host)[0]}{url[1:]}" if scheme < len(SCHEMES) else url


def _short(url: str, name: str) -> str:
    """Return *url* without the scheme and the *name* of its host, which one character stands for."""
    for number, scheme in enumerate(SCHEMES):
        begin = scheme + name
        # A control character is in no URL.
        if url.startswith(begin):
            return chr(number) + url[len(begin) :]
    return url
