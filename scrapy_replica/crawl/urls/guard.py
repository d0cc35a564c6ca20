"""The guard against traps: budgets of novel pages, and the shapes that traps have."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from scrapy_replica.config import Config
from scrapy_replica.crawl.recent import Recent
from scrapy_replica.crawl.urls.made_up import MadeUp
from scrapy_replica.crawldb.pages import PageTable
from scrapy_replica.decision import Action, Reason
from scrapy_replica.host_cache import HostCache
from scrapy_replica.records import Novelty, Page
from scrapy_replica.urls.budgets import NoveltyBudgets
from scrapy_replica.urls.mazes import Mazes
from scrapy_replica.urls.shapes import TrapKind, shape
from scrapy_replica.urls.traps import Finder, Traps

MAX_WEIGHT = 300_000
"""Prefixes, places and lines counted over the hosts in memory, 150 bytes each."""
MAX_SLACK = 100_000
"""Hosts not in memory of which the slack is known, 150 bytes each."""


@dataclass(slots=True)
class _HostGuard:
    """What one host has brought."""

    budgets: NoveltyBudgets
    traps: Traps | None
    mazes: Mazes
    made_up: MadeUp

    is_reopened: bool = False
    """News came to what was a trap: what it suppressed is to come back."""

    def count(self, url: str, finder: Finder, *, is_novel: bool | None) -> None:
        self.budgets.count(url, is_novel=is_novel)
        if self.traps is not None:
            self.is_reopened |= self.traps.observe(url, is_novel, finder)

    def reward(self, url: str, finder: Finder) -> None:
        self.budgets.reward(url)
        self.is_reopened |= self.mazes.forget(url)
        if self.traps is not None:
            self.is_reopened |= self.traps.observe(url, True, finder)

    def reopen(self, url: str) -> None:
        self.mazes.forget(url)
        if self.traps is not None:
            self.traps.reopen(url)

    @property
    def weight(self) -> int:
        parts = (self.budgets, self.traps, self.mazes, self.made_up)
        return 10 + sum(len(part) for part in parts if part is not None)

    @property
    def slack(self) -> float:
        """Pages that can be counted, whatever they are, before a URL is barred."""
        return min(self.budgets.slack, self.traps.slack if self.traps is not None else math.inf)


class Rejection(NamedTuple):
    """Why a URL is not to be fetched now."""

    reason: Reason
    evidence: Mapping[str, object]
    wanted: Action
    is_certain: bool
    n_agreed: int = 0
    """Pages without news that say so."""


class TrapGuard:
    """Tells where no more is to be fetched because nothing new comes of it.

    A trap (:class:`Traps`) and what is beyond the user's own limits are to be dropped. Where a place merely brings few
    new pages, more of it waits behind everything else: that may be a shop whose products differ in three words.

    What a host brought is counted anew from the crawl database when it is met. Of a host that had to go for others its
    slack is kept: so many pages of it can bar no URL, and while they are not fetched it need not be read again for each
    link to it.
    """

    def __init__(self, config: Config, pages: PageTable, url_of: Callable[[int], str]) -> None:
        self._config, self._pages, self._url_of = config, pages, url_of
        self._hosts: HostCache[_HostGuard] = HostCache(self._read, MAX_WEIGHT, attrgetter("weight"), self._evicted)
        self._slack: OrderedDict[str, float] = OrderedDict()
        """Host not in memory -> its slack."""
        self.led_on = Recent()
        """Ids of pages because of which a callback asked for more than stands on them."""

    def _read(self, host: str) -> _HostGuard:
        config = self._config
        credit = config.trap_credit if config.traps else 0
        found = _HostGuard(
            NoveltyBudgets(credit, config.path_budget, config.host_pages),
            Traps(max(1, credit // 2)) if credit else None,
            Mazes(max(1, 3 * credit // 2)),
            MadeUp(),
        )
        pages = [page for page in self._pages.of_host(host) if page.status == 200]
        by_id = {page.url_id: page for page in pages}
        for page in pages:
            parent = by_id.get(page.parent) if page.parent is not None else None
            finder = Finder.STRANGER if parent is None else _finder(page.url, parent.url, is_idle=parent.is_news != 1)
            found.count(page.url, finder, is_novel=None if page.is_news is None else bool(page.is_news))
        found.is_reopened = False
        return found

    def _finder_of(self, url: str, parent: int | None, host: str) -> Finder:
        news = self._pages.news(parent) if parent is not None else None
        if parent is None or news is None or news[0] != host:
            return Finder.STRANGER
        return _finder(url, self._url_of(parent), is_idle=news[1] is not True)

    def _evicted(self, host: str, guard: _HostGuard) -> None:
        self._slack[host] = guard.slack
        if len(self._slack) > MAX_SLACK:
            self._slack.popitem(last=False)

    def forget(self, host: str) -> None:
        """Count *host* anew: a page of it was taken back in the crawl database."""
        self._hosts.forget(host)
        self._slack.pop(host, None)

    def _guard_of(self, host: str) -> _HostGuard:
        self._slack.pop(host, None)
        return self._hosts.of(host)

    def count(self, url: str, host: str, parent: int | None, *, is_novel: bool | None) -> None:
        """Take note that *url* on *host* was fetched, whose row is written.

        *parent* is the id of the page that it was found on; *is_novel* is ``None`` where the page is too short to
        tell.
        """
        if host in self._hosts:
            self._hosts.of(host).count(url, self._finder_of(url, parent, host), is_novel=is_novel)
        elif host in self._slack:
            self._slack[host] -= 1

    def reward(self, url: str, host: str, parent: int | None) -> None:
        """Take note that the page at *url* on *host*, which was counted, brought news after all."""
        if host in self._hosts:
            self._hosts.of(host).reward(url, self._finder_of(url, parent, host))

    def leads_on(self, url: str, host: str, url_id: int) -> None:
        """Take note that a callback asked for more because of the page at *url* than stands on it: it is in no maze."""
        self.led_on.add(url_id)
        if host in self._hosts:
            self._hosts.of(host).mazes.forget(url)

    def is_news(
        self, page: Page, url_id: int, parent: int | None, novelty: Novelty, is_news: bool | None
    ) -> bool | None:
        """Tell whether *page* brings news to where it lies; *is_news* is what the page tells by itself."""
        known = self._guard_of(page.host)
        if known.traps is None:
            return is_news
        known.is_reopened |= known.made_up.observe(page, url_id, self._config.default_language)
        if known.made_up.is_hidden(page.url) and self._is_led_here(page, parent):
            known.made_up.show(page.url)
        if shape(page.url) is not None:
            return known.traps.is_news(page, novelty, is_news, self._config.min_words)
        is_repeated = is_news is False and page.words >= self._config.min_words
        known.is_reopened |= known.mazes.observe(page, url_id, parent, is_repeated=is_repeated)
        return is_news

    def _is_led_here(self, page: Page, parent: int | None) -> bool:
        """Tell whether a person, another host or a redirect led to *page*."""
        if parent is None or page.redirected_from:
            return True
        finder = self._pages.news(parent)
        return finder is None or finder[0] != page.host

    def meet(self, page: Page) -> None:
        """Take note of the links of a page that was not read."""
        known = self._guard_of(page.host)
        if known.traps is not None:
            known.made_up.meet(page)

    def reopen(self, url: str, host: str) -> None:
        """Take note that there is news ahead in the trap that *url* on *host* leads into: it is none so far."""
        self._guard_of(host).reopen(url)

    def take_reopened(self, host: str) -> bool:
        """Tell whether news came to a trap of *host* since the last call."""
        guard = self._hosts.peek(host)
        is_reopened = guard is not None and guard.is_reopened
        if guard is not None:
            guard.is_reopened = False
        return is_reopened

    def is_full(self, host: str) -> bool:
        """Tell whether as many pages of *host* were fetched as the user wants."""
        if not self._config.host_pages or self._slack.get(host, 0) > 0:
            return False
        return self._guard_of(host).budgets.is_full

    def rejection_of(self, url: str, host: str, parent: int | None = None) -> Rejection | None:
        """Return why *url* on *host* is not to be fetched; ``None`` if it may be.

        *parent* is the id of the page that it was found on.
        """
        if self._slack.get(host, 0) > 0:
            return None
        known = self._guard_of(host)
        trap = known.traps.trap(url) if known.traps is not None else None
        if trap is not None:
            return Rejection(Reason.TRAP_BUDGET, {"kind": trap.kind.value}, Action.DROP, trap.is_certain, trap.n_agreed)
        if known.mazes.has(url, parent) and shape(url) is None:
            return Rejection(Reason.TRAP_BUDGET, {"kind": TrapKind.REPETITION.value}, Action.DROP, True)
        reason, prefix = known.budgets.spent(url) or (None, "")
        if reason is not None and reason is not Reason.TRAP_BUDGET:
            return Rejection(reason, {"prefix": prefix}, Action.DROP, True)
        kind, maze = TrapKind.NO_NEWS, known.made_up.maze_of(url, parent)
        if maze is not None:
            kind, prefix = maze
        elif reason is None:
            return None
        return Rejection(Reason.TRAP_BUDGET, {"kind": kind.value, "prefix": prefix}, Action.DEMOTE, False)


def _finder(url: str, parent: str, *, is_idle: bool) -> Finder:
    if is_idle:
        return Finder.IDLE
    return Finder.WITHIN if url.partition("?")[0] == parent.partition("?")[0] else Finder.PAGE
