"""Connectivity between hosts as features of a pair: the future work of the published method (Carvalho 2014, p. 52).

The source names it without a formula. Reading: *outlinks* is the cosine of the hosts that two hosts link to, *inlinks*
that of the hosts that link to them, both weighted as paths are (equation 3 of Carvalho et al. 2017), and *between* the
share of both hosts' links to other hosts that lead from one of the two to the other. A page counts once for each host
that it links to; links within a host do not count. What two hosts say of each other is in *between* alone.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from scrapy_replica.address import host_of
from scrapy_replica.lab.replicas.replica_published import MAX_DF, cosine
from scrapy_replica.records import Page

NAMES = ("outlinks", "inlinks", "between")


class Connectivity:
    """Who links to whom among the hosts of *pages* and beyond."""

    def __init__(self, pages: Mapping[str, Iterable[Page]]) -> None:
        self.to: dict[str, Counter[str]] = {host: _linked_hosts(host, found) for host, found in pages.items()}
        self.of: dict[str, set[str]] = defaultdict(set)
        for host, linked in self.to.items():
            for other in linked:
                self.of[other].add(host)
        self._linking = {host: len(found) for host, found in self.of.items()}
        self._linked = {host: len(found) for host, found in self.to.items()}

    def values(self, a: str, b: str) -> list[float]:
        """Return the features of a pair in the order of ``NAMES``, NaN where one of the two has no such link."""
        outgoing = [set(self.to[host]) - {a, b} for host in (a, b)]
        incoming = [self.of.get(host, set()) - {a, b} for host in (a, b)]
        total = self.to[a].total() + self.to[b].total()
        return [
            _likeness(outgoing, self._linking),
            _likeness(incoming, self._linked),
            (self.to[a][b] + self.to[b][a]) / total if total else math.nan,
        ]


def _likeness(hosts: Sequence[set[str]], df: Mapping[str, int]) -> float:
    mine, theirs = ({name: 1 + math.log(MAX_DF / df[name]) for name in one if df[name] <= MAX_DF} for one in hosts)
    return cosine(mine, theirs) if mine and theirs else math.nan


def _linked_hosts(host: str, pages: Iterable[Page]) -> Counter[str]:
    found: Counter[str] = Counter()
    for page in pages:
        found.update({host_of(link.url) for link in page.links} - {host, ""})
    return found
