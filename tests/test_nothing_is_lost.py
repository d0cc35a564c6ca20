"""What users' own spiders rely on, in crawls: nothing is lost, delayed, doubled or sent elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import sqlite3
import threading
import time
from pathlib import Path

import pytest
from scrapy import FormRequest, Request, Spider
from scrapy.settings import Settings
from web import HTML, REPLICA, crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.commands.explain import ExplainCommand
from scrapy_replica.commands.parser import parser_of
from scrapy_replica.components import turns
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.refused import RefusedError
from scrapy_replica.crawl.claims.late_samples import LateSamples
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawl.fetches import Fetches
from scrapy_replica.crawl.links.outlinks import Outlinks
from scrapy_replica.crawldb.orders import BLOCK
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.lock import is_locked
from scrapy_replica.crawldb.sqlite.reader import open_orders
from scrapy_replica.records import Verdict

pytestmark = pytest.mark.asyncio

TOP = "http://a.example/"
FIVE = {TOP: page([f"/{n}" for n in range(5)]), **{f"{TOP}{n}": page(seed=n) for n in range(5)}}


def ordered(job, host, canonical, spider):
    """A job in which a person blocked *host*."""
    SqliteCrawlDB(job, spider).close()
    with open_orders(job / FILE_NAME) as give:
        give(BLOCK, {"host": host, "canonical": canonical})
    return {**REPLICA, "JOBDIR": str(job)}


class TestCallbacks:
    async def test_requests_that_came_before_an_exception_are_fetched(self, caplog):
        class Raises(Spider):
            name = "raises"
            start_urls = (TOP,)

            def parse(self, response):
                yield {"url": response.url}
                for link in response.css("a::attr(href)").getall():
                    yield response.follow(link)
                raise ValueError("after all")

        with caplog.at_level(logging.CRITICAL):
            result = await crawl(Raises, FIVE, REPLICA)
        assert sorted(item["url"] for item in result.items) == sorted(FIVE)
        assert result.stats["spider_exceptions/ValueError"] == 6

    async def test_what_a_slow_callback_gives_is_passed_on_at_once(self):
        class Waits(Spider):
            name = "waits"
            start_urls = (TOP,)

            async def parse(self, response):
                if response.url != TOP:
                    self.fetched.set()
                    return
                self.fetched = asyncio.Event()
                yield response.follow("/0")
                yield {"first": True}
                await asyncio.wait_for(self.fetched.wait(), 5)
                yield response.follow("/1")
                yield {"last": True}

        result = await crawl(Waits, FIVE, REPLICA)
        assert result.items == [{"first": True}, {"last": True}]
        assert set(result.urls) == {TOP, f"{TOP}0", f"{TOP}1"}

    async def test_outputs_keep_their_order(self):
        class Mixes(Spider):
            name = "mixes"
            start_urls = (TOP,)

            def parse(self, response):
                for number in range(120):
                    yield {"number": number} if number % 2 else response.follow(f"/{number}")

        settings = {**REPLICA, "DEPTH_LIMIT": 1, "CONCURRENT_ITEMS": 100}
        result = await crawl(Mixes, lambda request: page(seed=request.url), settings)
        own = [item["number"] for item in result.items if item["number"] < 120]
        assert own[:60] == list(range(1, 120, 2))


class TestFailingToObserve:
    @pytest.mark.parametrize("more", [{}, {"SCHEDULER": "scrapy.core.scheduler.Scheduler"}])
    async def test_links_are_followed(self, monkeypatch, more, caplog):
        observe = Fetches.observe

        def fails(self, page, *more):
            observation = observe(self, page, *more)
            if page.url == TOP:
                raise RuntimeError("in the middle")
            return observation

        monkeypatch.setattr(Fetches, "observe", fails)
        with caplog.at_level(logging.CRITICAL):
            result = await crawl(TopicSpider, FIVE, {**REPLICA, **more}, seeds=TOP)
        assert sorted(result.urls) == sorted(FIVE)
        assert sorted(item["url"] for item in result.items) == sorted(FIVE)
        assert result.stats["replica/page/error"] == 1
        assert result.unfinished == {}

    async def test_the_page_is_taken_back(self, monkeypatch, tmp_path, caplog):
        def fails(self, observation, links):
            raise RuntimeError("after the page was written")

        monkeypatch.setattr(Outlinks, "follow", fails)
        with caplog.at_level(logging.CRITICAL):
            await crawl(TopicSpider, FIVE, {**REPLICA, "JOBDIR": str(tmp_path)}, seeds=TOP)
        db = sqlite3.connect(tmp_path / FILE_NAME)
        rows = db.execute("SELECT status, error, signature FROM pages").fetchall()
        db.close()
        assert rows == [(200, "cannot be observed: RuntimeError", None)] * 6


class TestSecrets:
    @pytest.mark.parametrize(
        "asked",
        [
            {"headers": {"Authorization": "Basic c2VjcmV0"}},
            {"headers": {"X-Api-Key": "secret"}},
            {"cookies": {"session": "secret"}},
            {"method": "POST", "body": "secret"},
            {"dont_filter": True},
        ],
    )
    async def test_only_a_plain_get_is_moved_to_another_host(self, asked, tmp_path):
        """A person's block drops what may not be moved; nothing of it reaches the canonical host."""

        class Asks(Spider):
            name = "asks"
            start_urls = (TOP,)

            def parse(self, response):
                if response.url == TOP:
                    yield Request("http://b.example/secret", **asked)
                    yield Request("http://b.example/plain")

        settings = ordered(tmp_path, "b.example", "a.example", "asks")
        result = await crawl(Asks, lambda request: page(seed=request.url), {**settings, "REPLICA_EXPLORE": 0})
        assert sorted(result.urls) == [TOP, f"{TOP}plain"]
        assert result.stats["replica/decision/manual-block/drop"] == 1

    @pytest.mark.parametrize(
        ("limit", "names"),
        [({}, "xyz"), ({"REPLICA_HOST_PAGES": 2}, "x"), ({"REPLICA_EXCLUDE": ["http://a.example/y"]}, "xz")],
    )
    @pytest.mark.parametrize("scheduler", [{}, {"SCHEDULER": "scrapy.core.scheduler.Scheduler"}])
    async def test_what_a_person_blocked_is_not_fetched_where_the_canonical_host_may_not_be(
        self, scheduler, limit, names, tmp_path
    ):
        """What is left out there is left out: the blocked host was asked in its place."""
        links = {"x": ["http://b.example/y", "http://b.example/z"]}
        pages = {TOP: page([f"{TOP}x"], seed="top")}
        pages |= {
            f"{top}{name}": page(links.get(name, ()), name) for top in (TOP, "http://b.example/") for name in "xyz"
        }
        settings = {**ordered(tmp_path, "b.example", "a.example", "topic"), **scheduler, **limit}
        result = await crawl(TopicSpider, pages, settings, seeds=TOP)
        assert sorted(result.urls) == [TOP, *(f"{TOP}{name}" for name in names)]

    async def test_ledger_and_explain_leave_secrets_out(self, tmp_path):
        links = ["http://me:secret@b.example/x?token=secret", "http://b.example/login?password=secret"]
        pages = {TOP: page(links), f"{TOP}x?token=secret": page(seed=1), f"{TOP}login?password=secret": page(seed=2)}
        ledger, job = tmp_path / "ledger", tmp_path / "job"
        job.mkdir()
        settings = ordered(job, "b.example", "a.example", "topic")
        result = await crawl(TopicSpider, pages, {**settings, "REPLICA_LEDGER": str(ledger)}, seeds=TOP)
        # A token is not sent to the canonical host either.
        assert result.stats["replica/decision/manual-block/drop"] == 2
        assert result.urls == [TOP]
        assert "secret" not in ledger.read_text()
        command = ExplainCommand()
        parser = parser_of(command)
        with contextlib.redirect_stdout(io.StringIO()) as told:
            command.run(parser.parse_args(["http://b.example/login?password=secret", "--job", str(job)]), Settings())
        assert "password=***" in told.getvalue()
        assert "secret" not in told.getvalue()

    async def test_the_kept_host_does_not_hear_where_a_link_was_found(self, tmp_path):
        heard = {}

        class Asks(Spider):
            name = "asks"
            start_urls = (TOP, "http://c.example/private?q=1")

            def parse(self, response):
                if "private" in response.url:
                    yield Request("http://b.example/stored", self.parse_one, cb_kwargs={"n": 1})
                    yield Request("http://b.example/live", self.parse_one, cb_kwargs={"n": []})
                    yield Request("http://b.example/plain")
                    yield Request("http://a.example/own")

            def parse_one(self, response, n): ...

        def served(request):
            heard[request.url] = request.headers.get("Referer")
            return page(seed=request.url)

        settings = ordered(tmp_path, "b.example", "a.example", "asks")
        await crawl(Asks, served, {**settings, "REPLICA_EXPLORE": 0})
        moved = dict.fromkeys([f"{TOP}stored", f"{TOP}live", f"{TOP}plain"], TOP.encode())
        assert {url: referer for url, referer in heard.items() if url in moved} == moved
        assert heard[f"{TOP}own"] == b"http://c.example/private?q=1"

    async def test_a_verdict_leaves_what_may_not_be_moved_as_it_is(self):
        class Asks(TopicSpider):
            name = "asks"

            def parse(self, response):
                yield from super().parse(response)
                if "b.example" in response.url and not self.asked:
                    self.asked = True
                    for number in range(3):
                        yield FormRequest(f"http://b.example/ask{number}", formdata={"q": "1"}, callback=self.answer)

            def answer(self, response):
                yield {"answer": response.url}

        Asks.asked = False
        names = [f"chapter-{number}" for number in range(40)]
        pages = {
            f"http://{host}/{name}": page(
                [f"/{one}" for one in names[:40:3] + names], seed=("w", name), words=200, title=name
            )
            for host in ("a.example", "b.example")
            for name in ("", *names)
        }
        answers = {f"http://b.example/ask{number}": page(seed="answer") for number in range(3)}
        settings = {**REPLICA, "REPLICA_EXPLORE": 0, "CONCURRENT_REQUESTS": 1}
        result = await crawl(Asks, {**pages, **answers}, settings, seeds=f"{TOP} http://b.example/")
        assert result.stats["replica/host/blocked"] == 1
        assert sorted(item["answer"] for item in result.items if "answer" in item) == sorted(answers)


