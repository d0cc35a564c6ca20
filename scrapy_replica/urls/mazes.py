"""Mazes: page after page below one directory says the same, and leads to nothing but more of it."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field

from scrapy_replica.records import Page
from scrapy_replica.urls.folding import hash_of, numbers_of
from scrapy_replica.urls.shapes import siblings

MAX_LINKS = 2_000
"""Links of one page, and of the pages of one maze, that are looked at; a page with more is none of a maze."""

MAX_PAGES = 2_000
"""Pages of one maze that are remembered; what an older one led to is not in it."""

_DIGITS = re.compile(r"\d+")


@dataclass(slots=True)
class _Run:
    """Pages of one place, one after the other, with one text but for the numbers of its URL."""

    text: int
    pages: dict[int, None] = field(default_factory=dict)
    """Ids of those that lead nowhere else."""
    links: set[int] = field(default_factory=set)
    n_fed: int = 0
    """Those of them that another one led to."""

    def __len__(self) -> int:
        return 1 + len(self.pages) + len(self.links)


class Mazes:
    """Watches pages of one host whose URLs tell nothing.

    Of equal pages only those count that an equal page led to: what other pages lead to, and what strangers link to, may
    be an apology of the server, or its way to say that there is no such page. A page with a link to some other place
    that none of the others has is a list with one heading, and does not count either.

    All of it is held in memory only: where a host is met again it is counted from none.

    :param patience: pages of a maze that are fetched.
    :param max_places: the place observed least recently is forgotten first.
    """

    def __init__(self, patience: int = 30, max_places: int = 1_000) -> None:
        self._patience, self._max_places = patience, max_places
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._held = 0
        """Places, pages and links of all runs."""

    def observe(self, page: Page, url_id: int, found_on: int | None, *, is_repeated: bool) -> None:
        """Take note of a page, of the URL with that id, found on the page with the id *found_on*.

        *is_repeated*: some page before said the same.
        """
        place = siblings(page.url)
        run = self._runs.pop(place, None)
        self._held -= len(run) if run is not None else 0
        if not is_repeated:
            return
        told = {str(number) for number in numbers_of(page.url)}
        said = f"{page.text}\n{page.beside}"
        text = hash_of(_DIGITS.sub(lambda found: "" if found[0] in told else found[0], said))
        if run is None or run.text != text:
            run = _Run(text)
        self._take(run, page, url_id, found_on, place)
        self._runs[place] = run
        self._held += len(run)
        if len(self._runs) > self._max_places:
            self._held -= len(self._runs.popitem(last=False)[1])

    def _take(self, run: _Run, page: Page, url_id: int, found_on: int | None, place: str) -> None:
        if not self._leads_elsewhere(run, page, place):
            run.n_fed += found_on in run.pages
            run.pages[url_id] = None
            if len(run.pages) > MAX_PAGES:
                del run.pages[next(iter(run.pages))]

    @staticmethod
    def _leads_elsewhere(run: _Run, page: Page, place: str) -> bool:
        if len(page.links) > MAX_LINKS:
            return True
        found = {hash_of(link.url) for link in page.links if siblings(link.url) != place} - run.links
        if len(run.links) + len(found) <= MAX_LINKS:
            run.links |= found
        return bool(found)

    def forget(self, url: str) -> None:
        """Take note that the page at *url* brought news: where it lies there is no maze so far."""
        run = self._runs.pop(siblings(url), None)
        self._held -= len(run) if run is not None else 0

    def has(self, url: str, found_on: int | None) -> bool:
        """Tell whether *url*, found on the page with the id *found_on*, leads on in a maze."""
        run = self._runs.get(siblings(url)) if self._runs else None
        return run is not None and run.n_fed >= self._patience and found_on in run.pages

    def __len__(self) -> int:
        return self._held
