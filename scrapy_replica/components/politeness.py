"""Which hosts are ready: per-host delay and concurrency, as Scrapy's settings and AutoThrottle ask for."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.core.downloader import Downloader


class Politeness:
    """Counts the downloads of each host and tells when it may be asked again.

    Invariant: a host is held (:meth:`hold` was called) exactly while it has as many downloads as it may, or while its
    delay since the last start runs. A request is only given out for a host that is ready, so that a slow host never
    fills Scrapy's download places; Scrapy's own slots, which know the same limits, stay behind as a safety net.
    """

    def __init__(
        self,
        downloader: Downloader,
        *,
        hold: Callable[[int], None],
        release: Callable[[int], None],
        now: Callable[[], float],
    ) -> None:
        self._downloader = downloader
        self._hold, self._release, self._now = hold, release, now
        settings = downloader.settings
        self._concurrency = settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN")
        self._delay = settings.getfloat("DOWNLOAD_DELAY")
        self._active: dict[int, int] = {}
        self._full: set[int] = set()
        self._ready_at: dict[int, float] = {}
        self._timers: list[tuple[float, int]] = []

    def _limits(self, host: str) -> tuple[int, float]:
        """Return (concurrency, delay in seconds) of *host* by now; AutoThrottle changes the slot's delay."""
        slot = self._downloader.slots.get(host)
        if slot is not None:
            return slot.concurrency, slot.delay
        own = self._downloader.per_slot_settings.get(host, {})
        return own.get("concurrency", self._concurrency), own.get("delay", self._delay)

    def started(self, host_id: int, host: str) -> None:
        """Take note that a request of that host was given out."""
        concurrency, delay = self._limits(host)
        active = self._active[host_id] = self._active.get(host_id, 0) + 1
        if 0 < concurrency <= active:
            self._full.add(host_id)
            self._hold(host_id)
        if delay > 0:
            self._hold(host_id)
            self._ready_at[host_id] = self._now() + delay
            heappush(self._timers, (self._ready_at[host_id], host_id))

    def ended(self, host_id: int) -> None:
        """Take note that a download of that host ended."""
        active = self._active.pop(host_id) - 1
        if active:
            self._active[host_id] = active
        self._full.discard(host_id)
        if host_id not in self._ready_at:
            self._release(host_id)

    def wake(self) -> float | None:
        """Release the hosts whose delay is over; return the seconds until the next one's is, if any waits."""
        now = self._now()
        while self._timers and self._timers[0][0] <= now:
            ready_at, host_id = heappop(self._timers)
            if self._ready_at.get(host_id) == ready_at:
                del self._ready_at[host_id]
                if host_id not in self._full:
                    self._release(host_id)
        return self._timers[0][0] - now if self._timers else None