class TestPayloads:
    async def test_a_sample_of_a_request_that_cannot_be_stored(self, tmp_path):
        """Its payload is not that of the page it is held against."""

        class Shares(Spider):
            name = "shares"
            start_urls = (TOP,)

            def parse(self, response):
                for url in (f"http://{host}.example/{number}" for number in range(20) for host in "ab"):
                    yield Request(url, self.parse_one, meta={"seen": self.seen}, errback=lambda failure: None)

            def parse_one(self, response):
                response.meta["seen"].append(response.url)
                yield {"url": response.url}

        Shares.seen = []
        db = SqliteCrawlDB(tmp_path, "shares")
        db.verdicts.enter(Verdict("b.example", "a.example", "", "", 0.9, 30), 0.0, 4e9)
        db.close()
        settings = {**REPLICA, "JOBDIR": str(tmp_path), "REPLICA_EXPLORE": 0.3}
        result = await crawl(Shares, lambda request: page(seed=request.url[-1]), settings)
        asked = [item["url"] for item in result.items]
        sampled = {url for url in asked if "b.example" in url}
        assert 0 < len(sampled) < 20
        assert {url.rpartition("/")[2] for url in asked} == {str(number) for number in range(20)}
        assert result.unfinished == {}

    async def test_a_callback_survives_being_saved_and_coming_back(self, tmp_path):
        """The canonical host does not have the page: it comes back with the callback that it was asked for with."""

        class Asks(Spider):
            name = "asks"
            start_urls = ("http://b.example/",)

            def parse(self, response):
                yield response.follow("/x", self.parse_x, cb_kwargs={"number": 7})

            def parse_x(self, response, number):
                yield {"url": response.url, "number": number}

        pages = {"http://b.example/": page(["/x"], seed=1), "http://b.example/x": page(seed=2)}
        settings = {**REPLICA, "REPLICA_EXPLORE": 0}
        result = await crawl(Asks, pages, settings)
        assert result.items == [{"url": "http://b.example/x", "number": 7}]

    async def test_plain_data_are_no_pickle(self, tmp_path):
        class Plain(Spider):
            name = "plain"
            start_urls = (TOP,)

            def parse(self, response):
                if response.url == TOP:
                    kwargs = {"cb_kwargs": {"deep": {"list": [1, "two", None]}}, "priority": 3, "errback": self.failed}
                    yield Request(f"{TOP}0", self.parse_one, headers={"X-A": "b"}, **kwargs)
                    yield Request(f"{TOP}1", self.parse_one, meta={"bytes": b"are not JSON"}, cb_kwargs={"deep": 1})

            def parse_one(self, response, deep):
                sent = response.request.headers.get("X-A")
                yield {"deep": deep, "sent": sent, "referer": response.request.headers["Referer"]}

            def failed(self, failure): ...

        result = await crawl(Plain, FIVE, {**REPLICA, "JOBDIR": str(tmp_path)})
        assert result.stats["scheduler/pickled"] == 1
        referer = TOP.encode()
        assert {"deep": {"list": [1, "two", None]}, "sent": b"b", "referer": referer} in result.items
        assert {"deep": 1, "sent": None, "referer": referer} in result.items


