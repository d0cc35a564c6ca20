"""URLs that are taught to be one page, and are not."""

from __future__ import annotations

from itertools import count
from typing import Any

from scrapy import Request
from web import HTML

from hostile.building import Answer, Site, page, site, text
from hostile.copies import GOOD, top
from hostile.scenario import Follower, Scenario, item

ROBOTS = {"ROBOTSTXT_OBEY": True}


def query(url: str) -> dict[str, str]:
    return dict(one.partition("=")[::2] for one in url.partition("?")[2].split("&") if one)


def number_of(path: str) -> int:
    return int("0" + path.rpartition("-")[2].strip("/"))


def late_argument() -> Site:
    """An argument that means nothing in the first fifty sections and is the page in those that come later."""
    pages: Site = {}
    for number in range(90):
        children = range(2 * number + 1, min(90, 2 * number + 3))
        links = [f"/section/{k}{ref}" for k in children for ref in ("", "?ref=a", "?ref=b")]
        for ref in ("", "?ref=a", "?ref=b"):
            key = f"section {number}" if number < 50 else f"section {number} {ref}"
            pages[f"http://{GOOD}/section/{number}{ref}"] = page(key, links, title=f"Section {number}")
    return {f"http://{GOOD}/": page("front", ["/section/0"]), **pages}


def with_navigation() -> Site:
    """An argument adds the links to a page, whose text is the same without."""
    pages: Site = {}
    for number in range(100):
        children = [f"/page-{k}" for k in range(2 * number + 1, 2 * number + 3) if k < 100]
        links = [url for one in children for url in (one, f"{one}?nav=1")]
        pages[f"http://{GOOD}/page-{number}"] = page(f"page {number}", title=f"Page {number}")
        pages[f"http://{GOOD}/page-{number}?nav=1"] = page(f"page {number}", links, title=f"Page {number}")
    return {f"http://{GOOD}/": page("front", ["/page-0", "/page-0?nav=1"]), **pages}


def listings_in_parts() -> Site:
    """Categories with one intro on each of their parts, and other items."""
    pages: Site = {f"http://{GOOD}/": page("front", [f"/list-{number}" for number in range(20)])}
    for number in range(20):
        intro = text(("list", number), 60)
        parts = [f"/list-{number}", *(f"/list-{number}?part={part}" for part in range(2, 6))]
        for part, name in enumerate(parts):
            items = [f"/item-{number}-{part}-{k}" for k in range(3)]
            pages[f"http://{GOOD}{name}"] = page(f"list {number}", [*items, *parts[1:]], says=intro, title="List")
            pages |= {f"http://{GOOD}{item}": page(item) for item in items}
    return pages


def more_on_request() -> Site:
    """An argument shows four more links beside the two that a page has without it."""
    pages: Site = {f"http://{GOOD}/": page("front", ["/page-0", "/page-0?more=1"])}
    for number in range(60):
        children = [f"/page-{k}" for k in range(2 * number + 1, 2 * number + 3) if k < 60]
        links = [url for one in children for url in (one, f"{one}?more=1")]
        few, more = ([f"/leaf-{number}-{k}" for k in places] for places in (range(2), range(2, 6)))
        for name, leaves in (("", few), ("?more=1", few + more)):
            pages[f"http://{GOOD}/page-{number}{name}"] = page(f"page {number}", [*leaves, *links])
        pages |= {f"http://{GOOD}{leaf}": page(leaf) for leaf in few + more}
    return pages


