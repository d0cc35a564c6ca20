"""Candidates: inverted lists over all hosts say which pairs are worth judging, and align them on the way.

A pair is a candidate if it shares two path suffixes, or one main text whose simhashes lie within 6 bits: on real
mirrors that finds 49 of 49 pairs, where equal paths and signatures find 32.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from scrapy_replica.records import Page
from scrapy_replica.sites.alignment import MAX_HOSTS, Election, normal_path, suffixes, unshared
from scrapy_replica.sites.evidence import MIN_WORDS, HostEvidence, PageMark, mark_of, path_of, sample_hash
from scrapy_replica.sites.neighbours import Neighbours

MIN_SUFFIXES = 2
MAX_DISTANCE_BITS = 6
MAX_ENTRIES = 1_000_000
"""Places in the lists of path suffixes, over all hosts. Beyond, the lists keep half the paths, a sample by the hash of
the last segment that mirrors draw alike. 294 bytes each, where every list holds one host."""
MAX_PAIRS = 200_000
"""Pairs that share something; beyond, the half with less evidence is forgotten. 575 bytes each."""
_MASK = 0xFFFF
_SHIFTS = (0, 16, 32, 48)


@dataclass(slots=True)
class Pair:
    """Two hosts that share something; *first* < *second* by name."""

    first: str
    second: str
    election: Election = field(default_factory=Election)
    n_suffixes: int = 0
    n_near: int = 0
    prefixes: tuple[str, str] | None = None
    """The alignment that ``n_common`` was counted under."""
    n_common: int = 0
    """Pages fetched on both."""
    judged_at: int = -1
    """Comparable pages when the pair was judged last."""
    score: float = math.nan
    """What the judge said last."""
    n_probes: int = 0
    next_look: tuple[int, int] = (0, 0)
    """Fetched pages of either host from which probes are thought of again."""

    @property
    def is_candidate(self) -> bool:
        return self.n_suffixes >= MIN_SUFFIXES or self.n_near > 0

    def other(self, host: str) -> str:
        return self.second if host == self.first else self.first


class Candidates:
    """The evidence of all hosts, and the pairs it makes; grows page by page.

    State lives in memory only: ``add_url`` and ``add_mark`` in any order rebuild it from the stored paths and marks.
    A list of more than 100 hosts gives no further evidence and keeps nothing. Lists and pairs are bounded over all
    hosts, paths and pages for each host.
    """

    def __init__(self) -> None:
        self.hosts: dict[str, HostEvidence] = {}
        self.pairs: dict[tuple[str, str], Pair] = {}
        self.partners: dict[str, dict[str, Pair]] = {}
        """Host -> other host -> their pair; in order of discovery, so that a run can be repeated."""
        self.n_entries = 0
        """Places taken in the lists of path suffixes."""
        self._sample_below = 2**32
        self._suffixes: dict[str, dict[str, str] | None] = {}
        self._texts: dict[int, dict[str, str] | None] = {}
        self._blocks: tuple[dict[int, list[int]], ...] = ({}, {}, {}, {})

    def host(self, name: str) -> HostEvidence:
        """Return the evidence of host *name*, empty for a new one."""
        found = self.hosts.get(name)
        if found is None:
            found = self.hosts[name] = HostEvidence(name)
        return found

    def add_url(self, host: str, path: str) -> None:
        """Take note of a known URL of *host*, fetched or not: *path* with its query, as it stands in the URL."""
        self._add_path(self.host(host), normal_path(path), path)

    def add_page(self, page: Page, neighbours: Neighbours | None = None) -> PageMark:
        """Take note of a fetched *page*; returns the mark to be stored. *neighbours* spare making them again."""
        mark = mark_of(page)
        self.add_neighbours(page.host, neighbours or Neighbours.of(page))
        self.add_mark(page.host, path_of(page.url), mark)
        return mark

    def add_neighbours(self, name: str, neighbours: Neighbours) -> None:
        """Take note of the hosts that a page of host *name* speaks of."""
        host = self.host(name)
        host.is_https |= neighbours.is_https
        for source in neighbours.redirected_from:
            self.host(source).redirects_to[name] += 1
        if neighbours.canonical is not None:
            host.canonical_to[neighbours.canonical] += 1
        host.alternates_to.update(neighbours.alternates)

    def add_mark(self, host: str, path: str, mark: PageMark) -> None:
        """Take note of the *mark* of the page at *path* (with its query) of *host*."""
        evidence = self.host(host)
        normal = normal_path(path)
        self._add_path(evidence, normal, path)
        evidence.add_page(normal, mark)
        if mark.simhash is not None and mark.words >= MIN_WORDS:
            self._add_text(evidence, normal, mark.simhash)

    def _add_path(self, host: HostEvidence, normal: str, raw: str) -> None:
        former = host.paths
        if not host.add_path(normal, raw):
            return
        if host.paths is not former:
            self._unlist(host.name, former.keys() - host.paths.keys())
        if normal not in host.paths or (self._sample_below < 2**32 and sample_hash(normal) >= self._sample_below):
            return
        for prefix, suffix in suffixes(normal):
            self._list(host, prefix, suffix)
        if self.n_entries > MAX_ENTRIES:
            self._thin()
        if len(self.pairs) > MAX_PAIRS:
            self._forget_weak_pairs()

    def _list(self, host: HostEvidence, prefix: str, suffix: str) -> None:
        sharers = self._suffixes.get(suffix)
        if sharers is None:
            if suffix not in self._suffixes:
                self._suffixes[suffix] = {host.name: prefix}
                self.n_entries += 1
            return
        if host.name in sharers:
            return
        n_hosts = len(sharers) + 1
        if n_hosts > MAX_HOSTS:
            self._suffixes[suffix] = None
            self.n_entries -= MAX_HOSTS - 1
            return
        for name, other_prefix in sharers.items():
            pair = self.pair(host.name, name)
            pair.n_suffixes += 1
            pair.election.add((prefix, other_prefix) if pair.first == host.name else (other_prefix, prefix), n_hosts)
        sharers[host.name] = prefix
        self.n_entries += 1

    def _thin(self) -> None:
        while self.n_entries > MAX_ENTRIES // 2 and self._sample_below > 1:
            self._sample_below //= 2
            self._suffixes = {
                suffix: sharers
                for suffix, sharers in self._suffixes.items()
                if sample_hash(suffix) < self._sample_below
            }
            self.n_entries = sum(1 if sharers is None else len(sharers) for sharers in self._suffixes.values())

    def _unlist(self, host: str, paths: Iterable[str]) -> None:
        for path in paths:
            for _, suffix in suffixes(path):
                sharers = self._suffixes.get(suffix)
                if sharers is not None and sharers.pop(host, None) is not None:
                    self.n_entries -= 1
                    if not sharers:
                        del self._suffixes[suffix]

    def _forget_weak_pairs(self) -> None:
        ranked = sorted(self.pairs.values(), key=lambda pair: (pair.n_near, pair.n_suffixes))
        for pair in ranked[: len(ranked) - MAX_PAIRS // 2]:
            self._forget_pair(pair.first, pair.second)

    def _forget_pair(self, one: str, two: str) -> None:
        self.pairs.pop((one, two) if one < two else (two, one), None)
        self.partners.get(one, {}).pop(two, None)
        self.partners.get(two, {}).pop(one, None)

    def _add_text(self, host: HostEvidence, normal: str, simhash: int) -> None:
        sharers = self._texts.get(simhash)
        if sharers is None:
            if simhash in self._texts:
                return
            sharers = self._texts[simhash] = {}
            for near in self._near(simhash):
                self._count_near(host, normal, self._texts[near])
            for block, shift in zip(self._blocks, _SHIFTS, strict=True):
                block.setdefault(simhash >> shift & _MASK, []).append(simhash)
        elif host.name in sharers:
            return
        else:
            self._count_near(host, normal, sharers)
        sharers[host.name] = normal
        if len(sharers) > MAX_HOSTS:
            self._texts[simhash] = None

    def _count_near(self, host: HostEvidence, normal: str, sharers: dict[str, str] | None) -> None:
        for name, other_path in (sharers or {}).items():
            if name == host.name:
                continue
            pair = self.pair(host.name, name)
            pair.n_near += 1
            if pair.n_near == 1:
                pair.next_look = (0, 0)
            # paths that every site has are in no list; where the texts meet, they align all the same
            prefixes = unshared(normal, other_path)
            if prefixes is not None:
                pair.election.add(prefixes if pair.first == host.name else prefixes[::-1], len(sharers or ()) + 1)

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

    def pair(self, one: str, two: str) -> Pair:
        """Return the pair of two hosts, made if there is none yet."""
        names = (one, two) if one < two else (two, one)
        found = self.pairs.get(names)
        if found is None:
            found = self.pairs[names] = Pair(*names)
            self.partners.setdefault(one, {})[two] = found
            self.partners.setdefault(two, {})[one] = found
        return found

    def pairs_of(self, host: str) -> list[Pair]:
        """Return the candidate pairs of *host*, first found first."""
        return [pair for pair in self.partners.get(host, {}).values() if pair.n_near or pair.n_suffixes >= MIN_SUFFIXES]

    def readmit(self, host: str) -> None:
        """Take a forgotten *host* in again: its known paths count as before, of its pages nothing is known."""
        former = self.hosts.pop(host, None)
        evidence = self.host(host)
        for path, raw in (former.paths if former is not None else {}).items():
            self._add_path(evidence, path, raw)

    def forget(self, host: str) -> None:
        """Take *host* out of all pairs: a blocked copy; its evidence stays, its places in the lists are given up."""
        evidence = self.hosts.get(host)
        for name in list(self.partners.pop(host, {})):
            self._forget_pair(host, name)
        if evidence is None:
            return
        self._unlist(host, evidence.paths)
        for mark in evidence.pages.values():
            if mark.simhash is not None:
                (self._texts.get(mark.simhash) or {}).pop(host, None)