class TestSlots:
    async def test_the_users_slot_holds(self):
        """Twelve hosts that share a slot are asked one after the other; in slots of their own at once."""
        delay = 0.05

        class Slots(Spider):
            name = "slots"
            start_urls = (TOP,)
            custom_settings = {"DOWNLOAD_SLOTS": {"slow": {"delay": delay, "concurrency": 1}}}  # noqa: RUF012

            def parse(self, response):
                if response.url == TOP:
                    for number in range(12):
                        yield Request(f"http://h{number}.example/", meta={"download_slot": "slow"})

        times = []

        def noted(request):
            times.append(time.monotonic())
            return page(seed=request.url)

        settings = {**REPLICA, "DOWNLOAD_DELAY_JITTER": 0}
        result = await crawl(Slots, noted, settings)
        assert len(result.urls) == 13
        assert times[-1] - times[1] >= 10 * delay  # for eleven delays: one late answer makes the next gap shorter

    async def test_one_slow_slot_does_not_delay_the_same_host_in_another(self):
        class Slots(Spider):
            name = "slots"
            start_urls = (TOP,)
            custom_settings = {"DOWNLOAD_SLOTS": {"a.example": {"delay": 30, "concurrency": 1}}}  # noqa: RUF012

            def parse(self, response):
                if response.url == TOP:
                    for number in range(4):
                        yield Request(f"{TOP}{number}", meta={"download_slot": "quick"})

        result = await asyncio.wait_for(crawl(Slots, FIVE, REPLICA), 20)
        assert len(result.urls) == 5


