"""Random families of hosts: a site and copies of it, each unlike it in ways of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from hostile.building import Site, page
from hostile.scenario import Crawled, Follower, Scenario

PORTAL = "http://portal.example/"


class Silent(Follower):
    """Gives the same item for each page, so that texts and links alone tell them apart."""

    def parse(self, response):
        return [{"key": ""} if isinstance(one, dict) else one for one in super().parse(response)]


def asked(crawled: Crawled) -> set[str]:
    return {one.key for one in crawled.asked} - {""}


@dataclass
class Host:
    """How one host of a family differs from its original."""

    top: str
    name: str = "/s{section}/page-{number}"
    lacks: set[int] = field(default_factory=set)
    others: set[int] = field(default_factory=set)
    """Pages that are others than the original's."""
    extra: dict[int, list[int]] = field(default_factory=dict)
    """Page -> the pages that this host alone has and that it links to."""
    few_links: float = 0.0
    """Share of the pages that lack their links."""

    def url(self, number: int, section: int) -> str:
        return self.top + self.name.format(number=number, section=section)


def differing(top: str, rng: Random, n: int, size: int) -> Host:
    """A copy that differs in each way with some chance: pages, sections, links and names."""
    host = Host(top)
    if rng.random() < 0.4:
        share = rng.choice([0.1, 0.3, 0.6])
        host.lacks = {number for number in range(n) if rng.random() < share}
    if rng.random() < 0.4:
        places = [range(n), range(n * 3 // 4, n), range(0, n, size)][rng.randrange(3)]
        for other in range(rng.choice([1, 3, 10, 30])):
            host.extra.setdefault(rng.choice(places), []).append(other)
    if rng.random() < 0.25:
        section = rng.randrange(n // size)
        host.others.update(range(section * size, (section + 1) * size))
    if rng.random() < 0.25:
        share = rng.choice([0.05, 0.2])
        host.others.update(number for number in range(n) if rng.random() < share)
    if rng.random() < 0.2:
        host.few_links = 0.7
    if rng.random() < 0.25:
        host.name = rng.choice(["/view?doc={number}", "/s{section}/page-{number}.html"])
    return host


def family(seed: int) -> Site:
    """Two to four hosts of 40 to 120 pages in sections, and a portal that leads to each."""
    rng = Random(seed)
    n, size, near = rng.choice([40, 80, 120]), rng.choice([10, 20]), rng.choice([2, 4, 8])
    is_chain, words = rng.random() < 0.6, rng.choice([30, 60, 150])
    links = [[rng.randrange(n) for _ in range(near)] + [number + 1] * is_chain for number in range(n)]
    tops = [f"http://{name}.example{rng.choice(['', '/docs', '/mirror/x'])}" for name in "bcd"[: rng.randint(1, 3)]]
    hosts = [Host("http://original.example"), *(differing(top, rng, n, size) for top in tops)]
    pages = {PORTAL: page("portal", [f"{host.top}/" for host in rng.sample(hosts, len(hosts))])}
    for host in hosts:
        pages[f"{host.top}/"] = page("front", [f"{host.top}/s{part}/" for part in range(n // size)], words=words)
        for part in range(n // size):
            members = range(part * size, (part + 1) * size)
            pages[f"{host.top}/s{part}/"] = page(f"list {part}", [host.url(m, part) for m in members], words=words)
        for number in {*range(n)} - host.lacks:
            key = f"{host.top} {number}" if number in host.others else f"page {number}"
            wanted = [] if rng.random() < host.few_links else [to for to in links[number] if to < n]
            more = [f"{host.top}/own/{other}" for other in host.extra.get(number, ())]
            pages[host.url(number, number // size)] = page(
                key, [*(host.url(to, to // size) for to in wanted), *more], title=key.rpartition(" ")[2], words=words
            )
            pages |= {url: page(f"own {url}", [f"{host.top}/"], words=words) for url in more}
    return pages


def scenario(seed: int) -> Scenario:
    pages = family(seed)
    return Scenario(
        name=f"family {seed}",
        tried="copies that lack pages, have others, lead further or have few links, at random",
        pages=lambda: pages,
        seeds=[PORTAL],
        spider=Random(seed).choice([Follower, Silent]),
        contents=asked,
        # Whoever lacks a part of a work, or has more, is no less a copy: what counts is what is lost.
        copies={url.split("/")[2] for url in pages},
        settings={"REPLICA_SEED": seed + 1},
    )
