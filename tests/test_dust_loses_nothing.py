"""Whole crawls in which an argument, a text or a line of robots.txt misleads: every content is found all the same."""

from __future__ import annotations

import json
import random
import sqlite3

import pytest
from scrapy import Request, Spider
from scrapy.linkextractors import LinkExtractor
from web import HTML, REPLICA, crawl, page, text

from scrapy_replica import TopicSpider
from scrapy_replica.crawldb.sqlite.database import FILE_NAME

TOP = "http://a.example/"
SETTINGS = {**REPLICA, "CONCURRENT_REQUESTS": 4, "REPLICA_TRAP_CREDIT": 0}
JSON = {"Content-Type": "application/json"}

pytestmark = pytest.mark.asyncio


class Ordinary(Spider):
    """A link extractor, and a ``Request`` for each link."""

    name = "ordinary"
    extractor = LinkExtractor()

    def __init__(self, seeds=TOP, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [seeds]

    def parse(self, response):
        for link in self.extractor.extract_links(response):
            yield Request(link.url)


both_spiders = pytest.mark.parametrize("spider", [TopicSpider, Ordinary])
both_modes = pytest.mark.parametrize("mode", ["demote", "drop"])


class Site:
    """Pages, and which contents were given out.

    :param content: number of a page, value of its argument -> what stands there.
    :param links: number of a page -> the links on it.
    """

    def __init__(self, content, links):
        self._content, self._links = content, links
        self.contents = set()

    def __call__(self, request):
        number, value = place_of(request.url)
        content = self._content(number, value)
        self.contents.add(content)
        return page(self._links(number), seed=content, title=f"Article {number}")


def place_of(url):
    """Number of a page and value of its last argument, empty without one."""
    path, _, query = url.removeprefix(TOP).partition("?")
    return int("".join(filter(str.isdigit, path)) or 0), query.rpartition("=")[2]


async def contents(spider, make_site, settings):
    """What a crawl with these settings finds, and what came of it."""
    site = make_site()
    result = await crawl(spider, site, settings, seeds=TOP)
    return site.contents, result


async def lost(spider, make_site, settings):
    """What plain Scrapy finds and a crawl with these settings does not."""
    plain, _ = await contents(Ordinary, make_site, {"CONCURRENT_REQUESTS": 4})
    ours, result = await contents(spider, make_site, {**SETTINGS, **settings})
    assert len(plain) > 100
    return plain - ours, result


def rules(folder):
    db = sqlite3.connect(folder / FILE_NAME)
    try:
        return [(json.loads(rule), state) for rule, state in db.execute("SELECT rule, state FROM rules ORDER BY id")]
    finally:
        db.close()


def tree(number, n):
    return [child for child in (2 * number + 1, 2 * number + 2) if child < n]


def grows(path, n, first, values=3):
    """A tree of pages, each linked by several values of an argument; from number *first* on the value tells content."""

    def links(number):
        return [f"/{path(child)}?zref={value}" for child in tree(number, n) for value in range(values)]

    def content(number, value):
        return (number, value) if number >= first else number

    return lambda: Site(content, links)


@both_modes
@both_spiders
class TestAnArgumentThatMattersLater:
    async def test_in_another_folder(self, spider, mode):
        site = grows(lambda n: f"old/{n}" if n < 300 else f"new/{n}", 450, 300)
        missing, result = await lost(spider, site, {"REPLICA_MODE": mode})
        assert missing == set()
        assert len(result.urls) < 300 * 2 + 3 * 150

    async def test_in_the_same_folder(self, spider, mode):
        missing, result = await lost(spider, grows(lambda n: f"a/{n}", 450, 300), {"REPLICA_MODE": mode})
        assert missing == set()
        assert len(result.urls) < 300 * 2 + 3 * 150

    async def test_for_some_of_the_pages(self, spider, mode):
        """Beside each other, so that no folder tells them apart."""

        def links(number):
            return [f"/a/{child}?zref={value}" for child in tree(number, 450) for value in range(3)]

        def site():
            return Site(lambda n, value: (n, value) if n > 100 and n % 3 == 0 else n, links)

        missing, _ = await lost(spider, site, {"REPLICA_MODE": mode})
        assert missing == set()
