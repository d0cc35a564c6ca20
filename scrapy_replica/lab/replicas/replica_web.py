"""The published experiment's shape on a synthetic collection: hosts, replicas, affiliates, shared addresses.

Replicas are sampled unevenly, some live under a path prefix, some pages differ at every fetch; affiliates share
pages without being replicas. Everything follows from the seed.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from zlib import crc32

from scrapy_replica.lab.replicas.replica_published import MAX_DF

_TOPS = ("com", "org", "net", "com.br", "org.br", "edu")
_COMMON = tuple(f"/{name}.html" for name in ("index", "about", "contact", "links", "news", "map", "help", "faq"))
_SYLLABLES = ("ba", "co", "di", "fe", "gu", "lo", "ma", "ni", "po", "ra", "se", "ti", "vo", "xa", "ze", "qui")


@dataclass
class SyntheticWeb:
    """Hosts with their pages, addresses and true groups.

    Attributes:
        pages: Host -> (path, signature) of the URLs known.
        ips: Host -> address.
        site: Host -> number of the site it serves; replicas share it.
    """

    pages: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    ips: dict[str, str] = field(default_factory=dict)
    site: dict[str, int] = field(default_factory=dict)


def make_web(n_hosts: int, seed: int) -> SyntheticWeb:
    """Return a web of at least *n_hosts* hosts."""
    rng = random.Random(seed)
    web = SyntheticWeb()
    known_sites: list[list[tuple[str, int]]] = []
    while len(web.pages) < n_hosts:
        site = len(known_sites)
        pages = _site_pages(rng, site)
        if known_sites and rng.random() < 0.15:  # an affiliate: part of another site's pages, at the same paths
            other = rng.choice(known_sites)
            pages += rng.sample(other, rng.randint(1, max(1, len(other) // 2)))
        known_sites.append(pages)
        name = _name(rng)
        address = _address(rng)
        for copy in range(1 if rng.random() < 0.85 else rng.randint(2, 4)):
            host = name if not copy else _copy_name(rng, name)
            if host in web.pages:
                continue
            web.site[host] = site
            web.ips[host] = address if rng.random() < 0.5 else _address(rng)
            web.pages[host] = _seen_of(rng, pages, is_copy=copy > 0)
    return web


def _site_pages(rng: random.Random, site: int) -> list[tuple[str, int]]:
    n_pages = min(300, int(rng.paretovariate(0.8)) + 3)
    folders = [f"/{_word(rng, 2)}" for _ in range(1 + n_pages // 10)]
    paths = rng.sample(_COMMON, rng.randint(1, 5))
    # article numbers and words recur on other sites, as they do on the Web
    paths += [f"{rng.choice(folders)}/{_word(rng, rng.randint(2, 3))}.html" for _ in range(n_pages)]
    soft_404 = rng.randrange(50)
    return [
        (path, soft_404 if rng.random() < 0.03 else crc32(f"{site}{path}".encode())) for path in dict.fromkeys(paths)
    ]


def _seen_of(rng: random.Random, pages: list[tuple[str, int]], *, is_copy: bool) -> set[tuple[str, int]]:
    """Return the part of a site that the crawl knows of one host."""
    share = rng.uniform(0.15, 1.0)
    prefix = f"/{_word(rng, 2)}" if is_copy and rng.random() < 0.1 else ""
    dynamic = rng.random() if rng.random() < 0.8 else 0.0
    seen = rng.sample(pages, max(1, round(share * len(pages))))
    return {(prefix + path, rng.getrandbits(40) if rng.random() < dynamic else text) for path, text in seen}


def _word(rng: random.Random, syllables: int) -> str:
    return "".join(rng.choices(_SYLLABLES, k=syllables))


def _name(rng: random.Random) -> str:
    return f"{rng.choice(('www', 'www', 'portal', 'blog'))}.{_word(rng, rng.randint(2, 5))}.{rng.choice(_TOPS)}"


def _copy_name(rng: random.Random, name: str) -> str:
    first, middle, top = name.split(".", 2)
    kind = rng.random()
    if kind < 0.3:
        other_top = f"www.{middle}.{rng.choice(('com', 'org', 'net'))}"
        return f"{middle}.{top}" if first == "www" and rng.random() < 0.5 else other_top
    if kind < 0.85:
        return f"{rng.choice(('www2', 'mirror', 'old', 'm', first))}.{middle}{_word(rng, 1)}.{rng.choice(_TOPS)}"
    return _name(rng)


def _address(rng: random.Random) -> str:
    # half of the hosts live on a few big providers
    if rng.random() < 0.5:
        return f"200.{rng.randrange(3)}.{rng.randrange(10)}.{rng.randrange(40)}"
    return ".".join(str(rng.randrange(1, 255)) for _ in range(4))


def candidate_pairs(web: SyntheticWeb) -> list[tuple[str, str]]:
    """Return the pairs that share a path or a signature, lists of more than 100 hosts left out."""
    lists: dict[object, set[str]] = defaultdict(set)
    for host, pages in web.pages.items():
        for path, signature in pages:
            lists[path].add(host)
            lists[signature].add(host)
    found: set[tuple[str, str]] = set()
    for hosts in lists.values():
        if len(hosts) <= MAX_DF:
            found.update(combinations(sorted(hosts), 2))
    return sorted(found)


def unrelated_pairs(web: SyntheticWeb, count: int, rng: random.Random) -> list[tuple[str, str]]:
    """Return *count* random pairs that share neither a path nor a signature."""
    hosts = sorted(web.pages)
    known = {host: {part for page in web.pages[host] for part in page} for host in hosts}
    drawn: set[tuple[str, str]] = set()
    while len(drawn) < count:
        a, b = sorted(rng.sample(hosts, 2))
        if known[a].isdisjoint(known[b]):
            drawn.add((a, b))
    return sorted(drawn)
