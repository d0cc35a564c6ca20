"""A job as the control page shows and steers it."""

from __future__ import annotations

import json
import logging
import math
import time
from typing import TYPE_CHECKING, Any

from scrapy_replica.commands.job import has_begun, is_running, name_of, reading, trace
from scrapy_replica.commands.orders import command_line, give
from scrapy_replica.control import view
from scrapy_replica.crawl.topic.questions import asked_about
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.report.figures import HOSTS
from scrapy_replica.words.terminal import score
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from scrapy_replica.crawldb.sqlite.reader import SqliteReader
    from scrapy_replica.crawldb.status import Status

logger = logging.getLogger(__name__)

PARTS = {
    "state": 0.02,
    "orders": 0.05,
    "pairs": 0.2,
    "copies": 0.05,
    "rules": 0.05,
    "figures": 0.43,
    "asking": 0.08,
    "report": 0.12,
}
"""Section of the page -> its part of the time for looking."""

PAGE_SECONDS = 0.01
"""Processor time of a crawl for a page."""
LEAST_LOAD = 0.2
"""Part of a processor that a crawl is taken to need at least, lest the page of a slow one stand still."""

MOST_ASKED = 10


def _asking(reader: SqliteReader) -> list[dict[str, Any]] | None:
    """Return the pages to ask about; ``None`` where the crawl has no topic that it could learn."""
    try:
        pages = asked_about(reader, MOST_ASKED)
    except StoreError:
        raise
    except ValueError:
        return None
    return [page._asdict() | {"relevance": score(page.relevance), "shown": view.address(page.url)} for page in pages]


class ServedJob:
    """A job as the control page sees it: a :class:`~scrapy_replica.control.feed.Job`.

    :param job: its folder or address, where a crawl may not have begun yet.
    """

    def __init__(self, job: str) -> None:
        self._job = job
        self._per_second = 0.0
        self._counted: Status | None = None
        """The figures, once a section of this look has asked for them."""
        self._made: dict[str, Callable[[SqliteReader], Any]] = {
            "orders": lambda reader: view.orders(reader, lambda kind, what: command_line(kind, what, name_of(job))),
            "pairs": view.pairs,
            "copies": view.copies,
            "rules": view.rules,
            "figures": self._figures,
            "asking": _asking,
            "report": lambda reader: view.report(reader, self._status(reader)),
        }

    @property
    def sections(self) -> Mapping[str, float]:
        return PARTS

    @property
    def load(self) -> float:
        """Part of a processor that the crawl takes, by the pages that it fetches a second."""
        return min(1.0, max(LEAST_LOAD, self._per_second * PAGE_SECONDS))

    def trace(self) -> object:
        return trace(self._job)

    def look(self, sections: Collection[str]) -> Mapping[str, tuple[str, float]]:
        found: dict[str, tuple[str, float]] = {}
        problem = ""
        try:
            if not has_begun(self._job):
                problem = "No crawl has begun here yet; what it does is shown as soon as it does."
            elif wanted := self._made.keys() & set(sections):
                self._counted = None
                with reading(self._job) as reader:
                    found = {section: self._look(section, reader) for section in wanted}
        except ValueError as error:
            problem = str(error)
        told = {"job": cleaned(name_of(self._job)), "is_running": is_running(self._job), "problem": problem}
        return {"state": (json.dumps(told), 0.0), **found}

    def _look(self, section: str, reader: SqliteReader) -> tuple[str, float]:
        begun = time.thread_time()
        try:
            text = json.dumps(self._made[section](reader), allow_nan=False)  # which no browser could read
        except StoreError:
            raise
        except Exception:
            logger.exception("The section %s of the page cannot be made", section)
            return "null", math.inf  # it is tried again as late as may be
        return text, time.thread_time() - begun

    def _status(self, reader: SqliteReader) -> Status:
        """Return the figures of the job, the same ones for all sections that are made of one look."""
        if self._counted is None:
            self._counted = reader.status(time.time() if is_running(self._job) else None, HOSTS)
        return self._counted

    def _figures(self, reader: SqliteReader) -> dict[str, Any]:
        status = self._status(reader)
        self._per_second = status.per_second
        return view.figures(reader, status, is_running=is_running(self._job))

    def give_order(self, kind: str, what: Mapping[str, Any]) -> tuple[int, str]:
        return give(self._job, kind, what)
