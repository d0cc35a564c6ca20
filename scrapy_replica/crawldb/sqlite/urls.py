"""The table of URLs: what is known, in which state, and in which order what waits is taken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from scrapy_replica.crawldb.contract import URGENT, Found, NewUrl, Permission, UrlRow
from scrapy_replica.crawldb.sqlite.connection import Connection, damaged
from scrapy_replica.crawldb.sqlite.host_order import Head, HostOrder
from scrapy_replica.crawldb.sqlite.hosts import HostTable
from scrapy_replica.crawldb.sqlite.known_urls import COLUMNS, IN_ORDER, SELECTED, KnownUrls
from scrapy_replica.crawldb.sqlite.schema import DONE, DROPPED, LEASED, WAITING

WAITING_META = "waiting"
LAST_ID_META = "last id"
"""Key of the last id given when URLs were last deleted, lest one be given again."""
IS_DEMOTED = f"state = {WAITING} AND is_demoted"
INSERT = f"INSERT INTO urls (id, host, state, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class UrlTable(KnownUrls):
    """One row for each URL; rows that wait, by host, make the frontier.

    New rows are numbered here: only the crawl that has the job open writes them.
    """

    def __init__(self, connection: Connection) -> None:
        self._host_order = self._make_host_order()
        self.hold, self.release = self._host_order.hold, self._host_order.release
        super().__init__(connection, HostTable(connection, self._host_order))
        self._changed: set[int] = set()
        """Hosts whose waiting URLs changed in the open span."""
        self._priority_of_drawn: int | None = None
        self.waiting = int(connection.meta(WAITING_META) or 0)
        self._waiting_stored = self.waiting
        self._open()

    def _make_host_order(self) -> HostOrder:
        return HostOrder(self._head_of)

    def _open(self) -> None:
        leased = self._write(f"UPDATE urls SET state = {WAITING} WHERE state = {LEASED}").rowcount
        self.waiting += leased
        last_id = self._number("SELECT COALESCE(MAX(id), 0) FROM urls")
        self._last_id = max(last_id, int(self._connection.meta(LAST_ID_META) or 0))
        for host in self.hosts.rows:
            self._host_order.refresh(host)

    def store_count(self) -> None:
        """Write the number of waiting URLs, which would take a scan to count."""
        if self.waiting != self._waiting_stored:
            self._connection.set_meta(WAITING_META, str(self.waiting).encode())
            self._waiting_stored = self.waiting

    # Spans

    def savepoint(self) -> tuple[int, int, int]:
        """Begin a span; return what :meth:`undo` needs."""
        self._changed.clear()
        return self.waiting, self._last_id, len(self.hosts.rows)

    def undo(self, savepoint: tuple[int, int, int]) -> None:
        """Bring what is in memory back to the beginning of the span, whose writes were taken back."""
        self.waiting, self._last_id, n_hosts = savepoint
        self.hosts.undo(n_hosts)
        self._leased.clear()
        self._absent.clear()
        self._finders.clear()
        for host in self._changed & self.hosts.rows.keys():
            self._host_order.refresh(host)

    # Entering

    def discover(self, urls: Sequence[NewUrl]) -> list[tuple[int, Found]]:
        """Enter *urls*; one that waits in a worse place is moved, one that was dropped comes back.

        One that waits and is entered exempt is exempt from then on.

        :return: for each its id and what became of it.
        """
        keys = {url.key for url in urls if url.key is not None} - self._absent
        columns = "id, key, state, is_demoted, priority, score, host"
        known = {row[1]: row for row in self._rows_of(keys, columns)} if keys else {}
        self._ask(urls, known)
        rows: dict[int, tuple[Any, ...]] = {}
        raised: dict[int, tuple[int, bool, int, float]] = {}
        found = []
        for url in urls:
            row = known.get(url.key) if url.key is not None else None
            if row is None:
                found.append((self._new(url, rows, known), Found.NEW))
            else:
                if row[0] in rows:
                    # The URL stands twice among *urls*: enter the first before the second is held against it.
                    self._insert(rows)
                found.append((row[0], self._again(url, row, known, raised)))
        self._insert(rows)
        if raised:
            change = "UPDATE urls SET is_demoted = ?, priority = ?, score = ? WHERE id = ?"
            self._connection.write_many(change, [(*place, url_id) for url_id, (_, *place) in raised.items()])
            for url_id, place in raised.items():
                self._offer(*place, url_id)
        return found

    def _new(self, url: NewUrl, rows: dict[int, tuple[Any, ...]], known: dict[int, Any]) -> int:
        url_id = self._new_id()
        host = self.hosts.id_in(url.host, url.slot)
        state = DROPPED if url.is_dropped else WAITING
        place = url.score, url.priority, url.is_demoted
        rows[url_id] = (
            url_id, host, state, url.url, url.key, *place, url.depth, url.parent, url.payload, url.permission
        )  # fmt: skip
        if url.key is not None:
            self._absent.discard(url.key)
            known[url.key] = (url_id, url.key, state, url.is_demoted, url.priority, url.score, host)
        if not url.is_dropped:
            self.waiting += 1
            self._offer(host, url.is_demoted, url.priority, url.score, url_id)
        return url_id

    def _ask(self, urls: Sequence[NewUrl], known: dict[int, Any]) -> None:
        """Ask others that share the job for those of *urls* that are not *known* here; there are none."""

    def expect(self, keys: Collection[int]) -> None:
        """Take note that URLs of these *keys* may be entered soon: others that share the job are asked at once."""

    @property
    def last_id(self) -> int:
        """The greatest id of a URL so far."""
        return self._last_id

    def _new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _insert(self, rows: dict[int, tuple[Any, ...]]) -> None:
        if rows:
            self._connection.write_many(INSERT, [*rows.values()])
            rows.clear()

    def _again(
        self,
        url: NewUrl,
        row: tuple[Any, ...],
        known: dict[int, Any],
        raised: dict[int, tuple[int, bool, int, float]],
    ) -> Found:
        """Enter a URL that is *known*; one that waits in a worse place goes among those that are to be *raised*."""
        url_id, key, state, is_demoted, priority, score, host = row
        if url.is_dropped or state in {LEASED, DONE}:
            return Found.KNOWN
        if state == WAITING and url.permission is Permission.EXEMPT:
            self._write("UPDATE urls SET permission = ? WHERE id = ?", (Permission.EXEMPT.value, url_id))
        place = (url.is_demoted, url.priority, URGENT if state == WAITING and score == URGENT else url.score)
        is_better = (not place[0], *place[1:]) > (not is_demoted, priority, score)
        if state == WAITING and not is_better:
            return Found.KNOWN
        known[key] = (url_id, key, WAITING, *place, host)
        if state == WAITING:
            raised[url_id] = host, *place
            return Found.RAISED
        change = f"is_demoted = ?, priority = ?, score = ?, state = {WAITING}, payload = ?, permission = ?"
        self._move(change, "id = ?", (*place, url.payload, url.permission, url_id))
        self.waiting += 1
        self._write("DELETE FROM suppressed WHERE url = ?", (url_id,))
        return Found.RESTORED

    def _move(self, change: str, condition: str, values: Sequence[Any]) -> str | None:
        """Let a URL wait in the place that a *change* gives it, if the *condition* holds; return it if so."""
        row = self._write(
            f"UPDATE urls SET {change} WHERE {condition} RETURNING url, host, is_demoted, priority, score, id", values
        ).fetchone()
        if row is None:
            return None
        self._offer(*row[1:])
        return str(row[0])

    def _offer(self, host: int, is_demoted: bool, priority: int, score: float, url_id: int) -> None:
        self._changed.add(host)
        self._host_order.offer(host, (int(is_demoted), -priority, -score, url_id))

    def _refresh(self, host: int) -> None:
        self._changed.add(host)
        self._host_order.refresh(host)

    def _head_of(self, host: int) -> Head | None:
        head: Head | None = self._read(
            f"SELECT is_demoted, -priority, -score, id FROM urls {IN_ORDER} LIMIT 1",
            (host,),
        ).fetchone()
        return head

    # What waits

    def claimed(self) -> Sequence[str]:
        """Return the names of the hosts that were given to this process since the last call, which others had before.

        What is held of them is read anew. Empty where one process has the whole crawl.
        """
        return ()

    def first_id(self) -> int | None:
        """Return the id of the URL that :meth:`take` would give, where that is known without a look."""
        host = self._host_order.first()
        return None if host is None else self._host_order.head(host)

    def heads(self, most: int) -> list[UrlRow]:
        """Return the best waiting URLs of the host whose URL :meth:`take` would give, best first.

        Where each look costs time, those of the hosts that come next follow, so many of each.
        """
        host = self._host_order.first()
        return [] if host is None else self._best(host, most)

    def _best(self, host: int, most: int) -> list[UrlRow]:
        rows = self._read(f"SELECT {SELECTED} FROM urls {IN_ORDER} LIMIT ?", (host, most))
        return [self._waiting(row) for row in rows]

    def set_scores(self, scores: Sequence[tuple[UrlRow, float]]) -> None:
        """Give URLs that :meth:`heads` returned, and that still wait, other scores, as :meth:`rescore` does."""
        if scores:
            sql = f"UPDATE urls SET score = ? WHERE id = ? AND state = {WAITING} AND score < ?"
            self._connection.write_many(sql, [(score, row.id, URGENT) for row, score in scores])
        for host in {(row.host, row.slot) for row, _ in scores}:
            self._refresh(self.hosts.id_in(*host))

    def rescore(self, scores: Mapping[int, float]) -> int:
        """Give the waiting URLs of *scores* (key -> score) other scores, higher or lower; return how many wait.

        A URL that is :data:`URGENT` stays so.
        """
        # Most of a page's links do not wait: one look and one statement for the rest, not a statement for each.
        rows = self._rows_of(scores, "id, key, host, state, score, is_demoted, priority")
        waiting = {row[0]: row for row in rows if row[3] == WAITING and row[4] < URGENT}
        moved = [row for row in waiting.values() if row[4] != scores[row[1]]]
        if moved:
            changed = [(scores[row[1]], row[0]) for row in moved]
            self._connection.write_many("UPDATE urls SET score = ? WHERE id = ?", changed)
        for url_id, key, host, _, _, is_demoted, priority in moved:
            self._offer(host, is_demoted, priority, scores[key], url_id)
        return len(waiting)

    def draw(self, random: Random, pending: Iterable[int] = ()) -> int | None:
        """Let a *random* waiting URL come first, and those *pending*, which were drawn before; return its id.

        ``None`` where no other waits. A URL of a higher priority, as redirects have, moves them all: what was drawn and
        is passed over tells nothing, and what tells is no random sample.
        """
        url_id, before = self._random_waiting(random, self._last_id), self._priority_of_drawn
        best = max((one for one in (before, self._host_order.best_priority) if one is not None), default=None)
        self._priority_of_drawn = best
        first = "score = ?, is_demoted = 0, priority = MAX(priority, COALESCE(?, priority))"
        for one in (*(pending if best != before else ()), url_id):
            self._move(first, f"id = ? AND state = {WAITING}", (URGENT, best, one))
        return url_id

    # What becomes of a URL

    def take(self) -> UrlRow | None:
        """Lease the best waiting URL of the slots that are not held."""
        found = self._host_order.pop()
        if found is None:
            return None
        host, url_id = found
        row = self._write(f"UPDATE urls SET state = {LEASED} WHERE id = ? RETURNING {SELECTED}", (url_id,)).fetchone()
        if row is None:
            raise damaged("an index names a URL that is not there")
        self._refresh(host)
        self.waiting -= 1
        taken = self._leased[url_id] = self._waiting(row)
        return taken

    def renew(self, urls: Iterable[tuple[int, float, bytes | None]]) -> int:
        """Let URLs that are done wait again, triples of id, score and payload; return how many were done."""
        change = f"state = {WAITING}, is_demoted = 0, score = ?, payload = ?"
        places = ((score, payload, url_id) for url_id, score, payload in urls)
        n_renewed = sum(self._move(change, f"id = ? AND state = {DONE}", place) is not None for place in places)
        self.waiting += n_renewed
        return n_renewed

    def retry(self, url_id: int, priority: int, payload: bytes | None) -> None:
        """Let a URL that was taken wait again, with another priority and payload."""
        self._leased.pop(url_id, None)
        change = f"state = {WAITING}, priority = ?, payload = ?"
        if self._move(change, f"id = ? AND state = {LEASED}", (priority, payload, url_id)) is not None:
            self.waiting += 1

    def finish(self, url_ids: Collection[int]) -> None:
        """Acknowledge leases: these URLs are done; one that waits again goes on waiting.

        The payload of one that brought no page is kept: a claim that acts later may have it asked for elsewhere.
        """
        payload = "(SELECT urls.payload FROM pages WHERE url = urls.id AND status IS NOT 200)"
        sql = f"UPDATE urls SET state = {DONE}, payload = {payload} WHERE id = ? AND state <> {WAITING}"
        self._connection.write_many(sql, [(url_id,) for url_id in url_ids])
        for url_id in url_ids:
            self._leased.pop(url_id, None)

    def demote(self, url_id: int) -> None:
        """Let a URL that was taken wait again, behind everything that is not demoted."""
        self._wait(url_id, "is_demoted = 1", f"state = {LEASED}")

    def _wait(self, url_id: int, change: str, condition: str) -> str | None:
        """Let a URL wait, with a *change*, if the *condition* holds; return it if so."""
        url = self._move(f"state = {WAITING}, {change}", f"id = ? AND {condition}", (url_id,))
        if url is not None:
            self._leased.pop(url_id, None)
            self.waiting += condition != IS_DEMOTED
        return url

    def drop(self, url_id: int) -> None:
        self._leased.pop(url_id, None)
        host, state = self._read("SELECT host, state FROM urls WHERE id = ?", (url_id,)).fetchone()
        if state in {WAITING, LEASED}:
            self._write(f"UPDATE urls SET state = {DROPPED} WHERE id = ?", (url_id,))
        if state == WAITING:
            self.waiting -= 1
            self._refresh(host)

    def restore(self, url_id: int, *, is_exempt: bool) -> str | None:
        """Let a URL that was dropped or demoted wait as before, or exempt; return it if it was."""
        change = f"is_demoted = 0{f', permission = {Permission.EXEMPT.value}' if is_exempt else ''}"
        dropped = self._wait(url_id, change, f"state = {DROPPED}")
        return dropped if dropped is not None else self._wait(url_id, change, IS_DEMOTED)

    def forget(self, url_id: int) -> None:
        """Delete a URL that waits; a link may find it anew."""
        self._forget("WHERE id = ?", (url_id,))

    def forget_waiting(self, prefix: bytes) -> list[tuple[str, int | None]]:
        """Delete the waiting URLs whose payload begins with *prefix*; a link may find them anew.

        Return them and the ids of the URLs that they were found on.
        """
        condition = "INDEXED BY with_payload WHERE payload IS NOT NULL AND substr(payload, 1, ?) = ?"
        return self._forget(condition, (len(prefix), prefix))

    def _forget(self, condition: str, values: Sequence[Any]) -> list[tuple[str, int | None]]:
        sql = f"DELETE FROM urls {condition} AND state = {WAITING} RETURNING url, host, parent"
        rows = self._write(sql, values).fetchall()
        self.waiting -= len(rows)
        self._connection.set_meta(LAST_ID_META, str(self._last_id).encode())
        for host in {host for _, host, _ in rows}:
            self._refresh(host)
        return [(url, parent) for url, _, parent in rows]
