"""Where the evidence of hosts is read from that is not in memory."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from scrapy_replica.sites.evidence import HostEvidence

MAX_DISTANCE_BITS = 6
"""Distance of simhashes up to which two texts are near."""


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
