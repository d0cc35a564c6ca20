"""What a scenario says, and the one runner that crawls it with plain Scrapy and with the add-on."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider, signals
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from web import REPLICA, Web, make_crawler, web_settings

from scrapy_replica import TopicSpider
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.refused import RefusedError

KEY = "X-Key"
"""Header of a response: which content it is. Whatever has none may be lost: nobody wants it."""
WAY = "X-Way"
"""Header of a redirect that is the only way to a content: which content that is."""
STALL, WAIT = 1.5, 4.5
"""Seconds between two requests that a crawl may take more than plain Scrapy, of the processor and besides. The engine's
own heartbeat is 5, so what waits for it shows, and a machine that does something else for a second or two does not."""
LIMIT = 60
"""Wall seconds of one crawl; one that takes longer hangs."""
BREADTH_FIRST = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
"""Plain Scrapy in the order of the add-on: a bounded crawl of an endless web depends on it."""

Pages = Mapping[str, Any] | Callable[[Request], Any]


class Follower(Spider):
    """Ordinary: a ``LinkExtractor``, a ``Request`` for each link."""

    name = "follower"
    extractor = LinkExtractor()

    def parse(self, response: Any) -> Any:
        yield item(response)
        if isinstance(response, HtmlResponse):
            yield from map(response.follow, self.extractor.extract_links(response))


class Topical(TopicSpider):
    def item(self, response: Any) -> dict[str, Any]:
        return item(response)


def item(response: Any) -> dict[str, Any]:
    return {"key": response.headers.get(KEY, b"").decode()}


def keys(crawled: Crawled) -> set[str]:
    """Return the contents whose keys the items have."""
    return {item["key"] for item in crawled.items} - {""}


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One web and what is asked of a crawl of it."""

    name: str
    tried: str
    """What is tried, in one sentence."""
    pages: Callable[[], Pages]
    """Makes the web anew for each crawl: it may change while it is crawled."""
    seeds: Iterable[str]
    spider: type[Spider] = Follower
    settings: Mapping[str, Any] = field(default_factory=dict)
    modes: tuple[str, ...] = ("demote",)
    copies: Iterable[str] = ()
    """Hosts that may be blocked."""
    secrets: tuple[str, ...] = ()
    """Words that no origin may hear that plain Scrapy does not tell them to, and that no ledger or log may hold."""
    strangers: Iterable[str] = ()
    """Hosts that may be asked for nothing."""
    lost: int = 0
    """Contents that may be lost against plain Scrapy; ``docs/trust.rst`` says why."""
    most: float = 1.3
    """Fetches for each fetch of plain Scrapy."""
    stall: float = STALL
    """CPU seconds between two requests that the crawl may take more than plain Scrapy."""
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    """What happens to the machine while the add-on crawls."""
    runs: tuple[Mapping[str, Any], ...] = ({},)
    """Settings of one run after the other on the same job."""
    errors: int = 0
    """Errors in the log that plain Scrapy has not."""
    refused: int = 0
    """Runs that may not begin."""
    contents: Callable[[Crawled], set[str]] = keys
    """Which contents a crawl found."""
    check: Callable[[Crawled, Crawled], Iterable[str]] = lambda plain, ours: ()
    """What else is wrong, in words."""


@dataclass
class Asked:
    """A request as its server saw it."""

    method: str
    url: str
    heard: str
    """URL, headers and body."""
    cpu: float
    wall: float
    key: str = ""
    """Which content the answer is, where it is one."""
    way: str = ""
    """To which content the answer redirects that nothing else leads to."""

    @property
    def origin(self) -> str:
        return "://".join(urlsplit(self.url)[:2])

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2].lower()


