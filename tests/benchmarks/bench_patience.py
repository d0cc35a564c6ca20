"""Servers that ask for patience: which of their pages Scrapy finds, and the add-on, and how often they are refused.

``pytest tests/benchmarks/bench_patience.py -s -o python_files='bench_*.py'``: ten minutes of waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from email.utils import formatdate
from urllib.parse import urlsplit

import pytest
from scrapy import Spider
from scrapy.linkextractors import LinkExtractor
from web import HTML, REPLICA, make_crawler, page, web_settings

N_PAGES, FANOUT, LATENCY_S = 40, 6, 0.05
RATE, WINDOW_S = 10, 1.0
"""Requests that a host with a limit answers in so many seconds."""
OUTAGE_S, OUTAGE_AFTER = 5.0, 15
ASKED_S = 0.5
"""Seconds between two requests that a ``robots.txt`` asks for."""
TOLERATED = 0.9
"""Of these seconds, so that no timer's hair counts."""


class Host:
    """Has pages and no limit."""

    robots = ""

    def __init__(self):
        self.refused = self.too_soon = self.n = 0
        self.found = set()
        self.last = 0.0

    def refusal(self, now):
        """Return what is answered in place of a page, if anything is."""

    def answer(self, path):
        now = time.time()
        if path == "/robots.txt":
            return 200, {"Content-Type": "text/plain"}, f"User-agent: *\n{self.robots}\n"
        self.n += 1
        self.too_soon += bool(self.robots) and now - self.last < TOLERATED * ASKED_S
        self.last = now
        if (refusal := self.refusal(now)) is not None:
            self.refused += 1
            return (*refusal, "later")
        self.found.add(path)
        number = int(path[1:] or 0)
        links = [f"/{k}" for k in range(FANOUT * number + 1, FANOUT * number + FANOUT + 1) if k < N_PAGES]
        return page(links, seed=(id(self), number))


class Limited(Host):
    """Answers ten requests a second; who asks for more is told to wait."""

    status, seconds = 429, 2.0

    def __init__(self):
        super().__init__()
        self._answered, self._until = deque(), 0.0

    def said(self, until):
        return {"Retry-After": f"{self.seconds:.0f}"}

    def refusal(self, now):
        if now >= self._until:
            while self._answered and self._answered[0] < now - WINDOW_S:
                self._answered.popleft()
            if len(self._answered) < RATE:
                self._answered.append(now)
                return None
            self._until = now + self.seconds
        return self.status, {**HTML, **self.said(self._until)}


class Dated(Limited):
    """Says so as a date, with 503."""

    status = 503

    def said(self, until):
        return {"Retry-After": formatdate(until + 1, usegmt=True)}


class Silent(Limited):
    """Says nothing of when."""

    def said(self, until):
        return {}


class Strict(Limited):
    """Lets wait longer who asks meanwhile."""

    def refusal(self, now):
        if now < self._until:
            self._until = now + self.seconds
        return super().refusal(now)


class Away(Host):
    """Is being mended for five seconds."""

    _until = 0.0

    def refusal(self, now):
        if self.n == OUTAGE_AFTER:
            self._until = now + OUTAGE_S
        left = self._until - now
        return (503, {**HTML, "Retry-After": f"{left + 1:.0f}"}) if left > 0 else None


class Delayed(Host):
    robots = f"Crawl-delay: {ASKED_S}"


class Rated(Host):
    robots = "Request-rate: 2/1s"


HOSTS = {
    "no limit": Host,
    "10 a second, 429, 2 seconds": Limited,
    "10 a second, 503, a date": Dated,
    "10 a second, 429, no time": Silent,
    "10 a second, 429, impatience counts": Strict,
    "down for 5 s, 503": Away,
    "Crawl-delay: 0.5": Delayed,
    "Request-rate: 2/1s": Rated,
}
AS_A_PROJECT = {"DOWNLOAD_DELAY": 1, "CONCURRENT_REQUESTS_PER_DOMAIN": 1}
CRAWLS = {
    "Scrapy": {},
    "Scrapy, AutoThrottle": {"AUTOTHROTTLE_ENABLED": True},
    "Scrapy, 1 s delay": AS_A_PROJECT,
    "add-on": REPLICA,
    "add-on, 1 s delay": {**REPLICA, **AS_A_PROJECT},
}


class Follower(Spider):
    name = "follower"
    extractor = LinkExtractor()

    def parse(self, response):
        yield from map(response.follow, self.extractor.extract_links(response))


@pytest.mark.asyncio
@pytest.mark.parametrize("name", CRAWLS)
async def test_patience(name):
    hosts = {f"h{number}.example": kind() for number, kind in enumerate(HOSTS.values())}

    async def answer(request):
        await asyncio.sleep(LATENCY_S)
        parts = urlsplit(request.url)
        return hosts[parts.hostname].answer(parts.path)

    served = web_settings(answer, [])
    settings = {**served, "ROBOTSTXT_OBEY": True, "RETRY_TIMES": 2, "LOG_LEVEL": "CRITICAL", **CRAWLS[name]}
    begun, cpu = time.time(), time.process_time()
    await make_crawler(Follower, settings).crawl_async(start_urls=[f"http://{host}/" for host in hosts])
    print(f"\n{name}: {time.process_time() - cpu:.1f} s CPU")
    print(f"{'':<38}{'found':>8}{'lost':>8}{'refused':>9}{'too soon':>9}{'through':>9}")
    for kind, host in zip(HOSTS, hosts.values(), strict=True):
        found = len(host.found)
        print(f"{kind:<38}{found:>8}{N_PAGES - found:>8}{host.refused:>9}{host.too_soon:>9}{host.last - begun:>7.0f} s")
    if "ADDONS" in settings:
        assert all(len(host.found) == N_PAGES for host in hosts.values())
