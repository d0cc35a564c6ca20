"""A page that did not change needs no callback only where one is through with it, on the same terms."""

from __future__ import annotations

import shutil

import pytest
from scrapy import Request, Spider
from test_revisits import Site, again, counts, first, settings
from web import crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.components.revalidation import spider_fingerprint

TELLING = pytest.mark.parametrize("tells", ["etag", "nothing"])


class Chain(Site):
    """Each page leads to the next one, and to one on another host."""

    def __init__(self, n=5, tells="etag"):
        super().__init__(n, tells)
        self.links = {str(number): [str(number + 1)] for number in range(n - 1)}

    def __call__(self, request):
        if "//b.example" in request.url:
            self.log.append(("b", 200))
            return page(seed="b")
        return super().__call__(request)

    def url(self, name):
        return "http://b.example/" if name == "b" else super().url(name)


class Follower(Spider):
    """An ordinary spider; what its callback does is set from outside."""

    name = "topic"
    start_urls = ("http://a.example/0",)
    is_broken = False

    def parse(self, response):
        yield {"url": response.url}
        if self.is_broken and response.url.endswith("1"):
            raise ValueError("a defect of the spider")
        yield from self.more(response)

    def more(self, response):
        yield from response.follow_all(css="a")


@pytest.mark.asyncio
class TestScope:
    @TELLING
    @pytest.mark.parametrize("spider", [TopicSpider, Follower])
    @pytest.mark.parametrize(
        ("narrow", "wide"),
        [
            ({"REPLICA_SCOPE": "hosts"}, {}),
            ({"REPLICA_EXCLUDE": "*b.example*"}, {}),
            ({"DEPTH_LIMIT": 1}, {"DEPTH_LIMIT": 9}),
        ],
    )
    async def test_links_that_were_left_out_are_found_in_a_wider_one(self, tmp_path, narrow, wide, spider, tells):
        web = Chain(tells=tells)
        web.links["1"].append("b")
        await first(tmp_path, web, spider, **narrow)
        await again(tmp_path, web, spider, **wide)
        asked = web.asked()
        assert asked.keys() == {*"01234b"}
        assert asked["1"] == 200
        await again(tmp_path, web, spider, REPLICA_REVISIT_CHANCE=0, **wide)
        assert set(web.asked().values()) == ({200, 304} if tells == "etag" else {200})

    async def test_a_seed_that_lets_a_host_in_lets_links_to_it_in(self, tmp_path):
        web = Chain()
        web.links["1"].append("b")
        await first(tmp_path, web, REPLICA_SCOPE="hosts")
        seeds = "http://a.example/0,http://b.example/other"
        more = settings(tmp_path, REPLICA_SCOPE="hosts", REPLICA_REVISIT=True)
        result = await crawl(TopicSpider, web, more, seeds=seeds)
        assert "http://b.example/" in result.urls

    async def test_all_is_due_whatever_the_chance_and_only_once(self, tmp_path):
        web = Chain()
        await first(tmp_path, web)
        await again(tmp_path, web)
        await again(tmp_path, web, REPLICA_REVISIT_CHANCE=1)
        web.asked()
        await again(tmp_path, web, REPLICA_REVISIT_CHANCE=1, DEPTH_LIMIT=9)
        assert web.asked() == dict.fromkeys("01234", 200)
        result = await again(tmp_path, web, REPLICA_REVISIT_CHANCE=1, DEPTH_LIMIT=9)
        assert web.asked() == {}
        assert counts(result) == {"not_due": 5}


@pytest.mark.asyncio
class TestCallbacks:
    @TELLING
    async def test_one_that_raised_gets_its_page_again(self, tmp_path, monkeypatch, tells):
        web = Chain(tells=tells)
        monkeypatch.setattr(Follower, "is_broken", True)
        await first(tmp_path, web, Follower, LOG_LEVEL="CRITICAL")
        monkeypatch.setattr(Follower, "is_broken", False)
        result = await again(tmp_path, web, Follower)
        assert [item["url"] for item in result.items] == [web.url(name) for name in "1234"]
        assert (await again(tmp_path, web, Follower)).items == []

    async def test_one_whose_item_a_pipeline_lost_gets_its_page_again(self, tmp_path):
        class Loses:
            is_broken = True

            def process_item(self, item):
                if Loses.is_broken and item["url"].endswith("2"):
                    raise OSError("the database of the items is away")
                return item

        web, more = Chain(), {"ITEM_PIPELINES": {Loses: 1}, "LOG_LEVEL": "CRITICAL"}
        await first(tmp_path, web, Follower, **more)
        Loses.is_broken = False
        result = await again(tmp_path, web, Follower, **more)
        assert [item["url"] for item in result.items] == [web.url("2")]

    async def test_one_that_was_stopped_gets_its_page_again(self, tmp_path):
        """The crawl ends between two outputs of a callback, and with it what it would have given."""

        class Stopped(Follower):
            is_stopping = True

            async def parse(self, response):
                yield {"url": response.url}
                if self.is_stopping and response.url.endswith("1"):
                    from scrapy.exceptions import CloseSpider

                    raise CloseSpider("enough")
                for output in self.more(response):
                    yield output

        web = Chain()
        await first(tmp_path, web, Stopped)
        Stopped.is_stopping = False
        result = await again(tmp_path, web, Stopped)
        assert [item["url"] for item in result.items] == [web.url(name) for name in "1234"]

    async def test_one_that_asks_past_the_filter_of_duplicates_gets_its_page_each_time(self, tmp_path):
        class Polls(Follower):
            def more(self, response):
                if response.url.endswith("0"):
                    yield Request(response.urljoin("4"), self.polled, dont_filter=True)

            def polled(self, response):
                yield {"polled": response.url}

        web = Chain()
        await first(tmp_path, web, Polls)
        result = await again(tmp_path, web, Polls)
        assert {"polled": web.url("4")} in result.items

    async def test_one_whose_requests_were_lost_gets_its_page_again(self, tmp_path):
        class Unstorable(Follower):
            def more(self, response):
                for request in response.follow_all(css="a"):
                    yield request.replace(callback=lambda one: self.parse(one))  # noqa: PLW0108

        web, job, left = Chain(), tmp_path / "job", tmp_path / "left"

        def killing(request):
            if request.url.endswith("2"):
                shutil.copytree(job, left)  # what a process that is killed here leaves
            return web(request)

        await first(job, killing, Unstorable)
        result = await again(left, web, Unstorable, LOG_LEVEL="CRITICAL")
        assert {web.url(name) for name in "1234"} <= {item["url"] for item in result.items}

    async def test_a_spider_that_is_started_with_something_else_gets_all_pages(self, tmp_path):
        web = Chain()
        await first(tmp_path, web, Follower)
        result = await crawl(Follower, web, settings(tmp_path, REPLICA_REVISIT=True), category="books")
        assert len(result.items) == 5


def test_terms_are_those_of_the_files_of_a_spider(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "spider_of_terms.py"
    file.write_text("from scrapy import Spider\nclass One(Spider):\n    name = 'one'\n")
    import spider_of_terms
    from scrapy.utils.test import get_crawler

    class Two(spider_of_terms.One):
        pass

    def made(**arguments):
        crawler = get_crawler(Two)
        return spider_fingerprint(crawler._create_spider(**arguments), crawler.settings)

    before = made()
    assert made() == before
    assert made(category="books") != before
    assert made(allowed_domains=["example.org"]) != before
    file.write_text(file.read_text() + "    other = True\n")
    assert made() != before
    file.unlink()
    assert made() != before
