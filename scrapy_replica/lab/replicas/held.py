"""Hosts whose evidence is all held in memory, for as long as a collection of pages is looked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count

from scrapy_replica.host_cache import HostCache
from scrapy_replica.records import Page
from scrapy_replica.sites.alignment import MAX_HOSTS
from scrapy_replica.sites.candidates import Candidates
from scrapy_replica.sites.detector import Detector, Findings
from scrapy_replica.sites.evidence import HostEvidence, PageMark, mark_of
from scrapy_replica.sites.evidence_store import MAX_DISTANCE_BITS, NearText
from scrapy_replica.sites.judge import Judge
from scrapy_replica.sites.neighbours import Neighbours

_MASK = 0xFFFF
_SHIFTS = (0, 16, 32, 48)


class HeldDetector(Detector):
    """A detector that needs nothing but the pages."""

    def __init__(
        self,
        judge: Judge,
        *,
        need_items: Callable[[str, str], bool] = lambda first, second: False,  # noqa: ARG005
    ) -> None:
        super().__init__(judge, HeldCandidates(), need_items=need_items)
        self._turns = count(1)

    def add_fetched(self, page: Page) -> Findings:
        """Take note of a page that was fetched after all others."""
        return self.observe(page, mark_of(page), Neighbours.of(page), next(self._turns))


class HeldCandidates(Candidates):
    """Candidates of which nothing is read from elsewhere."""

    def __init__(self) -> None:
        super().__init__(MemoryStore())
        self.evidence = _Held(HostEvidence, math.inf, lambda _: 0)
        self._turns = count(1)

    def add_fetched(self, page: Page, mark: PageMark | None = None) -> None:
        """Take note of a page that was fetched after all others; *mark* spares making it again."""
        self.add_page(page, mark or mark_of(page), Neighbours.of(page), next(self._turns))


class _Held(HostCache[HostEvidence]):
    """Holds every host."""

    def peek(self, host: str) -> HostEvidence:
        return self.of(host)


class MemoryStore:
    """An evidence store without a store: nothing is known of a host that comes for the first time."""

    def __init__(self) -> None:
        self._texts: dict[int, dict[str, str]] = {}
        self._blocks: tuple[dict[int, list[int]], ...] = ({}, {}, {}, {})

    def read(self, host: str) -> HostEvidence:
        return HostEvidence(host)

    def linking_hosts(self, host: str) -> list[str]:  # noqa: ARG002 -- none in any earlier run
        return []

    def forget_pages(self, host: str) -> None:
        """Do nothing: the evidence is kept elsewhere."""

    def near_texts(self, host: str, path: str, simhash: int) -> list[NearText]:
        """Return near pages seen before."""
        sharers = self._texts.get(simhash)
        if sharers is None:
            near = [known for known in self._near(simhash) if len(self._texts[known]) <= MAX_HOSTS]
            found = [text for known in near for text in self._others(host, known)]
            self._texts[simhash] = {}
            for block, shift in zip(self._blocks, _SHIFTS, strict=True):
                block.setdefault(simhash >> shift & _MASK, []).append(simhash)
        elif host in sharers or len(sharers) > MAX_HOSTS:
            return []
        else:
            found = self._others(host, simhash)
        self._texts[simhash][host] = path
        return found

    def _others(self, host: str, simhash: int) -> list[NearText]:
        sharers = self._texts[simhash]
        return [NearText(name, path, len(sharers) + 1) for name, path in sharers.items() if name != host]

    def _near(self, simhash: int) -> set[int]:
        """Return the known simhashes within 6 bits.

        Pigeonhole: if each of the first three blocks differs in two bits or more, the fourth is equal.
        """
        found = set()
        for block, shift in zip(self._blocks, _SHIFTS, strict=True):
            own = simhash >> shift & _MASK
            for key in (own, *(own ^ 1 << bit for bit in range(16))) if shift < 48 else (own,):
                for known in block.get(key, ()):
                    if (known ^ simhash).bit_count() <= MAX_DISTANCE_BITS:
                        found.add(known)
        return found
