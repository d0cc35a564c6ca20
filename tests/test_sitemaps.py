"""Sitemaps of the seeds' hosts: what they list is fetched and dated, and a hostile one costs little."""

from __future__ import annotations

import asyncio
import gzip
import time
from datetime import datetime, timezone

import pytest
from web import HTML, REPLICA, crawl, page, redirect

from scrapy_replica import TopicSpider
from scrapy_replica.components import sitemaps
from scrapy_replica.components.sitemaps import date_of, entries_of, parsed

TOP = "http://a.example/"
XML = {"Content-Type": "application/xml"}
HEAD = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
NOW = datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp()


def listing(*urls, tag="url", root="urlset", end=True):
    inner = "".join(
        f"<{tag}><loc>{url}</loc>{f'<lastmod>{date}</lastmod>' if date else ''}</{tag}>"
        for url, date in (one if isinstance(one, tuple) else (one, "") for one in urls)
    )
    return 200, XML, f'<?xml version="1.0"?><{root}>{inner}{f"</{root}>" if end else ""}'


def index(*urls):
    return listing(*urls, tag="sitemap", root="sitemapindex")


async def listed(pages, more=(), **settings):
    """The URLs that a crawl from the front page fetches, which links to nothing, less what lists them."""
    pages = {TOP: page(), **pages}
    found = {TOP: page(), **{url: page(seed=url) for url in more}, **pages}
    result = await crawl(TopicSpider, found, {**REPLICA, "REPLICA_SITEMAPS": True, **settings}, seeds=TOP)
    return sorted({url.removeprefix(TOP) for url in result.urls if "sitemap" not in url and not url.endswith(".gz")})


