"""What users' spiders do to the core that was once lost, delayed or done for ever."""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial

import pytest
from scrapy import Request, Spider
from web import REPLICA, crawl, page, redirect

from scrapy_replica.crawldb.orders import ALLOW, BLOCK
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.reader import open_orders
from scrapy_replica.records import Verdict

pytestmark = pytest.mark.asyncio

TOP = "http://a.example/"
OBSERVE = {**REPLICA, "REPLICA_MODE": "observe", "REPLICA_STRATEGY": "breadth-first"}


def any_page(request):
    return page(seed=request.url)


def with_verdict(job, spider):
    """A job in which b.example was found to be a copy of a.example."""
    db = SqliteCrawlDB(job, spider)
    db.verdicts.enter(Verdict("b.example", "a.example", "", "", 0.99, 10), time.time(), time.time() + 1e6)
    db.close()
    return {**REPLICA, "JOBDIR": str(job), "REPLICA_EXPLORE": 0}


class Poster(Request):
    """Whose defaults are others than those of a plain request."""

    def __init__(self, url, method="POST", **kwargs):
        super().__init__(url, method=method, **kwargs)


class TestRequests:
    """Every request that plain Scrapy fetches is fetched, as it is."""

    @pytest.fixture(params=[False, True], ids=["memory", "job"])
    def job(self, request, tmp_path):
        return {"JOBDIR": str(tmp_path)} if request.param else {}

    async def fetched(self, job, make):
        class Asks(Spider):
            name = "asks"
            start_urls = (TOP,)

            def parse(self, response):
                yield make(self.answer)

            def answer(self, response):
                yield {"request": response.request}

        result = await crawl(Asks, any_page, {**OBSERVE, **job})
        assert result.unfinished == {}
        return [item["request"] for item in result.items]

    async def test_headers_beyond_ascii(self, job):
        make = partial(Request, f"{TOP}x", headers={"X-Name": ["José", "b"]})
        (request,) = await self.fetched(job, make)
        assert request.headers.getlist("X-Name") == ["José".encode(), b"b"]

    async def test_a_class_with_other_defaults(self, job):
        (request,) = await self.fetched(job, lambda answer: Poster(f"{TOP}x", method="GET", callback=answer))
        assert (type(request), request.method) == (Poster, "GET")

    async def test_a_class_without_a_name(self, job):
        class Local(Request):
            pass

        (request,) = await self.fetched(job, partial(Local, f"{TOP}x"))
        assert type(request) is Local

    async def test_what_is_no_attribute_lasts_in_memory(self):
        class Waits(Request):
            def __init__(self, *args, wait=0, **kwargs):
                super().__init__(*args, **kwargs)
                self.wait = wait

        (request,) = await self.fetched({}, partial(Waits, f"{TOP}x", wait=5))
        assert request.wait == 5

    @pytest.mark.parametrize("depth", [3_000, None], ids=["deep", "circle"])
    async def test_meta_that_has_no_end(self, job, depth):
        top = inner = {}
        for _ in range(depth or 0):
            inner["in"] = inner = {}
        if depth is None:
            top["in"] = top
        (request,) = await self.fetched(job, partial(Request, f"{TOP}x", meta={"tree": top}))
        assert "in" in request.meta["tree"]

    async def test_a_priority_beyond_64_bits(self, job):
        assert len(await self.fetched(job, partial(Request, f"{TOP}x", priority=10**20))) == 1


class ByUrlAndMeta:
    """A fingerprinter whose fingerprints are no hashes, and tell more than the URL."""

    def fingerprint(self, request):
        return f"{request.url} {request.meta.get('page')}".encode()


class TestFingerprinter:
    settings = {**OBSERVE, "REQUEST_FINGERPRINTER_CLASS": ByUrlAndMeta}  # noqa: RUF012

    class Pages(Spider):
        name = "pages"
        start_urls = (TOP,)
        host = "a.example"

        def parse(self, response):
            for number in range(4):
                yield Request(f"http://{self.host}/same", self.parse_one, meta={"page": number})

        def parse_one(self, response):
            yield {"page": response.meta["page"]}

    async def test_that_is_no_hash(self):
        result = await crawl(self.Pages, any_page, self.settings)
        assert sorted(item["page"] for item in result.items) == [0, 1, 2, 3]

    async def test_that_tells_more_than_the_url_on_a_copy(self, tmp_path):
        """What is rewritten is known by its URL alone, so these are fetched as they stand."""
        settings = with_verdict(tmp_path, "pages")
        settings["REQUEST_FINGERPRINTER_CLASS"] = ByUrlAndMeta
        result = await crawl(self.Pages, any_page, settings, host="b.example")
        assert sorted(item["page"] for item in result.items) == [0, 1, 2, 3]


