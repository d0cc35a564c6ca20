"""The counts of the crawl as Scrapy's statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_replica.crawl import Crawl
    from scrapy_replica.crawl.claims.samples import Samples

SCRAPY_STATS = ("scheduler/", "dupefilter/")
"""Counts that keep the names that Scrapy's own components use."""


def flush(crawl: Crawl, stats: StatsCollector) -> None:
    """Hand the counts of *crawl* to *stats*."""
    for key, count in crawl.counts.items():
        stats.set_value(key if key.startswith(SCRAPY_STATS) else f"replica/{key}", count)
    stats.set_value("replica/frontier/waiting", crawl.store.urls.waiting)
    if crawl.checks.is_on and (share := crawl.checks.coverage.share) is not None:
        for name, value in zip(("share", "low", "high"), share, strict=True):
            stats.set_value(f"replica/coverage/{name}", round(value, 5))
    for name, count in crawl.runner.distances_told().items():
        stats.set_value(f"replica/distance/{name}", count)
    crawl.scope.store()
    _flush_false_drops(crawl.samples, stats)


def _flush_false_drops(samples: Samples, stats: StatsCollector) -> None:
    for reason in samples.reasons:
        if (found := samples.estimate(reason).rate) is not None:
            stats.set_value(f"replica/sample/false_drop_rate/{reason.value}", round(found[0], 5))
    whole = samples.estimate()
    if whole.rate is not None:
        rate, low, high = whole.rate
        stats.set_value("replica/sample/settled", whole.n_settled)
        stats.set_value("replica/sample/false_drops", whole.n_false)
        stats.set_value("replica/sample/false_drop_rate", round(rate, 5))
        stats.set_value("replica/sample/false_drop_rate_low", round(low, 5))
        stats.set_value("replica/sample/false_drop_rate_high", round(high, 5))
