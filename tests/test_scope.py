"""Where a crawl may go: hosts or domains of the seeds, patterns, languages, pages of a host; and why not."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter

import pytest
from command_line import replica
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request, Spider
from web import REPLICA, crawl, job_states, page, redirect

from scrapy_replica import TopicSpider
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.scope import LEFT_OUT_OF, MOST_LEFT_OUT, CrawlScope
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.records import Page, Verdict
from scrapy_replica.urls.scope import Outside, Pattern, Scope

TOP = "http://a.example/"


class TestPattern:
    @pytest.mark.parametrize(
        ("pattern", "url", "matches"),
        [
            ("*/cal/*", "http://a.example/cal/1", True),
            ("*/cal/*", "http://a.example/cal", False),
            ("http://a.example/*", "http://a.example/x?y=*", True),
            ("http://a.example/*", "http://a.example.evil/", False),
            ("*.pdf", "http://a.example/x.pdf", True),
            ("*.pdf", "http://a.example/x.pdf?", False),
            ("http://a.example/", "http://a.example/", True),
            ("http://a.example/", "http://a.example/x", False),
            ("*?sort=*", "http://a.example/x?sort=1", True),
            ("*?sort=*", "http://a.example/resort=1", False),
            ("*ab*ba*", "http://a.example/aba", False),
            ("*[a-z]*", "http://a.example/b", False),
            ("**", "http://a.example/", True),
        ],
    )
    def test_only_the_star_is_special(self, pattern, url, matches):
        assert Pattern(pattern).matches(url) is matches

    @given(st.lists(st.text("ab/*", max_size=8)).map("*".join), st.text("ab/", max_size=12))
    def test_as_the_obvious_way_has_it(self, pattern, url):
        def obvious(pattern, url):
            if not pattern:
                return not url
            if pattern[0] == "*":
                return any(obvious(pattern.lstrip("*"), url[n:]) for n in range(len(url) + 1))
            return url[:1] == pattern[0] and obvious(pattern[1:], url[1:])

        assert Pattern(f"*{pattern}").matches(url) is obvious(f"*{pattern}", url)

    def test_no_text_makes_it_slow(self):
        begin = time.process_time()
        assert not Pattern("*a" * 50 + "*b").matches("http://a.example/" + "a" * 100_000)
        assert time.process_time() - begin < 1

    @pytest.mark.parametrize("text", ["calendar", "/cal/*", "", "ftp://x/*"])
    def test_what_matches_no_whole_url_is_refused(self, text):
        with pytest.raises(ConfigError, match=r"REPLICA_EXCLUDE: the pattern .* write '\*"):
            Scope(Config(exclude=(text,)))

    @pytest.mark.parametrize(
        "url", ["http://A.example/cal/1", "HTTP://a.example:80/cal/1", "http://user:pw@a.example/cal/1"]
    )
    def test_no_other_spelling_of_a_host_slips_through(self, url):
        assert Scope(Config(exclude=("http://a.example/cal/*",))).outside(url, "a.example") is not None


class TestNear:
    @pytest.mark.parametrize(
        ("reach", "seed", "host", "is_near"),
        [
            ("hosts", "a.example", "www.a.example", False),
            ("hosts", "a.example", "a.example:8080", False),
            ("domains", "a.example", "www.a.example:8080", True),
            ("domains", "www.a.co.uk", "b.co.uk", False),
            ("domains", "www.a.co.uk", "b.a.co.uk", True),
            ("domains", "alice.github.io", "bob.github.io", False),
            ("domains", "192.0.2.1", "192.0.2.2", False),
            ("domains", "localhost", "localhost:80", True),
            ("any", "a.example", "b.example", True),
        ],
    )
    def test_of_a_seed(self, reach, seed, host, is_near):
        scope = Scope(Config.from_settings({"REPLICA_SCOPE": reach}))
        if reach != "any":
            scope.open_to(seed)
        assert scope.is_near(host) is is_near


SITE = {
    TOP: page(["/x", "/cal/1", "http://b.example/", "http://www.a.example/y", "/leaves", "/turns"], seed=0),
    f"{TOP}x": page(["http://b.example/z"], seed=1),
    f"{TOP}cal/1": page(seed=2),
    "http://b.example/": page(seed=3),
    "http://www.a.example/y": page(seed=4),
    f"{TOP}leaves": redirect("http://b.example/q"),
    "http://b.example/q": page(seed=5),
    f"{TOP}turns": redirect("http://www.a.example/t"),
    "http://www.a.example/t": page(seed=6),
}


async def crawled(pages=SITE, seeds=TOP, spider=TopicSpider, **settings):
    settings = {f"REPLICA_{name}": value for name, value in settings.items() if name.isupper()}
    return await crawl(spider, pages, {**REPLICA, **settings}, **({"seeds": seeds} if spider is TopicSpider else {}))


@pytest.mark.asyncio
class TestCrawl:
    @pytest.mark.parametrize(
        ("settings", "left_out"),
        [
            ({}, ()),
            ({"SCOPE": "domains"}, ["http://b.example/", "http://b.example/q"]),
            (
                {"SCOPE": "hosts"},
                ["http://b.example/", "http://b.example/q", "http://www.a.example/y", "http://www.a.example/t"],
            ),
            ({"EXCLUDE": "*/cal/* */q"}, [f"{TOP}cal/1", "http://b.example/q"]),
            (
                {"INCLUDE": ["*a.example/*"], "EXCLUDE": ["*/y"]},
                ["http://b.example/", "http://b.example/q", "http://www.a.example/y"],
            ),
            ({"INCLUDE": "*/x"}, [url for url in SITE if url not in {TOP, f"{TOP}x"}]),
        ],
    )
    @pytest.mark.parametrize("scheduler", [{}, {"SCHEDULER": "scrapy.core.scheduler.Scheduler"}])
    async def test_nothing_outside_is_fetched_and_all_inside(self, settings, left_out, scheduler):
        settings = {f"REPLICA_{name}": value for name, value in settings.items()}
        result = await crawl(TopicSpider, SITE, {**REPLICA, **settings, **scheduler}, seeds=TOP)
        assert {*result.urls} & {*SITE} == {*SITE} - {*left_out}
        counted = sum(count for name, count in result.stats.items() if name.startswith("replica/scope/"))
        assert (counted > 0) is bool(left_out)

    async def test_a_page_of_many_links_out_fills_nothing(self):
        links = [f"http://{n}.example/" for n in range(5000)]
        result = await crawled({TOP: page([*links, "/x"]), f"{TOP}x": page(seed=1)}, SCOPE="hosts")
        assert result.stats["replica/scope/other-host"] == 5000
        assert result.states == {TOP: ["done"], f"{TOP}x": ["done"]}

    async def test_where_a_redirect_leads_out_stands_in_the_ledger(self):
        result = await crawled(SCOPE="domains")
        assert result.states["http://b.example/q"] == ["dropped"]
        assert result.stats["replica/decision/out-of-scope/drop"] == 1
        assert result.unfinished == {}

    async def test_where_a_seed_redirects_is_inside(self):
        pages = {
            TOP: redirect("http://login.example/"),
            "http://login.example/": redirect("http://www.b.example/"),
            "http://www.b.example/": page(["/x", "http://login.example/x"]),
            "http://www.b.example/x": page(seed=1),
        }
        result = await crawled(pages, SCOPE="hosts")
        assert result.urls == [TOP, "http://login.example/", "http://www.b.example/", "http://www.b.example/x"]

    async def test_pages_of_a_host_are_counted(self):
        pages = {
            f"http://{h}.example/{n}": page([f"/{n + 1}", "/404", "http://b.example/0"], seed=(h, n))
            for h in "ab"
            for n in range(20)
        }
        settings = {**REPLICA, "REPLICA_HOST_PAGES": 5, "CONCURRENT_REQUESTS": 1}
        result = await crawl(TopicSpider, pages, settings, seeds=f"{TOP}0")
        found = Counter(url.split("/")[2] for url in result.urls if url in pages)
        assert found == {"a.example": 5, "b.example": 5}
        assert result.stats["replica/decision/host-pages/drop"] >= 2

    async def test_depth_is_counted(self):
        pages = {f"{TOP}{n}": page([f"/{n + 1}"], seed=n) for n in range(9)}
        result = await crawl(TopicSpider, pages, {**REPLICA, "DEPTH_LIMIT": 2}, seeds=f"{TOP}0")
        assert (len(result.urls), result.stats["replica/scope/depth"]) == (3, 1)


class Asks(Spider):
    name = "asks"
    start_urls = (TOP,)

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)
        if response.url == TOP:
            yield Request("http://b.example/made-up")
            yield Request("http://b.example/asked", dont_filter=True)
            yield Request("http://b.example/exempt", meta={"replica": False})
            yield Request("http://b.example/offsite", meta={"allow_offsite": True})


@pytest.mark.asyncio
class TestOrdinarySpider:
    async def test_nothing_changes_by_default(self):
        ours, plain = await crawl(Asks, SITE, REPLICA), await crawl(Asks, SITE)
        assert Counter(ours.urls) == Counter(plain.urls)

    async def test_start_urls_that_can_be_read_once(self):
        class Once(Asks):
            start_urls = (url for url in (TOP,))

        assert TOP in (await crawl(Once, SITE, REPLICA)).urls

    async def test_what_says_that_it_may_leave_does(self):
        result = await crawled(spider=Asks, SCOPE="domains")
        outside = {url for url in result.urls if "b.example" in url}
        assert outside == {f"http://b.example/{name}" for name in ("asked", "exempt", "offsite")}

    async def test_a_page_that_cannot_be_observed_keeps_the_borders(self, monkeypatch, caplog):
        from scrapy_replica.crawl.fetches import Fetches

        def fails(*_, **__):
            raise RuntimeError("broken")

        monkeypatch.setattr(Fetches, "observe", fails)
        caplog.set_level("CRITICAL")
        result = await crawled(SCOPE="domains")
        assert {f"{TOP}x", "http://www.a.example/y"} <= {*result.urls}
        assert not [url for url in result.urls if "b.example" in url]


def in_language(language, seed, links=(), alternates=()):
    words = {"en": "the of and to in is that for it with ", "de": "der die das und ist nicht ein mit von den "}
    marks = "".join(f'<link rel="alternate" hreflang="{code}" href="{url}">' for code, url in alternates)
    html = (
        page(links, seed=seed).replace("<p>", f"<p>{words.get(language, '') * 9}").replace("<head>", f"<head>{marks}")
    )
    return html.replace("<html>", f'<html lang="{language}">') if language else html


@pytest.mark.asyncio
class TestLanguages:
    PAGES = {  # noqa: RUF012
        TOP: in_language("de", 0, ["/de", "/en", "/none", "/lies"], [("en-GB", f"{TOP}en"), ("fr", f"{TOP}fr")]),
        f"{TOP}de": in_language("de", 1, ["/de2"]),
        f"{TOP}en": in_language("en", 2, ["/en2", "/fr"], [("de", f"{TOP}de"), ("fr", f"{TOP}fr")]),
        f"{TOP}fr": in_language("fr", 3),
        f"{TOP}none": in_language("", 4, ["/none2"]),
        f"{TOP}lies": in_language("en", 5, ["/lies2"]).replace('lang="en"', 'lang="de"'),
        **{f"{TOP}{name}2": page(seed=name) for name in ("de", "en", "none", "lies")},
    }

    async def test_links_of_pages_in_others_are_not_followed(self):
        result = await crawled(self.PAGES, LANGUAGES="de")
        names = {url.rpartition("/")[2] for url in result.urls}
        assert names == {"", "de", "none", "lies", "de2", "none2", "lies2"}
        assert result.stats["replica/scope/language"] >= 1

    async def test_a_seed_in_another_leads_to_its_translation(self):
        result = await crawled(self.PAGES, LANGUAGES=["en"])
        assert [url.rpartition("/")[2] for url in result.urls] == ["", "en", "en2"]

    async def test_no_language(self):
        with pytest.raises(ConfigError, match="REPLICA_LANGUAGES: 'english' is no two-letter language"):
            await crawled(LANGUAGES="english")


def test_a_translation_for_whoever_speaks_none_of_them_is_wanted():
    one, other, default = (f"{TOP}{name}" for name in ("one", "other", "default"))
    named = (("de-AT", one), ("fr", one), ("fr", other), ("x-default", default))
    wanted = Scope(Config(languages=("de",))).alternates(Page(TOP, "a.example", alternates=named))
    assert wanted == {one: True, other: False, default: True}


def copies(n=12):
    """Two hosts with the same pages, each leading to its own."""
    return {
        f"http://{host}.example/{k}": page([f"/{(k + 1) % n}", f"/{(k * 5 + 2) % n}", "/"], seed=k)
        for host in ("a", "b")
        for k in range(n)
    } | {f"http://{host}.example/": page(["/0"], seed="top") for host in ("a", "b")}


@pytest.mark.asyncio
class TestWhatIsSaved:
    """A canonical host that is out of scope stands for nothing, unless it was fetched."""

    SEEDS = f"{TOP}5 http://b.example/"

    async def blocked(self, job, seeds, **settings):
        db = SqliteCrawlDB(job, "topic")
        db.verdicts.enter(Verdict("b.example", "a.example", "", "", 0.99, 10), time.time(), time.time() + 1e6)
        db.close()
        return await crawl(TopicSpider, copies(), {**REPLICA, "JOBDIR": str(job), **settings}, seeds=seeds)

    @pytest.mark.parametrize("mode", ["demote", "drop"])
    async def test_a_copy_is_fetched_where_its_kept_host_is_outside(self, tmp_path, mode):
        settings = {"REPLICA_EXCLUDE": "*/a.example/*", "REPLICA_MODE": mode, "REPLICA_EXPLORE": 0}
        result = await self.blocked(tmp_path, self.SEEDS, **settings)
        paths = {url.partition(".example")[2] for url in copies()}
        # A seed of the canonical host was fetched; what lies behind it is not known, so that the copy is fetched whole.
        assert sorted(result.urls) == [f"{TOP}5", *sorted(f"http://b.example{path}" for path in paths)]

    async def test_without_borders_it_is_saved(self, tmp_path):
        result = await self.blocked(tmp_path, self.SEEDS, REPLICA_EXPLORE=0)
        assert {url.split("/")[2] for url in result.urls} == {"a.example"}

    async def test_an_alias_of_the_user_s_is_inside(self, tmp_path):
        (tmp_path / "aliases").write_text("b.example a.example\n")
        settings = {"REPLICA_ALIASES": str(tmp_path / "aliases"), "REPLICA_SCOPE": "hosts"}
        result = await crawl(TopicSpider, copies(), {**REPLICA, **settings}, seeds="http://b.example/")
        assert {*result.urls} == {url for url in copies() if "a.example" in url}

    async def test_a_full_host_stands_for_nothing_that_was_not_fetched(self, tmp_path):
        settings = {"REPLICA_HOST_PAGES": 4, "REPLICA_EXPLORE": 0, "CONCURRENT_REQUESTS": 1}
        seeds = " ".join([TOP, *(f"http://b.example/{k}" for k in range(12))])
        result = await self.blocked(tmp_path, seeds, **settings)
        paths = {url.partition(".example")[2] for url in result.urls}
        assert len(paths) == len(result.urls) == 8


@pytest.mark.asyncio
class TestResume:
    PAGES = {  # noqa: RUF012
        TOP: page([f"/{n}" for n in range(30)]),
        **{f"{TOP}{n}": page(["http://b.example/"], seed=n) for n in range(30)},
    }

    async def run(self, job, caplog, pages=0, **settings):
        settings = {**REPLICA, "JOBDIR": str(job), "CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": pages, **settings}
        caplog.clear()
        with caplog.at_level("WARNING"):
            result = await crawl(TopicSpider, self.PAGES, settings, seeds=TOP)
        told = [record.getMessage() for record in caplog.records if "scope is another" in record.getMessage()]
        return result, told

    async def test_a_job_keeps_its_scope_and_another_one_is_said(self, tmp_path, caplog):
        first, told = await self.run(tmp_path, caplog, 5, REPLICA_SCOPE="hosts")
        assert told == []
        second, told = await self.run(tmp_path, caplog, 5, REPLICA_SCOPE="hosts")
        assert told == []
        assert "http://b.example/" not in job_states(tmp_path)
        third, told = await self.run(tmp_path, caplog, REPLICA_SCOPE="hosts", REPLICA_EXCLUDE="*/2*")
        assert len(told) == 1
        dropped = {url for url, states in job_states(tmp_path).items() if states == ["dropped"]}
        assert dropped
        assert {url.partition("/2")[0] for url in dropped} == {"http://a.example"}
        fourth, told = await self.run(tmp_path, caplog, REPLICA_SCOPE="hosts")
        assert len(told) == 1
        assert {*fourth.urls} == dropped
        fetched = Counter(url for run in (first, second, third, fourth) for url in run.urls)
        assert fetched == Counter([*self.PAGES])


class TestExplain:
    @pytest.fixture(scope="class")
    @classmethod
    def job(cls, tmp_path_factory):
        job = tmp_path_factory.mktemp("job")
        settings = {"REPLICA_SCOPE": "domains", "REPLICA_EXCLUDE": "*/cal/*", "JOBDIR": str(job)}
        asyncio.run(crawl(TopicSpider, SITE, {**REPLICA, **settings}, seeds=TOP))
        return job

    @pytest.mark.parametrize(
        ("what", "says"),
        [
            ("http://b.example/", "none of the seeds' hosts or domains"),
            ("c.example", "none of the seeds' hosts or domains"),
            (f"{TOP}cal/1", "a pattern of REPLICA_EXCLUDE matches it"),
            ("http://b.example/q", f"{TOP}leaves redirects to it"),
        ],
    )
    def test_says_why(self, job, what, says):
        code, out, _ = replica("explain", what, "--job", job)
        assert (code, says in out.replace("\n", " ")) == (0, True), out

    def test_names_that_are_near_are_suggested(self, job):
        assert replica("explain", "aa.example", "--job", job)[2] == "did you mean a.example or b.example?\n"

    def test_of_what_is_inside_and_not_found_nothing_is_known(self, job):
        assert replica("explain", f"{TOP}nowhere", "--job", job)[0] == 1

    def test_status_tells_how_many_were_left_out(self, job):
        told = replica("status", job)[1]
        assert "Links out of scope: 3 to other hosts, 1 that a pattern excludes." in told
        figures = json.loads(replica("status", job, "--json")[1])["figures"]
        assert (figures["out_of_scope.other-host"], figures["out_of_scope.excluded"]) == (3, 1)


class TestCommands:
    def test_what_needs_the_add_on_is_not_taken_without(self):
        code, _, err = replica("rehearse", "x.warc", "--seeds", TOP, "--plain", "--exclude", "*x*")
        assert (code, err.count("\n")) == (2, 1)
        assert "--exclude needs the add-on; --plain has --domains and --depth" in err

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            (["--scope", "near"], "invalid choice: 'near'"),
            (["--exclude", "calendar"], "write '*calendar*'"),
            (["--languages", "klingon"], "no two-letter language"),
            (["--depth", "0"], "--depth is 0"),
            (["--host-pages", "-1"], "REPLICA_HOST_PAGES is -1"),
            (["-s", "REPLICA_SCOPE=near"], "REPLICA_SCOPE is 'near'"),
        ],
    )
    def test_wrong_arguments_are_one_line(self, options, says):
        code, _, err = replica("crawl", TOP, *options)
        assert (code, err.count("\n")) == (2, 1)
        assert says in err


class TestLeftOut:
    def scope(self, db):
        return CrawlScope(Config(), db, Counter(), lambda host: host)

    def test_the_last_of_each_corner_are_kept_with_the_job(self):
        db = SqliteCrawlDB(None)
        scope = self.scope(db)
        urls = [f"http://a.example/{letter}{n}/{n}" for letter in "abcdefghijklmnopqrstuvwxyz" for n in range(50)]
        for url in urls:
            scope.leave_out(Outside.EXCLUDED, url, "a.example")
        assert scope.take_news() == {"a.example"}
        assert list(self.scope(db).left_out_of("a.example")) == urls[49::50][-MOST_LEFT_OUT:]
        scope.leave_out(Outside.EXCLUDED, urls[-1], "a.example")
        assert scope.take_news() == set()  # every page of a site may have that link
        db.close()

    def test_pages_of_others_say_nothing(self):
        """Any page may lead to thousands of hosts."""
        db = SqliteCrawlDB(None)
        scope = self.scope(db)
        scope.leave_out(Outside.EXCLUDED, "http://a.example/", "b.example")
        scope.leave_out(Outside.OTHER_HOST, "http://b.example/", "b.example")
        assert scope.take_news() == set()
        assert db.meta(f"{LEFT_OUT_OF}a.example") is None
        db.close()

    def test_what_another_process_left_out_is_known(self):
        db = SqliteCrawlDB(None)
        scope, other = self.scope(db), self.scope(db)
        assert not other.left_out_of("a.example")
        scope.leave_out(Outside.EXCLUDED, "http://a.example/x", "a.example")
        scope.take_news()
        assert other.apply_remote({f"{LEFT_OUT_OF}a.example", "stage"}) == {"a.example"}
        assert other.left_out_of("a.example") == ["http://a.example/x"]
        db.close()
