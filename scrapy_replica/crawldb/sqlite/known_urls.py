"""What is known of URLs: by their keys, by their ids, by their hosts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from random import Random
from typing import Any

from scrapy_replica.crawldb.contract import URGENT, Known, Permission, UrlRow
from scrapy_replica.crawldb.remote import FoundUrl
from scrapy_replica.crawldb.sqlite.connection import LOOKED_UP, Connection, damaged
from scrapy_replica.crawldb.sqlite.hosts import HostTable
from scrapy_replica.crawldb.sqlite.schema import DROPPED, LEASED, STATES, WAITING
from scrapy_replica.crawldb.sqlite.table import Table

MAX_ABSENT = 10_000
"""Keys that are held of which no URL is known, 60 bytes each; then all are forgotten."""

MAX_FINDERS = 1_000
"""URLs of pages that are held for what was found on them, 200 bytes each; then all are forgotten."""

PERMISSIONS = tuple(Permission)
"""By their values, which Python finds five times faster so."""

COLUMNS = "url, key, score, priority, is_demoted, depth, parent, payload, permission"

SELECTED = f"id, host, {COLUMNS}, EXISTS (SELECT 1 FROM pages WHERE pages.url = urls.id)"
"""What makes a row of a URL that waits or was taken."""

IN_ORDER = f"WHERE state = {WAITING} AND host = ? ORDER BY is_demoted, priority DESC, score DESC, id"
"""What waits of a host, next first."""


class KnownUrls(Table):
    """Looks URLs up; most are asked about several times while they are found and fetched."""

    def __init__(self, connection: Connection, hosts: HostTable) -> None:
        super().__init__(connection)
        self.hosts = hosts
        self._absent: set[int] = set()
        """Keys that were looked for and of which no URL is known."""
        self._leased: dict[int, UrlRow] = {}
        """What is being fetched, as it was taken: it is asked about a dozen times before it is done."""
        self._finders: dict[int, str] = {}
        """Id -> URL, of pages that were asked for: what is taken next was mostly found on the same."""

    # By their keys

    def find(self, keys: Collection[int]) -> dict[int, Known]:
        """Return what is known of the URLs of those *keys*; unknown ones are left out."""
        asked = [key for key in keys if key not in self._absent]
        rows = self._rows_of(asked, "id, key, state, parent")
        found = {row[1]: Known(row[0], STATES[row[2]], row[3]) for row in rows}
        if len(found) < len(asked):
            self._miss(key for key in asked if key not in found)
        return found

    def known(self, key: int) -> Known | None:
        """Return what is known of the URL with that *key*; ``None`` if it was never entered."""
        return self.find([key]).get(key)

    def _miss(self, keys: Iterable[int]) -> None:
        """Take note that there are no URLs of *keys*: most are entered next, and need not be looked for again."""
        if len(self._absent) > MAX_ABSENT:
            self._absent.clear()
        self._absent.update(keys)

    def _rows_of(self, keys: Collection[int], columns: str, column: str = "key") -> list[Any]:
        return self._connection.rows_of(f"SELECT {columns} FROM urls WHERE {column} IN", keys)

    # By their ids

    def _waiting(self, row: Sequence[Any]) -> UrlRow:
        url_id, host, url, key, score, priority, is_demoted, depth, parent, payload, permission, was_fetched = row
        try:
            (name, slot), permitted = self.hosts.rows[host], PERMISSIONS[permission]
        except (LookupError, TypeError) as error:
            raise damaged(f"a URL of host {host!r} and permission {permission!r}") from error
        return UrlRow(
            url_id,
            name,
            slot,
            url,
            key,
            score,
            priority,
            bool(is_demoted),
            depth,
            parent,
            payload,
            permitted,
            bool(was_fetched),
        )

    def url_of(self, url_id: int) -> str:
        if (taken := self._leased.get(url_id)) is not None:
            return taken.url
        url = self._finders.get(url_id)
        if url is None:
            url = self._url_of(url_id)
            if len(self._finders) >= MAX_FINDERS:
                self._finders.clear()
            self._finders[url_id] = url
        return url

    def _url_of(self, url_id: int) -> str:
        url: str = self._read("SELECT url FROM urls WHERE id = ?", (url_id,)).fetchone()[0]
        return url

    def row(self, url_id: int) -> UrlRow:
        """Return the URL of that id as it was entered; its payload is kept until it brought its page."""
        if (taken := self._leased.get(url_id)) is not None:
            return taken
        return self._waiting(self._read(f"SELECT {SELECTED} FROM urls WHERE id = ?", (url_id,)).fetchone())

    def set_parent(self, url_id: int, parent: int) -> None:
        """Write down that the page of the id *parent* leads to the URL of that id, and not the one found first."""
        self._write("UPDATE urls SET parent = ? WHERE id = ?", (parent, url_id))

    def is_first(self, url_id: int) -> bool:
        """Tell whether the URL of that id, which was taken, is certainly fetched for the first time."""
        return (taken := self._leased.get(url_id)) is not None and not taken.was_fetched

    def found(self, url_ids: Sequence[int]) -> list[FoundUrl]:
        """Return how the URLs of those ids were found, but for what is dropped."""
        sql = (
            "SELECT urls.url, host.name, urls.payload, urls.parent, finder.name FROM urls"
            " JOIN hosts AS host ON host.id = urls.host LEFT JOIN urls AS page ON page.id = urls.parent"
            f" LEFT JOIN hosts AS finder ON finder.id = page.host WHERE urls.id = ? AND urls.state <> {DROPPED}"
        )
        return [FoundUrl(*row) for url_id in url_ids for row in self._read(sql, (url_id,))]

    def key_of(self, url_id: int) -> int | None:
        if (taken := self._leased.get(url_id)) is not None:
            return taken.key
        key: int | None = self._read("SELECT key FROM urls WHERE id = ?", (url_id,)).fetchone()[0]
        return key

    # By their hosts

    def _random_waiting(self, random: Random, last_id: int) -> int | None:
        """Return the id of a random waiting URL: looked up at random, and where few of all wait, among these."""
        ids = [random.randint(1, last_id) for _ in range(LOOKED_UP)] if last_id else []
        waiting = {
            row[0] for row in self._rows_of(ids, "id, state, score", "id") if row[1] == WAITING and row[2] < URGENT
        }
        for url_id in ids:
            if url_id in waiting:
                return url_id
        few = f"FROM urls INDEXED BY waiting WHERE state = {WAITING} AND score < ?"
        number = self._number(f"SELECT COUNT(*) {few}", URGENT)
        return self._number(f"SELECT id {few} LIMIT 1 OFFSET ?", URGENT, random.randrange(number)) if number else None

    def waiting_urls(self, host: str, most: int) -> list[str]:
        sql = f"SELECT is_demoted, -priority, -score, id, url FROM urls {IN_ORDER} LIMIT ?"
        rows = [row for host_id in self.hosts.ids_of(host) for row in self._read(sql, (host_id, most))]
        if len(rows) > most:
            rows.sort()  # of several slots
        return [row[4] for row in rows[:most]]

    def leased_urls(self, host: str) -> list[str]:
        sql = f"SELECT url FROM urls INDEXED BY leased WHERE state = {LEASED} AND host = ?"
        return [url for host_id in self.hosts.ids_of(host) for url in self._column(sql, host_id)]
