"""Pages without end, and sites that only look as if they had none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import product
from random import Random
from typing import Any

from babble import babble, real_pages, written
from scrapy import Request
from web import HTML

from hostile.building import Answer, Site, page, site, text
from hostile.copies import BAD, GOOD, top
from hostile.scenario import Crawled, Scenario
from scrapy_replica.crawl.urls.made_up import WINDOW
from scrapy_replica.pages.stop_words import STOP_WORDS

MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
SMALL = 30
"""Pages of an endless trap that a crawl may fetch, beyond those that hold something."""


def says_german(_: int) -> str:
    return '<meta http-equiv="content-language" content="de">'


def within(most: int, pattern: str) -> Any:
    """Return a check that at most *most* URLs of a trap are fetched."""

    def check(plain: Crawled, ours: Crawled) -> Iterable[str]:
        fetched = sum(re.search(pattern, asked.url) is not None for asked in ours.asked)
        if fetched > most:
            yield f"{fetched} requests into the trap, at most {most} wanted"

    return check


def with_trap(trap: Any, *starts: str, n: int = 60) -> Any:
    """A site whose every page links to *starts*; *trap* answers whatever is no page of it."""
    honest = site(GOOD, n, more=lambda k: starts)

    def answer(request: Request) -> Any:
        return honest.get(request.url) or trap(request)

    return answer


def calendar(request: Request) -> Answer | None:
    """Every month that there ever will be, with its name for a title and nothing on it."""
    found = re.search(r"/calendar/(\d+)/(\d+)$", request.url)
    if found is None:
        return None
    year, month = int(found[1]), int(found[2])
    after, before = divmod(12 * year + month, 12), divmod(12 * year + month - 2, 12)
    links = [f"/calendar/{one[0]}/{one[1] + 1}" for one in (after, before)]
    days = " ".join(map(str, range(1, 31)))
    said = f"{MONTHS[month - 1]} {year} Monday Tuesday Wednesday Thursday Friday Saturday Sunday {days} no events"
    return page("", links, says=said, title=f"{MONTHS[month - 1]} {year}")


def calendar_with_events() -> Any:
    """A calendar whose months of four years have an event each, after ten empty years."""

    def trap(request: Request) -> Answer | None:
        empty = calendar(request)
        if empty is None:
            found = re.search(r"/event/(\d+)$", request.url)
            return page(f"event {found[1]}") if found else None
        year, month = map(int, request.url.split("/")[-2:])
        if not 2030 <= year < 2034:
            return empty
        status, headers, html = empty
        return status, headers, html.replace("<ul>", f'<ul><li><a href="/event/{12 * year + month}">x</a></li>')

    return with_trap(trap, "/calendar/2029/1", n=20)


def growing(request: Request) -> Answer | None:
    """Relative links that never end: /a/a/b/a/..."""
    if "/grow/" not in request.url:
        return None
    return page("", ["a/", "b/"], says=text("the same page again", 60), title="Again")


def facets(request: Request) -> Answer | None:
    """Five filters that may be combined: lists of the same twenty goods."""
    if "/filter" not in request.url:
        return None
    query = request.url.partition("?")[2]
    chosen = dict(one.split("=") for one in query.split("&") if one)
    names = ("colour", "size", "brand", "price", "sort")
    links = []
    for name, value in product(names, range(3)):
        more = {**chosen, name: str(value)}
        links.append("/filter?" + "&".join(f"{one}={more[one]}" for one in sorted(more)))
    goods = [f"/part-{k // 10}/page-{k}.html" for k in range(1, 20)]
    return page("", [*links, *goods], says=text("twenty goods", 60), title="Goods")


def sessions(request: Request) -> Answer | None:
    """Every page gives each of its links a new session id."""
    found = re.search(r"/shop/(\d+)\?sid=(\d+)", request.url)
    if found is None:
        return None
    number, sid = int(found[1]), int(found[2])
    links = [f"/shop/{(number * 3 + k) % 40}?sid={sid * 3 + k + 1}" for k in range(3)]
    status, headers, html = page(f"shop {number}", links, title=f"Shop {number}")
    # The ids stand in the links, not in what the page says.
    return status, headers, re.sub(r">(\d+)\?sid=\d+<", r">\1<", html)


def last_page(request: Request) -> Answer | None:
    """A list whose last page has a next one, which is the last one again."""
    found = re.search(r"/list\?page=(\d+)", request.url)
    if found is None:
        return None
    number = int(found[1])
    shown = min(number, 30)
    return page(f"list {shown}" if number <= 30 else "", [f"/list?page={number + 1}"], says=text(("list", shown), 60))


def nonsense(request: Request) -> Answer | None:
    """Made-up words without end, twenty links a page: each page is news."""
    if "/nonsense" not in request.url:
        return None
    number = int(request.url.rpartition("/")[2])
    return page("", [f"/nonsense/{number * 20 + k}" for k in range(20)], says=text(("nonsense", number), 60))


def babble_maze(says: Callable[[str], str] = babble) -> Any:
    """A site of prose that leads into a maze, as Nepenthes makes them: a Markov chain's words, ten links a page."""
    prose = real_pages()[:120]
    honest = site(GOOD, len(prose), says=lambda number: prose[number], more=lambda k: ["/maze/in"], fanout=2)

    def trap(request: Request) -> Answer | None:
        if "/maze/" not in request.url:
            return None
        random = Random(request.url)
        links = ["/maze/" + "/".join(random.choice(MONTHS) for _ in range(random.randint(2, 5))) for _ in range(10)]
        return page("", [f"{link}-{random.randrange(10**6)}" for link in links], says=says(request.url))

    return lambda request: honest.get(request.url) or trap(request)


