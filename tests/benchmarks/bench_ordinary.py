"""CPU time a page with the add-on beside the same spider without it, breadth-first over a real campus web from a WARC.

One run, or its profile by own time: ``python tests/benchmarks/bench_ordinary.py ordinary --addon --profile 40``. The
figure ``order`` is a hash of the pages in the order in which they came: versions that give the same one crawl alike.
"""

from __future__ import annotations

import argparse
import cProfile
import hashlib
import json
import pstats
import statistics
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from scrapy_replica import Addon, TopicSpider
from scrapy_replica.components.handler import rehearsal_settings
from scrapy_replica.components.meter import PageMeter

PAGES = 3_000
ROUNDS = 3
TARGETS = {"ordinary": 1.30, "items": 1.30, "topic": 1.10}
CAMPUS = Path("web", "campus.warc.gz")
FRONT_PAGES = [f"https://www.{name}.uci.edu/" for name in ("ics", "cs", "informatics", "stat")]
BREADTH_FIRST = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


class OrdinarySpider(Spider):
    """What the tutorials write: an item for the page, a request for each link."""

    name = "ordinary"
    start_urls = FRONT_PAGES
    extractor = LinkExtractor()

    def parse(self, response):
        if isinstance(response, HtmlResponse):
            yield from self.items(response)
            for link in self.extractor.extract_links(response):
                yield Request(link.url)

    def items(self, response):
        yield {"url": response.url}


class ItemSpider(OrdinarySpider):
    """Items of what the page says, with lists, a time and a number of its own, and one for each of its pictures."""

    def items(self, response):
        yield {
            "url": response.url,
            "fetched": datetime.now(timezone.utc),
            "id": uuid4(),
            "title": response.css("title::text").get(),
            "headings": response.css("h1::text, h2::text").getall(),
            "says": response.css("p::text").getall(),
            "size": len(response.body),
        }
        for picture in response.css("img"):
            yield dict(picture.attrib)


SPIDERS = {"ordinary": OrdinarySpider, "items": ItemSpider, "topic": TopicSpider}


def crawl(options: argparse.Namespace) -> dict[str, Any]:
    """One crawl in this process; returns its figures."""
    # DEPTH_PRIORITY is what makes Scrapy's own queues go by depth; the add-on's strategy does so by itself.
    # The secret that draws samples is fixed, so that two runs crawl alike.
    addon = {"ADDONS": {Addon: 500}, "REPLICA_STRATEGY": "breadth-first", "REPLICA_SEED": 1}
    order = addon if options.addon else BREADTH_FIRST
    settings = {**rehearsal_settings([options.warc]), **order, "LOG_LEVEL": "CRITICAL"}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(SPIDERS[options.spider])
    meter = PageMeter(crawler, options.pages)
    process.crawl(crawler, **({"seeds": " ".join(FRONT_PAGES)} if options.spider == "topic" else {}))
    process.start()
    requests = crawler.stats.get_value("downloader/request_count")
    return {
        "cpu_ms": 1e3 * meter.cpu_seconds / len(meter.urls),
        "pages": len(meter.urls),
        "requests": requests,
        "order": hashlib.sha256("\n".join(meter.urls).encode()).hexdigest()[:16],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spider", choices=TARGETS)
    parser.add_argument("--addon", action="store_true", help="with the add-on")
    parser.add_argument("--warc", type=Path, default=Path(__file__).parents[3] / "shared" / "data" / CAMPUS)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument(
        "--profile", type=int, metavar="N", help="print the N functions that take most time of their own"
    )
    options = parser.parse_args()
    if not options.profile:
        print(json.dumps(crawl(options)))
        return
    profile = cProfile.Profile()
    print(json.dumps(profile.runcall(crawl, options)))
    pstats.Stats(profile).sort_stats("tottime").print_stats(options.profile)


def run(warc: Path, spider: str, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, __file__, spider, "--warc", str(warc), *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.shared
def test_addon_beside_the_same_spider_without(shared, capsys):
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(ROUNDS):
        for spider in TARGETS:
            for addon in ("", "--addon"):
                figures = run(shared / CAMPUS, spider, *filter(None, [addon]))
                runs.setdefault((spider, addon), []).append(figures)
    with capsys.disabled():
        print(f"\n{PAGES:,} pages breadth-first, CPU ms a page (median of {ROUNDS}), requests made")
        for spider, target in TARGETS.items():
            medians = []
            for addon, name in (("", "plain Scrapy"), ("--addon", "with the add-on")):
                figures = runs[spider, addon]
                medians.append(statistics.median(f["cpu_ms"] for f in figures))
                print(f"  {spider:<9} {name:<16} {medians[-1]:6.3f} {figures[-1]['requests']:8,.0f}")
            print(f"  {spider:<9} ratio {medians[1] / medians[0]:.2f}x (target {target:.2f}x)")


if __name__ == "__main__":
    main()
