from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from scrapy import FormRequest, Request, Spider
from scrapy.exceptions import IgnoreRequest
from web import HTML, REPLICA, crawl, job_states, page, redirect, refused, text

from scrapy_replica import Addon, TopicSpider, page_of
from scrapy_replica.commands.job import reading
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.topic import Examples
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.links import outlinks
from scrapy_replica.crawl.links.outlinks import Outlinks
from scrapy_replica.records import Noise

pytestmark = pytest.mark.asyncio


def site(n=40, host="http://a.example"):
    """A tree of pages, each linking back to the top and forward."""
    return {f"{host}/{i}": page([f"/{2 * i + 1}", f"/{2 * i + 2}", "/0"], seed=(host, i)) for i in range(n)}


def failures(pages):
    """The links of the top page lead to everything in *pages*."""
    return {"http://a.example/": page(pages, seed="top"), **pages}


class TestTopicSpider:
    async def test_every_page_once(self):
        pages = site()
        result = await crawl(TopicSpider, pages, REPLICA, seeds="http://a.example/0", domains="a.example")
        missing = {f"http://a.example/{i}" for i in range(40, 81)}
        assert Counter(result.urls) == Counter([*pages, *missing])
        assert {item["url"] for item in result.items} == set(pages)
        assert result.unfinished == {}
        assert result.stats["replica/page/observed"] == 40
        assert result.stats["replica/page/other"] == 41
        assert result.stats["finish_reason"] == "finished"

    async def test_without_the_add_on_the_same_pages(self):
        result = await crawl(TopicSpider, site(), seeds="http://a.example/0", domains="a.example")
        ours = await crawl(TopicSpider, site(), REPLICA, seeds="http://a.example/0", domains="a.example")
        assert Counter(result.urls) == Counter(ours.urls)

    async def test_items_say_what_was_learnt(self):
        pages = {"http://a.example/": page(["/copy"], seed=1), "http://a.example/copy": page(seed=1)}
        result = await crawl(TopicSpider, pages, REPLICA, seeds="http://a.example/")
        assert [item["novelty"] for item in result.items] == ["novel", "exact-duplicate"]

    async def test_domains_and_file_names(self):
        links = [
            "http://b.example/",
            "http://sub.a.example/",
            "/x.jpg",
            "/x.html",
            "mailto:x@a.example",
            "ftp://a.example/",
        ]
        pages = {"http://a.example/": page(links), "http://sub.a.example/": page(), "http://a.example/x.html": page()}
        settings = REPLICA | {"REPLICA_PROBES": 0}
        result = await crawl(TopicSpider, pages, settings, seeds="http://a.example/", domains="a.example")
        assert set(result.urls) == set(pages)

    @pytest.mark.parametrize("fails", [False, True])
    async def test_links_of_a_page_are_entered_some_at_a_turn(self, monkeypatch, fails):
        class Own(TopicSpider):
            def parse(self, response):
                if fails:
                    raise ValueError("no items")
                return super().parse(response)

        pages = {"http://a.example/0": page([f"/{i}" for i in range(1, 30)], seed=0)}
        pages |= {f"http://a.example/{i}": page(seed=i) for i in range(1, 30)}
        turns, entered, follow_more = [0], [], Outlinks.follow_more

        def noted(self, observation):
            if observation.unfollowed:
                entered.append(turns[0])
            follow_more(self, observation)

        async def turn():
            while True:
                await asyncio.sleep(0)
                turns[0] += 1

        monkeypatch.setattr(outlinks, "FOLLOWED_AT_ONCE", 10)
        monkeypatch.setattr(Outlinks, "follow_more", noted)
        turning = asyncio.ensure_future(turn())
        result = await crawl(Own, pages, REPLICA | {"LOG_LEVEL": "CRITICAL"}, seeds="http://a.example/0")
        turning.cancel()
        assert Counter(result.urls) == Counter([*pages])
        assert len(entered) == 3
        assert fails or len(set(entered)) == 3

    async def test_a_class_may_say_where_it_begins_and_stays(self):
        class Own(TopicSpider):
            start_urls = ("http://a.example/",)
            allowed_domains = ("a.example",)

        pages = {"http://a.example/": page(["/1", "http://b.example/"]), "http://a.example/1": page(seed=1)}
        assert set((await crawl(Own, pages, REPLICA)).urls) == set(pages)
        elsewhere = await crawl(Own, pages, REPLICA, seeds="http://b.example/", domains="b.example")
        assert elsewhere.urls == ["http://b.example/"]

    async def test_depth_limit_and_url_length(self):
        pages = {f"http://a.example/{i}": page([f"/{i + 1}", "/" + "x" * 50], seed=i) for i in range(5)}
        settings = {**REPLICA, "DEPTH_LIMIT": 2, "URLLENGTH_LIMIT": 40}
        result = await crawl(TopicSpider, pages, settings, seeds="http://a.example/0")
        assert result.urls == [f"http://a.example/{i}" for i in range(3)]


