"""Hosts that ask for patience: Retry-After, 429, and what robots.txt says of delays."""

from __future__ import annotations

import time
from collections import defaultdict
from email.utils import formatdate
from itertools import pairwise
from types import SimpleNamespace

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.robotstxt import RobotParser
from scrapy.settings import Settings
from web import REPLICA, crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.commands.job import reading
from scrapy_replica.commands.status_text import in_words
from scrapy_replica.components import patience, politeness
from scrapy_replica.components.patience import retry_after
from scrapy_replica.crawl.fetches import Fetches

TOP, OTHER = "http://a.example/", "http://b.example/"
POLITE = {**REPLICA, "RETRY_TIMES": 2, "ROBOTSTXT_OBEY": False}


@pytest.fixture(autouse=True)
def _slowed_a_little(monkeypatch):
    monkeypatch.setattr(politeness, "FIRST_SLOWED_S", 0.05)


def web(refusals, answer, n=6):
    """Pages of two hosts; the first *refusals* requests for ``/2`` of the first are answered with *answer*."""
    pages = {TOP: page([f"/{k}" for k in range(n)] + [f"{OTHER}{k}" for k in range(n)], seed="top")}
    pages |= {f"{host}{k}": page(seed=(host, k)) for host in (TOP, OTHER) for k in range(n)}
    at = defaultdict(list)

    def served(request):
        at[request.url].append(time.monotonic())
        if request.url == f"{TOP}2" and len(at[request.url]) <= refusals:
            return answer
        return pages.get(request.url, (404, {}, ""))

    return served, at, set(pages)


