"""What one page shows of the rewrite rules of its host."""

from __future__ import annotations

from dataclasses import dataclass, field

from scrapy_replica.crawl.urls.watched_rule import Settled, WatchedRule


@dataclass
class DustFindings:
    """What one page brought to light."""

    begun: list[str] = field(default_factory=list)
    """Hosts on which rules may do more than before."""
    ended: list[WatchedRule] = field(default_factory=list)
    """Rules withdrawn after they acted."""
    doubted: list[WatchedRule] = field(default_factory=list)
    """Rules that were wrong once and act on: not where they were wrong, until they are right there again."""
    settled: list[Settled] = field(default_factory=list)
    """URLs that a rule would have saved, and that were fetched all the same."""
    disputed: list[tuple[int, ...]] = field(default_factory=list)
    """Ids of rules that together made one of two different pages: what all of them changed is to be fetched, and which
    of them is wrong is found out by pages that each changes alone. Of one whose images are other pages too often: what
    it suppressed is decided anew, and its images are fetched.
    """
    probes: list[str] = field(default_factory=list)
    """URLs to fetch that prove a rule or refute it."""
    is_part: bool = False
    """The page repeats its twin, and lacks where that alone leads, as a version for print does."""
