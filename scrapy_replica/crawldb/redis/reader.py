"""A job in Redis as commands read it, and give orders to its crawl."""

from __future__ import annotations

import shutil
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.reader import Orders, Reader
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.redis.layout import LAYOUT, other_layout
from scrapy_replica.crawldb.redis.log import BehindError, Log, all_urls
from scrapy_replica.crawldb.redis.mirror import Mirror, pack
from scrapy_replica.crawldb.redis.processes import processes
from scrapy_replica.crawldb.redis.server import Server
from scrapy_replica.crawldb.shared import Process
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.database import FILE_NAME
from scrapy_replica.crawldb.sqlite.orders import row_of
from scrapy_replica.crawldb.sqlite.reader import open_reader


class Follower:
    """A copy of the job in a temporary file, made when it is first read; from then on it takes over what is new.

    It is no process of the crawl: nothing waits for it. Threads may share it.
    """

    def __init__(self, address: Address) -> None:
        self._server = Server(address)
        self._seen = -1
        """Number of the last change in the copy; -1 before there is one."""
        self._lock = threading.Lock()
        self._path = Path(mkdtemp(prefix="scrapy-replica-"))
        weakref.finalize(self, shutil.rmtree, self._path, ignore_errors=True)

    @property
    def is_begun(self) -> bool:
        """Whether there is a job."""
        with self._lock:
            return self._layout() is not None

    def _layout(self) -> bytes | None:
        found: bytes | None = self._server.run("GET", self._server.key("layout"))
        return found

    def processes(self) -> Sequence[Process]:
        """Return the processes that take part."""
        with self._lock:
            return processes(self._server)

    def trace(self) -> object:
        """Return something that is another thing when the job has changed."""
        key = self._server.key
        with self._lock:
            seq, alive = self._server.run_many([["GET", key("seq")], ["ZRANGE", key("alive"), 0, -1]])
        return seq, sorted(alive)

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open the job as it is now.

        :raises StoreError: there is none, or it is one of another release.
        """
        with self._lock:
            self._check()
            try:
                self._catch_up()
            except BehindError:
                self._forget()
                self._catch_up()
        with open_reader(self._path / FILE_NAME) as reader:
            yield reader

    def _check(self) -> None:
        layout = self._layout()
        if layout is None:
            raise StoreError(f"there is no crawl at {self._server.address}")
        if layout.decode() != LAYOUT:
            raise other_layout(self._server.address)

    def _catch_up(self) -> None:
        # Opened anew, since the next look may come from another thread; that takes some milliseconds.
        with closing(Connection(self._path / FILE_NAME)) as connection:
            mirror = Mirror(connection)
            if self._seen < 0:
                seen = int(self._server.run("GET", self._server.key("seq")) or 0)
                mirror.copy(self._server, all_urls(self._server))
                self._seen = seen
            log = Log(self._server, mirror, self._seen)
            for _ in log.catch_up():
                pass
            self._seen = log.seen

    def _forget(self) -> None:
        self._seen = -1
        for file in self._path.iterdir():
            file.unlink()

    @contextmanager
    def ordering(self) -> Iterator[Orders]:
        """Give what writes orders, which are there for the crawl at once.

        :raises StoreError: there is no job, or it is one of another release.
        """
        with self._lock:
            self._check()
            yield _Orders(self._server)


class _Orders:
    """Keeps :class:`~scrapy_replica.crawldb.reader.Orders`."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def give(self, kind: str, what: Mapping[str, Any]) -> int:
        number = int(self._server.run("INCR", self._server.key("id:orders")))
        key, row = pack((number,)), pack(row_of(number, time.time(), kind, what))
        change = pack([[("orders", key, row)], [], []])
        self._server.call("order", [""], [self._server.name, 0, key, row, change])
        return number
