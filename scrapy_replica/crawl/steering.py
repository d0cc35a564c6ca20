"""What a person changes about where a running crawl goes: more seeds, patterns to exclude, hosts that pause."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.frontier import Frontier
from scrapy_replica.crawl.orders import Orders
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawldb.contract import URGENT, CrawlDB, NewUrl, Permission, State
from scrapy_replica.crawldb.orders import EXCLUDE, PAUSE, RESUME, SEEDS
from scrapy_replica.decision import FETCH
from scrapy_replica.words.terminal import counted
from scrapy_replica.words.text import cleaned

logger = logging.getLogger(__name__)


class Steering:
    """Carries out orders about what is fetched next. It needs a frontier that is the crawl's own.

    A paused host keeps what waits of it, and the crawl stays open for it.

    :param again: lets the URL of an id, which is done, be asked for once more, if it is to be; tells whether it is.
    :param on_seed: told the URL of each seed that a person added, in this run or before.
    """

    def __init__(
        self,
        store: CrawlDB,
        scope: CrawlScope,
        frontier: Frontier,
        claims: Claims,
        orders: Orders,
        again: Callable[[int], bool],
        *,
        on_seed: Callable[[str], None],
    ) -> None:
        self._store, self._scope = store, scope
        self._frontier, self._claims, self._again, self._on_seed = frontier, claims, again, on_seed
        for order in store.orders.done(SEEDS):
            self._met(order.what)
        done = sorted((*store.orders.done(PAUSE), *store.orders.done(RESUME)), key=lambda order: order.id)
        paused = [host for host, kind in {order.what["host"]: order.kind for order in done}.items() if kind == PAUSE]
        for host in paused:
            store.urls.hosts.pause(host)
        if paused:
            logger.warning("Paused hosts: %s (scrapy replica steer resume HOST --job DIR)", cleaned(", ".join(paused)))
        orders.add(SEEDS, self._add, urls=list)
        orders.add(EXCLUDE, self._exclude, pattern=str)
        orders.add(PAUSE, self._pause, host=str)
        orders.add(RESUME, self._resume, host=str)
        orders.follow(SEEDS, self._met)
        orders.follow(EXCLUDE, self._bound)
        orders.follow(PAUSE, lambda what: store.urls.hosts.pause(what["host"]))
        orders.follow(RESUME, lambda what: store.urls.hosts.resume(what["host"]))

    def _add(self, what: Mapping[str, Any]) -> str | None:
        """Fetch URLs next, whatever waits, and let their hosts into the scope."""
        urls = self._met(what)
        seeds = [self._seed(url) for url in urls]
        known = self._store.urls.find([seed.key for seed in seeds if seed.key is not None])
        n_asked = sum(one.is_waiting for one in self._frontier.enter([(seed, FETCH) for seed in seeds]))
        n_asked += sum(self._again(one.id) for one in known.values() if one.state is State.DONE)
        n_known = len(urls) - n_asked
        return f"{counted(n_known, 'of them was', 'of them were')} known before" if n_known else None

    def _met(self, what: Mapping[str, Any]) -> list[str]:
        """Tell of the seeds that a person added, and return them."""
        urls = [url for url in what["urls"] if host_of(url)]
        for url in urls:
            self._on_seed(url)
        return urls

    def _seed(self, url: str) -> NewUrl:
        return NewUrl(url, host_of(url), self._frontier.key(url), URGENT, permission=Permission.EXEMPT)

    def _exclude(self, what: Mapping[str, Any]) -> None:
        """Exclude a pattern, or lift one and let what it excluded come back."""
        self._bound(what)
        if what.get("lift"):
            self._claims.lift(Claim(Kind.EXCLUDED, what["pattern"]))

    def _bound(self, what: Mapping[str, Any]) -> None:
        (self._scope.include if what.get("lift") else self._scope.exclude)(what["pattern"])

    def _pause(self, what: Mapping[str, Any]) -> str:
        n_waiting = self._store.urls.hosts.pause(what["host"])
        if n_waiting is None:
            raise ValueError(f"no URL on {what['host']} is known")
        return f"{counted(n_waiting, 'URL')} of it {'waits' if n_waiting == 1 else 'wait'}"

    def _resume(self, what: Mapping[str, Any]) -> None:
        if not self._store.urls.hosts.resume(what["host"]):
            raise ValueError(f"{what['host']} does not pause")
