"""The counts of the crawl as Scrapy's statistics."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_replica.report.headline import summary

if TYPE_CHECKING:
    from scrapy.statscollectors import StatsCollector

    from scrapy_replica.crawl.crawl import Crawl

logger = logging.getLogger(__name__)

MANY, MOST = 20, 0.9
"""Pages that repeat others and gave new items, and their share of all that repeat others, of which the user is told."""

SCRAPY_STATS = ("scheduler/", "dupefilter/")
"""Counts that keep the names that Scrapy's own components use."""


def flush(crawl: Crawl, stats: StatsCollector) -> None:
    for key, count in crawl.counts.items():
        stats.set_value(key if key.startswith(SCRAPY_STATS) else f"replica/{key}", count)
    stats.set_value("replica/frontier/waiting", crawl.store.urls.waiting)
    if crawl.checks.is_on and (share := crawl.checks.coverage.share) is not None:
        for name, value in zip(("share", "low"), share, strict=True):
            stats.set_value(f"replica/coverage/{name}", round(value, 5))
    for name, count in crawl.runner.distances_told().items():
        stats.set_value(f"replica/distance/{name}", count)
    crawl.scope.keep_counts()


def sum_up(crawl: Crawl, stats: StatsCollector, folder: str | None) -> None:
    """Tell *stats* and the log what a finished crawl saved, and what samples showed of it; *folder* is its JOBDIR."""
    status = crawl.store.status()
    logger.info("scrapy-replica: %s", summary(status, crawl.config.mode))
    has_asked = not status.total.fetches or stats.get_value("downloader/request_count")
    if folder and not has_asked and not crawl.is_pending:
        logger.info(
            "scrapy-replica: nothing waits in %s, all was fetched: another JOBDIR begins anew, and REPLICA_REVISIT "
            "asks again for what may have changed",
            folder,
        )
    duplicates, with_new = crawl.counts["page/exact-duplicate"], crawl.counts["item/duplicates_with_new"]
    if with_new >= MANY and with_new >= MOST * duplicates:
        logger.info(
            "scrapy-replica: %d of %d pages with the text of another page gave items that no page gave before, so they "
            "are none to save; where a field differs at each fetch, as a number that the spider counts, leave it out",
            with_new,
            duplicates,
        )
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
