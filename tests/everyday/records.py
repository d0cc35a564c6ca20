"""Sites of records and talk: a library, discussions, news in parts, documentation in languages, a CMS."""

from __future__ import annotations

from itertools import count
from typing import Any
from urllib.parse import urlencode

from shapes.building import drawn
from web import redirect

from everyday.building import SECTION, Link, article, members, page, related, sections, text, title
from everyday.site import Answer, Place, Site
from everyday.trade import slug, with_args


def place_number(part: str) -> int:
    """Return the number that *part* of a path is, -1 where it is none."""
    return int(part) if part.isdigit() else -1


def library(n: int) -> Answer:
    """*n* records below a session, the first part of the path; some have a lasting link, which begins another."""
    numbers = count()

    def answer(place: Place) -> Any:
        path = place.path
        if not path.startswith("/(S("):
            session = f"{drawn('library', next(numbers)).getrandbits(60):015x}"
            rest = f"record.aspx?id={place.number}" if path.startswith("/permalink/") else "home.aspx"
            return redirect(f"/(S({session}))/{rest}")
        base, _, script = path[1:].partition("/")
        args = place.args
        menu: list[Link] = [(f"/{base}/home.aspx", "Search"), (f"/{base}/subjects.aspx", "Subjects")]
        if script == "home.aspx":
            return page("home", "The library", article("library"), menu=menu)
        if script == "subjects.aspx":
            links = [(f"/{base}/list.aspx?subject={one}", title("subject", one)) for one in sections(n)]
            return page("subjects", "Subjects", "", links, menu=menu)
        if script == "list.aspx" and int(args.get("subject", -1)) in sections(n):
            subject = int(args["subject"])
            found = members(subject, n)
            links = [(f"/{base}/record.aspx?id={one}&pos={at}", title("record", one)) for at, one in enumerate(found)]
            return page(f"subject {subject}", title("subject", subject), "", links, menu=menu)
        number = int(args.get("id", -1))
        if script != "record.aspx" or not 0 <= number < n:
            return None
        if args.get("view") == "marc":
            main = f"<pre>245 10 {title('record', number)} 520 {text(('marc', number), 60)}</pre>"
            return page(f"marc {number}", title("record", number), main, menu=menu)
        links = [(f"/{base}/record.aspx?id={number}&view={one}", one) for one in ("full", "marc")]
        links += [(f"/{base}/record.aspx?id={one}", title("record", one)) for one in related(number, n)]
        links += [(f"/permalink/{number}", "Lasting link")] if number % 12 == 5 else []
        return page(f"record {number}", title("record", number), article("record", number), links, menu=menu)

    return answer


def discussions(n: int) -> Answer:
    """*n* discussions by name and number, by each of their posts, with who invited; orders of categories."""
    people = 12
    menu = [
        ("/latest", "Latest"),
        ("/top", "Top"),
        *((f"/c/{slug('talk', one)}/{one}", title("talk", one)) for one in range(6)),
    ]

    def url(one: int) -> str:
        return f"/t/{slug('topic of', one)}/{one}"

    def answer(place: Place) -> Any:
        path, args, parts = place.path, place.args, place.path.strip("/").split("/")
        part = int(args.get("page", 0))
        if path in {"/", "/latest", "/top"} or (parts[0] == "c" and len(parts) == 3 and place.number < 6):
            found = [*range(n)] if parts[0] != "c" else [*range(place.number, n, 6)]
            if path == "/top":
                found.sort(key=lambda one: drawn("views", one).random())
            order = args.get("order", "")
            if order:
                found.sort(key=lambda one: drawn(order, one).random(), reverse="ascending" in args)
            shown = found[15 * part : 15 * (part + 1)]
            if not shown:
                return None
            told = {"order": order, "ascending": args.get("ascending")}
            links = [(url(one), title("topic of", one)) for one in shown]
            links += [(f"{url(one)}/{drawn('posts', one).randint(2, 9)}", "Last answer") for one in shown]
            links += [(f"/u/person-{one % people}", f"person {one % people}") for one in shown]
            links += [
                (with_args(path, order=one, ascending=way), one) for one in ("views", "posts") for way in ("", "true")
            ]
            links += [(with_args(path, **told, page=part + 1), "More")] if 15 * (part + 1) < len(found) else []
            key = "" if order or path == "/top" else f"list {parts[-1] if parts[0] == 'c' else 'latest'} {part}"
            return page(key, "Discussions", "", links, menu=menu)
        number = place.number
        if parts[0] == "u" and number < people:
            links = [(url(one), title("topic of", one)) for one in range(number, n, people)]
            return page(f"person {number}", f"Person {number}", article("person", number, words=60), links, menu=menu)
        if parts[0] != "t" or len(parts) < 2:
            return None
        if len(parts) == 2:
            return redirect(url(number), 301) if number < n else None
        number = place_number(parts[2])
        if not 0 <= number < n or parts[1] != slug("topic of", number):
            return None
        posts = range(1, drawn("posts", number).randint(2, 9) + 1)
        if len(parts) == 4 and parts[3] != "print" and place_number(parts[3]) not in posts:
            return None
        main = "".join(f"<p>{text(('answer', number, one), 35)}</p>" for one in posts)
        head = f'<link rel="canonical" href="{url(number)}">'
        if parts[-1] == "print":
            return page(f"topic {number}", title("topic of", number), main, head=head)
        links = [(f"{url(number)}/{one}", f"{one}") for one in posts] + [(f"{url(number)}/print", "Print")]
        links += [(f"{url(number)}?u=person-{(number + one) % people}", "Share") for one in posts[:2]]
        links += [(f"/t/{number}", "Short link")] + [(url(one), title("topic of", one)) for one in related(number, n)]
        return page(f"topic {number}", title("topic of", number), main, links, menu=menu, head=head)

    return answer