@dataclass
class Crawled:
    """What came of one crawl, or of several on one job."""

    asked: list[Asked] = field(default_factory=list)
    items: list[Any] = field(default_factory=list)
    blocked: set[str] = field(default_factory=set)
    """Hosts under a verdict at the end."""
    stats: dict[str, Any] = field(default_factory=dict)
    ledger: str = ""
    log: str = ""
    """What the add-on logged."""
    refused: list[str] = field(default_factory=list)
    """In what words runs did not begin."""

    @property
    def copies(self) -> int:
        """Pages fetched beyond the first of each content."""
        return len(self.items) - len({item["key"] for item in self.items})

    @property
    def stalls(self) -> tuple[float, float]:
        """The longest CPU time and the longest other time between two requests, in seconds."""
        gaps = [(after.cpu - before.cpu, after.wall - before.wall) for before, after in pairwise(self.asked)]
        return max((cpu for cpu, _ in gaps), default=0.0), max((wall - cpu for cpu, wall in gaps), default=0.0)

    def told(self, secrets: Iterable[str]) -> set[tuple[str, str]]:
        """Return each secret with each origin that heard it."""
        return {(secret, asked.origin) for secret in secrets for asked in self.asked if secret in asked.heard}


@dataclass
class Outcome:
    """A scenario's figures in one mode, and what did not hold."""

    scenario: Scenario
    mode: str
    plain: Crawled
    ours: Crawled
    is_unfinished: bool = False

    @cached_property
    def wanted(self) -> set[str]:
        """Contents that plain Scrapy finds."""
        return self.scenario.contents(self.plain)

    @cached_property
    def lost(self) -> set[str]:
        return self.wanted - self.scenario.contents(self.ours)

    @property
    def wrongly_blocked(self) -> set[str]:
        return self.ours.blocked - {*self.scenario.copies}

    @property
    def leaks(self) -> list[str]:
        """Secrets that were told elsewhere or written down, and requests to strangers."""
        secrets, strangers = self.scenario.secrets, {*self.scenario.strangers}
        told = self.ours.told(secrets) - self.plain.told(secrets)
        return [
            *(f"{secret} told to {origin}" for secret, origin in sorted(told)),
            *(f"{secret} in the ledger" for secret in secrets if secret in self.ours.ledger),
            *(f"{secret} in the log" for secret in secrets if secret in self.ours.log),
            *sorted({f"asked {asked.url}" for asked in self.ours.asked if asked.host in strangers}),
        ]

    @property
    def problems(self) -> list[str]:
        """What did not hold, in words."""
        scenario, found = self.scenario, []
        if not self.wanted:
            found.append("plain Scrapy found nothing")
        if self.is_unfinished:
            found.append(f"the crawl hung: {len(self.ours.asked)} requests in {LIMIT} s")
        if len(self.lost) > scenario.lost:
            found.append(f"lost {len(self.lost)} of {len(self.wanted)} contents: {sorted(self.lost)[:5]}")
        if self.wrongly_blocked:
            found.append(f"blocked {sorted(self.wrongly_blocked)}")
        found += self.leaks
        if len(self.ours.asked) > scenario.most * len(self.plain.asked) + 10:
            found.append(f"{len(self.ours.asked)} requests, {len(self.plain.asked)} without the add-on")
        for what, most, before, after in zip(
            ("computed", "waited"), (scenario.stall, WAIT), self.plain.stalls, self.ours.stalls, strict=True
        ):
            if after > most + 2 * before:
                found.append(f"{what} for {after:.1f} s between requests, {before:.1f} s without the add-on")
        errors = [crawled.stats.get("log_count/ERROR", 0) for crawled in (self.plain, self.ours)]
        if errors[1] > errors[0] + scenario.errors:
            found.append(f"{errors[1]} errors in the log, {errors[0]} without the add-on")
        if len(self.ours.refused) > scenario.refused:
            found += self.ours.refused
        return [*found, *scenario.check(self.plain, self.ours)]


class Server:
    """Answers as the scenario's pages say and keeps a record of what it was asked."""

    def __init__(self, pages: Pages, asked: list[Asked]) -> None:
        self._pages, self._asked = pages, asked

    def __call__(self, request: Request) -> Any:
        heard = f"{request.url} {request.headers.to_unicode_dict()} {request.body!r}"
        asked = Asked(request.method, request.url, heard, time.process_time(), time.monotonic())
        self._asked.append(asked)
        answer = self._pages(request) if callable(self._pages) else self._pages.get(request.url)
        if isinstance(answer, tuple):
            asked.key, asked.way = (answer[1].get(name, "") for name in (KEY, WAY))
        return MISSING if answer is None else answer