@pytest.mark.asyncio
class TestCrawl:
    @pytest.mark.parametrize("more", [{}, {"SCHEDULER": "scrapy.core.scheduler.Scheduler"}, {"ADDONS": {}}])
    async def test_what_it_lists_is_fetched(self, more):
        pages = {f"{TOP}sitemap.xml": listing(f"{TOP}1", "/2", f"{TOP}3.jpg", "mailto:x", "")}
        assert await listed(pages, [f"{TOP}1", f"{TOP}2"], **more) == ["", "1", "2"]

    async def test_what_robots_txt_names_and_indexes_name(self):
        names = ("http://[", "", f"{TOP}sitemap-a.xml", "/sitemap-b.xml.gz", "http://")
        robots = "User-agent: *\n" + "".join(f"sitemap: {name}\n" for name in names)
        packed = gzip.compress(listing(f"{TOP}2")[2].encode())
        pages = {
            f"{TOP}robots.txt": (200, {"Content-Type": "text/plain"}, robots),
            f"{TOP}sitemap.xml": listing(f"{TOP}not-named"),
            f"{TOP}sitemap-a.xml": index(f"{TOP}sitemap-a1.xml", f"{TOP}sitemap-a.xml", f"{TOP}sitemap-gone.xml"),
            f"{TOP}sitemap-a1.xml": index(f"{TOP}sitemap-a2.xml", f"{TOP}sitemap-a.xml"),
            f"{TOP}sitemap-a2.xml": listing(f"{TOP}1"),
            f"{TOP}sitemap-b.xml.gz": (200, {"Content-Type": "application/gzip"}, packed),
        }
        assert await listed(pages, [f"{TOP}1", f"{TOP}2"]) == ["", "1", "2"]

    async def test_of_another_site_is_nothing(self):
        pages = {
            f"{TOP}robots.txt": (200, {}, "Sitemap: http://b.example/sitemap.xml\nSitemap: /sitemap-moved.xml"),
            f"{TOP}sitemap-moved.xml": redirect("http://b.example/sitemap.xml"),
            "http://b.example/sitemap.xml": listing(f"{TOP}1"),
        }
        assert await listed(pages, REPLICA_SCOPE="domains") == [""]
        pages = {f"{TOP}sitemap.xml": listing("http://b.example/", f"{TOP}1")}
        assert await listed(pages, [f"{TOP}1"]) == ["", "1"]

    async def test_the_scope_holds(self):
        pages = {f"{TOP}sitemap.xml": listing(f"{TOP}docs/1", f"{TOP}cal/1", "http://www.a.example/docs/2")}
        settings = {"REPLICA_SCOPE": "hosts", "REPLICA_INCLUDE": ["*/docs/*"]}
        assert await listed(pages, [f"{TOP}docs/1"], **settings) == ["", "docs/1"]

    @pytest.mark.parametrize(
        "sitemap",
        [
            (404, HTML, "no"),
            (200, HTML, "<html>we have no such page</html>"),
            (200, XML, ""),
            (200, XML, b"\x00\xff<<<>"),
            (200, XML, b"\x1f\x8b not packed"),
            (200, XML, gzip.compress(bytes(60 << 20))),
            (200, XML, HEAD + b"<a/>" * 1_000_001),
            index(f"{TOP}sitemap.xml"),
            OSError("refused"),
        ],
        ids=["missing", "page", "empty", "garbage", "not-packed", "bomb", "tags", "itself", "down"],
    )
    async def test_a_broken_one_stops_nothing(self, sitemap):
        assert await listed({f"{TOP}sitemap.xml": sitemap}, REPLICA_EXPLORE=0, RETRY_ENABLED=False) == [""]

    async def test_one_that_comes_after_the_end_breaks_nothing(self):
        async def late(request):
            await asyncio.sleep(0.3)
            return listing(f"{TOP}2")

        settings = {**REPLICA, "REPLICA_SITEMAPS": True, "CLOSESPIDER_PAGECOUNT": 1}
        pages = {TOP: page(["/1"]), f"{TOP}1": page(seed=1), f"{TOP}sitemap.xml": late}
        result = await crawl(TopicSpider, pages, settings, seeds=TOP)
        assert result.stats["finish_reason"] == "closespider_pagecount"
        assert f"{TOP}2" not in result.urls

    async def test_one_that_breaks_off_is_read_so_far(self):
        pages = {f"{TOP}sitemap.xml": listing(f"{TOP}1", f"{TOP}2", end=False)}
        assert await listed(pages, [f"{TOP}1", f"{TOP}2"]) == ["", "1", "2"]

    async def test_files_and_urls_of_a_host_are_bounded(self, monkeypatch, caplog):
        monkeypatch.setattr(sitemaps, "MAX_FILES", 4)
        monkeypatch.setattr(sitemaps, "MAX_URLS", 5)
        asked = []

        def answer(request):
            asked.append(request.url)
            number = len(asked)
            return index(*(f"{TOP}sitemap-{number}-{k}.xml" for k in range(50)))

        pages = {TOP: page(), f"{TOP}sitemap.xml": answer}
        pages |= {f"{TOP}sitemap-{n}-{k}.xml": answer for n in range(1, 9) for k in range(50)}
        assert await listed(pages) == [""]
        assert len(asked) == 4
        pages = {f"{TOP}sitemap.xml": listing(*(f"{TOP}{n}" for n in range(50)))}
        assert len(await listed(pages, [f"{TOP}{n}" for n in range(50)])) == 6

    async def test_what_lists_pages_is_none(self):
        pages = {TOP: page(), f"{TOP}sitemap.xml": listing(f"{TOP}1"), f"{TOP}1": page(seed=1)}
        result = await crawl(TopicSpider, pages, {**REPLICA, "REPLICA_SITEMAPS": True}, seeds=TOP)
        assert result.stats["replica/page/observed"] == len(result.items) == 2
        assert {*result.states} == {TOP, f"{TOP}1"}


def test_fifty_megabytes_are_read_a_little_at_a_time():
    body = HEAD + b"".join(b"<url><loc>http://a.example/%s%d</loc></url>" % (b"x" * 900, n) for n in range(50_000))
    begin = time.process_time()
    sitemap, _ = parsed(body + b"</urlset>")
    entries = entries_of(sitemap, f"{TOP}sitemap.xml")
    next(entries)
    assert time.process_time() - begin < 1
    assert sum(1 for _ in entries) == 49_999


def test_entities_are_not_resolved():
    laughs = '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><urlset><url><loc>http://a.example/&b;</loc></url></urlset>'
    sitemap, _ = parsed(laughs.encode())
    assert [entry.url for entry in entries_of(sitemap, TOP)] in ([], [TOP])


@pytest.mark.parametrize("text", ["", "gestern", "2099-01-01", "1066-10-14", "0001-01-01", "99999-01-01", "2023-13-01"])
def test_a_date_that_cannot_be_true_is_none(text):
    assert date_of(text, NOW) is None


def test_a_date_in_another_time_zone_may_be_tomorrow():
    assert date_of("2024-01-01T12:00:00+00:00", NOW) == NOW + 43_200