def parts_of_news(n: int) -> Answer:
    """*n* stories in two sections each, in parts and as a whole, for telephones below /amp, for print, shared."""
    menu = [(f"/{slug('desk', one)}-{one}/", title("desk", one)) for one in sections(n)]

    def folder(one: int) -> str:
        return f"/{slug('desk', one)}-{one}"

    def url(one: int, desk: int | None = None) -> str:
        return (
            f"{folder(one // SECTION if desk is None else desk)}/2025/{one % 12 + 1:02}/{slug('story', one)}-{one}.html"
        )

    def answer(place: Place) -> Any:
        path, number = place.path, place.number
        if path == "/":
            return page(
                "home",
                "The paper",
                article("paper"),
                [(url(one) + "?cid=home", title("story", one)) for one in range(0, n, 8)],
                menu=menu,
            )
        for desk in sections(n):
            if path == f"{folder(desk)}/":
                found = [
                    *members(desk, n),
                    *(one for one in range(n) if one % len(sections(n)) == desk and one % 3 == 0),
                ]
                links = [(url(one, desk), title("story", one)) for one in dict.fromkeys(found)]
                return page(f"desk {desk}", title("desk", desk), "", links, menu=menu)
        if not 0 <= number < n:
            return None
        is_amp = path.startswith("/amp/")
        body = path.removeprefix("/amp")
        main = [article("story", number, part) for part in range(2)]
        if path == f"/print/{number}":
            return page(
                "" if number % 3 == 1 else f"story {number}",
                title("story", number),
                "".join(main) if number % 3 == 1 else main[0],
            )
        if body not in {url(number), url(number, number % len(sections(n)))}:
            return None
        has_parts = number % 3 == 1
        part = int(place.args.get("page", 1)) - 1 if has_parts and place.args.get("page") != "all" else 0
        if part not in {0, 1}:
            return None
        key = f"story {number} {part}" if has_parts else f"story {number}"
        if is_amp:
            return page(key, title("story", number), main[part])
        is_whole = place.args.get("page") == "all" and has_parts
        share = urlencode({"utm_source": "share", "utm_medium": "social", "utm_content": number})
        links = [(f"{path}?page={one}", str(one)) for one in (1, 2, "all")] if has_parts else []
        links += [(f"/amp{path}", "For telephones"), (f"/print/{number}", "Print"), (f"{path}?{share}", "Share")]
        links += [(f"{url(one)}?cid=related", title("story", one)) for one in related(number, n)]
        head = f'<link rel="amphtml" href="/amp{path}">'
        return page(
            "" if is_whole else key,
            title("story", number),
            "".join(main) if is_whole else main[part],
            links,
            menu=menu,
            head=head,
        )

    return answer


LANGUAGES, RELEASES = ("en", "de", "fr"), ("1.9", "stable")


