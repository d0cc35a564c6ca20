"""The SQLite file of a job as commands read it and write orders into it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from typing import Any

from scrapy_replica.claim import Claim, Standing
from scrapy_replica.crawldb.contract import State, StoreError
from scrapy_replica.crawldb.forms import FormTable
from scrapy_replica.crawldb.orders import Give, OrderTable
from scrapy_replica.crawldb.reader import (
    DecisionView,
    HostView,
    PageView,
    RuleView,
    UrlView,
    VerdictView,
)
from scrapy_replica.crawldb.results import ResultReader
from scrapy_replica.crawldb.revisits import RevisitTable
from scrapy_replica.crawldb.rules import RuleTable, without_repeats
from scrapy_replica.crawldb.sqlite.connection import UNREADABLE, Connection, advice, damaged, told
from scrapy_replica.crawldb.sqlite.schema import STATES
from scrapy_replica.crawldb.sqlite.status import SUPPRESSED, StatusReader, ViewReader
from scrapy_replica.crawldb.sqlite.table import OF_HOST
from scrapy_replica.crawldb.tables import TableReader
from scrapy_replica.crawldb.texts import TextTable
from scrapy_replica.crawldb.verdicts import UncertainPairTable
from scrapy_replica.crawldb.visits import VisitTable
from scrapy_replica.decision import Action, Reason
from scrapy_replica.records import Novelty
from scrapy_replica.usage import from_json


@contextmanager
def open_reader(path: Path) -> Iterator[SqliteReader]:
    """Open the file at *path*, which a crawl may have open.

    :raises StoreError: it is not ours, of another version, or damaged.
    """
    with _one_line(path):
        connection = Connection(path, is_reader=True)
        try:
            connection.read("BEGIN")  # so that all that is read is of one commit
            yield SqliteReader(connection)
        finally:
            connection.abandon()


@contextmanager
def open_orders(path: Path) -> Iterator[Give]:
    """Open the file at *path* to write orders, which are there for the crawl at the end of the span.

    A crawl that writes meanwhile is waited for, 10 s.

    :raises StoreError: it is not ours, of another version, or damaged.
    """
    with _one_line(path):
        with open_reader(path):
            pass  # a foreign file is refused before anything is written
        connection = Connection(path)
        try:
            yield lambda kind, what: OrderTable(connection).give(kind, what, time.time())
            connection.commit()
        finally:
            connection.abandon()


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    try:
        yield
    except (StoreError, *UNREADABLE) as error:
        cause = error.__cause__ if isinstance(error, StoreError) else error
        if cause is None:
            raise
        again = f"{advice(cause)}; or begin the crawl in another JOBDIR"
        what = "the crawl is writing, try again" if "locked" in str(cause) else again
        raise StoreError(f"{path} cannot be used ({told(cause)}): {what}") from None
    except (TypeError, LookupError, OverflowError) as error:
        # Where a record was made of its row: no type or length of what a sound file holds brings these about.
        if Path(__file__).parents[1] not in Path(extract_tb(error.__traceback__)[-1].filename).parents:
            raise
        raise damaged(f"{type(error).__name__}, {told(error)}") from error


class SqliteReader(ViewReader):
    """What is known, as it was last committed when the first of it was read.

    Everything raises :class:`~scrapy_replica.crawldb.contract.StoreError` where the database cannot be read.
    """

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.meta = connection.meta
        self._rules, self._revisits = RuleTable(connection), RevisitTable(connection)
        self.rule, self.orders = self._rules.row, OrderTable(connection).last
        self.status = StatusReader(connection).read
        self.forms = FormTable(connection)
        self.visits = VisitTable(connection)
        self.texts = TextTable(connection)
        self.tables = TableReader(connection, lambda: self.status(None, sys.maxsize).hosts)
        self.results = ResultReader(connection)
        self.uncertain_pairs = UncertainPairTable(connection).all

    # URLs

    def url(self, url: str, key: int | None = None) -> UrlView | None:
        """Return what is known of the URL that has that *key*, otherwise of *url* to the letter; ``None`` if nothing.

        Without a key it may read every URL of the job.
        """
        row = self._url("urls.key = ?", key) if key is not None else None
        row = row or self._url("urls.url = ?", url)
        if row is None:
            return None
        url_id, address, number, depth, priority, score, is_demoted, parent = row
        state = STATES[number]
        claims, representatives = self._suppressed(url_id) if state in {State.WAITING, State.DROPPED} else ([], [])
        return UrlView(
            address,
            state,
            depth,
            priority,
            score,
            bool(is_demoted),
            parent,
            self._page(url_id),
            claims,
            representatives,
            self._decisions(url_id),
            self._revisits.of(url_id),
        )

    def _url(self, condition: str, value: str | int) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._read(
            "SELECT urls.id, urls.url, urls.state, urls.depth, urls.priority, urls.score, urls.is_demoted, parents.url"
            f" FROM urls LEFT JOIN urls AS parents ON parents.id = urls.parent WHERE {condition}"
            " ORDER BY urls.id LIMIT 1",
            (value,),
        ).fetchone()
        return row

    def url_with_arguments(self, url: str) -> str | None:
        """Return a URL that is *url* with more arguments, if there is one. It may read every URL of the job."""
        path, _, asked = url.partition("?")
        found = self._read("SELECT url FROM urls WHERE url > ? AND url < ?", (f"{path}?", f"{path}@"))
        wanted = {*asked.split("&")} - {""}
        return next((one for (one,) in found if wanted <= {*one.partition("?")[2].split("&")}), None)

    def host_names(self) -> list[str]:
        return self._column("SELECT DISTINCT name FROM hosts")

    def _suppressed(self, url_id: int) -> tuple[list[Claim], list[str]]:
        representatives = (
            "SELECT DISTINCT urls.url FROM suppressed JOIN urls ON urls.key = representative"
            " WHERE suppressed.url = ? ORDER BY 1"
        )
        claims = self._column("SELECT claim FROM suppressed WHERE url = ? ORDER BY claim", url_id)
        return [*map(Claim.read, claims)], self._column(representatives, url_id)

    def _page(self, url_id: int) -> PageView | None:
        row = self._read(
            "SELECT fetched_at, status, error, title, words, relevance, novelty, urls.url, statements"
            " FROM pages LEFT JOIN urls ON urls.id = pages.twin WHERE pages.url = ?",
            (url_id,),
        ).fetchone()
        if row is None:
            return None
        page = PageView._make((*row[:-1], from_json(row[-1])))
        return page._replace(novelty=Novelty(page.novelty) if page.novelty is not None else None)

    def _decisions(self, url_id: int) -> list[DecisionView]:
        rows = self._read(
            "SELECT at, action, wanted, reason, evidence, is_sampled, (SELECT outcome FROM samples"
            " WHERE samples.url = decisions.url AND samples.reason = decisions.reason) FROM decisions"
            " WHERE url = ? ORDER BY id",
            (url_id,),
        )
        return [
            DecisionView(
                at, Action(action), Action(wanted), Reason(reason), json.loads(evidence), bool(is_sampled), outcome
            )
            for at, action, wanted, reason, evidence, is_sampled, outcome in rows
        ]

    # Hosts

    def seed_hosts(self) -> list[str]:
        """Return the hosts of the seeds, where the crawl stays near them."""
        return self._column("SELECT host FROM seed_hosts ORDER BY host")

    def host(self, host: str) -> HostView | None:
        """Return what is known of *host*; ``None`` if nothing. It may read as much as :meth:`url`."""
        ips = self._column("SELECT ip FROM hosts WHERE name = ? ORDER BY ip DESC", host)
        if not ips:
            return None
        urls = self._read(f"SELECT state, COUNT(*) FROM urls WHERE {OF_HOST} GROUP BY state", (host,))
        pages = self._read(
            f"SELECT novelty, COUNT(*) FROM pages WHERE {OF_HOST} AND novelty IS NOT NULL GROUP BY novelty", (host,)
        )
        decisions = self._read(
            f"SELECT action, reason, COUNT(*) FROM decisions JOIN urls ON urls.id = decisions.url WHERE {OF_HOST}"
            " GROUP BY action, reason ORDER BY 3 DESC",
            (host,),
        )
        return HostView(
            host,
            ips[0],
            {STATES[number]: count for number, count in urls},
            {Novelty(novelty): count for novelty, count in pages},
            next(iter(self._verdicts("copy = ? ORDER BY id DESC LIMIT 1", (host,))), None),
            self._column("SELECT copy FROM verdicts WHERE canonical = ? AND standing = 'in force' ORDER BY id", host),
            {(Action(action), Reason(reason)): count for action, reason, count in decisions},
        )

    def verdicts(self) -> list[VerdictView]:
        """Return the verdicts that hold, first reached first."""
        return self._verdicts("standing = 'in force' ORDER BY id")

    # Rules

    def rules(self) -> list[RuleView]:
        """Return all DUST rules, first proposed first."""
        rows = list(self._rules.rows())
        in_force = [row for row in rows if row.state is Standing.IN_FORCE]
        repeated = {row.id for row in in_force}.difference(row.id for row in without_repeats(in_force))
        return [self._rule(row)._replace(is_repeated=row.id in repeated) for row in rows]

    def saved_by_rules(self) -> int:
        """Return the number of URLs that are dropped for some rule."""
        return self._number(
            f"SELECT COUNT(DISTINCT suppressed.url) {SUPPRESSED} claim >= ? AND claim < ?", "rule ", "rule!"
        )
