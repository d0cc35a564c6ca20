"""Sites that are drawn from a number: URLs that look like spellings of a page, and for some pages are something else.

Each has things in lists, *aliases* of their pages (for print, tabs, other paths, redirects, other hosts), of which a
share is odd, and *spellings* of links (sessions, where a link stood, slashes). ``make everyday ONLY='--drawn 0-40'``
crawls the sites of these numbers: nobody wrote them so that something is saved, or lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

from shapes.building import drawn
from web import redirect

from everyday.building import Link, article, page, related, text, title
from everyday.site import Answer, Place, Site

HOST = "site.example"
ITEMS = rf"{HOST}/(?!list/|\?|$)"
"""All but the front page and lists."""


LOGIN = """<p>Please log in to see this.</p>
<form action="/login" method="post"><input name="name"><input name="password" type="password"></form>"""


@dataclass(frozen=True)
class Url:
    """A URL of the site before it is spelled."""

    path: str
    args: tuple[tuple[str, str], ...] = ()
    host: str = HOST

    def __str__(self) -> str:
        query = urlencode(self.args)
        return f"https://{self.host}{self.path}{f'?{query}' if query else ''}"

    def with_arg(self, name: str, value: object) -> Url:
        return replace(self, args=(*self.args, (name, str(value))))

    def without(self, name: str) -> Url:
        return replace(self, args=tuple(arg for arg in self.args if arg[0] != name))

    @property
    def at(self) -> tuple[str, str, frozenset[tuple[str, str]]]:
        """What the site knows it by: it does not care for the order of arguments."""
        return self.host, self.path, frozenset(self.args)


@dataclass
class Leaf:
    """What the site gives for a URL."""

    key: str
    """Which content it is; nobody wants what has none."""
    name: str
    main: str
    links: list[tuple[Url, str]] = field(default_factory=list)
    to: Url | None = None
    """Where it redirects."""
    number: int = -1
    """Which thing it is of."""


@dataclass
class Spot:
    """Where a link stands."""

    draw: Random
    rank: int
    session: str


Spelling = Callable[[Url, Spot], Url]
Alias = Callable[[Url, int], Url]
"""Makes another URL of that of a thing and of its number."""


def slug(*key: object) -> str:
    return "-".join(title(*key).lower().split())


FORMS: list[Callable[[str, int], Url]] = [
    lambda kind, one: Url(f"/{kind}/{one}"),
    lambda kind, one: Url(f"/{kind}/{slug(kind, one)}-{one}.html"),
    lambda kind, one: Url(f"/{kind}s/{slug('shelf', one % 5)}/{slug(kind, one)}-{one}"),
    lambda kind, one: Url("/index.php", (("page", kind), ("id", str(one)))),
    lambda kind, one: Url(f"/{kind}.asp", (("id", str(one)),)),
    lambda kind, one: Url(f"/{one // 40 + 2001}/{one % 12 + 1:02}/{slug(kind, one)}-{one}/"),
]
"""How an engine calls the page of a thing."""


def suffixed(end: str) -> Alias:
    return lambda url, one: replace(url, path=f"{url.path.rstrip('/')}/{end}")


def prefixed(begin: str) -> Alias:
    return lambda url, one: replace(url, path=f"/{begin}{url.path}")


def argument(name: str, value: str) -> Alias:
    return lambda url, one: url.with_arg(name, value)


def aliases(draw: Random) -> list[Alias]:
    """One way in which engines call a page once more; several, where it has values."""
    name = draw.choice(["view", "tab", "print", "lang", "format", "v", "mode", "from", "show", "size", "q"])
    values = draw.sample(["1", "full", "text", "reviews", "en", "all", "html", "list", "old", "x2"], draw.randint(1, 3))
    word = draw.choice(["print", "amp", "full", "comments", "en", "m", "embed", "history"])
    script, number = draw.choice(["show", "node", "go", "id", "s"]), draw.choice(["id", "p", "num"])
    ways: list[list[Alias]] = [
        [argument(name, value) for value in values],
        [argument(name, value) for value in values],
        [suffixed(word)],
        [prefixed(word)],
        [lambda url, one: Url(f"/{script}/{one}")],
        [lambda url, one: Url(f"/{script}.php", ((number, str(one)),))],
        [lambda url, one: replace(url, host=f"m.{HOST}")],
        [lambda url, one: Url("/out", (("to", quote(str(url))),))],
        [lambda url, one: url.with_arg("back", f"/{script}/{one % 7}")],
    ]
    return draw.choice(ways)


def odd_ones(draw: Random, n: int) -> Callable[[int], bool]:
    """Of which things the alias is something else: of none in three cases of seven."""
    every = draw.choice([3, 5, 10])
    return draw.choice(
        [
            lambda one: False,
            lambda one: False,
            lambda one: False,
            lambda one: one % every == every - 1,
            lambda one: drawn("odd", every, one).random() < 1 / every,
            lambda one: one >= n - n // every,
            lambda one: one % 5 == every % 5,
        ]
    )


class Drawn:
    """The site of *seed* with *n* things."""

    def __init__(self, seed: int, n: int) -> None:
        draw = drawn("drawn", seed)
        self._seed, self._n = seed, n
        self._numbers = count()
        self._leaves: dict[Any, Leaf] = {}
        self._kind = draw.choice(["item", "article", "topic", "record"])
        form, self._words = draw.choice(FORMS), draw.choice([12, 45, 120])
        self._urls = [form(self._kind, one) for one in range(n)]
        self._is_alike = draw.random() < 0.2
        self._has_related = draw.random() < 0.6
        self._add_things()
        self._sticky = [alias for _ in range(draw.randint(1, 4)) for alias in self._add_alias(draw)]
        self._add_lists(draw)
        self._spellings = [*self._drawn_spellings(draw)]

    def _add(self, url: Url, leaf: Leaf) -> None:
        self._leaves.setdefault(url.at, leaf)

    def _main(self, *key: object) -> str:
        if self._is_alike:
            return f"<p>{text(('all', self._seed), self._words)} {text((*key, 'own'), 8)}.</p>"
        return article(self._seed, *key, words=self._words)

    def _add_things(self) -> None:
        for one, url in enumerate(self._urls):
            links = [(self._urls[other], title(self._kind, other)) for other in related(one, self._n)]
            leaf = Leaf(f"{self._kind} {one}", title(self._kind, one), self._main(self._kind, one), number=one)
            leaf.links = links if self._has_related else []
            self._add(url, leaf)

    def _add_alias(self, draw: Random) -> list[Alias]:
        """Give each thing other URLs; return those by which their pages lead to others as well."""
        kept = []
        for alias in aliases(draw):
            is_odd, share = odd_ones(draw, self._n), draw.choice([1, 1, 1, 0.4])
            what = draw.choice(["same", "same", "same", "redirect", "gate", "bare"])
            odd = draw.choice(["other", "more", "missing", "home", "near"])
            of, is_sticky = next(self._numbers), draw.random() < 0.3
            for one, url in enumerate(self._urls):
                if drawn("has", self._seed, of, one).random() > share:
                    continue
                made, leaf = alias(url, one), self._leaves[url.at]
                given = self._odd(leaf, odd, of) if is_odd(one) else self._given(leaf, what, url)
                if made.at not in self._leaves:
                    self._add(made, given)
                    leaf.links.append((made, ["Print", "Share", "More", "Reviews", "Short link"][of % 5]))
            kept += [alias] if is_sticky else []
        return kept

    def _given(self, leaf: Leaf, what: str, url: Url) -> Leaf:
        if what == "redirect":
            return Leaf("", "", "", to=url)
        if what == "gate":
            return Leaf("", "Log in", LOGIN)
        return leaf if what == "same" else Leaf(leaf.key, leaf.name, leaf.main, number=leaf.number)

    def _odd(self, leaf: Leaf, odd: str, of: int) -> Leaf:
        if odd == "missing":
            return Leaf("missing", "", "")
        if odd == "home":
            return Leaf("", "", "", to=Url("/"))
        more = {
            "other": self._main("other", of, leaf.number),
            "more": f"{leaf.main}<p>{text(('more', self._seed, of, leaf.number), 40)}</p>",
            "near": f"{leaf.main}<p>Part {leaf.number + 1000 * (of + 1)}.</p>",
        }
        return Leaf(f"{odd} {of} {leaf.number}", leaf.name, more[odd], leaf.links)

    def _add_lists(self, draw: Random) -> None:
        """Lists by shelf in pages, in several orders; some things stand in no list by default."""
        length, n_shelves = draw.choice([8, 15, 40]), draw.choice([1, 3, 6])
        name, first = draw.choice([("page", 1), ("start", 0), ("p", 1)])
        orders = ["", *draw.sample(["price", "date", "name", "rating"], draw.randint(0, 3))]
        shown = draw.choice([1, 1, 1, 0.8])
        has_first, is_default = draw.random() < 0.4, draw.random() < 0.5
        shelves = [Url(f"/list/{shelf}") for shelf in range(n_shelves)]
        home = [(url, title("shelf", shelf)) for shelf, url in enumerate(shelves)]
        self._add(Url("/"), Leaf("home", "Home", article("home", self._seed), home))
        for shelf, url in enumerate(shelves):
            for order in orders:
                found = [one for one in range(self._n) if one % n_shelves == shelf]
                found = found[: int(shown * len(found))] if not order else found
                drawn(order, self._seed).shuffle(found) if order else None
                for at in range(0, len(found), length):
                    of_order = url.with_arg("sort", order) if order else url
                    part = at // length + first if name != "start" else at
                    here = of_order.with_arg(name, part)
                    key = "" if order else f"list {shelf} {at}"
                    links = [(self._urls[one], title(self._kind, one)) for one in found[at : at + length]]
                    links += [(url.with_arg("sort", one), one) for one in orders if one]
                    links += [(url.with_arg("sort", "default"), "relevance")] if is_default else []
                    links += [(of_order, "First")] if not has_first else [(of_order.with_arg(name, first), "First")]
                    step = 1 if name != "start" else length
                    links += [(of_order.with_arg(name, part + step), "Next")] if at + length < len(found) else []
                    leaf = Leaf(key, f"{title('shelf', shelf)}", "", links)
                    self._add(here, leaf)
                    if at == 0:
                        self._add(of_order, leaf)
                        if not order:
                            self._add(url.with_arg("sort", "default"), leaf)

    def _drawn_spellings(self, draw: Random) -> Iterator[Spelling]:
        """Ways in which links spell URLs; ``_read`` takes them back."""
        if draw.random() < 0.4:
            places, is_rank = draw.choice([2, 3, 6]), draw.random() < 0.7
            yield lambda url, at: url.with_arg("ref", f"b{(at.rank if is_rank else at.draw.randrange(100)) % places}")
        if draw.random() < 0.25:
            yield lambda url, at: url.with_arg("sid", at.session)
        if draw.random() < 0.2:
            yield lambda url, at: replace(url, path=url.path.rstrip("/") + "/") if at.draw.random() < 0.5 else url
        if draw.random() < 0.2:
            yield lambda url, at: replace(url, host=f"www.{url.host}") if at.draw.random() < 0.5 else url
        if draw.random() < 0.2:
            yield lambda url, at: replace(url, args=url.args[::-1]) if at.draw.random() < 0.5 else url

    def _read(self, place: Place) -> Leaf | None:
        url = Url(place.path, tuple(place.args.items()), place.host.removeprefix("www."))
        url = url.without("ref").without("sid")
        path = url.path.rstrip("/")
        spelled = [url, replace(url, path=path or "/"), replace(url, path=f"{path}/")]
        return next((self._leaves[one.at] for one in spelled if one.at in self._leaves), None)

    def _spelled(self, links: Iterable[tuple[Url, str]], place: Place) -> list[Link]:
        arguments = sorted((name, value) for name, value in place.args.items() if name != "sid")
        draw = drawn(self._seed, place.host, place.path, arguments)
        spelled = []
        for rank, (url, label) in enumerate(links):
            spot = Spot(draw, rank, place.args["sid"])
            spelled.append((str(reduce(lambda one, spelling: spelling(one, spot), self._spellings, url)), label))
        return spelled

    def __call__(self, place: Place) -> Any:
        leaf = self._read(place)
        place.args.setdefault("sid", f"{drawn(self._seed, next(self._numbers)).getrandbits(48):012x}")
        if leaf is None or leaf.key == "missing":
            return None
        if leaf.to is not None:
            ((to, _),) = self._spelled([(leaf.to, "")], place)
            return redirect(to)
        links = leaf.links
        if leaf.number >= 0 and self._sticky and self._leaves[self._urls[leaf.number].at] is leaf:
            numbers = related(leaf.number, self._n)
            made = [(alias(self._urls[one], one), title(self._kind, one)) for alias in self._sticky for one in numbers]
            links = links + [(url, label) for url, label in made if url.at in self._leaves]
        menu = self._spelled([(Url("/"), "Home")], place)
        return page(leaf.key, leaf.name, leaf.main, self._spelled(links, place), menu=menu)


def site(seed: int) -> Site:
    """The site of *seed*."""
    n = drawn("size", seed).choice([30, 60, 90, 150])

    def make(size: int) -> Answer:
        return Drawn(seed, size)

    return Site(
        name=f"drawn {seed}",
        what="what was drawn",
        make=make,
        seeds=(f"https://{HOST}/",),
        items=ITEMS,
        small=n,
        full=n,
        copies=(f"m.{HOST}", f"www.{HOST}", f"www.m.{HOST}"),
    )
