"""Pages and hosts that look alike and are not: templates, first pages, texts that many have."""

from __future__ import annotations

import json
from typing import Any

from replica_sites import ENGLISH, GERMAN
from scrapy import Request

from hostile.building import Site, first, page, path, shared_text, site, text
from hostile.scenario import KEY, Follower, Scenario, item

GOOD, BAD = "good.example", "bad.example"


def top(*hosts: str) -> list[str]:
    return [f"http://{host}/" for host in hosts]


def copied_front_page() -> Site:
    """The stranger is met first, and its own pages stand where the links of the front page lead."""
    front = "the words of the front page " + text("front", 80)
    names = [f"/page-{number}" for number in range(60)]
    good = {f"http://{GOOD}{name}": page(f"good {name}") for name in names}
    bad = {f"http://{BAD}{name}": page(f"bad {name}") for name in names}
    fronts = {f"http://{host}/": page("front", names, says=front) for host in (GOOD, BAD)}
    return {**good, **bad, **fronts}


def copied_front_page_alone() -> Site:
    """The stranger has the front page and nothing else."""
    return {url: answer for url, answer in copied_front_page().items() if url == f"http://{BAD}/" or BAD not in url}


def consent_pages() -> Site:
    """Twenty sites that show the same consent text, and their own pages behind it."""
    consent = text("we value your privacy", 90)
    pages = {}
    for number in range(20):
        host = f"site{number}.example"
        names = [f"/page-{k}" for k in range(10)]
        pages[f"http://{host}/"] = page("consent", names, says=consent, title="Before you go on")
        pages |= {f"http://{host}{name}": page(f"{host}{name}") for name in names}
    return pages


def listings() -> Site:
    """Categories with one intro and one title, each with items of its own."""
    intro = text("our shop has everything", 120)
    pages = {"http://good.example/": page("front", [f"/list/{number}" for number in range(30)])}
    for number in range(30):
        items = [f"/item/{number}-{k}" for k in range(10)]
        pages[f"http://good.example/list/{number}"] = page("listing", items, says=intro, title="Shop")
        pages |= {f"http://good.example{one}": page(one) for one in items}
    return pages


def relative_listings() -> Site:
    """Categories with one intro, one title and relative links: equal counterparts, and other items behind them."""
    intro = text("our shop has everything", 120)
    pages = {"http://good.example/": page("front", [f"/list/{number}/" for number in range(20)])}
    for number in range(20):
        items = [f"item-{k}" for k in range(10)]
        pages[f"http://good.example/list/{number}/"] = page("listing", items, says=intro, title="Shop")
        pages |= {
            f"http://good.example/list/{number}/{one}": page(f"{number} {one}", says=text((number, one), 15))
            for one in items
        }
    return pages


def staging() -> Site:
    """A staging host with the same front page, half of the pages as they were and the rest as they will be."""
    live = site(GOOD, 60)
    draft = {
        f"http://staging.{GOOD}{path(number)}": page(
            f"{GOOD} {number}" if number % 2 == 0 else f"draft {number}",
            [path(child) for child in range(6 * number + 1, 6 * number + 7) if child < 60],
            title=f"Chapter {number} of {GOOD}",
        )
        for number in range(60)
    }
    return {**draft, **live}


def galleries() -> Site:
    """Pictures with one caption and title; only the links to what is behind them differ."""
    caption = text("a picture of the sea by night", 40)
    pages = {"http://good.example/": page("front", [f"/picture/{number}" for number in range(0, 100, 4)])}
    for number in range(100):
        after = f"/picture/{number + 1}" if number < 99 else "/"
        pages[f"http://good.example/picture/{number}"] = page(
            f"picture {number}", [after, f"/about/{number}"], says=caption, title="Gallery"
        )
        pages[f"http://good.example/about/{number}"] = page(f"about {number}")
    return pages


class Shells(Follower):
    """Pages are shells; what they show comes from an API that the callback asks."""

    name = "shells"

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        if "/app/" in response.url:
            yield response.follow(response.url.replace("/app/", "/api/"), self.parse_api)

    def parse_api(self, response: Any) -> Any:
        yield item(response)
        for number in json.loads(response.body)["related"]:
            yield response.follow(f"/app/{number}", self.parse)


def shells() -> Site:
    shell = text("this page needs a script", 30)
    pages = {"http://good.example/": page("front", ["/app/0"])}
    for number in range(100):
        pages[f"http://good.example/app/{number}"] = page("shell", says=shell, title="App")
        related = [one for one in range(3 * number + 1, 3 * number + 4) if one < 100]
        pages[f"http://good.example/api/{number}"] = (
            200,
            {"Content-Type": "application/json", KEY: f"item {number}"},
            json.dumps({"name": number, "related": related}),
        )
    return pages


