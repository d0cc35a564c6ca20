from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import sqlite3
from collections import Counter
from pathlib import Path

import forked
import pytest
from kill_target import CONCURRENT_REQUESTS, PAGES, links_of, url_of
from scrapy import Request, Spider
from scrapy.utils.request import RequestFingerprinter
from web import HTML, REPLICA, crawl, job_states, page

from scrapy_replica.claim import Claim, Kind, Work
from scrapy_replica.components.fingerprinter import UrlFingerprints
from scrapy_replica.components.payloads import LIVE, RequestPayloads
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.schema import LEASED

KILLS = 6
TARGET = Path(__file__).parents[1] / "kill_target.py"


def run(job, log, kill_at=0, spider="topic", close_at=0):
    environment = {**os.environ, "CLOSE_AT": str(close_at)}
    done = forked.run(TARGET, job, log, kill_at, spider, env=environment)
    assert done.returncode == (-signal.SIGKILL if kill_at else 0), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def entries(log, kind="fetch"):
    """What was logged: (URL, what, more)."""
    lines = map(json.loads, log.read_text().splitlines()) if log.exists() else ()
    return [(url, json.dumps(what), more) for found, url, what, more in lines if found == kind]


def urls(log):
    return [url for url, _, _ in entries(log)]


def done(job):
    found = job_states(job) if job.exists() else {}
    return {url for url, states in found.items() if states == ["done"]}


WHOLE = {url_of(number) for number in range(PAGES)}


def kill_points(seed):
    """Some kills, together well below what there is to fetch, some of them right at the start."""
    lots = random.Random(seed)
    return [lots.randint(1, 40) for _ in range(KILLS)]


class TestKilled:
    def test_every_page_and_few_twice(self, tmp_path):
        job, log = tmp_path / "job", tmp_path / "log"
        for kill_at in kill_points(1):
            done_before, fetched_before = done(job), len(urls(log))
            run(job, log, kill_at)
            assert not done_before & set(urls(log)[fetched_before:])
        assert len(set(urls(log))) < PAGES  # the last kill came before the end
        run(job, log)
        fetched = Counter(urls(log))
        assert set(fetched) == WHOLE
        in_flight = [int(number) for _, number, _ in entries(log, "kill")]
        assert fetched.total() - PAGES <= sum(in_flight)
        # Downloads, and as many pages whose links and items are on their way.
        assert max(in_flight) <= 4 * CONCURRENT_REQUESTS
        assert set(map(tuple, job_states(job).values())) == {("done",)}

    def test_requests_come_back_with_all_they_carry(self, tmp_path):
        job, log, undisturbed = tmp_path / "job", tmp_path / "log", tmp_path / "undisturbed"
        for kill_at in (3, 40, 17):
            run(job, log, kill_at, "everything")
        run(job, log, spider="everything")
        run(tmp_path / "other", undisturbed, spider="everything")
        before = len(urls(undisturbed))
        run(tmp_path / "other", undisturbed, spider="everything")
        assert len(urls(undisturbed)) == before, "a finished job fetches nothing"
        for kind in ("form", "again"):
            assert set(entries(log, kind)) == set(entries(undisturbed, kind))
        assert len(set(entries(log, "form"))) == sum(number % 10 == 1 for number in range(PAGES))
        assert len(entries(undisturbed, "again")) == 2 <= len(entries(log, "again")) <= 4
        pages = {url: (json.loads(path), mark) for url, path, mark in entries(log, "page")}
        assert set(pages) == WHOLE
        for url, (path, mark) in pages.items():
            assert url == url_of(path[-1])
            assert mark == f"m{path[-1]}"
            assert all(child in links_of(parent) for parent, child in itertools.pairwise(path))


class TestStopped:
    def test_clean_stop_and_resume(self, tmp_path):
        job, log = tmp_path / "job", tmp_path / "log"
        run(job, log, close_at=100)
        first = len(urls(log))
        assert 100 <= first <= 100 + CONCURRENT_REQUESTS
        run(job, log)
        assert Counter(urls(log)) == Counter(WHOLE)
        run(job, log)
        assert Counter(urls(log)) == Counter(WHOLE), "a finished job fetches nothing"