def verses(number: int) -> str:
    """Return a page of prose as verses of five to eight words."""
    random, said, lines = Random(number), real_pages()[number].split(), []
    while said:
        length = random.randint(5, 8)
        lines.append(" ".join(said[:length]))
        said = said[length:]
    return "<br>".join(lines)


def translated(number: int) -> str:
    """Return a page of prose of which each word is another one, always the same, as an early machine translated it."""
    return " ".join(map(in_german, real_pages()[number].lower().split()))


@cache
def in_german(word: str) -> str:
    small = sorted(STOP_WORDS["en"])
    if word in STOP_WORDS["en"]:
        return sorted(STOP_WORDS["de"])[small.index(word) % len(STOP_WORDS["de"])]
    random = Random(f"German {word}")
    return "".join(random.choice(("ge", "bau", "ler", "stim", "wech", "tung", "haf", "ner")) for _ in range(3))


def behind_hidden_links(says: Callable[[str], str]) -> Any:
    """A site of prose; a maze of what *says* tells of each URL, to which only links lead that no reader sees."""
    prose = real_pages()[:120]
    honest = site(GOOD, len(prose), says=lambda number: prose[number], fanout=2)
    way_in = '<div style="display: none"><a href="/maze/{}" rel="nofollow">archive</a></div></body>'

    def answer(request: Request) -> Answer | None:
        if known := honest.get(request.url):
            status, headers, html = known
            return status, headers, html.replace("</body>", way_in.format(f"in/{Random(request.url).random()}"))
        if "/maze/" not in request.url:
            return None
        random = Random(request.url)
        links = [f"/maze/{random.choice(MONTHS)}/{random.randrange(10**6)}" for _ in range(10)]
        return page("", links, says=says(request.url))

    return answer


def spun(request: Request) -> Answer | None:
    """One text in which each word has two synonyms, ten links a page."""
    if "/spun/" not in request.url:
        return None
    random = Random(request.url)
    return page("", [f"/spun/{random.randrange(10**6)}" for _ in range(10)], says=with_synonyms(request.url))


def with_synonyms(seed: str) -> str:
    """One text, with one of three synonyms for each of its words."""
    random = Random(seed)
    return " ".join(random.choice((word, f"{word}ish", f"{word}like")) for word in text("spun", 150).split())


def before_the_rest(most: int, pattern: str) -> Any:
    """Return a check that at most *most* URLs of a trap are fetched before all that the site holds."""

    def check(plain: Crawled, ours: Crawled) -> Iterable[str]:
        last = max((n for n, asked in enumerate(ours.asked) if asked.key), default=0)
        fetched = sum(re.search(pattern, asked.url) is not None for asked in ours.asked[:last])
        if fetched > most:
            yield f"{fetched} requests into the trap before the site was through, at most {most} wanted"

    return check


