"""The extension that owns the crawl."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro

from scrapy_replica.address import host_of
from scrapy_replica.components.borders import Borders
from scrapy_replica.components.dupefilter import has_own_filter
from scrapy_replica.components.feeds import OutputError
from scrapy_replica.components.fingerprinter import ReplicaFingerprinter, UrlFingerprints
from scrapy_replica.components.flight import Flights
from scrapy_replica.components.garbage import LongLived
from scrapy_replica.components.items import RepeatedItems
from scrapy_replica.components.observer import Observer
from scrapy_replica.components.opened_job import OpenedJob
from scrapy_replica.components.pages import Pages
from scrapy_replica.components.payloads import callback_of
from scrapy_replica.components.progress import Progress
from scrapy_replica.components.refused import refusing
from scrapy_replica.components.revalidation import Revalidation
from scrapy_replica.components.shared_crawl import SharedCrawl
from scrapy_replica.components.statistics import flush, sum_up
from scrapy_replica.components.topic import Examples
from scrapy_replica.components.usage import UsageStatements
from scrapy_replica.config import Config
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawldb.contract import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.robotstxt import RobotParser
    from twisted.internet.defer import Deferred
    from typing_extensions import Self

    from scrapy_replica.components.sitemaps import Listed
    from scrapy_replica.components.warc import Recorder

logger = logging.getLogger(__name__)

ORDERS_SECONDS = 0.5
"""Time between two looks at the orders that a person wrote into the crawl database."""


class ReplicaExtension:
    """Owns the :class:`~scrapy_replica.crawl.Crawl` that the other components share, and its statistics.

    The job of a crawl is opened before its engine is made, so that everything wrong with settings and files stops the
    crawl at its start. What only makes a crawler, as tests do, opens none before it is asked for.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.config = Config.from_settings(crawler.settings)
        if not self.config.enabled:
            raise NotConfigured("REPLICA_ENABLED is False")
        self._crawler = crawler
        self.flights = Flights()
        """The requests on their way."""
        self.repeats = RepeatedItems()
        self.has_frontier = False
        """Our scheduler is in use."""
        self.has_own_filter = has_own_filter(crawler.settings)
        """The user chose what filters requests that were asked for before."""
        self.wake: Callable[[], None] = lambda: None
        """Lets the engine look for what is to be fetched; our scheduler knows how."""
        self.rest: Callable[[str, float], None] | None = None
        """Gives out nothing of a download slot for some seconds; ``None`` where another scheduler is in use."""
        self.recover: Callable[[str], None] = lambda _: None
        """Told of a download slot whose host answered."""
        self.crawl_delays: dict[str, float] = {}
        """Host name -> seconds between two requests that its ``robots.txt`` asks for."""
        self.usage = UsageStatements(crawler.settings)
        """What sites say may be done with their pages."""
        self._closing: Deferred[None] | None = None
        """What closes the crawl, where the add-on does."""
        self.error: StoreError | None = None
        """Why the crawl cannot go on: its database or what it brings cannot be written any more."""
        self.borders = None if self.config.private_addresses else Borders()
        """What may not be fetched for where it lies."""
        self.shared_crawl: SharedCrawl | None = None
        """The other processes that share the job."""
        self._is_closed = False
        self._long_lived = LongLived()
        self._orders = create_looping_call(self._obey)
        self._examples = Examples(self.config) if self.config.topic is not None else None
        assert crawler.stats is not None
        self._stats = crawler.stats
        assert crawler.request_fingerprinter is not None
        self.fingerprints = UrlFingerprints(crawler.request_fingerprinter)

    @property
    def _is_open(self) -> bool:
        return "job" in vars(self)

    @cached_property
    def job(self) -> OpenedJob:
        job = OpenedJob(self.config, self._crawler, self.fingerprints)
        if job.shared is not None:
            self.shared_crawl = SharedCrawl(job.crawl, job.shared, self._stats, lambda: self.wake(), self.stop)  # noqa: PLW0108 - as it is then
        return job

    @cached_property
    def crawl(self) -> Crawl:
        return self.job.crawl

    @cached_property
    def pages(self) -> Pages:
        return Pages(self.config, self.crawl, self.usage)

    @cached_property
    def recorder(self) -> Recorder | None:
        """What writes WARC files; when the job is open it finishes those that a killed run of it left."""
        config, job = self.config, self.job
        if config.warc is None:
            return None
        # 6 ms that few crawls need.
        from scrapy_replica.components.warc import Recorder, where_kept  # noqa: PLC0415

        with refusing("REPLICA_WARC"):
            folder, bucket = where_kept(config.warc, job.folder)
            about = (config.warc_size, job.crawl.store, job.spider_name, job.crawl.counts, self.stop)
            return Recorder(folder, *about, is_shared=self.shared_crawl is not None, bucket=bucket)

    @cached_property
    def observer(self) -> Observer:
        """Takes note of pages and of what callbacks make of them."""
        return Observer(self)

    @cached_property
    def revalidation(self) -> Revalidation:
        """Compares what is asked for again."""
        return Revalidation(self.crawl.revisits, self.flights, self.recorder)

    def open(self) -> None:
        """Open the job and what is kept of it, if that was not done.

        :raises RefusedError: one line that says why it cannot be.
        """
        if self._is_open:
            return
        try:
            with refusing():
                _ = self.revalidation
        except BaseException:
            if self._is_open:
                self.crawl.store.abandon()  # who mends the setting begins again, maybe in this process
            raise
        if seconds := self._crawler.settings.getfloat("LOGSTATS_INTERVAL"):
            pages = partial(self.crawl.counts.__getitem__, "page/observed")
            self._progress = Progress(self._crawler, logger.info, seconds, pages, lambda: self.crawl)

    def _rewrite_target(self, request: Request, url: str) -> str:
        """Return the URL that is fetched in place of *url*, that of *request*.

        A sample is fetched as it stands, as is all that the scheduler gave out: the HTTP cache keeps it by its name.
        """
        flight = self.flights.of(request)
        if flight.url_id is not None or (flight.decision is not None and flight.decision.is_sampled):
            return url
        return self.crawl.policy.rewrite_target(url, host_of(url), callback_of(request))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        with refusing():
            extension = cls(crawler)
        if crawler.crawling:
            extension.open()
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        crawler.signals.connect(extension.robots_parsed, signals.robots_parsed)
        crawler.signals.connect(extension.response_downloaded, signals.response_downloaded)
        crawler.signals.connect(extension.item_error, signals.item_error)
        return extension

    def serve_frontier(self) -> None:
        """Take note that our scheduler is in use: what is dropped there can come back."""
        self.has_frontier = True
        self.crawl.steer(self.borders.add_seed if self.borders is not None else lambda _: None)
        fingerprinter = self._crawler.request_fingerprinter
        if isinstance(fingerprinter, ReplicaFingerprinter) and self.config.dust:
            fingerprinter.rewrite_target = self._rewrite_target

    def spider_opened(self) -> Coroutine[Any, Any, None] | None:
        """Begin, unless nobody crawls, as in tests that send the signal themselves."""
        if not self._crawler.crawling:
            return None
        folder = self.job.folder
        order = f"order {self.crawl.runner.order}" if self.has_frontier else "the order of Scrapy's own scheduler"
        kept = f"kept in {folder}" if folder else "kept in memory: give a JOBDIR to go on later"
        logger.info("scrapy-replica: mode %s, %s, %s", self.config.mode.value, order, kept)
        self._orders.start(ORDERS_SECONDS, now=False)
        if self.shared_crawl is not None:
            self.shared_crawl.open()
        self._long_lived.open()
        if self.borders is not None:
            examples = self._examples.topic.urls if self._examples is not None else ()
            self.borders.open(examples)
        # A crawl that goes on may take links before the seeds come by once more.
        urls = getattr(self._crawler.spider, "start_urls", ())
        for url in urls if isinstance(urls, (list, tuple)) else ():  # a generator gives them once, to the spider
            self.add_seed(url)
        return self._teach(self._examples) if self._examples is not None else None

    async def _teach(self, examples: Examples) -> None:
        try:
            await examples.teach(self._crawler, self.crawl)
        except ValueError as error:
            logger.error("REPLICA_TOPIC: %s; the crawl stops", error)
            self.end_crawl("no_topic")

    def add_seed(self, url: str) -> None:
        """Take note that *url* is a seed: the host of it may be fetched."""
        if self._is_closed:
            return  # the spider still gives what it begins with
        self.crawl.fetches.open_to(host_of(url))
        if self.borders is not None:
            self.borders.add_seed(url)

    def may_fetch(self, url: str) -> bool:
        """Tell whether *url* is near enough to the seeds, whatever it looks like."""
        return self.crawl.scope.is_near(host_of(url))

    def enter_listed(self, listed: Sequence[Listed]) -> None:
        """Enter what a sitemap lists."""
        if self.error is not None:
            return
        with self.stopping():
            self.crawl.enter_listed(listed)
            self.crawl.store.commit()
        self.wake()

    def _obey(self) -> None:
        if self.error is not None:
            return
        try:
            if self.crawl.obey():
                self.wake()
        except StoreError as error:
            self.stop(error)
        except Exception:
            logger.exception("An order could not be carried out; the next look is in %s s", ORDERS_SECONDS)

    def spider_closed(self) -> Coroutine[Any, Any, None] | None:
        return self._close() if self._is_open else None

    async def _close(self) -> None:
        self._is_closed = True
        if self._orders.running:
            self._orders.stop()
        if self.shared_crawl is not None:
            self.shared_crawl.close()
        if self.borders is not None:
            self.borders.close()
        try:
            await self._close_recorder()
            try:
                if self.error is None or isinstance(self.error, OutputError):
                    self.flush()
                    sum_up(self.crawl, self._stats, self.job.folder)
                    if self.shared_crawl is not None:
                        self.shared_crawl.set_sums()
            finally:
                self.crawl.store.close()
        except StoreError as error:
            if self.error is None:
                logger.error("%s", error)
        self._long_lived.close()
        self.job.close_sink()

    async def _close_recorder(self) -> None:
        if self.recorder is not None:
            try:
                await self.recorder.close()
            except OutputError as error:
                logger.error("%s", error)
                self.error = self.error or error

    def stop(self, error: StoreError) -> None:
        """Close the crawl, because its database or what it brings cannot be written any more.

        Nothing more is given out, and nothing is done that was not before.
        """
        if self.error is not None:
            return
        self.error = error
        logger.error("%s; the crawl stops", error)
        reason = "output" if isinstance(error, OutputError) else "crawl_database"
        if self._crawler.engine is not None and self._crawler.engine.spider is not None:
            self.end_crawl(reason)

    @contextmanager
    def stopping(self, fault: str | None = None, *args: object) -> Iterator[None]:
        """Close the crawl if what is done inside finds that its database cannot be used.

        :param fault: where it is given any other error is logged under these words, with *args*, and the crawl goes on.
        """
        try:
            yield
        except StoreError as error:
            self.stop(error)
        except Exception:
            if fault is None:
                raise
            logger.exception(fault, *args)
            self.crawl.counts["page/error"] += 1

    @property
    def is_ending(self) -> bool:
        """The add-on closes the crawl."""
        return self._closing is not None

    def end_crawl(self, reason: str) -> None:
        """Close the crawl; what waits stays in the job."""
        assert self._crawler.engine is not None
        self._closing = deferred_from_coro(self._crawler.engine.close_spider_async(reason=reason))

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        """Take up what a robots.txt says of arguments and uses; *request* is the one that asked for it."""
        self.usage.add_robots(robotparser, request)
        for line in getattr(robotparser, "clean_params", ()):
            self.crawl.rules.clean_param(host_of(request.url), line)

    def response_downloaded(self, response: Response, request: Request) -> None:
        """Take note of the size of *response*, which nothing has unpacked yet; one from a cache has none."""
        self.flights.of(request).size = len(response.body)

    def item_error(self, response: Response | None) -> None:
        """Take note that an item made of *response* is lost, because a pipeline raised."""
        if response is not None and response.request is not None:
            self.revalidation.mark_unfinished(response.request)

    def flush(self) -> None:
        """Hand the counts to Scrapy's statistics."""
        flush(self.crawl, self._stats)