@pytest.mark.asyncio
class TestStartRequests:
    async def test_one_that_was_in_flight_may_be_retried(self, tmp_path):
        """Its retry is no second start request: it must not pass for known."""

        class One(Spider):
            name = "one"
            start_urls = ("http://a.example/",)

            def parse(self, response):
                yield {"url": response.url}

        tries = []

        def unsteady(request):
            tries.append(request.url)
            return (503, HTML, "") if len(tries) == 1 else page(seed=1)

        settings = {**REPLICA, "JOBDIR": str(tmp_path)}
        await crawl(One, {"http://a.example/": page(seed=1)}, settings)
        with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as db, db:
            db.execute("UPDATE urls SET state = ?", (LEASED,))  # as a kill leaves it
        result = await crawl(One, unsteady, settings)
        assert len(result.items) == 1
        assert result.unfinished == {}
        assert job_states(tmp_path) == {"http://a.example/": ["done"]}, "it is one URL still"

    @pytest.mark.parametrize("is_stopped", [True, False])
    async def test_one_that_is_done_is_fetched_again_where_the_last_run_came_to_its_end(self, tmp_path, is_stopped):
        class Grows(Spider):
            name = "grows"

            async def start(self):
                for n in range(int(self.many)):
                    yield Request(f"http://a.example/{n}", dont_filter=True)

            def parse(self, response):
                yield {}

        settings = {**REPLICA, "JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
        limit = {"CLOSESPIDER_PAGECOUNT": 2} if is_stopped else {}
        first = await crawl(Grows, lambda r: page(seed=r.url), settings | limit, many=6 if is_stopped else 2)
        second = await crawl(Grows, lambda r: page(seed=r.url), settings, many=6)
        done = [] if is_stopped else first.urls
        assert sorted(first.urls + second.urls) == sorted([*done, *(f"http://a.example/{n}" for n in range(6))])

    @pytest.mark.parametrize("options", [{}, REPLICA])
    async def test_the_same_command_each_day_finds_what_is_new_on_the_start_page(self, tmp_path, options):
        """As with Scrapy alone; what was seen before is not asked for."""

        class News(Spider):
            name = "news"
            start_urls = ("http://a.example/",)

            def parse(self, response):
                yield {"url": response.url}
                yield from response.follow_all(css="a")

        def on_day(day):
            links = [f"http://a.example/{n}" for n in range(10 * day, 10 * day + 20)]
            return lambda request: page(links if request.url.endswith("/") else (), seed=request.url)

        settings = {**options, "JOBDIR": str(tmp_path)}
        found = [await crawl(News, on_day(day), settings) for day in range(3)]
        assert [len(one.items) for one in found] == [21, 11, 11]

    async def test_one_that_is_given_twice_is_fetched_twice_in_each_run(self, tmp_path):
        class Twice(Spider):
            name = "twice"

            async def start(self):
                for n in (0, 1, 0, 1):
                    yield Request(f"http://a.example/{n}", dont_filter=True)

            def parse(self, response):
                yield {}

        settings = {**REPLICA, "JOBDIR": str(tmp_path)}
        first = await crawl(Twice, lambda r: page(seed=r.url), settings)
        second = await crawl(Twice, lambda r: page(seed=r.url), settings)
        assert [sorted(url[-1] for url in one.urls) for one in (first, second)] == 2 * [["0", "0", "1", "1"]]


class TestChangedSpider:
    @pytest.mark.asyncio
    async def test_a_request_whose_callback_went_away_is_told_and_the_rest_is_fetched(self, tmp_path, caplog):
        class Before(Spider):
            name = "changes"

            def gone(self, response): ...

        class After(Spider):
            name = "changes"

            def parse(self, response): ...

        db = SqliteCrawlDB(tmp_path, "changes")
        spider = Before()
        payloads = RequestPayloads(is_stored=True, url_of=db.urls.url_of, counts=Counter())
        payloads.spider = spider
        for number, callback in enumerate((spider.gone, None)):
            request = Request(f"http://a.example/{number}", callback=callback)
            db.urls.discover([NewUrl(request.url, "a.example", number, payload=payloads.dump(request, None))])
        db.close()
        pages = {f"http://a.example/{number}": page(seed=number) for number in range(2)}
        result = await crawl(After, pages, REPLICA | {"JOBDIR": str(tmp_path)})
        assert result.urls == ["http://a.example/1"]
        assert result.unfinished == {}
        assert "http://a.example/0 cannot be made again" in caplog.text

    @pytest.mark.asyncio
    async def test_a_request_of_memory_that_was_saved_comes_back_with_a_link(self, tmp_path, caplog):
        """Its callback is no method, so that the job cannot hold it; what saved it ends in a later run."""

        class Follows(Spider):
            name = "follows"
            start_urls = ("http://a.example/",)

            def parse(self, response):
                yield {"url": response.url}
                yield from response.follow_all(css="a")

        url = "http://a.example/saved"
        db = SqliteCrawlDB(tmp_path, "follows")
        fingerprints = UrlFingerprints(RequestFingerprinter())
        new = NewUrl(url, "a.example", fingerprints.of_url(url), payload=LIVE + b"of an earlier run", is_dropped=True)
        url_id = db.urls.discover([new])[0][0]
        claim = Claim(Kind.TRAP, "a.example", "calendar")
        db.suppressed.enter([Suppressed(url_id, claim, None)])
        db.suppressed.begin(Work(claim))
        db.close()
        pages = {"http://a.example/": page([url], seed=1), url: page(seed=2)}
        result = await crawl(Follows, pages, REPLICA | {"JOBDIR": str(tmp_path)})
        assert f"{url} was asked for by a request" in caplog.text
        assert [item["url"] for item in result.items] == list(pages)
        assert result.unfinished == {}