def products(n: int = 120) -> Site:
    """Products with one title, which differ in three words."""
    common = text("a fine product", 60)
    names = [f"/product/{number}" for number in range(n)]
    pages = {f"http://{GOOD}/": page("front", names)}
    for number, name in enumerate(names):
        said = f"{common} article {number} costs {number * 7 % 1000} weighs {number * 13 % 700}"
        pages[f"http://{GOOD}{name}"] = page(name, [f"{name}/sheet"], says=said, title="Product")
        pages[f"http://{GOOD}{name}/sheet"] = page(f"sheet {number}", words=30)
    return pages


def editions() -> Site:
    """A law in sixty editions, ``?version=N``, each with words of its own."""
    names = [f"/law?version={number}" for number in range(60)]
    return {
        f"http://{GOOD}/": page("front", names),
        **{f"http://{GOOD}{name}": page(name, ["/"], title="The law") for name in names},
    }


def deep_archive() -> Site:
    """Documents twelve folders deep, folders that repeat a name, and forty short lists above them."""
    pages: Site = {}
    tops = [f"/archive/{number}/a/b/c/d/e/f/g/h/i/j/list" for number in range(40)]
    listing = text("documents of this folder", 40)
    pages[f"http://{GOOD}/"] = page("front", tops)
    for number, name in enumerate(tops):
        documents = [f"{name}/data/data/data/{number}-{k}" for k in range(5)]
        pages[f"http://{GOOD}{name}"] = page("list", documents, says=listing, title="Folder")
        pages |= {f"http://{GOOD}{one}": page(one, title="Document") for one in documents}
    return pages


def shop_arguments() -> Site:
    """Goods addressed by four arguments, with near texts and one title."""
    common = text("a fine product", 60)
    names = [f"/item?shop=1&cat={number % 7}&lang=en&id={number}" for number in range(120)]
    pages = {f"http://{GOOD}/": page("front", names)}
    for number, name in enumerate(names):
        pages[f"http://{GOOD}{name}"] = page(name, says=f"{common} article {number}", title="Item")
    return pages


def poisoned(links: Iterable[str]) -> Any:
    """A stranger met first has many links to nonsense of the site, which answers as most sites do."""
    good = site(GOOD, 100)
    shown = [f"http://{GOOD}{link}" for link in links]
    bad = {
        f"http://{BAD}/": page("bad", [f"/{k}" for k in range(0, len(shown), 20)]),
        **{f"http://{BAD}/{k}": page("", shown[k : k + 20], says=f"links {k}") for k in range(0, len(shown), 20)},
    }

    def answer(request: Request) -> Any:
        if BAD in request.url:
            return bad.get(request.url)
        plain = request.url.partition("?")[0]
        return good.get(request.url) or good.get(plain) or good[f"http://{GOOD}/"] if GOOD in request.url else None

    return answer


def days() -> Iterator[str]:
    return (f"/news/{2000 + k // 12}/{1 + k % 12:02}/" for k in range(120))


def poisoned_archive() -> Any:
    """The same, to days before the site began; the site has a page for each of 60 later months."""
    archive = [f"/news/{2020 + k // 12}/{1 + k % 12:02}/" for k in range(60)]
    trap = poisoned(days())
    news = {
        f"http://{GOOD}{one}": page(one, [f"{one}story"], says=text("stories of the month", 30), title="Archive")
        for one in archive
    }
    news |= {f"http://{GOOD}{one}story": page(f"{one}story") for one in archive}
    front = page("front", archive)
    nothing = page("", ["/"], says=text("no stories", 30), title="Archive")

    def answer(request: Request) -> Any:
        if request.url == f"http://{GOOD}/":
            return front
        if GOOD in request.url and "/news/" in request.url:
            return news.get(request.url) or nothing
        return trap(request)

    return answer


def late_site() -> Site:
    """A stranger met first has half of a site, of which all pages are found below one folder."""
    names = [f"/docs/{number}.html" for number in range(200)]
    good = {f"http://{GOOD}{name}": page(f"good {name}", names[k + 1 : k + 2]) for k, name in enumerate(names)}
    there = [f"http://{GOOD}/"]
    bad = {f"http://{BAD}/x{k * 37}": page(f"good {name}", there) for k, name in enumerate(names[:100])}
    fronts = {
        f"http://{BAD}/": page("bad", [url.removeprefix(f"http://{BAD}") for url in bad]),
        f"http://{GOOD}/": page("good", names[:1]),
    }
    return {**good, **bad, **fronts}


