from __future__ import annotations

import asyncio
import heapq
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scrapy import Request, Spider
from scrapy.core import engine as engine_module
from scrapy.settings import Settings
from web import REPLICA, crawl, page

import scrapy_replica
from scrapy_replica import TopicSpider
from scrapy_replica.components.politeness import Politeness
from scrapy_replica.crawldb.sqlite.host_order import HostOrder
from scrapy_replica.focus import strategies
from scrapy_replica.focus.strategy import Strategy

ALONE = {**REPLICA, "CONCURRENT_REQUESTS": 1, "REPLICA_WARMUP_PAGES": 0}


@pytest.fixture
def known_scores(monkeypatch):
    """A strategy that scores a link by the number behind ``s`` in it, and rescores what a page is told to."""

    class Known(Strategy):
        name = "known"
        needs_topic = False
        new_scores = {}  # noqa: RUF012

        def scores(self, page, links):
            self.pending = self.new_scores.pop(page.url, {})
            return np.array([float(link.url.rpartition("/s")[2] or 0) for link in links])

        def rescored(self):
            return self.pending

    monkeypatch.setitem(strategies.STRATEGIES, "known", Known)
    return Known


def numbers(result):
    return [url.rpartition("/s")[2] for url in result.urls]


@pytest.mark.asyncio
class TestScores:
    async def test_best_first_over_all_hosts(self, known_scores):
        links = [f"http://h{n % 3}.example/s{n}" for n in (5, 12, 7, 30, 1, 18, 2)]
        pages = {"http://a.example/s99": page(links), **{link: page(seed=link) for link in links}}
        settings = {**ALONE, "REPLICA_STRATEGY": "known"}
        result = await crawl(TopicSpider, pages, settings, seeds="http://a.example/s99")
        assert numbers(result) == ["99", "30", "18", "12", "7", "5", "2", "1"]

    async def test_a_heap_of_all_that_is_known(self, known_scores):
        """Against the obvious reference: after each page, the best of all links seen so far."""
        pages = {f"http://h{n % 5}.example/s{n}": [(n * 7 + k * k * 3) % 101 for k in range(4)] for n in range(101)}
        linked = {url: [f"http://h{n % 5}.example/s{n}" for n in links] for url, links in pages.items()}
        html = {url: page(links, seed=url) for url, links in linked.items()}
        first = "http://h3.example/s3"
        expected, heap, seen = [], [(0, first)], {first}
        while heap:
            _, url = heapq.heappop(heap)
            expected.append(url)
            for link in linked[url]:
                if link not in seen:
                    seen.add(link)
                    heapq.heappush(heap, (-int(link.rpartition("/s")[2]), link))
        result = await crawl(TopicSpider, html, {**ALONE, "REPLICA_STRATEGY": "known"}, seeds=first)
        assert len(expected) > 90
        assert result.urls == expected

    async def test_raised_and_lowered(self, known_scores):
        links = [f"http://a.example/s{n}" for n in (50, 40, 30, 20, 10)]
        pages = {"http://a.example/s0": page(links), **{link: page(seed=link) for link in links}}
        known_scores.new_scores["http://a.example/s50"] = {"http://a.example/s10": 60.0, "http://a.example/s40": 5.0}
        pages["http://a.example/s50"] = page(["/s1"])
        result = await crawl(TopicSpider, pages, {**ALONE, "REPLICA_STRATEGY": "known"}, seeds="http://a.example/s0")
        assert numbers(result) == ["0", "50", "10", "30", "20", "40", "1"]

    async def test_a_better_parent_raises(self, monkeypatch):
        """Best-first: a link is worth the best of its parents."""
        from scrapy_replica.crawl.topic.relevance import CrawlRelevance

        worth = {"/dull": 0.1, "/good": 0.9}
        monkeypatch.setattr(strategies.STRATEGIES["best-first"], "needs_topic", False)
        monkeypatch.setattr(CrawlRelevance, "of", lambda self, page: worth.get(page.url[16:], 0.5))
        pages = {
            "http://a.example": page(["/dull", "/good"]),
            "http://a.example/dull": page(["/x", "/y"], seed=1),
            "http://a.example/good": page(["/far", "/y"], seed=2),
        }
        settings = {**ALONE, "REPLICA_STRATEGY": "best-first"}
        result = await crawl(TopicSpider, pages, settings, seeds="http://a.example")
        assert [url[16:] for url in result.urls] == ["", "/dull", "/good", "/y", "/far", "/x"]

    async def test_warm_up_is_breadth_first(self, known_scores):
        links = [f"http://a.example/s{n}" for n in (1, 2, 3, 4, 5, 6, 7, 8)]
        pages = {"http://a.example/s0": page(links), **{link: page(seed=link) for link in links}}
        settings = {**ALONE, "REPLICA_STRATEGY": "known", "REPLICA_WARMUP_PAGES": 4}
        result = await crawl(TopicSpider, pages, settings, seeds="http://a.example/s0")
        assert numbers(result)[:4] == ["0", "1", "2", "3"]
        # The fifth is taken before the fourth page is observed or after, as the engine happens to ask.
        rest = numbers(result)[4:]
        assert rest in (["8", "7", "6", "5", "4"], ["4", "8", "7", "6", "5"])

    async def test_what_is_fetched_in_place_of_a_link_of_the_warm_up_has_its_score(self, known_scores, tmp_path):
        (tmp_path / "aliases").write_text("www.a.example a.example\n")
        links = [f"http://a.example/s{n}" for n in (1, 2, 3, 4, 5, 6)]
        aliases = [link.replace("//", "//www.") for link in links]
        pages = {"http://a.example/s0": page(aliases), **{link: page(seed=link) for link in links}}
        settings = {**ALONE, "REPLICA_STRATEGY": "known", "REPLICA_WARMUP_PAGES": 2}
        settings["REPLICA_ALIASES"] = str(tmp_path / "aliases")
        result = await crawl(TopicSpider, pages, settings, seeds="http://a.example/s0")
        assert numbers(result) in (["0", "1", "6", "5", "4", "3", "2"], ["0", "1", "2", "6", "5", "4", "3"])

    async def test_the_users_priority_counts_most(self, known_scores):
        class Wants(Spider):
            name = "wants"
            start_urls = ("http://a.example/s0",)

            def parse(self, response):
                if response.url.endswith("/s0"):
                    yield Request("http://a.example/s90", priority=-1)
                    yield Request("http://a.example/s50")
                    yield Request("http://a.example/s80")
                    yield Request("http://a.example/s1", priority=1)
                    yield Request("http://a.example/s2", priority=10)

        result = await crawl(Wants, lambda r: page(seed=r.url), {**ALONE, "REPLICA_STRATEGY": "known"})
        assert numbers(result) == ["0", "2", "1", "80", "50", "90"]

    @pytest.mark.parametrize("before", [0, -5])
    async def test_a_priority_raises_what_a_page_before_linked_to_as_well(self, known_scores, before):
        class Wants(Spider):
            name = "wants"
            start_urls = ("http://a.example/s0",)

            def parse(self, response):
                if response.url.endswith("/s0"):
                    for n in (90, 80, 75, 70):
                        yield Request(f"http://a.example/s{n}", priority=before)
                elif response.url.endswith("/s90"):
                    yield Request("http://a.example/s70", priority=before + 5)

        pages = {
            f"http://a.example/s{n}": page([f"/s{m}" for m in (70, 75, 80, 90)], seed=n) for n in (0, 70, 75, 80, 90)
        }
        result = await crawl(Wants, pages, {**ALONE, "REPLICA_STRATEGY": "known"})
        assert numbers(result) in (["0", "90", "70", "80", "75"], ["0", "90", "80", "70", "75"])


