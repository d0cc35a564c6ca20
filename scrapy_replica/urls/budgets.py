"""Budgets of novel pages per path prefix of a host: what brings little waits, and the user's own limits."""

from __future__ import annotations

import math
from functools import lru_cache

from scrapy_replica.address import host_of
from scrapy_replica.decision import Reason

EARNINGS = 4
"""Fetches that one novel page earns its prefixes: a prefix lives on while more than a fifth of its pages are new."""

UNTOLD_COST = 0.1
"""Fetches that a page costs of which cannot be told whether it is new: short ones are no proof of a trap, but endless
calendars are short as well. With the default credit a prefix of these alone is demoted after 200 pages."""

MAX_PREFIXES = 20_000
"""Prefixes of one host counted at most; beyond, those met least are forgotten, none that reached the user's limit."""

MAX_DEPTH = 3


@lru_cache(maxsize=64)  # asked for twice and more before another URL is
def path_prefixes(url: str) -> tuple[str, ...]:
    """Return the keys that *url* is counted under: its host, its directories to depth 3, its query's argument names.

    >>> path_prefixes("http://a.example/cal/2024/05?view=day&x=1")
    ('a.example', 'a.example/cal', 'a.example/cal/2024', 'a.example/cal/2024?view&x')
    """
    base, _, query = url.partition("#")[0].partition("?")
    key = host_of(url)
    keys = [key]
    for directory in base.partition("://")[2].split("/")[1:-1][:MAX_DEPTH]:
        key += "/" + directory
        keys.append(key)
    if query:
        names = sorted({argument.partition("=")[0] for argument in query.replace(";", "&").split("&")})
        keys.append(key + "?" + "&".join(names))
    return tuple(keys)


class NoveltyBudgets:
    """Counts fetched and novel pages per path prefix of one host and tells which prefixes have spent what they earned.

    A prefix starts with *credit* fetches; each novel page earns it :data:`EARNINGS` more. A calendar or a sort order
    brings nothing new, so its prefix runs dry, while a busy directory earns as it goes. *path_budget* is the user's own
    limit of novel pages below a prefix, *host_pages* that of all pages (0: none).
    """

    def __init__(self, credit: int, path_budget: int = 0, host_pages: int = 0) -> None:
        self._credit = credit
        self._path_budget = path_budget
        self._host_pages = host_pages
        self._pages = 0
        self._fetched: dict[str, float] = {}
        self._novel: dict[str, int] = {}

    def count(self, url: str, *, is_novel: bool | None) -> None:
        """Take note that *url* was fetched; *is_novel* is ``None`` where the page is too short to tell."""
        self._pages += 1
        cost = UNTOLD_COST if is_novel is None else 1.0
        for key in path_prefixes(url):
            self._fetched[key] = self._fetched.get(key, 0.0) + cost
            if is_novel:
                self._novel[key] = self._novel.get(key, 0) + 1
        if len(self._fetched) > MAX_PREFIXES:
            self._forget()

    def reward(self, url: str) -> None:
        """Take note that *url*, which was counted, is novel after all."""
        for key in path_prefixes(url):
            self._novel[key] = self._novel.get(key, 0) + 1

    def _forget(self) -> None:
        kept = sorted(self._fetched, key=self._worth)[MAX_PREFIXES // 2 :]
        self._fetched = {key: self._fetched[key] for key in kept}
        self._novel = {key: self._novel[key] for key in kept if key in self._novel}

    def _worth(self, key: str) -> tuple[bool, float]:
        return self._is_full_below(key), self._fetched[key]

    def _is_full_below(self, key: str) -> bool:
        is_path = "/" in key or "?" in key
        return is_path and 0 < self._path_budget <= self._novel.get(key, 0)

    def __len__(self) -> int:
        return len(self._fetched)

    @property
    def slack(self) -> float:
        """Pages that can be counted, whatever they are, before any budget is spent; infinite where there is none."""
        slack = math.inf
        if self._credit:
            earned = (EARNINGS * self._novel.get(key, 0) - fetched for key, fetched in self._fetched.items())
            slack = self._credit + min(earned, default=0)
        if self._path_budget:
            slack = min(slack, self._path_budget - max(self._novel.values(), default=0))
        if self._host_pages:
            slack = min(slack, self._host_pages - self._pages)
        return max(0, slack)

    @property
    def is_full(self) -> bool:
        """Whether as many pages were fetched as the user wants."""
        return bool(self._host_pages) and self._pages >= self._host_pages

    def spent(self, url: str) -> tuple[Reason, str] | None:
        """Return why no more should be fetched where *url* lies and the prefix that is spent; ``None`` if it may be."""
        for key in path_prefixes(url):
            if self._is_full_below(key):
                return Reason.PATH_BUDGET, key
            if self._credit and self._fetched.get(key, 0) >= self._credit + EARNINGS * self._novel.get(key, 0):
                return Reason.TRAP_BUDGET, key
        return None
