"""One shop under many hosts, in many languages and for many customers; and true copies, which are to be saved."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timezone
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from hostile.building import text
from hostile.scenario import Crawled, Scenario, Topical

from shapes.building import drawn, links, name_of, page, product, script
from shapes.shape import BOTH, SHOP, Answer, Contents, Place, Reader, ScriptReader, Shape, items_of, pages_of, scenario

CURRENCIES = {"de": "EUR", "ch": "CHF", "uk": "GBP", "se": "SEK", "pl": "PLN", "cz": "CZK", "us": "USD", "ca": "CAD"}
CURRENCIES |= {"jp": "JPY", "no": "NOK"}
"""Country -> currency, of ten countries."""


class Products(Reader):
    """Yields the product of a page."""

    def read(self, response: Any) -> Iterable[Any]:
        name = response.css("h1::text").get()
        if name:
            yield {"name": name, "says": response.css(".says::text").getall(), "url": response.url}


class Stamped(Products):
    """Says when each item was made, and gives it a number."""

    def read(self, response: Any) -> Iterable[Any]:
        for item in super().read(response):
            yield {**item, "fetched": datetime.now(timezone.utc).isoformat(), "uuid": str(uuid4())}


def product_page(number: int, says: Iterable[str], more: str = "") -> str:
    name = name_of("product", number)
    said = "".join(f"<p class='says'>{one}</p>" for one in says)
    return page(f"<main><h1>{name}</h1><p>{text(number)}</p>{said}</main>{more}", title=name)


def front(n: int, hosts: Iterable[str] = (), more: str = "") -> str:
    """Links to *n* products, and to the same shop on other hosts."""
    products = "".join(f"<li><a href='/product/{k}'>{name_of('product', k)}</a></li>" for k in range(n))
    others = links((f"https://{host}/" for host in hosts), "Our other shops")
    return page(f"<main><ul>{products}</ul></main><footer>{others}</footer>{more}", title="All products")


def country_site(n: int, hosts: list[str]) -> Answer:
    """*n* products of which all but the price, the currency, the stock and the delivery is the same on all *hosts*."""

    def answer(place: Place) -> str | None:
        header = f"<header>{place.host}</header>"
        if place.path == "/":
            return front(n, hosts, header)
        if not place.path.startswith("/product/"):
            return None
        sold = product(place.number, place.host)
        price = f"{sold['price']} {CURRENCIES[place.host.rpartition('.')[2]]}"
        return product_page(
            place.number, [price, f"In stock: {sold['stock']}, delivered in {sold['days']} days"], header
        )

    return answer


def countries(n: int, hosts: int, *, are_all_seeds: bool) -> Scenario:
    names = [f"shop.{country}" for country in list(CURRENCIES)[:hosts]]
    return scenario(
        f"shops of {hosts} countries" + ("" if are_all_seeds else ", linked"),
        "Price, currency, stock and delivery differ, the texts do not.",
        country_site(n, names),
        seeds=[f"https://{name}/" for name in names[: None if are_all_seeds else 1]],
        spider=Products,
    )


def tenants(n: int) -> Scenario:
    """Five customers of one product, each with *n* accounts on the same pages."""

    def answer(place: Place) -> str | None:
        if place.path == "/":
            return front(n)
        if not place.path.startswith("/product/"):
            return None
        draw = drawn(place.host, place.number)
        rows = [f"{name_of(place.host, place.number, k, words=2)}: {draw.randint(1, 9999)}" for k in range(3)]
        return product_page(place.number, rows)

    seeds = [f"https://{name}.app.example/" for name in ("acme", "bolt", "core", "dune", "echo")]
    return scenario("tenants", "One product, the data of five customers.", answer, seeds=seeds, spider=Products)


class Chain(Reader):
    """Yields the data that each page of a store has in its script."""

    def read(self, response: Any) -> Iterable[Any]:
        if response.css("script"):
            yield {"page": response.css("h1::text").get(), "store": response.css("script::text").get()}


def chain(n: int) -> Scenario:
    """*n* stores, each with a host of its own and eight pages, the same but for the store's data."""
    pages = ("menu", "hours", "contact", "jobs", "offers", "about", "gallery", "team")

    def answer(place: Place) -> str:
        if place.host == "shop.example":
            return page("<main>" + links((f"https://s{k}.shop.example/" for k in range(n)), "Store") + "</main>")
        phone = f"0{drawn(place.host).randint(10_000, 99_999)}"
        menu = "".join(f"<a href='/{name}'>{name}</a> " for name in pages)
        said = f"<main><h1>{place.path}</h1><p>{text(place.path)}</p></main>"
        return page(f"<nav>{menu}</nav>{said}{script({'phone': phone})}")

    return scenario("stores with a host each", "A chain's pages, the same but for phone numbers.", answer, spider=Chain)


