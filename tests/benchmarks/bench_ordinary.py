"""CPU time a page with the add-on beside the same spider without it, for the same pages of a campus web from a WARC.

Which pages tells a crawl without the add-on, breadth-first: they are asked for before everything else, and links to
others are found, judged and wait. So a ratio says nothing of whether other pages are larger, or more of them missing.

One run, or its profile by own time: ``python tests/benchmarks/bench_ordinary.py ordinary --addon --profile 40``. The
figure ``order`` is a hash of the pages in the order in which they came: versions that give the same one crawl alike.
"""

from __future__ import annotations

import argparse
import cProfile
import hashlib
import json
import pstats
import sqlite3
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

import pytest
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from scrapy_replica import Addon, TopicSpider
from scrapy_replica.components.handler import rehearsal_settings
from scrapy_replica.components.meter import PageMeter

CONNECT = sqlite3.connect
PAGES = 3_000
ROUNDS = 3
TARGETS = {"ordinary": 1.15, "items": 1.15, "topic": 1.05}
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


class Listed:
    """Asks for some pages before everything else, all at once: start requests would be mixed with others."""

    listed: ClassVar[Sequence[str]] = ()

    def parse(self, response):
        listed, self.listed = self.listed, ()
        for url in listed:
            yield Request(url, priority=1)
        yield from super().parse(response)


class ListedOrdinarySpider(Listed, OrdinarySpider):
    pass


class ListedItemSpider(Listed, ItemSpider):
    pass


class ListedTopicSpider(Listed, TopicSpider):
    pass


# Which keeps to the priorities of requests, where the default one goes round the hosts first.
IN_ORDER = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
SPIDERS = {"ordinary": ListedOrdinarySpider, "items": ListedItemSpider, "topic": ListedTopicSpider}


def pages_of(options: argparse.Namespace) -> list[str]:
    """Return the URLs in the file that the *options* name."""
    return options.listed.read_text().split() if options.listed else []


def crawl(options: argparse.Namespace) -> dict[str, Any]:
    """One crawl in this process; returns its figures."""
    # DEPTH_PRIORITY is what makes Scrapy's own queues go by depth; the add-on's strategy does so by itself.
    # The secret that draws samples is fixed, so that two runs crawl alike.
    addon = {"ADDONS": {Addon: 500}, "REPLICA_STRATEGY": "breadth-first", "REPLICA_SEED": 1}
    order = addon if options.addon else BREADTH_FIRST | (IN_ORDER if options.listed else {})
    settings = {**rehearsal_settings([options.warc]), **order, "LOG_LEVEL": "CRITICAL"}
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(SPIDERS[options.spider])
    meter = PageMeter(crawler, options.pages)
    statements: list[str] = []
    if options.statements:
        sqlite3.connect = partial(connect_heard, statements.append)  # type: ignore[misc]
    listed = pages_of(options)
    process.crawl(crawler, listed=listed, **({"seeds": " ".join(FRONT_PAGES)} if options.spider == "topic" else {}))
    process.start()
    requests = crawler.stats.get_value("downloader/request_count")
    if options.keep:
        options.keep.write_text("\n".join(dict.fromkeys(meter.urls)))
    return {
        "cpu_ms": 1e3 * meter.cpu_seconds / len(meter.urls),
        "pages": len(meter.urls),
        "requests": requests,
        "listed": len({*listed} & {*meter.urls}),
        "statements": len(statements) / len(meter.urls),
        "order": hashlib.sha256("\n".join(meter.urls).encode()).hexdigest()[:16],
    }


def connect_heard(heard: Callable[[str], None], *args: Any, **options: Any) -> sqlite3.Connection:
    """Connect as sqlite3 does; *heard* is told each statement."""
    connection = CONNECT(*args, **options)
    connection.set_trace_callback(heard)
    return connection


def add_pages(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which pages are fetched."""
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--listed", type=Path, metavar="FILE", help="ask for the URLs in this file first")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the URLs of the pages into this file")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spider", choices=TARGETS)
    parser.add_argument("--addon", action="store_true", help="with the add-on")
    parser.add_argument("--warc", type=Path, default=Path(__file__).parents[3] / "shared" / "data" / CAMPUS)
    parser.add_argument("--statements", action="store_true", help="count those of SQLite")
    add_pages(parser)
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


def run(*arguments: str | Path) -> dict[str, Any]:
    command = [sys.executable, __file__, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.shared
def test_addon_beside_the_same_spider_without(shared, tmp_path, capsys, figures):
    warc, pages = ("--warc", shared / CAMPUS), tmp_path / "pages"
    run("ordinary", *warc, "--keep", pages)
    n_pages = len(pages.read_text().split())
    runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for _ in range(ROUNDS):
        for spider in TARGETS:
            for addon in ("", "--addon"):
                same = ("--listed", pages, "--pages", n_pages, *filter(None, [addon]))
                runs.setdefault((spider, addon), []).append(run(spider, *warc, *same))
    with capsys.disabled():
        print(f"\n{n_pages:,} pages, CPU ms a page (median of {ROUNDS} runs by turns), requests made, of these pages")
        for spider, target in TARGETS.items():
            medians = []
            for addon, name in (("", "plain Scrapy"), ("--addon", "with the add-on")):
                found = runs[spider, addon]
                medians.append(statistics.median(one["cpu_ms"] for one in found))
                last = found[-1]
                print(f"  {spider:<9} {name:<16} {medians[-1]:6.3f} {last['requests']:8,.0f} {last['listed']:8,.0f}")
            figures.add(f"{spider} spider, CPU a page; plain", medians[1], "ms", f"{target} x", peer=medians[0])
    counted = run("ordinary", *warc, *same, "--statements")["statements"]
    figures.add("ordinary spider, SQL statements a page", counted, "", "15")


if __name__ == "__main__":
    main()
