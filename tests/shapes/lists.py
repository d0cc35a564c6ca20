"""Lists: cards under a constant text, filters, endless scrolling, ids that are counted through."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import product as every
from typing import Any

from hostile.building import text
from hostile.scenario import Scenario
from scrapy import Request, Spider

from shapes.building import NOTHING, SHELL, drawn, links, name_of, page, product, script, store
from shapes.shape import BOTH, SHOP, Place, Reader, Shape, Shop, place_of, scenario, script_of

PLAIN_CARD = "<div class='card'><span>{name}</span> <span>{price} USD</span></div>"
BUTTON_CARD = (
    "<div class='card'><img src='/{stock}.jpg' alt=''><span>{name}</span><span>{price}</span><button>Buy</button></div>"
)


class Cards(Shop):
    def parse(self, response: Any) -> Any:
        for card in response.css(".card"):
            yield {"card": card.css("span::text").getall()}
        yield from self.following(response)

    def following(self, response: Any) -> Iterable[Request]:
        return response.follow_all(css="a")


class CountedCards(Cards):
    def following(self, response: Any) -> Iterable[Request]:
        if response.css(".card"):
            yield response.follow(f"/list?page={int(place_of(response.request).args['page']) + 1}")


def cards(n: int, name: str, card: str, spider: type[Spider]) -> Scenario:
    def answer(place: Place) -> str | None:
        if place.path != "/list":
            return None
        number = int(place.args["page"])
        shown = "".join(card.format(**product(10 * number + k)) for k in range(10)) if number < n else ""
        pager = links([f"/list?page={number + 1}"]) if spider is Cards and number < n else ""
        return page(SHELL.replace("</main>", f"<div class='grid'>{shown}</div></main>") + pager)

    tried = "Cards without links, under a text that is the same on each page."
    return scenario(name, tried, answer, seeds=[f"{SHOP}/list?page=0"], spider=spider)


class Facets(Reader):
    def read(self, response: Any) -> Iterable[Any]:
        return [{"name": name} for name in response.css(".found::text").getall()]


def facets(n: int) -> Scenario:
    """*n* brands, each in six sizes and five colours."""
    all_of_them = [f"/shop?brand={b}&size={s}&colour={c}" for b, s, c in every(range(n), range(6), range(5))]

    def answer(place: Place) -> str | None:
        if place.path == "/":
            return page(f"<main>{links(all_of_them, 'Filter')}</main>")
        if place.path != "/shop":
            return None
        key = tuple(place.args.values())
        found = "".join(f"<li class='found'>{name_of(key, k)}</li>" for k in range(drawn(key).randint(-1, 3)))
        return page(f"<main><h1>Shop</h1><ul>{found}</ul></main>" if found else NOTHING)

    return scenario("filters", "All filters of a shop, many of which nothing passes.", answer, spider=Facets)


class Scrolling(Shop):
    """Reads the list from the API, as the page's script does, and a page for each product."""

    def parse(self, response: Any) -> Any:
        yield response.follow(script_of(response)["first"], callback=self.listed)

    def listed(self, response: Any) -> Any:
        data = response.json()
        for number in data["ids"]:
            yield response.follow(f"/product/{number}", callback=self.shown)
            yield {"listed": number}
        if data["next"]:
            yield response.follow(data["next"], callback=self.listed)

    def shown(self, response: Any) -> Any:
        yield script_of(response)


def scrolling(n: int, kind: str) -> Scenario:
    """*n* answers with two products each; a third of them, in the middle, is empty."""

    def url(number: int) -> str:
        value = {"page": number, "offset": 2 * number, "cursor": f"{drawn('cursor', number).getrandbits(64):x}"}[kind]
        return f"/api/products?{kind}={value}"

    numbers = {url(number): number for number in range(n)}

    def answer(place: Place) -> Any:
        if place.path == "/":
            return page(SHELL + script({"first": url(0)}))
        if place.path.startswith("/product/"):
            return page(SHELL + script(product(place.number)))
        number = numbers.get(f"{place.path}?{kind}={place.args.get(kind)}")
        if number is None:
            return None
        ids = [] if n // 3 <= number < 2 * n // 3 else [2 * number, 2 * number + 1]
        answered = {"ids": ids, "next": url(number + 1) if number + 1 < n else None}
        return 200, {"Content-Type": "application/json"}, json.dumps(answered)

    return scenario(
        f"endless scrolling by {kind}",
        "A JSON API with a gap in its middle, and a shell for each product.",
        answer,
        spider=Scrolling,
    )


