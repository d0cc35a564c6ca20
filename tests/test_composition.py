"""The add-on beside other add-ons and beside what the user set."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys

import pytest
from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from scrapy.utils.request import RequestFingerprinter
from web import REPLICA, crawl, page

from scrapy_replica import Addon, TopicSpider
from scrapy_replica.components.fingerprinter import ReplicaFingerprinter
from scrapy_replica.components.scheduler import ReplicaScheduler
from scrapy_replica.config import ConfigError

TOP = "http://a.example/"


class NoQuery(RequestFingerprinter):
    """URLs that differ in their query only are one."""

    def fingerprint(self, request):
        return super().fingerprint(request.replace(url=request.url.partition("?")[0]))


class OtherAddon:
    def update_settings(self, settings):
        settings.set("REQUEST_FINGERPRINTER_CLASS", NoQuery, "addon")


QUERIES = {TOP: page(["/x?1", "/x?2", "/y"], seed=0), f"{TOP}y": page(seed=1)} | {
    f"{TOP}x?{n}": page(seed=("x", n)) for n in (1, 2)
}

COPIES = {
    TOP: page(["/one", "/two", "/other"], seed="top"),
    f"{TOP}one": page(["/behind-one"], seed="same"),
    f"{TOP}two": page(["/behind-two"], seed="same"),
    f"{TOP}other": page(["/behind-other"], seed="other"),
    **{f"{TOP}behind-{name}": page(seed=("behind", name)) for name in ("one", "two", "other")},
}


@pytest.mark.asyncio
class TestFingerprinter:
    @pytest.mark.parametrize(
        "settings",
        [
            {"ADDONS": {OtherAddon: 400, Addon: 500}},
            {"ADDONS": {Addon: 500}, "REQUEST_FINGERPRINTER_CLASS": NoQuery},
        ],
        ids=["add-on", "user"],
    )
    async def test_the_one_set_before_is_wrapped(self, settings):
        result = await crawl(TopicSpider, QUERIES, settings, seeds=TOP)
        fingerprinter = result.spider.crawler.request_fingerprinter
        assert isinstance(fingerprinter, ReplicaFingerprinter)
        assert isinstance(fingerprinter.fallback, NoQuery)
        assert len(result.urls) == 3


@pytest.mark.asyncio
class TestScheduler:
    SETTINGS = {**REPLICA, "SCHEDULER": Scheduler, "CONCURRENT_REQUESTS": 1, "REPLICA_EXPLORE": 0}  # noqa: RUF012

    @pytest.mark.parametrize("mode", ["observe", "demote", "drop"])
    async def test_the_users_stays(self, mode):
        result = await crawl(TopicSpider, COPIES, {**self.SETTINGS, "REPLICA_MODE": mode}, seeds=TOP)
        assert set(result.urls) == set(COPIES)
        # What was not kept from being fetched is in the ledger as well.
        assert ("replica/decision/exact-duplicate-links/fetch" in result.stats) is (mode == "observe")
        # Scrapy's own order is another: one of the two copies is met first, and what the other links to comes last.
        assert mode == "observe" or result.urls[-1] in {f"{TOP}behind-two", f"{TOP}behind-one"}
        assert result.stats["scheduler/dequeued"] == len(result.urls)
        assert result.stats["replica/page/exact-duplicate"] == 1

    async def test_aliases_are_rewritten_at_the_gate(self, tmp_path):
        (tmp_path / "aliases").write_text("www.a.example a.example")
        pages = {TOP: page(["http://www.a.example/x", "/x"], seed=0), f"{TOP}x": page(seed=1)}
        settings = {**self.SETTINGS, "REPLICA_ALIASES": str(tmp_path / "aliases")}
        result = await crawl(TopicSpider, pages, settings, seeds=TOP)
        assert sorted(result.urls) == sorted(pages)

    async def test_budgets_are_kept_at_the_gate(self):
        pages = {TOP: page([f"/d/{n}" for n in range(10)]), **{f"{TOP}d/{n}": page(seed=n) for n in range(10)}}
        result = await crawl(TopicSpider, pages, {**self.SETTINGS, "REPLICA_PATH_BUDGET": 4}, seeds=TOP)
        assert len(result.urls) == 5
        assert result.stats["replica/decision/path-budget/drop"] == 6


class Follows(Spider):
    name = "follows"
    start_urls = (TOP,)

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)


class Tags:
    """A spider middleware that gives each request of a page a URL of its own."""

    async def process_spider_output(self, response, result):
        async for output in result:
            is_request = isinstance(output, Request)
            yield output.replace(url=f"{output.url}?from={response.url[len(TOP) :][:1]}") if is_request else output


@pytest.mark.asyncio
class TestOtherSpiderMiddlewares:
    """Requests for URLs that wait already end before Scrapy's own middlewares work on them, where these are alone."""

    PAGES = {TOP: page(["/1", "/2"], seed=0)} | {f"{TOP}{n}": page(["/1", "/2", "/3"], seed=n) for n in (1, 2, 3)}

    async def test_one_of_the_users_sees_each_request(self):
        def web(request):
            return self.PAGES[request.url.partition("?")[0]] if request.url.count("?") < 2 else None

        settings = {"SPIDER_MIDDLEWARES": {Tags: 543}, "DEPTH_LIMIT": 2}
        plain = await crawl(Follows, web, settings)
        ours = await crawl(Follows, web, {**settings, **REPLICA, "REPLICA_MODE": "observe"})
        assert len(plain.urls) > len(self.PAGES)
        assert sorted(ours.urls) == sorted(plain.urls)

    @pytest.mark.parametrize(
        "settings", [{"DEPTH_LIMIT": 1}, {"URLLENGTH_LIMIT": len(TOP) + 4}, {"DEPTH_STATS_VERBOSE": True}]
    )
    async def test_scrapys_own_leave_out_and_count_what_they_do_without_the_add_on(self, settings):
        pages = {**self.PAGES, TOP: page(["/1", "/2", "/a-long-one"], seed=0), f"{TOP}a-long-one": page(seed="long")}
        plain = await crawl(Follows, pages, settings)
        ours = await crawl(Follows, pages, {**settings, **REPLICA, "REPLICA_STRATEGY": "breadth-first"})
        assert sorted(ours.urls) == sorted(plain.urls)
        counted = [
            {key: value for key, value in stats.items() if key.startswith(("depth/", "urllength/", "request_depth"))}
            for stats in (plain.stats, ours.stats)
        ]
        assert counted[1] == counted[0]


