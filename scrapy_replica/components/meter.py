"""Counts pages as a person would, for a crawl with or without the add-on."""

from __future__ import annotations

import logging
import sys
import time
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.log import get_scrapy_root_handler

from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.flight import NO_PAGE
from scrapy_replica.components.progress import LINE_SECONDS, LIVE_SECONDS, LiveLine, Progress, is_terminal

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_replica.crawl.crawl import Crawl


class PageMeter:
    """Notes the URLs of the responses with status 200, in order, stops after *max_pages*, and shows progress.

    The crawl's own processor time is measured from the opening of the spider to its close.
    """

    def __init__(self, crawler: Crawler, max_pages: int = 0) -> None:
        self.urls: list[str] = []
        self.seconds = self.cpu_seconds = 0.0
        self._crawler, self._max_pages = crawler, max_pages
        self._new_seeds = 0
        self._line = LiveLine() if is_terminal() else None
        tell, seconds = (self._line.show, LIVE_SECONDS) if self._line else (self._say, LINE_SECONDS)
        self._progress = Progress(crawler, tell, seconds, lambda: len(self.urls), self._crawl, max_pages)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._received, signals.response_received)
        crawler.signals.connect(self._closed, signals.spider_closed)
        crawler.signals.connect(self._scheduled, signals.request_scheduled)
        crawler.signals.connect(self._dropped, signals.request_dropped)

    @property
    def is_fruitless(self) -> bool:
        """There were seeds that no earlier run of the job knew, and no page came of them."""
        return self._new_seeds > 0 and not self.urls

    def _scheduled(self, request: Request) -> None:
        self._new_seeds += request.meta.get("is_start_request", False)

    def _dropped(self, request: Request) -> None:
        self._new_seeds -= request.meta.get("is_start_request", False)

    def _opened(self) -> None:
        self._wall, self._cpu = time.monotonic(), time.process_time()
        if self._line is not None:
            self._line.open()

    def _crawl(self) -> Crawl | None:
        extension = self._crawler.get_extension(ReplicaExtension)
        return extension.crawl if extension is not None else None

    def _say(self, text: str) -> None:
        handler = get_scrapy_root_handler()
        if handler is None or handler.level > logging.INFO:  # otherwise the extension's own line is seen
            sys.stderr.write(f"{text}\n")

    def _received(self, response: Response, request: Request) -> None:
        is_page = request.meta.get("dont_obey_robotstxt") is not True and NO_PAGE not in request.meta
        if response.status != 200 or not is_page or (self._max_pages and len(self.urls) >= self._max_pages):
            return
        self.urls.append(response.url)
        if len(self.urls) == self._max_pages:
            deferred_from_coro(self._stop())

    async def _stop(self) -> None:
        engine = self._crawler.engine
        if engine is not None:
            await engine.close_spider_async(reason="max_pages")

    def _closed(self) -> None:
        self.seconds = time.monotonic() - self._wall
        self.cpu_seconds = time.process_time() - self._cpu
        if self._line is not None:
            self._progress.look()
            self._line.close()
