"""Pages a second of one process on SQLite, of one over Redis, and of two over Redis; and how good their orders are.

The web lies in memory, and answers after 50 ms as a network does: 3,000 pages on 150 hosts, a quarter of them on the
topic. Crawls take turns, and medians are printed. ``python tests/benchmarks/bench_processes.py`` or pytest.
"""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import redis

sys.path.append(str(Path(__file__).parents[1]))
from redis_server import RedisServer
from scrapy import Request, Spider, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from scrapy_replica import Addon, TopicSpider
from scrapy_replica.components.observer import page_of

PAGES, HOSTS, LINKS, CLUSTER = 3_000, 150, 20, 20
SECONDS = 0.05
ROUNDS = 3
TOPIC = """
    orchid greenhouse pollen petals bloom botanical gardener cultivar seedling fertilizer humidity potting
    rhizome hybrid species epiphyte nectar bulbs watering sunlight
"""
OTHER = """
    football stadium election parliament engine highway mortgage invoice software keyboard concert guitar
    recipe butter airline luggage hospital surgeon theatre novel soldier treaty copper furnace lawyer
    verdict sailing anchor fashion leather painting gallery violin tractor harvest insurance budget
    satellite rocket language grammar
"""


def is_on_topic(number: int) -> bool:
    return random.Random(f"cluster {number // CLUSTER}").random() < 0.25


def url_of(number: int) -> str:
    return f"http://h{number % HOSTS}.example/{number}.html"


def number_of(url: str) -> int:
    return int(url.rpartition("/")[2].partition(".")[0])


def words(number: int, n: int) -> list[str]:
    lots = random.Random(f"words {number}")
    share, topic, other = 0.4 if is_on_topic(number) else 0.02, TOPIC.split(), OTHER.split()
    return [lots.choice(topic if lots.random() < share else other) for _ in range(n)]


