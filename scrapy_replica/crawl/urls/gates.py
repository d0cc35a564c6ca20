"""Gates: URLs of one host that lead to one page, or show it, whatever they ask for. A login, a cart, a list of wishes.

Links to what differs say what that is: a gate is only where links say the same ("Add to cart"), and one URL that leads
elsewhere, or shows another page, ends it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import unquote

from scrapy_replica.crawl.urls.contents import form_of
from scrapy_replica.records import Page
from scrapy_replica.urls.learners.candidates import tokens_of
from scrapy_replica.urls.pattern import argument_name, parse
from scrapy_replica.urls.rule import WILDCARD, Rule, Step, compiled
from scrapy_replica.usage import Use, uses

LEARNT_FROM = "redirects"
FIRST = 5
"""URLs of one shape that lead to one page before the others of that shape are said to; those after them prove it."""
SAME_WORDS = 3
"""Links to them for each text that these have, at least."""
MOST = 100
"""URLs of one shape that are remembered, 200 bytes each."""
MAX_SHAPES = 100
"""Shapes of one host that are remembered; the one met first is forgotten first."""
MAX_WORDS = 2_000
"""Links of one host whose words are remembered."""

_DIGITS = re.compile(r"\d+")
_OF_THINGS = re.compile(r"[\d_%+-]")
"""What a part of a path has that names a thing, and no machine: a number, or several words."""
_ACTION = re.compile(
    r"(?<![a-z])(?:add-?to-?cart|basket|cart|checkout|ecard|edit|log-?in|mailto|newreply|reply|send[-_]?to(?:[-_]?friend)?"
    r"|sign-?in|sign-?up|(?:un)?subscribe|tell[-_]a[-_]friend)(?![a-z])"
)
"""What URLs say that are there to do something. Not what some have and most have not, as favourites, votes or contacts:
four of 200 that had some were lost."""

_Shape = tuple[int, str, tuple[str, ...]]


class Gates:
    """Where the URLs of one host redirect to, or whose page they show, as far as many of one shape do.

    Held in memory only: a host that is met again is counted from none, and a rule that was found stays.
    """

    def __init__(self) -> None:
        self._led: dict[_Shape, dict[str, str]] = {}
        """Shape -> forms -> where they lead."""
        self._firsts: set[str] = set()
        """First names of their paths."""
        self._shown: dict[int, str] = {}
        """Cluster of a closed page -> the form that showed it first."""
        self._words: dict[str, str] = {}
        """Form -> what the last link to it said, where its path begins with one of these names."""
        self._n_pages = self._n_logins = 0

    def __len__(self) -> int:
        return len(self._words) + sum(map(len, self._led.values()))

    def first_shown(self, cluster: int, form: str) -> str:
        """Return the form that showed the closed page of that *cluster* first: *form*, if none did before."""
        return self._shown.setdefault(cluster, form) if len(self._shown) < MOST else self._shown.get(cluster, form)

    def read(self, page: Page) -> None:
        self._n_pages += 1
        self._n_logins += _has_login(page)
        for link in page.links if self._firsts else ():
            first = link.url.split("/", 4)[3:4]
            if first and first[0].partition("?")[0] in self._firsts and len(self._words) < MAX_WORDS:
                self._words[form_of(link.url)] = _DIGITS.sub("0", link.text.strip())

    def is_closed(self, page: Page) -> bool:
        """Tell whether *page* asks for a password, not to be found, or to do something, as its URL says: that others
        show the same is no accident then.

        Most things have no comments yet, and say so in the same words: of four of 200 that have some all were lost.
        Where every other page has a box to log in it says nothing of this one: so were 18 of 18 lists of favourites.
        """
        asks = _has_login(page) and 2 * self._n_logins <= self._n_pages
        if asks or uses(page.statements).get(Use.SEARCH) is False:
            return True
        url = parse(form_of(page.url))
        return _ACTION.search(f"{url.path.rpartition('/')[2]}?{url.query}".lower()) is not None

    def add(
        self, form: str, place: str, pages: Iterable[str], canonical: Callable[[str], str], *, is_page: bool
    ) -> Rule | None:
        """Take note that *form* leads to *place*; return what seems to hold of all URLs of the shape.

        A place on another host is no gate, and says that the shape leads to more than one.

        It is looked at again when more lead there: the first may have had more in common.

        :param pages: forms of the host that were fetched and lead nowhere.
        :param canonical: form -> its canonical form.
        :param is_page: *form* shows the page at *place*, as all of the shape do that show what others show: the
            spellings of one product say nothing of those of the next. Words of links have to be known then.
        """
        shape = _shape_of(form, is_page=is_page)
        if shape is None:
            return None
        if shape not in self._led and len(self._led) >= MAX_SHAPES:
            del self._led[next(iter(self._led))]
        led = self._led.setdefault(shape, {})
        self._firsts.add(parse(form).components[0])
        if form in led or len(led) >= MOST:
            return None
        led[form] = place
        host = parse(form).host
        if parse(place).host != host:
            return None
        wanted = canonical(place)
        same = [one for one, there in led.items() if parse(there).host == host and canonical(there) == wanted]
        least = 1 if is_page else 0
        is_told = not len(same) % FIRST and not (is_page and len(same) < len(led)) and self._say_the_same(same, least)
        rule = _rule(same, place if is_page else wanted) if is_told else None
        if rule is None:
            return None
        change, others = compiled(rule.transformation), led.keys() - set(same)
        elsewhere = (*others, *pages) if is_page else (*others, *pages, place)
        is_wider = any(change(parse(one)) is not None for one in elsewhere)
        return None if is_wider else rule

    def _say_the_same(self, forms: Iterable[str], least: int) -> bool:
        """Tell whether links to *forms* have few texts, but *least*, as far as they are known."""
        words = [self._words[form] for form in forms if form in self._words]
        return len(words) >= SAME_WORDS * max(len({*words}), least) and all(words)


def _has_login(page: Page) -> bool:
    return any(form.is_login for form in page.forms)


def destination_of(form: str, location: str) -> str:
    """Return the form of the *location* that *form* leads to, without the arguments that say where to go on from there.

    These are the URL itself or its path: ``/login?next=/apply/7`` is asked for by ``/apply/7``.
    """
    there, path = parse(form_of(location)), parse(form).path
    kept = [one for one in there.arguments or () if len(path) < 2 or path not in unquote(one)]
    return str(there.with_arguments(tuple(kept)))


def _shape_of(form: str, *, is_page: bool) -> _Shape | None:
    """Return what URLs of one machine have in common: of pages all but names of things; ``None`` where nothing but
    their name tells.
    """
    url = parse(form)
    if len(tokens_of(url.local)) <= 2 or WILDCARD.search(url.local):
        return None
    names = _without_things(url.components) if is_page else url.components[0]
    return len(tokens_of(url.local)), names, tuple(map(argument_name, url.arguments or ()))


def _without_things(components: Sequence[str]) -> str:
    """Return a path without the names of things in it.

    What stands last, without a number, may say what to do with the thing: ``add-to-cart``.
    """
    *inner, last = components
    names = ["0" if _OF_THINGS.search(one) else one for one in inner]
    return "/".join([*names, "0" if _DIGITS.search(last) else last])


def _rule(forms: Sequence[str], place: str) -> Rule | None:
    """Return the rule that makes *place* of all URLs of *forms* and of those that differ where these do."""
    rows = [tokens_of(parse(form).local) for form in forms]
    source, n_wild = "", 0
    for column in zip(*rows, strict=True):
        is_literal = len({*column}) == 1
        source += column[0] if is_literal else f"{{{n_wild}}}"
        n_wild += not is_literal
    if not n_wild:
        return None
    examples = tuple((form, place) for form in forms[:3])
    target = parse(place).local
    return Rule(parse(place).host, (), (Step("template", source, target),), FIRST, 0.0, LEARNT_FROM, examples)
