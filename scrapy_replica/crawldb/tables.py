"""What a job knows as tables for other programs: rows of plain values, read a batch at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.schema import STATES
from scrapy_replica.crawldb.status import HostStatus
from scrapy_replica.usage import Use, from_json, license_of, uses_by_name

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class LinkRow(NamedTuple):
    """A URL and the page that it was first found on. Of further links to it nothing is kept."""

    id: int
    """Number of the URL."""
    source_id: int | None
    """Number of the URL of that page; ``None`` for a seed."""
    source: str | None
    target: str
    host: str
    depth: int
    state: str
    is_demoted: bool
    score: float | None
    """The strategy's; ``None`` where the URL is asked for to decide something."""


class FetchRow(NamedTuple):
    """A fetch and what came of it."""

    id: int
    """Number of the URL."""
    url: str
    host: str
    fetched_at: str
    """ISO 8601, UTC."""
    status: int | None
    error: str | None
    title: str | None
    words: int | None
    relevance: float | None
    """0..1."""
    novelty: str | None
    repeats: str | None
    """URL of the page that it is a duplicate of."""
    search: str | None
    """Whether its site allows it to be found: ``allowed``, ``refused`` or unknown; so for the next three."""
    ai_use: str | None
    train_ai: str | None
    tdm: str | None
    license: str | None
    """URL of its licence."""
    statements: str | None
    """JSON: what its site says of that, pairs of source and value."""


class DecisionRow(NamedTuple):
    """A decision about a URL."""

    id: int
    at: str
    """ISO 8601, UTC."""
    url: str
    host: str
    action: str
    """What was done."""
    wanted: str
    """What the evidence asked for."""
    reason: str
    probability: float
    evidence: str
    """JSON."""
    is_sampled: bool
    outcome: str | None
    """What a fetch showed all the same."""


class HostRow(NamedTuple):
    """A host and what came of it."""

    host: str
    ip: str | None
    fetches: int
    pages: int
    novel: int
    exact_duplicates: int
    near_duplicates: int
    relevant: int
    failed: int
    refused: int
    waiting: int
    dropped: int
    copy_of: str | None
    """Host that is fetched in its place."""
    score: float | None
    """How sure that is, 0..1."""


class HostLink(NamedTuple):
    """Two hosts, and how many URLs of the second were first found on the first."""

    source: str
    target: str
    urls: int


class TextRow(NamedTuple):
    """What a fetched page says, as hashes."""

    id: int
    """Number of the URL."""
    signature: bytes
    host: str
    title: str | None
    beside: int | None
    """Hash of what it says beside its main text."""


class TraceRow(NamedTuple):
    """A URL, and of its page, if it was fetched, what pages are compared by."""

    id: int
    """Number of the URL."""
    url: str
    host: str
    ip: str | None
    signature: bytes | None
    simhash: int | None
    """64 bits as two's complement."""
    words: int | None
    title: str | None
    mark: bytes | None
    neighbours: str | None
    status: int | None
    at: float | None
    """Seconds since the epoch."""
    cluster: int | None
    fetched: bool