def documentation(n: int) -> Answer:
    """*n* pages in three languages and two releases; what is not translated is English, and few pages changed."""

    def answer(place: Place) -> Any:
        parts = place.path.strip("/").split("/")
        if parts == [""]:
            return page(
                "home",
                "Documentation",
                article("documentation"),
                [(f"/{one}/stable/index.html", one) for one in LANGUAGES],
            )
        if len(parts) < 3 or parts[0] not in LANGUAGES or parts[1] not in RELEASES:
            return None
        language, release, name = parts[0], parts[1], "/".join(parts[2:])
        base = f"/{language}/{release}"
        footer = [(f"/{one}/{release}/{name}", one) for one in LANGUAGES] + [
            (f"/{language}/{one}/{name}", one) for one in RELEASES
        ]
        head = "".join(f'<link rel="alternate" hreflang="{one}" href="/{one}/{release}/{name}">' for one in LANGUAGES)
        number = place.number if name.endswith((".html", ".txt")) else -1
        if name == "index.html":
            links = [(f"{base}/guide-{one}.html", title("guide", one)) for one in sections(n)]
            return page(
                f"index {language}",
                f"Contents {language}",
                article("contents", language),
                links,
                footer=footer,
                head=head,
            )
        if name == f"guide-{number}.html" and number in sections(n):
            links = [(f"{base}/topic-{one}.html", title("topic", one)) for one in members(number, n)]
            return page(
                f"guide {number} {language}",
                f"{title('guide', number)} {language}",
                text(("guide", number, language), 40),
                links,
                footer=footer,
                head=head,
            )
        if not 0 <= number < n:
            return None
        said = language if number % 4 == 0 else "en"
        written = release if number % 6 == 0 else ""
        main = article("topic", number, said) + (
            f"<p>{text(('since', number, written, said), 50)}</p>" if written else ""
        )
        if name == f"_sources/topic-{number}.rst.txt":
            return 200, {"Content-Type": "text/plain"}, main
        if name != f"topic-{number}.html":
            return None
        links = [(f"{base}/topic-{one}.html?highlight=word", title("topic", one)) for one in related(number, n)]
        links.append((f"{base}/_sources/topic-{number}.rst.txt", "Source"))
        return page(
            f"topic {number} {said} {written}",
            f"{title('topic', number)} {said}",
            main,
            links,
            footer=footer,
            head=head,
        )

    return answer


def cms(n: int) -> Answer:
    """*n* pages by ``id``; the default language, a sum over the arguments, where to go back, for print, uncached."""

    def url(number: int, **more: object) -> str:
        told = {"id": number, **more}
        return f"/index.php?{urlencode(told)}"

    def summed(number: int, **more: object) -> str:
        return url(number, **more, cHash=f"{drawn('sum', number, *sorted(more.items())).getrandbits(32):08x}")

    menu = [(url(1000 + one), title("unit", one)) for one in range(5)]

    def answer(place: Place) -> Any:
        args = place.args
        number = int(args.get("id", 999)) if place.path in {"/", "/index.php"} else -1
        if number == 999:
            links = [(url(1000 + one), title("unit", one)) for one in range(5)] + [
                (url(one, L=0), title("text", one)) for one in range(0, n, 6)
            ]
            return page("home", "The university", article("university"), links, menu=menu)
        if number - 1000 in range(5):
            links = [
                (summed(one, **{"tx_news[backPid]": number}), title("text", one)) for one in range(number - 1000, n, 5)
            ]
            return page(f"unit {number}", title("unit", number - 1000), article("unit", number), links, menu=menu)
        if not 0 <= number < n:
            return None
        language = args.get("L", "0")
        if language not in {"0", "1"}:
            return None
        key, main = f"text {number} {language}", article("text", number, language)
        heading = title("text", number, language)
        if args.get("type") == "98":
            return page(key, heading, main)
        links = [(url(number, L=one), str(one)) for one in (0, 1)] if number % 3 == 0 else []
        links += [(url(number, type=98, L=language), "Print"), (url(number, L=language, no_cache=1), "Reload")]
        links += [(summed(one, **{"tx_news[backPid]": number % 7}), title("text", one)) for one in related(number, n)]
        return page(key, heading, main, links, menu=menu)

    return answer


SITES = [
    Site(
        name="library",
        what="The session is the first part of the path, and lasting links begin another; the place in the list.",
        make=library,
        seeds=("https://library.example/(S(3f2b9c))/home.aspx",),
        items=r"record\.aspx",
        small=36,
        full=120,
    ),
    Site(
        name="discussions",
        what="By each post, for print, by number, with who invited; orders of categories.",
        make=discussions,
        seeds=("https://talk.example/",),
        items=r"/t/",
        small=40,
        full=240,
    ),
    Site(
        name="news in parts",
        what="Two desks for a story, parts and the whole, /amp, /print, shares.",
        make=parts_of_news,
        seeds=("https://paper.example/",),
        items=r"\.html|/print/",
        small=40,
        full=220,
    ),
    Site(
        name="docs in languages",
        what="Three languages, mostly not translated, two releases that hardly differ, sources.",
        make=documentation,
        seeds=("https://docs.example/",),
        items=r"/topic-",
        small=36,
        full=180,
    ),
    Site(
        name="CMS",
        what="Default language, sums over arguments, where to go back, for print, uncached.",
        make=cms,
        seeds=("https://uni.example/",),
        items=r"id=\d{1,3}(&|$)",
        small=40,
        full=240,
    ),
]