class Clock:
    """A machine of hosts, each held or not, and a time that only the test moves."""

    def __init__(self, slots=None, **settings):
        self.time, self.held = 0.0, set()
        self.downloader = SimpleNamespace(
            settings=Settings(settings), slots=slots or {}, per_slot_settings=settings.get("DOWNLOAD_SLOTS", {})
        )
        self.politeness = Politeness(
            self.downloader, hold=self.held.add, release=self.held.discard, now=lambda: self.time, asked={}
        )

    def start(self, slot="a.example"):
        assert slot not in self.held
        self.politeness.started(slot)

    def at(self, time):
        self.time = time
        return self.politeness.wake()


def test_one_module_knows_what_scrapy_calls_its_slots():
    code = Path(scrapy_replica.__file__).parent
    names = re.compile(r"CONCURRENT_REQUESTS_PER_DOMAIN\"|DOWNLOAD_SLOTS|download_slot\"|per_slot_settings")
    knowing = [file.name for file in code.rglob("*.py") if names.search(file.read_text(encoding="utf-8"))]
    assert knowing == ["slots.py"]


class TestPoliteness:
    def test_as_many_as_the_host_may_have(self):
        clock = Clock(CONCURRENT_REQUESTS_PER_DOMAIN=2)
        clock.start()
        assert clock.held == set()
        clock.start()
        assert clock.held == {"a.example"}
        clock.politeness.ended("a.example")
        assert clock.held == set()

    def test_hosts_are_apart(self):
        clock = Clock(CONCURRENT_REQUESTS_PER_DOMAIN=1)
        clock.start()
        clock.start("b.example")
        clock.politeness.ended("b.example")
        assert clock.held == {"a.example"}

    def test_delay_from_start_to_start(self):
        clock = Clock(DOWNLOAD_DELAY=2)
        assert clock.at(10) is None
        clock.start()
        assert clock.held == {"a.example"}
        clock.politeness.ended("a.example")
        assert clock.held == {"a.example"}
        assert clock.at(11.5) == 0.5
        assert clock.held == {"a.example"}
        assert clock.at(12) is None
        assert clock.held == set()

    def test_delay_and_concurrency_both(self):
        clock = Clock(DOWNLOAD_DELAY=1, CONCURRENT_REQUESTS_PER_DOMAIN=2)
        clock.start()
        clock.at(1)
        clock.start()
        clock.at(2)
        assert clock.held == {"a.example"}, "two are under way"
        clock.politeness.ended("a.example")
        assert clock.held == set()

    def test_slots_of_the_user(self):
        clock = Clock(DOWNLOAD_SLOTS={"a.example": {"delay": 5, "concurrency": 1}}, CONCURRENT_REQUESTS_PER_DOMAIN=8)
        clock.start()
        clock.politeness.ended("a.example")
        clock.start("b.example")
        assert clock.held == {"a.example"}
        assert clock.at(1) == 4

    def test_autothrottle_changes_the_delay(self):
        slot = SimpleNamespace(concurrency=8, delay=3.0)
        clock = Clock({"a.example": slot})
        clock.start()
        assert clock.at(1) == 2
        clock.at(3)
        slot.delay = 7.0
        clock.start()
        assert clock.at(4) == 6

    def test_no_limit(self):
        clock = Clock(CONCURRENT_REQUESTS_PER_DOMAIN=0)
        for _ in range(50):
            clock.start()
        assert clock.held == set()


