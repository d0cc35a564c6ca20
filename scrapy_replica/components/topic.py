"""From the user's examples to a relevance model."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import HtmlResponse, Response

from scrapy_replica.focus.background import Background
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.topic import Document, Topic, load_background, load_topic
from scrapy_replica.pages.page import EXTRACTORS, page_from_tree
from scrapy_replica.pages.terms import terms

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_replica.config import Config

logger = logging.getLogger(__name__)

Terms = Mapping[str, int]


class Examples:
    """The examples of the topic and of the background that a crawl's settings name.

    :raises ValueError: a file cannot be read, or there are no statistics for the language and no background.
    """

    def __init__(self, config: Config) -> None:
        assert config.topic is not None
        self._language = config.language
        self._extract = EXTRACTORS[config.noise]
        self.topic: Topic = load_topic(config.topic)
        self.positives = [self._terms(document) for document in self.topic.positives]
        unlabelled = [*self.topic.background, *(load_background(config.background) if config.background else ())]
        if unlabelled:
            self.background = Background.from_documents(map(self._terms, unlabelled))
        else:
            self.background = Background.shipped(config.language)

    def _terms(self, document: Document) -> Terms:
        if document.html is None:
            return terms(document.text or "", self._language)
        return self._page_terms(HtmlResponse("http://example.invalid/", body=document.html, encoding="utf-8"))

    def _page_terms(self, response: HtmlResponse) -> Terms:
        root = response.selector.root
        return page_from_tree(root, response.url, language_default=self._language, extract=self._extract).terms

    async def fetch(self, crawler: Crawler) -> None:
        """Fetch the examples that are given by URL; those that cannot be had are logged and left out."""
        for url in self.topic.urls:
            response = await self._download(crawler, url)
            if isinstance(response, HtmlResponse) and response.status == 200:
                self.positives.append(self._page_terms(response))
            else:
                logger.warning("The topic's example %s cannot be had", url)

    @staticmethod
    async def _download(crawler: Crawler, url: str) -> Response | None:
        assert crawler.engine is not None
        try:
            return await crawler.engine.download_async(Request(url))
        except Exception:
            logger.debug("Fetching %s failed", url, exc_info=True)
            return None

    def model(self, more_background: list[Terms]) -> Relevance:
        """Return the model of these examples against the background and *more_background*.

        :raises ValueError: no example has any text.
        """
        model = Relevance()
        model.fit(self.positives, self.background.with_documents(more_background))
        return model
