"""What a collection of hosts is like: duplicates within and between, sizes, replicas (Carvalho 2014, section 4.1).

A dup-cluster is all URLs of one text. The rows of each function are those of a CSV file and of a picture.
Readings: figure 4.2 (right) has hosts by rank across and their dup-clusters upward, as the text says ("the number of
dup-clusters in which a host appears"), not the hosts of each cluster, as the caption does. Figure 4.6 has the share of
pairs *above x* that are replicas, as Carvalho et al. 2017 word it; Carvalho 2014 words the share of replicas that lie
above x, and the rows have both. Pairs are those with a dup-cluster in common (or a path, where paths are compared);
lists of more than 100 hosts make none, as everywhere here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import mean
from typing import TypeAlias

from scrapy_replica.lab.replicas.replica_published import MAX_DF

Rows: TypeAlias = list[tuple[float, ...]]
STEPS = tuple(round(0.05 * step, 2) for step in range(21))
"""Similarities that figure 4.6 is drawn at."""


@dataclass(frozen=True)
class Shape:
    """A collection: its pages, and which pairs of hosts are replicas.

    Attributes:
        pages: Host -> (path, signature) of its URLs; a signature of ``None`` is no text.
        replicas: Pairs of hosts, in order of name.
    """

    pages: Mapping[str, Iterable[tuple[str, object]]]
    replicas: frozenset[tuple[str, str]]

    @cached_property
    def hosts_of(self) -> dict[object, Counter[str]]:
        """Dup-cluster -> its hosts and how many URLs each has in it; texts that one URL has are none."""
        found: dict[object, Counter[str]] = defaultdict(Counter)
        for host, pages in self.pages.items():
            for _, signature in pages:
                if signature is not None:
                    found[signature][host] += 1
        return {signature: hosts for signature, hosts in found.items() if hosts.total() > 1}

    @cached_property
    def cases_of(self) -> Counter[str]:
        """Host -> replica pairs that it is in."""
        return Counter(host for pair in self.replicas for host in pair)

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Host -> its URLs."""
        return {host: len(list(pages)) for host, pages in self.pages.items()}

    def cluster_sizes(self) -> Rows:
        """Return (URLs, dup-clusters of so many URLs): figure 4.2, left."""
        return sorted(Counter(hosts.total() for hosts in self.hosts_of.values()).items())

    def clusters_of_hosts(self) -> Rows:
        """Return (rank of a host, dup-clusters that it is in), the most first: figure 4.2, right."""
        found = Counter(host for hosts in self.hosts_of.values() for host in hosts)
        return list(enumerate(sorted(found.values(), reverse=True), start=1))

    def duplicates_of_hosts(self) -> Rows:
        """Return (duplicate URLs within the host, duplicate URLs between hosts, URLs) of each host: figure 4.3.

        A URL may be both (p. 47).
        """
        within, between = Counter[str](), Counter[str]()
        for hosts in self.hosts_of.values():
            for host, n_urls in hosts.items():
                within[host] += n_urls * (n_urls > 1)
                between[host] += n_urls * (len(hosts) > 1)
        return [(within[host], between[host], size) for host, size in sorted(self.sizes.items())]

    def host_sizes(self) -> Rows:
        """Return (URLs, replicated hosts of so many URLs, other hosts of so many URLs): figure 4.4."""
        both = [
            Counter(size for host, size in self.sizes.items() if (host in self.cases_of) is it) for it in (True, False)
        ]
        return [(size, both[0][size], both[1][size]) for size in sorted(both[0] | both[1])]

    def replica_cases(self) -> Rows:
        """Return (n, share of all hosts that are in at least n replica pairs): figure 4.5."""
        most = max(self.cases_of.values(), default=0)
        counts = list(self.cases_of.values())
        return [(n, sum(count >= n for count in counts) / len(self.pages)) for n in range(1, most + 1)]

    def similarities(self, of: int) -> Rows:
        """Return (x, share of pairs at x or above, share of these that are replicas, share of replicas there).

        Figure 4.6.

        :param of: 0 for the Jaccard coefficient of paths, 1 for that of dup-clusters.
        """
        parts = {host: {page[of] for page in pages} - {None} for host, pages in self.pages.items()}
        lists: dict[object, list[str]] = defaultdict(list)
        for host in sorted(parts):
            if of:
                parts[host] &= self.hosts_of.keys()
            for part in parts[host]:
                lists[part].append(host)
        pairs = {pair for hosts in lists.values() if len(hosts) <= MAX_DF for pair in combinations(hosts, 2)}
        ranked = [(_jaccard(parts[a], parts[b]), (a, b) in self.replicas) for a, b in pairs]
        n_replicas = sum(is_replica for _, is_replica in ranked)
        rows: Rows = []
        for x in STEPS:
            above = [is_replica for similarity, is_replica in ranked if similarity >= x]
            if above:
                rows.append((x, len(above) / len(ranked), mean(above), sum(above) / max(n_replicas, 1)))
        return rows

    def figures(self) -> dict[str, float]:
        """Return the numbers of the text of section 4.1: hosts, replicas, mean sizes, what the replicas hold."""
        replicated = [size for host, size in self.sizes.items() if host in self.cases_of]
        others = [size for host, size in self.sizes.items() if host not in self.cases_of]
        duplicates = sum(hosts.total() for hosts in self.hosts_of.values())
        within, between, _ = map(sum, zip(*self.duplicates_of_hosts(), strict=True))
        held = sum(n for hosts in self.hosts_of.values() for host, n in hosts.items() if host in self.cases_of)
        return {
            "shape.hosts": len(self.pages),
            "shape.replicated_hosts": len(replicated),
            "shape.replica_pairs": len(self.replicas),
            "shape.urls_of_replicated": mean(replicated or [0]),
            "shape.urls_of_others": mean(others or [0]),
            "shape.duplicate_urls": duplicates,
            "shape.duplicate_urls_within": within,
            "shape.duplicate_urls_between": between,
            "shape.duplicate_share_of_replicated": held / max(duplicates, 1),
        }


def _jaccard(mine: set[object], theirs: set[object]) -> float:
    return len(mine & theirs) / len(mine | theirs)
