"""The plan of a web: which hosts, directories and pages there are, what each is about, what is a copy of what.

All of it is drawn at once, in arrays over all pages; links and text are made from it a few hosts at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.lab.arrays import ragged
from scrapy_replica.lab.generation import laws
from scrapy_replica.numeric import BoolArray, IntArray

PLAIN, MIRRORED, DUST, CALENDAR, FACET = range(5)
KINDS = ("", "mirror", "dust", "calendar", "facet")
"""What a page is, by its number in ``Plan.kind``."""

SUBJECTS = 128
"""Subjects stand on a ring; neighbours share words and link to each other."""
FANOUT = 40
"""Pages that a directory's index lists; further ones are listed by the first of them."""
MIRRORED_HOSTS = 0.06
"""Hosts of at least MIRRORED_FROM pages that have one to MIRRORS_CAP mirrors."""
MIRRORED_FROM = 5
MIRRORS_CAP = 3
DUSTY_HOSTS = 0.3
"""Hosts whose pages have other names; at most DUST_CAP of their number. Of real URLs 11 % are removable."""
DUST_CAP = 0.5
TRAP_HOSTS = 0.04
"""Hosts of at least TRAP_FROM pages with a calendar, and with facets. On one campus 10 % of the URLs are traps."""
TRAP_FROM = 20
CALENDAR_MONTHS = (24, 240)
FACETS = (4, 7)
"""Yes-or-no facets of a listing: 16 to 128 pages."""

DIRECTORY_STEPS = ((0, 0.63), (1, 0.14), (-1, 0.14), (2, 0.02), (-2, 0.02))
HOST_STEPS = ((0, 0.35), (1, 0.15), (-1, 0.15), (2, 0.05), (-2, 0.05))
PAGE_STEPS = ((0, 0.83), (1, 0.06), (-1, 0.06))
"""Step on the ring of subjects from what links to a directory, host or page, with its probability; else any subject."""


@dataclass(frozen=True)
class Plan:
    """Hosts 0..h-1 whose pages lie one behind the other, directories 0..d-1, pages 0..n-1."""

    seed: int
    host_start: IntArray
    """First page of each host, and n."""
    original: IntArray
    """The host that each host is a mirror of; itself where it is none."""
    core: IntArray
    """Plain pages of each host that is no mirror, 0 for mirrors."""
    first_directory: IntArray
    """Of each host, and d; mirrors have none of their own."""
    entrance: IntArray
    """A page that links to the first page of each host; -1 for the first host."""
    directory_first: IntArray
    """First page of each directory, its index."""
    directory_size: IntArray
    directory_parent: IntArray
    """Parent of each directory; of a host's first directory the one of the host's entrance."""
    directory: NDArray[np.int32]
    """Of each page; of copies that of their source, of traps the first of the host."""
    kind: NDArray[np.uint8]
    source: NDArray[np.int32]
    """Page that each page is a copy of, itself where it is none."""
    subject: NDArray[np.int16]
    strength: NDArray[np.float32]
    """Share of a page's words that belongs to its subject and those near it."""

    def __len__(self) -> int:
        return len(self.kind)

    def host_of(self, pages: IntArray) -> IntArray:
        """Return the hosts of *pages*."""
        return np.searchsorted(self.host_start, pages, side="right") - 1


def make_plan(pages: int, seed: int) -> Plan:
    """Draw a web of exactly *pages* pages, the same for the same *seed*. Raises ``ValueError`` below one page."""
    if pages < 1:
        raise ValueError(f"a web has at least one page, not {pages}")
    chance = np.random.default_rng([seed, 0])
    draft = _Draft(chance, _host_sizes(chance, pages))
    host_start, mirror_of = draft.numbered()
    return _cut(draft, chance, host_start, mirror_of, pages, seed)


