"""Sites of texts: a blog, a wiki, a forum, a manual, a newspaper."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from shapes.building import drawn
from web import redirect

from everyday.building import Link, article, members, page, related, sections, text, title
from everyday.site import Answer, Place, Site

POSTS = 5
"""Posts on a page of a topic."""
VERSIONS = ("1.0", "2.0", "3.0", "latest")


def blog(n: int) -> Answer:
    """*n* posts with comments that can be answered and shares, each as a page for telephones, too; and archives."""
    per_page = 10
    menu = [("/", "Home"), ("/author/ann", "Ann"), *((f"/tag/{one}", title("tag", one)) for one in range(6))]
    menu += [(f"/2025/{month:02}", f"2025-{month:02}") for month in range(1, 13)]

    def url(number: int) -> str:
        return f"/2025/{number % 12 + 1:02}/post-{number}"

    def listed(key: str, name: str, found: list[int], place: Place, base: str) -> Any:
        part = int(place.args.get("paged", 1)) - 1
        posts = found[per_page * part : per_page * (part + 1)]
        if not posts:
            return None
        main = "".join(f"<h2>{title('post', one)}</h2><p>{text(('post', one, 0), 20)}</p>" for one in posts)
        links = [(url(one), title("post", one)) for one in posts]
        if per_page * (part + 1) < len(found):
            links.append((f"{base}?paged={part + 2}", "Older posts"))
        return page(f"{key} {part}", f"{name}, page {part + 1}", main, links, menu=menu)

    def answer(place: Place) -> Any:
        path = place.path.rstrip("/")
        if path in {"", "/author/ann"}:  # all posts are hers
            if "p" in place.args:
                return redirect(url(int(place.args["p"])), 301)
            return listed("home", "The blog", list(range(n)), place, path or "/")
        parts = path.split("/")[1:]
        if parts[0] == "tag":
            return listed(path, title("tag", place.number), list(range(place.number, n, 6)), place, path)
        if len(parts) == 2:
            return listed(path, f"Posts of {parts[1]}", list(range(int(parts[1]) - 1, n, 12)), place, path)
        number = int(parts[2].removeprefix("post-"))
        if not 0 <= number < n or not path.startswith(url(number)):
            return None
        comments = range(drawn("comments", number).randint(0, 4))
        said = "".join(f"<p>{text(('comment', number, one), 15)}</p>" for one in comments)
        main = article("post", number) + said
        if path.endswith("/amp"):
            return page(f"post {number}", title("post", number), main)
        links = [(f"{url(number)}?replytocom={100 * number + one}", "Reply") for one in comments]
        links += [(f"{url(number)}?share={name}", name) for name in ("twitter", "facebook")]
        links += [(f"{url(number)}/amp", "For telephones"), (f"/?p={number}", "Short link")]
        links += [(f"{url(number)}/comment-page-1", "Comments")] if comments else []
        links += [(url(one), title("post", one)) for one in related(number, n)]
        return page(f"post {number}", title("post", number), main, links, menu=menu)

    return answer


def wiki(n: int) -> Answer:
    """*n* articles by two addresses, for print, to edit, with their history, old revisions and differences."""
    revisions = range(1, 4)

    def answer(place: Place) -> Any:
        args = place.args
        name = args.get("title") or place.path.removeprefix("/wiki/").strip("/") or "Article_0"
        number = Place("", "", name, "", {}).number
        if not 0 <= number < n or name != f"Article_{number}":
            return None
        about = [(f"/wiki/Article_{one}", title("article", one)) for one in related(number, n)]
        links: list[Link] = [(f"/index.php?title={name}&action={action}", action) for action in ("edit", "history")]
        links += [(f"/index.php?title={name}&printable=yes", "Printable version"), (f"/index.php?title={name}", "Read")]
        content, heading = article("article", number), title("article", number)
        if args.get("action") == "edit":
            return page("", f"Editing {heading}", f"<textarea>{content}</textarea>", links)
        if args.get("action") == "history":
            links += [(f"/index.php?title={name}&oldid={10 * number + one}", f"revision {one}") for one in revisions]
            links += [(f"/index.php?title={name}&diff=prev&oldid={10 * number + one}", "prev") for one in revisions]
            return page("", f"History of {heading}", "", links)
        revision = int(args.get("oldid", 10 * number + revisions[-1])) - 10 * number
        if revision not in revisions:
            return None
        if "diff" in args:
            return page("", f"Difference of {heading}", f"<p>{text(('revision', number, revision), 30)}</p>", links)
        if revision != revisions[-1]:
            content += f"<p>{text(('revision', number, revision), 30)}</p>"
            return page("", heading, content, links + about)
        return page(f"article {number}", heading, content, [*about, *links])

    return answer


def forum(n: int) -> Answer:
    """*n* topics, met by their posts, by the topics beside them, for print, with what was searched for, in sessions."""
    per_page = 25
    sizes = [drawn("topic", number).randint(3, 12) for number in range(n)]

    def answer(place: Place) -> Any:
        args = place.args
        session = place.cookies.get("sid", "")
        is_new = not session
        session = session or f"{drawn('forum', place.path, place.query).getrandbits(64):016x}"
        headers = {"Set-Cookie": f"sid={session}; Path=/"} if is_new else None

        def url(script: str, **told: object) -> str:
            kept = {name: value for name, value in told.items() if value != ""} | {"sid": session}
            return f"/{script}.php?{urlencode(kept)}"

        def shown(key: str, name: str, main: str, links: list[Link]) -> Any:
            return page(key, name, main, links, menu=[(url("index"), "Board index")], headers=headers)

        start = int(args.get("start", 0))
        if place.path in {"/", "/index.php"}:
            return shown(
                "index",
                "The board",
                article("board"),
                [(url("viewforum", f=k), title("forum", k)) for k in sections(n)],
            )
        if place.path == "/viewforum.php" and int(args.get("f", -1)) in sections(n):
            number = int(args["f"])
            topics = members(number, n)[start : start + per_page]
            links = [(url("viewtopic", f=number, t=one), title("topic", one)) for one in topics]
            links += [(url("viewtopic", p=100 * one + sizes[one] - 1), "Last post") for one in topics]
            links += [(url("viewtopic", f=number, t=one, hilit="garden"), "Found") for one in topics if one % 4 == 0]
            return shown(f"forum {number} {start}", title("forum", number), "", links)
        if place.path != "/viewtopic.php":
            return None
        topic = int(args["t"]) if "t" in args else int(args.get("p", -1)) // 100
        topic += {"next": 1, "previous": -1}.get(args.get("view", ""), 0)
        if not 0 <= topic < n:
            return page("", "Information", "<p>There is no such topic.</p>", [(url("index"), "Board index")])
        if "p" in args:
            start = int(args["p"]) % 100 // POSTS * POSTS
        is_print = args.get("view") == "print"
        posts = range(start, min(sizes[topic], start + POSTS))
        if not posts:
            return None
        main = "".join(f"<p>{text(('post of', topic, one), 40)}</p>" for one in posts)
        key, heading, of = f"topic {topic} {start}", title("topic", topic), topic // 20
        if is_print:
            return page(key, heading, main)
        links = [(url("viewtopic", p=100 * topic + one), "Post") for one in posts]
        links += [(url("viewtopic", f=of, t=topic, start=one), "page") for one in range(POSTS, sizes[topic], POSTS)]
        links += [(url("viewtopic", f=of, t=topic, start=start or "", view="print"), "Print view")]
        links += [(url("viewtopic", f=of, t=topic, view=one), f"{one} topic") for one in ("next", "previous")]
        return shown(key, heading, main, links)

    return answer


def manual(n: int) -> Answer:
    """*n* pages in three versions; four of five are equal in all of them, and the latest is the third."""

    def answer(place: Place) -> Any:
        version, number = place.path.split("/")[1], max(place.number, 0)
        if place.path == "/":
            return page("home", "Manuals", article("manuals"), [(f"/{one}/index.html", one) for one in VERSIONS])
        if version not in VERSIONS:
            return None
        if place.path == f"/{version}/index.html":
            links = [(f"/{version}/chapter-{one}.html", title("chapter", one)) for one in sections(n)]
            return page("index", "Contents", article("contents"), links)
        if place.path == f"/{version}/chapter-{number}.html" and number in sections(n):
            links = [(f"/{version}/page-{one}.html", title("page", one)) for one in members(number, n)]
            return page(f"chapter {number}", title("chapter", number), text(("chapter", number), 40), links)
        if place.path != f"/{version}/page-{number}.html" or number >= n:
            return None
        written = ("3.0" if version == "latest" else version) if number % 5 == 0 else ""
        main = article("page", number) + (f"<p>{text(('page', number, written), 60)}</p>" if written else "")
        links = [(f"/{version}/page-{one}.html", title("page", one)) for one in related(number, n)]
        return page(f"page {number} {written}", title("page", number), main, links)

    return answer


def newspaper(n: int) -> Answer:
    """*n* articles; links say who brought the reader, and there are a host and pages for telephones."""
    base, mobile = "https://www.news.example", "https://m.news.example"

    def answer(place: Place) -> Any:
        host = f"https://{place.host}"
        menu = [(f"{host}/section/{one}", title("section", one)) for one in sections(n)]
        number = place.number
        if place.path == "/":
            links = [(f"{host}/2025/news-{one}?ref=home", title("news", one)) for one in range(0, n, 9)]
            return page("home", "News", text("news", 40), links, menu=menu)
        if place.path == f"/section/{number}" and number in sections(n):
            found = members(number, n)
            links = [(f"{host}/2025/news-{one}", title("news", one)) for one in found]
            links += [(f"{host}/2025/news-{one}?utm_source=section&utm_medium=teaser", "Read more") for one in found]
            return page(f"section {number}", title("section", number), "", links, menu=menu)
        if not 0 <= number < n or place.path not in {f"/2025/news-{number}", f"/amp/news-{number}"}:
            return None
        links = [(f"{host}/2025/news-{one}?ref=related", title("news", one)) for one in related(number, n)]
        links.append((f"{host}/2025/news-{number}?utm_source=share&utm_medium=mail", "Mail it"))
        other = base if host == mobile else mobile
        footer = [(f"{other}/2025/news-{number}", "Other version"), (f"{base}/amp/news-{number}", "AMP")]
        return page(f"news {number}", title("news", number), article("news", number), links, menu=menu, footer=footer)

    return answer


SITES = [
    Site(
        name="blog",
        what="replytocom, share, amp, pages of comments, short links, an author who wrote all.",
        make=blog,
        seeds=("https://blog.example/",),
        items=r"/\d{4}/\d\d/post-",
        small=40,
        full=180,
    ),
    Site(
        name="wiki",
        what="index.php, printable, old revisions, differences, forms to edit.",
        make=wiki,
        seeds=("https://wiki.example/wiki/Article_0",),
        items=r"/wiki/|printable|title=[^&]*$",
        small=40,
        full=200,
    ),
    Site(
        name="forum",
        what="Posts by p, topics by t and start, view, hilit, and sid in each link.",
        make=forum,
        seeds=("https://forum.example/index.php",),
        items=r"viewtopic",
        small=30,
        full=130,
    ),
    Site(
        name="manual in versions",
        what="Three versions and the latest; four of five pages are the same in all.",
        make=manual,
        seeds=("https://docs.example/",),
        items=r"/page-",
        small=45,
        full=260,
    ),
    Site(
        name="newspaper",
        what="utm, ref, a host for telephones, amp.",
        make=newspaper,
        seeds=("https://www.news.example/",),
        items=r"/news-",
        small=40,
        full=220,
        copies=("m.news.example",),
    ),
]