class TestOneJob:
    async def test_belongs_to_one_spider(self, tmp_path):
        class Other(TopicSpider):
            name = "other"

        settings = {**REPLICA, "JOBDIR": str(tmp_path)}
        await crawl(TopicSpider, FIVE, settings, seeds=TOP)
        with pytest.raises(RefusedError, match=r"belongs to the spider 'topic', not to 'other': give each spider"):
            await crawl(Other, FIVE, settings, seeds=TOP)

    async def test_belongs_to_one_crawl(self, tmp_path):
        settings = {**REPLICA, "JOBDIR": str(tmp_path)}
        first = SqliteCrawlDB(tmp_path, "topic")
        try:
            with pytest.raises(RefusedError, match="another crawl has the job"):
                await crawl(TopicSpider, FIVE, settings, seeds=TOP)
        finally:
            first.close()
        result = await crawl(TopicSpider, FIVE, settings, seeds=TOP)
        assert sorted(result.urls) == sorted(FIVE)

    async def test_a_refused_crawl_gives_the_job_up(self, tmp_path):
        """Whoever mends the setting begins again, in a notebook in the same process."""
        settings = {**REPLICA, "JOBDIR": str(tmp_path)}
        with pytest.raises(RefusedError, match="worst") as refused:
            await crawl(TopicSpider, FIVE, {**settings, "REPLICA_STRATEGY": "worst"}, seeds=TOP)
        assert not is_locked(tmp_path)
        result = await crawl(TopicSpider, FIVE, settings, seeds=TOP)
        assert sorted(result.urls) == sorted(FIVE)
        del refused

    async def test_two_crawls_at_once_lose_nothing(self, tmp_path):
        """One of them is refused, the other brings every item."""
        settings = {**REPLICA, "JOBDIR": str(tmp_path)}
        found = await asyncio.gather(
            *(crawl(TopicSpider, FIVE, settings, seeds=TOP) for _ in range(2)), return_exceptions=True
        )
        refused = [one for one in found if isinstance(one, RefusedError)]
        assert len(refused) == 1
        (done,) = (one for one in found if one not in refused)
        assert len(done.items) == 6


