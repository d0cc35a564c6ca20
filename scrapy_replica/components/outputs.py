"""What a crawl brings must be written before its pages are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.extensions.feedexport import FeedExporter

from scrapy_replica.crawldb.contract import StoreError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class OutputError(StoreError):
    """What the crawl brought cannot be written: one line that names the place and says what to do."""


class Feeds:
    """The files that Scrapy exports items to.

    Items stay in memory until a buffer is full; a process that is killed would lose them, and their pages be done.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._exporter = crawler.get_extension(FeedExporter)

    def flush(self) -> None:
        """Hand the items so far to the system, which keeps them if the process is killed.

        :raises OutputError: they cannot be written.
        """
        if self._exporter is None:
            return
        for slot in self._exporter.slots:
            if slot.file is None or slot.file.closed:
                continue
            try:
                slot.file.flush()
            except OSError as error:
                raise OutputError(
                    f"the feed {slot.uri} cannot be written to ({error.strerror}): free some space; "
                    "the same command goes on with a job"
                ) from None
