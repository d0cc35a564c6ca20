"""The job of a crawl, opened: its database, the files that this process alone writes to, and the crawl of it."""

from __future__ import annotations

import logging
import secrets
import time
from collections import Counter
from typing import TYPE_CHECKING, TextIO

from scrapy.utils.job import job_dir

from scrapy_replica.components.feeds import claimed, claimed_feeds
from scrapy_replica.components.payloads import RequestPayloads
from scrapy_replica.components.refused import refusing
from scrapy_replica.components.store import own_store, shared_store
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.sites.aliases import Aliases

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_replica.components.fingerprinter import UrlFingerprints
    from scrapy_replica.config import Config
    from scrapy_replica.crawldb.contract import CrawlDB

logger = logging.getLogger(__name__)


class OpenedJob:
    """What a crawl has of its job, or in memory where it has none.

    :raises ValueError: it cannot be opened: one line that says why.
    """

    def __init__(self, config: Config, crawler: Crawler, fingerprints: UrlFingerprints) -> None:
        self.folder: str | None = job_dir(crawler.settings)
        # A class may have none: whoever makes the spider gives it.
        self.spider_name = str(getattr(crawler.spider or crawler.spidercls, "name", ""))
        aliases = Aliases.from_file(config.aliases) if config.aliases else Aliases({})
        if config.crawldb is not None:
            self._claim_files(config, crawler)
        self._sink: TextIO | None = None
        store: CrawlDB | None = None
        try:
            if config.ledger is not None:
                with refusing("REPLICA_LEDGER"):
                    self._sink = config.ledger.open("a", encoding="utf-8")
            self.shared = shared_store(config, self.spider_name) if config.crawldb is not None else None
            """The database, where several processes share it."""
            store = self.shared or own_store(self.folder, self.spider_name)
            counts, is_shared = Counter[str](), self.shared is not None
            self.payloads = RequestPayloads(
                is_stored=self.folder is not None, url_of=store.urls.url_of, counts=counts, is_shared=is_shared
            )
            self.crawl = Crawl(
                config,
                store,
                key=fingerprints.of_url,
                now=time.time,
                aliases=aliases,
                payloads=self.payloads,
                counts=counts,
                salt=config.seed or secrets.randbits(32),
                sink=self._sink,
            )
        except BaseException:
            self.close_sink()
            if store is not None:
                store.abandon()  # who mends the setting begins again, maybe in this process
            raise

    def _claim_files(self, config: Config, crawler: Crawler) -> None:
        """Keep what this process writes to itself."""
        with refusing("FEEDS"):
            self._claimed = claimed_feeds(crawler.settings.getdict("FEEDS"))
        if config.ledger is not None:
            with refusing("REPLICA_LEDGER"):
                self._claimed.append(claimed(config.ledger))

    def close_sink(self) -> None:
        try:
            if self._sink is not None:
                self._sink.close()
        except OSError as error:
            logger.error("REPLICA_LEDGER: its last lines cannot be written (%s)", error.strerror)
