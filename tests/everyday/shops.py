"""Shops and whatever else has a catalogue."""

from __future__ import annotations

import json
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlencode

from hostile.scenario import KEY
from shapes.building import drawn

from everyday.building import SECTION, Link, article, chosen, members, page, related, sections, title
from everyday.site import Answer, Place, Site

SHOP = "http://shop.example"
COLOURS = ("red", "green", "blue")
PER_PAGE = 10


def shop(n: int, *, has_sessions: bool) -> Answer:
    """*n* products in lists of ten with colours and orders; where a link was clicked, and the session, stands in it."""
    numbers = count()

    def answer(place: Place) -> Any:
        session = place.cookies.get("PSID", "")
        is_new = has_sessions and not session
        if is_new:
            session = f"{drawn('session', next(numbers)).getrandbits(64):016x}"

        def url(path: str, **args: object) -> str:
            told = {name: value for name, value in args.items() if value} | ({"sid": session} if has_sessions else {})
            return f"{path}?{urlencode(told)}" if told else path

        def products(found: list[int], where: str) -> list[Link]:
            return [(url(f"/p/{one}", ref=where), title("product", one)) for one in found]

        def shown(key: str, name: str, main: str, links: list[Link]) -> Any:
            menu = [(url(f"/c/{one}"), title("category", one)) for one in sections(n)]
            headers = {"Set-Cookie": f"PSID={session}; Path=/"} if is_new else None
            return page(key, name, main, links, menu=menu, footer=[("/about", "About us")], headers=headers)

        if place.path == "/":
            return shown("home", "The Shop", article("home"), products(list(range(0, n, 9)), "home"))
        if place.path == "/about":
            return page("about", "About us", article("about"))
        part, number = place.path.split("/")[1], place.number
        if part == "c" and number in sections(n):
            return listed(place, n, url, products, shown)
        if not 0 <= number < n:
            return None
        price = f"<p>{drawn('price', number).randint(3, 400)}.{drawn('cent', number).randint(10, 99)} EUR</p>"
        if part == "print":
            return page(f"product {number}", title("product", number), article("product", number) + price)
        links = [(url(f"/print/{number}"), "Print"), *products(related(number, n), "related")]
        return shown(f"product {number}", title("product", number), article("product", number) + price, links)

    return answer


def listed(place: Place, n: int, url: Any, products: Any, shown: Any) -> Any:
    """A list of a shop: a part of a category, or what of it has a colour; orders are the same products once more."""
    section, colour, order = place.number, place.args.get("color", ""), place.args.get("sort", "")
    first = int(place.args.get("page", 1)) - 1
    found = [one for one in members(section, n) if not colour or COLOURS[one % 3] == colour]
    if order == "price":
        found.sort(key=lambda one: drawn("price", one).random())
    elif order == "name":
        found.sort(key=lambda one: title("product", one))
    part = found[PER_PAGE * first : PER_PAGE * (first + 1)]
    if not part:
        return None
    links = products(part, "list")
    links += [(url(place.path, color=one, sort=order), one) for one in COLOURS]
    links += [(url(place.path, color=colour, sort=one), f"by {one}") for one in ("price", "name", "new")]
    if PER_PAGE * (first + 1) < len(found):
        links.append((url(place.path, color=colour, sort=order, page=first + 2), "next"))
    is_whole = len(found) <= PER_PAGE
    key = f"list {section} {colour} {first}" if is_whole or order in {"", "new"} else ""
    return shown(key, f"{title('category', section)} {colour}", "", links)


def path_sessions(n: int) -> Answer:
    """*n* products; who comes without a session is given one, in the path, which all links have from then on."""
    numbers = count()

    def answer(place: Place) -> Any:
        path, _, session = place.path.partition(";jsessionid=")
        session = session or f"{drawn('jsession', next(numbers)).getrandbits(64):016X}"

        def url(path: str) -> str:
            return f"{path};jsessionid={session}"

        if path == "/" or path.startswith("/from/"):
            menu = [(url(f"/list/{one}"), title("category", one)) for one in sections(n)]
            return page(f"front {path}", f"Welcome {path}", article("front", path), menu)
        number = Place("", "", path, "", {}).number
        if path.startswith("/list/") and number in sections(n):
            links = [(url(f"/item/{one}"), title("product", one)) for one in members(number, n)]
            return page(f"list {number}", title("category", number), "", links)
        if not path.startswith("/item/") or not 0 <= number < n:
            return None
        links = [(url(f"/item/{one}"), title("product", one)) for one in related(number, n)]
        return page(f"item {number}", title("product", number), article("product", number), links)

    return answer