class TestOrders:
    async def test_an_exception_does_not_end_obedience(self, monkeypatch, tmp_path, caplog):
        monkeypatch.setattr("scrapy_replica.components.extension.ORDERS_SECONDS", 0.05)
        settings = {**REPLICA, "JOBDIR": str(tmp_path), "REPLICA_EXPLORE": 0, "CONCURRENT_REQUESTS": 1}
        failed = []

        async def slow(request):
            await asyncio.sleep(0.02)
            return page([f"http://b.example/{n}" for n in range(60)] if request.url == TOP else (), seed=request.url)

        class Told(TopicSpider):
            name = "told"

            def item(self, response):
                if response.url == TOP:
                    extension = self.crawler.get_extension(ReplicaExtension)
                    obey = extension.crawl.obey

                    def raises_once():
                        if not failed:
                            failed.append(True)
                            raise RuntimeError("once")
                        obey()

                    monkeypatch.setattr(extension.crawl, "obey", raises_once)
                elif response.url.endswith("/5"):
                    block = threading.Thread(target=lambda: write_order(tmp_path))
                    block.start()
                return super().item(response)

        def write_order(job):
            with open_orders(job / FILE_NAME) as give:
                give(BLOCK, {"host": "b.example", "canonical": "a.example"})

        with caplog.at_level(logging.CRITICAL):
            result = await crawl(Told, slow, settings, seeds=TOP)
        assert failed
        assert result.stats["replica/decision/manual-block/rewrite"] > 10


class TestFullDisk:
    async def test_the_crawl_closes_and_nothing_is_fetched_twice(self, tmp_path, caplog):
        class Fills(TopicSpider):
            name = "fills"

            def item(self, response):
                if response.url == TOP:
                    store = self.crawler.get_extension(ReplicaExtension).crawl.store
                    connection = store.connection
                    pages = connection.read("PRAGMA page_count").fetchone()[0]
                    connection.read(f"PRAGMA max_page_count = {pages + 3}")
                return super().item(response)

        pages = {TOP: page([f"/{n}" for n in range(40)])}
        pages |= {f"{TOP}{n}": page([f"/{n}/{k}/{'long' * 50}" for k in range(10)], seed=n) for n in range(40)}
        settings = {**REPLICA, "JOBDIR": str(tmp_path)}

        def served(request):
            return pages.get(request.url, (404, HTML, ""))

        with caplog.at_level(logging.ERROR):
            result = await asyncio.wait_for(crawl(Fills, served, settings, seeds=TOP), 60)
        assert result.stats["finish_reason"] == "crawl_database"
        assert len(result.urls) == len(set(result.urls)) < 40
        lines = [record for record in caplog.records if "cannot be used any more" in record.getMessage()]
        assert len(lines) == 1
        assert "free some space" in lines[0].getMessage()
        assert not any(record.exc_info for record in caplog.records)
        Fills.item = TopicSpider.item
        again = await crawl(Fills, served, settings, seeds=TOP)
        assert set(pages) <= {*result.urls, *again.urls}
        assert again.unfinished == {}

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
    async def test_of_the_ledger(self, caplog, monkeypatch):
        """A ledger that cannot be written closes the crawl; no URL is taken and forgotten."""
        monkeypatch.setattr("io.DEFAULT_BUFFER_SIZE", 1)
        pages = {TOP: page(["/one", "/two"]), f"{TOP}one": page([f"/x{n}" for n in range(300)], seed="same", words=200)}
        pages |= {f"{TOP}two": page([f"/y{n}" for n in range(300)], seed="same", words=200)}
        settings = {**REPLICA, "REPLICA_LEDGER": "/dev/full", "CONCURRENT_REQUESTS": 1}
        with caplog.at_level(logging.ERROR):
            result = await asyncio.wait_for(crawl(TopicSpider, pages, settings, seeds=TOP), 60)
        assert result.stats["finish_reason"] == "crawl_database"
        assert "REPLICA_LEDGER cannot be written" in caplog.text
        assert not any(record.exc_info for record in caplog.records)

    async def test_a_ledger_that_cannot_be_opened_leaves_no_job(self, tmp_path):
        job = tmp_path / "job"
        settings = {**REPLICA, "JOBDIR": str(job), "REPLICA_LEDGER": str(tmp_path / "nowhere" / "ledger")}
        with pytest.raises(RefusedError, match=r"^REPLICA_LEDGER: .*No such file"):
            await crawl(TopicSpider, {TOP: page()}, settings, seeds=TOP)
        assert not list(job.glob("*.sqlite"))


