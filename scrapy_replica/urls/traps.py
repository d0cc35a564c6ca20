"""Crawler traps: places where a machine makes URL after URL, and none brings anything new.

Two witnesses are wanted. The URL has the shape of one that a machine makes without end (a date, a path that grows or
repeats itself, a combination of arguments, another view of a wiki page), and what is new in it is that shape only: a
calendar ends, and an article under a date that nobody saw is fetched. And the pages of that machine had no line of
text and no link that it had not shown before. What has no shape is left to :class:`~scrapy_replica.urls.mazes.Mazes`.

A trap feeds itself: each of its pages leads to more of it. So a page counts against its place only where a page without
news led to it: what a page with news links to is as good as that page, and what a stranger links to says nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from scrapy_replica.records import Novelty, Page
from scrapy_replica.urls.folding import Folding, hash_of
from scrapy_replica.urls.shapes import Shape, TrapKind, shape, without_tokens

SURE = 2
"""A place is a trap beyond doubt after so many times the pages without news that make it one."""

MAX_VALUES = 500
"""Values of one place that are remembered; a URL with another one leads into no trap."""

MAX_LINES = 4_000
"""Hashes of lines and links of one place that are remembered; of those forgotten, the next one is news again."""

FEW_WORDS = 2
"""Words of a line that may be a date: weekday and month."""

MAX_HELD = 50_000
"""Such hashes over all places of a host, 100 bytes each."""


class Trap(NamedTuple):
    """Where a URL leads."""

    kind: TrapKind
    is_certain: bool
    n_agreed: int
    """Pages that brought nothing new, where the URL is made of what was asked for before."""


class Finder(Enum):
    """What led to a page."""

    STRANGER = "stranger"
    """A page of another host, or none."""
    PAGE = "page"
    """A page of its host."""
    WITHIN = "within"
    """A page of its host at the same path."""
    IDLE = "idle"
    """A page of its host of which is not known that it brought news."""


BY_ARGUMENTS = {
    TrapKind.FACETS: {Finder.IDLE, Finder.WITHIN},
    TrapKind.REVISIONS: {Finder.IDLE, Finder.WITHIN, Finder.PAGE},
}
"""What leads into traps of arguments, since nothing new is found in them but other values of these. Facets of a list
lead to more of them; what other pages link to is a matrix that ends: of ads by category and region, of which one in 25
has any and all others say so in the same words, 10 to 18 of 21 were lost."""

VERSIONS = 2
"""Ways to ask for other versions of a page that make a wiki: a law may have editions."""


@dataclass(slots=True)
class _Place:
    """What the URLs of one machine brought."""

    idle: int = 0
    """Pages since the last one with news, found on pages without."""
    news: int = 0
    untold: int = 0
    """Pages of which it is unknown whether they brought news."""
    values: set[str] = field(default_factory=set)
    lines: dict[int, None] = field(default_factory=dict)
    away: int | None = None
    """Hash of where its latest page leads beside itself."""
    is_listing: bool = False
    """Some page of it leads elsewhere: its pages are lists, and no shells that a script fills."""

    @property
    def has_versions(self) -> bool:
        """Whether the place is a wiki's."""
        return len(self.values) >= VERSIONS

    def learn(self, folding: Folding, links: set[int], *, counts_numbers: bool) -> bool | None:
        """Take what a page says and links to, and tell whether any of it is new; ``None`` where that is little.

        The name of a month and a number are little: they may be no more than the date, or what the place counts.
        """
        said, told = {*links}, set[int]()
        for words, numbers in folding.lines():
            (said if len(words) > FEW_WORDS else told).add(hash_of(" ".join(words)))
            if numbers and (counts_numbers or not words):
                told.add(hash_of(" ".join((*words, *numbers))))
        is_known, is_little = (said | told) <= self.lines.keys(), said <= self.lines.keys()
        self.lines |= dict.fromkeys(said | told)
        while len(self.lines) > MAX_LINES:
            del self.lines[next(iter(self.lines))]
        return False if is_known else None if is_little else True


