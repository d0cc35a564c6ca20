"""What a person changes about where a running crawl goes: more seeds, patterns to exclude, hosts that pause."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from scrapy_replica.address import host_of
from scrapy_replica.crawl.consequences import Consequences
from scrapy_replica.crawl.intake import Intake
from scrapy_replica.crawl.obeying import Obeying
from scrapy_replica.crawl.scope import CrawlScope, cause_of
from scrapy_replica.crawldb.contract import URGENT, CrawlDB, Leeway, NewUrl, State
from scrapy_replica.crawldb.orders import EXCLUDE, PAUSE, RESUME, SEEDS
from scrapy_replica.decision import FETCH
from scrapy_replica.words import cleaned, counted

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
        intake: Intake,
        consequences: Consequences,
        obeying: Obeying,
        again: Callable[[int], bool],
        *,
        on_seed: Callable[[str], None],
    ) -> None:
        self._store, self._scope = store, scope
        self._intake, self._consequences, self._again, self._on_seed = intake, consequences, again, on_seed
        for order in store.orders.done(SEEDS):
            self._met(order.what)
        orders = sorted((*store.orders.done(PAUSE), *store.orders.done(RESUME)), key=lambda order: order.id)
        paused = [host for host, kind in {order.what["host"]: order.kind for order in orders}.items() if kind == PAUSE]
        for host in paused:
            store.urls.pause(host)
        if paused:
            logger.warning("Paused hosts: %s (scrapy replica resume HOST --job DIR)", cleaned(", ".join(paused)))
        obeying.add(SEEDS, self._add, urls=list)
        obeying.add(EXCLUDE, self._exclude, pattern=str)
        obeying.add(PAUSE, self._pause, host=str)
        obeying.add(RESUME, self._resume, host=str)
        obeying.follow(SEEDS, self._met)
        obeying.follow(EXCLUDE, self._bound)
        obeying.follow(PAUSE, lambda what: store.urls.pause(what["host"]))
        obeying.follow(RESUME, lambda what: store.urls.resume(what["host"]))

    def _add(self, what: Mapping[str, Any]) -> str | None:
        """Fetch URLs next, whatever waits, and let their hosts into the scope."""
        urls = self._met(what)
        seeds = [self._seed(url) for url in urls]
        known = self._store.urls.find([seed.key for seed in seeds if seed.key is not None])
        n_asked = sum(self._intake.enter([(seed, FETCH) for seed in seeds]))
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
        return NewUrl(url, host_of(url), self._intake.key(url), URGENT, leeway=Leeway.EXEMPT)

    def _exclude(self, what: Mapping[str, Any]) -> None:
        """Exclude a pattern, or lift one and let what it excluded come back."""
        self._bound(what)
        if what.get("lift"):
            self._consequences.lift(cause_of(what["pattern"]))

    def _bound(self, what: Mapping[str, Any]) -> None:
        (self._scope.include if what.get("lift") else self._scope.exclude)(what["pattern"])

    def _pause(self, what: Mapping[str, Any]) -> str:
        n_waiting = self._store.urls.pause(what["host"])
        if n_waiting is None:
            raise ValueError(f"no URL on {what['host']} is known")
        return f"{counted(n_waiting, 'URL')} of it {'waits' if n_waiting == 1 else 'wait'}"

    def _resume(self, what: Mapping[str, Any]) -> None:
        if not self._store.urls.resume(what["host"]):
            raise ValueError(f"{what['host']} does not pause")