def links_of(number: int) -> list[int]:
    """Half of them lead to the same cluster or the next, half anywhere; the tree makes all be found."""
    lots = random.Random(f"links {number}")
    near = [(number // CLUSTER * CLUSTER + lots.randrange(2 * CLUSTER)) % PAGES for _ in range(LINKS // 2)]
    far = [lots.randrange(PAGES) for _ in range(LINKS // 2 - 2)]
    return [*near, *far, *(n for n in (2 * number + 1, 2 * number + 2) if n < PAGES)]


def html(number: int) -> str:
    anchors = "".join(f'<li><a href="{url_of(n)}">{" ".join(words(n, 3))}</a></li>' for n in links_of(number))
    paragraphs = "".join(f"<p>{' '.join(words(number, 150)[k : k + 50])}.</p>" for k in (0, 50, 100))
    title = " ".join(words(number, 4))
    return f'<html lang="en"><head><title>{title}</title></head><body>{paragraphs}<ul>{anchors}</ul></body></html>'


WEB: list[bytes] = []
"""The pages, made before the time is taken."""


class SlowHandler(BaseDownloadHandler):
    """Answers from memory after SECONDS."""

    lazy = False

    async def download_request(self, request: Any) -> HtmlResponse:
        await asyncio.sleep(SECONDS)
        number = number_of(request.url)
        headers = {"Content-Type": "text/html; charset=utf-8"}
        return HtmlResponse(request.url, headers=headers, body=WEB[number], request=request)

    async def close(self) -> None:
        pass


class OrdinarySpider(Spider):
    """What the tutorials write: an item for the page, a request for each link."""

    name = "ordinary"
    extractor = LinkExtractor()

    async def start(self) -> Any:
        yield Request(url_of(0))

    def parse(self, response: Any) -> Any:
        observation = page_of(response)
        yield {"url": response.url, "relevance": observation.relevance if observation is not None else 0.0}
        for link in self.extractor.extract_links(response):
            yield Request(link.url)


def process(spider: str, topic: str, address: str, begin_at: float) -> None:
    """Crawl in this process, and print when which page came, and its score."""
    crawl = AsyncCrawlerProcess(
        {
            "ADDONS": {Addon: 500},
            "DOWNLOAD_HANDLERS": {"http": SlowHandler, "https": SlowHandler, "ftp": None},
            "REPLICA_CRAWLDB": address or None,
            "JOBDIR": None if address else tempfile.mkdtemp(dir=topic),
            "REPLICA_TOPIC": str(Path(topic, "examples")),
            "CONCURRENT_REQUESTS": 16,
            "LOG_LEVEL": "WARNING",
            "REMOTE_CONTROL_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    crawler = crawl.create_crawler(OrdinarySpider if spider == "ordinary" else TopicSpider)
    found: list[tuple[float, str, float]] = []
    spent: list[float] = []

    def scraped(item: Any) -> None:
        found.append((time.time(), item["url"], item["relevance"]))

    def opened() -> None:
        spent.append(time.process_time())

    crawler.signals.connect(scraped, signals.item_scraped)
    crawler.signals.connect(opened, signals.spider_opened)
    WEB.extend(html(number).encode() for number in range(PAGES))
    time.sleep(max(0.0, begin_at - time.time()))
    crawl.crawl(crawler, **({} if spider == "ordinary" else {"seeds": url_of(0)}))
    crawl.start()
    print(json.dumps({"pages": found, "cpu_s": time.process_time() - spent[0]}))


def run(spider: str, topic: Path, addresses: list[str]) -> dict[str, float]:
    """Crawl with a process for each of *addresses*, empty for SQLite; return figures."""
    begin_at = str(time.time() + 10)
    commands = [[sys.executable, __file__, spider, str(topic), address, begin_at] for address in addresses]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    told = [json.loads(one.communicate(timeout=600)[0]) for one in running]
    pages = sorted(page for one in told for page in one["pages"])
    half = pages[: len(pages) // 2]
    return {
        "pages_per_s": len(pages) / (pages[-1][0] - pages[0][0]),
        "first_half_score": statistics.mean(score for _, _, score in half),
        "first_half_on_topic": statistics.mean(is_on_topic(number_of(url)) for _, url, _ in half),
        "twice": sum(n - 1 for n in Counter(url for _, url, _ in pages).values()),
        "lost": PAGES - len({url for _, url, _ in pages}),
        "cpu_ms_per_page": 1e3 * sum(one["cpu_s"] for one in told) / len(pages),
        "least_share": min(len(one["pages"]) for one in told) / len(pages),
    }


def spent(server: RedisServer) -> float:
    """Return the seconds of processor time that Redis took so far."""
    with redis.Redis(port=server.port) as client:
        told = client.info("cpu")
    return float(told["used_cpu_user"] + told["used_cpu_sys"])


def measure(spider: str, rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    """Return the medians of each way to crawl; they take turns."""
    runs: dict[str, list[dict[str, float]]] = {"sqlite": [], "redis 1": [], "redis 2": []}
    with tempfile.TemporaryDirectory() as folder:
        examples = Path(folder, "examples")
        examples.mkdir()
        on_topic = [number for number in range(PAGES) if is_on_topic(number)]
        for number in on_topic[:10]:
            (examples / f"{number}.txt").write_text(" ".join(words(number, 150)))
        with RedisServer(Path(folder)) as server:
            for number in range(rounds):
                for way, found in runs.items():
                    before = spent(server)
                    address = "" if way == "sqlite" else server.address(prefix=f"{spider}{number}{way[-1]}")
                    found.append(run(spider, Path(folder), [address] * (2 if way == "redis 2" else 1)))
                    found[-1]["redis_cpu_ms_per_page"] = 1e3 * (spent(server) - before) / PAGES
                    print(spider, way, {name: round(value, 3) for name, value in found[-1].items()}, flush=True)
                    assert [found[-1][name] for name in ("twice", "lost")] == [0, 0]
    return {
        way: {name: statistics.median(one[name] for one in found) for name in found[0]} for way, found in runs.items()
    }


def measured(spider: str) -> tuple[dict[str, float], dict[str, float]]:
    """Print the medians of each way to crawl; return those of one process on SQLite and of two."""
    medians = measure(spider)
    one, two = medians["sqlite"], medians["redis 2"]
    for way, found in medians.items():
        print(f"{spider:<9}{way:<8}", {name: round(value, 3) for name, value in found.items()})
    print(f"{spider}: two over one on SQLite {two['pages_per_s'] / one['pages_per_s']:.2f}, "
          f"over one on Redis {two['pages_per_s'] / medians['redis 1']['pages_per_s']:.2f}, "
          f"order: score {two['first_half_score'] / one['first_half_score'] - 1:+.1%}, "
          f"on topic {two['first_half_on_topic'] / one['first_half_on_topic'] - 1:+.1%}")  # fmt: skip
    return one, two


@pytest.mark.parametrize("spider", ["topic", "ordinary"])
def test_processes(spider: str, figures: Any) -> None:
    one, two = measured(spider)
    figures.add(f"two processes, {spider}; one", two["pages_per_s"], "/s", "1.9 x", peer=one["pages_per_s"])
    on_topic = [100 * found["first_half_on_topic"] for found in (two, one)]
    figures.add("of their first half on the topic; one", on_topic[0], "%", "0.97 x", peer=on_topic[1])


if __name__ == "__main__":
    if len(sys.argv) == 5:
        process(*sys.argv[1:4], float(sys.argv[4]))
    else:
        for name in sys.argv[1:] or ["topic", "ordinary"]:
            measured(name)