class TextSpider(Spider):
    name = "texts"
    start_urls = ("http://n.example/",)

    def parse(self, response):
        yield {"text": page_of(response).page.text}


class TestNoise:
    MENU = "".join(f'<li class="menu-item"><a href="#{name}">{name}</a></li>' for name in ("Home", "Shop", "Help"))
    STORY = "".join(f"<p>{text(n, 40).capitalize()}.</p>" for n in range(6))
    HTML = (
        f'<body><div class="nav"><ul>{MENU * 3}</ul></div><div class="article">{STORY}</div>'
        '<div class="footer">Copyright, all rights reserved</div></body>'
    )

    @pytest.mark.parametrize(("noise", "menu", "footer"), [("cetd", 0, 1), ("learned", 0, 0), ("none", 3, 1)])
    async def test_is_removed_as_the_setting_says(self, noise, menu, footer):
        result = await crawl(TextSpider, {"http://n.example/": self.HTML}, REPLICA | {"REPLICA_NOISE": noise})
        (item,) = result.items
        lines = item["text"].split("\n")
        assert [text(n, 40).capitalize() + "." in lines for n in range(6)] == [True] * 6
        assert (lines.count("Shop"), lines.count("Copyright, all rights reserved")) == (menu, footer)

    @pytest.mark.parametrize(("noise", "menu"), [("cetd", 0), ("learned", 0), ("none", 3)])
    async def test_examples_of_the_topic_are_read_alike(self, tmp_path, noise, menu):
        (tmp_path / "1.html").write_text(self.HTML)
        (terms,) = Examples(Config(topic=tmp_path, noise=Noise(noise))).positives
        assert terms.get("shop", 0) == menu

    async def test_another_name_stops_the_start(self):
        with pytest.raises(ConfigError, match="REPLICA_NOISE is 'maybe': it takes one of cetd, learned"):
            await crawl(TextSpider, {}, REPLICA | {"REPLICA_NOISE": "maybe"})


class ShopSpider(Spider):
    """What spiders do: callbacks, arguments, forms, errbacks, priorities."""

    name = "shop"

    async def start(self):
        yield Request("http://shop.example/", self.parse_top, cb_kwargs={"tags": ["start"]})

    def parse_top(self, response, tags):
        tags.append("top")
        for number, link in enumerate(response.css("a::attr(href)").getall()):
            yield response.follow(link, self.parse_list, cb_kwargs={"tags": tags}, meta={"n": number}, priority=number)
        yield FormRequest("http://shop.example/search", formdata={"q": "shoe"}, callback=self.parse_found)
        yield FormRequest("http://shop.example/search", formdata={"q": "sock"}, callback=self.parse_found)
        for _ in range(2):
            yield Request("http://shop.example/stock", self.parse_stock, dont_filter=True)
        yield Request("http://shop.example/missing", self.parse_found, errback=self.failed, meta={"n": 7})
        yield Request("http://down.example/", self.parse_found, errback=self.failed)

    def parse_list(self, response, tags):
        yield {"list": response.url, "n": response.meta["n"], "depth": response.meta["depth"], "tags": tags[:2]}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, lambda r: {"lambda": r.url})

    def parse_found(self, response):
        yield {"found": response.request.body.decode(), "text": response.css("p::text").get()}

    def parse_stock(self, response):
        yield {"stock": response.text}

    def failed(self, failure):
        yield {"failed": failure.request.url, "why": failure.type.__name__, "n": failure.request.meta.get("n")}


def shop():
    def search(request):
        return page(seed=request.body) if request.method == "POST" else (405, HTML, "no")

    return {
        "http://shop.example/": page(["/shoes", "/socks", "/hats"], seed="top"),
        **{f"http://shop.example/{name}": page(["/1", f"/{name}/2"], seed=name) for name in ("shoes", "socks", "hats")},
        **{f"http://shop.example/{name}/2": page(seed=(name, 2)) for name in ("shoes", "socks", "hats")},
        "http://shop.example/1": page(seed=1),
        "http://shop.example/search": search,
        "http://shop.example/stock": "17",
        "http://down.example/": refused,
    }


