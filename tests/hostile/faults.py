"""Servers, clocks and disks that fail while verdicts and rules rely on them."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from email.utils import formatdate
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit
from zlib import crc32

from scrapy import Request
from scrapy.exceptions import DownloadFailedError, DownloadTimeoutError, ResponseDataLossError
from web import HTML, redirect

from hostile.building import page, path, site
from hostile.copies import GOOD, top
from hostile.scenario import Crawled, Follower, Scenario, item, keys
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.schema import VERSION

MIRROR = "mirror.example"
BOTH = (MIRROR, GOOD)


def mirrors(n: int = 80) -> Any:
    return {**site(MIRROR, n, of=GOOD), **site(GOOD, n)}


def failing(host: str, after: int, how: Any) -> Any:
    """Two mirrors, of which *host* answers everything with *how* once it was asked *after* times."""
    pages, asked = mirrors(), count()

    def answer(request: Request) -> Any:
        if f"//{host}/" in request.url and next(asked) >= after:
            return how(request)
        return pages.get(request.url)

    return answer


FAILURES = {
    "refuses": lambda request: DownloadFailedError("refused"),
    "times out": lambda request: DownloadTimeoutError("too slow"),
    "closes half-way": lambda request: ResponseDataLossError("half of it"),
    "forbids": lambda request: (403, {**HTML}, "no"),
    "limits the rate": lambda request: (429, {**HTML, "Retry-After": "3600"}, "later"),
    "asks for a login": lambda request: redirect(f"{request.url.partition('//')[0]}//login.example/"),
    "is empty": lambda request: (200, {**HTML}, ""),
    "shows a puzzle": lambda request: (200, {**HTML}, "<title>Are you human</title><p>" + "prove it " * 30),
}


def flaky() -> Any:
    """Every third request of each host fails at first."""
    pages, asked = mirrors(), Counter[str]()

    def answer(request: Request) -> Any:
        asked[request.url] += 1
        is_cut = asked[request.url] == 1 and crc32(request.url.encode()) % 3 == 0
        return ResponseDataLossError("half") if is_cut else pages.get(request.url)

    return answer


def slow() -> Any:
    """One host takes its time, the other does not."""
    pages = {**site("slow.example", 12), **site(GOOD, 80, more=lambda k: ["http://slow.example/"])}

    async def later(request: Request) -> Any:
        await asyncio.sleep(0.1)
        return pages.get(request.url, (404, {**HTML}, ""))

    return lambda request: later(request) if "slow" in request.url else pages.get(request.url)


def robots() -> Any:
    """The host that is met first forbids all but its front; its copy does not."""
    pages = mirrors()
    lines = (
        "User-agent: *\nDisallow: /part-5\nDisallow: /part-6\nDisallow: /part-7\nDisallow: /part-8\nDisallow: /part-9\n"
    )
    for number in range(10, 15):
        lines += f"Disallow: /part-{number}\n"
    pages[f"http://{MIRROR}/robots.txt"] = 200, {"Content-Type": "text/plain"}, lines
    return pages


ANSWERED, RESTS_S = 20, 1
"""Requests that a host answers which limits the rate, and the seconds that it then wants to be left alone."""


def impatient() -> Any:
    """Two hosts with pages of their own that answer twenty requests, and then none for a second."""
    pages, answered, until = {**site(MIRROR, 50), **site(GOOD, 50)}, Counter[str](), dict.fromkeys(BOTH, 0.0)
    refusals = {
        MIRROR: lambda: (429, {**HTML, "Retry-After": f"{RESTS_S}"}, "later"),
        GOOD: lambda: (503, {**HTML, "Retry-After": formatdate(time.time() + 1 + RESTS_S, usegmt=True)}, "later"),
    }

    def answer(request: Request) -> Any:
        host = urlsplit(request.url).netloc
        if time.monotonic() < until[host]:
            return refusals[host]()
        answered[host] += 1
        if answered[host] % ANSWERED == 0:
            until[host] = time.monotonic() + RESTS_S
        return pages.get(request.url)

    return answer


def left_alone(plain: Crawled, ours: Crawled) -> Iterable[str]:
    """All is found, and refused is what was on its way when a host began to rest."""
    if len(keys(ours)) < 100:
        yield f"found {len(keys(ours))} of 100 contents"
    if len(keys(plain)) == 100:
        yield "plain Scrapy loses nothing"
    refused = len(ours.asked) - sum(bool(asked.key) for asked in ours.asked)
    if refused > 8 * 100 // ANSWERED:
        yield f"refused {refused} times"


@contextmanager
def slowed_a_little() -> Iterator[None]:
    """A host that rested is asked every 20th of a second, not every second: the scenario is to end soon."""
    with patch("scrapy_replica.components.politeness.FIRST_SLOWED_S", 0.05):
        yield


@contextmanager
def other_version() -> Iterator[None]:
    """When it is opened for the second time the job is that of the release before."""
    opened, openings = SqliteCrawlDB.__init__, count(1)

    def open_other(self: SqliteCrawlDB, folder: Path, *args: Any, **kwargs: Any) -> None:
        if next(openings) != 2:
            opened(self, folder, *args, **kwargs)
            return
        set_version(folder, VERSION - 1)
        before = (folder / FILE_NAME).read_bytes()
        try:
            opened(self, folder, *args, **kwargs)
        finally:
            assert (folder / FILE_NAME).read_bytes() == before
            set_version(folder, VERSION)

    with patch.object(SqliteCrawlDB, "__init__", open_other):
        yield


def set_version(folder: Path, version: int) -> None:
    with closing(sqlite3.connect(folder / FILE_NAME)) as file, file:
        file.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(version).encode(),))


def refused_in_a_line(plain: Crawled, ours: Crawled) -> Iterable[str]:
    told = ours.refused
    if len(told) != 1 or "\n" in told[0] or "finish that crawl with scrapy-replica" not in told[0]:
        yield f"a job of another version: {told}"


class Offsite(Follower):
    """Stays on one host, and starts with pages of its mirror, too."""

    name = "offsite"
    allowed_domains = (GOOD,)

    async def start(self) -> Any:
        for url in self.start_urls:
            yield Request(url, dont_filter=True)


class Comparing(Follower):
    """Has a callback for each of two hosts: what they differ in is what is wanted."""

    name = "comparing"

    def parse(self, response: Any) -> Any:
        yield item(response)
        for link in self.extractor.extract_links(response):
            yield Request(link.url, self.parse_mirror if MIRROR in link.url else self.parse)

    def parse_mirror(self, response: Any) -> Any:
        yield {"key": f"{response.url} as mirrored"}
        for link in self.extractor.extract_links(response):
            yield Request(link.url, self.parse_mirror if MIRROR in link.url else self.parse)


class Ordering(Follower):
    """Sends an order for each page."""

    name = "ordering"

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        yield Request(f"{response.url}?order", method="POST", body="one", callback=self.answer)

    def answer(self, response: Any) -> Any:
        yield item(response)


def shop() -> Any:
    pages = site(GOOD, 150)

    def answer(request: Request) -> Any:
        return page(f"order {request.url}", words=30) if request.method == "POST" else pages.get(request.url)

    return answer


def ordered_once(plain: Crawled, ours: Crawled) -> Iterable[str]:
    """At most the requests in flight when the disk was full may be made again."""
    sent = Counter(asked.url for asked in ours.asked if asked.method == "POST")
    again = [url for url, times in sent.items() if times > 2]
    if again or sum(times > 1 for times in sent.values()) > 48:
        yield f"{sum(sent.values()) - len(sent)} orders sent again, {len(again)} of them more than once"


@contextmanager
def full_disk() -> Iterator[None]:
    """The first crawl database that is opened can grow by 30 pages only."""
    opened, is_first = SqliteCrawlDB.__init__, [True]

    def open_full(self: SqliteCrawlDB, *args: Any, **kwargs: Any) -> None:
        opened(self, *args, **kwargs)
        if is_first.pop() if is_first else False:
            pages = self.connection.read("PRAGMA page_count").fetchone()[0]
            self.connection.read(f"PRAGMA max_page_count = {pages + 30}")

    with patch.object(SqliteCrawlDB, "__init__", open_full):
        yield


@contextmanager
def jumping_clock() -> Iterator[None]:
    """Each look at the clock finds it 40 days on, a year back or where it was, in turn."""
    jumps = (0.0, 40 * 86_400.0, -365 * 86_400.0, 0.0, -1e9)
    looks = count()

    def now() -> float:
        return time.time() + jumps[next(looks) // 50 % len(jumps)]

    with patch("scrapy_replica.components.opened_job.time", SimpleNamespace(time=now)):
        yield


SCENARIOS = [
    *(
        Scenario(
            name=f"{which} host {name}",
            tried="Of two mirrors that host does so from its 40th request on.",
            pages=lambda host=host, how=how: failing(host, 40, how),
            seeds=top(*BOTH),
            copies=BOTH,
        )
        for name, how in FAILURES.items()
        for which, host in (("first", MIRROR), ("second", GOOD))
        if which == "first" or name in {"refuses", "shows a puzzle"}
    ),
    Scenario(
        name="flaky servers",
        tried="Every third page of two mirrors is cut off when it is first asked for.",
        pages=flaky,
        seeds=top(*BOTH),
        copies=BOTH,
    ),
    Scenario(
        name="slow server",
        tried="One host takes a tenth of a second for each page, the other none.",
        pages=slow,
        seeds=top(GOOD),
    ),
    Scenario(
        name="robots.txt of the canonical host",
        tried="The mirror met first forbids most folders in its robots.txt, the other does not.",
        pages=robots,
        seeds=top(*BOTH),
        settings={"ROBOTSTXT_OBEY": True},
        copies=BOTH,
    ),
    Scenario(
        name="canonical host is offsite",
        tried="A spider stays on one host; it starts with pages of the mirror, too.",
        pages=lambda: {**mirrors(), f"http://{MIRROR}/": page("")},
        seeds=[*(f"http://{MIRROR}{path(k)}" for k in range(25)), *top(GOOD)],
        spider=Offsite,
        copies=BOTH,
    ),
    Scenario(
        name="callback for each host",
        tried="A spider compares two mirrors: each host has a callback of its own.",
        pages=mirrors,
        seeds=top(*BOTH),
        spider=Comparing,
        copies=BOTH,
        modes=("demote", "drop"),
    ),
    Scenario(
        name="clock that jumps",
        tried="The clock jumps by forty days, a year and thirty years, back and forth.",
        pages=mirrors,
        seeds=top(*BOTH),
        copies=BOTH,
        around=jumping_clock,
    ),
    Scenario(
        name="full disk",
        tried="The disk is full in the middle; the crawl goes on when there is room.",
        pages=shop,
        seeds=top(GOOD),
        spider=Ordering,
        around=full_disk,
        runs=({}, {}),
        errors=1,
        check=ordered_once,
    ),
    Scenario(
        name="crawl in four runs",
        tried="A crawl of two mirrors is stopped three times and goes on; then one host is gone.",
        pages=lambda: failing(MIRROR, 60, FAILURES["refuses"]),
        seeds=top(*BOTH),
        copies=BOTH,
        runs=(*({"CLOSESPIDER_PAGECOUNT": 40},) * 3, {}),
    ),
    Scenario(
        name="hosts that ask for patience",
        tried="Two hosts answer twenty requests and then none for a second, with Retry-After, as 429 and as 503.",
        pages=impatient,
        seeds=top(*BOTH),
        around=slowed_a_little,
        check=left_alone,
    ),
    Scenario(
        name="job of another version",
        tried="A job that was stopped is that of the release before when it is to go on, and then of this one again.",
        pages=mirrors,
        seeds=top(*BOTH),
        copies=BOTH,
        runs=({"CLOSESPIDER_PAGECOUNT": 40}, {}, {}),
        stall=3.0,  # between two requests one run ends and two begin
        around=other_version,
        refused=1,
        check=refused_in_a_line,
    ),
]
