"""Crawls of one split of the benchmark: plain Scrapy, canonical names, hosts blocked by NormPaths, the add-on."""

from __future__ import annotations

import multiprocessing
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from scrapy import Request, signals
from scrapy.crawler import AsyncCrawlerProcess, Crawler
from scrapy.http import HtmlResponse, Response
from scrapy.settings import Settings

from scrapy_replica.addon import Addon
from scrapy_replica.address import host_of
from scrapy_replica.commands.job import reading
from scrapy_replica.components.handler import rehearsal_settings
from scrapy_replica.components.pages import page_from_response
from scrapy_replica.components.spider import TopicSpider
from scrapy_replica.config import Config
from scrapy_replica.lab.mirrorbench.folder import SEEDS, WARC
from scrapy_replica.lab.replicas.replica_published import MAX_DF
from scrapy_replica.records import Link, Page
from scrapy_replica.sites.evidence import path_of

Found = TypeVar("Found")


@dataclass
class Crawled:
    """What one crawl asked for, in order, with the status of each answer, and which hosts it blocked.

    Attributes:
        blocks: Host, the one that is fetched in its place, pages until then.
    """

    fetches: list[tuple[str, int]] = field(default_factory=list)
    blocks: list[tuple[str, str, int]] = field(default_factory=list)


class OrderedSpider(TopicSpider):
    """Follows the links of a page in the order in which they stand there, or in another one for each ``ORDER``."""

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield from self._ordered(response.url, [*super().parse(response)])

    def links_to_follow(self, page: Page) -> Sequence[Link]:
        return self._ordered(page.url, [*super().links_to_follow(page)])

    def _ordered(self, url: str, found: list[Found]) -> list[Found]:
        if order := self.settings.getint("ORDER"):
            Random(f"{order} {url}").shuffle(found)
        return found


class CanonicalSpider(OrderedSpider):
    """Leaves the links of a page that names another as canonical, and asks for that one."""

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        named = response.css("link[rel=canonical]::attr(href)").get() if isinstance(response, HtmlResponse) else None
        if named and (target := response.urljoin(named)) != response.url:
            yield Request(target)
        else:
            yield from super().parse(response)


class NormPathsBlocks:
    """Downloader middleware that asks the other host in place of one whose NormPaths similarity to it is enough.

    Of two hosts the one with fewer pages so far is blocked.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._threshold = crawler.settings.getfloat("NORMPATHS_THRESHOLD")
        self._hosts_of: dict[tuple[str, object], set[str]] = defaultdict(set)
        self._similarity: dict[frozenset[str], float] = defaultdict(float)
        self._pages: Counter[str] = Counter()
        self.blocks: dict[str, tuple[str, int]] = {}
        crawler.normpaths_blocks = self  # type: ignore[attr-defined]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> NormPathsBlocks:
        return cls(crawler)

    def process_request(self, request: Request) -> Request | None:
        host = host_of(request.url)
        if host not in self.blocks:
            return None
        return request.replace(url=request.url.replace(host, self.blocks[host][0], 1))

    def process_response(self, request: Request, response: Response) -> Response:  # noqa: ARG002 - Scrapy's contract
        host = host_of(response.url)
        if response.status == 200 and isinstance(response, HtmlResponse):
            self._pages[host] += 1
            signature = page_from_response(response, Config()).signature
            if signature is not None and host not in self.blocks:
                self._add(host, (path_of(response.url), signature))
        return response

    def _add(self, host: str, page: tuple[str, object]) -> None:
        hosts = self._hosts_of[page]
        if host in hosts or len(hosts) >= MAX_DF:
            return
        for other in hosts:
            for third in hosts - {other}:
                self._similarity[frozenset((other, third))] += (1 / (len(hosts) + 1) - 1 / len(hosts)) / 2
            self._similarity[frozenset((host, other))] += 1 / (len(hosts) + 1)
        for other in hosts:
            if self._similarity[frozenset((host, other))] >= self._threshold and other not in self.blocks:
                copy, kept = sorted((host, other), key=lambda name: self._pages[name])
                self.blocks[copy] = kept, self._pages[copy]
                break
        hosts.add(host)


def _plain(settings: Settings) -> type[TopicSpider]:  # noqa: ARG001 - as the others
    return OrderedSpider


def _canonical(settings: Settings) -> type[TopicSpider]:  # noqa: ARG001
    return CanonicalSpider


def _normpaths(settings: Settings) -> type[TopicSpider]:
    settings.set("DOWNLOADER_MIDDLEWARES", {NormPathsBlocks: 50})
    return OrderedSpider


def _replica(settings: Settings) -> type[TopicSpider]:
    settings.set("ADDONS", {Addon: 500})
    settings.set("REPLICA_SEED", 1)
    return OrderedSpider


CRAWLERS: dict[str, Callable[[Settings], type[TopicSpider]]] = {
    "plain": _plain,
    "canonical": _canonical,
    "normpaths": _normpaths,
    "scrapy-replica": _replica,
}


def crawled(name: str, split: Path, threshold: float, order: int = 0) -> Crawled:
    """Crawl *split* from its seed to the end, in a process of its own.

    :param threshold: NormPaths similarity from which a host is blocked.
    :param order: of the links of a page; 0 is that of the page.
    :raises ValueError: the crawl was stopped.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_crawled, name, split, threshold, order).result()


def _crawled(name: str, split: Path, threshold: float, order: int) -> Crawled:
    with TemporaryDirectory() as job:
        settings = Settings({"LOG_LEVEL": "ERROR", "NORMPATHS_THRESHOLD": threshold, "ORDER": order})
        settings.setdict(rehearsal_settings([split / WARC]))
        spider, found = CRAWLERS[name](settings), Crawled()
        if name == "scrapy-replica":
            settings.set("JOBDIR", job)
        process = AsyncCrawlerProcess(settings)
        crawler = process.create_crawler(spider)

        def downloaded(response: Response, request: Request) -> None:
            found.fetches.append((request.url.partition("#")[0], response.status))

        crawler.signals.connect(downloaded, signals.response_downloaded)
        process.crawl(crawler, seeds=str(split / SEEDS), fields="url")
        process.start()
        if crawler.stats is None or crawler.stats.get_value("finish_reason") != "finished":
            raise ValueError(f"the crawl {name} of {split} did not come to its end")
        if isinstance(blocks := getattr(crawler, "normpaths_blocks", None), NormPathsBlocks):
            found.blocks = [(copy, kept, pages) for copy, (kept, pages) in blocks.blocks.items()]
        if name == "scrapy-replica":
            with reading(job) as known:
                found.blocks = [(v.verdict.copy, v.verdict.canonical, v.pages) for v in known.verdicts()]
        return found