class TestMissingTarget:
    """What was to be fetched in place of a URL is not there: the URL is fetched, with its callback and meta."""

    class Asks(Spider):
        name = "asks"
        start_urls = (TOP,)
        is_asked_first = False

        def parse(self, response):
            if self.is_asked_first:
                yield Request(f"{TOP}x", self.answer, errback=self.ask_copy)
            else:
                yield self.ask_copy(None)

        def ask_copy(self, failure):
            return Request("http://b.example/x", self.answer, meta={"mark": [1]})

        def answer(self, response):
            yield {"url": response.url, "mark": response.meta["mark"]}

    found = [{"url": "http://b.example/x", "mark": [1]}]  # noqa: RUF012

    @pytest.mark.parametrize("mode", ["demote", "drop"])
    async def test_that_was_known_to_be_missing(self, tmp_path, mode):
        pages = {TOP: page(seed=1), "http://b.example/x": page(seed=2)}
        settings = {**with_verdict(tmp_path, "asks"), "REPLICA_MODE": mode}
        assert (await crawl(self.Asks, pages, settings, is_asked_first=True)).items == self.found

    async def test_that_redirects_to_nothing(self, tmp_path):
        pages = {TOP: page(seed=1), "http://b.example/x": page(seed=2), f"{TOP}x": redirect(f"{TOP}gone")}
        assert (await crawl(self.Asks, pages, with_verdict(tmp_path, "asks"))).items == self.found

    async def test_the_same_link_of_the_twin_was_missing(self):
        class Twins(Spider):
            name = "twins"
            start_urls = (f"{TOP}one/",)
            custom_settings = {"CONCURRENT_REQUESTS": 1}  # noqa: RUF012

            def parse(self, response):
                yield response.follow("x", self.answer)
                if response.url.endswith("one/"):
                    yield Request(f"{TOP}two/", priority=-9)

            def answer(self, response):
                yield {"url": response.url}

        twin = page(["x"], seed="twin")
        pages = {f"{TOP}one/": twin, f"{TOP}two/": twin, f"{TOP}two/x": page(seed=2)}
        result = await crawl(Twins, pages, {**REPLICA, "REPLICA_MODE": "drop", "REPLICA_EXPLORE": 0})
        assert result.items == [{"url": f"{TOP}two/x"}]


class TestOrders:
    async def test_a_host_that_is_freed_and_blocked_at_once(self, tmp_path):
        """What comes back is blocked anew, once."""

        class Told(Spider):
            name = "told"
            start_urls = (TOP,)

            def parse(self, response):
                if response.url == TOP:
                    yield from (Request(f"http://b.example/{number}") for number in range(250))
                    yield Request(f"{TOP}told", self.tell, priority=-1)

            async def tell(self, response):
                with open_orders(tmp_path / FILE_NAME) as give:
                    give(ALLOW, {"host": "b.example"})
                    give(BLOCK, {"host": "b.example", "canonical": "a.example"})
                await asyncio.sleep(1)

        settings = {**with_verdict(tmp_path, "told"), "CLOSESPIDER_TIMEOUT": 20}
        result = await crawl(Told, any_page, settings)
        assert result.stats["finish_reason"] == "finished"
        assert result.stats["replica/decision/manual-block/rewrite"] == 250
        assert len(result.urls) == 252


class TestDelay:
    """A request that never comes to the downloader has no delay."""

    class Ten(Spider):
        name = "ten"
        start_urls = (TOP,)

        def parse(self, response):
            if response.url == TOP:
                yield from (Request(f"{TOP}no/{number}") for number in range(10))

    async def test_of_cached_pages(self, tmp_path):
        settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
        await crawl(self.Ten, any_page, settings)
        again = await asyncio.wait_for(crawl(self.Ten, any_page, {**REPLICA, **settings, "DOWNLOAD_DELAY": 5}), 4)
        assert again.stats["httpcache/hit"] == 11

    async def test_of_what_robots_txt_forbids(self):
        def served(request):
            is_robots = request.url.endswith("robots.txt")
            return (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /no/") if is_robots else page(seed=1)

        settings = {**REPLICA, "ROBOTSTXT_OBEY": True, "DOWNLOAD_DELAY": 1, "DOWNLOAD_DELAY_JITTER": 0}
        result = await asyncio.wait_for(crawl(self.Ten, served, settings), 4)
        assert result.stats["robotstxt/forbidden"] == 10


class TestOpening:
    async def test_a_crawl_that_could_not_begin_lets_the_job_go(self, tmp_path, caplog):
        class Fails:
            def open_spider(self):
                raise RuntimeError("no database")

            def process_item(self, item):
                return item

        class One(Spider):
            name = "one"
            start_urls = (TOP,)

            def parse(self, response):
                yield {"url": response.url}

        settings = {**REPLICA, "JOBDIR": str(tmp_path)}
        with caplog.at_level(logging.CRITICAL), pytest.raises(RuntimeError, match="no database"):
            await crawl(One, any_page, {**settings, "ITEM_PIPELINES": {Fails: 1}})
        assert (await crawl(One, any_page, settings)).items == [{"url": TOP}]
