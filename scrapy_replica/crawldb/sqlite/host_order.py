"""The order of waiting URLs: best first among the hosts whose download slot is not held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from heapq import heapify, heappop, heappush

Head = tuple[int, int, float, int]
"""Best waiting URL of a host: (is demoted, minus priority, minus score, URL id); the smallest comes first."""

MAX_STALE = 1_000
"""Entries of a heap beyond two for each that it may hold, 120 bytes each, at which it is made anew."""


class HostOrder:
    """Which host's best URL comes next.

    Each slot has a heap of the heads of its hosts, and the heap of slots holds the best head of each slot that is not
    held; so a slot is held and released in no more time where a thousand hosts share it. Heap entries that no longer
    equal their host's or slot's head are stale and skipped when they come up. Only heads are in memory (one small
    tuple a host); the waiting URLs themselves stay in the database, which *head_of* asks for a host's next head.
    """

    def __init__(self, head_of: Callable[[int], Head | None]) -> None:
        self._head_of = head_of
        self._heads: dict[int, Head] = {}
        self._slots: dict[int, str] = {}
        self._hosts: dict[str, list[tuple[Head, int]]] = {}
        """Slot -> the heap of its hosts."""
        self._sizes: Counter[str] = Counter()
        """Slot -> number of its hosts."""
        self._held: set[str] = set()
        self._paused: set[int] = set()
        self._best: dict[str, Head] = {}
        """Slot that is not held -> its best head, which is on the heap."""
        self._heap: list[tuple[Head, str]] = []
        self._undemoted: set[int] = set()
        """Hosts, held or not, whose head is not demoted."""

    def add_host(self, host: int, slot: str) -> None:
        """Take note of a new *host*, whose downloads share *slot*."""
        self._slots[host] = slot
        self._sizes[slot] += 1
        self._hosts.setdefault(slot, [])

    def forget_host(self, host: int) -> None:
        """Take back :meth:`add_host`."""
        self._remove(host)
        self._paused.discard(host)
        slot = self._slots.pop(host)
        self._sizes[slot] -= 1
        self._choose(slot)

    def offer(self, host: int, head: Head) -> None:
        """Take note that a URL of *host* waits with key *head*, which may be worse than the one that it had."""
        current = self._heads.get(host)
        if current is not None and head > current and head[3] == current[3]:
            self.refresh(host)
        elif (current is None or head < current) and host not in self._paused:
            self._set(host, head)

    def refresh(self, host: int) -> None:
        """Ask for the head of *host* anew, after its waiting URLs changed."""
        head = self._head_of(host) if host not in self._paused else None
        if head is None:
            self._remove(host)
            self._choose(self._slots[host])
        elif head != self._heads.get(host):
            self._set(host, head)

    def _remove(self, host: int) -> None:
        self._heads.pop(host, None)
        self._undemoted.discard(host)

    def _set(self, host: int, head: Head) -> None:
        self._heads[host] = head
        if head[0]:
            self._undemoted.discard(host)
        else:
            self._undemoted.add(host)
        slot = self._slots[host]
        hosts = self._hosts[slot]
        heappush(hosts, (head, host))
        if len(hosts) > 2 * self._sizes[slot] + MAX_STALE:
            hosts[:] = {entry for entry in hosts if self._heads.get(entry[1]) == entry[0]}
            heapify(hosts)
        self._choose(slot)

    def _choose(self, slot: str) -> None:
        """Put the best head of *slot* on the heap, unless it is there or the slot is held."""
        hosts = self._hosts[slot]
        while hosts and self._heads.get(hosts[0][1]) != hosts[0][0]:
            heappop(hosts)
        if not hosts or slot in self._held:
            self._best.pop(slot, None)
        elif self._best.get(slot) != hosts[0][0]:
            self._best[slot] = hosts[0][0]
            heappush(self._heap, (hosts[0][0], slot))
            if len(self._heap) > 2 * len(self._best) + MAX_STALE:
                self._heap = [(head, one) for one, head in self._best.items()]
                heapify(self._heap)

    def hold(self, slot: str) -> None:
        """Give out nothing of *slot* until it is released."""
        self._held.add(slot)
        self._best.pop(slot, None)

    def release(self, slot: str) -> None:
        """Let *slot* take part again."""
        if slot in self._held:
            self._held.remove(slot)
            if slot in self._hosts:
                self._choose(slot)

    def pause(self, host: int) -> None:
        """Give out nothing of *host* until it is resumed; it does not keep demoted URLs of other hosts waiting."""
        self._paused.add(host)
        self.refresh(host)

    def resume(self, host: int) -> None:
        """Let a *host* that pauses take part again."""
        self._paused.discard(host)
        self.refresh(host)

    @property
    def best_priority(self) -> int | None:
        """The greatest priority of what is not demoted, held or not; ``None`` where nothing is."""
        return max((-self._heads[host][1] for host in self._undemoted), default=None)

    def first(self) -> int | None:
        """Return the host whose URL :meth:`pop` would give.

        Demoted URLs wait behind everything else, also behind what waits of hosts that are not ready.
        """
        while self._heap:
            head, slot = self._heap[0]
            if self._best.get(slot) == head:
                return None if head[0] and self._undemoted else self._hosts[slot][0][1]
            heappop(self._heap)
        return None

    def head(self, host: int) -> int:
        """Return the id of the best waiting URL of *host*, which has one."""
        return self._heads[host][3]

    def pop(self) -> tuple[int, int] | None:
        """Return (host, URL id) of the best URL of the ready hosts, or ``None``.

        The caller changes that URL's state and then calls :meth:`refresh`.
        """
        host = self.first()
        if host is None:
            return None
        head, slot = heappop(self._heap)
        del self._best[slot]
        self._remove(host)
        return host, head[3]