def starvation() -> Any:
    """A stranger has the first half of a site, and endless nonsense behind it; the site comes after it."""
    good = site(GOOD, 80)
    copied = {url.replace(GOOD, BAD): answer for url, answer in list(good.items())[:40]}
    copied = {url.replace(".html", "x"): answer for url, answer in copied.items()}
    front = page("bad", [*(url.removeprefix(f"http://{BAD}") for url in copied), "/nonsense/1"])

    def answer(request: Request) -> Any:
        if BAD not in request.url:
            return good.get(request.url)
        return front if request.url == f"http://{BAD}/" else copied.get(request.url) or nonsense(request)

    return answer


def lists_first() -> Site:
    """A forum that shows 120 lists with one text before any of its topics."""
    said = text("topics of this list", 40)
    names = [f"/forum/list-{number}" for number in range(120)]
    pages = {f"http://{GOOD}/": page("front", names)}
    for number, name in enumerate(names):
        topic = f"/forum/topic-{number}"
        pages[f"http://{GOOD}{name}"] = page("list", [topic], says=said, title="List")
        pages[f"http://{GOOD}{topic}"] = page(topic, title="Topic")
    return pages


def busy(request: Request) -> Answer:
    return 200, {**HTML}, f"<title>Busy</title><p>{text('come back later', 40)}</p>"


def busy_server() -> Any:
    """A site that answers its first 130 pages with one apology, and 200."""
    good = site(GOOD, 300, fanout=140)
    asked: list[str] = []

    def answer(request: Request) -> Any:
        asked.append(request.url)
        return busy(request) if 1 < len(asked) <= 131 else good.get(request.url)

    return answer


ENDLESS = {"CLOSESPIDER_PAGECOUNT": 200}

