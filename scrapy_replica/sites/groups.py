"""Replica groups from pairwise verdicts, and the host of each that is kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from scrapy_replica.sites.evidence import HostEvidence


@dataclass(frozen=True)
class Conflict:
    """A verdict that was not acted upon: joining the two would join hosts that contradict each other."""

    first: str
    second: str
    contradicting: tuple[str, str]


def connected_groups(
    scores: Mapping[tuple[str, str], float], contradicts: Callable[[str, str], bool]
) -> tuple[list[frozenset[str]], list[Conflict]]:
    """Return the connected components of the pairs in *scores*, guarded against chains.

    The surest verdicts come first. Two groups are joined only if no host of one contradicts a host of the other:
    A ~ B and B ~ C with A and C in contradiction stays apart and is reported.
    """
    group_of: dict[str, set[str]] = {}
    conflicts = []
    for first, second in sorted(scores, key=lambda pair: (-scores[pair], pair)):
        mine = group_of.setdefault(first, {first})
        theirs = group_of.setdefault(second, {second})
        if mine is theirs:
            continue
        clash = first_contradiction(mine, theirs, contradicts)
        if clash is not None:
            conflicts.append(Conflict(first, second, clash))
            continue
        mine |= theirs
        for host in theirs:
            group_of[host] = mine
    distinct = {id(group): frozenset(group) for group in group_of.values() if len(group) > 1}
    return sorted(distinct.values(), key=sorted), conflicts


def first_contradiction(
    mine: Iterable[str], theirs: Collection[str], contradicts: Callable[[str, str], bool]
) -> tuple[str, str] | None:
    """Return a host of each group that contradict each other, None if there are none."""
    for a in sorted(mine):
        for b in sorted(theirs):
            if contradicts(a, b):
                return a, b
    return None


def keeper(members: Iterable[HostEvidence], in_links: Mapping[str, int], first_seen: Mapping[str, float]) -> str:
    """Return the host of a group to keep.

    Redirects to it decide first, then rel=canonical, https, in-links from other hosts, pages known, age, and at last
    the shorter name. The newest copy is often the copy, so age counts for the older one.
    """
    hosts = list(members)

    def rank(host: HostEvidence) -> tuple[float, ...]:
        others = [other for other in hosts if other is not host]
        return (
            sum(other.redirects_to[host.name] for other in others) - sum(host.redirects_to[o.name] for o in others),
            sum(other.canonical_to[host.name] for other in others) - sum(host.canonical_to[o.name] for o in others),
            host.is_https,
            in_links.get(host.name, 0),
            len(host.paths),
            -first_seen.get(host.name, float("inf")),
            -len(host.name),
        )

    return min(hosts, key=lambda host: (*(-value for value in rank(host)), host.name)).name
