"""Items whose difference stands in no text: in what the callback was told, beside the page, or steps further on."""

from __future__ import annotations

import json
import random
from functools import partial
from hashlib import md5

import pytest
from scrapy import Spider
from web import HTML, REPLICA, crawl, redirect, text

pytestmark = pytest.mark.asyncio

SITE = "http://site.example"
ONE = {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}
N_CATEGORIES = 12


def html(title, body, links=()):
    anchors = "".join(f'<li><a href="{url}">{words}</a></li>' for url, words in links)
    return f"<html><head><title>{title}</title></head><body>{body}<ul>{anchors}</ul></body></html>"


def said(seed, words=40):
    return f"<p>{text(seed, words)}</p>"


async def lost(spider, answer, settings=()):
    """The items that the add-on loses, of those that plain Scrapy finds."""
    plain = await crawl(spider, answer, dict(settings))
    ours = await crawl(spider, answer, {**REPLICA, **dict(settings)})
    assert plain.items
    return [item for item in plain.items if item not in ours.items]


def shop(request):
    """Products stand in several categories, by URLs that say which."""
    path = request.url.removeprefix(SITE)
    if path.startswith("/list"):
        number = path.partition("=")[2]
        some = random.Random(number).sample(range(60), 15)
        return html(path, said(path), [(f"/p/{one}?cat={number}", text(("p", one), 2)) for one in some])
    if path.startswith("/p/"):
        number = path[3:].partition("?")[0]
        return html(number, f"<h1>{text(('p', number), 2)}</h1>{said(path.partition('?')[0], 60)}")
    return html("shop", said("front"), [(f"/list?cat={number}", str(number)) for number in range(N_CATEGORIES)])


class Told(Spider):
    """Tells its callbacks the category, by a name that looks as if a machine had made it."""

    name = "told"
    start_urls = (f"{SITE}/",)

    def parse(self, response):
        for number, link in enumerate(response.css("a")):
            name = md5(str(number).encode(), usedforsecurity=False).hexdigest()
            yield response.follow(link, self.category, cb_kwargs={"name": name})

    def category(self, response, name):
        yield from response.follow_all(css="a", callback=self.product, cb_kwargs={"category": name})

    def product(self, response, category):
        yield {"category": category, "name": response.css("h1::text").get()}


async def test_what_a_callback_was_told_is_no_token_of_the_spiders():
    assert await lost(Told, shop) == []


def strips(request):
    """A strip for each day lies beside its page, each under one name."""
    path = request.url.removeprefix(SITE)
    if path == "/":
        return html("comic", said("front"), [("/comic/2021/01/01/", "first")])
    year, month, day = map(int, path.split("/")[2:5])
    day, month = (day + 1, month) if day < 28 else (1, month + 1)
    links = [(f"/comic/{year}/{month:02d}/{day:02d}/", "next")] if month < 6 else []
    return html("comic", f"{said('about', 8)}<img src=strip.png>", links)


class Pictures(Spider):
    name = "pictures"
    start_urls = (f"{SITE}/",)

    def parse(self, response):
        for source in response.css("img::attr(src)").getall():
            yield {"image_urls": [response.urljoin(source)]}
        yield from response.follow_all(css="a")


async def test_pictures_that_lie_beside_their_page():
    assert await lost(Pictures, strips) == []


def routes(request):
    """Shells, whose callback begins a search and asks for what it found."""
    path, _, query = request.url.removeprefix(SITE).partition("?")
    names = [f"C{number:02d}" for number in range(10)]
    if path == "/":
        return html("routes", said("front"), [(f"/from/{name}", name) for name in names])
    if path.startswith("/from/"):
        own = path[-3:]
        return html(own, said(own), [(f"/route?from={own}&to={name}", name) for name in names if name != own])
    if path == "/route":
        return html("fares", said("shell", 60), [("/", "home")])
    found = (
        {"search": md5(query.encode(), usedforsecurity=False).hexdigest()} if path == "/search" else {"id": path[9:]}
    )
    return 200, {"Content-Type": "application/json"}, json.dumps(found)


class Routes(Spider):
    name = "routes"
    start_urls = (f"{SITE}/",)

    def parse(self, response):
        if "/route?" in response.url:
            yield response.follow(f"/search?{response.url.partition('?')[2]}", self.begun)
        else:
            yield from response.follow_all(css="a")

    def begun(self, response):
        yield response.follow(f"/results/{response.json()['search']}", self.found)

    def found(self, response):
        yield response.json()