class TableReader:
    """The tables. Rows come in batches, so that none is read for longer than a crawl beside it would like: at most so
    many, those whose number is greater than *after*.
    """

    def __init__(self, connection: Connection, hosts: Callable[[], Sequence[HostStatus]]) -> None:
        self._read, self._hosts = connection.read, hosts

    def links(self, after: int, most: int) -> list[LinkRow]:
        rows = self._read(
            "SELECT urls.id, pages.id, pages.url, urls.url, hosts.name, urls.depth, urls.state, urls.is_demoted,"
            " urls.score FROM urls JOIN hosts ON hosts.id = urls.host LEFT JOIN urls AS pages ON pages.id = urls.parent"
            " WHERE urls.id > ? ORDER BY urls.id LIMIT ?",
            (after, most),
        )
        return [
            LinkRow._make((*row, STATES[state].value, bool(is_demoted), score if math.isfinite(score) else None))
            for *row, state, is_demoted, score in rows
        ]

    def pages(self, after: int, most: int) -> list[FetchRow]:
        rows = self._read(
            "SELECT pages.url, urls.url, hosts.name, fetched_at, status, error, title, words, relevance, novelty,"
            " twins.url, statements FROM pages JOIN urls ON urls.id = pages.url JOIN hosts ON hosts.id = urls.host"
            " LEFT JOIN urls AS twins ON twins.id = pages.twin WHERE pages.url > ? ORDER BY pages.url LIMIT ?",
            (after, most),
        )
        return [
            FetchRow(number, url, host, _time(at), *row, *_usage(statements))
            for number, url, host, at, *row, statements in rows
        ]

    def decisions(self, after: int, most: int) -> list[DecisionRow]:
        rows = self._read(
            "SELECT decisions.id, at, urls.url, hosts.name, action, wanted, reason, probability, evidence, is_sampled,"
            " (SELECT outcome FROM samples WHERE samples.url = decisions.url AND samples.reason = decisions.reason)"
            " FROM decisions JOIN urls ON urls.id = decisions.url JOIN hosts ON hosts.id = urls.host"
            " WHERE decisions.id > ? ORDER BY decisions.id LIMIT ?",
            (after, most),
        )
        return [
            DecisionRow._make((number, _time(at), *row, bool(is_sampled), outcome))
            for number, at, *row, is_sampled, outcome in rows
        ]

    def noise(self) -> str:
        """Return how the main texts of the job's pages were found; empty where none was."""
        return "".join(bytes(value).decode() for (value,) in self._read("SELECT value FROM meta WHERE key = 'noise'"))

    def texts(self, after: int, most: int) -> list[TextRow]:
        """Return the pages that say something."""
        rows = self._read(
            "SELECT pages.url, signature, hosts.name, title, beside FROM pages JOIN hosts ON hosts.id = pages.host"
            " WHERE pages.url > ? AND signature IS NOT NULL ORDER BY pages.url LIMIT ?",
            (after, most),
        )
        return [TextRow._make(row) for row in rows]

    def traces(self, after: int, most: int) -> list[TraceRow]:
        rows = self._read(
            "SELECT urls.id, urls.url, hosts.name, hosts.ip, signature, simhash, words, title, mark, neighbours,"
            " status, fetched_at, cluster, pages.url IS NOT NULL FROM urls JOIN hosts ON hosts.id = urls.host"
            " LEFT JOIN pages ON pages.url = urls.id WHERE urls.id > ? ORDER BY urls.id LIMIT ?",
            (after, most),
        )
        return [TraceRow._make((*row, bool(is_fetched))) for *row, is_fetched in rows]

    def hosts(self) -> list[HostRow]:
        """Return all hosts, most fetched first."""
        ips = dict(self._read("SELECT name, MAX(ip) FROM hosts GROUP BY name"))
        kept = {
            copy: (canonical, score)
            for copy, canonical, score in self._read(
                "SELECT copy, canonical, score FROM verdicts WHERE standing = 'in force'"
            )
        }
        return [
            HostRow(one.host, ips[one.host], *one.traffic, one.waiting, one.dropped, *kept.get(one.host, (None, None)))
            for one in self._hosts()
        ]

    def host_links(self) -> Iterator[HostLink]:
        """Yield the pairs of different hosts of which one leads to the other."""
        rows = self._read(
            "SELECT source.name, target.name, SUM(n) FROM (SELECT pages.host AS one, urls.host AS other, COUNT(*) AS n"
            " FROM urls JOIN urls AS pages ON pages.id = urls.parent WHERE pages.host <> urls.host GROUP BY one, other)"
            " JOIN hosts AS source ON source.id = one JOIN hosts AS target ON target.id = other"
            " WHERE source.name <> target.name GROUP BY source.name, target.name"
        )
        for row in rows:
            yield HostLink(*row)


def _usage(text: str | None) -> Sequence[str | None]:
    """Return the columns that tell what may be done with a page."""
    statements = from_json(text)
    told = uses_by_name(statements)
    return (*(told.get(use.value) for use in Use), license_of(statements), text)


def _time(at: float) -> str:
    return (_EPOCH + timedelta(seconds=at)).isoformat(timespec="milliseconds")  # OverflowError, on each system