def as_set(items):
    return Counter(json.dumps(item, sort_keys=True) for item in items)


class TestExistingSpider:
    @pytest.mark.parametrize("is_stored", [False, True])
    async def test_runs_unchanged(self, tmp_path, is_stored):
        plain = await crawl(ShopSpider, shop())
        ours = await crawl(ShopSpider, shop(), REPLICA | ({"JOBDIR": str(tmp_path)} if is_stored else {}))
        assert as_set(ours.items) == as_set(plain.items)
        assert Counter(ours.urls) == Counter(plain.urls)
        assert ours.unfinished == {}
        assert len(plain.items) == 3 + 4 + 2 + 2 + 2
        assert ours.stats.get("replica/scheduler/unserializable", 0) == 0

    async def test_custom_settings(self):
        class Own(ShopSpider):
            custom_settings = {"ADDONS": {Addon: 500}, "REPLICA_MODE": "observe"}  # noqa: RUF012

        plain, ours = await crawl(ShopSpider, shop()), await crawl(Own, shop())
        assert as_set(ours.items) == as_set(plain.items)
        assert ours.stats["replica/page/observed"] > 0

    async def test_lambdas_are_not_stored_but_run(self, tmp_path):
        ours = await crawl(ShopSpider, shop(), REPLICA | {"JOBDIR": str(tmp_path)})
        assert sum("lambda" in item for item in ours.items) == 4
        assert ours.stats["scheduler/unserializable"] == 4

    async def test_waiting_lambdas_hold_no_memory_when_they_are_known(self):
        class Finds(Spider):
            name = "finds"
            start_urls = ("http://a.example/0",)

            def parse(self, response):
                for link in response.css("a::attr(href)").getall():
                    yield response.follow(link, lambda r: list(self.parse(r)))
                self.extension = self.crawler.get_extension(ReplicaExtension)

        result = await crawl(Finds, site(), REPLICA)
        assert len(result.urls) == 82
        assert result.spider.extension.job.payloads._live == {}

    async def test_shared_arguments_stay_shared_in_memory(self):
        class Collects(Spider):
            name = "collects"
            start_urls = ("http://a.example/",)

            def parse(self, response):
                self.found = []
                for link in response.css("a::attr(href)").getall():
                    yield response.follow(link, self.parse_part, cb_kwargs={"found": self.found})

            def parse_part(self, response, found):
                found.append(response.url)

        pages = {
            "http://a.example/": page(["/1", "/2"]),
            "http://a.example/1": page(seed=1),
            "http://a.example/2": page(),
        }
        result = await crawl(Collects, pages, REPLICA)
        assert sorted(result.spider.found) == ["http://a.example/1", "http://a.example/2"]

    async def test_more_than_100_answers_of_an_interface(self):
        class Interface(Spider):
            name = "interface"

            async def start(self):
                for n in range(150):
                    yield Request(f"http://api.example/item?id={n}")

            def parse(self, response):
                yield response.json()

        def pages(request):
            return 200, {"Content-Type": "application/json"}, json.dumps({"id": request.url})

        result = await crawl(Interface, pages, REPLICA)
        assert len(result.items) == 150
        assert "replica/decision/trap-budget/drop" not in result.stats

    async def test_what_was_learnt_is_at_hand(self):
        class Looks(Spider):
            name = "looks"
            start_urls = ("http://a.example/",)

            def parse(self, response):
                observation = page_of(response)
                yield {"words": observation.page.words, "novelty": observation.novelty.value}

        pages = {"http://a.example/": page(seed=1)}
        assert (await crawl(Looks, pages, REPLICA)).items == [{"words": 60, "novelty": "novel"}]

    async def test_seed_given_twice_is_fetched_twice_as_ever(self):
        class Twice(Spider):
            name = "twice"
            start_urls = ("http://a.example/", "http://a.example/")

            def parse(self, response):
                yield {}

        pages = {"http://a.example/": page()}
        assert len((await crawl(Twice, pages, REPLICA)).urls) == len((await crawl(Twice, pages)).urls) == 2