MISSING = (404, {"Content-Type": "text/html"}, "not here")


async def crawl(scenario: Scenario, crawled: Crawled, server: Server, settings: Mapping[str, Any]) -> None:
    """Crawl the scenario's web once; what comes of it is added to *crawled*.

    :raises TimeoutError: it takes longer than :data:`LIMIT`.
    """
    handlers = dict.fromkeys(("http", "https", "file", "ftp", "s3"), Web)
    base = {**web_settings(server, []), "DOWNLOAD_HANDLERS": handlers, **BREADTH_FIRST}
    crawler = make_crawler(scenario.spider, {**base, **scenario.settings, **settings})

    def scraped(item: Any) -> None:
        crawled.items.append(item)

    def opened() -> None:
        extension = crawler.get_extension(ReplicaExtension)
        if extension is not None:
            note_verdicts(extension, crawled)

    crawler.signals.connect(scraped, signals.item_scraped)
    crawler.signals.connect(opened, signals.spider_opened)
    seeds = {"seeds": " ".join(scenario.seeds)} if issubclass(scenario.spider, TopicSpider) else {}
    try:
        crawling = asyncio.ensure_future(crawler.crawl_async(start_urls=list(scenario.seeds), **seeds))
        if not (await asyncio.wait([crawling], timeout=LIMIT))[0]:
            # A crawl that is cancelled ends as if it were through, and what it lacks would seem to be lost.
            crawling.cancel()
            await asyncio.wait([crawling])
            raise TimeoutError
        await crawling
    finally:
        crawled.stats = {} if crawler.stats is None else crawler.stats.get_stats()


def note_verdicts(extension: ReplicaExtension, crawled: Crawled) -> None:
    """Keep the verdicts that hold when the crawl closes its database."""
    store = extension.crawl.store
    close = store.close

    def noted() -> None:
        if extension.error is None:
            crawled.blocked = {verdict.copy for verdict in store.verdicts.holding()}
        close()

    store.close = noted  # type: ignore[method-assign]


async def plain_crawl(scenario: Scenario) -> Crawled:
    """Crawl the scenario's web without the add-on."""
    crawled = Crawled()
    await crawl(scenario, crawled, Server(scenario.pages(), crawled.asked), {})
    return crawled


async def our_crawl(scenario: Scenario, mode: str, plain: Crawled) -> Outcome:
    """Crawl the scenario's web with the add-on."""
    outcome = Outcome(scenario, mode, plain, Crawled())
    server = Server(scenario.pages(), outcome.ours.asked)
    with tempfile.TemporaryDirectory() as folder, scenario.around(), noted_log(outcome.ours):
        ledger = Path(folder, "ledger")
        job = {"JOBDIR": f"{folder}/job"} if len(scenario.runs) > 1 else {}
        try:
            for run in scenario.runs:
                more = {"REPLICA_MODE": mode, "REPLICA_LEDGER": str(ledger), **run}
                try:
                    await crawl(scenario, outcome.ours, server, {**REPLICA, **job, **more})
                except RefusedError as error:
                    outcome.ours.refused.append(str(error))
        except TimeoutError:
            outcome.is_unfinished = True
        outcome.ours.ledger = ledger.read_text()
    return outcome


@contextmanager
def noted_log(crawled: Crawled) -> Iterator[None]:
    """Keep what the add-on logs."""
    logger, log = logging.getLogger("scrapy_replica"), io.StringIO()
    handler, level = logging.StreamHandler(log), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        crawled.log = log.getvalue()


async def outcomes_of(scenario: Scenario) -> list[Outcome]:
    """Crawl the scenario's web without the add-on, and with it in each of its modes."""
    plain = await plain_crawl(scenario)
    return [await our_crawl(scenario, mode, plain) for mode in scenario.modes]


def reasons(ours: Crawled) -> Counter[str]:
    """Count the lines of the ledger by reason and action."""
    lines = map(json.loads, ours.ledger.splitlines())
    return Counter(f"{line['reason']}/{line['action']}" for line in lines)


def quiet() -> None:
    """Keep the log of crawls off the terminal; it is counted all the same."""
    logging.getLogger().addHandler(logging.NullHandler())