def _host_sizes(chance: np.random.Generator, pages: int) -> IntArray:
    cap = min(laws.HOST_CAP, int(pages * laws.HOST_SHARE) + 1)
    sizes = np.zeros(0, np.int64)
    while sizes.sum() < pages:
        sizes = np.append(sizes, laws.power_law(chance, laws.HOST_EXPONENT, cap, max(16, pages // 100)))
    sizes = sizes[: int(np.searchsorted(np.cumsum(sizes), pages)) + 1]
    sizes[0] = cap  # the web is entered by a host of many pages
    return sizes


class _Draft:
    """Hosts, directories and pages before copies and traps are put between them: *core* numbers."""

    def __init__(self, chance: np.random.Generator, sizes: IntArray) -> None:
        self.sizes, self.start = sizes, np.concatenate([[0], np.cumsum(sizes)])
        self.n = int(self.start[-1])
        self.host = np.repeat(np.arange(len(sizes)), sizes)
        self._draw_directories(chance)
        self._draw_entrances(chance)
        self._draw_subjects(chance)
        self._draw_extras(chance)
        self._draw_mirrors(chance)

    def _draw_directories(self, chance: np.random.Generator) -> None:
        first = np.zeros(self.n, dtype=bool)
        first[self.start[:-1]] = True
        drawn = np.cumsum(laws.power_law(chance, laws.DIRECTORY_EXPONENT, laws.DIRECTORY_CAP, self.n // 3 + 1))
        first[drawn[drawn < self.n]] = True
        self.directory_first = np.flatnonzero(first)
        self.directory_size = np.diff(self.directory_first, append=self.n)
        self.directory = np.cumsum(first) - 1
        self.first_directory = self.directory[self.start[:-1]]
        place = np.arange(len(self.directory_first)) - np.repeat(
            self.first_directory, np.diff(self.first_directory, append=len(self.directory_first))
        )
        drawn = (place * chance.random(len(place)) ** 1.5).astype(np.int64)
        self.directory_parent = np.arange(len(place)) - place + drawn

    def _draw_entrances(self, chance: np.random.Generator) -> None:
        """A page of an earlier host leads to each host's first."""
        self.entrance = self.any_page(chance, np.arange(len(self.sizes)))
        self.directory_parent[self.first_directory] = self.directory[self.entrance]
        self.directory_parent[0] = 0

    def any_page(self, chance: np.random.Generator, below: IntArray) -> IntArray:
        """Draw a page of any host before each of *below*, rather of an early one, and rather an early page."""
        host = (below * chance.random(len(below)) ** 2).astype(np.int64)
        return self.start[host] + (self.sizes[host] * chance.random(len(host)) ** 1.5).astype(np.int64)

    def _draw_subjects(self, chance: np.random.Generator) -> None:
        step = _steps(chance, DIRECTORY_STEPS, len(self.directory_first))
        step[self.first_directory] = _steps(chance, HOST_STEPS, len(self.sizes))
        subject = sums_to_root(self.directory_parent, step)
        of_page = _steps(chance, PAGE_STEPS, self.n)
        of_page[self.directory_first] = 0
        self.subject = ((subject[self.directory] + of_page) % SUBJECTS).astype(np.int16)
        self.strength = chance.beta(1.6, 3.2, self.n).astype(np.float32)

    def _draw_extras(self, chance: np.random.Generator) -> None:
        hosts = len(self.sizes)
        share = DUST_CAP * chance.random(hosts) * (chance.random(hosts) < DUSTY_HOSTS)
        self.dust = (self.sizes * share).astype(np.int64)
        is_trap = (chance.random((2, hosts)) < TRAP_HOSTS) & (self.sizes >= TRAP_FROM)
        self.months = is_trap[0] * np.minimum(chance.integers(*CALENDAR_MONTHS, hosts), self.sizes)
        self.facets = is_trap[1] * np.minimum(2 ** chance.integers(*FACETS, hosts, endpoint=True), self.sizes)
        owner = np.repeat(np.arange(hosts), self.dust)
        self.dust_source = self.start[owner] + (self.sizes[owner] * chance.random(len(owner))).astype(np.int64)

    def _draw_mirrors(self, chance: np.random.Generator) -> None:
        """Mirrors keep all directories and of each directory another share of the pages."""
        hosts = len(self.sizes)
        is_mirrored = (chance.random(hosts) < MIRRORED_HOSTS) & (self.sizes >= MIRRORED_FROM)
        self.mirrors = is_mirrored * np.minimum(chance.geometric(0.7, hosts), MIRRORS_CAP)
        mirror_of = np.repeat(np.arange(hosts), self.mirrors)
        page = ragged(self.start[mirror_of], self.sizes[mirror_of])
        mirror = np.repeat(np.arange(len(mirror_of)), self.sizes[mirror_of])
        # A pair (mirror, directory) has one share: its pages lie one behind the other.
        starts = np.flatnonzero(np.diff(self.directory[page], prepend=-1) | np.diff(mirror, prepend=-1))
        share = np.maximum(0.15, np.minimum(1.0, 1.6 * chance.random(len(starts))))
        place = page - self.directory_first[self.directory[page]]
        kept = chance.random(len(page)) < np.repeat(share, np.diff(starts, append=len(page)))
        listing = np.arange(len(page)) - place + np.maximum(0, (place - 1) // FANOUT)
        kept |= place == 0
        for _ in range(2):  # a page stays reachable: what lists it is kept as well
            kept &= (place == 0) | kept[listing]
        self.mirror_page, self.mirror_size = page[kept], np.bincount(mirror[kept], minlength=len(mirror_of))

    def numbered(self) -> tuple[IntArray, IntArray]:
        """Return the first page of each host, mirrors behind their original, and the draft's host of each."""
        mirror_of = np.repeat(np.arange(len(self.sizes)), 1 + self.mirrors)
        is_mirror = np.diff(mirror_of, prepend=-1) == 0
        sizes = np.zeros(len(mirror_of), np.int64)
        sizes[~is_mirror] = self.sizes + self.dust + self.months + self.facets
        sizes[is_mirror] = self.mirror_size
        return np.concatenate([[0], np.cumsum(sizes)]), mirror_of


def _steps(chance: np.random.Generator, shares: tuple[tuple[int, float], ...], n: int) -> IntArray:
    """Draw *n* steps on the ring of subjects."""
    drawn = np.searchsorted(np.cumsum([share for _, share in shares]), chance.random(n))
    anywhere = chance.integers(SUBJECTS, size=n)
    steps = np.array([*(step for step, _ in shares), 0])[drawn]
    found: IntArray = np.where(drawn < len(shares), steps, anywhere)
    return found


def sums_to_root(parent: IntArray, value: IntArray) -> IntArray:
    """Return the sum of *value* over each node and its ancestors; the root is node 0, its own parent."""
    total, parent = value.copy(), parent.copy()
    root, total[0] = value[0], 0
    while parent.any():
        total += total[parent]
        parent = parent[parent]
    total += root
    return total


class _Pages:
    """The pages of *draft* as they are numbered in the web: what each is, and which page of the draft it shows."""

    def __init__(self, draft: _Draft, host_start: IntArray, is_mirror: BoolArray) -> None:
        n = int(host_start[-1])
        own = host_start[:-1][~is_mirror]
        self.number = own[draft.host] + np.arange(draft.n) - draft.start[draft.host]
        self.core, self.kind = np.zeros(n, np.int64), np.full(n, PLAIN, np.uint8)
        self.core[self.number] = np.arange(draft.n)
        behind = own + draft.sizes
        for what, sizes in ((DUST, draft.dust), (CALENDAR, draft.months), (FACET, draft.facets)):
            rows = ragged(behind, sizes)
            self.kind[rows] = what
            self.core[rows] = draft.dust_source if what == DUST else np.repeat(draft.start[:-1], sizes)
            behind = behind + sizes
        mirrored = ragged(host_start[:-1][is_mirror], np.diff(host_start)[is_mirror])
        self.kind[mirrored], self.core[mirrored] = MIRRORED, draft.mirror_page
        self.source = np.arange(n)
        is_copy = (self.kind == DUST) | (self.kind == MIRRORED)
        self.source[is_copy] = self.number[self.core[is_copy]]


def _cut(
    draft: _Draft, chance: np.random.Generator, host_start: IntArray, mirror_of: IntArray, pages: int, seed: int
) -> Plan:
    """Number the pages of *draft* and leave out those from *pages* on."""
    is_mirror = np.diff(mirror_of, prepend=-1) == 0
    own = np.flatnonzero(~is_mirror)  # the number of each host of the draft
    numbered = _Pages(draft, host_start, is_mirror)
    entrance = numbered.number[draft.any_page(chance, np.maximum(mirror_of, 1))]
    entrance[own] = numbered.number[draft.entrance]
    entrance[0] = -1
    hosts = int(np.searchsorted(host_start, pages))
    cut_start = np.minimum(host_start[: hosts + 1], pages)
    first = numbered.number[draft.directory_first]
    directories = int(np.searchsorted(first, pages))
    core = numbered.core[:pages]
    return Plan(
        seed,
        host_start=cut_start,
        original=own[mirror_of[:hosts]],
        core=np.minimum((draft.sizes[mirror_of] * ~is_mirror)[:hosts], np.diff(cut_start)),
        first_directory=np.searchsorted(first, cut_start),
        entrance=entrance[:hosts],
        directory_first=first[:directories],
        directory_size=np.minimum(draft.directory_size[:directories], pages - first[:directories]),
        directory_parent=draft.directory_parent[:directories],
        directory=draft.directory[core].astype(np.int32),
        kind=numbered.kind[:pages],
        source=numbered.source[:pages].astype(np.int32),
        subject=draft.subject[core],
        strength=draft.strength[core],
    )


def is_labelled(plan: Plan, subjects: range, strength: float) -> BoolArray:
    """Return the pages whose subject is one of *subjects* and that have at least *strength* of their words from it."""
    labelled: BoolArray = (plan.subject.astype(np.int64) - subjects.start) % SUBJECTS < len(subjects)
    labelled &= (plan.strength >= strength) & (plan.kind != CALENDAR) & (plan.kind != FACET)
    return labelled
