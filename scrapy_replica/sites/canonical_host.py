"""Which of two hosts is kept.

A copy costs nothing to put up: https, a name, links from hosts of one's own, links to pages that are not there, and
whatever stands on its own pages. So what counts first is what a host was found to have.
"""

from __future__ import annotations

from collections.abc import Callable

from scrapy_replica.sites.alignment import joined
from scrapy_replica.sites.evidence import HostEvidence, is_same_page
from scrapy_replica.sites.features import Comparison, without_queries
from scrapy_replica.sites.judge import MIN_ALIGNED

MIN_READERS = 10
"""Registered domains linking to a host without which they say nothing: what an attack would have to buy."""

MOST_KNOWN = 0.6
"""Share of the other host's known pages from which a host may keep its place without being asked for the rest."""
MAX_WAIT = 20
"""Comparable pages after which the start page of a copy is waited for no more."""


def host_to_keep(pair: Comparison, readers: Callable[[str], int], is_seed: Callable[[str], bool]) -> HostEvidence:
    """Return the host of *pair* to keep.

    The one that has more of the other's pages, of those that were asked of both; then the one that most of the other's
    pages call canonical, the one that the crawl began at, the one that had ten pages first, the one that others link
    to, the one seen first. Https and the shorter name decide between equals only.

    :param readers: host -> registered domains that link to it and have no part in the pair.
    :param is_seed: whether a user named it.
    """
    first, second = pair.first, pair.second

    def rank(host: HostEvidence, other: HostEvidence) -> tuple[float | str, ...]:
        return (
            -held_share(pair, host),
            -(2 * other.canonical_to[host.name] > other.n_pages),
            not is_seed(host.name),
            host.established,
            -(readers(host.name) >= max(MIN_READERS, 2 * readers(other.name))),
            host.first_seen,
            not host.is_https,
            len(host.name),
            host.name,
        )

    return first if rank(first, second) < rank(second, first) else second


def held_share(pair: Comparison, host: HostEvidence) -> float:
    """Return the share of the other host's texts that *host* has, of those that both were asked for, 0..1.

    It lacks a page where it has none, another one, or leads elsewhere. 1 where nothing tells.
    """
    other, mine, theirs = pair.second, *pair.prefixes
    if host is other:
        other, mine, theirs = pair.first, theirs, mine
    pages = host.view(mine)[0]
    texts = {mark.simhash for mark in host.pages.values()}
    found: dict[int | None, bool] = {}
    for rest, mark in other.view(theirs)[0].items():
        if not mark.tells or found.get(mark.simhash):
            continue
        place, twin = joined(mine, rest), pages.get(rest)
        if twin is not None or place in host.missing:
            # a text that the host has elsewhere is not lacking: a session id is no other page
            found[mark.simhash] = mark.simhash in texts or (twin is not None and is_same_page(mark, twin))
    return sum(found.values()) / len(found) if found else 1.0


def is_tried(pair: Comparison, host: HostEvidence) -> bool:
    """Tell whether enough is known of *host* to keep it.

    The other's start page was fetched, which leads to what the other alone has. And the host knows most of what is
    known of the other, or it turned out of as many as a verdict needs what the rest is: pages that it lacks, which
    count, or that neither has.
    """
    other, mine, theirs = pair.second, *pair.prefixes
    if host is other:
        other, mine, theirs = pair.first, theirs, mine
    pages, known = other.view(theirs)
    is_asked = "" in pages or theirs in other.missing or "" not in known
    if not is_asked and len(pair.aligned) < MAX_WAIT:
        return False
    missing = {rest for rest in known if joined(mine, rest) in host.missing}
    bare = without_queries(known)
    n_alike = len(bare & without_queries(host.view(mine)[1] - missing))
    if n_alike >= MOST_KNOWN * len(bare):
        return True
    return sum(rest in pages or joined(theirs, rest) in other.missing for rest in missing) >= MIN_ALIGNED
