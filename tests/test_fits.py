"""What people's spiders, tests and tools do with Scrapy, they can do with the add-on."""

from __future__ import annotations

import pytest
from scrapy import Request, Spider, signals
from web import REPLICA, crawl, page

pytestmark = pytest.mark.asyncio

MODES = pytest.mark.parametrize("mode", ["observe", "demote", "drop"])


def replica(mode: str) -> dict:
    return {**REPLICA, "REPLICA_MODE": mode}


class Counts:
    """A pipeline after whose 150th item the spider gives no more."""

    @classmethod
    def from_crawler(cls, crawler):
        counts = cls()
        counts.crawler, counts.items = crawler, 0
        return counts

    def process_item(self, item):
        self.items += 1
        self.crawler.spider.has_enough = self.items >= 150
        return item


class TestCallbacksAreReadAsTheyAre:
    """Scrapy reads 200 outputs before the first is looked at."""

    @MODES
    async def test_a_spider_that_stops_itself_gives_the_items_that_it_gives_without(self, mode):
        class Stops(Spider):
            name = "stops"
            start_urls = ("http://a.example/",)
            has_enough = False

            def parse(self, response):
                for number in range(1000):
                    if self.has_enough:
                        return
                    yield {"number": number}

        settings = {"ITEM_PIPELINES": {Counts: 1}}
        plain = await crawl(Stops, {"http://a.example/": page()}, settings)
        ours = await crawl(Stops, {"http://a.example/": page()}, settings | replica(mode))
        assert 150 < len(plain.items) < 1000
        assert ours.items == plain.items

    @MODES
    async def test_requests_are_asked_for_no_further_than_without(self, mode):
        class Stops(Spider):
            name = "stops"
            start_urls = ("http://a.example/",)
            scheduled = given = 0

            def parse(self, response):
                self.crawler.signals.connect(self.note, signals.request_scheduled)
                while self.scheduled < 300:
                    self.given += 1
                    yield Request(f"http://a.example/{self.given}", self.leaf)

            def note(self, request):
                self.scheduled += 1

            def leaf(self, response):
                pass

        plain = await crawl(Stops, {"http://a.example/": page()})
        ours = await crawl(Stops, {"http://a.example/": page()}, replica(mode))
        assert 300 < plain.spider.given < 1000
        assert ours.spider.given == plain.spider.given

    @MODES
    async def test_what_a_callback_gives_is_passed_on_before_it_goes_on(self, mode):
        class Reuses(Spider):
            name = "reuses"
            start_urls = ("http://a.example/",)

            async def parse(self, response):
                for number in range(3):
                    yield Request(f"http://a.example/{number}", self.leaf)
                    assert (await self.crawler.engine.download_async(Request("http://a.example/"))).status == 200
                    yield {"number": number}
                raise ValueError("on purpose")

            def leaf(self, response):
                yield {"url": response.url}

        pages = {"http://a.example/": page(), **{f"http://a.example/{n}": page(seed=n) for n in range(3)}}
        ours = await crawl(Reuses, pages, replica(mode) | {"LOG_ENABLED": False})
        assert len(ours.items) == 6
        assert ours.stats["spider_exceptions/ValueError"] == 1
