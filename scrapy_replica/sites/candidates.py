"""Candidates: inverted lists over all hosts say which pairs are worth judging, and align them on the way.

A pair is a candidate if it shares two path suffixes, or one main text whose simhashes lie within 6 bits: on real
mirrors that finds 49 of 49 pairs, where equal paths and signatures (Carvalho 2014, section 3.3.1) find 42.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeVar

from scrapy_replica.address import registered_domain
from scrapy_replica.host_cache import HostCache
from scrapy_replica.records import Page
from scrapy_replica.sites.alignment import Election, normal_path, suffixes, unshared
from scrapy_replica.sites.evidence import MAX_PATHS, MIN_WORDS, HostEvidence, PageMark, path_of, sample_hash
from scrapy_replica.sites.evidence_store import EvidenceStore
from scrapy_replica.sites.neighbours import Neighbours
from scrapy_replica.sites.suffix_lists import SuffixLists

MIN_SUFFIXES = 2
MAX_PAIRS = 20_000
"""Candidate pairs; beyond, of those that came first the ones with less evidence are forgotten. 0.8 kB each."""
MAX_WEAK = 100_000
"""Pairs that share one suffix; beyond, those that came first are forgotten. 0.3 kB each."""
MAX_PARTNERS = 300
"""Pairs of one host, likewise."""
MAX_MET = 100_000
"""Hosts met; beyond, those that came first are, unless they are in a pair."""
MAX_EVIDENCE_BYTES = 40_000_000
"""Evidence of hosts in memory. What is evicted is read again when its host is compared."""
MAX_READERS = 20
"""Registered domains kept that link to a host."""
_LOOKED_AT = 64  # pairs or hosts that are looked at when one too many has come; half of them go


Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class HostPair:
    """Two hosts that share something; *first* < *second* by name."""

    first: str
    second: str
    election: Election = field(default_factory=Election)
    n_suffixes: int = 0
    n_near: int = 0
    prefixes: tuple[str, str] | None = None
    """The alignment that it was judged under."""
    judged_at: int = -1
    """Pages fetched on both when the pair was judged last."""
    score: float = math.nan
    """What the judge said last."""
    waits_for_items: bool = False
    """Nothing but items is missing for a verdict."""
    n_probes: int = 0
    next_look: tuple[int, int] = (0, 0)
    """Fetched pages of either host from which it is looked at again."""

    @property
    def is_candidate(self) -> bool:
        return self.n_suffixes >= MIN_SUFFIXES or self.n_near > 0

    @property
    def strength(self) -> tuple[int, int]:
        """How much speaks for it before it is looked at."""
        return self.n_near, self.n_suffixes

    def other(self, host: str) -> str:
        return self.second if host == self.first else self.first


@dataclass(slots=True)
class Met:
    """What is kept of every host met in this run."""

    is_read: bool = False
    """What an earlier run stored of it is in the lists."""

    n_known: int = 0
    """URLs told."""
    n_listed: int = 0
    """Path suffixes of them that went into the lists."""
    n_pages: int = 0
    n_probes: int = 0
    readers: tuple[str, ...] = ()
    """Registered domains of hosts that link to it, the first of them."""
    pending: set[str] | None = None
    """Normalised paths that probes were sent to."""
    leads_to: str | None = None
    """Host on which its URLs lead to their own places, empty where one led elsewhere."""
    n_led: int = 0
    """URLs of it that did."""


class Candidates:
    """The evidence of hosts, and the pairs it makes; grows page by page.

    In memory are a record of each host met, the lists of path suffixes and the pairs, all of them bounded. The evidence
    itself is read from *store* where two hosts are compared, and held for those compared last. A host is read as well
    when its first page comes, so that the lists know the paths that were found in earlier runs.

    Args:
        store: Knows everything that is told here.
    """

    def __init__(self, store: EvidenceStore) -> None:
        self._store = store
        self.evidence = HostCache(store.read, MAX_EVIDENCE_BYTES, _weight_of)
        """What is not held is not kept up to date: it will be read as it is by then."""
        self.met: dict[str, Met] = {}
        self.pairs: dict[tuple[str, str], HostPair] = {}
        self.partners: dict[str, dict[str, HostPair]] = {}
        """Host -> other host -> their pair; in order of discovery, so that a run can be repeated."""
        self.forgotten: set[str] = set()
        """Hosts that are in no pair, and whose places in the lists count no more."""
        self.lists = SuffixLists(self.forgotten)
        self._weak: dict[str, str] = {}
        """Names of two hosts that share one suffix -> their prefixes; strings, as in the lists."""

    def host(self, name: str) -> HostEvidence:
        return self.evidence.of(name)

    def record(self, name: str) -> Met:
        found = self.met.get(name)
        if found is None:
            if len(self.met) >= MAX_MET:
                self._forget_met()
            found = self.met[name] = Met()
        return found

    def _meet(self, name: str) -> Met:
        """Return the record of host *name*, a page of which was fetched; what was stored of it goes into the lists."""
        found = self.record(name)
        if not found.is_read:
            found.is_read = True
            evidence = self._store.read(name)
            found.n_pages, found.n_known = evidence.n_pages, 0
            for linking in self._store.linking_hosts(name):
                self.add_link(name, linking)
            for path in evidence.paths:
                self._list_path(name, found, path)
        return found

    def _forget_met(self) -> None:
        for name in list(islice(self.met, _LOOKED_AT)):
            met = self.met.pop(name)
            if self.partners.get(name):
                self.met[name] = met

    def add_url(self, host: str, path: str) -> None:
        """Take note of a known URL of *host*, fetched or not: *path* with its query, as it stands in the URL."""
        self._add_path(host, normal_path(path), path)

    def add_link(self, host: str, source: str) -> None:
        met, domain = self.record(host), registered_domain(source)
        if len(met.readers) < MAX_READERS and domain not in met.readers:
            met.readers += (domain,)

    def add_missing(self, host: str, path: str) -> None:
        """Take note that *host* has no page at *path* (with its query)."""
        evidence = self.evidence.peek(host)
        if evidence is not None:
            evidence.add_missing(normal_path(path))

    def add_redirect(self, host: str, path: str, place: str) -> None:
        """Take note that *path* (with its query) of *host* leads to a *place*."""
        evidence = self.evidence.peek(host)
        if evidence is not None:
            evidence.add_redirect(normal_path(path), place)

    def add_page(self, page: Page, mark: PageMark, neighbours: Neighbours, at: float) -> None:
        """Take note of a *page* fetched *at* some time."""
        evidence = self.evidence.peek(page.host)
        if evidence is not None:
            neighbours.tell(evidence)
            evidence.add_fetch(at)
        self.add_mark(page.host, path_of(page.url), mark)

    def add_mark(self, host: str, path: str, mark: PageMark) -> None:
        """Take note of the *mark* of the page at *path* (with its query) of *host*."""
        normal = normal_path(path)
        self._add_path(host, normal, path)
        evidence = self.evidence.peek(host)
        if evidence is not None:
            evidence.add_page(normal, mark)
        met = self._meet(host)
        met.n_pages += 1
        if mark.simhash is not None and mark.words >= MIN_WORDS:
            self._add_text(host, normal, mark.simhash)

    def add_aside(self, page: Page, mark: PageMark, neighbours: Neighbours, at: float) -> None:
        """Take note of a *page* fetched *at* some time where the evidence of its host is held; it goes in no list."""
        evidence, path = self.evidence.peek(page.host), path_of(page.url)
        if evidence is not None:
            neighbours.tell(evidence)
            evidence.add_fetch(at)
            evidence.add_path(normal_path(path), path)
            evidence.add_page(normal_path(path), mark)

    def add_items(self, host: str, normal: str, items: int) -> None:
        """Take note of the *items*, hashed, of the page at the path *normal* of *host*."""
        evidence = self.evidence.peek(host)
        if evidence is not None:
            evidence.add_items(normal, items)

    def add_to_copy(self, host: str, normal: str, mark: PageMark) -> None:
        """Take note of the page at the path *normal* of a forgotten *host*: it is evidence, and in no list."""
        evidence = self.evidence.peek(host)
        if evidence is not None:
            evidence.add_page(normal, mark)

    def _add_path(self, host: str, normal: str, raw: str) -> None:
        met = self.record(host)
        evidence = self.evidence.peek(host)
        if evidence is not None:
            evidence.add_path(normal, raw)
        self._list_path(host, met, normal)

    def _list_path(self, host: str, met: Met, normal: str) -> None:
        """List the suffixes of a path, of a host of many in a share of cases that falls as it grows."""
        met.n_known += 1
        number = sample_hash(normal)
        if number >= self.lists.sample_below or number * met.n_known >= MAX_PATHS << 32 or "\n" in normal:
            return
        for prefix, suffix in suffixes(normal):
            sharers = self.lists.add(host, prefix, suffix, number)
            if sharers is None:
                continue
            met.n_listed += 1
            for name, other_prefix in sharers.places:
                prefixes = (prefix, other_prefix) if host < name else (other_prefix, prefix)
                self._share((host, name) if host < name else (name, host), prefixes, sharers.n_hosts)

    def _share(self, names: tuple[str, str], prefixes: tuple[str, str], n_hosts: int) -> None:
        """Count one suffix that the hosts *names* share."""
        if names not in self.pairs and (key := "\n".join(names)) not in self._weak:
            self._weak[key] = "\n".join((*prefixes, str(n_hosts)))
            if len(self._weak) > MAX_WEAK:
                for first in list(islice(self._weak, _LOOKED_AT)):
                    del self._weak[first]
            return
        pair = self.pair(*names)
        pair.n_suffixes += 1
        pair.election.add(prefixes, n_hosts)

    def _add_text(self, host: str, normal: str, simhash: int) -> None:
        for name, other_path, n_hosts in self._store.near_texts(host, normal, simhash):
            if name in self.forgotten:
                continue
            pair = self.pair(host, name)
            pair.n_near += 1
            if pair.n_near == 1:
                pair.next_look = (0, 0)
            # paths that every site has are in no list; where the texts meet, they align all the same
            prefixes = unshared(normal, other_path)
            if prefixes is not None:
                pair.election.add(prefixes if pair.first == host else prefixes[::-1], n_hosts)

    def pair(self, one: str, two: str) -> HostPair:
        """Return the pair of two hosts, made if there is none yet."""
        names = (one, two) if one < two else (two, one)
        found = self.pairs.get(names)
        if found is None:
            found = self.pairs[names] = self._made(names, self._weak.pop("\n".join(names), None))
            self.partners.setdefault(one, {})[two] = found
            self.partners.setdefault(two, {})[one] = found
            self._make_room(self.pairs, MAX_PAIRS, found)
            for name in names:
                self._make_room(self.partners[name], MAX_PARTNERS, found)
        return found

    @staticmethod
    def _made(names: tuple[str, str], shared: str | None) -> HostPair:
        """Return a new pair of hosts that share one suffix, as kept while they were weak, or nothing."""
        pair = HostPair(*names)
        if shared is not None:
            first, second, n_hosts = shared.split("\n")
            pair.n_suffixes = 1
            pair.election.add((first, second), int(n_hosts))
        return pair

    def _make_room(self, pairs: dict[Key, HostPair], most: int, new: HostPair) -> None:
        """Forget the weaker half of the *pairs* that came first; the others count as new, and *new* stays."""
        if len(pairs) <= most:
            return
        first = [item for item in islice(pairs.items(), _LOOKED_AT) if item[1] is not new]
        first.sort(key=lambda item: item[1].strength)
        weak, strong = first[: len(first) // 2], first[len(first) // 2 :]
        for _, pair in weak:
            self._forget_pair(pair)
        for key, pair in strong:
            del pairs[key]
            pairs[key] = pair

    def _forget_pair(self, pair: HostPair) -> None:
        self.pairs.pop((pair.first, pair.second), None)
        for name, other in ((pair.first, pair.second), (pair.second, pair.first)):
            partners = self.partners.get(name, {})
            partners.pop(other, None)
            if not partners:
                self.partners.pop(name, None)

    def pairs_of(self, host: str) -> list[HostPair]:
        """Return the candidate pairs of *host*, first found first."""
        return [pair for pair in self.partners.get(host, {}).values() if pair.n_near or pair.n_suffixes >= MIN_SUFFIXES]

    def readmit(self, host: str) -> None:
        """Take a forgotten *host* in again: its known paths count as before, of its pages nothing is known."""
        self.forgotten.discard(host)
        self._store.forget_pages(host)
        evidence = self.host(host)
        evidence.forget_pages()
        met = self._meet(host)
        met.n_pages = 0
        for path in list(evidence.paths):
            for _, suffix in suffixes(path):
                self.lists.remove(host, suffix, sample_hash(path))
            self._list_path(host, met, path)

    def forget(self, host: str) -> None:
        """Take *host* out of all pairs: a blocked copy; its evidence stays, its places in the lists are given up."""
        for pair in list(self.partners.get(host, {}).values()):
            self._forget_pair(pair)
        self.forgotten.add(host)

    def read_again(self, host: str) -> None:
        """Throw away what is in memory of *host*: what it was told was taken back in the store."""
        self.evidence.forget(host)
        self.met.pop(host, None)


def _weight_of(evidence: HostEvidence) -> int:
    return evidence.weight
