"""What came of a crawl: the figures of a job that only the report shows; the others are a ``Status``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

from scrapy_replica.claim import Claim
from scrapy_replica.crawldb.reader import VerdictView
from scrapy_replica.crawldb.sqlite.schema import DROPPED, WAITING
from scrapy_replica.crawldb.sqlite.status import LAST_DROP_REASON, TRAFFIC, ViewReader
from scrapy_replica.crawldb.sqlite.table import OF_HOST
from scrapy_replica.crawldb.status import Traffic
from scrapy_replica.decision import SAVING, Reason
from scrapy_replica.records import Novelty


class Point(NamedTuple):
    """How far a crawl had come."""

    at: float
    """Seconds since the epoch."""
    traffic: Traffic
    """What had come of all fetches."""
    size: int
    """Bytes of all bodies, as they came over the network."""


class Scores(NamedTuple):
    """The scores of the URLs that wait, counted in bins of one width from the lowest to the highest."""

    low: float
    high: float
    first: Sequence[int]
    """URLs in each bin."""
    demoted: Sequence[int]
    """Those that wait behind the others."""
    urgent: int
    """URLs without a score: they are asked for to decide something."""


class TrapView(NamedTuple):
    """A place where a crawl would go on for nothing, or beyond a limit of the user's."""

    host: str
    reason: Reason
    kind: str
    """That of ``urls.shapes.TrapKind``; empty for a limit."""
    prefix: str
    """Host and directory that it lies in; empty where it is known by its shape."""
    urls: int
    """URLs of it that were met."""
    dropped: int
    waiting: int
    example: str
    """The first of its URLs."""


class Directory(NamedTuple):
    """A directory of a host, and what came of the URLs below it."""

    path: str
    fetches: int
    novel: int
    duplicates: int
    errors: int
    """Fetches that no response came of, or one of status 400 and above."""
    dropped: int
    """URLs that are not fetched."""

    @property
    def others(self) -> int:
        """Fetches that are none of these: redirects, files, and pages of too little text to tell."""
        return max(0, self.fetches - self.novel - self.duplicates - self.errors)

    @property
    def urls(self) -> int:
        """URLs that were fetched or are left out."""
        return self.fetches + self.dropped


class HostSize(NamedTuple):
    """The answers of a host by their size, as they came over the network, and what of it was saved."""

    saved: int
    """URLs that are dropped for a page that stands in their place, or for nothing new that they lead to."""
    known: int
    """Those of them whose page that stands in their place was fetched, so that its size is known."""
    known_size: int
    """Bytes of these pages, each as often as it stands for a URL."""
    answers: int
    """Answers of the host whose size is known, errors as well as pages."""
    mean: float
    """Their mean size in bytes; 0 without any."""
    median: float


class Savings(NamedTuple):
    """Requests that were not made."""

    hosts: Sequence[HostSize]
    would: int
    """URLs that were fetched since nothing is saved in ``observe`` mode."""

    @property
    def urls(self) -> int:
        """URLs that were not fetched."""
        return sum(host.saved for host in self.hosts)

    @property
    def known(self) -> int:
        """Those for which a page stands that was fetched."""
        return sum(host.known for host in self.hosts)

    @property
    def bytes(self) -> tuple[float, float] | None:
        """Estimates of what they would have brought, in bytes, a low and a high one; ``None`` without any size.

        A URL counts as the page that stands in its place, where that was fetched. Another one counts as the median
        answer of its host for the low estimate, and as the mean one for the high estimate: what a crawl fetches first
        of a site is larger than the rest. A host that never answered counts as the crawl.
        """
        answers = sum(host.answers for host in self.hosts)
        if not answers:
            return None
        median = sum(host.answers * host.median for host in self.hosts) / answers
        mean = sum(host.answers * host.mean for host in self.hosts) / answers
        low = high = 0.0
        for host in self.hosts:
            low += host.known_size + (host.saved - host.known) * (host.median if host.answers else median)
            high += host.known_size + (host.saved - host.known) * (host.mean if host.answers else mean)
        return min(low, high), max(low, high)


