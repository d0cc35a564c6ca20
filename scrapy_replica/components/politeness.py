"""Which download slots are ready: delay and concurrency of each, as Scrapy's settings and AutoThrottle ask for."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from scrapy_replica.components.slots import Limits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scrapy.core.downloader import Downloader


FIRST_SLOWED_S, MOST_SLOWED_S, LEAST_SLOWED_S = 1.0, 60.0, 0.1
"""Delay of a slot after its host asked for patience, doubled when it asks again; and at most, and at least."""
RECOVERY = 0.8
"""What is left of that delay after each answer: of a second nothing is left after eleven."""


class Politeness:
    """Counts the downloads of each slot, which is a host name or what the user chose, and tells when it may go on.

    :param hold: called with a slot that nothing is to be given out for; *release* with one that is ready again.
    :param asked: slot -> seconds between two requests that its ``robots.txt`` asks for.

    Invariant: a slot is held (*hold* was called, and *release* not since) exactly while it has as many downloads as it
    may, or while its delay since the last start runs. A request is only given out for a slot that is ready, so that a
    slow host never fills Scrapy's download places; Scrapy's own slots, which know the same limits, stay behind as a
    safety net.
    """

    def __init__(
        self,
        downloader: Downloader,
        *,
        hold: Callable[[str], None],
        release: Callable[[str], None],
        now: Callable[[], float],
        asked: Mapping[str, float],
    ) -> None:
        self._limits, self._asked = Limits(downloader), asked
        self._hold, self._release, self._now = hold, release, now
        self._active: dict[str, int] = {}
        self._full: set[str] = set()
        self._ready_at: dict[str, float] = {}
        self._slowed: dict[str, float] = {}
        """Slot -> seconds between two requests since its host asked for patience."""
        self._resting: set[str] = set()
        """Slots that have no delay but a rest."""
        self._timers: list[tuple[float, str]] = []

    def started(self, slot: str) -> float | None:
        """Take note that a request of *slot* was given out; return when its delay ends, if there is one."""
        concurrency, delay = self._limits.of(slot)
        delay = max(delay, self._asked.get(slot, 0.0), self._slowed.get(slot, 0.0))
        active = self._active[slot] = self._active.get(slot, 0) + 1
        if 0 < concurrency <= active:
            self._full.add(slot)
            self._hold(slot)
        if delay <= 0:
            return None
        self._hold(slot)
        ready_at = self._ready_at[slot] = self._now() + delay
        heappush(self._timers, (ready_at, slot))
        return ready_at

    def rest(self, slot: str, seconds: float) -> None:
        """Give out nothing of *slot* for so many *seconds*, because its host asks for that, and less of it after them.

        Requests that were on their way when it began to rest do not count again.
        """
        if slot not in self._resting:
            self._slowed[slot] = min(MOST_SLOWED_S, max(FIRST_SLOWED_S, 2 * self._slowed.get(slot, 0.0)))
        self._hold(slot)
        self._resting.add(slot)
        ready_at = self._ready_at[slot] = max(self._ready_at.get(slot, 0.0), self._now() + seconds)
        heappush(self._timers, (ready_at, slot))

    def recover(self, slot: str) -> None:
        """Take note that the host of *slot* answered: it is asked a little more often."""
        if slot in self._slowed:
            self._slowed[slot] *= RECOVERY
            if self._slowed[slot] < LEAST_SLOWED_S:
                del self._slowed[slot]

    def unused(self, slot: str, ready_at: float) -> None:
        """Take note that the request whose delay ends at *ready_at* never came to the downloader: it needs none."""
        if self._ready_at.get(slot) == ready_at:
            del self._ready_at[slot]

    def ended(self, slot: str) -> None:
        active = self._active.pop(slot) - 1
        if active:
            self._active[slot] = active
        self._full.discard(slot)
        if slot not in self._ready_at:
            self._release(slot)

    @property
    def longest(self) -> float:
        """Seconds until all delays are over, and another process may ask the same hosts; rests are not waited for."""
        left = (ready_at - self._now() for slot, ready_at in self._ready_at.items() if slot not in self._resting)
        return max([0.0, *left])

    def wake(self) -> float | None:
        """Release the slots whose delay is over; return the seconds until the next one's is, if any waits."""
        now = self._now()
        while self._timers and self._timers[0][0] <= now:
            ready_at, slot = heappop(self._timers)
            if self._ready_at.get(slot) == ready_at:
                del self._ready_at[slot]
                self._resting.discard(slot)
                if slot not in self._full:
                    self._release(slot)
        return self._timers[0][0] - now if self._timers else None
