"""The evidence of a collection that is held in memory, for as long as it is looked at."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from scrapy_replica.sites.alignment import MAX_HOSTS
from scrapy_replica.sites.evidence import HostEvidence

MAX_DISTANCE_BITS = 6
"""Distance of simhashes up to which two texts are near."""
_MASK = 0xFFFF
_SHIFTS = (0, 16, 32, 48)


class NearText(NamedTuple):
    """A page of another host whose text is near."""

    host: str
    path: str
    """Normalised."""
    n_hosts: int
    """Hosts that have this text."""


class EvidenceStore(Protocol):
    """Where evidence is read from that is not in memory."""

    def read(self, host: str) -> HostEvidence:
        """Return what is known of *host* by now."""

    def linking_hosts(self, host: str) -> list[str]:
        """Return other hosts on which pages of *host* were found first, in earlier runs, too."""

    def near_texts(self, host: str, path: str, simhash: int) -> list[NearText]:
        """Return the pages of other hosts near the page at the normalised *path* of *host*, which is known by now.

        None if the host has that very text elsewhere; only the equal ones where there are any; of a text that more than
        100 hosts have none.
        """

    def forget_pages(self, host: str) -> None:
        """Forget what was kept of the pages of *host*."""


class MemoryStore:
    """An :class:`EvidenceStore` without a store: nothing is known of a host that comes for the first time."""

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
