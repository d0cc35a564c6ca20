"""Copies whose last pages are others: what was right for long and then wrong is found before the crawl ends."""

from __future__ import annotations

from itertools import count
from urllib.parse import urlsplit

import pytest
from hostile.building import page, site
from hostile.scenario import Scenario, outcomes_of
from scrapy import Spider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from web import HTML, REPLICA, crawl, text

pytestmark = pytest.mark.asyncio

N = 60
SITE, MIRROR = "site.example", "mirror.example"
SHOPS = ("http://a.example/", "http://b.example/")


def product(number, price, links=()):
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    said = f"<main><h1>Product {number}</h1><p>{text(number, 90)}</p></main>"
    return f"<html><body>{said}<div><span class=price>{price}</span></div><ul>{anchors}</ul></body></html>"


def listing(place, links):
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return f"<html><body><main><p>{text(place, 40)}</p></main><ul>{anchors}</ul></body></html>"


def shop(of, *, lists_at_once):
    """A shop whose lists are found at once, or one after the other; the price of a product is that of *of*."""

    def answer(request):
        url = urlsplit(request.url)
        last = url.path.rpartition("/")[2]
        if url.path.startswith("/p/"):
            return product(last, of(url, int(last)), [f"/p/{(int(last) + 3) % N}"])
        if last and not last.isdecimal():
            return 404, HTML, "no"
        lists = range(1, N // 10) if not last and lists_at_once else [int(last or 0) + 1]
        links = [f"/{k}" for k in lists if k < N // 10]
        links += [f"/p/{k}" for k in range(int(last or 0) * 10, int(last or 0) * 10 + 10)]
        return listing(url.path, links)

    return answer


class Prices(Spider):
    name = "prices"
    start_urls = SHOPS

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.found = set()

    def parse(self, response):
        item = {"name": response.css("h1::text").get(), "price": response.css(".price::text").get()}
        if item["name"]:
            self.found.add((item["name"], item["price"]))
            yield item
        yield from response.follow_all(css="a")


class Silent(Prices):
    """Keeps what it finds to itself."""

    def parse(self, response):
        return [output for output in super().parse(response) if not isinstance(output, dict)]


class ByBoth(Prices):
    start_urls = ("http://a.example/", "https://a.example/")


def dearer_at_the_end(url, number):
    is_copy = url.netloc.startswith("b") or url.scheme == "https"
    return number + 1000 * (number >= N - 8 and is_copy)


@pytest.mark.parametrize(
    ("spider", "lists_at_once"), [(Prices, True), (Prices, False), (Silent, False), (ByBoth, False)]
)
async def test_prices_that_the_last_products_of_another_host_have(spider, lists_at_once):
    """Where the lists lead to each other, the last ones stand behind pages that were left out."""
    settings = {**REPLICA, "REPLICA_MODE": "drop"}
    result = await crawl(spider, shop(dearer_at_the_end, lists_at_once=lists_at_once), settings)
    assert len(result.spider.found) == N + 8


async def test_what_changes_with_each_fetch_makes_no_mirror_another_site():
    numbers = count()
    settings = {**REPLICA, "REPLICA_MODE": "drop"}
    result = await crawl(Silent, shop(lambda url, number: next(numbers), lists_at_once=True), settings)
    assert len(result.urls) < 0.75 * 2 * (N + N // 10)


def two_hosts(more):
    """A work on two hosts; *more* is what a host has besides, and the links that some of its pages have."""
    pages = {}
    for host in (SITE, MIRROR):
        links, own = more(host)
        pages |= site(host, 120, of=SITE, more=lambda number, links=links: links.get(number, []), fanout=3)
        pages |= own
    return pages


def own_directory(host):
    links = [f"/own/{k}" for k in range(20)]
    return {110: links}, {f"http://{host}{url}": page(f"{url} of {host}") for url in links}


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_directory_of_a_mirror_that_only_pages_that_were_left_out_lead_to(seed):
    """It was never met on the mirror, so no sample was drawn in it."""
    seeds = (f"http://{SITE}/", f"http://{MIRROR}/")
    settings = {"REPLICA_SEED": seed}
    scenario = Scenario(name="own", tried="", pages=lambda: two_hosts(own_directory), seeds=seeds, settings=settings)
    (outcome,) = await outcomes_of(scenario)
    assert len(outcome.wanted) == 160
    assert not outcome.lost


class OwnByRules(CrawlSpider):
    name = "own-by-rules"
    start_urls = (f"http://{SITE}/", f"http://{MIRROR}/")
    rules = (Rule(LinkExtractor(allow="/own/"), callback="item"), Rule(LinkExtractor()))

    def item(self, response):
        yield {"says": response.css("p::text").get()}


@pytest.mark.parametrize("is_kept", [True, False])
async def test_what_is_looked_at_at_the_end_goes_to_the_callback_of_its_link(tmp_path, is_kept):
    """What a request has beyond its URL is not kept once that is done, and three items of 88 were lost."""
    settings = {**REPLICA, **({"JOBDIR": str(tmp_path)} if is_kept else {})}
    result = await crawl(OwnByRules, two_hosts(own_directory), settings)
    assert len({item["says"] for item in result.items}) == 40


def users(host):
    """Pages of little text, which one host alone has links to, though both answer."""
    links = [f"/users/{k}" for k in range(60)]
    return {20: links} if host == SITE else {}, {f"http://{host}{url}": page(url, says="Since 2019") for url in links}


async def test_a_part_that_one_host_alone_leads_to_is_not_asked_of_its_mirror():
    seeds = (f"http://{SITE}/", f"http://{MIRROR}/")
    scenario = Scenario(name="users", tried="", pages=lambda: two_hosts(users), seeds=seeds)
    (outcome,) = await outcomes_of(scenario)
    assert not outcome.lost
    assert {one.url for one in outcome.ours.asked} <= {one.url for one in outcome.plain.asked}
    assert len(outcome.ours.asked) < len(outcome.plain.asked) - 40


def choices(n, n_own):
    """Two hosts of one site, with *n* lists of one text; of *n_own* more the mirror alone has pages."""
    says, pages = "the same list of goods that each choice of a colour shows " * 10, {}
    lists, own = [f"/goods?colour={k}" for k in range(n)], [f"/goods?colour={1000 + k}" for k in range(n_own)]
    more = {3: ["/lists"], 39: ["/offers"]}
    for host in (SITE, MIRROR):
        pages |= site(host, 40, of=SITE, more=lambda number: more.get(number, []))
        pages |= {f"http://{host}/lists": page("lists", lists), f"http://{host}/offers": page("offers", own)}
        pages |= {f"http://{host}{url}": page("goods", says=says) for url in lists}
    pages |= {f"http://{SITE}{url}": page("goods", says=says) for url in own}
    return pages | {f"http://{MIRROR}{url}": page(f"offer {url}") for url in own}


@pytest.mark.parametrize("seed", [10, 14, 16])
async def test_what_a_host_answers_with_a_page_that_it_gave_sixty_times_before(seed):
    """Mirrors are asked of ever fewer such pages: when none was looked at at the end, 4 of 24 crawls lost 9 of 10."""
    scenario = Scenario(
        name="choices",
        tried="",
        pages=lambda: choices(60, 10),
        seeds=(f"http://{SITE}/", f"http://{MIRROR}/"),
        settings={"REPLICA_SEED": seed},
    )
    (outcome,) = await outcomes_of(scenario)
    assert len(outcome.wanted) == 53
    assert not outcome.lost
