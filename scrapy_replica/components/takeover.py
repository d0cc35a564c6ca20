"""A job that Scrapy's own scheduler began: what waits in it and what was asked for are taken over."""

from __future__ import annotations

import json
import logging
import shutil
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scrapy.core.scheduler import Scheduler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.job import job_dir

from scrapy_replica.components.fingerprinter import ReplicaFingerprinter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_replica.crawldb.contract import CrawlDB

logger = logging.getLogger(__name__)

QUEUE, SEEN = "requests.queue", "requests.seen"
"""Names that Scrapy gives them."""

TAKEN = "requests.queue.taken"
"""What the queue is called once it was taken over, and the key of our own note that it was."""


ACTIVE = f"{QUEUE}/active.json"
"""Tells of which priorities requests wait; Scrapy writes it when a crawl ends well."""


class PlainJob:
    """The job in *folder*, as far as Scrapy's own scheduler kept it there."""

    def __init__(self, crawler: Crawler, store: CrawlDB) -> None:
        folder = job_dir(crawler.settings)
        self._folder = Path(folder) if folder is not None else None
        self._crawler, self._store = crawler, store
        self._seen = frozenset(self._fingerprints())

    def _fingerprints(self) -> Iterator[bytes]:
        if self._folder is None or not (self._folder / SEEN).exists():
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Scrapy has no other way to read the file, whose format changes
            seen = RFPDupeFilter(str(self._folder))
            yield from map(bytes.fromhex, seen.fingerprints)
        seen.close("")

    def has_seen(self, request: Request) -> bool:
        """Tell whether Scrapy's filter let *request* through in an earlier run."""
        if not self._seen:
            return False
        fingerprinter = self._crawler.request_fingerprinter
        assert fingerprinter is not None
        if isinstance(fingerprinter, ReplicaFingerprinter):
            fingerprinter = fingerprinter.fallback  # that filter knew of no aliases and rules
        return fingerprinter.fingerprint(request) in self._seen

    def take_queue(self, enter: Callable[[Request], object]) -> None:
        """Hand what waits to *enter*, next first, and put the queue aside.

        It is read from a copy, and put aside when what was entered is committed, so that a kill loses nothing.
        """
        if self._folder is None or not (self._folder / ACTIVE).exists():
            return
        if not self._store.meta(TAKEN):
            requests = self._waiting(self._folder / QUEUE)
            for request in requests:
                enter(request)
            if requests:
                logger.info("%d requests that Scrapy's scheduler kept in the JOBDIR were taken over", len(requests))
            self._store.set_meta(TAKEN, b"1")
            self._store.commit()
        aside = self._folder / TAKEN
        shutil.rmtree(aside, ignore_errors=True)
        (self._folder / QUEUE).rename(aside)
        self._store.set_meta(TAKEN, b"")
        self._store.commit()

    def _waiting(self, queue: Path) -> list[Request]:
        """Return what waits in *queue*; what cannot be made again is told and left out, as Scrapy would."""
        if not json.loads((queue / "active.json").read_text(encoding="utf-8")):
            return []
        requests = []
        with TemporaryDirectory(dir=self._folder) as folder:
            copy = shutil.copytree(queue, Path(folder) / QUEUE)
            scheduler = Scheduler.from_crawler(self._crawler)
            scheduler.dqdir = str(copy)
            assert self._crawler.spider is not None
            scheduler.open(self._crawler.spider)
            assert scheduler.dqs is not None
            left = len(scheduler.dqs) + 1
            while len(scheduler.dqs) < left:
                left = len(scheduler.dqs)
                try:
                    if (request := scheduler.dqs.pop()) is not None:
                        requests.append(request)
                except Exception:
                    logger.exception(
                        "A request that waits in %s cannot be made again; did its callback go away?", queue
                    )
            scheduler.close("")
        return requests
