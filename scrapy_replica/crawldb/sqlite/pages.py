"""The table of fetched pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scrapy_replica.crawldb.sqlite.connection import Connection, signed


class PageRow(NamedTuple):
    """What tells a duplicate from another page."""

    url_id: int
    url: str
    host: str
    title: str | None


class Fetched(NamedTuple):
    """The outcome of a fetch; the fields are the columns of the table."""

    url: int
    """Id of the URL."""
    fetched_at: float
    status: int | None = None
    error: str | None = None
    signature: bytes | None = None
    simhash: int | None = None
    words: int | None = None
    title: str | None = None
    relevance: float | None = None
    novelty: str | None = None
    twin: int | None = None


GONE = (404, 410)
"""Statuses that say that there is no page."""
INSERT = f"INSERT OR REPLACE INTO pages ({', '.join(Fetched._fields)}) VALUES ({', '.join('?' * len(Fetched._fields))})"


class PageTable:
    """One row for each URL that was fetched, with its fingerprints and what it turned out to be."""

    def __init__(self, connection: Connection) -> None:
        self._read, self._write = connection.read, connection.write

    def enter(self, page: Fetched) -> None:
        """Keep the outcome of a fetch; an earlier one of the same URL is replaced."""
        self._write(INSERT, page._replace(simhash=None if page.simhash is None else signed(page.simhash)))

    def set_mark(self, url_id: int, mark: bytes, neighbours: str) -> None:
        """Keep the traces by which the page is compared with those of other hosts."""
        self._write("UPDATE pages SET mark = ?, neighbours = ? WHERE url = ?", (mark, neighbours, url_id))

    def set_content(self, url_id: int, content: int | None, cluster: int | None, aliases: str | None) -> None:
        """Keep what the page is on its host, and its other URLs (JSON)."""
        self._write(
            "UPDATE pages SET content = ?, cluster = ?, aliases = ? WHERE url = ?", (content, cluster, aliases, url_id)
        )

    def contents(self) -> Iterator[tuple[str, int | None, int | None, str | None]]:
        """Yield (URL, content, cluster, aliases) of every page, in the order of fetching."""
        yield from self._read(
            "SELECT urls.url, content, cluster, aliases FROM pages JOIN urls ON urls.id = pages.url"
            " WHERE status = 200 ORDER BY fetched_at"
        )

    def gone(self) -> Iterator[str]:
        """Yield every URL that there is no page at."""
        rows = self._read(f"SELECT urls.url FROM pages JOIN urls ON urls.id = pages.url WHERE status IN {GONE}")
        yield from (url for (url,) in rows)

    def marks(self) -> Iterator[tuple[str, str, bytes, str]]:
        """Yield (URL, host, mark, neighbours) of every page, in the order of fetching."""
        yield from self._read(
            "SELECT urls.url, hosts.name, pages.mark, pages.neighbours FROM pages JOIN urls ON urls.id = pages.url"
            " JOIN hosts ON hosts.id = urls.host WHERE pages.mark IS NOT NULL ORDER BY pages.fetched_at"
        )

    def has_page(self, url_id: int) -> bool:
        """Tell whether that URL was fetched with a status of 200 before."""
        return self._read("SELECT 1 FROM pages WHERE url = ? AND status = 200", (url_id,)).fetchone() is not None

    def judgement(self, url_id: int) -> tuple[bytes | None, str, PageRow | None] | None:
        """Return (signature, novelty, twin) of the page of that URL as last fetched; ``None`` if it was not."""
        row = self._read(
            "SELECT signature, novelty, twin FROM pages WHERE url = ? AND status = 200", (url_id,)
        ).fetchone()
        return None if row is None else (row[0], row[1], next(iter(self._select("url", row[2], 1)), None))

    def by_signature(self, signature: bytes, limit: int = 8) -> list[PageRow]:
        """Return pages with that signature, first fetched first."""
        return self._select("signature", signature, limit)

    def by_simhash(self, simhash: int, limit: int = 8) -> list[PageRow]:
        """Return pages with exactly that simhash, first fetched first."""
        return self._select("simhash", signed(simhash), limit)

    def _select(self, column: str, value: bytes | int | None, limit: int) -> list[PageRow]:
        rows = self._read(
            "SELECT urls.id, urls.url, hosts.name, pages.title FROM pages"
            " JOIN urls ON urls.id = pages.url JOIN hosts ON hosts.id = urls.host"
            f" WHERE pages.{column} = ? ORDER BY pages.fetched_at LIMIT ?",
            (value, limit),
        )
        return [PageRow(*row) for row in rows]

    def simhashes(self) -> Iterator[int]:
        """Yield the simhash of every page, unsigned."""
        for (value,) in self._read("SELECT simhash FROM pages WHERE simhash IS NOT NULL"):
            yield value & (1 << 64) - 1

    def novelties(self) -> Iterator[tuple[str, str]]:
        """Yield (URL, novelty) of every page, in the order of fetching."""
        yield from self._read(
            "SELECT urls.url, pages.novelty FROM pages JOIN urls ON urls.id = pages.url"
            " WHERE pages.novelty IS NOT NULL ORDER BY pages.fetched_at"
        )

    def count(self) -> int:
        """Return the number of pages fetched with a status of 200."""
        count: int = self._read("SELECT COUNT(*) FROM pages WHERE status = 200").fetchone()[0]
        return count