def test_scrapys_commands_import_nothing_but_the_add_on_itself():
    """What each of them imports, in each project of an environment that has the package, and with it in ``ADDONS``."""
    names = "[name for name in sys.modules if name.startswith('scrapy_replica')]"
    imported = f"import sys, scrapy_replica.commands; from scrapy_replica import Addon; print(*{names})"
    told = subprocess.run([sys.executable, "-c", imported], check=True, capture_output=True, text=True).stdout
    assert set(told.split()) == {"scrapy_replica", "scrapy_replica.addon", "scrapy_replica.commands"}


@pytest.mark.asyncio
class TestSwitches:
    async def test_off(self):
        result = await crawl(Follows, COPIES, {**REPLICA, "REPLICA_ENABLED": False})
        assert set(result.urls) == set(COPIES)
        assert not any(key.startswith("replica/") for key in result.stats)

    async def test_custom_settings(self):
        class Own(Follows):
            custom_settings = {"ADDONS": {Addon: 500}, "REPLICA_MODE": "drop", "REPLICA_EXPLORE": 0}  # noqa: RUF012

        result = await crawl(Own, COPIES)
        assert result.urls[-1] == f"{TOP}behind-two"
        assert result.stats["replica/decision/exact-duplicate-links/demote"] == 1

    @pytest.mark.parametrize("concurrency", [1, 16])
    async def test_observing_keeps_scrapys_order(self, concurrency):
        """A crawl that ends early fetches the pages that it fetches without the add-on."""
        names = ["", *range(1, 60)]
        pages = {
            f"{TOP}{name}": page([f"/{names[k % 60]}" for k in (7 * n + 1, n + 1, 11 * n)], seed=n // 2)
            for n, name in enumerate(names)
        }
        settings = {"CLOSESPIDER_PAGECOUNT": 25, "CONCURRENT_REQUESTS": concurrency}
        plain = await crawl(Follows, pages, settings)
        observed = await crawl(Follows, pages, {**settings, **REPLICA, "REPLICA_MODE": "observe"})
        assert observed.urls == plain.urls
        assert observed.items == plain.items
        assert observed.stats["replica/page/exact-duplicate"] > 0

    @pytest.mark.parametrize("chosen", [{"REPLICA_STRATEGY": "breadth-first"}, {"REPLICA_MODE": "demote"}])
    async def test_an_order_that_was_asked_for_holds(self, chosen):
        result = await crawl(Follows, COPIES, {**REPLICA, "REPLICA_MODE": "observe", **chosen})
        assert result.spider.settings["SCHEDULER"] is ReplicaScheduler

    async def test_unknown_setting(self):
        with pytest.raises(
            ConfigError, match=r"^REPLICA_MOD is not a setting of scrapy-replica: did you mean REPLICA_MODE"
        ):
            await crawl(Follows, COPIES, {**REPLICA, "REPLICA_MOD": "drop"})

    async def test_missing_topic(self, tmp_path):
        with pytest.raises(ValueError, match="no such file or folder"):
            await crawl(Follows, COPIES, {**REPLICA, "REPLICA_TOPIC": str(tmp_path / "none")})

    async def test_job_of_another_version(self, tmp_path):
        settings = {**REPLICA, "JOBDIR": str(tmp_path)}
        await crawl(Follows, COPIES, settings)
        with contextlib.closing(sqlite3.connect(tmp_path / "replica.sqlite")) as db, db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (b"0",))
        with pytest.raises(ValueError, match=r"has version 0, this release reads \d+: finish that crawl") as error:
            await crawl(Follows, COPIES, settings)
        assert "\n" not in str(error.value)

    async def test_job_that_is_no_crawl(self, tmp_path):
        (tmp_path / "replica.sqlite").write_text("something else")
        with pytest.raises(ValueError, match="is not a crawl database"):
            await crawl(Follows, COPIES, {**REPLICA, "JOBDIR": str(tmp_path)})

    async def test_scheduler_is_ours_by_default(self):
        result = await crawl(Follows, COPIES, REPLICA)
        assert result.spider.settings["SCHEDULER"] is ReplicaScheduler
