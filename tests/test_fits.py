"""What people's spiders, tests and tools do with Scrapy, they can do with the add-on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scrapy import FormRequest, Request, Spider, signals
from scrapy.core.scheduler import Scheduler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.engine import get_engine_status
from scrapy.utils.test import get_crawler
from web import REPLICA, crawl, make_crawler, page, web_settings

from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.refused import RefusedError

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

    async def test_requests_are_asked_for_no_further_than_without(self):
        class Stops(Spider):
            name = "stops"
            start_urls = ("http://a.example/",)
            scheduled = given = 0

            def parse(self, response):
                self.crawler.signals.connect(self.note, signals.request_scheduled)
                while self.scheduled < 210:
                    self.given += 1
                    yield Request(f"http://a.example/{self.given}", self.leaf)

            def note(self, request):
                self.scheduled += 1

            def leaf(self, response):
                pass

        settings = {"CONCURRENT_ITEMS": 100}  # so many requests ahead of those that are scheduled: Scrapy's default
        plain = await crawl(Stops, {"http://a.example/": page()}, settings)
        assert 210 < plain.spider.given < 1000
        for mode in ("observe", "demote"):
            ours = await crawl(Stops, {"http://a.example/": page()}, settings | replica(mode))
            assert ours.spider.given == plain.spider.given, mode

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


class TestSpidersThatAreMadeOtherwise:
    @MODES
    async def test_a_class_without_a_name_is_given_one(self, mode, tmp_path):
        class Nameless(Spider):
            start_urls = ("http://a.example/",)

            def parse(self, response):
                yield {"name": self.name}

        settings = replica(mode) | {"JOBDIR": str(tmp_path), "REPLICA_STRATEGY": "breadth-first"}
        assert (await crawl(Nameless, {"http://a.example/": page()}, settings, name="given")).items == [
            {"name": "given"}
        ]
        # The job belongs to the name that the spider has.
        with pytest.raises(RefusedError, match="belongs to the spider 'given', not to 'other'"):
            await crawl(Nameless, {"http://a.example/": page()}, settings, name="other")

    @MODES
    async def test_from_crawler_need_not_call_that_of_scrapy(self, mode, caplog):
        class Own(Spider):
            def __init__(self):
                super().__init__(name="own")

            @classmethod
            def from_crawler(cls, crawler):
                return cls()

            async def start(self):
                yield {"made": 1}
                yield Request("http://a.example/")  # Scrapy itself needs spider.settings before a callback

            def parse(self, response):
                raise AssertionError

        settings = replica(mode) | {"REPLICA_STRATEGY": "breadth-first"}
        with caplog.at_level("CRITICAL"):
            plain, ours = [await crawl(Own, {"http://a.example/": page()}, more) for more in ({}, settings)]
        assert ours.items == plain.items == [{"made": 1}]
        assert ours.urls == plain.urls == ["http://a.example/"]

    @MODES
    async def test_a_method_of_the_users_is_not_called_for_its_name(self, mode):
        class Own(Spider):
            name = "own"
            start_urls = ("http://a.example/",)

            def links_to_follow(self, response, limit):
                return response.css("a::attr(href)").getall()[:limit]

            def parse(self, response):
                yield {"url": response.url}
                yield from response.follow_all(self.links_to_follow(response, 1))

        settings = replica(mode) | {"REPLICA_STRATEGY": "breadth-first"}
        ours = await crawl(Own, PAGES, settings)
        assert ours.items == [{"url": "http://a.example/"}, {"url": "http://a.example/1"}]
        assert "replica/page/error" not in ours.stats


class Follows(Spider):
    name = "follows"
    start_urls = ("http://a.example/",)

    def parse(self, response):
        yield {"url": response.url}
        yield from response.follow_all(css="a")


PAGES = {"http://a.example/": page(["/1", "/2"]), **{f"http://a.example/{n}": page(seed=n) for n in (1, 2)}}


class TestCrawlersOfTests:
    """``get_crawler`` makes them."""

    @MODES
    async def test_they_crawl_as_others_do(self, mode, tmp_path):
        settings = web_settings(PAGES, log := []) | replica(mode) | {"JOBDIR": str(tmp_path)}
        crawler = get_crawler(Follows, settings)
        assert crawler.settings["JOBDIR"] == str(tmp_path)
        assert crawler.get_extension(ReplicaExtension) is not None
        await crawler.crawl_async()
        assert crawler.stats.get_value("replica/page/observed") == 3
        assert sorted(set(log)) == ["http://a.example/", "http://a.example/1", "http://a.example/2"]
        assert (tmp_path / "replica.sqlite").exists()

    async def test_a_job_is_opened_by_who_crawls_it(self, tmp_path):
        settings = web_settings(PAGES, []) | REPLICA | {"JOBDIR": str(tmp_path)}
        looked_at = [get_crawler(Follows, settings) for _ in range(2)]
        assert not [*tmp_path.iterdir()]
        result = await crawl(Follows, PAGES, REPLICA | {"JOBDIR": str(tmp_path)})
        assert len(result.items) == 3
        await looked_at[0].crawl_async()
        assert looked_at[0].stats.get_value("finish_reason") == "finished"

    async def test_signals_of_no_crawl_do_nothing(self, recwarn):
        crawler = get_crawler(Follows, REPLICA)
        spider = Follows.from_crawler(crawler)
        for signal in (signals.spider_opened, signals.spider_closed):
            answers = crawler.signals.send_catch_log(signal=signal, spider=spider, reason=None)
            ours = [answer for receiver, answer in answers if receiver.__module__.startswith("scrapy_replica")]
            assert {*ours} <= {None}
        assert not recwarn.list


class Filter(RFPDupeFilter):
    """Knows requests by the number at the end of their URLs, and never those with a zero."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.calls = []

    def open(self):
        self.calls.append("open")

    def close(self, reason):
        self.calls.append(f"close {reason}")
        super().close(reason)

    def request_seen(self, request):
        number = request.url.rpartition("/")[2]
        is_seen = number != "0" and number.encode() in self._fingerprints
        self._fingerprints.add(number.encode())
        return is_seen

    def log(self, request, spider):
        self.calls.append(request.url.rpartition("/")[2])
        super().log(request, spider)