def caseless(n: int) -> Answer:
    """*n* items of a server that ignores case, the order of arguments and empty ones, and has default pages."""

    def item(number: int, where: object) -> str:
        folder = f"Dept{number // SECTION}"
        spellings = [f"/{folder}/Item.aspx", f"/{folder.lower()}/item.aspx", f"/{folder.upper()}/ITEM.ASPX"]
        queries = [f"id={number}&lang=en", f"lang=en&id={number}", f"id={number}&lang=en&view="]
        return f"{chosen(spellings, number, where)}?{chosen(queries, 'query', number, where)}"

    def dept(number: int, where: object) -> str:
        name = f"/Dept{number}"
        return chosen(
            [name, f"{name}/", f"{name}/Default.aspx", f"{name.lower()}/", f"{name.lower()}/default.aspx"], where
        )

    def answer(place: Place) -> Any:
        where = f"{place.path}?{place.query}"
        path = place.path.lower().removesuffix("default.aspx").rstrip("/")
        menu = [(dept(one, where), title("category", one)) for one in sections(n)]
        menu.append((chosen(["/", "/Default.aspx", "/default.aspx"], where), "Home"))
        if not path:
            return page("home", "The Store", article("store"), menu=menu)
        section = Place("", "", path, "", {}).number
        if section not in sections(n):
            return None
        if path == f"/dept{section}":
            links = [(item(one, where), title("product", one)) for one in members(section, n)]
            return page(f"dept {section}", title("category", section), "", links, menu=menu)
        number = int(place.args.get("id", -1))
        if path != f"/dept{section}/item.aspx" or number not in members(section, n):
            return None
        links = [(item(one, where), title("product", one)) for one in related(number, n)]
        return page(f"item {number}", title("product", number), article("product", number), links, menu=menu)

    return answer


def api(n: int) -> Answer:
    """*n* products with tabs that a script opens, and their data, pretty or not, beside them."""

    def answer(place: Place) -> Any:
        number = place.number
        if place.path == "/":
            links = [(f"/list/{one}", title("category", one)) for one in sections(n)]
            return page("home", "Products", article("products"), links)
        if place.path.startswith("/list/") and number in sections(n):
            links = [(f"/product/{one}", title("product", one)) for one in members(number, n)]
            return page(f"list {number}", title("category", number), "", links)
        if not 0 <= number < n:
            return None
        if place.path == f"/api/products/{number}":
            told = {"id": number, "name": title("product", number), "text": article("data", number)}
            data = json.dumps(told, indent=2 if "pretty" in place.args else None)
            return 200, {"Content-Type": "application/json", KEY: f"data {number}"}, data
        if place.path != f"/product/{number}":
            return None
        links = [(f"/product/{number}?tab={tab}", tab) for tab in ("details", "reviews")]
        links += [(f"/api/products/{number}{more}", "data") for more in ("", "?pretty=1")]
        links += [(f"/product/{one}", title("product", one)) for one in related(number, n)]
        return page(f"product {number}", title("product", number), article("product", number), links)

    return answer


SITES = [
    Site(
        name="shop",
        what="Colours, orders, prints, the place of the click and the session in each link.",
        make=partial(shop, has_sessions=True),
        seeds=(f"{SHOP}/",),
        items=r"/(p|print)/",
        small=40,
        full=240,
    ),
    Site(
        name="shop, no sessions",
        what="The same without sessions.",
        make=partial(shop, has_sessions=False),
        seeds=(f"{SHOP}/",),
        items=r"/(p|print)/",
        small=40,
        full=240,
    ),
    Site(
        name="path parameters",
        what="Each entry begins a session, which stands in the path of all links from there.",
        make=path_sessions,
        seeds=(f"{SHOP}/", *(f"{SHOP}/from/{name}" for name in ("mail", "search", "partner"))),
        items=r"/item/",
        small=40,
        full=300,
    ),
    Site(
        name="case, default pages",
        what="The server ignores case, the order of arguments and empty ones, and has default pages.",
        make=caseless,
        seeds=(f"{SHOP}/",),
        items=r"(?i)/item\.aspx",
        small=40,
        full=240,
    ),
    Site(
        name="API beside pages",
        what="Tabs that a script opens are links, and data can be had pretty.",
        make=api,
        seeds=(f"{SHOP}/",),
        items=r"/product/|/api/",
        small=30,
        full=220,
    ),
]