async def test_shells_whose_items_come_two_steps_later():
    assert await lost(Routes, routes, ONE) == []


def classifieds(request):
    """Of ads by category and region one page in 25 has any; the others say so in the same words."""
    path, _, query = request.url.removeprefix(SITE).partition("?")
    cells = [(category, region) for category in range(12) for region in range(14)]
    ads = {cell: number for number, cell in enumerate(random.Random(3).sample(cells, 7))}
    if path == "/":
        return html("ads", said("front"), [(f"/cat/{number}", f"category {number}") for number in range(12)])
    if path.startswith("/cat/"):
        own = path[5:]
        return html(path, said(path), [(f"/ads?cat={own}&region={number}", f"region {number}") for number in range(14)])
    if path.startswith("/ad/"):
        return html(path, f"<h1>{text(path, 3)}</h1>{said(path)}")
    if path != "/ads":
        return 404, HTML, ""
    cell = tuple(int(one.partition("=")[2]) for one in query.split("&"))
    if cell in ads:
        return html("ads", said("how to find ads", 25), [(f"/ad/{ads[cell]}", text(("ad", ads[cell]), 3))])
    return html("ads", said("nobody offers anything"), [("/", "home"), ("/place", "place an ad")])


class Headings(Spider):
    name = "headings"
    start_urls = (f"{SITE}/",)

    def parse(self, response):
        if (heading := response.css("h1::text").get()) is not None:
            yield {"heading": heading}
        yield from response.follow_all(css="a")


async def test_a_sparse_matrix_of_two_arguments():
    assert await lost(Headings, classifieds, ONE) == []


async def test_what_the_cache_keeps_is_what_was_fetched(tmp_path):
    """By its own name: samples of a rule that was wrong lay under the names of those in whose favour it saved."""

    def goods(request):
        path, _, query = request.url.removeprefix(SITE).partition("?")
        if path in {"/", "/list"}:
            page = int(query.partition("=")[2] or 1)
            own = range(10 * page - 10, 10 * page)
            links = [(f"/p/{one}{view}", text((one, view), 2)) for one in own for view in ("", "?view=big")]
            return html(path, said(page, 30), [*links, (f"/list?page={page + 1}", "next")] if page < 15 else links)
        shown = (path, query) if int(path[3:]) >= 60 else path
        return html(path, f"<h1>{text(shown, 3)}</h1>{said(shown, 60)}")

    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    plain = await crawl(Headings, goods)
    await crawl(Headings, goods, {**REPLICA, **cache})
    again = await crawl(Headings, goods, cache)
    assert again.stats["httpcache/hit"] > 200
    assert [item for item in plain.items if item not in again.items] == []


def files(request, *, is_led):
    """Some things have no file, which the site says by a 404, to which it may lead. Others show themselves."""
    path, _, query = request.url.removeprefix(SITE).partition("?")
    if path in {"/", "/list"}:
        page = int(query.partition("=")[2] or 0)
        links = [(f"/thing/{number}", text(("name", number), 2)) for number in range(5 * page, 5 * page + 5)]
        return html(path, said(("list", page)), links + [(f"/list?page={page + 1}", "next")] * (page < 39))
    number = int(path.rpartition("/")[2])
    has_none = query == "dl=1" and number >= 80 and random.Random(number).random() < 0.3
    if has_none and is_led:
        return redirect(f"/gone/{number}")
    if has_none or path.startswith("/gone/"):
        return 404, HTML, html("none", f"<b>{number}</b>")
    return html(path, f"<h1>{text(('name', number), 2)}</h1>{said(number, 60)}", [(f"/thing/{number}?dl=1", "Get it")])


class Missing(Spider):
    """Makes items of what is not there, as the user asks for it."""

    name = "missing"
    start_urls = (f"{SITE}/",)
    handle_httpstatus_list = (404,)

    def parse(self, response):
        if response.status == 404:
            yield {"missing": response.css("b::text").get()}
        yield from response.follow_all(css="a")


class Failing(Missing):
    """Hears of it as a failure."""

    handle_httpstatus_list = ()

    def parse(self, response):
        yield from response.follow_all(css="a", errback=self.failed)

    def failed(self, failure):
        yield {"failed": failure.value.response.css("b::text").get()}


@pytest.mark.parametrize("is_led", [False, True])
@pytest.mark.parametrize("spider", [Missing, Failing])
async def test_items_of_what_is_no_page(spider, is_led):
    """A sample that was not there said nothing of what stood for it, whatever the callback made of it."""
    assert await lost(spider, partial(files, is_led=is_led)) == []
