"""What came of a crawl: the figures of a job that only the report shows; the others are a ``Status``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from scrapy_replica.crawldb.status import Traffic
    from scrapy_replica.decision import Reason


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


class Place(NamedTuple):
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
