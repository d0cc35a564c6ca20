"""What the middlewares have in common: they work for the extension that owns the crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from scrapy_replica.components.extension import ReplicaExtension

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class Middleware:
    """A middleware; out of use where the user took the extension out of ``EXTENSIONS``."""

    def __init__(self, crawler: Crawler, extension: ReplicaExtension) -> None:
        self._crawler, self._extension = crawler, extension

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = crawler.get_extension(ReplicaExtension)
        if extension is None:
            raise NotConfigured
        return cls(crawler, extension)