class Traps:
    """Watches the pages of one host that were fetched from URLs of a trap's shape.

    A place is a trap after as many pages without news in a row as it brought with news before, at least *patience*: so
    a calendar with events is crawled, and one without ends. The revisions of a host are one place, which has no news
    once it has been asked for two ways; of these and of paths that repeat half as many are enough.
    Lines are held in memory only: where a host is met again they are counted from none, which costs fetches and no
    page.

    At most *max_places* places are kept, the least recently observed are forgotten first.
    """

    def __init__(self, patience: int = 10, max_places: int = 10_000) -> None:
        if patience < 1 or max_places < 1:
            raise ValueError("patience and max_places must be at least 1")
        self._patience, self._max_places = patience, max_places
        self._half = -(-patience // 2)
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._held = 0
        """Lines, links and values of all places."""
        self._is_any = False
        """Some place is a trap, or was."""

    def is_news(self, page: Page, novelty: Novelty, is_news: bool | None, min_words: int) -> bool | None:
        """Tell whether *page* brings news to the place that its URL belongs to; *is_news* where it belongs to none.

        A few words say little about a page that a script may fill; they are heeded where they tell the date of its URL.
        """
        found = shape(page.url)
        if found is None:
            return is_news
        if found.kind is TrapKind.REVISIONS:
            return False if self._place(found).has_versions else is_news
        is_path = found.kind in {TrapKind.GROWING_PATH, TrapKind.REPEATING_SEGMENTS}
        folding = Folding(page.url, page.title, page.text, is_date=found.kind is TrapKind.CALENDAR)
        if not page.text or not folding.is_whole:
            return is_news if page.text or is_path else None
        learnt = self._learn(found, page, folding)
        if novelty is Novelty.EXACT_DUPLICATE:
            return False if learnt is False else None
        is_listing = found.kind is TrapKind.FACETS and self._place(found).is_listing
        echoes_url = found.kind is TrapKind.CALENDAR and folding.echoes_url
        is_judged = is_path or page.words >= min_words or is_listing or echoes_url
        return None if learnt is False and not is_judged else learnt

    def _learn(self, found: Shape, page: Page, folding: Folding) -> bool | None:
        place = self._place(found)
        before = len(place.lines)
        links = {hash_of(part) for link in page.links for part in self._link_parts(link.url, found.place)}
        away = hash(frozenset(hash_of(link.url) for link in page.links if not _lies_in(link.url, found.place)))
        place.is_listing |= place.away not in {None, away}
        place.away = away
        # Lists of products show beside each choice how many there are.
        learnt = place.learn(folding, links, counts_numbers=found.kind is not TrapKind.FACETS)
        self._held += len(place.lines) - before
        if self._held > MAX_HELD:
            oldest = next(place for place in self._places.values() if place.lines)
            self._held -= len(oldest.lines)
            oldest.lines.clear()
        return learnt

    def _link_parts(self, url: str, place: str) -> list[str]:
        """Return what a link on a page of *place* says beyond its shape: the whole URL where that brings news."""
        to = shape(url)
        other = self._places.get(to.place) if to is not None and to.place != place else None
        if to is None or (other is not None and other.news > other.idle):
            return [without_tokens(url)]
        return [to.place, *(f"{to.place} {value}" for value in to.values)]

    def _place(self, found: Shape) -> _Place:
        place = self._places.setdefault(found.place, _Place())
        self._places.move_to_end(found.place)
        if len(self._places) > self._max_places:
            _, oldest = self._places.popitem(last=False)
            self._held -= len(oldest.lines) + len(oldest.values)
        return place

    def observe(self, url: str, is_news: bool | None, finder: Finder) -> bool:
        """Take note that the page at *url* was fetched and whether it brought news; ``None`` where that is unknown.

        :return: whether it brought news to a place that was a trap.
        """
        found = shape(url)
        if found is None:
            return False
        place = self._place(found)
        was_trap = place.idle >= self._limit(place, found.kind)
        is_revision = found.kind is TrapKind.REVISIONS
        if finder is not Finder.STRANGER and len(place.values) < MAX_VALUES:
            self._held -= len(place.values)
            place.values.update(found.values)
            self._held += len(place.values)
        if is_news and not is_revision:
            place.idle = 0
            place.news += 1
        elif is_news is None and not is_revision:
            place.untold += 1
        elif finder in BY_ARGUMENTS.get(found.kind, {Finder.IDLE}):
            place.idle += 1
            self._is_any |= place.idle >= self._half
        return was_trap and not place.idle

    def reopen(self, url: str) -> None:
        """Take note that there is news where *url* leads to: its place is no trap so far."""
        found = shape(url)
        if found is not None:
            self._place(found).idle = 0

    def _limit(self, place: _Place, kind: TrapKind) -> int:
        """Return how many pages without news make a trap of *place*."""
        return max(self._half if kind is TrapKind.REPEATING_SEGMENTS else self._patience, place.news + place.untold)

    def trap(self, url: str) -> Trap | None:
        """Return the trap that *url* leads into, ``None`` if it may be fetched."""
        found = shape(url) if self._is_any else None
        place = self._places.get(found.place) if found is not None else None
        if found is None or place is None:
            return None
        if found.kind is TrapKind.REVISIONS:
            is_trap = place.has_versions and place.idle >= self._half
            return Trap(found.kind, True, place.idle) if is_trap else None
        limit, is_repeating = self._limit(place, found.kind), found.kind is TrapKind.REPEATING_SEGMENTS
        if place.idle < limit or not place.values.issuperset(found.values):
            return None
        # There may be events ahead in a calendar: they are looked for at growing steps, which tells more than the next
        # ten months.
        is_sure = is_repeating or found.kind is TrapKind.CALENDAR or place.idle >= SURE * limit
        return Trap(found.kind, is_sure, 0 if found.kind is TrapKind.GROWING_PATH else place.idle)

    def __len__(self) -> int:
        return len(self._places) + self._held

    @property
    def slack(self) -> int:
        """Pages that can be observed, whatever they are, before any URL is in a trap; 0 where one may be."""
        idle = max((place.idle for place in self._places.values()), default=0)
        return 0 if self._is_any else max(0, self._half - idle)


def _lies_in(url: str, place: str) -> bool:
    """Tell whether *url* belongs to *place*: its list as a whole, or what of it some arguments ask for."""
    return url.partition("://")[2].partition("?")[0] == place.partition("?")[0]
