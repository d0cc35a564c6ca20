"""The counts of the crawl as Scrapy's statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_replica.crawl.crawl import Crawl
    from scrapy_replica.crawldb.status import Status

SCRAPY_STATS = ("scheduler/", "dupefilter/")
"""Counts that keep the names that Scrapy's own components use."""


def flush(crawl: Crawl, stats: StatsCollector) -> None:
    for key, count in crawl.counts.items():
        stats.set_value(key if key.startswith(SCRAPY_STATS) else f"replica/{key}", count)
    stats.set_value("replica/frontier/waiting", crawl.store.urls.waiting)
    if crawl.checks.is_on and (share := crawl.checks.coverage.share) is not None:
        for name, value in zip(("share", "low", "high"), share, strict=True):
            stats.set_value(f"replica/coverage/{name}", round(value, 5))
    for name, count in crawl.runner.distances_told().items():
        stats.set_value(f"replica/distance/{name}", count)
    crawl.scope.store()


def sum_up(status: Status, stats: StatsCollector) -> None:
    """Hand to *stats* what a finished crawl tells of itself: what was saved, and what samples showed of it."""
    stats.set_value("replica/saved", status.n_saved)
    for reason, tested in status.tested.items():
        if tested.rate is not None:
            stats.set_value(f"replica/sample/false_drop_rate/{reason.value}", round(tested.rate[0], 5))
    whole = status.all_tested
    if whole.rate is not None:
        stats.set_value("replica/sample/settled", whole.samples)
        stats.set_value("replica/sample/false_drops", whole.false_drops)
        rate, low, high = (round(value, 5) for value in whole.rate)
        stats.set_value("replica/sample/false_drop_rate", rate)
        stats.set_value("replica/sample/false_drop_rate_low", low)
        stats.set_value("replica/sample/false_drop_rate_high", high)
