"""What a crawl database that several processes share does beside its contract: the end of the crawl, and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from scrapy_replica.crawldb.contract import CrawlDB


class Process(NamedTuple):
    """A process of the crawl."""

    name: str
    """Its host and process id."""
    silent: float
    """Seconds since its last sign of life."""
    leads: bool
    """It judges hosts and learns the topic for all."""
    pages: int
    """Pages that it fetched so far."""


class SharedCrawlDB(CrawlDB, Protocol):
    """What one of several processes knows of their crawl."""

    def idle(self, is_idle: bool) -> None:
        """Take note whether this process has nothing to do; the others hear of it when it listens next."""

    @property
    def are_all_idle(self) -> bool:
        """Whether no process had anything to do when this one listened last, and nothing waited or was fetched."""

    @property
    def is_over(self) -> bool:
        """Whether the process that leads had said that the crawl is through when this one listened last."""

    def end(self) -> None:
        """Say that the crawl is through, as the process that leads; it is not if something came back meanwhile."""

    def tell(self, stats: Mapping[str, float]) -> None:
        """Keep the statistics of this process."""

    def stats(self) -> Mapping[str, float]:
        """Return the sums of what all processes told, those that are gone included."""

    def processes(self) -> Sequence[Process]:
        """Return the processes that take part."""
