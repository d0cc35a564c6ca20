"""Several crawls on one job in Redis, all in this process: each takes its turn, and listens when it is told to."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack

from lxml.html import fromstring
from redis_server import die
from scrapy.utils.request import RequestFingerprinter

from scrapy_replica.address import host_of
from scrapy_replica.components.fingerprinter import UrlFingerprints
from scrapy_replica.components.payloads import RequestPayloads
from scrapy_replica.config import Config
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawldb.contract import NewUrl, Permission
from scrapy_replica.crawldb.redis.database import RedisCrawlDB
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.decision import FETCH
from scrapy_replica.pages.page import page_from_tree
from scrapy_replica.sites.aliases import Aliases

IN_FLIGHT = 2


class OneOf:
    """One of the processes of a crawl of *web*: URL -> HTML, or a status, or the URL that it redirects to.

    :param model: makes pages of HTML where those of the web need none of this.
    """

    def __init__(self, web, store, config=None, page_of=None):
        self.web, self.store = web, store
        self.fetched = []
        self.is_closed = False
        self.ahead = 0.0
        """Seconds that its clock is ahead."""
        counts = Counter()
        self.crawl = Crawl(
            config or Config(mode=Config.mode, explore=0.0),
            store,
            key=UrlFingerprints(RequestFingerprinter()).of_url,
            now=lambda: time.time() + self.ahead,
            aliases=Aliases({}),
            payloads=RequestPayloads(is_stored=True, url_of=store.urls.url_of, counts=counts),
            counts=counts,
        )
        self.crawl.probes.may_enter = True
        self._page_of = page_of or (lambda url, html: page_from_tree(fromstring(html), url))
        self.in_flight = []

    def seed(self, *urls):
        crawl = self.crawl
        new = [NewUrl(url, host_of(url), crawl.frontier.key(url), permission=Permission.EXEMPT) for url in urls]
        crawl.frontier.enter([(one, FETCH) for one in new])
        self.store.commit()

    def listen(self):
        """Take up what the others wrote."""
        if (news := self.store.listen()) is not None:
            self.crawl.remote.apply(news)
            self.store.commit()
        return news

    def idle(self, *, is_idle):
        """Let the others give up hosts to this one if it has nothing to do."""
        if self.store.is_shared:
            self.store.idle(is_idle)

    def take(self):
        """Take a URL; ``None`` if there is none."""
        taken = self.crawl.take()
        if taken is not None:
            self.in_flight.append(taken)
        return taken

    def answer(self, taken=None):
        """Do what follows from the response to what was taken first, or to *taken*."""
        taken = taken or self.in_flight[0]
        self.in_flight.remove(taken)
        self.fetched.append(taken.url)
        crawl, found = self.crawl, self.web.get(taken.url, 404)
        with self.store.span():
            crawl.learn_anew()
        if isinstance(found, int):
            with self.store.span():
                crawl.fetches.observe_failure(taken.id, found, None)
        else:
            page = self._page_of(taken.url, found)
            with self.store.span():
                observation = crawl.fetches.observe(page, taken.id, taken.depth)
                crawl.outlinks.follow(observation, page.links)
            crawl.fetches.end_callback(observation)
        self.store.urls.finish([taken.id])
        self.store.commit()

    def turn(self):
        """Fetch a page, if there is any; tell whether there was."""
        while len(self.in_flight) < IN_FLIGHT and self.take() is not None:
            pass
        if self.in_flight:
            self.answer()
            return True
        self.store.commit()
        return self.crawl.has_work

    def close(self):
        if not self.is_closed:
            self.is_closed = True
            self.store.close()

    def die(self):
        """End as a process that is killed, and that was silent long enough for others to see it."""
        self.is_closed = True
        die(self.store)


class Crawls:
    """*n* processes on one job; of none (no *server*), a crawl of one process as ever."""

    def __init__(self, web, n=2, server=None, config=None, page_of=None):
        self._stack = ExitStack()
        self._server, self._config, self._page_of = server, config, page_of
        self._web, self._gone = web, []
        self.all = []
        for _ in range(n):
            self.join()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._stack.close()

    def join(self, config=None):
        """Begin one more process, and return it."""
        server = self._server
        store = RedisCrawlDB(server.address(), "shared") if server is not None else SqliteCrawlDB(None, "shared")
        try:
            one = OneOf(self._web, store, config or self._config, self._page_of)
        except BaseException:
            store.close()
            raise
        self.all.append(one)
        self._stack.callback(one.close)
        one.listen()
        return one

    def leave(self, one):
        """Let *one* end."""
        one.close()
        self._is_gone(one)

    def kill(self, one):
        """Let *one* die."""
        one.die()
        self._is_gone(one)

    def _is_gone(self, one):
        self.all.remove(one)
        self._gone.append(one)

    @property
    def leader(self):
        return next(one for one in self.all if one.store.is_leader)

    @property
    def fetched(self):
        return [url for one in (*self._gone, *self.all) for url in one.fetched]

    def listen(self):
        for one in self.all:
            one.listen()

    def run(self, *seeds, every=3, most=100_000, dies_at=None, dying=0):
        """Crawl until nothing is left, one page of each at a time; all listen after so many pages of each.

        The one of the number *dying* dies after *dies_at* pages.
        """
        self.all[0].seed(*seeds)
        for turn in range(most):
            if turn == dies_at:
                self.kill(self.all[dying])
            has_turned = [one.turn() for one in self.all]
            for one, is_busy in zip(self.all, has_turned, strict=True):
                one.idle(is_idle=not is_busy)
            if turn % every == 0 or not any(has_turned):
                self.listen()
            if any(has_turned) or any(one.crawl.has_work for one in self.all) or self.all[0].store.urls.waiting:
                continue
            if not self.leader.crawl.late_samples.draw():
                return self
        raise AssertionError("the crawl does not end")
