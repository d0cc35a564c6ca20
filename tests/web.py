"""A small web in memory, and whole crawls of it."""

from __future__ import annotations

import asyncio
import gzip
import random
import sqlite3
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.exceptions import DownloadFailedError
from scrapy.http import Headers
from scrapy.responsetypes import responsetypes
from scrapy.utils.test import get_reactor_settings

from scrapy_replica import Addon
from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.sqlite.database import FILE_NAME
from scrapy_replica.crawldb.sqlite.schema import STATES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

WORDS = [a + b + c for a in ("ba", "de", "ki", "lo", "mu") for b in ("ran", "sti", "vol") for c in ("ter", "ning", "s")]
HTML = {"Content-Type": "text/html; charset=utf-8"}
MOST_TURNS = 400
"""Turns of the event loop that an answer takes at most where they come in disorder; those of one host overtake each
other by half a dozen pages."""
REPLICA = {"ADDONS": {Addon: 500}}


def text(seed: object, words: int = 60) -> str:
    """Words of which two seeds share no long run."""
    return " ".join(random.Random(str(seed)).choices(WORDS, k=words))


def page(links: Any = (), seed: object = None, title: str = "", words: int = 60) -> str:
    """A page with text of its own, or that of *seed*, and links."""
    links = list(links)
    anchors = "".join(f'<li><a href="{link}"></a></li>' for link in links)
    body = text(seed if seed is not None else links, words)
    return f"<html><head><title>{title}</title></head><body><p>{body}</p><ul>{anchors}</ul></body></html>"


def record(url: str, html: str) -> bytes:
    """A record of a WARC."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + html.encode()
    head = [
        "WARC/1.0",
        "WARC-Type: response",
        f"WARC-Target-URI: {url}",
        "WARC-Date: 2024-01-15T00:00:00Z",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(block)}",
    ]
    return gzip.compress("\r\n".join(head).encode() + b"\r\n\r\n" + block + b"\r\n\r\n")


class Web(BaseDownloadHandler):
    """Answers from the pages in the settings.

    A page is its HTML, (status, headers, body), an exception to raise, or a function of the request that returns one
    of these. Whatever there is not is answered by a 404. With a number as ``TEST_DISORDER`` each answer takes a random
    number of turns of the event loop, the same in every crawl.
    """

    lazy = False

    def __init__(self, crawler: Any) -> None:
        super().__init__(crawler)
        self.pages, self.log = crawler.settings["TEST_WEB"]
        seed = crawler.settings.get("TEST_DISORDER")
        self._random = random.Random(int(seed)) if seed is not None else None

    async def download_request(self, request: Any) -> Any:
        self.log.append(request.url)
        for _ in range(1 + self._random.randrange(MOST_TURNS) if self._random else 1):
            await asyncio.sleep(0)
        answer = self.pages(request) if callable(self.pages) else self.pages.get(request.url, (404, HTML, "not here"))
        if callable(answer):
            answer = answer(request)
        if asyncio.iscoroutine(answer):
            answer = await answer
        if isinstance(answer, Exception):
            raise answer
        status, headers, body = (200, HTML, answer) if isinstance(answer, (str, bytes)) else answer
        body = body.encode() if isinstance(body, str) else body
        headers = Headers(headers)
        kind = responsetypes.from_args(headers=headers, url=request.url, body=body)
        return kind(
            request.url, status=status, headers=headers, body=body, request=request, ip_address=ip_address("192.0.2.1")
        )

    async def close(self) -> None:
        pass


def refused(request: Any) -> Exception:
    return DownloadFailedError("refused")


def redirect(url: str, status: int = 302, **headers: str) -> tuple[int, dict[str, str], str]:
    return status, {"Location": url, **headers}, ""


class Served(tuple):  # type: ignore[type-arg]
    """Pages and the log of requests, which settings would copy."""

    __slots__ = ()

    def __deepcopy__(self, memo: Any) -> Served:
        return self


@dataclass
class CrawlResult:
    """What came of a crawl."""

    stats: dict[str, Any]
    urls: list[str]
    """In the order in which they were asked for, robots.txt left out."""
    items: list[Any] = field(default_factory=list)
    states: dict[str, list[str]] = field(default_factory=dict)
    """URL -> the states that the crawl database has for it at the close."""
    spider: Any = None

    @property
    def unfinished(self) -> dict[str, list[str]]:
        """URLs that wait or are leased."""
        return {url: states for url, states in self.states.items() if not {*states} <= {"done", "dropped"}}


def web_settings(pages: Any, log: list[str]) -> dict[str, Any]:
    return {
        # With a reactor Scrapy would look for FTP servers on the network.
        "DOWNLOAD_HANDLERS": {"http": Web, "https": Web, "ftp": None},
        "TEST_WEB": Served((pages, log)),
        "RETRY_TIMES": 1,
        # Scrapy starts that many tasks for each response; a hundred, its default, are a third of a small crawl's CPU.
        # With 16 items are taken in the same order, with one they are not.
        "CONCURRENT_ITEMS": 16,
        "LOG_LEVEL": "ERROR",
        "REPLICA_SEED": 1,  # without one each job draws in its own way
    }


def states(rows: Iterable[tuple[str, int]]) -> dict[str, list[str]]:
    """Every URL with the states that it has; ``dont_filter`` requests have rows of their own."""
    found: dict[str, list[str]] = {}
    for url, state in rows:
        found.setdefault(url, []).append(STATES[state].value)
    return found


def job_states(job: Path) -> dict[str, list[str]]:
    db = sqlite3.connect(job / FILE_NAME)
    try:
        return states(db.execute("SELECT url, state FROM urls ORDER BY id"))
    finally:
        db.close()


def states_of(extension: Any) -> dict[str, list[str]]:
    return states(extension.crawl.store.connection.read("SELECT url, state FROM urls ORDER BY id"))


def make_crawler(spidercls: type[Spider], settings: dict[str, Any]) -> Crawler:
    """A crawler as commands make it; Scrapy's ``get_crawler`` applies the settings of one that does not crawl."""
    offline = {"REMOTE_CONTROL_ENABLED": False, "TELNETCONSOLE_ENABLED": False}
    return Crawler(spidercls, {**offline, **get_reactor_settings(), **settings})


async def crawl(
    spidercls: type[Spider], pages: Any, settings: dict[str, Any] | None = None, **spider_kwargs: Any
) -> CrawlResult:
    """Crawl *pages*: a table from URLs to pages, or a function of the request."""
    log: list[str] = []
    crawler = make_crawler(spidercls, {**web_settings(pages, log), **(settings or {})})
    result = CrawlResult({}, log)

    def scraped(item: Any) -> None:
        result.items.append(item)

    def opened() -> None:
        extension = crawler.get_extension(ReplicaExtension)
        if extension is not None:
            close = extension.crawl.store.close

            def noted() -> None:
                with suppress(StoreError):
                    result.states.update(states_of(extension))
                close()

            extension.crawl.store.close = noted

    crawler.signals.connect(scraped, signals.item_scraped)
    crawler.signals.connect(opened, signals.spider_opened)
    await crawler.crawl_async(**spider_kwargs)
    result.stats, result.spider = crawler.stats.get_stats(), crawler.spider
    result.urls = [url for url in log if not url.endswith("/robots.txt")]
    return result