class Hosts(Spider):
    """Twelve pages on each of four hosts."""

    name = "hosts"
    start_urls = ("http://top.example/",)

    def parse(self, response):
        for n in range(12):
            for host in range(4):
                yield Request(f"http://h{host}.example/{n}", self.parse_one)

    def parse_one(self, response):
        yield {}


@pytest.mark.asyncio
class TestWaking:
    async def test_a_delay_does_not_wait_for_the_heartbeat(self, monkeypatch):
        """The engine asks every 5 seconds by itself; here it never does, so the scheduler's timer must."""

        class NoHeartbeat:
            def start(self, interval, now=True):
                pass

            def stop(self):
                pass

            running = False

        monkeypatch.setattr(engine_module, "create_looping_call", lambda *args, **kwargs: NoHeartbeat())
        settings = {**REPLICA, "DOWNLOAD_DELAY": 0.02, "DOWNLOAD_DELAY_JITTER": 0}
        result = await asyncio.wait_for(crawl(Hosts, lambda r: page(seed=r.url), settings), 60)
        assert len(result.items) == 48

    async def test_a_slow_host_does_not_take_all_places(self):
        """The slow host answers only when all others are through."""
        fast, is_over = [], asyncio.Event()

        async def slow():
            await is_over.wait()
            return page(seed="slow")

        def pages(request):
            if "//h0." in request.url:
                return slow()
            fast.append(request.url)
            if len(fast) == 1 + 36:
                is_over.set()
            return page(seed=request.url)

        settings = {**REPLICA, "CONCURRENT_REQUESTS": 4, "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
        result = await asyncio.wait_for(crawl(Hosts, pages, settings), 60)
        assert len(result.items) == 48

    async def test_never_more_of_a_host_than_it_may_have(self):
        active, most = {}, {}

        async def answer(request):
            host = request.url[7:9]
            active[host] = active.get(host, 0) + 1
            most[host] = max(most.get(host, 0), active[host])
            for _ in range(5):
                await asyncio.sleep(0)
            active[host] -= 1
            return page(seed=request.url)

        settings = {
            **REPLICA,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 3,
            "DOWNLOAD_SLOTS": {"h1.example": {"concurrency": 1}},
        }
        await crawl(Hosts, answer, settings)
        del most["to"]
        assert most == {"h0": 3, "h1": 1, "h2": 3, "h3": 3}


class TestFrontier:
    def test_a_slot_of_many_hosts_is_released_at_the_cost_of_one(self):
        heads = {host: (0, 0, 0.0, host) for host in range(5_000)}
        order = HostOrder(heads.get)
        for host in heads:
            order.add_host(host, "shared")
        for host in heads:
            order.refresh(host)
        taken = []
        while (found := order.pop()) is not None:
            host, url_id = found
            del heads[host]
            order.refresh(host)
            order.hold("shared")
            assert order.first() is None
            order.release("shared")
            taken.append(url_id)
            assert len(order._heap) < 10
        assert taken == list(range(5_000))
