"""How a crawl goes, while it runs: one line that changes on a terminal, otherwise a line every so often."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import time
from collections import deque
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call

from scrapy_replica.decision import SAVING
from scrapy_replica.words.terminal import counted, percent

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import AsyncioLoopingCall
    from twisted.internet.task import LoopingCall

    from scrapy_replica.crawl.crawl import Crawl

LIVE_SECONDS = 0.5
"""Time between two changes of the line on a terminal."""

LINE_SECONDS = 60.0
"""Time between two lines where there is no terminal."""

SPEED_SECONDS = 10.0
"""Time that the speed on a terminal is taken of."""


class Progress:
    """Tells how a crawl goes, every *seconds* from the opening of its spider to its close.

    :param tell: what the line is given to.
    :param pages: returns the number of pages so far, in this run.
    :param crawl: returns the crawl of the add-on; ``None`` where it is not in use.
    """

    def __init__(
        self,
        crawler: Crawler,
        tell: Callable[[str], None],
        seconds: float,
        pages: Callable[[], int],
        crawl: Callable[[], Crawl | None],
        max_pages: int = 0,
    ) -> None:
        self._tell, self._seconds, self._pages, self._crawl = tell, seconds, pages, crawl
        self._max_pages = max_pages
        self._looks: deque[tuple[float, int]] = deque(maxlen=1 + max(1, round(SPEED_SECONDS / seconds)))
        self._timer: AsyncioLoopingCall | LoopingCall | None = None
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    def _opened(self) -> None:
        self._looks.append((time.monotonic(), self._pages()))
        self._timer = create_looping_call(self.look)  # a crawl without a reactor has no loop before it opens
        self._timer.start(self._seconds, now=False)

    def _closed(self) -> None:
        if self._timer is not None and self._timer.running:
            self._timer.stop()

    def look(self) -> None:
        """Tell how it goes now."""
        self._looks.append((time.monotonic(), self._pages()))
        (begun, before), (now, pages) = self._looks[0], self._looks[-1]
        told = [f"{pages:,} of {self._max_pages:,} pages" if self._max_pages else counted(pages, "page")]
        if (crawl := self._crawl()) is not None:
            told += found(crawl)
        self._tell(", ".join([*told, f"{(pages - before) / max(now - begun, 1e-3):.1f}/s"]))


def found(crawl: Crawl) -> list[str]:
    """Return what *crawl* found and saved in this run, in words."""
    counts = crawl.counts
    pages, has_topic = counts["page/observed"], crawl.runner.relevance.is_learnt
    wanted = counts["page/relevant" if has_topic else "page/novel"]
    avoided = sum(counts[f"decision/{reason.value}/{action}"] for reason in SAVING for action in ("drop", "rewrite"))
    harvest = [f"{percent(wanted / pages)} {'on topic' if has_topic else 'new'}"] if pages else []
    return [*harvest, f"{avoided:,} avoided", f"{crawl.store.urls.waiting:,} waiting"]


class LiveLine(logging.Filter):
    """The last line of a terminal, which changes in its place; what is logged meanwhile goes above it."""

    def show(self, text: str) -> None:
        """Show *text* in place of the text before."""
        sys.stderr.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
        sys.stderr.flush()

    def open(self) -> None:
        """Make room for what is logged."""
        for handler in logging.getLogger().handlers:
            handler.addFilter(self)

    def close(self) -> None:
        """Leave the line as it is."""
        for handler in logging.getLogger().handlers:
            handler.removeFilter(self)
        sys.stderr.write("\n")

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002
        """Wipe the line before a record is written; the next look shows it again."""
        sys.stderr.write("\r\x1b[K")
        return True


def is_terminal() -> bool:
    """Tell whether standard error goes to a terminal on which a line can change."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
