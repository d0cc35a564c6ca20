"""The pages of archived captures, made as a crawl makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.http import Response
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.misc import build_from_crawler

from scrapy_replica.components.handler import response_of
from scrapy_replica.components.pages import page_from_response
from scrapy_replica.components.spider import TopicSpider
from scrapy_replica.config import Config

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_replica.records import Page
    from scrapy_replica.warc.archive import Record


class ArchivedPages:
    """Makes pages of captures, as *settings* say how texts are looked at."""

    def __init__(self, settings: Settings) -> None:
        self._config = Config.from_settings(settings)
        crawler = Crawler(TopicSpider, settings)
        crawler.stats = MemoryStatsCollector(crawler)
        self._decompression = build_from_crawler(HttpCompressionMiddleware, crawler)

    def __call__(self, record: Record, url: str | None = None) -> Page:
        """Return the page of *record*, asked for as *url*.

        :raises Exception: its bytes are none; whatever its content encoding or parser raises.
        """
        return page_from_response(self.response(Request(url if url is not None else record.url), record), self._config)

    def response(self, request: Request, record: Record) -> Response:
        """Return what *request* was answered by, as a callback would get it.

        :raises Exception: as above.
        """
        response = self._decompression.process_response(request, response_of(record, request))
        assert isinstance(response, Response)
        return response
