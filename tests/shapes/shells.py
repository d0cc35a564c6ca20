"""Pages that all read the same without JavaScript: what they are about stands elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from hostile.scenario import Scenario
from scrapy import Request, Spider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

from shapes.building import SHELL, links, name_of, nearby, page, script, store
from shapes.shape import BOTH, SHOP, Answer, Place, Reader, Shape, Shop, place_of, scenario, script_of


@dataclass
class Spot:
    """Where the data of a page stand."""

    name: str
    write: Callable[[dict[str, Any]], str]
    css: str
    """Finds them, and nothing else."""
    is_in_head: bool = False


def attributes(data: dict[str, Any], prefix: str = "") -> str:
    return " ".join(f'{prefix}{name}="{value}"' for name, value in data.items())


def lines(data: dict[str, Any], tag: str) -> str:
    return f"<{tag} class='store'>" + "".join(f"<p>{value}</p>" for value in data.values()) + f"</{tag}>"


def microdata(data: dict[str, Any]) -> str:
    return "".join(f'<meta itemprop="{name}" content="{value}">' for name, value in data.items())


SPOTS = (
    Spot("JSON-LD", partial(script, kind="application/ld+json", name="ld"), "script::text", is_in_head=True),
    Spot("__NEXT_DATA__", script, "script::text"),
    Spot("inline JSON", lambda data: f"<script>window.STATE = {json.dumps(data)};</script>", "script::text"),
    Spot("microdata", microdata, "[itemprop]::attr(content)"),
    Spot("data attributes", lambda data: f"<div id='shop' {attributes(data, 'data-')}></div>", "#shop"),
    Spot(
        "meta description",
        lambda data: f"<meta name='description' content='{' '.join(map(str, data.values()))}'>",
        "meta::attr(content)",
        is_in_head=True,
    ),
    Spot("div beside main", partial(lines, tag="div"), ".store p::text"),
    Spot("aside", partial(lines, tag="aside"), ".store p::text"),
    Spot("footer", partial(lines, tag="footer"), ".store p::text"),
)


def store_site(spot: Spot, n: int) -> Answer:
    def written(number: int) -> str:
        return spot.write(store(number))

    if spot.is_in_head:
        return nearby(n, lambda number: SHELL, written)
    return nearby(n, lambda number: SHELL + written(number))


def stores(spot: Spot, n: int) -> Scenario:
    class SpotReader(Reader):
        def read(self, response: Any) -> Iterable[Any]:
            yield {"data": response.css(spot.css).getall(), "url": response.url}

    return scenario(
        f"stores nearby, {spot.name}",
        "Stores link to three others; all that is said of them stands beside the main text.",
        store_site(spot, n),
        spider=SpotReader,
    )


def stores_by_argument(n: int) -> Scenario:
    by_path = store_site(SPOTS[1], n)

    def answer(place: Place) -> str | None:
        found = by_path(Place(place.host, f"/store/{place.args.get('id', 0)}", {}))
        return None if place.path != "/" else found.replace("/store/", "/?id=")

    return scenario("stores nearby by argument", "As stores nearby; the number is an argument.", answer)


class Rules(CrawlSpider):
    name = "rules"
    rules = (Rule(LinkExtractor(allow=r"/store/\d+"), callback="read", follow=True),)

    def read(self, response: Any) -> Iterable[Any]:
        yield script_of(response)


def stores_by_rules(n: int) -> Scenario:
    tried = "JSON-LD, read by the rules of a CrawlSpider."
    return scenario("stores by CrawlSpider", tried, store_site(SPOTS[0], n), spider=Rules)


class Lists(Shop):
    """Yields ten items of a script, follows the links to other lists."""

    def parse(self, response: Any) -> Any:
        for item in script_of(response)["items"]:
            yield {"name": item}
        yield from response.follow_all(css="a.next")


class Counting(Lists):
    """Counts the lists itself."""

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        following = script_of(response)["next"]
        if following:
            yield response.follow(f"/list?page={following}")


def lists(n: int, name: str, tried: str, url: str, ahead: int = 1, spider: type[Spider] = Lists) -> Scenario:
    """*n* lists, each with links to the next *ahead* of them."""

    def answer(place: Place) -> str | None:
        if not place.path.startswith("/list"):
            return None
        number = int(place.args.get("page", place.number))
        following = range(number + 1, min(number + ahead + 1, n))
        data = {"items": [name_of("listed", number, k) for k in range(10)], "next": (number + 1) % n}
        return page(SHELL + links(map(url.format, following), kind="next") + script(data))

    return scenario(name, tried, answer, seeds=[SHOP + url.format(0)], spider=spider)


class FromApi(Shop):
    """Follows the lists, and has what they show from an API: no list itself gives an item."""

    def parse(self, response: Any) -> Any:
        number = place_of(response.request).args["page"]
        yield Request(f"{SHOP}/api/list?page={number}", self.listed)
        yield from response.follow_all(css="a.next")

    def listed(self, response: Any) -> Any:
        yield response.json()


def lists_of_api(n: int) -> Scenario:
    def answer(place: Place) -> Any:
        number = int(place.args.get("page", 0))
        if place.path == "/api/list":
            return 200, {"Content-Type": "application/json"}, json.dumps({"names": [name_of("listed", number)]})
        following = [f"/list?page={number + 1}"] if number + 1 < n else []
        return page(SHELL + links(following, kind="next")) if place.path == "/list" else None

    tried = "Each list links to the next and is else the same; an API has what it shows."
    return scenario("lists of an API", tried, answer, seeds=[f"{SHOP}/list?page=0"], spider=FromApi)


ARGUMENT, PATH = "/list?page={}", "/list/{}"

SHAPES = [
    *(
        Shape(make=partial(stores, spot), small=60, full=300, fast_modes=BOTH if spot in SPOTS[::3] else ("demote",))
        for spot in SPOTS
    ),
    Shape(make=stores_by_argument, small=60, full=300),
    Shape(make=stores_by_rules, small=60, full=300),
    *(
        Shape(make=partial(lists, name=name, tried=tried, **more), small=60, full=300, fast_modes=BOTH)
        for name, tried, more in (
            ("lists by argument", "Each list of a shell links to the next.", {"url": ARGUMENT}),
            ("lists by path", "The same, by path.", {"url": PATH}),
            ("lists with a pager", "Each list links to the next three.", {"url": ARGUMENT, "ahead": 3}),
            ("lists, counted", "No list links to another.", {"url": ARGUMENT, "ahead": 0, "spider": Counting}),
        )
    ),
    Shape(make=lists_of_api, small=60, full=300, fast_modes=BOTH),
]
