"""Fetched pages, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.crawldb.remote import RemotePage
from scrapy_replica.crawldb.sqlite.connection import Connection, signed
from scrapy_replica.crawldb.sqlite.hosts import HostTable
from scrapy_replica.crawldb.sqlite.table import OF_HOST, Table
from scrapy_replica.records import Novelty


class PageRow(NamedTuple):
    """What tells a duplicate from another page."""

    url_id: int
    url: str
    host: str
    title: str | None
    signature: bytes | None = None
    beside: int | None = None
    """Hash of what it says beside its main text."""


Judgement: TypeAlias = tuple[bytes | None, str, PageRow | None]
"""Signature, novelty and twin of a page."""


class HostPage(NamedTuple):
    """A fetch as those need it that know a host by its pages."""

    url_id: int
    url: str
    parent: int | None
    """Id of the URL that it was found on."""
    depth: int
    fetched_at: float
    status: int | None
    is_news: bool | None
    mark: bytes | None
    neighbours: str | None
    content: int | None
    cluster: int | None
    aliases: str | None
    leads: bytes | None
    leads_to: str | None

    @property
    def is_given(self) -> bool:
        """Whether no page led there: the user gave it, or a redirect of that."""
        return self.depth == 0


class TextPlace(NamedTuple):
    """Where a text stands on some host."""

    host_id: int
    host: str
    url: str
    words: int


class Fetched(NamedTuple):
    """The outcome of a fetch."""

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
    is_news: bool | None = None
    size: int | None = None
    """Bytes of the body as they came over the network."""
    beside: int | None = None
    """Hash of what the page says beside its main text, signed."""
    statements: str | None = None
    """JSON: what its site says may be done with the page, as :mod:`scrapy_replica.usage` writes it."""
    mark: bytes | None = None
    """The traces by which it is compared with pages of other hosts; ``None``: an earlier page's stay."""
    neighbours: str | None = None
    """JSON: the hosts that it names, and the way to it; as the mark."""
    leads_to: str | None = None
    """Where it redirects to, host and path."""


class Trace(NamedTuple):
    """What a page is held against another by."""

    signature: bytes | None
    simhash: int | None
    words: int
    is_news: bool | None
    mark: bytes | None
    beside: int | None = None


GONE = (404, 410)
"""Statuses that say that there is no page."""

NOT_MODIFIED = 304

MISSING = 400
"""From this status on there is no page to stand for another."""


def is_absent(status: int | None) -> bool:
    """Tell whether a *status* says that there is no page of its own at a URL: it is gone, or leads elsewhere.

    304 is about the page that was there before.
    """
    return status is not None and status != NOT_MODIFIED and (status in GONE or 300 <= status < MISSING)


OWN = (
    f"(one.is_news OR (one.novelty = '{Novelty.UNKNOWN.value}' AND NOT EXISTS (SELECT 1 FROM pages AS other"
    " WHERE other.signature = one.signature AND other.host = one.host AND other.url <> one.url)))"
)
"""Of pages, those that brought news, and those of too little text to tell that no other one of its host repeats."""
AT_ONCE = 4
"""Pages of one text that are read together: most texts stand on one."""

# The fields of the record are columns; the host is that of the URL, and where a page led stays when it is gone.
VALUES = (
    f"INTO pages ({', '.join(Fetched._fields)}, host, leads) VALUES ({', '.join('?' * len(Fetched._fields))},"
    " (SELECT host FROM urls WHERE id = ?1), (SELECT leads FROM pages WHERE url = ?1))"
)

STAYING = ("mark", "neighbours")

# What led somewhere, was gone and is back has leads when it was read again: without them nobody takes it for read.
UPDATE = (
    f"{', '.join(f'{name} = excluded.{name}' for name in Fetched._fields[1:] if name not in STAYING)},"
    f" {', '.join(f'{name} = COALESCE(excluded.{name}, pages.{name})' for name in STAYING)},"
    " leads = CASE pages.status WHEN 200 THEN pages.leads END"
)