URGENT = "9e999"
"""Infinity, as SQLite reads it."""

BUDGETS = ", ".join(f"'{reason.value}'" for reason in (Reason.TRAP_BUDGET, Reason.PATH_BUDGET))

SAVERS = ", ".join(f"'{reason.value}'" for reason in SAVING)

SAVED = (
    "SELECT urls.host, COUNT(*), COUNT(known_size), COALESCE(SUM(known_size), 0) FROM (SELECT last_drop.url,"
    f" (SELECT MAX(size) FROM suppressed JOIN urls AS other ON other.key = representative"
    "  JOIN pages ON pages.url = other.id AND pages.status = 200 WHERE suppressed.url = last_drop.url) AS known_size"
    f" FROM ({LAST_DROP_REASON}) AS last_drop WHERE reason IN ({SAVERS})) AS saved"
    f" JOIN urls ON urls.id = saved.url WHERE urls.state = {DROPPED} GROUP BY urls.host"
)
"""Host, URLs of it that were not fetched, those of them whose representative has a size, and the sum of these."""

SIZES = (
    "SELECT host, n, mean, AVG(size) FROM (SELECT host, size, COUNT(*) OVER own AS n, AVG(size) OVER own AS mean,"
    " ROW_NUMBER() OVER (PARTITION BY host ORDER BY size) AS place FROM pages WHERE size IS NOT NULL"
    " WINDOW own AS (PARTITION BY host)) WHERE place IN ((n + 1) / 2, (n + 2) / 2) GROUP BY host"
)
"""Host, number, mean and median of the sizes of its answers."""

FETCHED_AT = (
    "SELECT urls.url, novelty, status IS NULL OR status >= 400 FROM hosts JOIN pages ON pages.host = hosts.id"
    " JOIN urls ON urls.id = pages.url WHERE hosts.name = ?"
)
DROPPED_AT = (
    f"SELECT urls.url FROM hosts JOIN urls ON urls.host = hosts.id AND urls.state = {DROPPED} WHERE hosts.name = ?"
)

KINDS = {Novelty.NOVEL.value: [1], Novelty.EXACT_DUPLICATE.value: [2], Novelty.NEAR_DUPLICATE.value: [2]}
"""Novelty of a page -> the count of a :class:`Directory` that it belongs to, if any."""

LEVELS, MOST_PLACES = 2, 50_000
"""Of directories that are told apart, and how many of them: a site may make one for each page."""


