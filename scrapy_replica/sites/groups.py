"""Which host of a replica group is kept, and the verdicts that would join two sites."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scrapy_replica.sites.evidence import HostEvidence


@dataclass(frozen=True)
class Conflict:
    """A verdict that was not acted upon: joining the two would join hosts that contradict each other."""

    first: str
    second: str
    contradicting: tuple[str, str]


def keeper(members: Iterable[HostEvidence], in_links: Callable[[str], int]) -> str:
    """Return the host of a group to keep.

    Redirects to it decide first, then rel=canonical, https, in-links from other hosts, pages known, age, and at last
    the shorter name. The newest copy is often the copy, so age counts for the older one.
    """
    hosts = list(members)

    def rank(host: HostEvidence) -> tuple[float, ...]:
        others = [other for other in hosts if other is not host]
        return (
            sum(host.redirected_from[o.name] for o in others)
            - sum(other.redirected_from[host.name] for other in others),
            sum(other.canonical_to[host.name] for other in others) - sum(host.canonical_to[o.name] for o in others),
            host.is_https,
            in_links(host.name),
            len(host.paths),
            -host.first_seen,
            -len(host.name),
        )

    return min(hosts, key=lambda host: (*(-value for value in rank(host)), host.name)).name
