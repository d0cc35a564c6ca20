"""Positive controls: sites of one make, where one thing alone tells the way to the topic.

Every site has the same sections below its front page, and the wanted pages lie in one section of one section. So what
leads to them is learnt on a few sites and holds on all others; a strategy that cannot learn it has a defect.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scrapy_replica.lab.archives.collection import Collection, build
from scrapy_replica.numeric import FloatArray

WANTED = "wanted"
"""The label of the pages to be found."""
WORDS, ANCHORS, BOTH = TELLS = ("words", "anchors", "both")
"""What tells the way: the words of the pages on it, the anchors of its links, or both."""
CHILDREN = (6, 5, 5, 5)
"""Pages below each page, by level."""
WAY = (3, 2, 1)
"""Which of them leads to the wanted pages, by level; those of the last level are wanted all."""
NAMES = (
    ("alpha", "beta", "gamma", "delta", "epsilon", "zeta"),
    ("red", "green", "blue", "white", "black"),
    ("north", "east", "south", "west", "middle"),
)
"""Anchors, by level; those of the last level are "item" all."""
PARTNERS = 4
"""Sites that a front page links to, besides the next one, so that all can be reached."""
SEEDS = 3
FADING = 0.4
"""Share of a page's words of the topic that a page one link before it has, where relevance is graded."""


@dataclass(frozen=True)
class Control:
    """A control, and what a model that knows the words of the topic says of its pages."""

    collection: Collection
    relevance: FloatArray
    """Shape (n,): .95 of wanted pages, .05 of pages without a word of the topic; each up to .04 more or less."""


def make_control(
    sites: int = 40, depth: int = 3, noise: int = 15, binary: float = 1.0, tells: str = WORDS, seed: int = 1
) -> Control:
    """Make *sites* sites whose wanted pages lie *depth* links behind the front page, 187 pages each at a depth of 3.

    A page has 25 words of its place in the site, 60 of all pages and *noise* words of its site. *binary* is the share
    of sites where no page but the wanted ones has a word of the topic; on the others the pages on the way have the more
    of them the nearer they are. Raises ``ValueError`` for what cannot be made.
    """
    for name, value, least, most in (
        ("sites", sites, SEEDS, 10_000),
        ("depth", depth, 2, len(CHILDREN)),
        ("noise", noise, 0, 1_000),
        ("binary", binary, 0, 1),
    ):
        if not least <= value <= most:
            raise ValueError(f"--{name} is {value}: it must be {least} to {most:,}")
    if tells not in TELLS:
        raise ValueError(f"{tells} cannot tell the way: choose one of {', '.join(TELLS)}")
    maker = _Maker(depth, noise, tells, seed)
    graded = set(maker.chance.sample(range(sites), round(sites * (1.0 - binary))))
    for site in range(sites):
        maker.add_site(site, is_graded=site in graded)
    maker.join_sites()
    for row in maker.links:
        maker.chance.shuffle(row)
    collection = build(maker.pages, maker.links, maker.fronts[:SEEDS], {WANTED: maker.wanted})
    jitter = np.random.default_rng(seed).uniform(-0.04, 0.04, len(collection))
    return Control(collection, 0.05 + 0.9 * np.array(maker.shares) + jitter)


def write_control(control: Control, folder: Path) -> None:
    """Write the pages into *folder* as a direct archive, all their terms (extra ``lab``)."""
    from scrapy_replica.lab.archives.direct.build import Kept, from_collection  # noqa: PLC0415 - needs an extra

    from_collection(control.collection, folder, Kept(least_pages=1, most_share=1.0))


class _Maker:
    """Pages and links as they are made."""

    def __init__(self, depth: int, noise: int, tells: str, seed: int) -> None:
        self._depth, self._noise, self._tells = depth, noise, tells
        self.chance = random.Random(seed)
        self.pages: list[tuple[str, str, Counter[str]]] = []
        self.links: list[list[tuple[int, str]]] = []
        self.shares: list[float] = []
        """Of each page's 25 words, those of the topic."""
        self.fronts: list[int] = []
        self.wanted: list[int] = []

    def add_site(self, site: int, *, is_graded: bool) -> None:
        front = self._page(site, (), is_graded=is_graded)
        self.fronts.append(front)
        above: list[tuple[tuple[int, ...], int]] = [((), front)]
        for level in range(self._depth):
            below = []
            for path, page in above:
                for child in range(CHILDREN[level]):
                    place = (*path, child)
                    number = self._page(site, place, is_graded=is_graded)
                    self._link(page, number, NAMES[level][child] if level + 1 < self._depth else "item")
                    self._link(number, front, "home")
                    below.append((place, number))
            above = below

    def join_sites(self) -> None:
        for site, front in enumerate(self.fronts):
            following = self.fronts[(site + 1) % len(self.fronts)]
            for partner in (following, *self.chance.sample(self.fronts, min(PARTNERS, len(self.fronts)))):
                self._link(front, partner, "partner")

    def _page(self, site: int, place: tuple[int, ...], *, is_graded: bool) -> int:
        """Add a page; nothing in its URL tells."""
        number, chance = len(self.pages), self.chance
        left = self._depth - len(place)
        is_on_way = place[: self._depth - 1] == WAY[: min(len(place), self._depth - 1)]
        share = FADING**left if is_on_way and (is_graded or not left) else 0.0
        if share == 1.0:
            self.wanted.append(number)
        own = "x".join(map(str, place[: self._depth - 1])) if self._tells != ANCHORS else str(len(place))
        topical = round(25 * share)
        words = [
            *chance.choices(_words("topic", 30), k=topical),
            *chance.choices(_words(f"place{len(place)}x{own}x", 30), k=25 - topical),
            *chance.choices(_words(f"site{site}x", 200), k=self._noise),
            *chance.choices(_words("common", 300), k=60),
        ]
        path = f"{chance.getrandbits(40):x}" if place else ""
        self.pages.append((f"http://site{site}.example/{path}", "", Counter(words)))
        self.links.append([])
        self.shares.append(share)
        return number

    def _link(self, source: int, target: int, anchor: str) -> None:
        self.links[source].append((target, anchor if self._tells != WORDS else "more"))


def _words(kind: str, count: int) -> list[str]:
    return [f"{kind}{number}" for number in range(count)]