class ResultReader(ViewReader):
    """What came of the crawl, as far as it was committed when it was first read."""

    def course(self, points: int) -> list[Point]:
        """Return how far the crawl had come at each of at most so many *points*, after even numbers of fetches."""
        numbered = (
            "SELECT fetched_at, status, novelty, relevance, size,"
            " (ROW_NUMBER() OVER (ORDER BY fetched_at) - 1) * ?1 / MAX(?1, COUNT(*) OVER ()) AS part FROM pages"
        )
        rows = self._read(
            f"SELECT MAX(fetched_at), SUM(size), {TRAFFIC} FROM ({numbered}) GROUP BY part ORDER BY part", (points,)
        )
        parts = (Point(at, Traffic(*(n or 0 for n in counts)), size or 0) for at, size, *counts in rows)
        return list(accumulate(parts, _further))

    def scores(self, bins: int) -> Scores | None:
        """Return the scores of what waits in so many *bins*; ``None`` if nothing that waits has one."""
        scored = f"FROM urls WHERE state = {WAITING} AND ABS(score) < {URGENT}"
        low, high = self._read(f"SELECT MIN(score), MAX(score) {scored}").fetchone()
        if low is None:
            return None
        width = (high - low) / bins or 1.0
        counts = ([0] * bins, [0] * bins)
        sql = f"SELECT is_demoted, MIN(CAST((score - ?) / ? AS INTEGER), ?) AS bin, COUNT(*) {scored}"
        for is_demoted, place, count in self._read(f"{sql} GROUP BY is_demoted, bin", (low, width, bins - 1)):
            counts[is_demoted][place] = count
        return Scores(
            low, high, *counts, self._number(f"SELECT COUNT(*) FROM urls WHERE state = {WAITING} AND score = {URGENT}")
        )

    def traps(self) -> list[TrapView]:
        """Return the places where URLs were held back since nothing new comes of them, most URLs first."""
        last = (  # one decision of each URL: SQLite takes the other columns from the row of MAX
            "SELECT url, reason, evidence, MAX(id) FROM decisions"
            f" WHERE reason IN ({BUDGETS}) AND wanted IN ('drop', 'demote') GROUP BY url, reason"
        )
        rows = self._read(
            "SELECT name, reason, COALESCE(json_extract(evidence, '$.kind'), ''),"
            " COALESCE(json_extract(evidence, '$.prefix'), ''), COUNT(*),"
            f" SUM(state = {DROPPED}), SUM(state = {WAITING} AND is_demoted), urls.url, MIN(urls.id)"
            f" FROM ({last}) AS last_drop JOIN urls ON urls.id = last_drop.url JOIN hosts ON hosts.id = urls.host"
            " GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 4"
        )
        return [TrapView(host, Reason(reason), *fields) for host, reason, *fields, _ in rows]

    def places(self, host: str) -> list[Directory]:
        """Return the directories of *host* to the second level, each with all that lies below it."""
        sums: dict[str, list[int]] = {}

        def count(url: str, *kinds: int) -> None:
            path = ""
            for name in ["", *url.partition("?")[0].split("/")[3:-1][:LEVELS]]:
                path += f"{name}/"
                if path not in sums and len(sums) >= MOST_PLACES:
                    return
                counts = sums.setdefault(path, [0] * 5)
                for kind in kinds:
                    counts[kind] += 1

        for url, novelty, is_error in self._read(FETCHED_AT, (host,)):
            count(url, 0, *KINDS.get(novelty, []), *[3] * is_error)
        for url in self._column(DROPPED_AT, host):
            count(url, 4)
        return [Directory(path, *counts) for path, counts in sums.items()]

    def savings(self) -> Savings:
        saved = {host: counts for host, *counts in self._read(SAVED)}
        sizes = {host: known for host, *known in self._read(SIZES)}
        return Savings(
            [HostSize(*saved.get(host, (0, 0, 0)), *sizes.get(host, (0, 0.0, 0.0))) for host in saved | sizes],
            self._number(
                "SELECT COUNT(DISTINCT url) FROM decisions"
                " WHERE action = 'fetch' AND wanted IN ('drop', 'rewrite') AND NOT is_sampled"
            ),
        )

    def ended_verdicts(self, most: int) -> list[VerdictView]:
        """Return verdicts that hold no more, last ended first, at most *most*."""
        return self._verdicts("standing <> 'in force' ORDER BY id DESC LIMIT ?", (most,))

    def pages_of(self, host: str) -> int:
        """Return the number of pages (status 200) of *host* that were fetched."""
        return self._number(f"SELECT COUNT(*) FROM pages WHERE {OF_HOST} AND status = 200", host)

    def saved_by(self, claim: Claim, most: int) -> list[tuple[str, str | None]]:
        """Return URLs that *claim* saved, and what is fetched in the place of each; at most *most*, first first."""
        return self._read(
            "SELECT urls.url, others.url FROM suppressed JOIN urls ON urls.id = suppressed.url"
            " LEFT JOIN urls AS others ON others.key = representative"
            f" WHERE claim = ? AND urls.state = {DROPPED} ORDER BY suppressed.url LIMIT ?",
            (str(claim), most),
        ).fetchall()


def _further(before: Point, part: Point) -> Point:
    return Point(part.at, before.traffic.plus(part.traffic), before.size + part.size)