def installation_pages() -> Site:
    """Six sites whose front page is that of the server; behind it each has its own, at the same paths."""
    welcome = text("it works this is the default page of this server", 90)
    pages = {}
    names = [f"/{name}" for name in ("docs", "about", "contact", "news", "team", "help", "terms", "faq")]
    for host in (f"s{number}.example" for number in range(6)):
        pages[f"http://{host}/"] = page("welcome", names, says=welcome, title="Welcome")
        for name in names:
            below = [f"{name}/{k}" for k in range(4)]
            pages[f"http://{host}{name}"] = page(f"{host}{name}", below, title=name)
            pages |= {f"http://{host}{one}": page(f"{host}{one}") for one in below}
    return pages


def tenants() -> Site:
    """Twelve shops of one platform: the same legal and help pages at the same paths, goods of their own."""
    legal = ("terms", "privacy", "shipping", "returns", "contact", "help", "about", "imprint")
    pages = {}
    for number in range(12):
        host = f"shop{number}.example"
        goods = [f"/goods/{number * 100 + k}" for k in range(10)]
        own = text(("shop", number), 60)
        pages[f"http://{host}/"] = page(f"{host} front", [*(f"/{one}" for one in legal), *goods], says=own)
        pages |= {f"http://{host}/{one}": page(f"legal {one}", ["/"], title=one, words=200) for one in legal}
        pages |= {f"http://{host}{one}": page(f"{host} {one}", ["/"], words=40) for one in goods}
    return pages


def manuals() -> Site:
    """Six sites that serve the same manual below the same path, beside pages of their own."""
    pages: Site = {}
    for number in range(6):
        host = f"m{number}.example"
        names = [f"/manual/{name}.html" for name in ("install", "run", "stop", "modules", "logs", "security", "faq")]
        own = [f"/work/{k}" for k in range(15)]
        pages[f"http://{host}/"] = page(f"{host} front", [*names, *own])
        pages |= {f"http://{host}{one}": page(f"manual {one}", names, title=one, words=150) for one in names}
        pages |= {f"http://{host}{one}": page(f"{host} {one}", ["/"], title=f"Work {one}") for one in own}
    return pages


def agency() -> Site:
    """Two newspapers that print the same agency's reports at the same paths, and local news of their own."""
    pages: Site = {}
    for host in ("morning.example", "evening.example"):
        wire = [f"/wire/{number}" for number in range(30)]
        local = [f"/local/{number}" for number in range(30)]
        pages[f"http://{host}/"] = page(f"{host} front", [*wire, *local])
        pages |= {f"http://{host}{one}": page(f"agency {one}", ["/"], title=f"Report {one}") for one in wire}
        pages |= {f"http://{host}{one}": page(f"{host} {one}", ["/"], title=f"Local {one}") for one in local}
    return pages


def template(own: float) -> Site:
    """Two sites on one template with the same paths: of each page's words only the share *own* are the site's."""
    return {
        url: answer
        for host in ("one.example", "two.example")
        for url, answer in site(
            host, 40, says=lambda k, host=host: shared_text((host, k), own, ("template", k)), title="Chapter {}"
        ).items()
    }


def one_template(own: float) -> Site:
    """The same with one text for all pages: what a site builder puts on each."""
    return {
        url: answer
        for host in ("one.example", "two.example")
        for url, answer in site(
            host, 40, says=lambda k, host=host: shared_text((host, k), own, "template"), title="A page"
        ).items()
    }


def country_shops() -> Site:
    """One shop for two countries: the same goods at the same paths, other prices, terms and words for them."""
    pages: Site = {}
    for host, words in (("shop.example.de", "EUR inkl MwSt"), ("shop.example.ch", "CHF exkl MWSt")):
        other = "shop.example.ch" if host.endswith("de") else "shop.example.de"

        def says(k: int, host: str = host, words: str = words) -> str:
            price = 3 + k * 7 + (11 if host.endswith("ch") else 0)
            return f"{text(('goods', k), 60)} price {price} {words} delivery within {price % 9} days"

        def head(k: int, host: str = host, other: str = other) -> str:
            links = ((host, "de-DE"), (other, "de-CH"))
            return "".join(
                f'<link rel="alternate" hreflang="{code}" href="http://{one}{path(k)}">' for one, code in links
            )

        pages |= site(host, 40, says=says, head=head, title="Goods {}")
    return pages


