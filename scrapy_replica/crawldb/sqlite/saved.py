"""The tables of what decisions saved, and of work that is not done yet."""

from __future__ import annotations

from collections.abc import Iterable

from scrapy_replica.crawldb.contract import Saved
from scrapy_replica.crawldb.pages import MISSING
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.schema import DONE, DROPPED
from scrapy_replica.crawldb.sqlite.urls import UrlTable

MAX_LOOKED_AT = 1_000
"""URLs that one cause saved last among which some are chosen."""


class SavedTable:
    """For each URL that was dropped or demoted what decided so and which URL is fetched in its place."""

    def __init__(self, connection: Connection, urls: UrlTable) -> None:
        self._read, self._write, self._write_many = connection.read, connection.write, connection.write_many
        self._connection, self._urls = connection, urls

    def save(self, saved: Iterable[Saved]) -> None:
        self._write_many("INSERT OR REPLACE INTO saved VALUES (?, ?, ?)", [tuple(row) for row in saved])

    def restore_for(self, target: int, most: int, *, is_exempt: bool = True) -> list[tuple[int, str | None]]:
        rows = self._read("SELECT url FROM saved WHERE target = ? LIMIT ?", (target, most))
        return self._restore(rows, is_exempt=is_exempt)

    def restore_of(self, cause: str, most: int, *, after: int = 0) -> list[tuple[int, str | None]]:
        sql = "SELECT url FROM saved WHERE cause = ? AND url > ? ORDER BY url LIMIT ?"
        return self._restore(self._read(sql, (cause, after, most)), is_exempt=False)

    def _restore(self, rows: Iterable[tuple[int]], *, is_exempt: bool) -> list[tuple[int, str | None]]:
        ids = list(dict.fromkeys(url_id for (url_id,) in rows))
        self._write_many("DELETE FROM saved WHERE url = ?", [(url_id,) for url_id in ids])
        return [(url_id, self._urls.restore(url_id, is_exempt=is_exempt)) for url_id in ids]

    def some_of(self, cause: str, most: int) -> list[Saved]:
        sql = (
            "SELECT saved.url, cause, target FROM saved JOIN urls ON urls.id = saved.url"
            f" WHERE cause = ? AND state = {DROPPED} ORDER BY saved.url DESC LIMIT {MAX_LOOKED_AT}"
        )
        found = [Saved(*row) for row in self._read(sql, (cause,))]
        return found[:: max(1, -(-len(found) // most))]

    def restore(self, url_id: int) -> None:
        self._restore([(url_id,)], is_exempt=True)

    def causes_of(self, target: int) -> list[str]:
        sql = "SELECT cause FROM saved WHERE target = ? AND cause > ? ORDER BY cause LIMIT 1"
        causes: list[str] = []
        # Cause by cause through the index: one may have saved a hundred thousand URLs in favour of the target.
        while (row := self._read(sql, (target, causes[-1] if causes else "")).fetchone()) is not None:
            causes.append(row[0])
        return causes

    def causes(self) -> list[str]:
        sql = "SELECT cause FROM saved WHERE cause > ? ORDER BY cause LIMIT 1"
        causes: list[str] = []
        # Cause by cause through the index: one may have saved millions of URLs.
        while (row := self._read(sql, (causes[-1] if causes else "",)).fetchone()) is not None:
            causes.append(row[0])
        return causes

    def bereft(self, most: int) -> list[int]:
        sql = (
            "SELECT DISTINCT target FROM saved WHERE target IS NOT NULL AND NOT EXISTS ("
            " SELECT 1 FROM urls LEFT JOIN pages ON pages.url = urls.id WHERE urls.key = target AND CASE urls.state"
            f" WHEN {DROPPED} THEN EXISTS (SELECT 1 FROM saved AS again WHERE again.url = urls.id)"
            f" WHEN {DONE} THEN pages.url IS NULL OR pages.status < {MISSING} ELSE 1 END) LIMIT ?"
        )
        return [target for (target,) in self._read(sql, (most,))]

    def begin_work(self, work: str) -> None:
        # A row that is there is written again, so that others hear of it.
        if not self._write("UPDATE work SET id = id WHERE work = ?", (work,)).rowcount:
            self._write("INSERT INTO work VALUES (?, ?)", (self._connection.new_id("work"), work))

    def end_work(self, work: str) -> None:
        self._write("DELETE FROM work WHERE work = ?", (work,))

    def unfinished_work(self) -> list[str]:
        return [work for (work,) in self._read("SELECT work FROM work ORDER BY id")]
