"""CPU time a page of a crawl with a topic beside plain Scrapy and the same spider, for the same pages of a campus web.

Which pages is said in ``bench_ordinary.py``.

One run, or its profile by own time: ``python tests/benchmarks/bench_topic_crawl.py --addon --profile 40``. The figure
``order`` is a hash of the pages in the order in which they came and of their items: two versions that give the same one
have crawled alike.
"""

from __future__ import annotations

import argparse
import cProfile
import csv
import gzip
import hashlib
import json
import pstats
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from bench_ordinary import BREADTH_FIRST, CAMPUS, FRONT_PAGES, IN_ORDER, ListedTopicSpider, add_pages, pages_of
from scrapy import signals
from scrapy.crawler import AsyncCrawlerProcess

from scrapy_replica import Addon
from scrapy_replica.components.handler import rehearsal_settings
from scrapy_replica.components.meter import PageMeter
from scrapy_replica.warc.archive import open_archive

ROUNDS = 5
TARGET = 1.35
URLS = Path("web", "campus_urls.csv.gz")
TOPIC, EXAMPLES = "machine_learning", 30


def write_examples(warc: Path, folder: Path, draw: int) -> None:
    """Write 30 pages on the topic of the campus web into *folder*, a file each."""
    with gzip.open(warc.parents[1] / URLS, "rt") as file:
        urls = [row["url"] for row in csv.DictReader(file) if TOPIC in row["topics"].split("|")]
    archive = open_archive([warc])
    random.Random(draw).shuffle(urls)
    for number, url in enumerate(urls[:EXAMPLES]):
        record = archive.get(url)
        assert record is not None, url
        (folder / f"{number:02}.html").write_bytes(record.body)


def crawl(options: argparse.Namespace, examples: Path) -> dict[str, float | str]:
    """One crawl in this process; returns its figures."""
    # The secret that draws samples is fixed, so that two runs crawl alike.
    topic = {"ADDONS": {Addon: 500}, "REPLICA_TOPIC": str(examples), "REPLICA_SEED": 1}
    plain = BREADTH_FIRST | (IN_ORDER if options.listed else {})
    settings = {**rehearsal_settings([options.warc]), **(topic if options.addon else plain)}
    process = AsyncCrawlerProcess({**settings, "LOG_LEVEL": "CRITICAL"})
    crawler = process.create_crawler(ListedTopicSpider)
    meter = PageMeter(crawler, options.pages)
    items = hashlib.sha256()

    def scraped(item: object) -> None:
        items.update(repr(sorted(dict(item).items())).encode())  # type: ignore[call-overload]

    crawler.signals.connect(scraped, signals.item_scraped)
    listed = pages_of(options)
    process.crawl(crawler, seeds=" ".join(FRONT_PAGES), listed=listed)
    process.start()
    if options.keep:
        options.keep.write_text("\n".join(dict.fromkeys(meter.urls)))
    items.update("\n".join(meter.urls).encode())
    return {
        "cpu_ms": 1e3 * meter.cpu_seconds / len(meter.urls),
        "pages": len(meter.urls),
        "requests": crawler.stats.get_value("downloader/request_count"),
        "listed": len({*listed} & {*meter.urls}),
        "order": items.hexdigest()[:16],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--addon", action="store_true", help="with the add-on and the topic")
    parser.add_argument("--warc", type=Path, default=Path(__file__).parents[3] / "shared" / "data" / CAMPUS)
    add_pages(parser)
    parser.add_argument("--draw", type=int, default=0, help="which examples")
    parser.add_argument(
        "--profile", type=int, metavar="N", help="print the N functions that take most time of their own"
    )
    parser.add_argument("--dump", type=Path, help="keep the profile in this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_examples(options.warc, Path(folder), options.draw)
        if not options.profile:
            print(json.dumps(crawl(options, Path(folder))))
            return
        profile = cProfile.Profile()
        print(json.dumps(profile.runcall(crawl, options, Path(folder))))
    pstats.Stats(profile).sort_stats("tottime").print_stats(options.profile)
    if options.dump:
        profile.dump_stats(options.dump)


def run(*arguments: str | Path) -> dict[str, float]:
    command = [sys.executable, __file__, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


@pytest.mark.shared
def test_topic_crawl_beside_plain_scrapy(shared, tmp_path, capsys, figures):
    warc, pages = ("--warc", shared / CAMPUS), tmp_path / "pages"
    run(*warc, "--keep", pages)
    same = ("--listed", pages, "--pages", n_pages := len(pages.read_text().split()))
    plain, topic = [], []
    for _ in range(ROUNDS):
        plain.append(run(*warc, *same))
        topic.append(run(*warc, *same, "--addon"))
    assert len({one["order"] for one in topic}) == 1
    medians = [statistics.median(one["cpu_ms"] for one in found) for found in (plain, topic)]
    with capsys.disabled():
        told = f"{topic[-1]['listed']:,} of them with both"
        print(f"\n{n_pages:,} pages, {told}, CPU ms a page (median of {ROUNDS} runs by turns)")
        for name, median in zip(("plain Scrapy", "with a topic"), medians, strict=True):
            print(f"  {name:<14} {median:6.3f}")
    figures.add("a topic crawl, CPU a page; plain", medians[1], "ms", f"{TARGET} x", peer=medians[0])


if __name__ == "__main__":
    main()
