"""The crawl database in one SQLite file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import mmh3

from scrapy_replica.crawldb.sqlite.blocks import BlockTable
from scrapy_replica.crawldb.sqlite.connection import Connection, signed
from scrapy_replica.crawldb.sqlite.form_table import FormTable
from scrapy_replica.crawldb.sqlite.frontier import Frontier, Head
from scrapy_replica.crawldb.sqlite.ledger import Ledger
from scrapy_replica.crawldb.sqlite.pages import PageTable
from scrapy_replica.crawldb.sqlite.rules import RuleTable
from scrapy_replica.crawldb.sqlite.schema import DEMOTED, DONE, DROPPED, LEASED, PRIORITY_STEP, QUEUED
from scrapy_replica.crawldb.sqlite.verdicts import VerdictTable
from scrapy_replica.crawldb.sqlite.visits import VisitTable
from scrapy_replica.crawldb.visits import NoVisits, Visits

FILE_NAME = "replica.sqlite"


def host_key(host: str, digest: bytes) -> int:
    """Return a signed 64-bit key of a URL: 12 bits of its host's hash, then 52 bits of *digest*.

    URLs of one host lie side by side in the index of keys, so that the links of a page touch few of its leaves.
    """
    place = mmh3.hash(host, signed=False) >> 20 << 52
    return signed(place | int.from_bytes(digest[:8], "big") >> 12)


class NewUrl(NamedTuple):
    """A URL to enter into the frontier."""

    url: str
    host: str
    fingerprint: int | None
    """64 bits of the request fingerprint, signed, best as :func:`host_key` makes them; ``None`` enters it even if it
    is known (``dont_filter``)."""
    score: float = 0.0
    depth: int = 0
    parent: int | None = None
    payload: bytes | None = None
    is_exempt: bool = False
    """No decision applies to it: it belongs to a redirect chain, or the user said so."""


class Waiting(NamedTuple):
    """A URL taken from the frontier."""

    id: int
    host_id: int
    host: str
    url: str
    fingerprint: int | None
    score: float
    depth: int
    payload: bytes | None
    is_exempt: bool


class SqliteCrawlDB:
    """What the crawl knows: URLs, hosts, pages and decisions, in one file in WAL mode, or in memory.

    Invariants: a URL is in one state; *seen* and *queued* are one row, so they change together; a lease that was not
    finished is put back when the file is opened; :meth:`take` gives the highest score among the hosts that are not
    held, first found first. All writes since the last :meth:`commit` form one transaction, and :meth:`finish` is
    called after everything that a page led to was entered: a killed crawl repeats the pages that it had in flight
    and loses none. Readers may open the file at any time.
    """

    def __init__(self, path: Path | None) -> None:
        connection = Connection(path)
        self.is_persistent = path is not None
        self.pages = PageTable(connection)
        self.ledger = Ledger(connection)
        self.verdicts = VerdictTable(connection)
        self.rules = RuleTable(connection)
        self.visits: Visits = VisitTable(connection) if path is not None else NoVisits()
        self.forms = FormTable(connection)
        self.blocks = BlockTable(connection)
        self.commit, self.close = connection.commit, connection.close
        self.meta, self.set_meta = connection.meta, connection.set_meta
        self._read, self._write = connection.read, connection.write
        self._write(f"UPDATE urls SET state = {QUEUED} WHERE state = {LEASED}")
        self.commit()
        self._hosts: dict[str, int] = {}
        self._names: dict[int, str] = {}
        for host, name in self._read("SELECT id, name FROM hosts"):
            self._hosts[name], self._names[host] = host, name
        self.last_id: int = self._read("SELECT COALESCE(MAX(id), 0) FROM urls").fetchone()[0]
        """Greatest id given to a URL so far."""
        self.waiting: int = self._read("SELECT COUNT(*) FROM urls WHERE state = 0").fetchone()[0]
        """Number of waiting URLs."""
        self._is_oldest_first = False
        self._frontier = Frontier(self._head_of)
        self._frontier.rebuild(list(self._names))
        self.hold, self.release = self._frontier.hold, self._frontier.release

    def host_id(self, name: str) -> int:
        """Return the number of the host, entering it if it is new."""
        host = self._hosts.get(name)
        if host is None:
            host = self._write("INSERT INTO hosts (name) VALUES (?) RETURNING id", (name,)).fetchone()[0]
            self._hosts[name], self._names[host] = host, name
        return host

    def set_host_ip(self, name: str, ip: str) -> None:
        """Keep the address that answered for the host."""
        self._write("UPDATE hosts SET ip = ? WHERE id = ? AND ip IS NOT ?", (ip, self.host_id(name), ip))

    # Waiting URLs

    def discover(self, url: NewUrl) -> tuple[int, bool] | None:
        """Enter *url*, or raise the score of the waiting one, or bring a dropped one back.

        :return: its id and whether it is new, or ``None`` where nothing changed: it waits with as good a score, is
            being fetched, or is done.
        """
        host = self.host_id(url.host)
        # rowcount and lastrowid tell as much as RETURNING, whose rows SQLite keeps in a table: 5 us a URL less.
        entered = self._write(
            "INSERT INTO urls (host, url, fingerprint, state, score, depth, parent, payload, is_exempt)"
            f" VALUES (?, ?, ?, {QUEUED}, ?, ?, ?, ?, ?) ON CONFLICT (fingerprint)"
            f" DO UPDATE SET score = excluded.score WHERE state = {QUEUED} AND score < excluded.score",
            (host, url.url, url.fingerprint, url.score, url.depth, url.parent, url.payload, url.is_exempt),
        )
        if entered.rowcount and (new_id := entered.lastrowid or 0) > self.last_id:
            self.last_id = new_id
            self.waiting += 1
            self._offer(host, new_id, url.score)
            return new_id, True
        if entered.rowcount:
            row = self._read("SELECT id, host FROM urls WHERE fingerprint = ?", (url.fingerprint,)).fetchone()
        else:
            row = self._write(
                f"UPDATE urls SET state = {QUEUED}, score = ?, payload = ?, is_exempt = ? WHERE fingerprint = ?"
                f" AND state = {DROPPED} RETURNING id, host",
                (url.score, url.payload, url.is_exempt, url.fingerprint),
            ).fetchone()
            if row is None:
                return None
            self.waiting += 1
        self._offer(row[1], row[0], url.score)
        return row[0], False

    def discover_dropped(self, url: NewUrl) -> int | None:
        """Enter *url* as dropped; ``None`` if it is known."""
        row = self._write(
            "INSERT INTO urls (host, url, fingerprint, state, score, depth, parent, is_exempt)"
            f" VALUES (?, ?, ?, {DROPPED}, ?, ?, ?, 0) ON CONFLICT (fingerprint) DO NOTHING RETURNING id",
            (self.host_id(url.host), url.url, url.fingerprint, url.score, url.depth, url.parent),
        ).fetchone()
        if row is None:
            return None
        self.last_id = max(self.last_id, row[0])
        found: int = row[0]
        return found

    def _offer(self, host: int, url_id: int, score: float) -> None:
        is_early = self._is_oldest_first and score > -DEMOTED / 2
        self._frontier.offer(host, (-DEMOTED if is_early else -score, url_id))

    def order_by_discovery(self, is_on: bool) -> None:
        """Take URLs in the order of their discovery instead of their scores, demoted ones last (the warm-up)."""
        if is_on != self._is_oldest_first:
            self._is_oldest_first = is_on
            self._frontier.rebuild(list(self._names))

    def _head_of(self, host: int) -> Head | None:
        if self._is_oldest_first:
            row = self._read(
                "SELECT MIN(id) FROM urls INDEXED BY waiting WHERE state = 0 AND host = ? AND score > ?",
                (host, -DEMOTED / 2),
            ).fetchone()
            if row[0] is not None:
                return -DEMOTED, row[0]
        head: Head | None = self._read(
            "SELECT -score, id FROM urls WHERE state = 0 AND host = ? ORDER BY score DESC, id LIMIT 1", (host,)
        ).fetchone()
        return head

    def raise_(self, fingerprint: int, score: float) -> bool:
        """Give a waiting URL a new *score*, higher or lower; ``False`` if it does not wait.

        Its demotion and the user's priority, which are whole steps of the score, stay.
        """
        return self.rescore({fingerprint: score}) > 0

    def rescore(self, scores: Mapping[int, float]) -> int:
        """Give each waiting URL of *scores* (fingerprint -> score) its new score; return how many wait."""
        hosts = []
        for fingerprint, score in scores.items():
            row = self._write(
                f"UPDATE urls SET score = ROUND(score / {PRIORITY_STEP}) * {PRIORITY_STEP} + ?"
                " WHERE fingerprint = ? AND state = 0 RETURNING host",
                (score, fingerprint),
            ).fetchone()
            if row is not None:
                hosts.append(row[0])
        for host in set(hosts):
            self._frontier.refresh(host)
        return len(hosts)

    def heads(self, most: int) -> list[Waiting]:
        """Return the best waiting URLs of the host whose URL :meth:`take` would give, best first."""
        host = self._frontier.first()
        if host is None:
            return []
        rows = self._read(
            "SELECT id, url, fingerprint, score, depth, payload, is_exempt FROM urls WHERE state = 0 AND host = ?"
            " ORDER BY score DESC, id LIMIT ?",
            (host, most),
        )
        return [Waiting(url_id, host, self._names[host], *row) for url_id, *row in rows]

    def set_scores(self, host: int, scores: Mapping[int, float]) -> None:
        """Give waiting URLs of *host* other *scores* (id -> score), priority and demotion included."""
        for url_id, score in scores.items():
            self._write("UPDATE urls SET score = ? WHERE id = ?", (score, url_id))
        self._frontier.refresh(host)

    def forget_waiting(self, prefix: bytes) -> list[str]:
        """Delete the waiting URLs whose payload begins with *prefix* and return them; a link may find them anew."""
        rows = self._write(
            "DELETE FROM urls WHERE state = 0 AND substr(payload, 1, ?) = ? RETURNING url", (len(prefix), prefix)
        ).fetchall()
        if rows:
            self.waiting -= len(rows)
            self._frontier.rebuild(list(self._names))
        return [url for (url,) in rows]

    def waiting_of(self, host: str) -> list[Waiting]:
        """Return the waiting URLs of *host*."""
        host_id = self.host_id(host)
        rows = self._read(
            "SELECT id, url, fingerprint, score, depth, payload, is_exempt FROM urls WHERE state = 0 AND host = ?",
            (host_id,),
        )
        return [Waiting(url_id, host_id, host, *row) for url_id, *row in rows]

    def waiting_urls(self, host: str, limit: int) -> list[str]:
        """Return the best waiting URLs of *host*, at most *limit*."""
        sql = "SELECT url FROM urls WHERE state = 0 AND host = ? ORDER BY score DESC, id LIMIT ?"
        return [url for (url,) in self._read(sql, (self.host_id(host), limit))]

    def restore_of_rule(self, rule_id: int) -> list[tuple[int, str]]:
        """Let the URLs wait as before that were dropped or demoted for a DUST rule; return (id, URL) of each."""
        return self._restore_decided("EXISTS (SELECT 1 FROM json_each(evidence, '$.rules') WHERE value = ?)", rule_id)

    def restore_of_form(self, form: str) -> list[tuple[int, str]]:
        """Let the URLs wait again that were dropped in favour of the canonical *form*; return (id, URL) of each."""
        return self._restore_decided("json_extract(evidence, '$.canonical') = ?", form)

    def _restore_decided(self, condition: str, value: int | str) -> list[tuple[int, str]]:
        decided = f"SELECT url FROM decisions WHERE reason = 'dust-rule' AND action != 'fetch' AND {condition}"
        rows = self._write(
            f"UPDATE urls SET state = {QUEUED} WHERE state = {DROPPED} AND id IN ({decided}) RETURNING id, url, host",
            (value,),
        ).fetchall()
        self.waiting += len(rows)
        rows += self._write(
            f"UPDATE urls SET score = score + {DEMOTED} WHERE state = {QUEUED} AND score < {-DEMOTED / 2}"
            f" AND id IN ({decided}) RETURNING id, url, host",
            (value,),
        ).fetchall()
        for host in {host for _, _, host in rows}:
            self._frontier.refresh(host)
        return list(dict.fromkeys((url_id, url) for url_id, url, _ in rows))

    def url_of(self, url_id: int) -> str:
        """Return the URL of that id."""
        url: str = self._read("SELECT url FROM urls WHERE id = ?", (url_id,)).fetchone()[0]
        return url

    def restore(self, host: str, reasons: Sequence[str]) -> int:
        """Let the URLs of *host* wait again that were dropped for one of *reasons*; return how many."""
        host_id = self.host_id(host)
        places = ", ".join("?" * len(reasons))
        rows = self._write(
            f"UPDATE urls SET state = {QUEUED} WHERE host = ? AND state = {DROPPED}"
            f" AND id IN (SELECT url FROM decisions WHERE reason IN ({places})) RETURNING id",
            (host_id, *reasons),
        ).fetchall()
        self.waiting += len(rows)
        self._frontier.refresh(host_id)
        return len(rows)

    # What is known

    def known_urls(self) -> Iterator[tuple[str, str]]:
        """Yield (URL, host) of every URL, in the order of discovery."""
        yield from self._read("SELECT urls.url, hosts.name FROM urls JOIN hosts ON hosts.id = host ORDER BY urls.id")

    def in_links(self) -> dict[str, int]:
        """Return host -> number of its URLs that were first found on another host."""
        return dict(
            self._read(
                "SELECT hosts.name, COUNT(*) FROM urls JOIN urls AS parents ON parents.id = urls.parent"
                " JOIN hosts ON hosts.id = urls.host WHERE parents.host != urls.host GROUP BY urls.host"
            )
        )

    # Leases

    def take(self) -> Waiting | None:
        """Lease the best waiting URL of the hosts that are not held."""
        found = self._frontier.pop()
        if found is None:
            return None
        host, url_id = found
        row = self._write(
            f"UPDATE urls SET state = {LEASED} WHERE id = ?"
            " RETURNING url, fingerprint, score, depth, payload, is_exempt",
            (url_id,),
        ).fetchone()
        self._frontier.refresh(host)
        self.waiting -= 1
        return Waiting(url_id, host, self._names[host], *row)

    def finish(self, url_id: int) -> None:
        """Acknowledge a lease: the URL is done."""
        self._write(f"UPDATE urls SET state = {DONE}, payload = NULL WHERE id = ?", (url_id,))

    def put_back(self, taken: Waiting, score: float) -> None:
        """Return a lease to the waiting URLs, with another score."""
        self._write(f"UPDATE urls SET state = {QUEUED}, score = ? WHERE id = ?", (score, taken.id))
        self.waiting += 1
        self._offer(taken.host_id, taken.id, score)

    def drop(self, url_id: int) -> None:
        """Drop a URL."""
        self._write(f"UPDATE urls SET state = {DROPPED} WHERE id = ?", (url_id,))

    def drop_waiting(self, waiting: Waiting) -> None:
        """Drop a waiting URL."""
        self.drop(waiting.id)
        self.waiting -= 1
        self._frontier.refresh(waiting.host_id)

    def find(self, fingerprint: int) -> tuple[int, int] | None:
        """Return (id, state) of the URL of that fingerprint."""
        row: tuple[int, int] | None = self._read(
            "SELECT id, state FROM urls WHERE fingerprint = ?", (fingerprint,)
        ).fetchone()
        return row