class PageTable(Table):
    """One row for each URL that was fetched, with its fingerprints and what it turned out to be.

    :param hosts: the numbers of hosts.
    """

    def __init__(self, connection: Connection, hosts: HostTable) -> None:
        super().__init__(connection)
        self._hosts = hosts

    def enter(self, page: Fetched) -> None:
        """Keep the outcome of a fetch; an earlier one of the same URL is replaced.

        Where that was a page and this is one, its traces, content and leads stay until they are set anew; where this is
        none, its leads.
        """
        row = page._replace(simhash=None if page.simhash is None else signed(page.simhash))
        if page.status == HTTPStatus.OK:
            self._write(f"INSERT {VALUES} ON CONFLICT (url) DO UPDATE SET {UPDATE}", row)
        else:
            self._write(f"INSERT OR REPLACE {VALUES}", row)

    def set_mark(self, url_id: int, mark: bytes) -> None:
        self._write("UPDATE pages SET mark = ? WHERE url = ?", (mark, url_id))

    def set_relevance(self, url_id: int, relevance: float) -> None:
        self._write("UPDATE pages SET relevance = ? WHERE url = ?", (relevance, url_id))

    def statements(self, url_id: int) -> str | None:
        """Return what the site of the page of that URL says may be done with it, as JSON; ``None`` for nothing."""
        return self._cell("SELECT statements FROM pages WHERE url = ?", url_id)

    def set_statements(self, url_id: int, statements: str | None) -> None:
        """Keep what the site of a page that is as it was says by now."""
        self._write("UPDATE pages SET statements = ?1 WHERE url = ?2 AND statements IS NOT ?1", (statements, url_id))

    def set_news(self, url_id: int) -> None:
        """Keep that the page was worth a fetch after all."""
        self._write("UPDATE pages SET is_news = 1 WHERE url = ?", (url_id,))

    def forget_marks(self, host: str) -> None:
        self._write(f"UPDATE pages SET mark = NULL, neighbours = NULL WHERE {OF_HOST} AND mark IS NOT NULL", (host,))

    def set_content(
        self, url_id: int, content: int | None, cluster: int | None, aliases: str | None, leads: bytes
    ) -> None:
        """Keep what the page is on its host, its other URLs (JSON), and where it was the first to lead."""
        self._write(
            "UPDATE pages SET content = ?, cluster = ?, aliases = ?, leads = ? WHERE url = ?",
            (content, cluster, aliases, leads, url_id),
        )

    def leads(self, url_id: int) -> bytes | None:
        """Return where the page of that URL was the first to lead; ``None`` where that is not known."""
        return self._cell("SELECT leads FROM pages WHERE url = ?", url_id)

    def of_host(self, host: str) -> list[HostPage]:
        """Return what was fetched on *host*, first fetched first; of a host without URLs nothing is asked."""
        if not (ids := self._hosts.ids_of(host)):
            return []
        rows = self._read(
            "SELECT urls.id, urls.url, urls.parent, urls.depth, fetched_at, status, is_news, mark, neighbours,"
            " content, cluster, aliases, leads, leads_to FROM pages JOIN urls ON urls.id = pages.url"
            f" WHERE pages.host IN ({', '.join('?' * len(ids))}) ORDER BY fetched_at, pages.url",
            ids,
        )
        return [HostPage(*row) for row in rows]

    def remote(self, url_ids: Iterable[int]) -> list[RemotePage]:
        """Return the fetches of the URLs of those ids, in that order; what was never fetched is left out."""
        sql = (
            "SELECT urls.id, urls.url, hosts.name, urls.depth, fetched_at, status, title, words, simhash,"
            " relevance, novelty, mark, neighbours, content, cluster, aliases, leads FROM pages"
            " JOIN urls ON urls.id = pages.url JOIN hosts ON hosts.id = pages.host WHERE pages.url = ?"
        )
        rows = [RemotePage(*row) for url_id in url_ids for row in self._read(sql, (url_id,))]
        return [row if row.simhash is None else row._replace(simhash=row.simhash % (1 << 64)) for row in rows]

    def linking_hosts(self, host: str, most: int) -> list[str]:
        """Return other hosts, at most *most*, whose pages a URL fetched on *host* was first found on."""
        return self._column(
            "SELECT DISTINCT hosts.name FROM pages JOIN urls ON urls.id = pages.url"
            " JOIN urls AS finder ON finder.id = urls.parent JOIN hosts ON hosts.id = finder.host"
            " WHERE pages.host IN (SELECT id FROM hosts WHERE name = ?1) AND hosts.name <> ?1 LIMIT ?2",
            host,
            most,
        )

    def has_host(self, host: str) -> bool:
        """Tell whether something was fetched on *host*."""
        return self._has(f"SELECT 1 FROM pages WHERE {OF_HOST}", host)

    def has_page(self, url_id: int) -> bool:
        """Tell whether that URL was fetched with a status of 200 before."""
        return self._has("SELECT 1 FROM pages WHERE url = ? AND status = 200", url_id)

    def is_unread(self, url_id: int) -> bool:
        """Tell whether that URL brought a page of which nothing is known, since it was not read."""
        return self._has(
            "SELECT 1 FROM pages WHERE url = ? AND status = 200 AND words IS NULL AND novelty IS NOT NULL", url_id
        )

    def has_failed(self, url_id: int) -> bool:
        """Tell whether that URL was fetched and brought no page: no response, or another status than 200."""
        return self._has("SELECT 1 FROM pages WHERE url = ? AND status IS NOT 200", url_id)

    def has_error(self, url_id: int) -> bool:
        """Tell whether that URL was fetched and answered by an error, or by nothing."""
        return self._has(f"SELECT 1 FROM pages WHERE url = ? AND (status IS NULL OR status >= {MISSING})", url_id)

    def leads_to(self, url_id: int) -> str | None:
        """Return where that URL redirects to, host and path; ``None`` where it does not, or was not fetched."""
        return self._cell("SELECT leads_to FROM pages WHERE url = ?", url_id)

    def is_own(self, url_id: int) -> bool:
        """Tell whether the page of that URL is one that nothing else of its host is, as far as it was fetched."""
        return self._has(f"SELECT 1 FROM pages AS one WHERE one.url = ? AND {OWN}", url_id)

    def failed_on(self, host: str) -> list[int]:
        """Return the ids of the URLs on *host* that were fetched and brought no page, but for redirects."""
        sql = f"SELECT url FROM pages WHERE {OF_HOST} AND (status IS NULL OR status >= 400)"
        return self._column(sql, host)

    def judgement(self, url_id: int) -> Judgement | None:
        """Return (signature, novelty, twin) of the page of that URL as last read; ``None`` if it was not."""
        row = self._read(
            "SELECT signature, novelty, twin FROM pages WHERE url = ? AND words IS NOT NULL", (url_id,)
        ).fetchone()
        return None if row is None else (row[0], row[1], next(iter(self._select("url", row[2], 1)), None))

    def news(self, url_id: int) -> tuple[str, bool | None] | None:
        """Return the host of the page of that URL and whether it was worth a fetch; ``None`` if it brought none."""
        sql = "SELECT name, is_news FROM pages JOIN hosts ON hosts.id = pages.host WHERE url = ? AND status = 200"
        row = self._read(sql, (url_id,)).fetchone()
        return None if row is None else (row[0], _told(row[1]))

    def trace(self, url_id: int) -> Trace | None:
        """Return the traces of the page of that URL; ``None`` if it brought none, or was not read."""
        row = self._read(
            "SELECT signature, simhash, words, is_news, mark, beside FROM pages WHERE url = ? AND words IS NOT NULL",
            (url_id,),
        ).fetchone()
        if row is None:
            return None
        signature, simhash, words, is_news, mark, beside = row
        simhash = None if simhash is None else simhash % (1 << 64)
        return Trace(signature, simhash, words, _told(is_news), mark, beside)

    def by_signature(self, signature: bytes, limit: int = 8) -> list[PageRow]:
        return self._select("signature", signature, limit)

    def by_simhash(self, simhash: int) -> list[PageRow]:
        """Return pages with exactly that simhash, first fetched first."""
        return self._select("simhash", signed(simhash))

    def _select(self, column: str, value: bytes | int | None, limit: int = 8) -> list[PageRow]:
        rows = self._read(
            "SELECT urls.id, urls.url, hosts.name, pages.title, pages.signature, pages.beside FROM pages"
            " JOIN urls ON urls.id = pages.url JOIN hosts ON hosts.id = urls.host"
            f" WHERE pages.{column} = ? ORDER BY pages.fetched_at LIMIT ?",
            (value, limit),
        )
        return [PageRow(*row) for row in rows]

    def text_places(self, simhash: int, most: int) -> list[TextPlace]:
        """Return one page of each host that has one with exactly that simhash, at most *most*."""
        found: dict[int, TextPlace] = {}
        while len(found) < most:
            # A few rows after each host through the index: one text may stand on a hundred thousand pages of a host.
            rows = self._read(
                "SELECT pages.host, hosts.name, urls.url, words FROM pages JOIN urls ON urls.id = pages.url"
                " JOIN hosts ON hosts.id = pages.host WHERE simhash = ? AND pages.host > ?"
                " ORDER BY pages.host LIMIT ?",
                (signed(simhash), max(found, default=-1), AT_ONCE),
            ).fetchall()
            for row in rows:
                found.setdefault(row[0], TextPlace(*row))
            if len(rows) < AT_ONCE:
                break
        return list(found.values())[:most]

    def text_urls(self, simhash: int, host_id: int, most: int) -> list[str]:
        """Return URLs of the pages with exactly that simhash on a host, at most *most*."""
        sql = "SELECT urls.url FROM pages JOIN urls ON urls.id = pages.url WHERE simhash = ? AND pages.host = ? LIMIT ?"
        return self._column(sql, signed(simhash), host_id, most)

    def simhashes(self) -> NDArray[np.uint64]:
        """Return the simhash of every page, shape (n,)."""
        rows = self._read("SELECT simhash FROM pages WHERE simhash IS NOT NULL")
        return np.fromiter((value for (value,) in rows), dtype=np.int64).view(np.uint64)

    def count(self, most: int) -> int:
        """Return the number of pages fetched with a status of 200, or *most* if there are more."""
        return self._number("SELECT COUNT(*) FROM (SELECT 1 FROM pages WHERE status = 200 LIMIT ?)", most)


def _told(flag: int | None) -> bool | None:
    return None if flag is None else bool(flag)
