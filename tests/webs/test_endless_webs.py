"""Webs that a machine makes without end, which end, beside sites that only look like one, which lose nothing."""

from __future__ import annotations

import calendar
import datetime as dt
import json
import random
import re
from itertools import cycle

import pytest
from scrapy import Spider
from web import REPLICA, crawl, page, text

from scrapy_replica import TopicSpider
from scrapy_replica.crawl.urls import look_ahead

TOP = "http://a.example/"
MOST = 500
"""Pages of a crawl that was to end by itself."""
ARTICLES = [f"article/{number}" for number in range(40)]
SETTINGS = {**REPLICA, "REPLICA_EXPLORE": 0.0, "CLOSESPIDER_PAGECOUNT": MOST, "CONCURRENT_REQUESTS": 4}

pytestmark = pytest.mark.asyncio

BOTH = pytest.mark.parametrize("mode", ["demote", "drop"])


def html(title, lines, links=()):
    body = "".join(f"<p>{line}</p>" for line in lines)
    anchors = "".join(
        f'<a href="{link}">{re.split("[=/]", link.partition("?sid")[0].strip("/"))[-1]}</a> ' for link in links
    )
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1>{body}<nav>{anchors}</nav></body></html>"


def beside(path, entries, made):
    """What *made* answers for a path, and beside it a site of articles that link to *entries*."""
    if path in {"", *ARTICLES}:
        place = ARTICLES.index(path) if path else -1
        links = [f"/{article}" for article in ARTICLES[place + 1 : place + 4]]
        return page([*links, *entries], seed=("article", place), title=f"Article {place}")
    return made(path)


def step(year, month, by):
    year, month = divmod(year * 12 + month - 1 + by, 12)
    return year, month + 1


OTHER_NAMES = [
    f"{syllable}mies" for syllable in ("x", "bo", "ce", "da", "fu", "gi", "ho", "ju", "ka", "li", "mo", "nu", "py")
]


def months(path, names=calendar.month_name, is_grid=True, has_sessions=False):
    """A calendar with the month in words, a grid of days, and links to the months before and after."""
    year, month = (int(part) for part in re.findall(r"\d+", path)[:2])
    links = [f"/calendar/{y}/{m:02}" for y, m in (step(year, month, by) for by in (-1, 1, 12))]
    grid = " ".join(str(day) for week in calendar.monthcalendar(year, month) for day in week if day)
    lines = [grid, "There are no events in this month."] if is_grid else ["No events"]
    if has_sessions:
        links = [f"{link}?sid={random.Random(f'{path} {link}').getrandbits(64):016x}" for link in links]
    return html(f"{names[month]} {year}", lines, links)


def days(path):
    """A calendar of days, its date in the query, with little text."""
    date = dt.date.fromisoformat(re.search(r"date=([\d-]+)", path)[1])
    links = [f"/events?view=day&date={date + dt.timedelta(days=by)}" for by in (-1, 1, 7)]
    return html(f"{date:%A}, {date.day} {date:%B %Y}", ["No events."], links)


def bug(path):
    """A relative link on every page below ``shop``, which all are one page."""
    return html("Shop", ["What we sell", text("shop")], ["shop/index/", "imprint/"])


def maze(path):
    """A page that tells that there is none, with links that lead ever deeper."""
    return html(
        "Not found", [f"{path} cannot be found", "Perhaps you want one of these:"], ["news/", "contact/", "about/"]
    )


def deep_maze(path):
    """The same, whose links are never the same."""
    links = "".join(f'<a href="{random.Random(path + n).getrandbits(30):x}/">one of these</a> ' for n in "ab")
    return html("Not found", [text("not found", 30), links])


COLOURS = {"colour": ["red", "green", "blue", "grey", "black", "white"], "size": ["s", "m", "l", "xl", "xxl"]}
COLOURS |= {
    "price": ["10", "20", "50", "100"],
    "sort": ["name", "price", "date"],
    "brand": ["ada", "bob", "eve", "kim"],
}


