"""The order of waiting URLs: best first among the hosts whose download slot is not held."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush

Head = tuple[int, int, float, int]
"""Best waiting URL of a host: (is demoted, minus priority, minus score, URL id); the smallest comes first."""

MAX_STALE = 1_000
"""Entries of the heap beyond two for each host, 120 bytes each, at which it is made anew."""


class Frontier:
    """Which host's best URL comes next.

    Invariant: every host that has a head and whose slot is not held has that head on the heap. Heap entries that no
    longer equal their host's head are stale and skipped when they come up. Only heads are in memory (one small tuple
    a host); the waiting URLs themselves stay in the database, which *head_of* asks for a host's next head.
    """

    def __init__(self, head_of: Callable[[int], Head | None]) -> None:
        self._head_of = head_of
        self._heads: dict[int, Head] = {}
        self._slots: dict[int, str] = {}
        self._hosts: dict[str, list[int]] = {}
        self._held: set[str] = set()
        self._heap: list[tuple[Head, int]] = []
        self._undemoted: set[int] = set()
        """Hosts, held or not, whose head is not demoted."""

    def add_host(self, host: int, slot: str) -> None:
        """Take note of a new *host*, whose downloads share *slot*."""
        self._slots[host] = slot
        self._hosts.setdefault(slot, []).append(host)

    def forget_host(self, host: int) -> None:
        """Take back :meth:`add_host`."""
        self._hosts[self._slots.pop(host)].remove(host)
        self._heads.pop(host, None)
        self._undemoted.discard(host)

    def offer(self, host: int, head: Head) -> None:
        """Take note that a URL of *host* waits with key *head*."""
        current = self._heads.get(host)
        if current is None or head < current:
            self._set(host, head)

    def refresh(self, host: int) -> None:
        """Ask for the head of *host* anew, after its waiting URLs changed."""
        head = self._head_of(host)
        if head is None:
            self._heads.pop(host, None)
            self._undemoted.discard(host)
        elif head != self._heads.get(host):
            self._set(host, head)

    def fill(self, hosts: Iterable[int]) -> None:
        """Ask for the heads of *hosts*."""
        for host in hosts:
            self.refresh(host)

    def _set(self, host: int, head: Head) -> None:
        self._heads[host] = head
        if head[0]:
            self._undemoted.discard(host)
        else:
            self._undemoted.add(host)
        if self._slots[host] not in self._held:
            self._push(host, head)

    def _push(self, host: int, head: Head) -> None:
        heappush(self._heap, (head, host))
        if len(self._heap) > 2 * len(self._slots) + MAX_STALE:
            self._heap = [(h, one) for one, h in self._heads.items() if self._slots[one] not in self._held]
            heapify(self._heap)

    def hold(self, slot: str) -> None:
        """Give out nothing of *slot* until it is released."""
        self._held.add(slot)

    def release(self, slot: str) -> None:
        """Let *slot* take part again."""
        if slot in self._held:
            self._held.remove(slot)
            for host in self._hosts.get(slot, ()):
                head = self._heads.get(host)
                if head is not None:
                    self._push(host, head)

    def first(self) -> int | None:
        """Return the host whose URL :meth:`pop` would give.

        Demoted URLs wait behind everything else, also behind what waits of hosts that are not ready.
        """
        while self._heap:
            head, host = self._heap[0]
            if self._heads.get(host) == head and self._slots[host] not in self._held:
                return None if head[0] and self._undemoted else host
            heappop(self._heap)
        return None

    def pop(self) -> tuple[int, int] | None:
        """Return (host, URL id) of the best URL of the ready hosts, or ``None``.

        The caller changes that URL's state and then calls :meth:`refresh`.
        """
        host = self.first()
        if host is None:
            return None
        head, _ = heappop(self._heap)
        del self._heads[host]
        self._undemoted.discard(host)
        return host, head[3]
