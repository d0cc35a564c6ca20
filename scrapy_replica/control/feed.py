"""What the page shows, looked at as often as it may cost, and only while somebody looks."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

logger = logging.getLogger(__name__)

TICK_SECONDS = 2.0
"""Time between two moments at which whatever is due is looked at, together: opening a job takes half a millisecond."""
MOST_SECONDS = 300.0
"""Time between two looks at one section, at most."""
SHARE = 0.006
"""Part of the crawl's processor time that all looks together may take."""
CHEAP_SECONDS = 0.5
"""Processor time of a look that may follow each order."""
SOON_SECONDS = 0.6
"""Time after an order by which a running crawl has obeyed it."""


class Job(Protocol):
    """The job that is shown."""

    @property
    def sections(self) -> Mapping[str, float]:
        """What is shown of it, with the part of the time for looking that each may take."""

    @property
    def load(self) -> float:
        """Part of a processor that the crawl takes, as far as is known, 0..1."""

    def trace(self) -> object:
        """Return something that is another thing whenever the job has changed."""

    def look(self, sections: Collection[str]) -> Mapping[str, tuple[str, float]]:
        """Return what each of *sections* shows, as JSON, and the seconds of processor time that it took."""

    def give_order(self, kind: str, what: Mapping[str, Any]) -> tuple[int, str]:
        """Give an order; return its id and the command that does the same.

        :raises ValueError: the order makes no sense: one line that says why.
        """


class Listener:
    """One open page: what is new for it. Of each section only the last state waits, however slow the page reads."""

    def __init__(self, news: dict[str, str]) -> None:
        self._news = news
        self._is_new = asyncio.Event()
        if news:
            self._is_new.set()

    def tell(self, section: str, text: str) -> None:
        """Take what a section shows by now, as JSON."""
        self._news[section] = text
        self._is_new.set()

    async def news(self) -> dict[str, str]:
        """Wait until there is news and return it: section -> JSON."""
        await self._is_new.wait()
        self._is_new.clear()
        news, self._news = self._news, {}
        return news


class Feed:
    """Looks at the job and tells every listener what has changed."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._listeners: set[Listener] = set()
        self._shown: dict[str, str] = {}
        self._due = dict.fromkeys(job.sections, 0.0)
        self._cost: dict[str, float] = {}
        """Section -> seconds of processor time that the last look took."""
        self._traces: dict[str, object] = {}
        """Section -> trace of the job when it was looked at."""
        self._wake = asyncio.Event()

    @contextmanager
    def listening(self) -> Iterator[Listener]:
        """Take part for the time of the span."""
        listener = Listener(dict(self._shown))
        self._listeners.add(listener)
        self._wake.set()
        try:
            yield listener
        finally:
            self._listeners.discard(listener)

    @property
    def n_listeners(self) -> int:
        """Pages that are open."""
        return len(self._listeners)

    def ordered(self) -> None:
        """Look at the order that was just given, and when a running crawl has obeyed it at all that costs little."""
        self._look_at({"orders"})
        cheap = {section for section, seconds in self._cost.items() if seconds < CHEAP_SECONDS}
        asyncio.get_running_loop().call_later(SOON_SECONDS, self._look_at, cheap)

    def _look_at(self, sections: Collection[str]) -> None:
        self._due |= dict.fromkeys(sections, 0.0)
        self._traces = {section: trace for section, trace in self._traces.items() if section not in sections}
        self._wake.set()

    async def run(self) -> None:
        """Look for as long as somebody listens, for ever."""
        while True:
            if not self._listeners:
                self._wake.clear()
                await self._wake.wait()
            self._wake.clear()
            try:
                await self._look()
            except Exception:
                logger.exception("The job cannot be looked at; the next look is in %s s", TICK_SECONDS)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._wake.wait(), TICK_SECONDS)

    async def _look(self) -> None:
        now, trace = time.monotonic(), self._job.trace()
        due = [section for section, at in self._due.items() if at <= now]
        stale = [section for section in due if self._traces.get(section) != trace]
        if not stale:
            return
        for section, (text, seconds) in (await asyncio.to_thread(self._job.look, stale)).items():
            self._due[section] = time.monotonic() + self._pause(section, seconds)
            self._traces[section], self._cost[section] = trace, seconds
            self._show(section, text)

    def _pause(self, section: str, seconds: float) -> float:
        """Return how long *section* is to wait for the next look, where the last took so many *seconds*."""
        budget = SHARE * self._job.sections[section] * self._job.load
        return min(seconds / budget, MOST_SECONDS)

    def _show(self, section: str, text: str) -> None:
        if self._shown.get(section) != text:
            self._shown[section] = text
            for listener in self._listeners:
                listener.tell(section, text)
