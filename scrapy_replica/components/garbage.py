"""Short full collections: Python's garbage collector stops the crawl while it looks at everything that lives long."""

from __future__ import annotations

import gc
import time

LONG = 0.02
"""Seconds of processor time of a full collection after which what survived is spared."""


class LongLived:
    """Lets full collections pass over what has survived some: modules, the opened job, what is held of each host.

    What is spared is freed as ever when nothing refers to it, only not when it is part of a cycle. So it is spared
    seldom, when looking at it takes long: of all requests of a crawl those few that are in flight just then.
    """

    def __init__(self) -> None:
        self._begun = 0.0
        self._has_spared = False

    def open(self) -> None:
        """Begin to spare."""
        gc.callbacks.append(self._collected)

    def close(self) -> None:
        """Spare nothing any more."""
        if self._collected in gc.callbacks:
            gc.callbacks.remove(self._collected)
        if self._has_spared:
            gc.unfreeze()
            # Python looks at what is old when much has become old since, and what was spared is not counted: where a
            # process crawls again and again, what each crawl left would stay (1 MiB of 13 pages).
            gc.collect()

    def _collected(self, phase: str, info: dict[str, int]) -> None:
        if info["generation"] < 2:
            return
        if phase == "start":
            self._begun = time.thread_time()
        elif time.thread_time() - self._begun > LONG:
            gc.freeze()
            self._has_spared = True