def versions() -> Site:
    """Two versions of one manual: the same paths and titles, one sentence in six another."""
    pages: Site = {}
    for host, version in (("docs1.example", 1), ("docs2.example", 2)):

        def says(k: int, version: int = version) -> str:
            return shared_text((version, k), 0.16, ("manual", k), 200)

        pages |= site(host, 40, says=says, title="Manual {}")
    return pages


def parking() -> Any:
    """Names that were let go: each answers any path with one page of links to others of its kind."""
    parked = text("this name is for sale", 70)
    honest = site(GOOD, 60, more=lambda k: [f"http://parked{k}.example/page"] if k % 10 == 0 else [])

    def answer(request: Request) -> Any:
        if request.url in honest:
            return honest[request.url]
        number = int("0" + "".join(filter(str.isdigit, request.url.split("/")[2])))
        links = [f"http://parked{(number * 7 + k) % 60}.example/{k}" for k in range(5)]
        return page("", links, says=parked, title="For sale")

    return answer


def wildcard() -> Any:
    """Names by the million: each name of the zone answers with one text and links to twenty more names."""
    spam = text("buy cheap things here", 70)
    honest = site(GOOD, 60, more=lambda k: [f"http://{k}.zone.example/"] if k % 20 == 0 else [])

    def answer(request: Request) -> Any:
        if request.url in honest:
            return honest[request.url]
        number = int(request.url.split("/")[2].partition(".")[0] or 0)
        links = [f"http://{(number * 20 + k) % 1_000_000}.zone.example/" for k in range(1, 21)]
        return page("", links, says=spam)

    return answer


