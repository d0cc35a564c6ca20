"""Sites with several addresses for one page: hosts, schemes, titles, redirects; and one without."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from hostile.scenario import WAY
from web import redirect

from everyday.building import article, members, page, related, sections, title
from everyday.site import Answer, Place, Site


def plain_page(place: Place, n: int, *, footer: Any = (), first: int = 0) -> Any:
    """A page of a site of *n* articles in sections, all relative links."""
    number = place.number
    if place.path == "/":
        links = [(f"/section/{one}", title("section", one)) for one in sections(n)]
        return page("home", "Home", article("home"), links, footer=footer)
    if place.path == f"/section/{number}" and number in sections(n):
        links = [(f"/article/{one}", title("article", one)) for one in members(number, n)]
        return page(f"section {number}", title("section", number), article("section", number), links, footer=footer)
    if place.path != f"/article/{number}" or not 0 <= number < n:
        return None
    links = [(f"/article/{one}", title("article", one)) for one in related(number, n)]
    return page(f"article {number}", title("article", number), article("article", number), links, footer=footer)


def clean(n: int) -> Answer:
    return lambda place: plain_page(place, n)


def schemes(n: int) -> Answer:
    """*n* articles by http and https, with www and without, each of which links to the others."""

    def answer(place: Place) -> Any:
        scheme = "http" if place.scheme == "https" else "https"
        host = place.host.removeprefix("www.") if place.host.startswith("www.") else f"www.{place.host}"
        footer = [(f"{scheme}://{place.host}{place.path}", "Secure"), (f"{place.scheme}://{host}{place.path}", host)]
        return plain_page(place, n, footer=footer)

    return answer


def moved(n: int) -> Answer:
    """*n* articles that link to others by former names of the site, which redirect: http, no www, another host."""
    former = ["http://www.site.example", "http://site.example", "http://old.example"]

    def answer(place: Place) -> Any:
        if (place.scheme, place.host) != ("https", "www.site.example"):
            return redirect(f"https://www.site.example{place.path}", 301)
        if place.path != f"/article/{place.number}" or not 0 <= place.number < n:
            return plain_page(place, n)
        links = [
            (f"{one}/article/{to}", title("article", to))
            for one, to in zip(former, related(place.number, n), strict=True)
        ]
        return page(f"article {place.number}", title("article", place.number), article("article", place.number), links)

    return answer


def staging(n: int) -> Answer:
    """*n* articles, the first third of which were left on the host where the site was tried."""

    def answer(place: Place) -> Any:
        if place.host == "staging.site.example":
            return plain_page(place, n // 3)
        footer = [("https://staging.site.example/", "New design")] if place.path == "/" else ()
        return plain_page(place, n, footer=footer)

    return answer


def nodes(n: int) -> Answer:
    """*n* articles by number and by title; the page says both in its head, as that engine does."""
    slugs = ["-".join(title("article", number).lower().split()) + f"-{number}" for number in range(n)]
    numbers = {slug: number for number, slug in enumerate(slugs)}

    def answer(place: Place) -> Any:
        if place.path == "/":
            links = [(f"/section/{one}", title("section", one)) for one in sections(n)]
            return page("home", "Home", article("home"), links)
        if place.path == f"/section/{place.number}" and place.number in sections(n):
            links = [(f"/content/{slugs[one]}", title("article", one)) for one in members(place.number, n)]
            return page(f"section {place.number}", title("section", place.number), "", links)
        slug = place.path.removeprefix("/content/")
        number = place.number if place.path == f"/node/{place.number}" else numbers.get(slug, -1)
        if not 0 <= number < n:
            return None
        head = f'<link rel="canonical" href="/content/{slugs[number]}"><link rel="shortlink" href="/node/{number}">'
        links = [(f"/node/{one}", title("article", one)) for one in related(number, n)]
        return page(f"article {number}", title("article", number), article("article", number), links, head=head)

    return answer


def paginated(n: int) -> Answer:
    """*n* articles of three parts each; the first part is also part 1, and the first page of a list page 1."""

    def answer(place: Place) -> Any:
        number, part = place.number, int(place.args.get("page", 1))
        if place.path == "/":
            links = [(f"/section/{one}", title("section", one)) for one in sections(n)]
            return page("home", "Home", article("home"), links)
        if place.path == f"/section/{number}" and number in sections(n) and part in {1, 2}:
            found = members(number, n)[10 * (part - 1) : 10 * part]
            links = [(f"/article/{one}", title("article", one)) for one in found]
            links += [
                (f"{place.path}?page={one}", str(one)) for one in (1, 2) if 10 * (one - 1) < len(members(number, n))
            ]
            return page(f"section {number} {part}", title("section", number), article("section", number, part), links)
        if place.path != f"/article/{number}" or not 0 <= number < n or part not in {1, 2, 3}:
            return None
        links = [(f"{place.path}?page={one}", str(one)) for one in (1, 2, 3)]
        links += [(f"/article/{one}?from={number % 3}", title("article", one)) for one in related(number, n)]
        return page(f"article {number} {part}", title("article", number), article("article", number, part), links)

    return answer


def tracker(n: int) -> Answer:
    """*n* articles to which a tracker redirects, from each place by another URL; to a third nothing else leads."""

    def answer(place: Place) -> Any:
        if place.path == "/go":
            target = place.args["to"]
            number = Place("", "", target, "", {}).number
            answered = redirect(f"https://site.example{target}")
            if number % 3 == 0:
                answered[1][WAY] = target
            return answered
        number = place.number

        def url(one: int, where: str) -> str:
            return "https://t.example/go?" + urlencode({"to": f"/article/{one}", "src": where})

        if place.path == f"/section/{number}" and number in sections(n):
            links = [(url(one, "section"), title("article", one)) for one in members(number, n)]
            links += [(f"/article/{one}", title("article", one)) for one in members(number, n) if one % 3]
            return page(f"section {number}", title("section", number), article("section", number), links)
        if place.path != f"/article/{number}":
            return plain_page(place, n)
        if not 0 <= number < n:
            return None
        links = [(url(one, f"article-{number % 3}"), title("article", one)) for one in related(number, n)]
        return page(f"article {number}", title("article", number), article("article", number), links)

    return answer


SITE = "https://site.example/"
SITES = [
    Site(
        name="http, https, www",
        what="One site by http and https, with www and without.",
        make=schemes,
        seeds=("http://site.example/",),
        items=r"/article/",
        small=45,
        full=300,
        copies=("site.example", "www.site.example"),
    ),
    Site(
        name="moved",
        what="Links to names that the site had once, all of which redirect.",
        make=moved,
        seeds=("https://www.site.example/",),
        items=r"/article/",
        small=60,
        full=300,
        copies=("site.example", "old.example"),
    ),
    Site(
        name="staging host",
        what="A third of the site was left on the host where it was tried.",
        make=staging,
        seeds=(SITE,),
        items=r"/article/",
        small=60,
        full=300,
        copies=("staging.site.example",),
    ),
    Site(
        name="node and alias",
        what="Each article by its number and by its title.",
        make=nodes,
        seeds=(SITE,),
        items=r"/(node|content)/",
        small=60,
        full=400,
    ),
    Site(
        name="page=1",
        what="The first part of an article is also its page 1; links say where they stood.",
        make=paginated,
        seeds=(SITE,),
        items=r"/article/",
        small=30,
        full=150,
    ),
    Site(
        name="tracker",
        what="A tracker's redirects, by another URL from each place.",
        make=tracker,
        seeds=(SITE,),
        items=r"/article/",
        small=60,
        full=300,
    ),
    Site(
        name="clean",
        what="Nothing is met twice.",
        make=clean,
        seeds=(SITE,),
        items=r"/article/",
        small=60,
        full=300,
    ),
]