@pytest.mark.asyncio
class TestRetryAfter:
    @pytest.mark.parametrize("status", [429, 503])
    async def test_the_host_rests_the_others_do_not_and_nothing_is_lost(self, status):
        served, at, pages = web(1, (status, {"Retry-After": "2"}, "later"))
        result = await crawl(TopicSpider, served, {**POLITE, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}, seeds=TOP)
        assert {item["url"] for item in result.items} == pages
        first, second = at[f"{TOP}2"]
        assert second - first >= 1.95
        during = [url for url, times in at.items() if any(first < one < first + 1.9 for one in times)]
        assert not any(url.startswith(TOP) for url in during)
        assert len([url for url in at if url.startswith(OTHER) and max(at[url]) < second]) == 6
        assert result.stats["replica/patience/rests"] == 1
        assert "retry/count" not in result.stats

    async def test_a_wish_to_wait_is_no_failure(self, monkeypatch):
        """What a page stands for comes back when the page is given up, not each time that its host wants to wait."""
        failed, as_it_is = [], Fetches.observe_failure

        def noted(fetches, url_id, status, *args, **kwargs):
            failed.append(status)
            as_it_is(fetches, url_id, status, *args, **kwargs)

        monkeypatch.setattr(Fetches, "observe_failure", noted)
        for refusals, statuses in ((3, []), (99, [429])):
            failed.clear()
            served, _, _ = web(refusals, (429, {"Retry-After": "0"}, ""))
            await crawl(TopicSpider, served, POLITE, seeds=TOP)
            assert failed == statuses

    async def test_more_often_than_scrapy_tries_again(self):
        served, at, pages = web(4, (429, {"Retry-After": "0"}, ""))
        result = await crawl(TopicSpider, served, POLITE, seeds=TOP)
        assert {item["url"] for item in result.items} == pages
        assert len(at[f"{TOP}2"]) == 5

    async def test_one_that_never_answers_otherwise_ends(self):
        served, at, pages = web(99, (429, {"Retry-After": "0"}, ""))
        result = await crawl(TopicSpider, served, POLITE, seeds=TOP)
        assert {item["url"] for item in result.items} == pages - {f"{TOP}2"}
        assert len(at[f"{TOP}2"]) == 1 + patience.MOST_WAITS + POLITE["RETRY_TIMES"]
        assert result.unfinished == {}

    async def test_without_a_time_it_rests_longer_each_time(self, monkeypatch):
        monkeypatch.setattr(patience, "FIRST_S", 0.3)
        served, at, pages = web(3, (429, {}, ""))
        result = await crawl(TopicSpider, served, POLITE, seeds=TOP)
        assert {item["url"] for item in result.items} == pages
        times = at[f"{TOP}2"]
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert all(gap > 0.9 * rest for gap, rest in zip(gaps, (0.3, 0.6, 1.2), strict=True))
        assert sum(gaps) < 10  # on a busy machine

    async def test_what_was_on_its_way_does_not_make_the_rest_longer(self, monkeypatch):
        monkeypatch.setattr(patience, "FIRST_S", 1.5)
        served, _, pages = web(0, None)
        begun = []

        def limited(request):
            if request.url.startswith(TOP) and request.url != TOP:
                begun.append(time.monotonic())
                if begun[-1] < begun[0] + 1:
                    return 429, {}, ""
            return served(request)

        result = await crawl(TopicSpider, limited, {**POLITE, "CONCURRENT_REQUESTS_PER_DOMAIN": 8}, seeds=TOP)
        assert {item["url"] for item in result.items} == pages
        n_at_once = sum(one < begun[0] + 1 for one in begun)
        assert n_at_once == 6
        assert begun[n_at_once] - begun[0] < 1.5 * 2

    @pytest.mark.parametrize(
        "answer", [(503, {}, ""), (429, {"Retry-After": "3600"}, ""), (503, {"Retry-After": "601"}, "")]
    )
    async def test_a_failure_without_a_time_and_one_that_is_too_long_are_scrapy_s(self, answer):
        served, at, _ = web(99, answer)
        result = await crawl(TopicSpider, served, POLITE, seeds=TOP)
        assert len(at[f"{TOP}2"]) == 3
        assert "replica/patience/rests" not in result.stats

    @pytest.mark.parametrize("settings", [{"RETRY_ENABLED": False}, {"ADDONS": {}}])
    async def test_who_wants_no_retries_has_none(self, settings):
        served, at, _ = web(99, (429, {"Retry-After": "1"}, ""))
        await crawl(TopicSpider, served, {**POLITE, **settings}, seeds=TOP)
        assert len(at[f"{TOP}2"]) == (1 if "RETRY_ENABLED" in settings else 3)

    async def test_a_spider_that_handles_429_gets_it_in_the_end(self):
        class Handles(Spider):
            name = "handles"
            start_urls = (TOP,)

            def parse(self, response):
                yield Request(f"{TOP}2", self.page, meta={"handle_httpstatus_list": [429], "dont_retry": True})

            def page(self, response):
                yield {"status": response.status}

        served, _, _ = web(99, (429, {"Retry-After": "1"}, ""))
        result = await crawl(Handles, served, POLITE)
        assert result.items == [{"status": 429}]


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        (b"7", 7),
        (b" 7 ", 7),
        (b"", None),
        (b"soon", None),
        (b"-3", None),
        (b"1.5", None),
        (formatdate(1_000_060, usegmt=True).encode(), 60),
        (formatdate(999_000, usegmt=True).encode(), 0),
        (b"9" * 400, 999_999_999_999),
        (b"\xff\xfe", None),
        (b"Mon, 99 Xxx 9999 99:99:99 GMT", None),
    ],
)
def test_what_the_header_says(told, seconds):
    assert retry_after(Response(TOP, headers={"Retry-After": told}), 1_000_000.0) == seconds


