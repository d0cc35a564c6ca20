"""The crawl's own judgement of hosts, over pairs and rows that were joined elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from operator import attrgetter
from typing import NamedTuple
from zlib import crc32

from scrapy_replica.mining.evidence import HostRows
from scrapy_replica.mining.obvious import taught
from scrapy_replica.records import UncertainPair, Verdict
from scrapy_replica.sites.candidates import Candidates, HostPair
from scrapy_replica.sites.detector import Detector
from scrapy_replica.sites.evidence import MIN_WORDS, HostEvidence, is_same_page
from scrapy_replica.sites.features import Comparison
from scrapy_replica.sites.judge import Judge

MAX_LEARNT = 1_000
"""Pairs that the judge learns from, half of them such that are no candidates."""


_NAME = re.compile(r"[^\s/#*]+")  # what a file of aliases has words for
MIN_SAME = 10
"""Pages that must have been the same on both names of a host."""
MAX_NAMES = 20
"""Hosts of one site that another is held against."""


class PairRow(NamedTuple):
    """A row of :data:`~scrapy_replica.mining.schema.PAIRS`."""

    first: str
    second: str
    n_suffixes: int
    n_near: int
    first_prefix: str
    second_prefix: str

    def pair(self) -> HostPair:
        """Return the pair as the detector has it."""
        pair = HostPair(self.first, self.second, n_suffixes=self.n_suffixes, n_near=self.n_near)
        pair.election.add((self.first_prefix, self.second_prefix), 2)
        return pair

    @property
    def draw(self) -> int:
        """A number by which pairs are drawn."""
        return crc32(f"{self.first}\n{self.second}".encode("utf-8", "surrogatepass"))


@dataclass
class Judged:
    """What came of the pairs."""

    judge: Judge
    """After it has learnt the obvious pairs of this collection."""
    verdicts: list[Verdict] = field(default_factory=list)
    uncertain: list[UncertainPair] = field(default_factory=list)
    canonical: dict[str, str] = field(default_factory=dict)
    """Copy -> the host that is fetched in its place, itself no copy."""
    sure: set[str] = field(default_factory=set)
    """Copies whose verdict a running crawl would have acted upon, so much is known of both."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Copy -> canonical host, where they are two names of one host for sure."""
    n_judged: int = 0
    n_unpromising: int = 0

    @property
    def groups(self) -> dict[str, list[str]]:
        """Kept host -> the hosts of its site, itself first."""
        found: dict[str, list[str]] = {}
        for copy, kept in sorted(self.canonical.items(), key=lambda item: (item[1], item[0])):
            found.setdefault(kept, [kept]).append(copy)
        return found


def judged(
    pairs: Iterable[PairRow],
    weak: Iterable[PairRow],
    rows: HostRows,
    readers: Mapping[str, Iterable[str]],
    *,
    judge: Judge,
    progress: Callable[[Iterable[PairRow]], Iterable[PairRow]] = iter,
) -> Judged:
    """Return what the crawl's judge says of *pairs*, after it has learnt the obvious ones of them and of *weak*.

    The pairs for which most speaks come first; a copy that was found is in no further pair. What takes no more than the
    threshold of whole hosts waits until those are joined that a crawl is sure of early, and then the surest come first:
    else a translation that is hardly begun joins one of two copies and keeps the other away. Most pairs have no text in
    common: from these is only learnt.

    :param readers: host -> registered domains of hosts that link to it.
    """
    detector = Detector(judge, Candidates(rows))
    wanted, drawn, n_others = _looked_through(pairs, rows)
    learnt = (row.pair() for row in drawn + _drawn(weak))
    detector.judge = taught(judge, ((pair.is_candidate, detector.compare(pair)) for pair in learnt))
    found = Judged(detector.judge, n_unpromising=n_others)
    unsure: list[HostPair] = []
    for row in progress(_in_order(wanted)):
        for host in (row.first, row.second):
            for domain in readers.get(host, ()):
                detector.candidates.add_link(host, domain)
        pair = row.pair()
        findings = detector.decide(pair, detector.judge.threshold_for(coverage=0.0))
        found.n_judged += 1
        found.verdicts += findings.verdicts
        unsure += (pair for _ in findings.uncertain)
    for pair in sorted(unsure, key=attrgetter("score"), reverse=True):
        findings = detector.decide(pair, detector.judge.threshold)
        found.verdicts += findings.verdicts
        found.uncertain += findings.uncertain
    _conclude(found, detector)
    return found


