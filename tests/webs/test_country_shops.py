"""Shops of one owner for several countries, and mirrors, in whole crawls by spiders that yield items."""

from __future__ import annotations

import random
from collections import Counter
from urllib.parse import urlsplit

import pytest
from scrapy import Request, Spider
from web import REPLICA, crawl, redirect, text

pytestmark = pytest.mark.asyncio

COUNTRIES = {"de": "EUR", "ch": "CHF", "uk": "GBP", "pl": "PLN", "se": "SEK", "at": "EUR", "fr": "EUR", "it": "EUR"}
COUNTRIES |= {"es": "EUR", "nl": "EUR"}


def shop(host, currency, n, shown, owner=None):
    """The pages of a shop with *n* products: the texts of all its sisters, but for what *shown* says of an offer.

    Shops of one *owner* have the same offers.
    """
    front = "".join(f'<a href="/p/{number}">{text((number, "name"), 3)}</a> ' for number in range(n))
    pages = {f"https://{host}/": f"<html><body><main>{front}</main></body></html>"}
    for number in range(n):
        name = text((number, "name"), 3)
        offer = shown(random.Random(f"{owner or host}{number}"), currency)
        pages[f"https://{host}/p/{number}"] = (
            f"<html><head><title>{name}</title></head><body>"
            f"<main><h1>{name}</h1><p>{text(number, 90)}</p>{offer}</main></body></html>"
        )
    return pages


def full(rng, currency):
    price = f"{rng.randint(5, 500)}.{rng.randint(10, 99)} {currency}"
    return f"<p><b class=price>{price}</b> in stock: {rng.randint(0, 60)}, delivered in {rng.randint(1, 9)} days</p>"


def bare(rng, _):
    """A number that the main text leaves out."""
    return f"<span class=price>{rng.randint(5, 5000)}</span>"


def of_data(rng, currency):
    """A price that is shown by a script."""
    offer = f'{{"@type": "Offer", "price": "{rng.randint(5, 5000)}.00", "priceCurrency": "{currency}"}}'
    return f'<b class=price data-price="{rng.randint(5, 5000)}"></b><script type="application/ld+json">{offer}</script>'


class Prices(Spider):
    name = "prices"
    yields_items = True

    def __init__(self, hosts=(), **kwargs):
        super().__init__(**kwargs)
        self.hosts = hosts

    async def start(self):
        for host in self.hosts:
            yield Request(f"https://{host}/")

    def parse(self, response):
        yield from response.follow_all(css="a", callback=self.product)

    def product(self, response):
        if self.yields_items:
            price = response.css(".price::text, .price::attr(data-price)").get()
            yield {"url": response.url, "name": response.css("h1::text").get(), "price": price}


class Reader(Prices):
    """Yields nothing."""

    yields_items = False


async def crawled(countries, shown, mode, *, spidercls=Prices, n=30):
    hosts = [f"shop.{country}.example" for country in countries]
    pages = {
        url: page
        for host, country in zip(hosts, countries, strict=True)
        for url, page in shop(host, COUNTRIES[country], n, shown).items()
    }
    return pages, await crawl(spidercls, pages, REPLICA | {"REPLICA_MODE": mode}, hosts=hosts)


@pytest.mark.parametrize(
    ("n_hosts", "shown", "mode"),
    [
        (3, full, "demote"), (3, bare, "drop"), (3, of_data, "demote"),
        (10, full, "drop"), (10, bare, "demote"), (10, of_data, "drop"),
    ],
)  # fmt: skip
async def test_no_item_of_a_country_shop_is_lost(n_hosts, shown, mode):
    n = 120 // n_hosts
    _, result = await crawled(list(COUNTRIES)[:n_hosts], shown, mode, n=n)
    assert len({item["url"] for item in result.items}) == n * n_hosts


@pytest.mark.parametrize("shown", [full, bare], ids=["text", "bare"])
async def test_no_page_of_a_country_shop_is_lost_where_the_spider_yields_nothing(shown):
    pages, result = await crawled(["de", "ch", "uk"], shown, "demote", spidercls=Reader)
    assert set(pages) <= set(result.urls)


