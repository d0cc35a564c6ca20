"""A canonical host of which a part is out of scope stands for no copy that has that part inside."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from scrapy import Request, Spider
from scrapy.linkextractors import LinkExtractor
from test_live_replicas import html, judged, text_of
from web import REPLICA, crawl

from scrapy_replica import TopicSpider
from scrapy_replica.commands.job import ordering, reading

PAGES = 90
SEEDS = ["http://a.example/p0", "http://b.example/p0"]


def tree(origin):
    """Pages of which each leads to two others and back to the first."""
    found = {}
    for number in range(PAGES):
        links = [f"{origin}/p{child}" for child in (2 * number + 1, 2 * number + 2) if child < PAGES]
        text = text_of(f"work/chapter-{number}.html" if number else origin)
        found[f"{origin}/p{number}"] = html(text, [f"{origin}/p0", *links], f"Chapter {number}")
    return found


WEB = tree("http://a.example") | tree("http://b.example")


class Ordinary(Spider):
    name = "topic"
    start_urls = SEEDS

    def parse(self, response):
        yield {"url": response.url}
        for link in LinkExtractor().extract_links(response):
            yield Request(link.url)


def settings(**more):
    return {**REPLICA, "REPLICA_STRATEGY": "breadth-first", "CONCURRENT_REQUESTS_PER_DOMAIN": 1, **more}


def run(spider, seeds=SEEDS, **more):
    return crawl(spider, WEB, settings(**more), **({} if spider is Ordinary else {"seeds": ",".join(seeds)}))


def paths(urls):
    return {urlsplit(url).path for url in urls}


@pytest.mark.asyncio
@pytest.mark.parametrize("spider", [TopicSpider, Ordinary])
class TestPartOutside:
    async def test_from_the_start(self, spider):
        """Of a.example the first 30 pages are in scope, and of its copy, or the other way round, all."""
        first = [f"http://{{}}.example/p{number}" for number in range(30)]
        for part, whole in ("ab", "ba"):
            inside = [f"http://{whole}.example/*", *(url.format(part) for url in first)]
            for mode in ("demote", "drop"):
                result = await run(spider, REPLICA_INCLUDE=inside, REPLICA_MODE=mode)
                assert paths(result.urls) == paths(WEB)

    @pytest.mark.parametrize("is_order", [True, False])
    async def test_excluded_after_the_verdict(self, spider, is_order, tmp_path):
        kept = {"JOBDIR": str(tmp_path)}
        first = await run(spider, **kept, CLOSESPIDER_PAGECOUNT=36)
        with reading(str(tmp_path)) as job:
            (verdict,) = job.verdicts()
        pattern = f"http://{verdict.verdict.canonical}/*"
        if is_order:
            with ordering(str(tmp_path)) as give:
                give("exclude", {"pattern": pattern})
        second = await run(spider, **kept, **({} if is_order else {"REPLICA_EXCLUDE": [pattern]}))
        assert paths(first.urls + second.urls) == paths(WEB)

    async def test_links_of_duplicates(self, spider):
        """They are dropped before it is known that a part of the twins' host is out of scope, far behind them."""
        for number in (30, 80):
            inside = ["http://b.example/*", *(f"http://a.example/p{page}" for page in range(number))]
            result = await run(spider, REPLICA_INCLUDE=inside, REPLICA_MODE="drop", REPLICA_EXPLORE=0)
            assert paths(result.urls) == paths(WEB)


@pytest.mark.asyncio
class TestLeftOutInAnEarlierRun:
    async def test_of_the_kept_host(self, tmp_path):
        """Two pages of a.example are left out before its copy is met."""
        kept = {"JOBDIR": str(tmp_path), "REPLICA_EXPLORE": 0}
        excluded = ["http://a.example/p63", "http://a.example/p64"]
        first = await run(TopicSpider, SEEDS[:1], **kept, REPLICA_EXCLUDE=excluded)
        second = await run(TopicSpider, SEEDS[1:], **kept, REPLICA_EXCLUDE=excluded)
        assert second.stats["replica/host/blocked"] == 1
        assert paths(first.urls + second.urls) == paths(WEB)

    async def test_of_the_copy(self, tmp_path):
        """What was fetched on it stands for pages of the canonical host no more, which lead further."""
        kept = {"JOBDIR": str(tmp_path), "REPLICA_EXPLORE": 0}
        inside = ["http://a.example/*", *(f"http://b.example/p{page}" for page in range(30))]
        first = await run(TopicSpider, SEEDS[1:], **kept, REPLICA_INCLUDE=inside)
        judged(tmp_path, "b.example", "a.example")
        second = await run(TopicSpider, SEEDS[:1], **kept, REPLICA_INCLUDE=inside)
        assert paths(first.urls + second.urls) == paths(WEB)
