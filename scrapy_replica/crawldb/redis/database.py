"""The crawl database of a job that several processes share: Redis has it all, each process works on local tables."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scrapy_replica.claim import Work
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.reader import Process
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.redis.errors import understanding
from scrapy_replica.crawldb.redis.gathering import gather
from scrapy_replica.crawldb.redis.ids import Ids
from scrapy_replica.crawldb.redis.local_tables import ChangedRows, LocalTables, Packed, pack
from scrapy_replica.crawldb.redis.local_tables import unpack as unpacked
from scrapy_replica.crawldb.redis.log import Entry, Log, all_urls, read, told
from scrapy_replica.crawldb.redis.processes import processes, sums
from scrapy_replica.crawldb.redis.records import LAYOUT, Records, UrlColumns
from scrapy_replica.crawldb.redis.server import Server
from scrapy_replica.crawldb.redis.urls import RedisUrlTable, Taken
from scrapy_replica.crawldb.remote import RemoteUpdate
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.schema import LEASED

OFFER_S = 0.5
"""Seconds between two offers of slots that have nothing in flight."""


class RedisCrawlDB(SqliteCrawlDB):
    """What a crawl of several processes knows.

    Reads and writes go to local tables, a SQLite file of this process. At each commit what changed is shipped to Redis,
    in one script that holds it against what others changed; :meth:`listen` takes over what they wrote. So everything of
    others is a moment late, and what must not be is asked of Redis: which URL has which id, and which is taken. Nothing
    is lost by it: what is suppressed by a claim that ended meanwhile, or for a page that came to its end meanwhile,
    waits.

    :param address: as ``REPLICA_CRAWLDB`` says it.
    :raises StoreError: Redis does not answer or refuses, or the job belongs to another spider or release.
    """

    urls: RedisUrlTable
    is_shared = True

    def __init__(self, address: str, spider: str = "") -> None:
        self._server = Server(Address.parse(address))
        self.process = self._server.name
        self._gathered = RemoteUpdate()
        self._offered_at = 0.0
        self.is_leader = self.is_over = self.are_all_idle = False
        self._is_idle = False
        try:
            with understanding(self._server.address):
                self._enter()
                super().__init__(None, spider)
        except BaseException:
            self._leave()
            raise

    def _call(self, script: str, *args: bytes | str | float, is_change: bool = False) -> Any:
        server = self._server
        lease_ms = int(1000 * server.address.lease_s)
        return server.call(script, [""], [server.name, lease_ms, *args], is_change=is_change)

    def _enter(self) -> None:
        who = f"{socket.gethostname()} {os.getpid()}"
        self._number, self._seen, self._is_begun, self.is_leader, self._waiting = self._call("enter", who, LAYOUT)

    def _make_connection(self, folder: Path | None) -> Connection:  # noqa: ARG002 - the local tables have none
        connection = _unnamed()
        connection.new_id = Ids(self._server, self._number)
        self._tables = LocalTables(connection)
        self._records = Records(self._server, self._tables, connection)
        self._log = Log(self._server, self._tables, self._records, self._seen)
        if self._is_begun:
            self._tables.copy(self._server, all_urls(self._server, self._records), self._go_on_opening)
        self._told = self._log.seen
        return connection

    def _named(self) -> tuple[str, str]:
        return str(self._server.address), "prefix"

    def _go_on_opening(self) -> None:
        """Do not fall behind, and do not be taken for dead, while a large job is read."""
        self._call("opening")
        self._log.take_over()

    def _make_urls(self, connection: Connection) -> RedisUrlTable:
        urls = RedisUrlTable(connection, self, self._tables, self._records)
        urls.waiting = self._waiting
        return urls

    # To Redis

    def commit(self) -> None:
        """Make what was changed known to all, and keep it.

        :raises StoreError: Redis refuses it, or took this process for dead.
        """
        self._commit(0)

    def _commit(self, most: int) -> list[int] | None:
        """Commit, and return what :meth:`first` does; ``None`` where Redis was not asked."""
        hosts: list[int] | None = None
        host_order = self.urls.host_order
        changes = self._tables.changed()
        if changes.rows or changes.urls or host_order.acts or host_order.hosts:
            fixes, unsuppressed, ended_rules, hosts = self._ship(changes, most)
            host_order.shipped()
            self._tables.shipped()
            # What became otherwise than this process thought.
            self._tables.apply(("suppressed", key, None) for key in unsuppressed)
            self._tables.apply(("rules", key, row) for key, row in ended_rules)
            if fixes:
                self._tables.apply_urls((url_id, self._records.unpack(url_id, record)) for url_id, record in fixes)
        self.connection.commit()
        return hosts

    def _ship(
        self, changes: ChangedRows, most: int
    ) -> tuple[list[tuple[int, bytes]], list[bytes], list[tuple[bytes, bytes]], list[int]]:
        """Ship *changes*; return the URLs that became otherwise, with their records, keys of rows of ``suppressed``
        that are not kept, rules that had ended elsewhere, keys and rows, and what :meth:`first` does.
        """
        packed = self._records.pack
        urls = [(url_id, None if row is None else packed(UrlColumns(*row))) for url_id, _, row in changes.urls]
        self.urls.landed(url_id for url_id, _, row in changes.urls if row is None or row[4] != LEASED)
        suppressed = [(key, row) for table, key, row in changes.rows if table == "suppressed" and row is not None]
        new = [url_id for url_id, before, _ in changes.urls if before is None]
        what = {
            "slots": self.urls.host_order.acts,
            "hosts": list(self.urls.host_order.hosts.items()),
            "suppressed": self._guarded(suppressed),
            "ended": [claim for claim in map(_ended, changes.rows) if claim is not None],
            "seen": self._told,
            "first": most,
            "log": told([changes.rows, urls, new]),
            "before": [before is not None and str(before) for _, before, _ in changes.urls],
        }
        _, self.urls.waiting, *found = read(self._call("commit", told(what), is_change=True))
        fixes, unsuppressed, ended_rules, hosts = found
        return fixes, unsuppressed, ended_rules, hosts

    def _guarded(self, suppressed: Sequence[tuple[bytes, bytes]]) -> list[tuple[Any, ...]]:
        """Return rows of ``suppressed`` with what this process thinks of their representatives."""
        rows = [(*unpacked(row), key, row) for key, row in suppressed]
        states = self.urls.states({key for _, _, key, _, _ in rows if key is not None})
        return [
            (url_id, claim, key, row, *states.get(other, (False, False))) for url_id, claim, other, key, row in rows
        ]

    # From Redis

    def known(self, keys: Sequence[bytes]) -> list[tuple[int, bytes | None]]:
        """Return for each key (8 bytes; none for a URL without) its id, and its record if it was entered."""
        with understanding(self._server.address):
            found = read(self._call("look", told(keys)))
            return [(url_id, record or None) for url_id, record in found]

    def take(self) -> Taken | None:
        """Lease the best URL of the slots that are this process's or nobody's."""
        with understanding(self._server.address):
            found = read(self._call("take", is_change=True))
            if not found[0]:
                return None
            url_id, _, record, is_other, self.urls.waiting, _ = found
            return Taken(url_id, record, is_other)

    def first(self, most: int) -> list[int]:
        """Commit; return the host of the URL that :meth:`take` would give, and the next ones, so many at most."""
        with understanding(self._server.address):
            hosts = self._commit(most)
            return read(self._call("first", str(most))) if hosts is None else hosts

    def listen(self) -> RemoteUpdate | None:
        """Tell that this process is alive, and take over what others wrote.

        :return: what that is; ``None`` if nothing.
        """
        self.commit()
        self.urls.expected.clear()
        with understanding(self._server.address):
            beat = read(self._call("beat", str(int(self._is_idle)), self._log.seen))
            seq, leads, self.urls.waiting, self.are_all_idle, is_other_idle, is_other_bare, self.is_over = beat
            has_come, self.is_leader = leads and not self.is_leader, leads
            is_behind = seq > self._log.seen
        if is_behind:
            self.catch_up()
        self._offer(is_other_idle=is_other_idle, is_other_bare=is_other_bare)
        self._told = self._log.seen
        update, self._gathered = self._gathered, RemoteUpdate()
        update.is_leader = has_come
        return update if update != RemoteUpdate() else None

    def catch_up(self) -> None:
        self.commit()
        for entry in self._log.catch_up():
            with understanding(self._server.address):
                self._gather(entry)

    def _gather(self, entry: Entry) -> None:
        self._gathered.urls += entry.new
        for table, key, row in entry.rows:
            values = None if row is None else unpacked(row)
            gather(self._gathered, table, unpacked(key), values)
            if table == "hosts" and values is not None:
                self.urls.meet(*values[:3])

    def _first(self, key: str, value: bytes) -> bytes:
        # In Redis at once, not with the next commit: another process may begin the job in the same instant.
        name, field = self._server.key("t:meta"), pack((key,))
        self._server.run("HSETNX", name, field, pack((key, value)))
        stands: bytes = unpacked(self._server.run("HGET", name, field))[1]
        return stands

    # Together with others

    def _offer(self, *, is_other_idle: bool, is_other_bare: bool) -> None:
        """Give up slots of which nothing waits, and where another process has nothing to do some others, too.

        Where all of them are busy half of them are brought to rest first, or a crawl of few hosts would be one
        process's; but not for a process that only waits for the delays of its own, or hosts would go to and fro.
        """
        if time.monotonic() - self._offered_at < OFFER_S:
            return
        self._offered_at, urls = time.monotonic(), self.urls
        slots, rested = urls.idle_slots(), urls.drained(all_of_them=not is_other_idle)
        given = self._give(str(int(is_other_idle)), slots)
        if rested and is_other_idle:
            self.commit()
            self._give("all", rested)
        elif is_other_bare and not given and not urls.host_order.draining:
            urls.drain()

    def _give(self, which: str, slots: Sequence[str]) -> list[bytes]:
        given: list[bytes] = self._call("give", which, *slots, is_change=True) if slots else []
        self.urls.gave(slot.decode("utf-8", "surrogatepass") for slot in given)
        return given

    def idle(self, is_idle: bool) -> None:
        """Take note whether this process has nothing to do; the others hear of it when it listens next."""
        self._is_idle = is_idle

    def end(self) -> None:
        """Tell all that the crawl is through, as the process that leads, unless something came back meanwhile."""
        self.is_over = bool(self._call("over"))

    def tell(self, stats: Mapping[str, float]) -> None:
        self._server.run("HSET", self._server.key("stats"), self._server.name, json.dumps(stats))

    def stats(self) -> Mapping[str, float]:
        """Return the sums of what all processes told, those that are gone included."""
        return sums(self._server)

    def processes(self) -> Sequence[Process]:
        return processes(self._server)

    def abandon(self) -> None:
        super().abandon()
        self._leave()

    def _leave(self) -> None:
        with suppress(StoreError):  # whoever sees that this process is gone does the same for it
            self._call("leave")
        self._server.close()


def _unnamed() -> Connection:
    """Return a connection to a file that has no name any more: it goes with the process, however that ends."""
    with TemporaryDirectory(prefix="scrapy-replica-", ignore_cleanup_errors=True) as folder:
        connection = Connection(Path(folder) / FILE_NAME, setting="TMPDIR")
        # Nobody else reads it, and nobody will after the process.
        connection.read("PRAGMA journal_mode = MEMORY")
        connection.read("PRAGMA synchronous = OFF")
    return connection


def _ended(change: Packed) -> str | None:
    """Return the name of the claim that ended by a *change*, if one did."""
    table, _, row = change
    claim = Work.read(unpacked(row)[1]).claim if table == "work" and row is not None else None
    return str(claim) if claim is not None else None