def _looked_through(pairs: Iterable[PairRow], rows: HostRows) -> tuple[list[PairRow], list[PairRow], int]:
    """Return the pairs that have a text in common, some of all, drawn, and how many of them have none."""
    wanted: list[PairRow] = []
    n_others = 0

    def looked_at() -> Iterator[PairRow]:
        nonlocal n_others
        for row in pairs:
            if rows.share_text(row.first, row.second):
                wanted.append(row)
            else:
                n_others += 1
            yield row

    return wanted, _drawn(looked_at()), n_others


def _drawn(pairs: Iterable[PairRow]) -> list[PairRow]:
    """Return some of *pairs*, the same in whatever order they come."""
    return nsmallest(MAX_LEARNT // 2, pairs, key=lambda row: (row.draw, row))


def _in_order(pairs: Iterable[PairRow]) -> list[PairRow]:
    return sorted(pairs, key=lambda row: (-row.n_near, -row.n_suffixes, row.first, row.second))


def _conclude(found: Judged, detector: Detector) -> None:
    """Say which hosts are one site in the end, and which of them are names of one host."""
    copies = detector.verdicts.keys()
    found.canonical = {copy: detector.copies.canonical(copy) for copy in copies}
    found.uncertain = [pair for pair in found.uncertain if not _is_settled(pair.verdict, detector)]
    for verdict in found.verdicts:
        copy, kept = (detector.candidates.host(name) for name in (verdict.copy, verdict.canonical))
        if _is_sure(Comparison(copy, kept, (verdict.copy_prefix, verdict.canonical_prefix)), detector.judge):
            found.sure.add(verdict.copy)
    for hosts in found.groups.values():
        _find_aliases(hosts, found, detector)


def _find_aliases(hosts: Sequence[str], found: Judged, detector: Detector) -> None:
    """Find the *hosts* of one site that are other names of others, the first of which is none."""
    of = detector.candidates.host
    for host in reversed(hosts[1:]):
        names = (name for name in hosts[:MAX_NAMES] if name != host and name not in found.aliases)
        for name in names:
            if is_alias(of(host), of(name)) and _is_sure(Comparison(of(host), of(name), ("", "")), detector.judge):
                found.aliases[host] = name
                break


def _is_sure(pair: Comparison, judge: Judge) -> bool:
    return judge.score(pair) >= judge.threshold_for(pair.coverage)


def _is_settled(verdict: Verdict, detector: Detector) -> bool:
    return detector.copies.canonical(verdict.copy) == detector.copies.canonical(verdict.canonical)


def is_alias(copy: HostEvidence, kept: HostEvidence) -> bool:
    """Tell whether *copy* is another name of *kept*, so surely that it need not be tested any more.

    Each page that it has or may have was fetched from the other as well, ten of them with some text, and those of both
    are the same. An alias keeps scheme and path, so these must be the same to the letter.
    """
    if not (_NAME.fullmatch(copy.name) and _NAME.fullmatch(kept.name)) or _scheme(copy) != _scheme(kept):
        return False
    known = copy.paths.keys() - copy.missing
    if not known <= kept.pages.keys() or any(copy.paths[path] != kept.paths.get(path) for path in known):
        return False
    twins = [(mark, kept.pages[path]) for path, mark in copy.pages.items() if path in kept.pages]
    n_told = sum(mark.words >= MIN_WORDS for mark, _ in twins)
    return n_told >= MIN_SAME and all(mark == twin or is_same_page(mark, twin) for mark, twin in twins)


def _scheme(host: HostEvidence) -> str:
    return (host.origin or "").partition(":")[0]