class TestRedirects:
    async def test_to_https(self):
        pages = failures({"http://b.example/": redirect("https://b.example/"), "https://b.example/": page(seed=2)})
        result = await crawl(TopicSpider, pages, REPLICA, seeds="http://a.example/")
        assert {item["url"] for item in result.items} == {"http://a.example/", "https://b.example/"}
        assert result.unfinished == {}

    async def test_a_start_request_to_itself_with_a_cookie(self):
        def guarded(request):
            is_known = b"seen=1" in request.headers.get("Cookie", b"")
            return page(seed=3) if is_known else redirect("http://a.example/in", **{"Set-Cookie": "seen=1"})

        class Begins(Spider):
            name = "begins"
            start_urls = ("http://a.example/in",)

            def parse(self, response):
                yield {"url": response.url}

        result = await crawl(Begins, {"http://a.example/in": guarded}, REPLICA)
        assert [item["url"] for item in result.items] == ["http://a.example/in"]
        assert result.unfinished == {}

    async def test_a_link_to_itself_is_fetched_once_as_without_the_add_on(self):
        pages = failures({"http://a.example/in": redirect("http://a.example/in")})
        for settings in (REPLICA, {}):
            result = await crawl(TopicSpider, pages, settings, seeds="http://a.example/")
            assert result.urls == ["http://a.example/", "http://a.example/in"]
            assert result.unfinished == {}

    async def test_alias_that_redirects_back(self, tmp_path):
        """The user takes the bare name for the canonical one, the server the other."""
        (tmp_path / "aliases").write_text("www.b.example b.example\n")
        pages = {
            "http://a.example/": page(["http://www.b.example/x", "http://b.example/y"]),
            **{f"http://b.example/{name}": redirect(f"http://www.b.example/{name}", 301) for name in "xy"},
            **{f"http://www.b.example/{name}": page(seed=name) for name in "xy"},
        }
        settings = {**REPLICA, "REPLICA_ALIASES": str(tmp_path / "aliases")}
        result = await crawl(TopicSpider, pages, settings, seeds="http://a.example/")
        found = {item["url"] for item in result.items}
        assert found == {"http://a.example/", "http://www.b.example/x", "http://www.b.example/y"}
        assert result.unfinished == {}

    async def test_one_that_scrapys_cache_answers_is_known_for_one(self, tmp_path):
        pages = {
            "http://a.example/": page(["/old"], seed="top"),
            "http://a.example/old": redirect("/new", 301),
            "http://a.example/new": page(seed="new"),
        }
        cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
        found = []
        for name in ("fetched", "cached"):
            settings = {**REPLICA, **cache, "JOBDIR": str(tmp_path / name)}
            result = await crawl(TopicSpider, pages, settings, seeds="http://a.example/")
            with reading(str(tmp_path / name)) as job:
                view = job.url("http://a.example/old")
            found.append((view.page.status, view.page.error, result.stats.get("replica/page/failed")))
        assert result.urls == []
        assert found == [(301, None, None)] * 2

    async def test_the_slot_of_the_old_host_is_not_taken_along(self):
        slots = {}

        class Slots(Spider):
            name = "slots"

            async def start(self):
                yield Request("http://old.example/")
                yield Request("http://own.example/", meta={"download_slot": "mine"})

            def parse(self, response):
                slots[response.url] = response.meta["download_slot"]

        pages = {
            "http://old.example/": redirect("http://new.example/"),
            "http://own.example/": redirect("http://other.example/"),
            "http://new.example/": page(),
            "http://other.example/": page(),
        }
        await crawl(Slots, pages, REPLICA)
        assert slots == {"http://new.example/": "new.example", "http://other.example/": "mine"}


class Refuses:
    """A downloader middleware that does not want some URLs."""

    def process_request(self, request):
        if "unwanted" in request.url:
            raise IgnoreRequest("unwanted")


class Breaks(TopicSpider):
    name = "breaks"

    def parse(self, response):
        if "broken" in response.url:
            raise ValueError("broken")
        yield from super().parse(response)


