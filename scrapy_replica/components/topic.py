"""From the user's examples to a relevance model."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
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
    from scrapy_replica.crawl import Crawl

logger = logging.getLogger(__name__)

Terms = Mapping[str, int]

FETCHED = "fetched examples"
"""Key of the examples that were given by URL, in the crawl database."""

DOUBTED_AT, MANY = 300, 0.9
"""Pages after which a topic is doubted aloud that none of them is on, or more than that share."""


def read_examples(config: Config) -> tuple[Topic, tuple[Document, ...]]:
    """Return the topic and the background that the settings name.

    :raises ValueError: a file makes no sense or cannot be read: one line that names the setting and the file.
    """
    assert config.topic is not None
    setting = "REPLICA_TOPIC"
    try:
        topic = load_topic(config.topic)
        setting = "REPLICA_BACKGROUND"
        return topic, load_background(config.background) if config.background else ()
    except (ValueError, OSError) as error:
        raise ValueError(f"{setting}: {error}") from error


class Examples:
    """The examples of the topic and of the background that a crawl's settings name.

    :raises ValueError: a file cannot be read, or there are no statistics for the language and no background.
    """

    def __init__(self, config: Config) -> None:
        self._language = config.language
        self._extract = EXTRACTORS[config.noise]
        self.topic, background = read_examples(config)
        self._fetched: dict[str, Terms] = {}
        """Those given by URL."""
        self.positives = [self._terms(document) for document in self.topic.positives]
        unlabelled = [*self.topic.background, *background]
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

    async def teach(self, crawler: Crawler, crawl: Crawl) -> None:
        """Have *crawl* learn the topic, of examples given by URL as well: those fetched before, or fetched now.

        :raises ValueError: no example has any text.
        """
        relevance, store = crawl.runner.relevance, crawl.store
        # The examples are needed whenever the topic is learnt anew, by a person's marks at any time.
        if (fetched := store.meta(FETCHED)) is not None:
            self._fetched = json.loads(fetched)
        if not relevance.is_learnt or crawl.runner.is_learning:
            await self._fetch(crawler)
            store.set_meta(FETCHED, json.dumps(self._fetched).encode())
        relevance.learn(self.model)

    async def _fetch(self, crawler: Crawler) -> None:
        """Fetch the examples that are given by URL and missing; those that cannot be had are logged and left out."""
        for url in self.topic.urls:
            if url in self._fetched:
                continue
            response = await self._download(crawler, url)
            if isinstance(response, HtmlResponse) and response.status == 200:
                self._fetched[url] = self._page_terms(response)
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

    def model(self, unlabelled: Sequence[Terms], yes: Sequence[Terms], no: Sequence[Terms]) -> Relevance:
        """Return the model of these examples and pages marked *yes*, against the background, *unlabelled* and *no*.

        A no to a page with the text of an example is the last word on it.

        :raises ValueError: no example has any text.
        """
        model = Relevance()
        positives = [terms for terms in (*self.positives, *self._fetched.values(), *yes) if terms not in no]
        model.fit(positives, self.background.with_documents(unlabelled), no)
        return model


def doubt_topic(crawl: Crawl) -> None:
    """Tell the user of a topic that nothing, or nearly everything, is on; called after each page that was judged."""
    counts = crawl.counts
    if counts["page/observed"] != DOUBTED_AT or not crawl.runner.relevance.is_learnt:
        return
    relevant = counts["page/relevant"]
    if not relevant:
        logger.warning(
            "None of the first %d pages is on topic: examples should be in their language, and pages of their kind",
            DOUBTED_AT,
        )
    elif relevant > MANY * DOUBTED_AT:
        logger.warning(
            "%d of the first %d pages are on topic: if they should not be, give unlabelled pages "
            "(REPLICA_BACKGROUND), and examples from several sites",
            relevant,
            DOUBTED_AT,
        )
