"""Whose turn it is to be asked for: probes do not crowd out the pages that a crawl begins with."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from scrapy_replica.crawl.hosts.replicas import ProbeUrl

EARLY_PAGES = 200
"""In so many pages one of four at most is a probe. On the demo's web (six hosts, four of them copies of each other)
every other page of the first hundred was one."""
EVERY = 4


class Probe(NamedTuple):
    """A page to ask for, and where it was thought of."""

    page: ProbeUrl
    depth: int
    parent: int


class Probing:
    """Probes that wait for their turn: those that decide about hosts first, then those about DUST rules.

    What waits is lost with the process: it is thought of again, or was not needed.

    :param pages: how many the crawl has fetched before.
    """

    def __init__(self, pages: int) -> None:
        self._pages, self._free_at = pages, pages
        self._hosts: deque[Probe] = deque()
        self._forms: deque[Probe] = deque()

    def of_hosts(self, probe: Probe) -> None:
        """Take a probe that decides about a host."""
        self._hosts.append(probe)

    def of_forms(self, probe: Probe) -> None:
        """Take a probe that decides about a DUST rule."""
        self._forms.append(probe)

    def paged(self) -> None:
        """Take note that a page was fetched."""
        self._pages += 1

    def due(self) -> tuple[Probe, bool] | None:
        """Return the probe to ask for now and whether it decides about a host; call it until there is none."""
        waiting = self._hosts or self._forms
        is_early = self._pages < EARLY_PAGES
        if not waiting or (is_early and self._pages < self._free_at):
            return None
        self._free_at = self._pages + EVERY
        return waiting.popleft(), waiting is self._hosts