@pytest.mark.asyncio
class TestRobots:
    @pytest.mark.parametrize("line", ["Crawl-delay: 0.4", "Request-rate: 5/2"])
    async def test_a_host_is_asked_as_seldom_as_it_wants(self, line):
        robots = {f"{TOP}robots.txt": (200, {"Content-Type": "text/plain"}, f"User-agent: *\n{line}\n")}
        served, at, pages = web(0, (200, {}, ""), n=4)

        def answer(request):
            return robots.get(request.url) or served(request)

        settings = {**POLITE, "ROBOTSTXT_OBEY": True, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
        result = await crawl(TopicSpider, answer, settings, seeds=TOP)
        assert {item["url"] for item in result.items} == pages
        times = sorted(one for url, of_url in at.items() if url.startswith(TOP) for one in of_url)[1:]
        assert min(later - earlier for earlier, later in pairwise(times)) > 0.3
        others = sorted(
            one for url, of_url in at.items() if url.startswith(OTHER) and "robots" not in url for one in of_url
        )
        assert others[-1] - others[0] < 1  # three delays are 1.2

    async def test_one_that_asks_for_days_is_asked_each_minute(self):
        from scrapy.utils.test import get_crawler

        from scrapy_replica.components.robots import CleanParamParser

        crawler = get_crawler(Spider, {"REPLICA_FALLBACK_ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"})
        delays: dict[str, float] = {}
        parser = CleanParamParser.from_crawler(crawler, b"User-agent: *\nCrawl-delay: 99999\nDisallow: /x\n")
        parser._delays = delays
        assert parser.allowed(f"{TOP}y", "me")
        assert not parser.allowed(f"{TOP}x", "me")
        assert delays == {"a.example": 60.0}

    async def test_a_parser_that_fails_to_tell_delays_loses_no_page(self):
        settings = {**POLITE, "ROBOTSTXT_OBEY": True, "ROBOTSTXT_PARSER": Silent}
        served, _, pages = web(0, (200, {}, ""), n=3)
        result = await crawl(TopicSpider, served, settings, seeds=TOP)
        assert {item["url"] for item in result.items} == pages


def refused(answers: int = 40) -> int:
    """Return how often a host refuses that bears one request in half a second, until it gave so many *answers*."""
    clock, last, n_refused, held = 0.0, -1.0, 0, set()
    downloader = SimpleNamespace(settings=Settings(), slots={}, per_slot_settings={})
    polite = politeness.Politeness(downloader, hold=held.add, release=held.discard, now=lambda: clock, asked={})
    while answers:
        clock += 0.01
        polite.wake()
        if held:
            continue
        polite.started("a.example")
        if clock - last < 0.5:
            n_refused += 1
            polite.rest("a.example", 0.5)
        else:
            answers -= 1
            polite.recover("a.example")
        last = clock
        polite.ended("a.example")
    return n_refused


def test_a_host_that_bears_little_is_asked_less_often_and_then_more_again(monkeypatch):
    monkeypatch.setattr(politeness, "FIRST_SLOWED_S", 1.0)
    assert refused() <= 12
    monkeypatch.setattr(politeness, "FIRST_SLOWED_S", 0.0)
    assert refused() >= 30


@pytest.mark.asyncio
async def test_a_crawl_that_goes_on_lets_a_host_rest_on(tmp_path):
    job = {**POLITE, "JOBDIR": str(tmp_path / "job"), "CONCURRENT_REQUESTS": 1}
    served, at, pages = web(1, (429, {"Retry-After": "3"}, ""), n=3)
    await crawl(TopicSpider, served, {**job, "CLOSESPIDER_PAGECOUNT": 6}, seeds=TOP)
    (asked,) = at[f"{TOP}2"]
    with reading(str(tmp_path / "job")) as reader:
        status = reader.status(time.time(), 5)
    assert list(status.resting) == ["a.example"]
    told = " ".join(in_words(status, (), status.resting["a.example"] - 2, is_running=False).split())
    assert "These hosts asked for patience and rest: a.example for 2 s." in told
    await crawl(TopicSpider, served, job, seeds=TOP)
    assert at[f"{TOP}2"][1] - asked >= 2.9
    assert pages == at.keys()


class Silent(RobotParser):
    @classmethod
    def from_crawler(cls, crawler, robotstxt_body):
        return cls()

    def allowed(self, url, user_agent):
        return True

    def crawl_delay(self, user_agent):
        raise RuntimeError("no")
