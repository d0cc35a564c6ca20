"""A web made from a seed, a few hosts at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.lab.generation import laws
from scrapy_replica.lab.generation.addresses import Addresses
from scrapy_replica.lab.generation.links import Linker, Links
from scrapy_replica.lab.generation.plan import CALENDAR, FACET, MIRRORED, SUBJECTS, Plan, is_labelled, make_plan
from scrapy_replica.lab.generation.text import Pages, Rows, added, texts
from scrapy_replica.lab.generation.vocabulary import Vocabulary, make_vocabulary
from scrapy_replica.numeric import IntArray

CHUNK = 8_192
"""Pages that are made together, at least; hosts are never parted from their mirrors."""
TOPICS = {
    "astronomy": (range(3, 4), 0.15),
    "beekeeping": (range(23, 24), 0.25),
    "chess": (range(41, 42), 0.35),
    "gardening": (range(58, 60), 0.2),
    "sailing": (range(77, 78), 0.15),
    "volcanoes": (range(96, 97), 0.4),
    "weaving": (range(112, 116), 0.25),
}
"""Labels: the subjects that count, and the least share of its words that a page has from them."""
TITLED_ASTRAY = 0.15
"""Pages whose title is that of another subject."""
TRAP_WORDS = 25
"""Words that all trap pages of a host share."""
MARKED = 0.15
"""Pages of a mirror that have a word more, besides the mirror's own mark."""


@dataclass(frozen=True)
class Chunk:
    """Pages *first* to *stop*, with links, terms and addresses."""

    first: int
    stop: int
    urls: list[str]
    titles: IntArray
    """Anchor texts that are the titles."""
    rows: Rows
    links: Links


class Web:
    """Hosts, pages, links and text of a web of *pages* pages; the same for the same *seed*."""

    def __init__(self, pages: int, seed: int) -> None:
        self.plan: Plan = make_plan(pages, seed)
        self.vocabulary: Vocabulary = make_vocabulary(seed)
        self.addresses = Addresses(self.plan, self.vocabulary, self.titles)
        self._linker = Linker(self.plan, self.titles)

    def __len__(self) -> int:
        return len(self.plan)

    @property
    def labels(self) -> dict[str, IntArray]:
        """Pages of each topic that has any."""
        found = {name: np.flatnonzero(is_labelled(self.plan, *of)) for name, of in TOPICS.items()}
        return {name: pages for name, pages in found.items() if len(pages)}

    def titles(self, pages: IntArray) -> IntArray:
        """Return the anchor texts that are the titles of *pages*, which are no copies."""
        drawn = mixed(pages, self.plan.seed)
        subject = self.plan.subject[pages].astype(np.int64)
        astray = drawn % 1000 < TITLED_ASTRAY * 1000
        subject = np.where(astray, (subject + (drawn >> 10)) % SUBJECTS, subject)
        return self.vocabulary.titles(subject, drawn >> 20)

    def navigation(self, pages: IntArray) -> IntArray:
        """Return how many of the first links of *pages* are those that their whole host has."""
        return self._linker.navigation(pages)

    def parts(self) -> Iterator[range]:
        """Return the hosts that are made together."""
        original, start = self.plan.original, self.plan.host_start
        ends = np.append(np.flatnonzero(original == np.arange(len(original)))[1:], len(original))
        first = 0
        for host in ends.tolist():
            if start[host] - start[first] >= CHUNK or host == len(original):
                yield range(first, host)
                first = host

    def chunks(self) -> Iterator[Chunk]:
        """Make all pages, in their order."""
        return map(self._chunk, self.parts())

    def _chunk(self, hosts: range) -> Chunk:
        plan = self.plan
        first, stop = (int(plan.host_start[host]) for host in (hosts.start, hosts.stop))
        chance = np.random.default_rng([plan.seed, 3, first])
        links = self._linker.links(chance, hosts)
        titles = self.titles(plan.source[first:stop].astype(np.int64))
        rows = self._rows(chance, first, stop, links, titles)
        return Chunk(first, stop, self.addresses.urls(hosts), titles, rows, links)

    def _rows(self, chance: np.random.Generator, first: int, stop: int, links: Links, titles: IntArray) -> Rows:
        plan, n = self.plan, stop - first
        kind = plan.kind[first:stop]
        is_own = plan.source[first:stop] == np.arange(first, stop)
        is_trap = (kind == CALENDAR) | (kind == FACET)
        lengths = laws.lognormal(chance, laws.WORDS_LOG_MEAN, laws.WORDS_LOG_SD, laws.WORDS_CAP, n)
        lengths[~is_own | is_trap] = 0
        row = np.concatenate([np.repeat(np.arange(n), np.diff(links.start)), np.arange(n)])
        word = self.vocabulary.anchor_words[np.concatenate([links.anchors, titles])]
        row, word = np.repeat(row, 2), word.reshape(-1)
        trap_row, trap_word = self._trap_words(np.flatnonzero(is_trap) + first)
        row, word = np.concatenate([row, trap_row - first]), np.concatenate([word, trap_word])
        kept = (word >= 0) & is_own[row]
        row, word = row[kept], word[kept]
        by_row = np.argsort(row, kind="stable")
        pages = Pages(plan.subject[first:stop].astype(np.int64), plan.strength[first:stop], lengths)
        rows = texts(chance, self.vocabulary, pages, (row[by_row], word[by_row]))
        rows = rows.take(plan.source[first:stop].astype(np.int64) - first)
        mirrored = np.flatnonzero(kind == MIRRORED)
        return self._marked(chance, rows, mirrored, plan.host_of(mirrored + first)) if len(mirrored) else rows

    def _trap_words(self, pages: IntArray) -> tuple[IntArray, NDArray[np.int32]]:
        host = self.plan.host_of(pages)[:, None]
        shared = (host * 7_919 + np.arange(TRAP_WORDS) * 97) % 3_000
        words = np.concatenate([shared, mixed(pages, 1)[:, None] % 500], axis=1)
        return np.repeat(pages, TRAP_WORDS + 1), self.vocabulary.general[words.reshape(-1)]

    def _marked(self, chance: np.random.Generator, rows: Rows, mirrored: IntArray, host: IntArray) -> Rows:
        """Give each page of a mirror its mark, and some a word of their own."""
        general = self.vocabulary.general
        chosen = mirrored[chance.random(len(mirrored)) < MARKED]
        row = np.concatenate([np.repeat(np.arange(len(rows.start) - 1), np.diff(rows.start)), mirrored, chosen])
        mark = general[500 + host * 31 % 4_000]
        changed = general[chance.integers(len(general), size=len(chosen))]
        ids = np.concatenate([rows.ids, mark, changed])
        counts = np.concatenate([rows.counts, np.ones(len(mirrored) + len(chosen), np.uint16)])
        return added(len(rows.start) - 1, row, ids, counts)


def mixed(numbers: IntArray, seed: int) -> IntArray:
    """Return 43 bits for each number that look random (the finaliser of SplitMix64)."""
    bits = numbers.astype(np.uint64) + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 % 2**64)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (bits >> np.uint64(21)).astype(np.int64)