class TestFaultsOfOurs:
    """A traceback where nobody catches it would leave the crawl waiting for ever."""

    @pytest.mark.parametrize("broken", [(Crawl, "take"), (LateSamples, "draw")])
    async def test_one_costs_a_turn(self, broken, monkeypatch):
        monkeypatch.setattr(turns, "REST", 0.01)
        whole, faults = getattr(*broken), [KeyError("made up")]

        def fails_once(self):
            if faults:
                raise faults.pop()
            return whole(self)

        monkeypatch.setattr(*broken, fails_once)
        result = await asyncio.wait_for(crawl(TopicSpider, FIVE, REPLICA, seeds=TOP), 20)
        assert {*result.urls} == {*FIVE}
        assert result.stats["finish_reason"] == "finished"

    @pytest.mark.parametrize("broken", [(Crawl, "take"), (LateSamples, "draw")])
    async def test_one_that_stays_ends_the_crawl_which_can_go_on(self, broken, monkeypatch, caplog, tmp_path):
        monkeypatch.setattr(turns, "REST", 0.01)
        settings = {**REPLICA, "JOBDIR": str(tmp_path)}

        def fails(self):
            raise KeyError("made up")

        with monkeypatch.context() as patched:
            patched.setattr(*broken, fails)
            first = await asyncio.wait_for(crawl(TopicSpider, FIVE, settings, seeds=TOP), 20)
        assert first.stats["finish_reason"] == "crawl_database"
        assert caplog.text.count("what waits stays in the job") == 1
        again = await crawl(TopicSpider, FIVE, settings, seeds=TOP)
        assert {*first.urls, *again.urls} == {*FIVE}
        assert again.stats["finish_reason"] == "finished"


class TestBadLinks:
    async def test_one_link_that_is_no_url_costs_the_others_nothing(self):
        bad = ["http://a.example:port/", "http://[::1/", "http://a.example:99999/"]
        pages = {TOP: page([*bad, "/1", "/2"]), f"{TOP}1": page(seed=1), f"{TOP}2": page(seed=2)}
        result = await crawl(TopicSpider, lambda r: pages.get(r.url, (404, HTML, "")), REPLICA, seeds=TOP)
        assert {TOP, f"{TOP}1", f"{TOP}2"} <= set(result.urls)
        assert "replica/page/error" not in result.stats


class TestLeeway:
    async def test_of_made_up_urls_posts_and_dont_filter_on_a_copy(self):
        """What is no link of the page is the spider's own business, whatever the page repeats."""

        class Makes(Spider):
            name = "makes"
            start_urls = (TOP, f"{TOP}copy")

            def parse(self, response):
                if response.url.endswith("/copy"):
                    yield Request(f"{TOP}made/up", self.parse_own)
                    yield Request(f"{TOP}1", self.parse_own, method="POST", body="x")
                    yield Request(f"{TOP}2", self.parse_own, dont_filter=True)
                    yield Request(f"{TOP}3")

            def parse_own(self, response):
                yield {"url": response.url}

        links = page(["/1", "/2", "/3"], seed="same")
        pages = {TOP: links, f"{TOP}copy": links, **{f"{TOP}{n}": page(seed=n) for n in (1, 2, 3, "made/up")}}
        settings = {**REPLICA, "REPLICA_MODE": "drop", "CONCURRENT_REQUESTS": 1}
        result = await crawl(Makes, pages, settings)
        assert sorted(item["url"] for item in result.items) == [f"{TOP}1", f"{TOP}2", f"{TOP}made/up"]
        decided = {key: count for key, count in result.stats.items() if key.startswith("replica/decision/")}
        assert decided == {"replica/decision/exact-duplicate-links/demote": 1}
