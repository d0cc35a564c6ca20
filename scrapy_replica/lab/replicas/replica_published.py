"""The features of the published method (Carvalho et al. 2017, section 3.1): names, addresses and whole paths."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address

from rapidfuzz.distance import Levenshtein

from scrapy_replica.address import suffixes

MAX_DF = 100
"""Paths of more hosts give no evidence, so it is the largest df that there is (Carvalho 2014, p. 23)."""
NAMES = ("ndist", "nmatch", "ip4", "ip3", "fullpath")


@dataclass
class Collection:
    """What the published features need to know of all hosts together; *paths* include the query."""

    paths: dict[str, set[str]] = field(default_factory=dict)
    ips: dict[str, str | None] = field(default_factory=dict)
    term_df: Counter[str] = field(default_factory=Counter)
    path_df: Counter[str] = field(default_factory=Counter)
    groups: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, host: str, paths: Iterable[str], ip: str | None) -> None:
        """Take one host, once."""
        self.paths[host] = set(paths)
        self.ips[host] = ip
        self.term_df.update(set(host.split(".")))
        self.path_df.update(self.paths[host])
        for group in address_groups(ip):
            self.groups[group] += 1

    def values(self, a: str, b: str) -> list[float]:
        """Return the five features of a pair, in the order of ``NAMES``."""
        groups = list(zip(address_groups(self.ips[a]), address_groups(self.ips[b]), strict=False))
        ip4, ip3 = (self._ip(*groups[k]) if groups else math.nan for k in (0, 1))
        return [self.ndist(a, b), self.nmatch(a, b), ip4, ip3, self.fullpath(a, b)]

    def ndist(self, a: str, b: str) -> float:
        """Edit distance of the host names."""
        return float(Levenshtein.distance(a, b))

    def nmatch(self, a: str, b: str) -> float:
        """Cosine of the names' segments, w(t) = log len(t) / (1 + log df(t)) (equation 1)."""
        mine, theirs = (
            {t: math.log(len(t)) / (1 + math.log(self.term_df[t])) for t in set(host.split(".")) if t}
            for host in (a, b)
        )
        return cosine(mine, theirs)

    def _ip(self, a: str, b: str) -> float:
        """1 / (|G| - 1) for two hosts of one address group G, else 0 (equation 2)."""
        return 1 / (self.groups[a] - 1) if a == b else 0.0

    def fullpath(self, a: str, b: str) -> float:
        """Cosine of the hosts' paths, w(t) = 1 + log(maxdf / df(t)) (equation 3), df above 100 left out."""
        mine, theirs = (
            {t: 1 + math.log(MAX_DF / self.path_df[t]) for t in self.paths[host] if self.path_df[t] <= MAX_DF}
            for host in (a, b)
        )
        return cosine(mine, theirs)


def address_groups(ip: str | None) -> tuple[str, ...]:
    """Return the groups an address belongs to: itself and its first three octets, or /64 for IPv6; () if unknown."""
    if ip is None:
        return ()
    address = ip_address(ip)
    if address.version == 4:
        return ip, ip.rpartition(".")[0]
    return address.exploded, address.exploded[:19]


def cosine(a: dict[str, float], b: dict[str, float]) -> float:
    """Return the cosine of two sparse vectors, 0 if one is empty."""
    dot = sum(weight * b[term] for term, weight in a.items() if term in b)
    norms = math.sqrt(sum(w * w for w in a.values()) * sum(w * w for w in b.values()))
    return dot / norms if norms else 0.0


def is_obvious_replica(a: str, b: str) -> bool:
    """Tell whether two names are equal but for ``www.``, or but for their public suffix (Carvalho 2014, p. 29).

    The source's example is ``exemplo.gov.br`` and ``exemplo.br``. Anybody can register such a name, so a crawl, which a
    stranger may want to mislead, takes pairs that are obvious by content instead.
    """
    bare = without_suffix(a)
    return bool(bare) and bare == without_suffix(b)


def without_suffix(name: str) -> str:
    """Return a host name without ``www.`` and public suffix, ``example`` of ``www.example.co.uk``; "" if none is left.

    What a company gives away below its own name is no suffix: ``a.github`` of ``a.github.io``. Names below a suffix
    that is in no list, and addresses, stay as they are.
    """
    bare = name.removeprefix("www.")
    suffix = suffixes().extract_str(bare).suffix
    return "" if bare == suffix else bare.removesuffix(f".{suffix}")