class FiveTimes(Spider):
    name = "five"
    start_urls = ("http://a.example/",)

    def parse(self, response):
        for _ in range(5):
            for number in range(3):
                yield Request(f"http://a.example/{number}", self.leaf)
        yield Request("http://a.example/other/1", self.leaf)

    def leaf(self, response):
        self.df = self.crawler.engine._slot.scheduler.df
        yield {"url": response.url}


NUMBERED = {"http://a.example/": page(), **{f"http://a.example/{n}": page(seed=n) for n in (0, 1, 2, "other/1")}}


class TestDupeFilters:
    @MODES
    async def test_none_filters_nothing(self, mode):
        settings = {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
        plain = await crawl(FiveTimes, NUMBERED, settings)
        ours = await crawl(FiveTimes, NUMBERED, settings | replica(mode) | {"REPLICA_STRATEGY": "breadth-first"})
        assert len(plain.urls) == 17
        assert sorted(ours.urls) == sorted(plain.urls)

    @MODES
    async def test_the_users_decides(self, mode, tmp_path):
        settings = {"DUPEFILTER_CLASS": Filter, "JOBDIR": str(tmp_path / "plain")}
        plain = await crawl(FiveTimes, NUMBERED, settings)
        settings |= replica(mode) | {"REPLICA_STRATEGY": "breadth-first", "JOBDIR": str(tmp_path / "ours")}
        ours = await crawl(FiveTimes, NUMBERED, settings)
        assert len(plain.urls) == 1 + 5 + 1 + 1
        assert sorted(ours.urls) == sorted(plain.urls)
        assert ours.spider.df.calls == plain.spider.df.calls
        assert ours.stats["dupefilter/filtered"] == plain.stats["dupefilter/filtered"] == 9
        assert ours.unfinished == {}

    async def test_what_is_saved_is_not_asked_for_again(self, tmp_path):
        (tmp_path / "aliases").write_text("www.a.example a.example")

        class Aliases(FiveTimes):
            def parse(self, response):
                for _ in range(5):
                    yield Request("http://www.a.example/1", self.leaf)

        settings = REPLICA | {
            "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
            "REPLICA_ALIASES": str(tmp_path / "aliases"),
        }
        assert (await crawl(Aliases, NUMBERED, settings)).urls == ["http://a.example/", "http://a.example/1"]

    async def test_other_code_may_mark_requests_as_known(self):
        class Marks(FiveTimes):
            def parse(self, response):
                df = self.crawler.engine._slot.scheduler.df
                assert [df.request_seen(Request("http://a.example/1")) for _ in range(2)] == [False, True]
                yield from super().parse(response)

        ours = await crawl(Marks, NUMBERED, REPLICA)
        assert sorted(ours.urls) == sorted({*NUMBERED} - {"http://a.example/1"})

    async def test_processes_know_together_what_was_asked_for(self):
        settings = REPLICA | {"DUPEFILTER_CLASS": Filter, "REPLICA_CRAWLDB": "redis://localhost:1/0?prefix=x"}
        with pytest.raises(RefusedError, match="leave DUPEFILTER_CLASS out"):
            await crawl(FiveTimes, NUMBERED, settings)


class TestWhatOtherCodeAsksTheScheduler:
    @pytest.mark.parametrize("is_stored", [False, True])
    async def test_how_much_waits(self, is_stored, tmp_path):
        class Looks(Follows):
            custom_settings = {"CONCURRENT_REQUESTS": 1}  # noqa: RUF012

            async def start(self):
                for number in range(5):
                    yield Request(f"http://a.example/{number}", priority=5 - number)

            def parse(self, response):
                engine = self.crawler.engine
                scheduler = engine._slot.scheduler
                status = dict(get_engine_status(engine))
                yield {
                    "waiting": len(scheduler),
                    "memory": len(scheduler.mqs),
                    "disk": len(scheduler.dqs or ()),
                    "status": [status[f"len(engine.{where}.{queue})"] for where, queue in self.asked],
                }

            asked = (("scheduler", "dqs or []"), ("scheduler", "mqs"))

        job = {"JOBDIR": str(tmp_path)} if is_stored else {}
        ours = await crawl(Looks, {f"http://a.example/{n}": page(seed=n) for n in range(5)}, REPLICA | job)
        waiting = [item["waiting"] for item in ours.items]
        assert sorted(waiting, reverse=True) == waiting
        assert waiting[0] >= 3
        assert waiting[-1] == 0
        for item in ours.items:
            memory, disk = (0, item["waiting"]) if is_stored else (item["waiting"], 0)
            assert item == {"waiting": item["waiting"], "memory": memory, "disk": disk, "status": [disk, memory]}


class TestQueuesOfTheUser:
    @pytest.mark.parametrize(
        ("settings", "told"),
        [
            ({"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.LifoMemoryQueue"}, "SCHEDULER_MEMORY_QUEUE: "),
            ({"SCHEDULER_START_MEMORY_QUEUE": None}, "SCHEDULER_START_MEMORY_QUEUE: "),
            ({"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}, ""),
            ({"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}, ""),
            ({"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.LifoMemoryQueue", "REPLICA_MODE": "observe"}, ""),
            ({}, ""),
        ],
    )
    async def test_are_honoured_or_named(self, settings, told, caplog):
        get_crawler(Follows, REPLICA | settings)
        lines = [record.getMessage() for record in caplog.records if "own order" in record.getMessage()]
        assert [line[: len(told)] for line in lines] == ([told] if told else [])

    @MODES
    async def test_hold_beside_scrapys_scheduler(self, mode):
        tree = {
            "http://a.example/": page(["/1", "/2"], seed=0),
            **{f"http://a.example/{n}": page([f"/{n}1", f"/{n}2"] if len(n) < 3 else [], seed=n) for n in NODES},
        }
        settings = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1, "SCHEDULER": Scheduler}
        plain, ours = await crawl(Follows, tree, settings), await crawl(Follows, tree, settings | replica(mode))
        assert [*map(len, plain.urls[:4])] == [17, 18, 19, 20], "depth first"
        assert ours.urls == plain.urls


NODES = [a + b + c for a in "12" for b in ("", "1", "2") for c in ("", "1", "2") if b or not c]


class TestPrioritiesOfTheUser:
    @MODES
    @pytest.mark.parametrize("scheduler", [{"REPLICA_STRATEGY": "breadth-first"}, {"SCHEDULER": Scheduler}])
    async def test_hold_among_links_of_pages_that_repeat_each_other(self, mode, scheduler):
        class Prefers(Spider):
            name = "prefers"

            async def start(self):
                for number in range(4):
                    yield Request(f"http://a.example/same/{number}")

            def parse(self, response):
                number = int(response.url[-1])
                yield Request(response.urljoin(response.css("a::attr(href)").get()), self.leaf, priority=number - 9)
                yield Request(response.urljoin(response.css("a::attr(href)").get() + "first"), self.leaf, priority=1)
                yield Request(f"http://a.example/{number}-last", self.leaf, priority=-100)

            def leaf(self, response):
                yield {"url": response.url}

        pages = {}
        for number in range(4):
            links = [f"/{number}", f"/{number}first"]
            pages[f"http://a.example/same/{number}"] = page(links, seed="same")
            pages |= {f"http://a.example/{number}{name}": page(seed=(number, name)) for name in ("", "first", "-last")}
        settings = {"CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1, **scheduler}
        ours = await crawl(Prefers, pages, replica(mode) | settings | {"REPLICA_EXPLORE": 0})
        order = [url.rpartition("/")[2] for url in ours.urls if "same" not in url]
        prefers, others = order[:4], order[4:]
        assert sorted(prefers) == [f"{n}first" for n in range(4)]
        if mode == "observe":
            assert others[:4] == ["3", "2", "1", "0"]
        else:  # what was demoted comes last, by its priority
            assert others[-3:] == ["3", "2", "1"]


class Deep(Spider):
    """A chain of lists; its callbacks, arguments, headers and bodies tell where a request came from."""

    name = "deep"

    async def start(self):
        for number in range(3):
            yield Request(f"http://a.example/list/{number}", dont_filter=True)

    def parse(self, response):
        number = int(response.url[-1])
        for leaf in range(10):
            url = f"http://a.example/leaf/{number}{leaf}"
            yield Request(url, self.leaf, cb_kwargs={"of": number}, priority=leaf, meta={"place": [leaf]})
        yield FormRequest(f"http://a.example/form/{number}", self.form, formdata={"number": str(number)})
        yield Request("http://a.example/leaf/00", self.leaf, cb_kwargs={"of": -1})

    def leaf(self, response, of):
        yield {"leaf": response.url, "of": of, "place": response.meta["place"], "depth": response.meta["depth"]}

    def form(self, response):
        yield {"form": response.text}


def deep_web(request):
    if "/form/" in request.url:
        return f"<p>{request.method} {request.body.decode()} {request.headers['Referer'].decode()}</p>"
    return page(seed=request.url)


def told(items):
    return sorted(map(str, items))


class TestJobsOfPlainScrapy:
    QUEUES = pytest.mark.parametrize(
        "queue", ["scrapy.pqueues.ScrapyPriorityQueue", "scrapy.pqueues.DownloaderAwarePriorityQueue"]
    )

    @QUEUES
    async def test_are_gone_on_with(self, queue, tmp_path, caplog):
        caplog.set_level("INFO")
        whole = await crawl(Deep, deep_web)
        settings = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1, "SCHEDULER_PRIORITY_QUEUE": queue}
        first = await crawl(Deep, deep_web, settings | {"CLOSESPIDER_PAGECOUNT": 12})
        assert 8 <= len(first.items) < 15
        ours = await crawl(Deep, deep_web, settings | REPLICA)
        assert told(first.items + ours.items) == told(whole.items)
        assert not {*first.urls} & {*ours.urls} - {f"http://a.example/list/{n}" for n in range(3)}
        assert ours.unfinished == {}
        assert "requests that Scrapy's scheduler kept in the JOBDIR were taken over" in caplog.text
        assert not (tmp_path / "requests.queue").exists()
        # What was seen stays known, and nothing comes twice.
        again = await crawl(Deep, deep_web, settings | REPLICA)
        assert again.items == []

    async def test_in_their_order(self, tmp_path):
        settings = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1, "SCRAPER_SLOT_MAX_ACTIVE_SIZE": 1}
        settings["SCHEDULER_PRIORITY_QUEUE"] = "scrapy.pqueues.ScrapyPriorityQueue"
        await crawl(Deep, deep_web, settings | {"CLOSESPIDER_PAGECOUNT": 3})
        shutil.copytree(tmp_path, tmp_path / "copy")
        ours = await crawl(Deep, deep_web, settings | REPLICA)
        plain = await crawl(Deep, deep_web, settings | {"JOBDIR": str(tmp_path / "copy")})
        of_leaves = [[url for url in result.urls if "/leaf/" in url] for result in (ours, plain)]
        assert of_leaves[0][:5] == of_leaves[1][:5]

    async def test_a_kill_while_they_are_taken_over_loses_nothing(self, tmp_path, monkeypatch):
        whole = await crawl(Deep, deep_web)
        settings = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
        first = await crawl(Deep, deep_web, settings | {"CLOSESPIDER_PAGECOUNT": 12})

        def killed(self, target):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", killed)
            crawler = make_crawler(Deep, web_settings(deep_web, []) | settings | REPLICA)
            with pytest.raises(KeyboardInterrupt):
                await crawler.crawl_async()
            crawler.get_extension(ReplicaExtension).crawl.store.abandon()
        ours = await crawl(Deep, deep_web, settings | REPLICA)
        assert told(first.items + ours.items) == told(whole.items)

    async def test_is_refused_where_processes_share_the_crawl(self, tmp_path):
        settings = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
        await crawl(Deep, deep_web, settings | {"CLOSESPIDER_PAGECOUNT": 3})
        with pytest.raises(RefusedError, match="one process alone goes on with"):
            await crawl(Deep, deep_web, settings | REPLICA | {"REPLICA_CRAWLDB": "redis://localhost:1/0?prefix=x"})

    async def test_what_cannot_be_made_again_is_told(self, tmp_path, caplog):
        settings = {"JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
        await crawl(Deep, deep_web, settings | {"CLOSESPIDER_PAGECOUNT": 3})

        class Other(Deep):
            @property
            def form(self):
                raise AttributeError("it went away")

        ours = await crawl(Other, deep_web, settings | REPLICA)
        assert sum("leaf" in item for item in ours.items) > 10
        assert "cannot be made again; did its callback go away?" in caplog.text
