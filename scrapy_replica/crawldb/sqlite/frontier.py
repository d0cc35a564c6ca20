"""The order of waiting URLs: best first among the hosts that are ready."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from scrapy_replica.crawldb.sqlite.schema import DEMOTED

Head = tuple[float, int]
"""Best waiting URL of a host: (minus score, URL id); the smallest comes first, ties in the order of discovery."""


DEMOTED_KEY = DEMOTED / 2


class Frontier:
    """Which host's best URL comes next.

    Invariant: every host that has a head and is not held has that head on the heap. Heap entries that no longer equal
    their host's head are stale and skipped when they come up. Only heads are in memory (one small tuple a host); the
    waiting URLs themselves stay in the database, which *head_of* asks for a host's next head.
    """

    def __init__(self, head_of: Callable[[int], Head | None]) -> None:
        self._head_of = head_of
        self._heads: dict[int, Head] = {}
        self._held: set[int] = set()
        self._heap: list[tuple[float, int, int]] = []
        self._undemoted: set[int] = set()
        """Hosts, held or not, whose head is not demoted."""

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

    def rebuild(self, hosts: list[int]) -> None:
        """Forget all heads and take those of *hosts*; which hosts are held stays."""
        self._heads = {host: head for host in hosts if (head := self._head_of(host)) is not None}
        self._heap = [(*head, host) for host, head in self._heads.items() if host not in self._held]
        self._undemoted = {host for host, (key, _) in self._heads.items() if key < DEMOTED_KEY}
        heapify(self._heap)

    def _set(self, host: int, head: Head) -> None:
        self._heads[host] = head
        if head[0] < DEMOTED_KEY:
            self._undemoted.add(host)
        else:
            self._undemoted.discard(host)
        if host not in self._held:
            heappush(self._heap, (*head, host))

    def hold(self, host: int) -> None:
        """Give out nothing of *host* until it is released."""
        self._held.add(host)

    def release(self, host: int) -> None:
        """Let *host* take part again."""
        if host in self._held:
            self._held.remove(host)
            head = self._heads.get(host)
            if head is not None:
                heappush(self._heap, (*head, host))

    def first(self) -> int | None:
        """Return the host whose URL :meth:`pop` would give.

        Demoted URLs wait behind everything else, also behind what waits of hosts that are not ready.
        """
        while self._heap:
            key, url, host = self._heap[0]
            if host not in self._held and self._heads.get(host) == (key, url):
                return None if key >= DEMOTED_KEY and self._undemoted else host
            heappop(self._heap)
        return None

    def pop(self) -> tuple[int, int] | None:
        """Return (host, URL id) of the best URL of the ready hosts, or ``None``.

        The caller changes that URL's state and then calls :meth:`refresh`.
        """
        host = self.first()
        if host is None:
            return None
        _, url, _ = heappop(self._heap)
        del self._heads[host]
        self._undemoted.discard(host)
        return host, url