async def test_no_item_of_a_shop_is_lost_to_which_another_one_links():
    """Only the first one is a seed."""
    de, ch = (shop(f"shop.{country}.example", COUNTRIES[country], 40, full) for country in ("de", "ch"))
    front = "https://shop.de.example/"
    de[front] = de[front].replace("</main>", '<a href="https://shop.ch.example/">Schweiz</a></main>')
    links = [f"https://shop.ch.example/p/{number}" for number in range(40)]
    ch["https://shop.ch.example/"] = "".join(f'<a href="{link}">{link}</a>' for link in links)

    class Follower(Prices):
        def product(self, response):
            if response.css("h1"):
                yield from super().product(response)
            yield from response.follow_all(css="a", callback=self.product)

    result = await crawl(Follower, {**de, **ch}, REPLICA, hosts=["shop.de.example"])
    assert len({item["url"] for item in result.items}) == 80


def mirrors(n):
    hosts = ["a.example", "b.example"]
    return {url: page for host in hosts for url, page in shop(host, "EUR", n, full, "one").items()}, hosts


@pytest.mark.parametrize("spidercls", [Prices, Reader], ids=["items", "no items"])
async def test_mirrors_are_found_and_saved_where_the_spider_begins_on_both(spidercls):
    pages, hosts = mirrors(60)
    result = await crawl(spidercls, pages, REPLICA | {"CONCURRENT_REQUESTS_PER_DOMAIN": 1}, hosts=hosts)
    assert result.stats["replica/host/blocked"] == 1
    per_host = Counter(urlsplit(url).hostname for url in result.urls)
    assert per_host["a.example"] == 61
    assert per_host["b.example"] <= 40
    if spidercls.yields_items:
        assert len({item["name"] for item in result.items}) == 60


async def test_mirrors_whose_items_are_other_ones_are_two_hosts():
    class Stamped(Prices):
        def product(self, response):
            yield {"shop": urlsplit(response.url).hostname, "name": response.css("h1::text").get()}

    pages, hosts = mirrors(30)
    result = await crawl(Stamped, pages, REPLICA, hosts=hosts)
    assert set(pages) <= set(result.urls)


EDITIONS = ("us", "uk", "ca")


def editions(request):
    """Editions of one site for three countries, whose articles are one: what these are sold by is not."""
    host, path = urlsplit(request.url).netloc.split(".")[0], urlsplit(request.url).path
    if host not in EDITIONS:
        return f"<html><body><h2>{host}{path}</h2><p>{text(request.url, 50)}</p></body></html>"
    if path == "/" or path.startswith("/page/"):
        first = 10 * int(path.removeprefix("/page/").strip("/") or 0)
        links = [(f"/d/{number}", text((number, "name"), 2)) for number in range(first, first + 10)]
        links += [(f"/page/{first // 10 + 1}", "Next")] if first < 90 else []
        links += [(f"https://{other}.deals.example/", other) for other in EDITIONS if other != host]
    else:
        number = int(path.rpartition("/")[2])
        if path.startswith("/go/"):
            return redirect(f"https://{host}-shop{number % 20}.example/buy/{number}")
        links = [(f"/go/{number}", "Get it"), ("/", "Home"), (f"/d/{(number + 1) % 100}", "Next")]
    anchors = "".join(f'<li><a href="{url}">{words}</a></li>' for url, words in links)
    name = f"<h1>{text((number, 'name'), 2)}</h1>" if path.startswith("/d/") else ""
    return (
        f"<html><head><title>{path}</title></head><body>{name}<p>{text(path, 60)}</p><ul>{anchors}</ul></body></html>"
    )


class Deals(Spider):
    name = "deals"
    start_urls = ("https://us.deals.example/",)

    def parse(self, response):
        name = response.css("h1::text").get()
        if name:
            yield {"name": name}
        yield from response.follow_all(css="a[href*='/go/']", callback=self.shop, cb_kwargs={"name": name})
        yield from response.follow_all(css="a:not([href*='/go/'])")

    def shop(self, response, name):
        yield {"name": name, "shop": response.css("h2::text").get()}


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_editions_whose_links_lead_to_shops_of_their_own_are_no_copies(seed):
    """Half of the shops of two were lost: a redirect was no page that could be compared."""
    plain = await crawl(Deals, editions)
    ours = await crawl(Deals, editions, {**REPLICA, "REPLICA_SEED": seed})
    assert len(plain.items) > 580
    assert [item for item in plain.items if item not in ours.items] == []
