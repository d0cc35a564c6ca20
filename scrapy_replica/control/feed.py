"""What the page shows, looked at as often as it may cost, and only while somebody looks."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Time after which the next look is tried where one failed."""
SHARE = 0.01
"""Share of one processor that all looks together may take."""
SOON_SECONDS = 0.6
"""Time after an order by which a running crawl has obeyed it."""


class Job(Protocol):
    """The job that is shown."""

    @property
    def sections(self) -> Mapping[str, float]:
        """Names of what is shown of it, and the least seconds between two looks at it."""

    def trace(self) -> object:
        """Return something that is another thing whenever the job has changed."""

    def look(self, sections: Collection[str]) -> Mapping[str, tuple[Any, float]]:
        """Return what there is to show of each of *sections*, and the seconds of processor time that it took."""

    def act(self, kind: str, what: Mapping[str, Any]) -> tuple[int, str]:
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

    def look_soon(self) -> None:
        """Look at everything when an order that was just given has been obeyed, and at once at the order."""
        self._due = dict.fromkeys(self._due, time.monotonic() + SOON_SECONDS)
        self._due["acts"] = 0.0
        self._traces.clear()
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
                logger.exception("The job cannot be looked at; the next look is in %s s", LOOK_SECONDS)
                self._due = dict.fromkeys(self._due, time.monotonic() + LOOK_SECONDS)
            pause = min(self._due.values()) - time.monotonic()
            try:
                await asyncio.wait_for(self._wake.wait(), max(pause, 0.05))
            except asyncio.TimeoutError:
                continue

    async def _look(self) -> None:
        now, trace = time.monotonic(), self._job.trace()
        due = [section for section, at in self._due.items() if at <= now]
        self._due |= {section: now + self._job.sections[section] for section in due}
        stale = [section for section in due if self._traces.get(section) != trace]
        if not stale:
            return
        for section, (state, seconds) in (await asyncio.to_thread(self._job.look, stale)).items():
            self._due[section] = time.monotonic() + max(self._job.sections[section], seconds * len(self._due) / SHARE)
            self._traces[section] = trace
            if state is not None:
                self._show(section, json.dumps(state))

    def _show(self, section: str, text: str) -> None:
        if self._shown.get(section) != text:
            self._shown[section] = text
            for listener in self._listeners:
                listener.tell(section, text)
