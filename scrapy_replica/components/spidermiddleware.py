"""The observer: every page is seen once, before its callback."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_replica.components.middleware import Middleware
from scrapy_replica.components.revalidation import silence
from scrapy_replica.components.spider import TopicSpider
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.urls.scope import Outside

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_replica.components.extension import ReplicaExtension
    from scrapy_replica.crawl.observation import Observation

logger = logging.getLogger(__name__)


class ReplicaSpiderMiddleware(Middleware):
    """Makes a page of each response.

    Of a :class:`~scrapy_replica.components.spider.TopicSpider` the links that its ``links_to_follow(page)`` returns are
    entered as rows, without a ``Request`` for each, and it yields items only.
    """

    def __init__(self, crawler: Crawler, extension: ReplicaExtension) -> None:
        super().__init__(crawler, extension)
        self._max_depth = crawler.settings.getint("DEPTH_LIMIT")
        self._max_length = crawler.settings.getint("URLLENGTH_LIMIT")
        if crawler.crawling:
            extension.open()  # nobody may have crawled when it was made
            is_topic_spider = isinstance(crawler.spider, TopicSpider)
            extension.crawl.probes.may_enter = is_topic_spider
            extension.crawl.reading.reads_all |= is_topic_spider  # its items say what pages say

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for output in start:
            if isinstance(output, Request):
                self._extension.flights.of(output).is_start = True
                if self._extension.error is None:
                    with self._extension.stopping():
                        self._extension.add_seed(output.url)
            yield output

    # Pages

    def process_spider_input(self, response: Response) -> None:
        extension = self._extension
        try:
            if extension.has_frontier and extension.revalidation.is_unchanged(response):
                extension.observer.observe_unchanged(response)
                silence(response)
                return
            if extension.crawl.has_to_learn:
                with extension.crawl.store.span():
                    extension.crawl.learn_anew()
            with extension.crawl.store.span():
                observation = extension.observer.observe(response)
                if observation is not None and extension.has_frontier:
                    self._follow(observation)
            extension.observer.keep_known(response)
        except StoreError as error:
            extension.stop(error)
        except Exception as error:
            # A bad page never stops a crawl: its callback runs, its URL is acknowledged, its links are the spider's.
            logger.exception("%s cannot be judged; the spider has it as it is", response)
            extension.observer.cannot_observe(response, error)

    def _follow(self, observation: Observation) -> None:
        spider = self._crawler.spider
        if not isinstance(spider, TopicSpider):
            return
        links = spider.links_to_follow(observation.page)
        if self._max_depth and observation.depth >= self._max_depth:
            self._extension.crawl.scope.count(Outside.DEPTH, len(links))
            return
        if self._max_length:
            links = [link for link in links if len(link.url) <= self._max_length]
        outlinks = self._extension.crawl.outlinks
        (outlinks.follow_new if observation.is_known else outlinks.follow)(observation, links)