class Asking(Products):
    """Asks for the stock of each product in its city, with what it knows of the host."""

    url = ""

    def parse(self, response: Any) -> Any:
        city = response.url.partition("://")[2].partition(".")[0]
        if "/product/" in response.url:
            told = {"name": response.css("h1::text").get(), "city": city}
            url = self.url.format(number=response.url.rpartition("/")[2], city=city)
            yield response.follow(url, self.stock, cb_kwargs=told)
        yield from response.follow_all(css="a")

    def stock(self, response: Any, name: str, city: str) -> Any:
        yield {"name": name, "city": city, "stock": response.css(".stock::text").get()}


class AskingApi(Asking):
    url = "https://api.shop.example/stock?number={number}&city={city}"


class AskingShop(Asking):
    url = "/stock/{number}"


def cities(n: int, name: str, tried: str, spider: type[Asking]) -> Scenario:
    """*n* products on the same pages in each of four cities, of which the first leads to the others."""
    hosts = [f"{city}.shop.example" for city in ("paris", "lyon", "nice", "lille")]

    def answer(place: Place) -> str | None:
        if place.path.startswith("/stock"):
            city, number = place.args.get("city", place.host.partition(".")[0]), place.args.get("number", place.number)
            said = f"<p class='stock'>{drawn(city, number).randint(1, 9999)}</p>"
            return page(said if place.args else f"<main><p>{text('stock')}</p>{said}</main>", title="Stock")
        if place.path == "/":
            return front(n, hosts)
        return product_page(place.number, []) if place.path.startswith("/product/") else None

    return scenario(name, tried, answer, seeds=[f"https://{hosts[0]}/"], spider=spider)


def languages(n: int, *, are_hosts: bool) -> Scenario:
    """*n* products in three languages: the script is translated, the text is not."""
    spoken = ("en", "de", "fr")

    def answer(place: Place) -> str | None:
        language = place.args.get("lang", place.host.partition(".")[0])
        data = {"language": language, "name": name_of(place.number, language)}
        if place.path == "/":
            hosts = [f"{one}.shop.example" for one in spoken] if are_hosts else []
            if are_hosts:
                return front(n, hosts, script(data))
            urls = (f"/product/{k}?lang={one}" for k in range(n) for one in spoken)
            return page(f"<main>{links(urls, 'Product')}</main>" + script(data))
        return product_page(place.number, [], script(data)) if place.path.startswith("/product/") else None

    return scenario(
        "languages by host" if are_hosts else "languages by argument",
        "The same text, other data in the script.",
        answer,
        seeds=["https://en.shop.example/" if are_hosts else f"{SHOP}/"],
        spider=ScriptReader,
    )


def variants(n: int) -> Scenario:
    """*n* products in five colours each."""
    colours = ("red", "blue", "green", "black", "white")

    def answer(place: Place) -> str | None:
        if place.path == "/":
            return front(n)
        if not place.path.startswith("/product/"):
            return None
        sold = product(place.number, place.args.get("colour", "red"))
        urls = (f"/product/{place.number}?colour={colour}" for colour in colours)
        return product_page(place.number, [f"{sold['price']} USD", f"{sold['stock']} left"], links(urls, "Colour"))

    return scenario("colours", "One description; price and stock of each colour differ.", answer, spider=Products)


def near_variants(n: int) -> Scenario:
    """*n* products in five currencies each, for a spider that has no items of its own: all but a sign is the same."""

    def answer(place: Place) -> str | None:
        if place.path == "/":
            return front(n)
        if not place.path.startswith("/product/"):
            return None
        urls = (f"/product/{place.number}?in={k}" for k in range(1, 6))
        return product_page(place.number, ["¤€$£¥₹"[int(place.args.get("in", 0))] + "19"], links(urls, "Currency"))

    tried = "Near duplicates on one host: of two pages only the sign of the currency differs."
    return scenario("currencies", tried, answer, spider=Topical, contents=pages_of)


def branches(n: int) -> Scenario:
    """*n* products in three branches each, which page and rule alike would call one."""
    names = ("north", "south", "west")

    def answer(place: Place) -> str | None:
        if place.path == "/":
            return front(n)
        if not place.path.startswith("/product/"):
            return None
        branch = place.args.get("branch", "all")
        urls = (f"/product/{place.number}?branch={name}" for name in names)
        return product_page(place.number, [], links(urls, "Branch") + script(product(place.number, branch)))

    class BranchReader(ScriptReader):
        def read(self, response: Any) -> Iterable[Any]:
            if response.css("script"):
                yield from super().read(response)

    tried = "The text of a product is the same for each branch, the script is not."
    return scenario("branches by argument", tried, answer, spider=BranchReader)


