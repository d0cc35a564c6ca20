"""Looks ahead in what seems to be a trap: after an empty month there may be a full one, years later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from scrapy_replica.claim import Claim
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.frontier import Frontier
from scrapy_replica.crawl.given import Payloads
from scrapy_replica.crawl.urls.guard import TrapGuard
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import CrawlDB, State, UrlRow
from scrapy_replica.decision import Reason
from scrapy_replica.urls.shapes import TrapKind, shape, siblings
from scrapy_replica.urls.steps import Walk, walk_of

LOOKS = 11
"""URLs of one trap that are fetched all the same: 1, 2, 4, ... steps ahead, and in turn, where its links lead both
ways, behind. Six one way are 32 months, eleven all there will be."""
SOON = 512
"""Steps that a walk is gone on with whose end is known: it costs fewer fetches than plain Scrapy makes."""
UNSTEPPED = 2
"""The same where no steps can be told."""
MOST_STEPS = 512
"""URLs without news in a row that are fetched on one host, one after the other, where the callback makes its way by
itself, which has an end of its own. Of a gazette of 400 days, a twentieth of them with notices, 13 of 14 were lost, and
all where a request had arguments."""
PLACES = 50
"""URLs that one host's traps suppressed last which are looked at, each for its place."""


@dataclass
class _Place:
    """How far one trap was looked into."""

    left: int = LOOKS
    looks: Counter[bool] = field(default_factory=Counter)
    """Looks ahead, and behind."""
    news: set[int] = field(default_factory=set)
    """Positions where there was something new."""
    ends: set[int] = field(default_factory=set)
    """Positions where there is no page."""
    far: set[int] = field(default_factory=set)
    """Ids of pages far ahead that brought nothing: nobody goes on from there."""
    asked: list[tuple[int, int]] = field(default_factory=list)
    """Ids and positions of the URLs that were asked for last."""


