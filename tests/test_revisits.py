"""A job is crawled again: what is asked for, in which way, and what the answers show."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest
from scrapy import Request, Spider
from scrapy.core.scheduler import Scheduler
from web import HTML, REPLICA, crawl, page, redirect, refused

from scrapy_replica import TopicSpider
from scrapy_replica.commands.explain import explain_url
from scrapy_replica.commands.explain_text import in_words
from scrapy_replica.commands.job import reading
from scrapy_replica.commands.status import look
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.config import ConfigError
from scrapy_replica.crawldb.sqlite.database import FILE_NAME
from scrapy_replica.crawldb.sqlite.reader import open_reader

DAY = 86_400.0


class Site:
    """Pages that change; the site tells so by their ETag or date, unless it lies or says nothing."""

    def __init__(self, n=6, tells="etag"):
        self.texts = {str(number): f"text{number}" for number in range(n)}
        self.links = {"0": [str(number) for number in range(1, n)]}
        self.tells, self.noise, self.sitemap, self.log = tells, "", "", []

    def url(self, name):
        return f"http://a.example/{name}"

    def headers(self, name):
        told = {
            "etag": {"ETag": f'"{self.texts[name]}"'},
            "weak": {"ETag": f'W/"{self.texts[name]}"'},
            "gzip": {"ETag": f'"{self.texts[name]}-gzip"'},
            "liar": {"ETag": '"same"'},
            "future": {"Last-Modified": "Fri, 01 Jan 2100 00:00:00 GMT"},
            "nothing": {},
        }
        return {**HTML, **told[self.tells]}

    def __call__(self, request):
        name = request.url.rpartition("/")[2]
        if name == "sitemap.xml" and self.sitemap:
            return 200, {"Content-Type": "text/xml"}, self.sitemap
        if name not in self.texts:
            self.log.append((name, 404))
            return 404, HTML, ""
        headers, asked = self.headers(name), request.headers.get("If-None-Match", b"").decode()
        if (asked and asked == headers.get("ETag")) or "If-Modified-Since" in request.headers:
            self.log.append((name, 304))
            return 304, headers, ""
        self.log.append((name, 200))
        links = [self.url(one) for one in self.links.get(name, [])]
        return 200, headers, page(links, seed=self.texts[name], title=name) + f"<!-- {self.noise} -->"

    def asked(self):
        """Name -> status of what was asked for since the last call, in this order."""
        log, self.log = self.log, []
        return dict(log)


def settings(job, **more):
    return {**REPLICA, "JOBDIR": str(job), "REPLICA_EXPLORE": 0, "ROBOTSTXT_OBEY": False, **more}


async def first(job, web, spider=TopicSpider, **more):
    result = await crawl(spider, web, settings(job, **more), **seeds(spider))
    if isinstance(web, Site):
        web.asked()
    return result


async def again(job, web, spider=TopicSpider, **more):
    return await crawl(spider, web, settings(job, REPLICA_REVISIT=True, **more), **seeds(spider))


def seeds(spider):
    return {"seeds": "http://a.example/0"} if spider is TopicSpider else {}


def counts(result):
    prefix = "replica/revisit/"
    return {key.removeprefix(prefix): n for key, n in result.stats.items() if key.startswith(prefix) and n}


def history(job, url):
    with open_reader(job / FILE_NAME) as reader:
        return reader.url(url).history


@pytest.fixture
def clock(monkeypatch):
    """The time of crawls, seconds since the epoch; every look at it takes a millisecond."""
    clock = SimpleNamespace(now=1e9)

    def look():
        clock.now += 0.001
        return clock.now

    monkeypatch.setattr("scrapy_replica.components.opened_job.time", SimpleNamespace(time=look))
    return clock


@pytest.mark.asyncio
class TestPages:
    async def test_unchanged_ones_send_no_body_and_changed_ones_are_followed(self, tmp_path):
        web = Site()
        await first(tmp_path, web)
        web.texts |= {"2": "other", "new": "text of the new page"}
        web.links["2"] = ["new"]
        result = await again(tmp_path, web)
        assert web.asked() == {"0": 304, "1": 304, "2": 200, "3": 304, "4": 304, "5": 304, "new": 200}
        assert [item["url"] for item in result.items] == [web.url("2"), web.url("new")]
        told = counts(result)
        size = len(web(Request(web.url("1")))[2])
        assert told.pop("bytes_saved") == pytest.approx(5 * size, rel=0.2)
        assert told == {"not_modified": 5, "changed": 1, "due": 6}
        assert result.unfinished == {}

    async def test_what_the_server_does_not_tell_is_seen_by_the_bytes(self, tmp_path):
        web = Site(tells="nothing")
        await first(tmp_path, web)
        web.texts["2"] = "other"
        result = await again(tmp_path, web)
        assert set(web.asked().values()) == {200}
        assert [item["url"] for item in result.items] == [web.url("2")]
        assert counts(result) == {"unchanged": 5, "changed": 1, "due": 6}
        assert result.stats["replica/page/observed"] == 1

    async def test_the_same_text_in_another_frame_is_not_judged_and_its_callback_gives_no_item_again(self, tmp_path):
        web = Site(tells="nothing")
        await first(tmp_path, web)
        web.noise = "another advertisement"
        result = await again(tmp_path, web)
        assert result.items == []
        assert counts(result) == {"unchanged": 6, "due": 6, "items_again": 6}
        assert "replica/page/observed" not in result.stats

    async def test_new_only_leaves_out_what_says_what_it_said_unless_its_item_was_lost(self, tmp_path):
        class Fails(TopicSpider):
            def item(self, response):
                if response.url == web.url("3") and not web.noise:
                    raise ValueError("once")
                return super().item(response)

        web = Site(tells="nothing")
        wants = {**seeds(TopicSpider), "new_only": True}
        run = settings(tmp_path, REPLICA_REVISIT=True)
        assert len((await crawl(Fails, web, run, **wants)).items) == 5
        web.noise = "another session"
        web.texts["2"] = "another text"
        result = await crawl(Fails, web, run, **wants)
        assert sorted(item["url"] for item in result.items) == [web.url("2"), web.url("3")]

    async def test_those_that_are_not_judged_write_no_statistics(self, tmp_path, monkeypatch):
        web, flushed, flush = Site(tells="nothing"), [], ReplicaExtension.flush
        await first(tmp_path, web)
        web.noise = "another advertisement"
        monkeypatch.setattr(ReplicaExtension, "flush", lambda extension: flushed.append(flush(extension)))
        await again(tmp_path, web)
        assert len(flushed) == 1, "at the end"

    async def test_the_same_text_that_leads_elsewhere_has_changed(self, tmp_path):
        web = Site(tells="nothing")
        await first(tmp_path, web)
        web.links["0"].append("new")
        web.texts["new"] = "text of the new page"
        result = await again(tmp_path, web)
        assert counts(result) == {"unchanged": 5, "changed": 1, "due": 6, "items_again": 1}
        assert history(tmp_path, web.url("0")).changes == 1

    async def test_gone_ones_are_marked_and_not_asked_for_ever(self, tmp_path):
        web = Site()
        await first(tmp_path, web)
        del web.texts["3"]
        assert counts(await again(tmp_path, web))["gone"] == 1
        with reading(str(tmp_path)) as job:
            told = [in_words(explain_url(job, web.url(name))) for name in "23"]
        assert "2 times, last" in told[0]
        assert "0 visits found a change" in told[0]
        assert "gone since" in told[1]
        assert history(tmp_path, web.url("3")).gone_at is not None
        web.asked()
        asked = []
        for _ in range(4):
            await again(tmp_path, web)
            asked.append("3" in web.asked())
        assert asked == [True, True, False, False]

    async def test_what_never_was_a_page_is_asked_for_once_more_after_the_others(self, tmp_path):
        web = Site()
        web.links["0"] = ["dead", *web.links["0"]]
        await first(tmp_path, web)
        await again(tmp_path, web, CONCURRENT_REQUESTS=1)
        assert list(web.asked())[-1] == "dead"
        await again(tmp_path, web)
        assert "dead" not in web.asked()

    async def test_one_that_comes_back_is_a_page_again(self, tmp_path):
        web = Site()
        await first(tmp_path, web)
        was = web.texts.pop("3")
        await again(tmp_path, web)
        web.texts["3"] = was
        result = await again(tmp_path, web)
        assert [item["url"] for item in result.items] == [web.url("3")]
        assert history(tmp_path, web.url("3")).gone_at is None

    async def test_gone_ones_are_looked_at_now_and_then_and_seeds_always(self, tmp_path):
        web = Site(n=30)
        await first(tmp_path, web)
        web.texts, texts = {}, web.texts
        for _ in range(3):
            await again(tmp_path, web)
        web.asked()
        await again(tmp_path, web)
        assert web.asked() == {"0": 404}
        web.texts = {name: text for name, text in texts.items() if name != "0"}
        await again(tmp_path, web, REPLICA_EXPLORE=0.5)
        assert 5 < len(web.asked()) < 30

    @pytest.mark.parametrize("spider", [TopicSpider, None])
    async def test_gone_ones_are_asked_for_where_a_page_that_changed_leads_to_them(self, tmp_path, spider):
        web, spider = Site(), spider or Ordinary
        await first(tmp_path, web, spider)
        was = web.texts.pop("3")
        for _ in range(3):
            await again(tmp_path, web, spider)
        web.asked()
        web.texts |= {"3": was, "0": "it is back"}
        await again(tmp_path, web, spider, REPLICA_REVISIT_CHANCE=0)
        assert web.asked()["3"] == 200

    @pytest.mark.parametrize("answer", ["refused", 503, 403])
    async def test_an_outage_ends_nothing_however_many_passes_it_lasts(self, tmp_path, answer):
        web = Site()
        await first(tmp_path, web)
        for _ in range(4):
            away = await again(
                tmp_path,
                lambda request: refused(request) if answer == "refused" else (answer, HTML, ""),
                RETRY_ENABLED=False,
            )
            assert counts(away) == {"due": 6, "failed": 6}
        web.texts["2"] = "other"
        result = await again(tmp_path, web)
        assert web.asked().keys() == web.texts.keys()
        assert [item["url"] for item in result.items] == [web.url("2")]

    async def test_an_error_says_nothing_of_a_page(self, tmp_path):
        web = Site()
        await first(tmp_path, web)
        before = history(tmp_path, web.url("3"))
        result = await again(tmp_path, lambda request: refused(request) if request.url[-1] == "3" else web(request))
        assert counts(result)["failed"] == 1
        assert history(tmp_path, web.url("3")) == before._replace(misses=1)
        result = await again(tmp_path, web)
        assert web.asked()["3"] == 200
        assert history(tmp_path, web.url("3")).misses == 0

    async def test_what_was_saved_for_one_that_is_gone_comes_back(self, tmp_path):
        """Of two pages of one text, in drop mode, the links of the second are saved by those of the first."""

        def web(request):
            path = request.url.partition("example/")[2]
            one = f"http://{request.url.split('/')[2]}/"
            pages = {
                "0": page(["http://a.example/list", "http://b.example/list"], seed="start"),
                "list": page([f"{one}list/1"], seed="list"),
                "list/1": page(seed=one + "1"),
            }
            is_gone = is_later and request.url == "http://a.example/list/1"
            return (404, HTML, "") if is_gone else pages.get(path, (404, HTML, ""))

        is_later = False
        result = await first(tmp_path, web, REPLICA_MODE="drop", REPLICA_MIRRORS=False)
        assert result.states["http://b.example/list/1"] == ["dropped"]
        is_later = True
        result = await again(tmp_path, web, REPLICA_MODE="drop", REPLICA_MIRRORS=False)
        assert "http://b.example/list/1" in [item["url"] for item in result.items]

    async def test_budgets_of_new_pages_bar_no_page_that_is_known(self, tmp_path):
        web = Site(n=9)
        await first(tmp_path, web, REPLICA_PATH_BUDGET=4)
        result = await again(tmp_path, web, REPLICA_PATH_BUDGET=4)
        assert counts(result)["not_modified"] == counts(result)["due"] >= 4


@pytest.mark.asyncio
class TestPasses:
    async def test_one_that_was_stopped_goes_on_and_only_then_the_next_begins(self, tmp_path):
        web = Site(n=9)
        await first(tmp_path, web)
        web.texts = {name: f"later{name}" for name in web.texts}
        stopped = await again(tmp_path, web, CLOSESPIDER_PAGECOUNT=3, CONCURRENT_REQUESTS=1)
        assert stopped.unfinished != {}
        before = web.asked()
        result = await again(tmp_path, web)
        assert not before.keys() & web.asked().keys()
        assert counts(stopped)["changed"] + counts(result)["changed"] == 9
        told = look(SimpleNamespace(job=str(tmp_path), hosts=0, json=False), runs=False)
        assert "Pass 1 over the job is complete: 9 URLs to be asked for again, 0 left alone." in told
        assert "9 changed, 0 gone" in " ".join(told.split())
        await again(tmp_path, web)
        assert set(web.asked().values()) == {304}
        assert history(tmp_path, web.url("4")).visits == 3

    async def test_one_that_was_killed_goes_on(self, tmp_path):
        web, job, left = Site(n=30), tmp_path / "job", tmp_path / "left"
        await first(job, web)
        web.texts = {name: f"later{name}" for name in web.texts}

        def killing(request):
            if len(web.log) == 12 and not left.exists():
                shutil.copytree(job, left)  # what a process that is killed here leaves
            return web(request)

        await again(job, killing, CONCURRENT_REQUESTS=4)
        asked = list(web.asked())
        await again(left, web)
        assert set(asked[12:]) <= web.asked().keys() <= set(asked[4:])
        assert {history(left, web.url(name)).changes for name in web.texts} == {1}
        await again(left, web)
        assert set(web.asked().values()) == {304}

    async def test_an_unfinished_job_goes_on_and_is_looked_at_again(self, tmp_path):
        web = Site(n=9)
        await first(tmp_path, web, CLOSESPIDER_PAGECOUNT=3, CONCURRENT_REQUESTS=1)
        await again(tmp_path, web)
        asked = web.asked()
        assert len(asked) == 9
        assert list(asked.values()).count(304) >= 3

    async def test_a_new_job_is_crawled(self, tmp_path):
        web = Site()
        result = await again(tmp_path, web)
        assert len(result.items) == 6
        assert counts(result) == {}

    async def test_without_the_setting_nothing_is_asked_again(self, tmp_path):
        web = Site()
        await first(tmp_path, web)
        await first(tmp_path, web)
        assert web.asked() == {}

    async def test_what_changes_often_is_due_before_what_never_did(self, tmp_path, clock):
        web = Site(n=12)
        await first(tmp_path, web)
        for day in range(6):
            clock.now += DAY
            web.texts |= {"1": f"today{day}", "2": f"now{day}"}
            await again(tmp_path, web, REPLICA_REVISIT_CHANCE=0)
            assert len(web.asked()) == 12
        clock.now += DAY
        result = await again(tmp_path, web, REPLICA_REVISIT_CHANCE=0.5)
        assert set(web.asked()) == {"1", "2"}
        assert counts(result)["not_due"] == 10
        clock.now += 60 * DAY
        await again(tmp_path, web, REPLICA_REVISIT_CHANCE=0.5, CONCURRENT_REQUESTS=1)
        asked = web.asked()
        assert len(asked) == 12
        assert set(list(asked)[:2]) == {"1", "2"}

    async def test_some_of_what_is_not_due_is_asked_for_all_the_same(self, tmp_path, clock):
        web = Site(n=60, tells="nothing")
        await first(tmp_path, web)
        for _ in range(2):
            clock.now += DAY
            await again(tmp_path, web, REPLICA_EXPLORE=0.2, REPLICA_REVISIT_CHANCE=0.5)
            n_asked = len(web.asked())
        assert 3 <= n_asked <= 25

    async def test_a_sitemap_that_tells_of_a_later_date_makes_due(self, tmp_path, clock):
        web = Site()
        await first(tmp_path, web)
        clock.now += DAY
        await again(tmp_path, web)
        clock.now += DAY
        web.asked()

        dates = {"1": clock.now - 60, "2": clock.now - 3 * DAY, "3": clock.now + 9 * DAY}
        days = {web.url(name): datetime.fromtimestamp(at, timezone.utc).isoformat() for name, at in dates.items()}
        listed = "".join(f"<url><loc>{url}</loc><lastmod>{day}</lastmod></url>" for url, day in days.items())
        web.sitemap = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
        await again(tmp_path, web, REPLICA_REVISIT_CHANCE=1, REPLICA_SITEMAPS=True)
        assert set(web.asked()) - {"robots.txt"} == {"1"}


@pytest.mark.asyncio
class TestServersThatLie:
    @pytest.mark.parametrize("tells", ["weak", "gzip"])
    async def test_honest_ones_are_believed(self, tmp_path, tells):
        web = Site(tells=tells)
        await first(tmp_path, web)
        web.texts["2"] = "other"
        await again(tmp_path, web)
        assert web.asked() == {"0": 304, "1": 304, "2": 200, "3": 304, "4": 304, "5": 304}

    async def test_a_date_in_the_future_is_not_asked_with(self, tmp_path):
        web = Site(tells="future")
        await first(tmp_path, web)
        web.texts["2"] = "other"
        result = await again(tmp_path, web)
        assert set(web.asked().values()) == {200}
        assert counts(result)["changed"] == 1

    async def test_an_etag_that_never_changes_is_found_out_and_what_was_believed_is_asked_for_again(self, tmp_path):
        web = Site(n=30, tells="liar")
        await first(tmp_path, web)
        web.texts = {name: f"later{name}" for name in web.texts}
        result = await again(tmp_path, web, REPLICA_EXPLORE=0.2)
        told = counts(result)
        assert told["hosts_doubted"] == 1
        assert told["changed"] == 30
        assert told["taken_back"] > 0
        assert {history(tmp_path, web.url(name)).visits for name in web.texts} == {2}
        web.asked()
        await again(tmp_path, web)
        assert set(web.asked().values()) == {200}

    async def test_304_to_whatever_is_asked_with_a_condition_is_found_out(self, tmp_path):
        web = Site(n=30)
        await first(tmp_path, web)
        web.texts = {name: f"later{name}" for name in web.texts}

        def broken(request):
            return (304, HTML, "") if "If-None-Match" in request.headers else web(request)

        result = await again(tmp_path, broken, REPLICA_EXPLORE=0.2)
        assert counts(result)["changed"] == 30
        assert counts(result)["hosts_doubted"] == 1

    async def test_honest_hosts_are_tested_where_they_are_explored_and_stay_believed(self, tmp_path):
        web = Site(n=60)
        await first(tmp_path, web)
        result = await again(tmp_path, web, REPLICA_EXPLORE=0.2)
        told = counts(result)
        assert 5 <= told["tested"] == told["unchanged"] <= 20
        assert told["not_modified"] + told["unchanged"] == 60
        assert "hosts_doubted" not in told
        assert {history(tmp_path, web.url(name)).visits for name in web.texts} == {2}

    async def test_304_without_being_asked_is_no_answer(self, tmp_path):
        web = Site(tells="nothing")
        await first(tmp_path, web)
        result = await again(tmp_path, lambda request: (304, HTML, "") if request.url[-1] == "3" else web(request))
        assert counts(result)["hosts_doubted"] == 1
        assert counts(result)["failed"] == 1
        assert history(tmp_path, web.url("3")).visits == 1

    async def test_304_about_another_page_is_no_answer(self, tmp_path):
        web = Site(n=3)
        await first(tmp_path, web)
        web.texts = {name: f"later{name}" for name in web.texts}

        def stale(request):
            is_asked = "If-None-Match" in request.headers
            return (304, {**HTML, "ETag": '"another"'}, "") if is_asked else web(request)

        result = await again(tmp_path, stale, CONCURRENT_REQUESTS=1)
        assert counts(result)["hosts_doubted"] == 1
        assert counts(result)["changed"] == 3
        assert "not_modified" not in counts(result)


class Ordinary(Spider):
    """Callbacks of its own, with what requests carry; nothing of it may be called for a page that did not change."""

    name = "topic"
    start_urls = ("http://a.example/0",)
    custom_settings = {"SPIDER_MIDDLEWARES": {}}  # noqa: RUF012

    def parse(self, response):
        for name in response.css("a::attr(href)").getall():
            yield response.follow(
                name, self.parse_page, errback=self.failed, meta={"mark": name}, cb_kwargs={"number": int(name[-1])}
            )

    def parse_page(self, response, number):
        yield {"page": response.url, "mark": response.meta["mark"], "number": number, "status": response.status}

    def failed(self, failure):
        yield {"error": repr(failure.value)}


@pytest.mark.asyncio
class TestOrdinarySpiders:
    async def test_callbacks_get_what_changed_and_nothing_else(self, tmp_path):
        web = Site()
        await first(tmp_path, web, Ordinary)
        web.texts["2"] = "other"
        result = await again(tmp_path, web, Ordinary)
        assert web.asked() == {"0": 304, "1": 304, "2": 200, "3": 304, "4": 304, "5": 304}
        url = web.url("2")
        assert result.items == [{"page": url, "mark": url, "number": 2, "status": 200}]
        assert "httperror/response_ignored_count" not in result.stats

    async def test_scrapys_cache_keeps_no_304(self, tmp_path):
        web = Site()
        cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache"), "HTTPCACHE_EXPIRATION_SECS": 1}
        await first(tmp_path / "job", web, Ordinary)
        result = await again(tmp_path / "job", web, Ordinary, **cache)
        assert counts(result)["not_modified"] == 6
        assert "httpcache/store" not in result.stats
        assert list((tmp_path / "cache").rglob("*")) in ([], [tmp_path / "cache" / "topic"])

    async def test_scrapys_cache_asks_in_its_own_way(self, tmp_path):
        web = Site()
        policy = "scrapy.extensions.httpcache.RFC2616Policy"
        cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache"), "HTTPCACHE_POLICY": policy}
        await first(tmp_path / "job", web, Ordinary, **cache)
        web.texts["2"] = "other"
        result = await again(tmp_path / "job", web, Ordinary, **cache)
        assert web.asked() == {"0": 304, "1": 304, "2": 200, "3": 304, "4": 304, "5": 304}
        assert [item.get("number") for item in result.items] == [2]
        assert counts(result) == {"unchanged": 5, "changed": 1, "due": 6}

    async def test_a_cache_that_answers_alone_says_nothing_of_changes(self, tmp_path):
        web = Site()
        cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache")}
        await first(tmp_path / "job", web, Ordinary, **cache)
        result = await again(tmp_path / "job", web, Ordinary, **cache)
        assert web.asked() == {}
        assert counts(result) == {"due": 6}
        assert history(tmp_path / "job", web.url("2")).visits == 1

    async def test_conditions_of_the_spiders_own_are_its_own(self, tmp_path):
        class Asks(Ordinary):
            handle_httpstatus_list = (304,)

            async def start(self):
                yield Request("http://a.example/1", self.parse_own, headers={"If-None-Match": '"text1"'})

            def parse_own(self, response):
                yield {"status": response.status}

        web = Site()
        result = await first(tmp_path, web, Asks)
        assert result.items == [{"status": 304}]

    async def test_redirects_and_retries_carry_no_conditions(self, tmp_path):
        web, seen = Site(), []

        def moved(request):
            name = request.url[-1]
            seen.append((name, "If-None-Match" in request.headers))
            if name == "2":
                return redirect("http://a.example/9")
            if name == "3" and [one for one, _ in seen].count("3") == 1:
                return refused(request)
            return web(request)

        await first(tmp_path, web, Ordinary)
        web.texts["9"] = "moved"
        result = await again(tmp_path, moved, Ordinary)
        assert ("9", False) in seen
        assert [asked for name, asked in seen if name == "3"] == [True, False]
        assert web.url("9") in [item.get("page") for item in result.items]
        assert not [item for item in result.items if "error" in item]

    async def test_a_redirect_that_stays_is_no_change(self, tmp_path):
        web = Site()
        web.links["0"].append("old")

        def moved(request):
            return redirect("http://a.example/9") if request.url.endswith("old") else web(request)

        web.texts["9"] = "moved"
        await first(tmp_path, moved)
        result = await again(tmp_path, moved)
        assert counts(result)["not_modified"] == 7
        assert counts(result)["unchanged"] == 1
        assert result.items == []

    async def test_what_carries_much_is_not_kept_for_another_time(self, tmp_path):
        class Heavy(Ordinary):
            def parse(self, response):
                for name, size in (("1", 20_000), ("2", 20)):
                    yield response.follow(name, self.parse_page, meta={"mark": "x" * size}, cb_kwargs={"number": 0})

        web = Site()
        await first(tmp_path, web, Heavy)
        await again(tmp_path, web, Heavy)
        assert web.asked() == {"0": 304, "2": 304}

    async def test_posts_are_not_asked_again(self, tmp_path):
        class Posts(Ordinary):
            def parse(self, response):
                yield Request(response.urljoin("/1"), self.parse_form, method="POST", body=b"password=secret")

            def parse_form(self, response):
                yield {"form": response.url}

        web = Site()
        await first(tmp_path, web, Posts)
        await again(tmp_path, web, Posts)
        assert web.asked() == {"0": 304}
        assert b"secret" not in (tmp_path / "replica.sqlite").read_bytes()


class TestRefused:
    @pytest.mark.asyncio
    async def test_a_job_of_scrapys_scheduler_is_told_of(self, tmp_path, caplog):
        web = Site()
        await first(tmp_path, web, REPLICA_MODE="observe")
        await again(tmp_path, web)
        assert "No page of this job can be asked for again" in caplog.text

    @pytest.mark.parametrize(
        ("more", "told"),
        [({"JOBDIR": None}, "JOBDIR"), ({"SCHEDULER": Scheduler}, "SCHEDULER")],
    )
    @pytest.mark.asyncio
    async def test_what_it_needs_is_named(self, tmp_path, more, told):
        with pytest.raises(ConfigError, match=f"^REPLICA_REVISIT: .*{told}"):
            await again(tmp_path, Site(), **more)