def messages() -> Site:
    """What looks like a session id is the number of a message; every second message was quoted in full by the next."""
    names = [f"/view?sid={number}" for number in range(150)]
    pages = {f"http://{GOOD}/": page("front", names[::10])}
    for number, name in enumerate(names):
        said = text(("message", number // 2 if number < 60 else number))
        key = f"message {number // 2 if number < 60 else number}"
        pages[f"http://{GOOD}{name}"] = page(key, names[number + 1 : number + 10], says=said, title="Message")
    return pages


def clean_param() -> Site:
    """A robots.txt says that the argument that makes a page what it is means nothing."""
    names = [f"/article?id={number}" for number in range(80)]
    lines = "User-agent: *\nDisallow:\nClean-param: id /article\nClean-param: id&s&page\n"
    return {
        f"http://{GOOD}/robots.txt": (200, {"Content-Type": "text/plain"}, lines),
        f"http://{GOOD}/": page("front", names[:40]),
        **{f"http://{GOOD}{name}": page(name, names[40:], title="Article") for name in names},
    }


class Printing(Follower):
    """Asks for the printed form of each page, whose callback takes what only that form has for it."""

    name = "printing"

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        if "print=1" not in response.url:
            yield response.follow(f"{response.url}?print=1", self.parse_printed)

    def parse_printed(self, response: Any) -> Any:
        yield {"key": f"printed {item(response)['key']}"}


def printed() -> Any:
    good = site(GOOD, 100)
    return lambda request: good.get(request.url.partition("?")[0])


def sold_out() -> Site:
    """Of 160 goods by number every second one shows the same regret."""
    names = [f"/goods?item={number}" for number in range(160)]
    regret = text("this article is sold out", 60)
    pages = {f"http://{GOOD}/": page("front", names[:40])}
    for number, name in enumerate(names):
        gone = number % 2 == 0 if number > 60 else number % 10 > 0
        more = names[number * 3 : number * 3 + 20]
        pages[f"http://{GOOD}{name}"] = (
            page("gone", more, says=regret, title="Goods") if gone else page(name, more, title="Goods")
        )
    return pages


def translated() -> Site:
    """``lang=de`` shows the original where nobody has translated the page: everywhere but in the last section."""
    names = [f"/page-{number}" for number in range(100)]
    pages = {f"http://{GOOD}/": page("front", [url for name in names[:60] for url in (name, f"{name}?lang=de")])}
    for number, name in enumerate(names):
        after = names[60 + number : 61 + number]
        links = [*after, *(f"{one}?lang=de" for one in after)]
        pages[f"http://{GOOD}{name}"] = page(name, links, title=name)
        key = name if number < 60 else f"deutsch {name}"
        pages[f"http://{GOOD}{name}?lang=de"] = page(key, links, title=name)
    return pages


def slashes() -> Site:
    """With and without slash is one page in the first fifty folders and two pages in the next."""
    pages: Site = {}
    names = [f"/folder-{number}" for number in range(100)]
    pages[f"http://{GOOD}/"] = page("front", [url for name in names[:50] for url in (name, f"{name}/")])
    for number, name in enumerate(names):
        more = [url for one in names[50 + number : 51 + number] for url in (one, f"{one}/")]
        pages[f"http://{GOOD}{name}"] = page(name, more, title=name)
        pages[f"http://{GOOD}{name}/"] = page(name if number < 50 else f"{name}/", more, title=name)
    return pages


def baited() -> Any:
    """An argument means nothing for the first 150 requests; from then on it is the page."""
    asked = count()

    def answer(request: Request) -> Any:
        if GOOD not in request.url:
            return None
        path, _, wanted = request.url.removeprefix(f"http://{GOOD}").partition("?")
        number = number_of(path)
        links = [f"/page-{(number * 3 + k) % 100}?tab={tab}" for k in range(1, 4) for tab in (1, 2, 3)]
        is_late = next(asked) >= 150
        return page(f"{path} {wanted}" if is_late else path, links, title=path)

    return answer


def random_pages() -> Any:
    """A server that shows one of three texts by chance, whatever it is asked for: no rule is ever right or wrong."""
    asked = count()

    def answer(request: Request) -> Any:
        path, _, _ = request.url.removeprefix(f"http://{GOOD}").partition("?")
        number = number_of(path)
        links = [f"/page-{k}?v={number % 3}" for k in range(number * 4 + 1, number * 4 + 5) if k < 100]
        return page(path, links, says=text((path, next(asked) % 3)), title=path)

    return answer


def wide_rule() -> Site:
    """Four hosts of a stranger teach that an argument means nothing; on a fifth, a good one, it does."""
    pages: Site = {}
    for number in range(4):
        host = f"teacher{number}.example"
        names = [f"/page-{k}" for k in range(50)]
        pages[f"http://{host}/"] = page(host, [f"{name}?item={n}" for name in names for n in (1, 2)])
        for name in names:
            for n in (1, 2):
                pages[f"http://{host}{name}?item={n}"] = page(f"{host}{name}", title=name)
    return {**pages, **sold_out()}


def rotted() -> Any:
    """Pages without an argument answer a soft 404; those with any session id are the pages."""

    def answer(request: Request) -> Any:
        wanted = query(request.url)
        path = request.url.removeprefix(f"http://{GOOD}").partition("?")[0]
        number = number_of(path)
        if path != "/" and "sid" not in wanted:
            return missing(request)
        sids = (7 * number + 1, 7 * number + 2)
        links = [f"/page-{k}?sid={sid}" for k in range(3 * number + 1, 3 * number + 4) if k < 120 for sid in sids]
        return page(path, links, title=path)

    return answer


def needed_later() -> Any:
    """Pages answer with any session id, the first forty without one as well."""

    def answer(request: Request) -> Any:
        path = request.url.removeprefix(f"http://{GOOD}").partition("?")[0]
        number = number_of(path)
        if number >= 40 and "sid" not in query(request.url):
            return None
        sids = (f"?sid={7 * number + 1}", f"?sid={7 * number + 2}")
        children = [k for k in range(3 * number + 1, 3 * number + 4) if k < 240]
        return page(path, [f"/page-{k}{sid}" for k in children for sid in (*sids, *[""] * (k < 40))], title=path)

    return answer


def canonical_front() -> Site:
    """Every page names the front page as its canonical one, as badly set-up shops do."""
    return site(GOOD, 120, head=lambda k: f'<link rel="canonical" href="http://{GOOD}/">')


def hotlinks() -> Any:
    """Two mirrors that show a picture of their own to whoever does not come from one of their own pages."""
    pages = {**site("mirror.example", 100, of=GOOD), **site(GOOD, 100)}

    def answer(request: Request) -> Any:
        host = request.url.split("/")[2]
        came_from = request.headers.get("Referer", b"").decode()
        is_at_home = request.url.endswith("example/") or f"//{host}/" in came_from
        return pages.get(request.url) if is_at_home else missing(request)

    return answer


def missing(request: Request) -> Answer:
    return 200, {**HTML}, f"<title>Sorry</title><p>{text('your session has ended', 60)}</p>"


SCENARIOS = [
    Scenario(
        name="argument that matters later",
        tried="An argument means nothing in the first sections and is the page in later ones.",
        pages=late_argument,
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="argument that shows the links",
        tried="An argument adds links to a page, whose text is the same without.",
        pages=with_navigation,
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="listings in parts",
        tried="The parts of a listing have one text; each leads to items of its own.",
        pages=listings_in_parts,
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="argument that shows more links",
        tried="The same text and two links without an argument, and four more with it.",
        pages=more_on_request,
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="session ids that are content",
        tried="What looks like a session id is the number of a message.",
        pages=messages,
        seeds=top(GOOD),
    ),
    Scenario(
        name="Clean-param that hides pages",
        tried="A robots.txt says that the argument that is the page means nothing.",
        pages=clean_param,
        seeds=top(GOOD),
        settings=ROBOTS,
    ),
    Scenario(
        name="printed pages",
        tried="The printed form of each page, equal in its text, has a callback of its own.",
        pages=printed,
        seeds=top(GOOD),
        spider=Printing,
        modes=("demote", "drop"),
    ),
    Scenario(
        name="sold out",
        tried="Half of the goods of a shop, addressed by an argument, show the same regret.",
        pages=sold_out,
        seeds=top(GOOD),
    ),
    Scenario(
        name="translated in part",
        tried="An argument for the language shows the original but in the last section.",
        pages=translated,
        seeds=top(GOOD),
    ),
    Scenario(
        name="slashes that matter later",
        tried="With and without slash is one page in fifty folders, and two in fifty more.",
        pages=slashes,
        seeds=top(GOOD),
        modes=("demote", "drop"),
    ),
    Scenario(
        name="rule as a bait",
        tried="An argument means nothing for 150 requests, and is the page from then on.",
        pages=baited,
        # Which of them are asked for in time depends on the order: all are asked for, since the rule ends.
        contents=lambda crawled: {asked.url for asked in crawled.asked},
        seeds=top(GOOD),
    ),
    Scenario(
        name="pages by chance",
        tried="A server shows one of three texts, whatever it is asked for.",
        pages=random_pages,
        seeds=top(GOOD),
    ),
    Scenario(
        name="rule taught elsewhere",
        tried="Four hosts of a stranger teach a rule that is wrong on a good host.",
        pages=wide_rule,
        seeds=top(*(f"teacher{number}.example" for number in range(4)), GOOD),
    ),
    Scenario(
        name="canonical to the front page",
        tried="Every page of a site names the front page as its canonical one.",
        pages=canonical_front,
        seeds=top(GOOD),
    ),
    Scenario(
        name="pages that want a Referer",
        tried="Two mirrors show an apology to whoever comes from elsewhere or from nowhere.",
        pages=hotlinks,
        seeds=top("mirror.example", GOOD),
        copies=("mirror.example", GOOD),
    ),
    Scenario(
        name="form without session",
        tried="Pages need some session id; without one the site shows one apology and 200.",
        pages=rotted,
        seeds=top(GOOD),
    ),
    Scenario(
        name="session that is needed later",
        tried="The first forty pages come without their session id, too; the others are missing without one.",
        pages=needed_later,
        seeds=top(GOOD),
        most=1.15,  # 1.26 where a rule goes on to lead to what is not there
    ),
]
