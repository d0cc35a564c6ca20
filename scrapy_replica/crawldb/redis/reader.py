"""The job that several processes share, as commands read it and write orders into it."""

from __future__ import annotations

import shutil
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.orders import Give, row_of
from scrapy_replica.crawldb.reader import Process
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.redis.errors import understanding
from scrapy_replica.crawldb.redis.local_tables import LocalTables, pack
from scrapy_replica.crawldb.redis.log import BehindError, Log, all_urls, told
from scrapy_replica.crawldb.redis.processes import processes
from scrapy_replica.crawldb.redis.records import LAYOUT, Records
from scrapy_replica.crawldb.redis.server import Server
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.database import FILE_NAME
from scrapy_replica.crawldb.sqlite.reader import SqliteReader, open_reader


class Follower:
    """Reads the job at an address: copies it into a temporary file when it is first asked, and follows it from there.

    Takes no part in the crawl. Threads may share it.

    :raises StoreError: Redis does not answer or refuses, or the job is of another release.
    """

    def __init__(self, address: Address) -> None:
        self._server = Server(address)
        self._folder = Path(mkdtemp(prefix="scrapy-replica-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._path = self._folder / FILE_NAME
        self._seen = -1
        """Number of the last change in the file; -1 before it is there."""
        self._job = b""
        """Name of the job in the file; all its keys may be deleted, and another one begun in its place."""
        self._lock = threading.Lock()

    @property
    def is_begun(self) -> bool:
        with self._lock:
            return bool(self._server.run("EXISTS", self._server.key("layout")))

    @contextmanager
    def reading(self) -> Iterator[SqliteReader]:
        """Open the job as it is by now.

        :raises StoreError: there is none, or it cannot be read.
        """
        with self._lock, understanding(self._server.address):
            self._check()
            try:
                self._refresh()
            except BehindError:  # nobody looked for long
                self._forget()
                self._refresh()
        with open_reader(self._path) as reader:
            yield reader

    @contextmanager
    def ordering(self) -> Iterator[Give]:
        """Open the job to give orders.

        :raises StoreError: there is none, or it cannot be written.
        """
        with self._lock:
            self._check()
            yield self._give

    def _give(self, kind: str, what: Mapping[str, Any]) -> int:
        server = self._server
        order_id = int(server.run("INCR", server.key("id:orders")))
        key, row = pack([order_id]), pack(row_of(order_id, server.now(), kind, what))
        change = told([[("orders", key, row)], [], []])
        server.call("order", [""], [server.name, 0, key, row, change])
        return order_id

    def processes(self) -> list[Process]:
        with self._lock:
            return processes(self._server)

    def trace(self) -> object:
        """Return something that is another thing when the job has changed."""
        with self._lock:
            return self._server.run("GET", self._server.key("seq")), bool(processes(self._server))

    def _check(self) -> None:
        server = self._server
        layout, job = server.run("MGET", server.key("layout"), server.key("job"))
        if job != self._job:
            self._forget()
            self._job = job
        if layout is None:
            raise StoreError(f"there is no crawl at {server.address}: look at its prefix and database")
        if layout.decode("utf-8", "replace") != LAYOUT:
            raise StoreError(
                f"{server.address} holds a job of another release: finish it with that one, or give another prefix"
            )

    def _forget(self) -> None:
        for file in self._folder.iterdir():
            file.unlink()
        self._seen, self._server.seen = -1, 0

    def _refresh(self) -> None:
        with closing(Connection(self._path, setting="TMPDIR")) as connection:
            tables = LocalTables(connection)
            records = Records(self._server, tables, connection)
            is_new = self._seen < 0
            seen = int(self._server.run("GET", self._server.key("seq")) or 0) if is_new else self._seen
            log = Log(self._server, tables, records, seen)
            if is_new:
                tables.copy(self._server, all_urls(self._server, records), log.take_over)
                self._seen = log.seen
            log.take_over()
            self._seen = log.seen
