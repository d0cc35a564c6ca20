"""The crawl database in one SQLite file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from scrapy_replica.crawldb.blocks import BlockTable
from scrapy_replica.crawldb.captures import CaptureTable
from scrapy_replica.crawldb.checks import CheckTable
from scrapy_replica.crawldb.claims import ClaimTable, SuppressedTable, UnrequestedTable
from scrapy_replica.crawldb.contract import SPIDER, StoreError
from scrapy_replica.crawldb.forms import FormTable
from scrapy_replica.crawldb.items import ItemTable
from scrapy_replica.crawldb.ledger import LedgerTable
from scrapy_replica.crawldb.names import NameTable
from scrapy_replica.crawldb.orders import OrderTable
from scrapy_replica.crawldb.pages import PageTable
from scrapy_replica.crawldb.remote import RemoteUpdate
from scrapy_replica.crawldb.revisits import RevisitTable
from scrapy_replica.crawldb.rules import RuleTable
from scrapy_replica.crawldb.samples import SampleTable
from scrapy_replica.crawldb.seeds import SeedTable
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.lock import JobLock
from scrapy_replica.crawldb.sqlite.status import StatusReader
from scrapy_replica.crawldb.sqlite.urls import UrlTable
from scrapy_replica.crawldb.status import Status
from scrapy_replica.crawldb.texts import TextTable
from scrapy_replica.crawldb.verdicts import UncertainPairTable, VerdictTable
from scrapy_replica.crawldb.visits import VisitTable

FILE_NAME = "replica.sqlite"


class SqliteCrawlDB:
    """What the crawl knows: URLs, hosts, pages and decisions, in one file in WAL mode, or in memory.

    All writes since the last :meth:`commit` form one transaction, a page's are a savepoint in it.

    :param folder: the JOBDIR, or ``None`` for a database in memory.
    :param spider: name of the spider that the job belongs to.
    :raises StoreError: the job belongs to another spider, is open in another crawl, or cannot be read.
    """

    is_leader = True
    """Whether this process decides what concerns all that share the crawl."""
    is_shared = False
    """Whether several processes may have the crawl."""
    process = ""
    """Name of the process among those that share the crawl."""

    def __init__(self, folder: Path | None, spider: str = "") -> None:
        self._lock = JobLock(folder) if folder is not None else None
        try:
            self._open(folder, spider)
        except BaseException:
            self._release()
            raise

    def _open(self, folder: Path | None, spider: str) -> None:
        connection = self.connection = self._make_connection(folder)
        self.meta, self.set_meta = connection.meta, connection.set_meta
        try:
            self._claim(spider)
            self._make_tables(connection)
        except BaseException:
            connection.abandon()
            raise

    def _make_connection(self, folder: Path | None) -> Connection:
        return Connection(folder / FILE_NAME if folder is not None else None)

    def _make_urls(self, connection: Connection) -> UrlTable:
        return UrlTable(connection)

    def _make_tables(self, connection: Connection) -> None:
        self.urls = self._make_urls(connection)
        self.pages = PageTable(connection, self.urls.hosts)
        self.revisits = RevisitTable(connection)
        self.ledger = LedgerTable(connection)
        self.items = ItemTable(connection)
        self.samples = SampleTable(connection, is_own=not self.is_shared)
        self.verdicts = VerdictTable(connection)
        self.uncertain_pairs = UncertainPairTable(connection)
        self.orders = OrderTable(connection)
        self.rules = RuleTable(connection)
        self.visits: VisitTable = VisitTable(connection)
        self.forms = FormTable(connection)
        self.blocks = BlockTable(connection)
        self.seeds = SeedTable(connection)
        self.captures = CaptureTable(connection)
        self.texts: TextTable = TextTable(connection)
        self.suppressed = SuppressedTable(connection, self.urls, is_own=not self.is_shared)
        self.claims = ClaimTable(connection)
        self.unrequested = UnrequestedTable(connection)
        self.checks = CheckTable(connection)
        self.names = NameTable(connection, is_own=not self.is_shared)
        self.on_rollback: list[Callable[[], object]] = [self.claims.read_again, self.seeds.read_again]
        """Called when a span was taken back: what is held in memory of its rows is read anew."""
        self.commit()

    def _claim(self, spider: str) -> None:
        owner = self.first_meta(SPIDER, spider.encode())
        if owner.decode() != spider:
            job, place = self._named()
            raise StoreError(
                f"the job {job} belongs to the spider {owner.decode()!r}, not to {spider!r}: "
                f"give each spider a {place} of its own"
            )

    def _named(self) -> tuple[str, str]:
        """Return how messages call the job, and the kind of its place."""
        return str(self.connection.path), "JOBDIR"

    @contextmanager
    def span(self) -> Iterator[None]:
        """Open a span whose changes are all taken back if it raises."""
        savepoint = self.urls.savepoint()
        try:
            with self.connection.span():
                yield
        except StoreError:
            raise
        except BaseException:
            self.urls.undo(savepoint)
            for forget in self.on_rollback:
                forget()
            raise

    def listen(self) -> RemoteUpdate | None:
        """Take over what other processes committed since the last call, and return what is new; never within a span.

        ``None`` where one process has the whole crawl.
        """
        return None

    def catch_up(self) -> None:
        """Take over what other processes did by now; nothing where one process has the whole crawl."""

    def commit(self) -> None:
        """Make everything so far survive the death of the process."""
        self.urls.store_count()
        self.connection.commit()

    def status(self) -> Status:
        """Return the figures of the job so far."""
        return StatusReader(self.connection).read(None, 0)

    def first_meta(self, key: str, value: bytes) -> bytes:
        """Store *value* if nothing is stored under *key*; return what stands there, for all that share the crawl."""
        stands = self.meta(key)
        if stands is None:
            self.set_meta(key, stands := self._first(key, value))
        return stands

    def _first(self, key: str, value: bytes) -> bytes:  # noqa: ARG002 - others that share the job are asked by it
        """Return what stands under *key* for all, which is nothing here: *value* where nobody else was first."""
        return value

    def add_sums(self, key: str, sums: Mapping[str, int]) -> None:
        """Add to the *sums* under *key*, to which each process adds its own; the connection's ``sums`` returns them."""
        mine = f"{key}: {self.process}"
        total = Counter[str](json.loads(self.meta(mine) or "{}"))
        total.update(sums)
        self.set_meta(mine, json.dumps(total).encode())

    def close(self) -> None:
        """Commit, and let the job go."""
        try:
            self.commit()
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let the job go as it was at the last commit."""
        self.connection.abandon()
        self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