class LookAhead:
    """Fetches a few of the URLs that traps would lead to, at growing steps, when nothing else is left to fetch.

    A calendar whose months are empty waits. Its URLs are fetched 1, 2, 4, ... months ahead, one after the other; one
    with news opens the place again (:meth:`~scrapy_replica.crawl.urls.guard.TrapGuard.take_reopened`), and what was
    suppressed there comes back. So what lies behind a gap of any length is found for few fetches. How far each place
    was looked into is held in memory only: a crawl that goes on looks once more, and knows the pages.
    """

    def __init__(
        self, store: CrawlDB, frontier: Frontier, samples: Samples, guard: TrapGuard, payloads: Payloads
    ) -> None:
        self._store, self._frontier, self._samples, self._guard, self._payloads = (
            store,
            frontier,
            samples,
            guard,
            payloads,
        )
        self._places: dict[str, _Place] = {}
        self._n_steps = Counter[str]()
        """Host -> steps that callbacks made there since one brought news."""

    def look(self, claim: Claim) -> tuple[bool, bool]:
        """Fetch what lies ahead of URLs that *claim* suppressed.

        :return: whether something was asked for, and whether there is news ahead, so that all of it is to come back.
        """
        met: set[tuple[str, bool]] = set()
        is_asked = has_news = False
        suppressed = [self._store.urls.row(one.id) for one in self._store.suppressed.some_of(claim, PLACES)]
        walks = [(row, self._walk(row)) for row in suppressed]
        # A calendar that links to the next year as well is looked into by months.
        for row, walk in sorted(walks, key=lambda one: abs(one[1].step) if one[1] is not None else 0):
            name, is_ahead = _place_of(row.url), walk is None or walk.step > 0
            place = self._places.setdefault(name, _Place())
            self._settle(place)
            if (name, is_ahead) in met or row.parent in place.far:
                continue
            met.add((name, is_ahead))
            if walk is not None and (any(map(walk.is_ahead, place.news)) or self._ends(walk, place)):
                has_news = True
                self._guard.reopen(row.url, row.host)
            else:
                is_asked |= place.left > 0 and self._ask(place, walk, row, claim)
        return is_asked or (not has_news and self._go_on(walks, claim)), has_news

    def _walk(self, row: UrlRow) -> Walk | None:
        """Return the walk that led to the URL; ``None`` where no step is known, or its callback is told more."""
        found = shape(row.url)
        is_walk = found is None or found.kind is TrapKind.CALENDAR
        if not is_walk or row.parent is None or self._payloads.has_arguments(row.payload):
            return None
        return walk_of(row.url, self._store.urls.url_of(row.parent))

    @staticmethod
    def _ends(walk: Walk, place: _Place) -> bool:
        """Tell whether a walk is known to end soon: then it is no trap, and goes on to its end."""
        return any(walk.is_ahead(end) and (end - walk.position) // walk.step <= SOON for end in place.ends)

    def _settle(self, place: _Place) -> None:
        """Take note of what was asked for last."""
        asked, place.asked = place.asked, []
        for url_id, position in asked:
            if self._store.pages.has_page(url_id) or self._store.pages.has_failed(url_id):
                self._note(place, url_id, position)
            else:
                place.asked.append((url_id, position))

    def _note(self, place: _Place, url_id: int, position: int) -> None:
        news = self._store.pages.news(url_id)
        if news is None:
            if self._store.pages.has_failed(url_id):
                place.ends.add(position)
        elif news[1]:
            place.far.discard(url_id)
            place.news.add(position)
            place.looks.clear()
            place.left = LOOKS
            self._n_steps[news[0]] = 0

    def _go_on(self, walks: Sequence[tuple[UrlRow, Walk | None]], claim: Claim) -> bool:
        """Fetch the nearest URL that no link of a page led to, or that is asked for with more than that.

        Tell whether there is one.
        """
        for row, walk in sorted(walks, key=_nearest):
            is_own = self._payloads.has_arguments(row.payload) or row.parent in self._guard.led_on
            known = self._store.urls.known(row.key) if row.key is not None else None
            if is_own and known is not None and known.state is State.DROPPED and self._n_steps[row.host] < MOST_STEPS:
                self._n_steps[row.host] += 1
                place, position = self._places[_place_of(row.url)], walk.position if walk is not None else 0
                self._store.suppressed.restore_one(row.id)
                self._note_asked(place, row.id, position, row.url, claim)
                return True
        return False

    def _note_asked(self, place: _Place, url_id: int, position: int, url: str, claim: Claim) -> None:
        self._samples.enter_late([Suppressed(url_id, claim, None)], Reason.TRAP_BUDGET, url)
        place.asked.append((url_id, position))

    def _ask(self, place: _Place, walk: Walk | None, row: UrlRow, claim: Claim) -> bool:
        """Ask for the next URL ahead that nothing is known of; tell whether there was one."""
        is_ahead = walk is None or walk.step > 0
        while place.looks[is_ahead] < (LOOKS if walk is not None else UNSTEPPED):
            steps = (1 << place.looks[is_ahead]) - 1
            place.looks[is_ahead] += 1
            url = walk.at(steps) if walk is not None else row.url
            if url is None:
                break
            position = walk.position + steps * walk.step if walk is not None else 0
            key = self._frontier.key(url)
            known = self._store.urls.known(key)
            if known is None:
                url_id = self._frontier.enter_in_place_of(row, url)
            elif known.state is State.DROPPED:
                self._store.suppressed.restore_one(known.id)
                url_id = known.id
            else:
                self._note(place, known.id, position)
                continue
            if url_id is not None:
                self._note_asked(place, url_id, position, url, claim)
                place.left -= 1
                if steps and walk is not None:
                    place.far.add(url_id)
                return True
        return False


def _place_of(url: str) -> str:
    """Return the name of the place that *url* lies in: of its shape, or of the URLs beside it."""
    found = shape(url)
    return found.place if found is not None else siblings(url)


def _nearest(one: tuple[UrlRow, Walk | None]) -> int:
    """Return what a URL and its walk are sorted by: how far they went, or when the URL was found."""
    row, walk = one
    return row.id if walk is None else walk.position if walk.step > 0 else -walk.position