def sessions(n: int) -> Scenario:
    """*n* products found from four pages, each of which begins a session that all links have from then on."""

    def answer(place: Place) -> str | None:
        if not place.path.startswith(("/product/", "/entry/")):
            return None
        session = place.args.get("sid", f"{drawn('session', place.path).getrandbits(128):032x}")
        urls = (f"/product/{(3 * place.number + k) % n}?sid={session}" for k in (1, 2, 3))
        sold = product(place.number)
        return product_page(place.number, [f"{sold['price']} USD", f"{sold['stock']} left"], links(urls, "Product"))

    seeds = [f"{SHOP}/entry/{k}" for k in range(4)]
    tried = "Each link has the session's id; items are the same but for their URL."
    return scenario("sessions", tried, answer, seeds=seeds, spider=Products)


class Watching(Products):
    """Takes the number along that changes with each fetch."""

    def read(self, response: Any) -> Iterable[Any]:
        for item in super().read(response):
            yield {**item, "random": response.css(".watching::text").get()}


class Keeper(Reader):
    """Yields nothing."""

    def read(self, response: Any) -> Iterable[Any]:
        return []


def paths_of(crawled: Crawled) -> set[str]:
    """Return the pages that were asked for, of whatever host."""
    return {urlsplit(asked.url).path for asked in crawled.asked}


def mirror_site(n: int, hosts: list[str], *, is_watched: bool) -> Answer:
    served = count()

    def answer(place: Place) -> str | None:
        if place.path == "/":
            return front(n, hosts)
        if not place.path.startswith("/product/"):
            return None
        sold = product(place.number)
        watching = f"<p class='watching'>{drawn('watching', next(served)).randint(1, 99)} people look at this</p>"
        says = [f"{sold['price']} USD", f"{sold['stock']} left"]
        return product_page(place.number, says, watching if is_watched else "")

    return answer


def mirrors(
    n: int, name: str, tried: str, spider: type[Reader] = Products, seeds: int = 1, contents: Contents = items_of
) -> Scenario:
    hosts = ["shop.example", "mirror.example", "shop.copy.example"]
    urls = [f"https://{host}/" for host in hosts[:seeds]]
    site = mirror_site(n, hosts, is_watched=spider is Watching)
    return scenario(name, tried, site, seeds=urls, spider=spider, copies=hosts, contents=contents)


SHAPES = [
    *(
        Shape(make=partial(countries, hosts=hosts, are_all_seeds=is_seed), small=small, full=full, fast_modes=BOTH)
        for hosts, small, full in ((3, 35, 150), (10, 15, 30))
        for is_seed in (True, False)
    ),
    Shape(make=tenants, small=20, full=60, fast_modes=BOTH),
    Shape(make=chain, small=8, full=40, fast_modes=BOTH),
    *(
        Shape(make=partial(cities, name=name, tried=tried, spider=spider), small=40, full=60, fast_modes=BOTH)
        for name, tried, spider in (
            ("cities by an API", "Only what a callback asks an API for differs.", AskingApi),
            ("cities by a page", "The callback of a page that no page leads to is told the city.", AskingShop),
        )
    ),
    Shape(make=partial(languages, are_hosts=False), small=30, full=100),
    Shape(make=partial(languages, are_hosts=True), small=30, full=100, fast_modes=BOTH),
    Shape(make=variants, small=15, full=60),
    Shape(make=near_variants, small=30, full=60),
    Shape(make=branches, small=25, full=80, fast_modes=BOTH),
    # Of small sites the samples are what counts: seven of each mirror and rule.
    Shape(make=sessions, small=40, full=150, most={40: 0.51, 150: 0.32}),
    *(
        Shape(make=partial(mirrors, name=name, tried=tried, **more), small=50, full=150, most={50: few, 150: most})
        for name, tried, few, most, more in (
            # Start URLs are one where the items of three pages agree, which takes some twenty requests more.
            ("mirrors", "One shop under three hosts, all of them start URLs; it is saved.", 0.87, 0.47, {"seeds": 3}),
            ("mirrors, linked", "The same, found by links.", 0.74, 0.45, {}),
            ("mirrors, stamped", "Items have a time and a number of their own.", 0.74, 0.45, {"spider": Stamped}),
            (
                "mirrors, no items",
                "The spider yields nothing.",
                0.74,
                0.45,
                {"spider": Keeper, "contents": paths_of},
            ),
        )
    ),
    # Nobody can tell such a number from a stock.
    Shape(
        make=partial(mirrors, name="mirrors, watched", tried="Each fetch says how many look on.", spider=Watching),
        small=20,
        full=150,
    ),
]
