"""Counts pages as a person would, for a crawl with or without the add-on."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.utils.defer import deferred_from_coro

from scrapy_replica.components.flight import NO_PAGE

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class PageMeter:
    """Notes the URLs of the responses with status 200, in order, stops after *max_pages*, and shows progress.

    The crawl's own processor time is measured from the opening of the spider to its close. Progress needs a terminal
    and the extra ``warc``.
    """

    def __init__(self, crawler: Crawler, max_pages: int = 0) -> None:
        self.urls: list[str] = []
        self.seconds = self.cpu_seconds = 0.0
        self._crawler, self._max_pages = crawler, max_pages
        self._bar: Any = None
        self._new_seeds = 0
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
        with suppress(ImportError):
            from tqdm import tqdm  # noqa: PLC0415 - part of an extra

            if sys.stderr.isatty():
                self._bar = tqdm(total=self._max_pages or None, unit="page", file=sys.stderr)

    def _received(self, response: Response, request: Request) -> None:
        is_page = request.meta.get("dont_obey_robotstxt") is not True and NO_PAGE not in request.meta
        if response.status != 200 or not is_page or (self._max_pages and len(self.urls) >= self._max_pages):
            return
        self.urls.append(response.url)
        if self._bar is not None:
            self._bar.update()
        if len(self.urls) == self._max_pages:
            deferred_from_coro(self._stop())

    async def _stop(self) -> None:
        engine = self._crawler.engine
        if engine is not None:
            await engine.close_spider_async(reason="max_pages")

    def _closed(self) -> None:
        self.seconds = time.monotonic() - self._wall
        self.cpu_seconds = time.process_time() - self._cpu
        if self._bar is not None:
            self._bar.close()
