"""What callbacks yield is the truth of what is new: links, places and samples follow it, whatever the texts say."""

from __future__ import annotations

from itertools import count

import pytest
from scrapy import Spider
from web import REPLICA, crawl, text

from scrapy_replica import page_of

pytestmark = pytest.mark.asyncio

DROP = {**REPLICA, "REPLICA_MODE": "drop", "REPLICA_SEED": 7}


def shell(hidden, links):
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    said = f"<main><h1>Shop</h1><p>{text('shop', 60)}</p></main>"
    return f"<html><head><title>Shop</title></head><body data-id='{hidden}'>{said}{anchors}</body></html>"


class Late(Spider):
    """Gives its item after its links."""

    name = "late"
    start_urls = ("http://a.example/", "http://b.example/")
    is_late = True

    def parse(self, response):
        item = {"id": response.css("body::attr(data-id)").get()}
        if not self.is_late:
            yield item
        yield from response.follow_all(css="a")
        if self.is_late:
            yield item


def two_fronts(differ):
    """Two hosts with one text; the same link of the one is known when the other's is met."""
    pages = {}
    for host in "ab":
        pages[f"http://{host}.example/"] = shell(f"front {host if differ else ''}", [f"/{k}" for k in range(40)])
        pages |= {f"http://{host}.example/{k}": shell(f"{host if differ else ''} {k}", []) for k in range(40)}
    return pages


@pytest.mark.parametrize("is_late", [True, False])
async def test_links_of_a_page_that_gives_a_new_item_are_not_dropped_for_its_text(is_late):
    spider = type("Spider", (Late,), {"is_late": is_late})
    plain = await crawl(spider, two_fronts(True))
    ours = await crawl(spider, two_fronts(True), DROP)
    assert len(plain.items) == 82
    assert {item["id"] for item in ours.items} == {item["id"] for item in plain.items}


async def test_where_the_items_agree_links_of_duplicates_are_saved_as_without_items():
    plain = await crawl(Late, two_fronts(False))
    ours = await crawl(Late, two_fronts(False), DROP)
    assert {item["id"] for item in ours.items} == {item["id"] for item in plain.items}
    assert len(ours.items) <= 0.8 * len(plain.items)


async def test_it_is_told_that_each_item_of_a_repeated_page_is_new(caplog):
    class Counting(Late):
        def parse(self, response):
            for output in super().parse(response):
                yield output | {"number": next(numbers)} if isinstance(output, dict) else output

    numbers = count(1000)
    caplog.set_level("INFO")
    await crawl(Late, two_fronts(False), DROP)
    assert "leave it out" not in caplog.text
    await crawl(Counting, two_fronts(False), DROP)
    assert "81 of 81 pages with the text of another page gave items that no page gave before" in caplog.text


async def test_items_that_tell_how_the_page_was_come_by_save_as_much():
    class Telling(Late):
        def parse(self, response):
            known = page_of(response)
            request, told = response.request, {}
            if known:
                told = {"novelty": known.novelty, "relevance": known.relevance, "of": known.twin and known.twin.url}
            told |= {"depth": response.meta["depth"], "referer": request.headers.get("Referer", b"").decode()}
            for output in super().parse(response):
                yield output | told if isinstance(output, dict) else output

    class Counting(Late):
        def parse(self, response):
            for output in super().parse(response):
                yield output | {"count": next(numbers)} if isinstance(output, dict) else output

    numbers = count()
    plain = await crawl(Telling, two_fronts(False))
    ours = await crawl(Telling, two_fronts(False), DROP)
    assert {item["id"] for item in ours.items} == {item["id"] for item in plain.items}
    assert len(ours.items) == len((await crawl(Late, two_fronts(False), DROP)).items) <= 0.8 * len(plain.items)
    # A field that no other page ever repeats is news: nothing is saved.
    assert len((await crawl(Counting, two_fronts(False), DROP)).items) == len(plain.items)


async def test_a_callback_that_raises_leaves_no_page_unsettled():
    class Raises(Late):
        def parse(self, response):
            if not response.url.endswith("example/"):
                raise ValueError("no")
            return [response.follow(f"/{k}") for k in range(40)]

    plain = await crawl(Raises, two_fronts(False))
    ours = await crawl(Raises, two_fronts(False), DROP)
    assert plain.stats["spider_exceptions/ValueError"] == 80
    assert ours.stats["replica/sample/settled"] > 0
    assert ours.stats["finish_reason"] == "finished"


def two_names(words, n=60, lacking=()):
    """A shop by two names, whose pages lead to either; each thing has three URLs, but of those *lacking* the first name
    says that they are not available.
    """
    first, second = "http://shop.example", "http://www.shop.example"

    def html(title, said, links):
        anchors = "".join(f'<a href="{url}">{label}</a> ' for url, label in links)
        return f"<html><head><title>{title}</title></head><body><main><p>{said}</p></main>{anchors}</body></html>"

    pages = {}
    for here, there in ((first, second), (second, first)):
        shelves = [(f"{here}/list/{one}", f"Shelf {one}") for one in range(n // 12)]
        pages[f"{here}/"] = html("Home", text("home", 60), shelves)
        for one, (url, label) in enumerate(shelves):
            things = [
                (f"{(here, there)[(k + one) % 2]}/item/{k}", text((k,), 3)) for k in range(12 * one, 12 * one + 12)
            ]
            pages[url] = html(label, text(url[-6:], 60), things)
        for k in range(n):
            url, is_there = f"{here}/item/{k}", k not in lacking or here == second
            links = [(f"{url}?print=1", "Print"), (f"{there}/item/{k}?tab=2", "Details")]
            thing = (
                html(text((k,), 3), text(("thing", k), words), links)
                if is_there
                else html("Gone", text("gone", 40), [])
            )
            pages |= dict.fromkeys((url, f"{url}?print=1", f"{url}?tab=2"), thing)
    return pages


class Shopper(Spider):
    name = "shopper"
    start_urls = ("http://shop.example/",)

    def parse(self, response):
        yield {"title": response.css("title::text").get(), "says": response.css("p::text").get()}
        yield from response.follow_all(css="a")


@pytest.mark.parametrize("words", [12, 60])
async def test_pages_of_few_words_tell_two_names_of_a_host_by_their_items(words):
    """And of what repeats another page there a sample is asked of the second name: of all, and nothing is saved."""
    plain = await crawl(Shopper, two_names(words))
    ours = await crawl(Shopper, two_names(words), DROP)
    assert {item["says"] for item in ours.items} == {item["says"] for item in plain.items}
    assert len(ours.items) <= 0.75 * len(plain.items)


@pytest.mark.parametrize("words", [12, 60])
@pytest.mark.parametrize("lacking", [range(5, 60, 12), range(0, 60, 2)])
async def test_what_a_host_lacks_behind_one_text_is_asked_by_its_other_name(words, lacking):
    web = two_names(words, lacking=lacking)
    plain, ours = await crawl(Shopper, web), await crawl(Shopper, web, DROP)
    assert {item["says"] for item in ours.items} == {item["says"] for item in plain.items}
