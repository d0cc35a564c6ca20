"""What the sites are built of: pages, and the same page for everything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from hostile.building import text

from shapes.shape import Answer, Place

SHELL = """
<nav><a href="/about">About</a></nav>
<main><h1>Find what you are looking for</h1><p>Welcome to our shop. Here you find everything that you need for your home
and your garden, at fair prices and with quick delivery. Our team is glad to help you by phone and by mail. Please
enable JavaScript to use all functions of this page, such as the search, the map and the basket.</p></main>
<footer>Imprint Privacy Terms</footer>
"""
"""All that a reader without JavaScript sees of a page."""

NOTHING = """
<main><h1>Sorry</h1><p>There is nothing here at the moment. Take another look in a while, try another number, or write
to us what you would like to see in this place: we are glad about each idea. You can call our hotline as well, which is
open from Monday to Friday between nine and five.</p></main>
"""
"""An empty month, an unknown product, a filter that nothing passes."""


def page(body: str, *, title: str = "Shop", head: str = "") -> str:
    return f"<html lang='en'><head><title>{title}</title>{head}</head><body>{body}</body></html>"


def script(data: Any, kind: str = "application/json", name: str = "__NEXT_DATA__") -> str:
    return f'<script id="{name}" type="{kind}">{json.dumps(data)}</script>'


def links(urls: Iterable[str], label: str = "Next", kind: str = "") -> str:
    """Links that all read *label*."""
    return "".join(f"<a class='{kind}' href='{url}'>{label}</a> " for url in urls)


def nearby(n: int, body: Callable[[int], str], head: Callable[[int], str] = lambda number: "") -> Answer:
    """*n* stores that each link to three others; all are found from the front page, which is store 0."""

    def answer(place: Place) -> str | None:
        if place.path != "/" and not place.path.startswith("/store/"):
            return None
        number = place.number
        urls = (f"/store/{(3 * number + k) % n}" for k in (1, 2, 3))
        return page(body(number) + links(urls, "Nearby"), head=head(number))

    return answer


def drawn(*key: object) -> Random:
    """What is drawn for *key*, the same in each run."""
    return Random(str(key))


def name_of(*key: object, words: int = 3) -> str:
    return text(key, words).title()


def store(number: int) -> dict[str, Any]:
    """What a shop knows of one of its stores."""
    draw = drawn("store", number)
    return {
        "id": number,
        "name": name_of("store", number),
        "street": f"{name_of('street', number, words=1)} {draw.randint(1, 300)}",
        "phone": f"0{draw.randint(10_000, 99_999)}",
    }


def product(number: int, of: object = "") -> dict[str, Any]:
    """What the shop *of* says of one of its products, beside its name and description."""
    draw = drawn("product", number, of)
    return {
        "name": name_of("product", number),
        "price": f"{draw.randint(5, 500)}.{draw.randint(10, 99)}",
        "stock": str(draw.randint(0, 60)),
        "days": str(draw.randint(1, 9)),
    }