def flood() -> Site:
    """Near texts by the hundred: a stranger has each page of the site in six spellings that differ in a word."""
    good = site(GOOD, 40, says=lambda k: text((GOOD, k), 80))
    names = [f"/{number}" for number in range(240)]
    pages = {f"http://{BAD}/": page("bad", names)}
    for number in range(240):
        said = text((GOOD, number % 40), 80).split()
        said[number // 40 * 5] = f"word{number}"
        pages[f"http://{BAD}{names[number]}"] = page("", says=" ".join(said), title=f"Chapter {number % 40} of {GOOD}")
    return {**pages, **good}


def plagiarist() -> Site:
    """A stranger who is met first has copied 100 of 200 pages, each under a name of its own."""
    good = site(GOOD, 200, words=60)
    copied = {
        f"http://{BAD}/{number * 7919 % 1000}": page(
            f"{GOOD} {number}", top(GOOD), title=f"Chapter {number} of {GOOD}", words=60
        )
        for number in range(1, 100)
    }
    front = page("bad", [url.removeprefix(f"http://{BAD}") for url in copied])
    return {f"http://{BAD}/": front, **copied, **good}


def anthology() -> Site:
    """A stranger quotes half of each of five sites below a folder of its own."""
    pages: Site = {}
    folders = []
    for name in (f"author{number}" for number in range(5)):
        own = site(f"{name}.example", 40)
        pages |= own
        folders.append(f"/{name}/")
        for url, (status, headers, html) in first(own, 0.5).items():
            moved = html.replace('href="/', f'href="/{name}/')
            pages[url.replace(f"{name}.example", f"{BAD}/{name}")] = status, headers, moved
    return {f"http://{BAD}/": page("bad", folders), **pages}


def translations() -> Site:
    """Two languages of one site: the same paths, pictures and numbers, and titles that are names."""
    words = {"en.example": ENGLISH, "de.example": GERMAN}
    pages: Site = {}
    for host, common in words.items():

        def says(k: int, host: str = host, common: list[str] = common) -> str:
            mine = text((host, k), 60).split()
            return " ".join(word for pair in zip(mine, common * 4, strict=False) for word in pair)

        pages |= site(host, 40, says=says, title="Berlin {}")
    return pages


def bulletins() -> Site:
    """A weather report for each day of a year, which differ in numbers only."""
    said = text("the weather of the day", 70)
    days = [f"/weather/2024-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 11)]
    pages = {"http://good.example/": page("front", days)}
    for number, day in enumerate(days):
        report = f"{said} {number % 31} degrees {number * 7 % 90} percent {number * 13 % 50} litres"
        pages[f"http://good.example{day}"] = page(day, [f"{day}/map"], says=report, title="Weather")
        pages[f"http://good.example{day}/map"] = page(f"map {day}", words=10)
    return pages


SCENARIOS = [
    Scenario(
        name="copied front page",
        tried="A stranger met first copies the front page and has other pages behind its links.",
        pages=copied_front_page,
        seeds=top(BAD, GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="front page and nothing else",
        tried="A stranger met first copies the front page; behind its links there is nothing.",
        pages=copied_front_page_alone,
        seeds=top(BAD, GOOD),
    ),
    Scenario(
        name="consent pages",
        tried="Twenty sites show one consent text before pages of their own at the same paths.",
        pages=consent_pages,
        seeds=top(*(f"site{number}.example" for number in range(20))),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="listings with one intro",
        tried="Categories with one intro and title lead to items of their own.",
        pages=listings,
        seeds=top(GOOD),
    ),
    Scenario(
        name="listings with relative links",
        tried="The same with relative links, which look equal and lead to other, short pages.",
        pages=relative_listings,
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="staging host",
        tried="A staging host has the front page and half of the pages, and drafts of the rest.",
        pages=staging,
        seeds=top(f"staging.{GOOD}", GOOD),
    ),
    Scenario(
        name="galleries",
        tried="Pictures with one caption lead to the next one and to a page of their own.",
        pages=galleries,
        seeds=top(GOOD),
    ),
    Scenario(
        name="script shells",
        tried="A hundred equal pages, whose callbacks ask an API for what they show.",
        pages=shells,
        seeds=top(GOOD),
        spider=Shells,
        modes=("demote", "drop"),
    ),
    Scenario(
        name="installation pages",
        tried="Six sites have the server's welcome as their front page and the same paths behind it.",
        pages=installation_pages,
        seeds=top(*(f"s{number}.example" for number in range(6))),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="shops of one platform",
        tried="Twelve shops share eight legal pages at the same paths; their goods are their own.",
        pages=tenants,
        seeds=top(*(f"shop{number}.example" for number in range(12))),
    ),
    Scenario(
        name="one manual on six sites",
        tried="Six sites serve the same manual beside pages of their own.",
        pages=manuals,
        seeds=top(*(f"m{number}.example" for number in range(6))),
    ),
    Scenario(
        name="agency reports",
        tried="Two newspapers print the same reports at the same paths, and local news at others.",
        pages=agency,
        seeds=top("morning.example", "evening.example"),
    ),
    *(
        Scenario(
            name=f"one template, {own:.0%} own words",
            tried="Two sites have the same pages at the same paths but for that share of the words.",
            pages=lambda own=own: template(own),
            seeds=top("one.example", "two.example"),
            copies=("one.example", "two.example") if own < 0.05 else (),
        )
        for own in (0.03, 0.06, 0.10, 0.15)
    ),
    *(
        Scenario(
            name=f"one text on all pages, {own:.0%} own",
            tried="Two sites of a site builder: all pages are one text but for that share of the words.",
            pages=lambda own=own: one_template(own),
            seeds=top("one.example", "two.example"),
            copies=("one.example", "two.example") if own < 0.05 else (),
        )
        for own in (0.03, 0.10)
    ),
    Scenario(
        name="shops of two countries",
        tried="One shop for two countries: the same goods, other prices and terms.",
        pages=country_shops,
        seeds=top("shop.example.de", "shop.example.ch"),
    ),
    Scenario(
        name="versions of a manual",
        tried="Two versions on two hosts: the same paths and titles, a sixth of the words another.",
        pages=versions,
        seeds=top("docs1.example", "docs2.example"),
    ),
    Scenario(
        name="translations",
        tried="Two languages on two hosts with the same paths and with names for titles.",
        pages=translations,
        seeds=top("en.example", "de.example"),
    ),
    Scenario(
        name="parked names",
        tried="Sixty names that were let go answer any path with one page of links to each other.",
        pages=parking,
        seeds=top(GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 400},
        copies=[f"parked{number}.example" for number in range(60)],
    ),
    Scenario(
        name="names by the million",
        tried="Every name of a zone answers with one text and with links to twenty more names.",
        pages=wildcard,
        seeds=top(GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 120},
        copies=[f"{number}.zone.example" for number in range(1_000_000)],
    ),
    Scenario(
        name="flood of near texts",
        tried="A stranger has each page of a site in six spellings, and is met first.",
        pages=flood,
        seeds=top(BAD, GOOD),
    ),
    Scenario(
        name="plagiarist",
        tried="A stranger met first has copied half of a site under names of its own.",
        pages=plagiarist,
        seeds=top(BAD),
    ),
    Scenario(
        name="anthology",
        tried="A stranger met first quotes half of each of five sites below folders of its own.",
        pages=anthology,
        seeds=top(BAD, *(f"author{number}.example" for number in range(5))),
        copies=(BAD,),
    ),
    Scenario(
        name="daily bulletins",
        tried="Reports for each day of a year, in paths like a calendar's, differ in numbers only.",
        pages=bulletins,
        seeds=top(GOOD),
    ),
]
