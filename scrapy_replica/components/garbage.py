"""Few and short collections: Python's garbage collector stops the crawl while it looks at what lives."""

from __future__ import annotations

import gc
import time
from typing import ClassVar

LONG = 0.02
"""Seconds of processor time of a collection after which the next one comes earlier, and of a full one after which what
survived is spared."""

USUAL, SELDOM = (700, 10, 10), (20_000, 10, 10)
"""When Python collects, and when a crawl does: a page makes some thousand objects that live until its callback is
through, and leaves next to nothing to collect. Over 1,500 pages of a campus collections take .14 ms a page so, and over
450 pages 1.3 as Python has it."""

LEAST = 5_000, 5, 2
"""No collection comes earlier than so. Python counts what is made less what goes, and a crawl of many hosts whose
caches turn over makes ten times as much in between: in 55,000 pages of 10,000 hosts young collections took up to
72 ms, the next ones up to 87, and of a page's turn 92; with this 23, 20, and, after the first 10,000 pages, 58, of
full ones. On a campus, of few hosts, hardly any takes so long, and it crawls as before; collections as early as this
would take .4 ms a page."""


class LongLived:
    """Lets full collections pass over what has survived some: modules, the opened job, what is held of each host.

    What is spared is freed as ever when nothing refers to it, only not when it is part of a cycle. So it is spared
    seldom, when looking at it takes long: of all requests of a crawl those few that are in flight just then. What there
    is before the first crawl of a process is spared from the start: nearly all of it is modules.
    """

    is_first: ClassVar[bool] = True
    """Whether no crawl was made in this process."""

    def __init__(self) -> None:
        self._begun = 0.0
        self._has_spared = self._is_seldom = False
        if LongLived.is_first:  # 50 ms less at the start: making the engine is enough for a full collection
            gc.freeze()
        LongLived.is_first = False

    def open(self) -> None:
        """Begin to spare, and to collect seldom, unless somebody has set when to."""
        if gc.get_threshold() == USUAL:
            gc.set_threshold(*SELDOM)
            self._is_seldom = True
        gc.callbacks.append(self._collected)

    def close(self) -> None:
        """Spare nothing any more, and collect as before."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
            gc.unfreeze()
        if self._is_seldom:
            gc.set_threshold(*USUAL)
        if self._has_spared:
            # Python looks at what is old when much has become old since, and what was spared is not counted: where a
            # process crawls again and again, what each crawl left would stay (1 MiB of 13 pages).
            gc.collect()

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._begun = time.thread_time()
        elif time.thread_time() - self._begun > LONG:
            generation = info["generation"]
            if generation == 2:
                gc.freeze()
                self._has_spared = True
            if self._is_seldom:
                now = gc.get_threshold()
                sooner = [max(least, threshold // 2) for threshold, least in zip(now, LEAST, strict=True)]
                gc.set_threshold(*now[:generation], *sooner[generation:])