def is_there(number: int) -> bool:
    """Nothing at all up to 80, then every fourth."""
    return number >= 80 and number % 4 == 0


class Known(Shop):
    """Yields what is not a soft 404."""

    def parse(self, response: Any) -> Any:
        name = response.css(".name::text").get()
        if name:
            yield {"name": name}


def ids(n: int, name: str, url: str) -> Scenario:
    def answer(place: Place) -> str:
        number = int(place.args.get("id", place.number))
        if not is_there(number):
            return page(NOTHING)
        return page(f"<main><h1 class='name'>{name_of('product', number)} {number}</h1><p>{text(number)}</p></main>")

    tried = "The spider counts ids through; most are soft 404s, the first 80 all."
    return scenario(name, tried, answer, seeds=[f"{SHOP}{url.format(k)}" for k in range(n)], spider=Known)


class Onward(Known):
    """Asks for the next id when one was answered, up to *last*."""

    last: int

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        number = place_of(response.request).number
        if number < self.last:
            yield response.follow(f"/product/{number + 1}")


def onward(n: int) -> Scenario:
    counted = ids(n, "ids, one after the other", "/product/{}")
    spider = type("OnwardTo", (Onward,), {"last": n - 1})
    tried = "The spider asks for an id when the one before was answered."
    return replace(counted, tried=tried, seeds=counted.seeds[:1], spider=spider)


def walk(n: int) -> Scenario:
    """Filters that are chosen one after the other: a brand of *n*, one of six sizes, one of five colours."""
    choices = {"brand": range(n), "size": range(6), "colour": range(5)}

    def answer(place: Place) -> str | None:
        if place.path != "/":
            return None
        chosen = "&".join(f"{name}={value}" for name, value in place.args.items())
        following = next((name for name in choices if name not in place.args), None)
        urls = [f"/?{chosen}&{following}={value}" for value in choices.get(following, ())]
        key = tuple(place.args.values())
        is_empty = following is not None or drawn(key).random() < 0.6
        found = "" if is_empty else f"<ul><li class='found'>{name_of(key)}</li></ul>"
        return page(f"<main>{found or NOTHING}</main>{links(urls, 'Filter')}")

    tried = "Filters are chosen one after the other; what is found stands at the end."
    return scenario("filters, step by step", tried, answer, spider=Facets)


class Grid(Reader):
    def read(self, response: Any) -> Iterable[Any]:
        return [{"store": one} for one in response.css(".store::text").getall()]


def finder(n: int) -> Scenario:
    """A store finder asked at *n* places."""

    def answer(place: Place) -> str:
        number = int(place.args["lat"]) * 20 + int(place.args["lng"])
        if not is_there(number):
            return page(NOTHING)
        near = (store(2 * number + k) for k in range(2))
        found = "".join(f"<li class='store'>{one['name']}, {one['street']}</li>" for one in near)
        return page(f"<main><h1>Near you</h1><ul>{found}</ul></main>")

    seeds = [f"{SHOP}/stores?lat={k // 20}&lng={k % 20}&radius=50" for k in range(n)]
    return scenario(
        "store finder", "A map, asked place by place; near most there is no store.", answer, seeds=seeds, spider=Grid
    )


SHAPES = [
    Shape(make=partial(cards, name="cards", card=PLAIN_CARD, spider=Cards), small=60, full=300),
    Shape(make=partial(cards, name="cards, counted", card=BUTTON_CARD, spider=CountedCards), small=60, full=300),
    Shape(make=facets, small=3, full=12),
    Shape(make=walk, small=2, full=12, fast_modes=BOTH),
    *(Shape(make=partial(scrolling, kind=kind), small=30, full=240) for kind in ("page", "offset", "cursor")),
    Shape(make=partial(ids, name="ids by argument", url="/product?id={}"), small=110, full=400),
    Shape(make=partial(ids, name="ids by path", url="/product/{}"), small=100, full=400),
    Shape(make=onward, small=100, full=400, fast_modes=BOTH),
    Shape(make=finder, small=100, full=400),
]
