"""The observer: every page is seen once, before its callback; its links are judged together, after it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.utils.httpobj import urlparse_cached

from scrapy_replica.components.extension import Pending, ReplicaExtension, page_of
from scrapy_replica.components.fingerprinter import is_exempt
from scrapy_replica.crawldb.sqlite.database import NewUrl
from scrapy_replica.decision import Action
from scrapy_replica.records import Link

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

    from scrapy_replica.crawl import Observation

logger = logging.getLogger(__name__)

DEMOTED_PRIORITY = 1_000_000
"""Taken off the priority of a demoted request where another scheduler is in use."""


class ReplicaSpiderMiddleware:
    """Makes a page of each response, and scores and decides about the requests that its callback yields.

    A spider that has a method ``links_to_follow(page)`` (:class:`~scrapy_replica.components.spider.TopicSpider` has)
    gets the links that it returns entered as rows, without a ``Request`` for each, and yields items only.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._max_depth = crawler.settings.getint("DEPTH_LIMIT")
        self._max_length = crawler.settings.getint("URLLENGTH_LIMIT")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    @property
    def _extension(self) -> ReplicaExtension:
        extension = self._crawler.get_extension(ReplicaExtension)
        assert extension is not None
        return extension

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in start:
            if isinstance(output, Request):
                self._extension.starts.add(output)
            yield output

    def process_spider_input(self, response: Response) -> None:
        extension = self._extension
        try:
            observation = extension.observe(response)
            if observation is not None and extension.has_frontier:
                self._follow(observation)
        except Exception:
            # A bad page never stops a crawl: its callback runs, its URL is acknowledged, its links are the spider's.
            extension.crawl.counts["page/error"] += 1
            logger.exception("Cannot observe %s", response)

    def _follow(self, observation: Observation) -> None:
        choose = getattr(self._crawler.spider, "links_to_follow", None)
        if choose is None or (self._max_depth and observation.depth >= self._max_depth):
            return
        links = choose(observation.page)
        if self._max_length:
            links = [link for link in links if len(link.url) <= self._max_length]
        self._extension.crawl.follow(observation, links)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        observation = page_of(response)
        requests: list[Request] = []
        async for output in result:
            if isinstance(output, Request) and observation is not None and not is_exempt(output):
                requests.append(output)
            else:
                yield output
        if observation is not None:
            for request in self._decided(observation, requests):
                yield request
            self._extension.crawl.end(observation)

    def _decided(self, observation: Observation, requests: list[Request]) -> list[Request]:
        by_url = {link.url: link for link in observation.page.links} if requests else {}
        links = [by_url.get(request.url) or Link(request.url) for request in requests]
        scores = self._extension.crawl.scores(observation, links) if links else []
        decided = (self._decide(observation, *pair) for pair in zip(requests, scores, strict=True))
        return [request for request in decided if request is not None]

    def _decide(self, observation: Observation, request: Request, score: float) -> Request | None:
        extension = self._extension
        host = urlparse_cached(request).hostname or ""
        fingerprint = extension.fingerprints.of_request(request)
        decision = extension.crawl.decide_link(observation, request.url, host, fingerprint)
        if decision.action is Action.DROP:
            new = NewUrl(request.url, host, fingerprint, score, observation.depth + 1, observation.url_id)
            extension.crawl.enter(new, decision)
            return None
        if decision.action is Action.DEMOTE and not extension.has_frontier:
            request.priority -= DEMOTED_PRIORITY
        extension.pending[request] = Pending(score, observation.url_id, decision)
        return request