def facets(path):
    """A list of products, of which each combination of arguments shows some."""
    chosen = dict(re.findall(r"(\w+)=(\w+)", path))
    links = []
    for name, values in COLOURS.items():
        for value in values:
            query = "&".join(f"{n}={v}" for n, v in sorted({**chosen, name: value}.items()))
            links.append(f"/list?{query}")
    products = random.Random(path).sample(range(40), 12)
    return html("Products", [f"Product {text(product, 3)}" for product in products], links)


async def fetched(served, mode, **more):
    result = await crawl(TopicSpider, served, {**SETTINGS, "REPLICA_MODE": mode, **more}, seeds=TOP)
    return result, [url for url in result.urls if "/article/" not in url and url != TOP]


@BOTH
class TestEndless:
    @pytest.mark.parametrize(
        ("made", "entry", "most", "kind"),
        [
            (months, "/calendar/2026/01", 30, "calendar"),
            (lambda path: months(path, is_grid=False), "/calendar/2026/01", 30, "calendar"),
            (lambda path: months(path, names=OTHER_NAMES), "/calendar/2026/01", 40, "calendar"),
            (lambda path: months(path, has_sessions=True), "/calendar/2026/01", 50, "calendar"),
            (days, "/events?view=day&date=2026-01-01", 60, "calendar"),
            (bug, "/shop/", 30, "repeating-segments"),
            (maze, "/maze/", 50, "repeating-segments"),
            (deep_maze, "/maze/", 150, "exact-repetition"),
            (facets, "/list?sort=name", 80, "facets"),
        ],
        ids=[
            *("months", "short months", "months in another language", "months with session ids"),
            *("days", "relative link", "maze", "deep maze", "facets"),
        ],
    )
    async def test_it_ends(self, mode, made, entry, most, kind, tmp_path):
        def served(request):
            return beside(request.url.removeprefix(TOP), [entry], made)

        result, of_trap = await fetched(served, mode, REPLICA_LEDGER=str(tmp_path / "ledger"))
        assert len(result.urls) - len(of_trap) == 1 + len(ARTICLES)
        assert result.stats["finish_reason"] == "finished"
        assert len(of_trap) <= most
        dropped = [json.loads(line) for line in (tmp_path / "ledger").read_text().splitlines()]
        kinds = {d["evidence"]["kind"] for d in dropped if d["action"] == "drop" and d["reason"] == "trap-budget"}
        assert kind in kinds

    async def test_it_waits_behind_the_site(self, mode):
        def served(request):
            number = request.url.removeprefix(f"{TOP}article/")
            entries = ["/calendar/2026/01"] if number == "0" else []
            return beside(request.url.removeprefix(TOP), entries, months)

        result, of_trap = await fetched(served, mode)
        last = max(place for place, url in enumerate(result.urls) if "/article/" in url)
        assert sum(result.urls.index(url) < last for url in of_trap) <= 30