class TestFailures:
    async def test_all_ends_acknowledged(self, tmp_path):
        tries = []

        def second_try(request):
            tries.append(request.url)
            return (503, HTML, "") if len(tries) == 1 else page(seed="late")

        pages = failures(
            {
                "http://a.example/retried": second_try,
                "http://a.example/gone": (404, HTML, page(seed="gone")),
                "http://a.example/error": (500, HTML, ""),
                "http://a.example/empty": (200, HTML, ""),
                "http://a.example/typeless": (200, {}, b"\x00\x01"),
                "http://a.example/paper": (200, {"Content-Type": "application/pdf"}, b"%PDF-1.4 \x00"),
                "http://a.example/partial": (206, HTML, page(seed="part")),
                "http://a.example/unwanted": page(seed="unwanted"),
                "http://a.example/private/x": page(seed="private"),
                "http://a.example/broken": page(["/after"], seed="broken"),
                "http://down.example/": refused,
            }
        )
        pages["http://a.example/after"] = page(seed="after")
        pages["http://a.example/robots.txt"] = 200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private"
        settings = {
            **REPLICA,
            "JOBDIR": str(tmp_path),
            "ROBOTSTXT_OBEY": True,
            "DOWNLOADER_MIDDLEWARES": {Refuses: 400},
            "LOG_LEVEL": "CRITICAL",
        }
        result = await crawl(Breaks, pages, settings, seeds="http://a.example/")
        assert result.unfinished == {}
        assert set(result.states) == set(pages) - {"http://a.example/robots.txt"}
        assert result.states == job_states(tmp_path)
        assert {item["url"].rpartition("/")[2] for item in result.items} == {
            *("", "retried", "empty", "typeless", "paper", "partial", "after")
        }
        with reading(str(tmp_path)) as job:
            assert sum(job.status(None, 0).urls.values()) == len(result.states), "what is tried again is one URL"
        # 503 twice for "error", once for "retried"; 404; 206
        assert result.stats["replica/page/other"] == 5
        # refused twice; forbidden by robots.txt; unwanted
        assert result.stats["replica/page/failed"] == 4
        assert result.stats["robotstxt/forbidden"] == 1
        assert result.stats["spider_exceptions/count"] == 1

    async def test_an_errback_sees_each(self):
        class Notes(Spider):
            name = "notes"

            async def start(self):
                for url in ("http://a.example/gone", "http://down.example/", "http://a.example/unwanted"):
                    yield Request(url, errback=self.failed)

            def failed(self, failure):
                yield {failure.request.url: failure.type.__name__}

        settings = {**REPLICA, "DOWNLOADER_MIDDLEWARES": {Refuses: 400}, "RETRY_ENABLED": False}
        result = await crawl(Notes, {"http://down.example/": refused}, settings)
        assert {k: v for item in result.items for k, v in item.items()} == {
            "http://a.example/gone": "HttpError",
            "http://down.example/": "DownloadFailedError",
            "http://a.example/unwanted": "IgnoreRequest",
        }
        assert result.unfinished == {}

    async def test_a_page_that_cannot_be_observed_is_not_lost(self, monkeypatch):
        from scrapy_replica.crawl.fetches import Fetches

        observe = Fetches.observe

        def fails(self, page, url_id, *rest):
            if page.url.endswith("/1"):
                raise ZeroDivisionError
            return observe(self, page, url_id, *rest)

        monkeypatch.setattr(Fetches, "observe", fails)
        pages = {
            "http://a.example/0": page(["/1", "/2"]),
            "http://a.example/1": page(),
            "http://a.example/2": page(seed=1),
        }
        result = await crawl(TopicSpider, pages, {**REPLICA, "LOG_LEVEL": "CRITICAL"}, seeds="http://a.example/0")
        assert {item["url"] for item in result.items} == set(pages)
        assert result.unfinished == {}
        assert result.stats["replica/page/error"] == 1


class TestOptOut:
    async def test_meta_replica_false(self):
        class Wants(Spider):
            name = "wants"
            start_urls = ("http://a.example/",)

            def parse(self, response):
                if response.url.endswith("/copy"):
                    yield response.follow("/behind")
                    yield response.follow("/wanted", meta={"replica": False})
                elif response.url.endswith("/"):
                    yield response.follow("/copy")

        pages = {
            "http://a.example/": page(seed=1),
            "http://a.example/copy": page(["/behind", "/wanted"], seed=1),
            "http://a.example/behind": page(seed=2),
            "http://a.example/wanted": page(seed=3),
        }
        result = await crawl(Wants, pages, {**REPLICA, "REPLICA_EXPLORE": 0})
        assert set(result.urls) == set(pages)
        decided = {key: count for key, count in result.stats.items() if key.startswith("replica/decision/")}
        assert decided == {"replica/decision/exact-duplicate-links/demote": 1}
