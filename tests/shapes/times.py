"""Calendars and archives whose months and days are empty for a long while."""

from __future__ import annotations

from calendar import month_name
from collections.abc import Iterable
from datetime import date, timedelta
from functools import partial
from typing import Any

from hostile.building import text
from hostile.scenario import Scenario

from shapes.building import NOTHING, links, name_of, page
from shapes.shape import BOTH, SHOP, Place, Reader, Shape, scenario

FILLED_BEFORE = 4
"""Months with events before the gap."""
PATH, ARGUMENT = "/calendar/{}/{}", "/calendar?year={}&month={}"


LONE_EVENTS = {90, 110, 125, 150, 165, 180, 210}
"""Days of a diary."""


class Events(Reader):
    def read(self, response: Any) -> Iterable[Any]:
        return [{"event": event} for event in response.css(".event::text").getall()]


def calendar(n: int, gap: int, kind: str, url: str) -> Scenario:
    """Months without events, *gap* of them, and *n* with events after them; each links to the next."""

    def answer(place: Place) -> str | None:
        if not place.path.startswith("/calendar"):
            return None
        year, month = map(int, place.args.values() or place.path.split("/")[2:])
        number = 12 * (year - 2020) + month - 1
        if not 0 <= number < FILLED_BEFORE + gap + n:
            return None
        is_empty = FILLED_BEFORE <= number < FILLED_BEFORE + gap
        events = "".join(f"<li class='event'>{name_of('event', number, k, words=5)}</li>" for k in range(4))
        following = [] if number + 1 == FILLED_BEFORE + gap + n else [url.format(year + month // 12, month % 12 + 1)]
        days = "".join(f"<td>{day}</td>" for day in range(1, 29))
        month_of = f"<main><h1>{month_name[month]} {year}</h1><table><tr>{days}</tr></table></main>"
        return page(month_of + (NOTHING if is_empty else f"<ul>{events}</ul>") + links(following, "Next month"))

    return scenario(
        f"calendar by {kind}, {gap} months",
        "Each month links to the next; after a gap there are events again.",
        answer,
        seeds=[SHOP + url.format(2020, 1)],
        spider=Events,
    )


class Articles(Reader):
    def read(self, response: Any) -> Iterable[Any]:
        return [{"title": title} for title in response.css(".title::text").getall()]


def archive(n: int, *, is_linked: bool) -> Scenario:
    """*n* days, the first 80 of which are empty, and four of five after that."""
    first = date(2024, 1, 1)
    urls = [f"/archive/{first + timedelta(k)}" for k in range(n)]

    def answer(place: Place) -> str | None:
        if place.path not in urls:
            return None
        number = urls.index(place.path)
        is_empty = number < 80 or number % 5 > 0
        article = f"<main><h1 class='title'>{name_of('article', number)}</h1><p>{text(number)}</p></main>"
        following = links(urls[number + 1 : number + 2], "Next day") if is_linked else ""
        return page((NOTHING if is_empty else article) + following)

    return scenario(
        "archive of linked days" if is_linked else "archive of days",
        "A day each; on most nothing was published.",
        answer,
        seeds=[SHOP + url for url in urls[: 1 if is_linked else n]],
        spider=Articles,
    )


def diary(n: int) -> Scenario:
    """*n* days by number, of which the first eight have an event, and a few later."""

    def answer(place: Place) -> str | None:
        number = int(place.path.removeprefix("/diary/")) if place.path.startswith("/diary/") else n
        if number >= n:
            return None
        article = f"<main><h1 class='title'>{name_of('event', number)}</h1><p>{text(number, 30)}</p></main>"
        is_empty = number >= 8 and number not in LONE_EVENTS
        days = [f"/diary/{day}" for day in (number + 1, number - 1) if 0 <= day < n]
        return page((NOTHING if is_empty else article) + links(days, "The day beside"))

    return scenario(
        "diary by number",
        "A day each; on few something takes place.",
        answer,
        seeds=[f"{SHOP}/diary/0"],
        spider=Articles,
    )


SHAPES = [
    *(
        Shape(make=partial(calendar, gap=gap, kind=kind, url=url), small=8, full=40, fast_modes=BOTH)
        for kind, url in (("argument", ARGUMENT), ("path", PATH))
        for gap in (12, 18, 24, 40)
    ),
    Shape(make=diary, small=220, full=400, fast_modes=BOTH),
    Shape(make=partial(archive, is_linked=False), small=110, full=400),
    Shape(make=partial(archive, is_linked=True), small=110, full=400, fast_modes=BOTH),
]