SCENARIOS = [
    Scenario(
        name="endless calendar",
        tried="Every month links to the next one; its name is the title.",
        pages=lambda: with_trap(calendar, "/calendar/2024/5"),
        seeds=top(GOOD),
        settings=ENDLESS,
        modes=("demote", "drop"),
        check=within(SMALL, "/calendar/"),
    ),
    Scenario(
        name="calendar with events",
        tried="A calendar has its events behind a year of empty months.",
        pages=calendar_with_events,
        seeds=top(GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 400},
    ),
    Scenario(
        name="paths that grow",
        tried="Relative links lead ever deeper to the same page.",
        pages=lambda: with_trap(growing, "/grow/"),
        seeds=top(GOOD),
        settings=ENDLESS,
        check=within(SMALL, "/grow/"),
    ),
    Scenario(
        name="facets",
        tried="Five filters combined make lists of the same goods.",
        pages=lambda: with_trap(facets, "/filter"),
        seeds=top(GOOD),
        settings=ENDLESS,
        check=within(100, "/filter"),
    ),
    Scenario(
        name="endless session ids",
        tried="Each page gives each of its links a new session id.",
        pages=lambda: with_trap(sessions, "/shop/0?sid=1"),
        seeds=top(GOOD),
        settings=ENDLESS,
        check=within(100, "/shop/"),
    ),
    Scenario(
        name="last page for ever",
        tried="The last page of a list links to a next one, which is the last one again.",
        pages=lambda: with_trap(last_page, "/list?page=1"),
        seeds=top(GOOD),
        settings=ENDLESS,
        modes=("demote", "drop"),
        check=within(30 + 2 * SMALL, "/list"),
    ),
    Scenario(
        name="nonsense without end",
        tried="Twenty links a page to made-up words: each page is news.",
        pages=lambda: with_trap(nonsense, "/nonsense/1"),
        seeds=top(GOOD),
        settings=ENDLESS,
    ),
    Scenario(
        name="babble without end",
        tried="A maze prints a Markov chain's words, ten links a page; a deep site leads into it everywhere.",
        pages=babble_maze,
        seeds=top(GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 400},
        check=before_the_rest(2 * WINDOW, "/maze/"),
    ),
    Scenario(
        name="babble of order 3",
        tried="The same, of whole phrases in three paragraphs.",
        pages=lambda: babble_maze(lambda url: "<p>".join(babble((url, part), 120, order=3) for part in range(3))),
        seeds=top(GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 400},
        check=before_the_rest(4 * WINDOW, "/maze/"),
    ),
    Scenario(
        name="babble in short lines",
        tried="The same, each word by the last one, in fourteen paragraphs of 21 words.",
        pages=lambda: babble_maze(lambda url: "<p>".join(babble((url, part), 21) for part in range(14))),
        seeds=top(GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 400},
        check=before_the_rest(3 * WINDOW, "/maze/"),
    ),
    Scenario(
        name="babble of order 3 in short lines",
        tried="The same, each word by the last three: sixty pages repeat too few runs to tell.",
        pages=lambda: babble_maze(lambda url: "<p>".join(babble((url, part), 21, order=3) for part in range(14))),
        seeds=top(GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 400},
        check=before_the_rest(5 * WINDOW, "/maze/"),
    ),
    Scenario(
        name="poems",
        tried="A hundred and fifty pages of prose in verses, in one directory.",
        pages=lambda: site(GOOD, 150, says=verses, path=lambda n: f"/texts/{n}" if n else "/", fanout=2),
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="machine translations",
        tried="A hundred and fifty pages in German words and English order, each word by a table.",
        pages=lambda: site(
            GOOD, 150, says=translated, head=says_german, path=lambda n: f"/texts/{n}" if n else "/", fanout=2
        ),
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="labyrinth",
        tried="Text as a language model writes it, behind links that no reader sees.",
        pages=lambda: behind_hidden_links(written),
        seeds=top(GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 400},
        check=before_the_rest(2 * WINDOW, "/maze/"),
    ),
    Scenario(
        name="babble of order 3, hidden",
        tried="A maze prints whole phrases, as a Markov chain of order 3 does, behind links that no reader sees.",
        pages=lambda: behind_hidden_links(lambda url: babble(url, order=3)),
        seeds=top(GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 400},
        check=before_the_rest(2 * WINDOW, "/maze/"),
    ),
    Scenario(
        name="spun text",
        tried="A maze prints one text with other synonyms on each page.",
        pages=lambda: with_trap(spun, "/spun/1"),
        seeds=top(GOOD),
        settings=ENDLESS,
    ),
    Scenario(
        name="products that differ in three words",
        tried="A hundred and twenty products with one title and near texts.",
        pages=products,
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="editions of a law",
        tried="Sixty editions, addressed as a wiki addresses its old versions, differ in all words.",
        pages=editions,
        seeds=top(GOOD),
    ),
    Scenario(
        name="deep archive",
        tried="Documents lie twelve folders deep below names that repeat, behind equal lists.",
        pages=deep_archive,
        seeds=top(GOOD),
    ),
    Scenario(
        name="goods by four arguments",
        tried="Goods with near texts and one title are addressed by four arguments.",
        pages=shop_arguments,
        seeds=top(GOOD),
    ),
    Scenario(
        name="poisoned budget",
        tried="A stranger links to a site with arguments that it ignores, 120 times.",
        pages=lambda: poisoned(f"/?x={k}" for k in range(120)),
        seeds=top(BAD, GOOD),
    ),
    Scenario(
        name="poisoned folders",
        tried="The same, to the folders that the site's pages lie in.",
        pages=lambda: poisoned(f"/part-{k % 10}/none-{k}.html" for k in range(200)),
        seeds=top(BAD, GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="poisoned numbers",
        tried="The same, to numbers of pages that the site has not reached yet.",
        pages=lambda: poisoned(f"/part-{k % 10}/page-{9000 + k}.html" for k in range(200)),
        seeds=top(BAD, GOOD),
    ),
    Scenario(
        name="poisoned archive",
        tried="A stranger links to 120 months before a news site began.",
        pages=poisoned_archive,
        seeds=top(BAD, GOOD),
    ),
    Scenario(
        name="half of it was copied",
        tried="A stranger met first has the first half of a site that is one chain of links.",
        pages=late_site,
        seeds=top(BAD),
    ),
    Scenario(
        name="starvation",
        tried="A stranger copies half of a site, so that its links wait behind endless nonsense.",
        pages=starvation,
        seeds=top(BAD, GOOD),
        settings={"CLOSESPIDER_PAGECOUNT": 400},
        lost=40,
    ),
    Scenario(
        name="lists before topics",
        tried="A forum shows 120 equal lists before its topics.",
        pages=lists_first,
        seeds=top(GOOD),
    ),
    Scenario(
        name="busy server",
        tried="A site answers 130 of its pages with one apology and status 200.",
        pages=busy_server,
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
]
