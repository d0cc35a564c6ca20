"""What a crawl gives of its pages: fields of items, new ones only, and the pipeline that drops what repeats."""

from __future__ import annotations

import pytest
from scrapy import Request, Spider
from web import REPLICA, crawl, page, text

from scrapy_replica import NoveltyPipeline, TopicSpider
from scrapy_replica.components.spider import FIELDS, USUAL, read_fields
from scrapy_replica.config import ConfigError
from scrapy_replica.crawldb import items as tables

TOP = "http://a.example/"
PAGES = {
    TOP: page(["/one", "/same", "/two"], seed="top"),
    f"{TOP}one": page(["/one/x"], seed="one", title="One"),
    f"{TOP}same": page(["/one/x"], seed="one", title="One"),
    f"{TOP}two": page(seed="two"),
    f"{TOP}one/x": page(seed="x"),
}


async def items(**arguments):
    result = await crawl(TopicSpider, PAGES, {**REPLICA, "REPLICA_DUST": False}, seeds=TOP, **arguments)
    return {item["url"]: item for item in result.items}


@pytest.mark.asyncio
class TestFields:
    async def test_the_usual_ones_have_text_and_what_a_page_repeats(self):
        found = await items()
        assert set(found) == set(PAGES)
        assert all(tuple(item) == USUAL for item in found.values())
        first, second = sorted((found[f"{TOP}one"], found[f"{TOP}same"]), key=lambda item: item["novelty"] != "novel")
        assert (first["novelty"], first["repeats"]) == ("novel", None)
        assert (second["novelty"], second["repeats"]) == ("exact-duplicate", first["url"])
        assert first["text"] == second["text"]
        assert text("one") in first["text"]

    async def test_those_that_are_asked_for(self):
        found = await items(fields="url, markdown,links,depth")
        assert list(found[f"{TOP}one"]) == ["url", "markdown", "links", "depth"]
        assert found[f"{TOP}one"]["links"] == [{"url": f"{TOP}one/x", "anchor": ""}]
        assert text("one") in found[f"{TOP}one"]["markdown"]
        assert found[f"{TOP}one"]["depth"] == 1

    async def test_new_ones_only(self):
        found = await items(new_only="true")
        assert len(found) == 4
        assert {item["novelty"] for item in found.values()} == {"novel"}

    async def test_what_is_no_html_has_no_markdown(self):
        pages = {TOP: page(["/data"]), f"{TOP}data": (200, {"Content-Type": "application/json"}, '{"a": 1}')}
        result = await crawl(TopicSpider, pages, REPLICA, seeds=TOP, fields=",".join(FIELDS))
        (item,) = (item for item in result.items if item["url"].endswith("data"))
        assert (item["markdown"], item["date"], item["text"]) == (None, None, "")


def test_fields_are_read():
    assert read_fields("") == USUAL
    assert read_fields("+links") == (*USUAL, "links")
    assert read_fields("url,+links,url") == ("url", "links")
    with pytest.raises(ConfigError, match="fields: there is no 'body'; choose of url, title, "):
        read_fields("url,body")


class Shop(Spider):
    """Yields an item for each product, and one that is empty but for its URL."""

    name = "shop"
    start_urls = (TOP,)

    def parse(self, response):
        for name in ("/p/1", "/p/1?sid=9", "/p/2", "/shell/1", "/shell/2"):
            yield Request(response.urljoin(name), self.product)

    def product(self, response):
        yield {"url": response.url}
        yield {"url": response.url, "name": response.css("h1::text").get()}


def product(seed, name):
    return page(seed=seed).replace("<p>", f"<h1>{name}</h1><p>", 1)


PRODUCTS = {
    TOP: page(seed="top"),
    f"{TOP}p/1": product("p1", "one"),
    f"{TOP}p/1?sid=9": product("p1", "one"),
    f"{TOP}p/2": product("p2", "two"),
    # Equal but for the name: what a shell shows beside its text is another product.
    f"{TOP}shell/1": product("shell", "A-1"),
    f"{TOP}shell/2": product("shell", "B-2"),
}


@pytest.mark.asyncio
@pytest.mark.parametrize("mode", ["observe", "demote", "drop"])
async def test_the_pipeline_drops_what_repeats_and_nothing_else(mode):
    settings = {**REPLICA, "REPLICA_MODE": mode, "ITEM_PIPELINES": {NoveltyPipeline: 100}, "REPLICA_DUST": False}
    result = await crawl(Shop, PRODUCTS, settings)
    names = [item["name"] for item in result.items if "name" in item]
    assert sorted(names) == ["A-1", "B-2", "one", "two"]
    assert result.stats["item_dropped_count"] == 1
    assert len([item for item in result.items if "name" not in item]) == 5


@pytest.mark.asyncio
async def test_the_pipeline_keeps_what_is_not_known_for_certain(monkeypatch):
    monkeypatch.setattr(tables, "EXACT", 0)  # all are known to the filter, which may err
    settings = {**REPLICA, "REPLICA_MODE": "observe", "ITEM_PIPELINES": {NoveltyPipeline: 100}, "REPLICA_DUST": False}
    result = await crawl(Shop, PRODUCTS, settings)
    assert len(result.items) == 10
    assert "item_dropped_count" not in result.stats


@pytest.mark.asyncio
async def test_the_pipeline_without_the_addon_lets_all_through():
    result = await crawl(Shop, PRODUCTS, {"ITEM_PIPELINES": {NoveltyPipeline: 100}})
    assert len(result.items) == 10


@pytest.mark.asyncio
async def test_the_pipeline_drops_the_items_of_pages_that_repeat_others():
    settings = {**REPLICA, "ITEM_PIPELINES": {NoveltyPipeline: 100}, "REPLICA_DUST": False}
    result = await crawl(TopicSpider, PAGES, settings, seeds=TOP)
    assert len(result.items) == 4
