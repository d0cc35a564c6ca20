"""Which host of a replica group is kept, and the verdicts that would join two sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scrapy_replica.sites.evidence import HostEvidence


@dataclass(frozen=True)
class Conflict:
    """A verdict that was not acted upon: joining the two would join hosts that contradict each other."""

    first: str
    second: str
    contradicting: tuple[str, str]


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
