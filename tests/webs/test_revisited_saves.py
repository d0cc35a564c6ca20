"""Verdicts and rules in a job that is crawled again: they carry over and are looked at again."""

from __future__ import annotations

import itertools

import pytest
from test_live_dust import N, acting, number_of, tree
from test_live_replicas import blocked, per_host, seeds, site
from web import HTML, REPLICA, crawl, page, refused

from scrapy_replica import TopicSpider

pytestmark = pytest.mark.asyncio


def settings(job, **more):
    return REPLICA | {"JOBDIR": str(job), "CONCURRENT_REQUESTS_PER_DOMAIN": 1, **more}


async def crawled(job, *sites, **more):
    pages = {url: page for each in sites for url, page in each.items()}
    return await crawl(TopicSpider, pages, settings(job, **more), seeds=seeds(*sites))


class TestVerdicts:
    async def test_one_that_is_right_holds_and_saves_the_copy(self, tmp_path):
        one, copy = site("http://a.example", "one"), site("http://b.example", "one")
        first = await crawled(tmp_path, one, copy)
        assert blocked(first) == 1
        pages = {url.partition("example")[2] for url in one}
        later = [site(f"http://{host}.example", "two") for host in "ab"]
        again = await crawled(tmp_path, *later, REPLICA_REVISIT=True)
        assert {url.partition("example")[2] for url in again.urls} == pages
        assert per_host(again)["b.example"] <= 13  # 12 samples, and the front page, which is no copy
        assert again.stats["replica/sample/false_drop_rate"] < 0.1
        assert again.stats.get("replica/host/withdrawn", 0) == 0
        assert again.unfinished == {}

    async def test_a_copy_that_became_a_site_of_its_own_is_let_go(self, tmp_path):
        one, copy = site("http://a.example", "one"), site("http://b.example", "one")
        await crawled(tmp_path, one, copy)
        own = site("http://b.example", "something else")
        again = await crawled(tmp_path, one, own, REPLICA_REVISIT=True)
        assert again.stats["replica/host/withdrawn"] == 1
        assert {url for url in own if url not in again.urls} == set()

    async def test_what_the_copy_had_before_its_verdict_moves_to_the_kept_host(self, tmp_path):
        one, copy = site("http://a.example", "one"), site("http://b.example", "one")
        await crawled(tmp_path, one, copy, REPLICA_EXPLORE=0)
        for work in ("two", "three"):
            later = [site(f"http://{host}.example", work) for host in "ab"]
            again = await crawled(tmp_path, *later, REPLICA_REVISIT=True, REPLICA_EXPLORE=0)
            assert per_host(again) == {"a.example": 40}

    @pytest.mark.parametrize("answer", ["refused", 503])
    async def test_what_was_saved_comes_back_where_the_kept_host_is_away(self, tmp_path, answer):
        one, copy = site("http://a.example", "one"), site("http://b.example", "one")
        first = await crawled(tmp_path, one, copy)
        dead, alive = (one, copy) if per_host(first)["a.example"] > per_host(first)["b.example"] else (copy, one)
        changed = [url for url in alive if url not in first.urls][::9]
        host = changed[0].partition("/")[0] + "//" + changed[0].split("/")[2]
        alive |= {url: page([f"{host}/new/{number}"], seed=url) for number, url in enumerate(changed)}
        new = {f"{host}/new/{number}": page(seed=f"new {number}") for number in range(len(changed))}
        away = dict.fromkeys(dead, refused if answer == "refused" else lambda _: (answer, HTML, ""))
        more = {"REPLICA_REVISIT": True, "RETRY_ENABLED": False}
        again = await crawled(tmp_path, away, alive, new, **more)
        assert {*changed, *new} <= {*again.urls}

    async def test_an_outage_of_all_ends_no_verdict(self, tmp_path):
        one, copy = site("http://a.example", "one"), site("http://b.example", "one")
        first = await crawled(tmp_path, one, copy)
        kept, saved = sorted(per_host(first), key=per_host(first).get, reverse=True)
        away = dict.fromkeys({**one, **copy}, refused)
        await crawled(tmp_path, away, REPLICA_REVISIT=True, RETRY_ENABLED=False)
        later = [site(f"http://{host}.example", "two") for host in "ab"]
        again = await crawled(tmp_path, *later, REPLICA_REVISIT=True)
        assert per_host(again)[kept] == len(one)
        assert per_host(again)[saved] <= 15  # 12 samples; a page of text too short is none


class TestRules:
    """Every page hands out another session id to each of its links, and every article changes between two crawls."""

    @pytest.fixture
    def web(self):
        marks = itertools.count()

        def served(request):
            number = number_of(request.url)
            links = [f"/a/{child}?zsid={next(marks)}" for child in tree(number)]
            return page(links, seed=(served.work, number), title=f"Article {number}")

        served.work = 1
        return served

    async def visit(self, job, web, **more):
        more = settings(job, REPLICA_TRAPS=False, CONCURRENT_REQUESTS=1, **more)
        return await crawl(TopicSpider, web, more, seeds="http://a.example/")

    async def test_one_that_is_right_holds_though_all_pages_change(self, tmp_path, web):
        await self.visit(tmp_path, web)
        rules = acting(tmp_path)
        assert rules
        for web.work in (2, 3):
            again = await self.visit(tmp_path, web, REPLICA_REVISIT=True)
            assert {number_of(url) for url in again.urls} == set(range(N))
            assert len(again.urls) < 2.1 * N  # samples of the rule in each pass, which is tested anew
            assert acting(tmp_path) == rules
            assert again.stats.get("replica/dust/withdrawn", 0) == 0

    async def test_one_that_became_wrong_ends(self, tmp_path, web):
        await self.visit(tmp_path, web)
        assert acting(tmp_path)

        def personal(request):
            """By now each session sees pages of its own."""
            number = number_of(request.url)
            return page([f"/a/{child}?zsid={child}" for child in tree(number)], seed=request.url, title=str(number))

        again = await self.visit(tmp_path, personal, REPLICA_REVISIT=True)
        assert again.stats["replica/dust/withdrawn"] == 1
        assert acting(tmp_path) == []
        assert again.unfinished == {}