def linked(paths):
    """The front page of a site that links to pages, ten to a list."""
    return {f"/list/{n}": paths[10 * n : 10 * n + 10] for n in range(-(-len(paths) // 10))}


def site(made, paths):
    """A front page, lists, and the pages at *paths*."""
    lists = linked(paths)
    pages = {TOP: page(lists, seed="front", title="Front")}
    pages |= {f"{TOP}{at[1:]}": page(found, seed=at, title=at) for at, found in lists.items()}
    return pages | {f"{TOP}{path[1:]}": made(number, path) for number, path in enumerate(paths)}


def dates(count):
    return [dt.date(2020, 1, 1) + dt.timedelta(days=17 * number) for number in range(count)]


def news(number, path):
    """An article under its date."""
    return page(seed=path, title=f"Title {text(path, 2)}")


def product(number, path):
    """One of many that differ in three words under one title."""
    return html("Product", [text("what we say of every product", 200), text(path, 3)])


def measured(number, path):
    """A value for each day."""
    return html("Weather", [f"On {path[-10:]} it was", f"{random.Random(path).randint(40, 900) / 10} degrees"])


def shell(number, path):
    """A page that a script fills."""
    return html("", ["Please switch on your script"])


def photo(number, path):
    return html(f"Photo {number}", [f"Photo {number} of 180"])


SITES = {
    "archive": (news, [f"/{day:%Y/%m/%d}/{text(day, 2).replace(' ', '-')}" for day in dates(200)]),
    "archive by day": (news, [f"/news/{day:%Y/%m/%d}" for day in dates(200)]),
    "archive by argument": (news, [f"/news?date={day}" for day in dates(200)]),
    "weather": (measured, [f"/weather/{day:%Y/%m/%d}" for day in dates(200)]),
    "products": (product, [f"/products/{number}" for number in range(180)]),
    "products by arguments": (product, [f"/index.php?option=shop&item={n}&view=one" for n in range(180)]),
    "shells by date": (shell, [f"/app/{day:%Y/%m/%d}" for day in dates(150)]),
    "photos by date": (photo, [f"/photos/{day:%Y/%m}/{n}.html" for n, day in enumerate(dates(180))]),
    "deep": (news, [f"/a/b/c/d/e/f/g/h/i/j/k/l/{n}" for n in range(60)]),
    "language twice": (news, [f"/en/docs/en/{n}" for n in range(60)]),
}


class TestSitesThatOnlyLookLikeIt:
    """Modes in turn: in each of them there are sites of each kind."""

    @pytest.mark.parametrize(("name", "mode"), [*zip(SITES, cycle(("demote", "drop")), strict=False)])
    async def test_nothing_is_lost(self, name, mode):
        pages = site(*SITES[name])
        result = await crawl(TopicSpider, pages, {**REPLICA, "REPLICA_MODE": mode, "REPLICA_DUST": False}, seeds=TOP)
        assert {*pages} - {*result.urls} == set()

    @pytest.mark.parametrize(
        ("every", "is_linked", "mode"),
        [
            (1, True, "demote"), (3, True, "drop"), (6, True, "demote"),
            (1, False, "drop"), (3, False, "demote"), (6, False, "drop"),
        ],
    )  # fmt: skip
    async def test_a_calendar_with_events(self, every, is_linked, mode):
        """Ten years, with something on in every month or in some."""
        with_events = {step(2016, 1, by) for by in range(0, 120, every)}

        def served(request):
            path = request.url.removeprefix(TOP)
            if path.startswith("event/"):
                return page(seed=path)
            year, month = (int(part) for part in re.findall(r"\d+", path)) if path else (2020, 6)
            links = [
                f"/calendar/{y}/{m:02}" for y, m in (step(year, month, -1), step(year, month, 1)) if 2015 < y < 2026
            ]
            if (year, month) not in with_events:
                return html(f"{calendar.month_name[month]} {year}", ["No events"], links)
            event = f"{year}{month:02}"
            if is_linked:
                return html(f"{calendar.month_name[month]} {year}", ["Event"], [*links, f"/event/{event}"])
            return html(f"{calendar.month_name[month]} {year}", [text(event, 6)], links)

        result = await crawl(TopicSpider, served, {**REPLICA, "REPLICA_MODE": mode}, seeds=TOP)
        calendar_pages = {f"{TOP}calendar/{year}/{month:02}" for year, month in with_events}
        events = {f"{TOP}event/{year}{month:02}" for year, month in with_events} if is_linked else set()
        assert (calendar_pages | events) - {*result.urls} == set()


DAYS = [dt.date(2019, 1, 1) + dt.timedelta(day) for day in range(160)]
NOTICES = {30, 31, 75, 90, 121, 140, 158}


class Gazette(Spider):
    """Asks for day after day, as it counts them itself."""

    name, start_urls = "gazette", (TOP,)

    def parse(self, response):
        yield response.follow(f"/day?date={DAYS[0]}", self.day)

    def day(self, response):
        yield from self.read(response)
        day = DAYS.index(dt.date.fromisoformat(response.url[-10:])) + 1
        if day < len(DAYS):
            yield response.follow(f"/day?date={DAYS[day]}", self.day)

    def read(self, response):
        return [{"notice": notice} for notice in response.css("li::text").getall()]


class Told(Gazette):
    """Its callback is told which day it is, in ``cb_kwargs`` or in ``meta``."""

    is_in_meta = False

    def parse(self, response, day=0):
        yield from self.read(response)
        day = response.meta.get("day", day)
        told = {"meta": {"day": day + 1}} if self.is_in_meta else {"cb_kwargs": {"day": day + 1}}
        if day < len(DAYS):
            yield response.follow(f"/day?date={DAYS[day]}", self.parse, **told)


class ToldInMeta(Told):
    is_in_meta = True


@BOTH
@pytest.mark.parametrize("spider", [Gazette, Told, ToldInMeta])
async def test_a_callback_that_makes_its_way_by_itself_comes_to_its_end(spider, mode):
    """Of 14 notices of 400 days 13 or all were lost: it says "no notices" of any day, so nothing tells its end."""

    def served(request):
        if request.url == TOP:
            return html("Gazette", ["Notices of the court"])
        day = dt.date.fromisoformat(request.url[-10:])
        told = f"<li>{text(str(day), 20)}</li>" if day in DAYS and DAYS.index(day) in NOTICES else "<p>No notices.</p>"
        shown = f"<h2>{day}</h2><p>{text('court', 40)}</p>{told}"
        return f"<html><head><title>Gazette</title></head><body>{shown}</body></html>"

    result = await crawl(spider, served, {**REPLICA, "REPLICA_MODE": mode, "REPLICA_SEED": 1})
    assert len(result.items) == len(NOTICES)
    assert result.stats["finish_reason"] == "finished"
    assert len(result.urls) <= 1.1 * len(DAYS)


class Finder(Gazette):
    """Asks for each name and number, as a finder of shops is asked, and tells its callback which."""

    def parse(self, response):
        for path in ("one", "two", "three", "four"):
            yield response.follow(f"/{path}", self.listed)

    def listed(self, response):
        for number in range(100, 190):
            url = f"/shops?brand={response.url.rpartition('/')[2]}&zip={number}"
            yield response.follow(url, self.shop, cb_kwargs={"number": number})

    def shop(self, response, number):
        yield from self.read(response)


async def test_what_a_callback_asks_value_by_value_is_not_lost_where_most_answers_are_empty():
    """Of 480 questions, a hundredth of which had an answer, 2 to 6 of 8 answers were lost."""

    def served(request):
        name, _, number = request.url.removeprefix(TOP).partition("&zip=")
        shops = {("one", "150"), ("two", "161"), ("three", "178"), ("three", "187"), ("four", "181")}
        has_shop = (name.rpartition("=")[2], number) in shops
        told = f"<li>{text(name + number, 8)}</li>" if has_shop else "<p>No shops were found. Try another number.</p>"
        return f"<html><head><title>Shops {name}</title></head><body><p>{text(name, 60)}</p>{told}</body></html>"

    result = await crawl(Finder, served, REPLICA)
    assert len(result.items) == 5


class Endless(Told):
    """Asks for one day after the other, and knows no last one."""

    def parse(self, response, day=0):
        yield from self.read(response)
        at = DAYS[0] + dt.timedelta(day)
        yield response.follow(f"/day?date={at}", self.parse, cb_kwargs={"day": day + 1})


async def test_a_callback_that_has_no_end_is_followed_for_so_many_pages_without_news(monkeypatch):
    monkeypatch.setattr(look_ahead, "MOST_STEPS", 60)

    def served(request):
        day = f"<h2>{request.url[-10:]}</h2>" if request.url != TOP else ""
        shown = f"{day}<p>{text('court', 40)}</p><p>No notices.</p>"
        return f"<html><head><title>Gazette</title></head><body>{shown}</body></html>"

    result = await crawl(Endless, served, REPLICA | {"CLOSESPIDER_PAGECOUNT": MOST})
    assert result.stats["finish_reason"] == "finished"
    assert 60 < len(result.urls) <= 60 + 30
