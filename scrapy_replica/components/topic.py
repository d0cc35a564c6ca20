"""From the user's examples to a relevance model."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import HtmlResponse, Response

from scrapy_replica.address import redacted
from scrapy_replica.components.extract import tree_of
from scrapy_replica.focus.background import Background
from scrapy_replica.focus.description import Description
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.focus.topic import Document, Topic, load_background, load_topic
from scrapy_replica.pages.page import EXTRACTORS, page_from_tree
from scrapy_replica.pages.terms import terms
from scrapy_replica.records import Terms
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_replica.config import Config
    from scrapy_replica.crawl.crawl import Crawl
    from scrapy_replica.crawldb.contract import CrawlDB

logger = logging.getLogger(__name__)

FETCHED = "fetched examples"
"""Key of the examples that were given by URL, in the crawl database."""

CHOSEN = "chosen examples"
"""Key of the pages of the crawl that were taken for examples of a topic in words, in the crawl database."""

MOST_CHOSEN = 15
"""Pages that are taken for examples."""

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

    _store: CrawlDB

    def __init__(self, config: Config) -> None:
        self._language = config.default_language
        self._extract = EXTRACTORS[config.noise]
        self.topic, background = read_examples(config)
        self._fetched: dict[str, Terms] = {}
        """Those given by URL."""
        self.positives = [self._terms(document) for document in self.topic.positives]
        self._words = terms(self.topic.words, self._language)
        if self.topic.words and not self._words:
            raise ValueError(
                f"REPLICA_TOPIC: no word of {self.topic.words!r} counts: say in some words what the pages are about"
            )
        self._chosen: dict[str, Terms] = {}
        """Pages of the crawl that are taken for examples of a topic in words."""
        unlabelled = [*self.topic.background, *background]
        if unlabelled:
            self.background = Background.from_documents(map(self._terms, unlabelled))
        else:
            self.background = Background.shipped(config.default_language)

    def _terms(self, document: Document) -> Terms:
        if document.html is None:
            return terms(document.text or "", self._language)
        return self._page_terms(HtmlResponse("http://example.invalid/", body=document.html, encoding="utf-8"))

    def _page_terms(self, response: HtmlResponse) -> Terms:
        root = tree_of(response)
        return page_from_tree(root, response.url, language_default=self._language, extract=self._extract).terms

    async def teach(self, crawler: Crawler, crawl: Crawl) -> None:
        """Have *crawl* learn the topic, of examples given by URL as well: those fetched before, or fetched now.

        :raises ValueError: no example has any text.
        """
        relevance, store = crawl.runner.relevance, crawl.store
        if self.topic.words:
            self._store = store
            self._chosen = json.loads(store.meta(CHOSEN) or b"{}")
            relevance.learn(self.model, self.choose)
            return
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
        if self.topic.words:
            model.describe(self._words, self.background.with_documents(unlabelled))
            chosen = [terms for terms in (*self._chosen.values(), *yes) if terms not in no]
            if chosen:
                others = [terms for terms in unlabelled if terms not in chosen]
                model.fit(chosen, self.background.with_documents(others), no)
            return model
        positives = [terms for terms in (*self.positives, *self._fetched.values(), *yes) if terms not in no]
        model.fit(positives, self.background.with_documents(unlabelled), no)
        return model

    def choose(self, seen: Sequence[tuple[str, Terms]]) -> None:
        """Take those of the pages *seen* (URL, stem counts) that have most of the words for examples of the topic.

        Mean average precision over 16 topics of the words alone .406; with 15 of the first 960 pages beside them .469,
        of 3,840 .499. With other descriptions 15 of 240 were worse than words alone (.309 against .334), so fewer pages
        are not asked for.
        """
        described = Description()
        described.fit(self._words, self.background.with_documents(terms for _, terms in seen))
        ranked = sorted(((described.relevance(terms), url, terms) for url, terms in seen), key=lambda one: -one[0])
        self._chosen = {url: terms for score, url, terms in ranked[:MOST_CHOSEN] if score > 0}
        self._store.set_meta(CHOSEN, json.dumps(self._chosen).encode())
        told = ", ".join(redacted(cleaned(url)) for url in self._chosen) or "none, for no page has any of the words"
        logger.info("Taken for examples of the topic %r: %s", self.topic.words, told)


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
