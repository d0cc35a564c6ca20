"""Probes: pages already fetched on one host are asked for on the other, which decides a likely pair early and safely.

Two copies sampled at random have few pages in common for long (about m*m/n after m fetched of n); a probe adds one
for one request. URLs that are known on the other host come first: they would be fetched anyway.
"""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_replica.sites.alignment import joined
from scrapy_replica.sites.evidence import MIN_WORDS, HostEvidence


@dataclass(frozen=True, slots=True)
class Probe:
    """A page to ask for."""

    host: str
    path: str
    """Normalised path on *host*; the URL is the known one of that path where ``is_known``."""
    like: str
    """Normalised path of the page on the other host whose counterpart it would be."""
    is_known: bool


def choose(
    source: HostEvidence, target: HostEvidence, prefixes: tuple[str, str], n: int, pending: set[str]
) -> list[Probe]:
    """Return up to *n* probes of *target*: pages fetched on *source*, not on *target* and not *pending* there.

    *prefixes* are those of *source* and *target*; *pending* holds normalised paths of *target* already asked for.
    """
    mine, theirs = source.view(prefixes[0])[0], target.view(prefixes[1])
    found = []
    for rest, mark in mine.items():
        path = joined(prefixes[1], rest)
        if rest in theirs[0] or path in pending or mark.words < MIN_WORDS or mark.simhash is None:
            continue
        found.append(Probe(target.name, path, joined(prefixes[0], rest), rest in theirs[1]))
    # long pages tell more; ties in order of path, so that a run can be repeated
    found.sort(key=lambda probe: (not probe.is_known, -min(source.pages[probe.like].words, 500), probe.path))
    return found[:n]
