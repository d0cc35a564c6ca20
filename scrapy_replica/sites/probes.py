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
    """Path and query to ask for, as they stand in a URL."""
    normal: str
    """The same, normalised."""
    like: str
    """Normalised path of the page on the other host whose counterpart it would be."""
    is_known: bool
    """The URL was found on some page; otherwise it is a guess through the alignment."""


def choose(
    source: HostEvidence, target: HostEvidence, prefixes: tuple[str, str], n: int, pending: set[str]
) -> list[Probe]:
    """Return up to *n* probes of *target*: pages fetched on *source*, not on *target* and not *pending* there.

    *prefixes* are those of *source* and *target*; *pending* holds normalised paths of *target* already asked for.
    """
    mine, theirs = source.view(prefixes[0])[0], target.view(prefixes[1])
    found = []
    for rest, mark in mine.items():
        normal = joined(prefixes[1], rest)
        if rest in theirs[0] or normal in pending or mark.words < MIN_WORDS or mark.simhash is None:
            continue
        like = joined(prefixes[0], rest)
        raw = target.paths.get(normal) or moved(source.paths.get(like, "/" + like), *prefixes)
        if raw is not None:
            found.append(Probe(target.name, raw, normal, like, rest in theirs[1]))
    # long pages tell more; ties in order of path, so that a run can be repeated
    found.sort(key=lambda probe: (not probe.is_known, -min(source.pages[probe.like].words, 500), probe.path))
    return found[:n]


def moved(path: str, prefix: str, new_prefix: str) -> str | None:
    """Return *path* (with its query) with *new_prefix* in place of *prefix*, None if it lies elsewhere.

    Extensions and index names stay as they are: copies keep them.
    """
    if prefix and path != f"/{prefix}" and not path.startswith((f"/{prefix}/", f"/{prefix}?")):
        return None
    rest = path[len(prefix) + 1 :] if prefix else path
    if not new_prefix:
        return rest or "/"
    return f"/{new_prefix}{rest}"
