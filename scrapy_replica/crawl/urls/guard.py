"""The guard against traps: budgets of novel pages, and the shapes that traps have."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter

from scrapy_replica.config import Config
from scrapy_replica.crawldb.pages import Pages
from scrapy_replica.decision import Reason
from scrapy_replica.host_cache import HostCache
from scrapy_replica.urls.budgets import NoveltyBudgets
from scrapy_replica.urls.traps import TrapKind, Traps, shape

MAX_WEIGHT = 300_000
"""Prefixes and patterns counted over the hosts in memory, 150 bytes each."""


MAX_SLACK = 100_000
"""Hosts not in memory of which the slack is known, 150 bytes each."""


@dataclass(slots=True)
class _HostGuard:
    """What one host has brought."""

    budgets: NoveltyBudgets
    traps: Traps | None

    def count(self, url: str, *, is_novel: bool | None) -> None:
        self.budgets.count(url, is_novel=is_novel)
        if self.traps is not None and (is_novel is not None or shape(url) is TrapKind.REVISIONS):
            self.traps.observe(url, bool(is_novel))

    @property
    def weight(self) -> int:
        return 10 + len(self.budgets) + (len(self.traps) if self.traps is not None else 0)

    @property
    def slack(self) -> float:
        """Pages that can be counted, whatever they are, before a URL is barred."""
        return min(self.budgets.slack, self.traps.slack if self.traps is not None else math.inf)


class Guard:
    """Tells where no more is to be fetched because nothing new comes of it.

    Two witnesses make it certain: the shape of a trap, and a row of pages without news (half of
    ``REPLICA_TRAP_CREDIT``) where it lies. What a host brought is counted anew from the crawl database when it is met.
    Of a host that had to go for others its slack is kept: so many pages of it can bar no URL, and while they are not
    fetched it need not be read again for each link to it.
    """

    def __init__(self, config: Config, pages: Pages) -> None:
        self._config, self._pages = config, pages
        self._hosts = HostCache(self._read, MAX_WEIGHT, attrgetter("weight"), self._evicted)
        self._slack: OrderedDict[str, float] = OrderedDict()
        """Host not in memory -> its slack."""

    def _read(self, host: str) -> _HostGuard:
        config = self._config
        credit = config.trap_credit
        found = _HostGuard(
            NoveltyBudgets(credit, config.host_budget, config.path_budget),
            Traps(max(1, credit // 2)) if credit else None,
        )
        for page in self._pages.of_host(host):
            if page.status == 200:
                found.count(page.url, is_novel=None if page.is_news is None else bool(page.is_news))
        return found

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

    def count(self, url: str, host: str, *, is_novel: bool | None) -> None:
        """Take note that *url* on *host* was fetched, whose row is written.

        *is_novel* is ``None`` where the page is too short to tell.
        """
        if host in self._hosts:
            self._hosts.of(host).count(url, is_novel=is_novel)
        elif host in self._slack:
            self._slack[host] -= 1

    def bars(self, url: str, host: str) -> tuple[Reason, Mapping[str, object], bool] | None:
        """Return why *url* on *host* is not to be fetched, the evidence and whether it is certain.

        ``None`` if it may be.
        """
        if self._slack.get(host, 0) > 0:
            return None
        known = self._guard_of(host)
        budgets, traps = known.budgets, known.traps
        kind = traps.is_trap(url) if traps is not None else None
        if kind is not None and kind is not TrapKind.NO_NEWS:
            return Reason.TRAP_BUDGET, {"kind": kind.value}, True
        spent = budgets.spent(url)
        if spent is not None:
            reason, prefix, is_certain = spent
            if reason is not Reason.TRAP_BUDGET:
                return reason, {"prefix": prefix}, is_certain
            return reason, {"kind": (kind or shape(url) or TrapKind.NO_NEWS).value, "prefix": prefix}, is_certain
        if kind is not None:
            return Reason.TRAP_BUDGET, {"kind": kind.value}, False
        return None
