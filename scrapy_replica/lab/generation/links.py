"""The links of pages: navigation, listings of directories, links in the text, and what leads to copies and traps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.lab.arrays import ragged
from scrapy_replica.lab.generation import laws
from scrapy_replica.lab.generation.plan import CALENDAR, DUST, FACET, FACETS, FANOUT, MIRRORED, PLAIN, SUBJECTS, Plan
from scrapy_replica.lab.generation.vocabulary import CHROME
from scrapy_replica.numeric import IntArray

CROSS_STEPS = ((0, 0.55), (1, 0.10), (-1, 0.10), (2, 0.03), (-2, 0.03))
"""Step on the ring of subjects of a link to another host, with its probability; else any, and rather a popular
one: a third of these links lead to the first four subjects."""
UP_SHARE = 0.6
"""Pages that link to the index of their directory: on uci 27 % of all links have one back."""
TELLING = 0.75
"""Anchors that are the title of what they lead to: of uci's anchors 25 % have no rarer word, of the others 98 % have
one that stands on the page."""
LISTED = 1 << 40
"""Links of listings stand behind the navigation, those in the text behind both."""


@dataclass(frozen=True)
class Links:
    """Links of pages, those of the i-th at ``start[i]`` to ``start[i + 1]``, in document order."""

    start: IntArray
    targets: IntArray
    anchors: NDArray[np.int32]
    """Numbers of ``Vocabulary.anchors``."""


class Linker:
    """Draws the links of a plan's pages, those of some hosts at a time."""

    def __init__(self, plan: Plan, titles: Callable[[IntArray], IntArray]) -> None:
        self.plan, self._titles = plan, titles
        chance = np.random.default_rng([plan.seed, 2])
        is_own = plan.original == np.arange(len(plan.original))
        drawn = chance.geometric(1.0 / (1.0 + laws.NAVIGATION_MEAN), len(is_own)) - 1
        self._navigation = np.minimum(np.where(is_own, drawn, 0), np.diff(plan.first_directory))
        self._by_entrance = np.argsort(plan.entrance, kind="stable")
        self._entrances = plan.entrance[self._by_entrance]
        subject = plan.subject[plan.directory_first]
        self._by_subject = np.argsort(subject, kind="stable")
        self._subject_start = np.searchsorted(subject[self._by_subject], np.arange(SUBJECTS + 1))

    def navigation(self, pages: IntArray) -> IntArray:
        """Return how many links of each of *pages* lead where all pages of its host do; they come first."""
        host = self.plan.original[self.plan.host_of(pages)]
        return self._navigation[host]

    def links(self, chance: np.random.Generator, hosts: range) -> Links:
        """Draw the links of the pages of *hosts*, whose mirrors are among them."""
        plan = self.plan
        first, stop = (int(plan.host_start[host]) for host in (hosts.start, hosts.stop))
        page = np.arange(first, stop)
        host = np.repeat(np.arange(hosts.start, hosts.stop), np.diff(plan.host_start[hosts.start : hosts.stop + 1]))
        is_shown = plan.source[first:stop] == page
        plain = plan.kind[first:stop] == PLAIN
        edges = [
            self._navigate(page[is_shown], host[is_shown]),
            self._list(chance, page[plain], host[plain]),
            self._up(chance, page[plain]),
            self._enter(chance, first, stop),
            self._mention(chance, page[plain], host[plain]),
            *self._to_copies(chance, page, host),
            *self._trap(page, host),
        ]
        source, target, order = (np.concatenate(columns) for columns in zip(*edges, strict=True))
        kept = (target < len(plan)) & (source != target)
        source, target = source[kept], target[kept]
        start, chosen = in_order(source - first, target, order[kept], stop - first)
        own = self._anchored(chance, Links(start, target[chosen], np.zeros(0, np.int32)))
        return self._with_copies(own, first, stop)

    def _navigate(self, page: IntArray, host: IntArray) -> _Edges:
        count = self._navigation[host]
        place = ragged(np.zeros(len(page), np.int64), count)
        target = self.plan.directory_first[np.repeat(self.plan.first_directory[host], count) + place]
        return np.repeat(page, count), target, place

    def _list(self, chance: np.random.Generator, page: IntArray, host: IntArray) -> _Edges:
        """A directory's index lists its pages and directories."""
        plan = self.plan
        directory = plan.directory[page]
        index = plan.directory_first[directory]
        place = page - index
        listing = np.where(
            place > 0, index + (place - 1) // FANOUT, plan.directory_first[plan.directory_parent[directory]]
        )
        is_front = (place == 0) & (page == plan.host_start[host])
        order = LISTED + chance.integers(LISTED, size=len(page))
        return listing[~is_front], page[~is_front], order[~is_front]

    def _up(self, chance: np.random.Generator, page: IntArray) -> _Edges:
        goes = page[chance.random(len(page)) < UP_SHARE]
        return goes, self.plan.directory_first[self.plan.directory[goes]], np.full(len(goes), LISTED)

    def _enter(self, chance: np.random.Generator, first: int, stop: int) -> _Edges:
        """The link to the first page of another host by which it can be reached for certain."""
        span = slice(*np.searchsorted(self._entrances, [first, stop]).tolist())
        target = self.plan.host_start[self._by_entrance[span]]
        return self._entrances[span], target, 2 * LISTED + chance.integers(LISTED, size=len(target))

    def _mention(self, chance: np.random.Generator, page: IntArray, host: IntArray) -> _Edges:
        """Links in the text."""
        count = laws.lognormal(chance, laws.LINKS_LOG_MEAN, laws.LINKS_LOG_SD, laws.LINKS_CAP, len(page))
        count[chance.random(len(page)) < laws.LINKS_ZERO] = 0
        source, host = np.repeat(page, count), np.repeat(host, count)
        kind, place = chance.random(len(source)), chance.random(len(source))
        near, far = kind < laws.LINKS_IN_DIRECTORY, kind >= laws.LINKS_IN_HOST
        size, start = self.plan.core[host], self.plan.host_start[host]
        target = start + (size * place**laws.SKEW).astype(np.int64)
        directory = self.plan.directory[source[near]]
        size = self.plan.directory_size[directory]
        target[near] = self.plan.directory_first[directory] + (size * place[near]).astype(np.int64)
        target[far] = self._elsewhere(chance, source[far])
        return source, target, 2 * LISTED + chance.integers(LISTED, size=len(source))

    def _elsewhere(self, chance: np.random.Generator, source: IntArray) -> IntArray:
        """The index of a directory about the same or a near subject, or about any, then rather about a popular one."""
        drawn = np.searchsorted(np.cumsum([share for _, share in CROSS_STEPS]), chance.random(len(source)))
        step = np.array([*(step for step, _ in CROSS_STEPS), 0])[drawn]
        subject = (self.plan.subject[source] + step) % SUBJECTS
        start, size = self._subject_start[subject], self._subject_start[subject + 1] - self._subject_start[subject]
        anywhere = (drawn == len(CROSS_STEPS)) | (size == 0)
        start[anywhere], size[anywhere] = 0, len(self._by_subject)
        place = start + (size * chance.random(len(source)) ** 3).astype(np.int64)
        found: IntArray = self.plan.directory_first[self._by_subject[place]]
        return found

    def _to_copies(self, chance: np.random.Generator, page: IntArray, host: IntArray) -> list[_Edges]:
        """Two pages of its host lead to each page that is another name of one."""
        copy = np.flatnonzero(self.plan.kind[page] == DUST)
        edges = []
        for _ in range(2):
            start, size = self.plan.host_start[host[copy]], self.plan.core[host[copy]]
            source = start + (size * chance.random(len(copy))).astype(np.int64)
            edges.append((source, page[copy], 2 * LISTED + chance.integers(LISTED, size=len(copy))))
        return edges

    def _trap(self, page: IntArray, host: IntArray) -> list[_Edges]:
        """A calendar leads on month by month, a faceted listing to all that differ in one facet."""
        edges = []
        for what in (CALENDAR, FACET):
            rows = np.flatnonzero(self.plan.kind[page] == what)
            begin = np.flatnonzero(np.diff(host[rows], prepend=-1))
            size = np.diff(begin, append=len(rows))
            own, front = page[rows], self.plan.host_start[host[rows[begin]]]
            start, size, place = np.repeat(own[begin], size), np.repeat(size, size), ragged(np.zeros_like(size), size)
            edges.append((front, own[begin], np.full(len(front), LISTED)))
            for other in (
                (place - 1, place + 1) if what == CALENDAR else (place ^ (1 << bit) for bit in range(FACETS[1]))
            ):
                fits = (other >= 0) & (other < size)
                edges.append((own[fits], (start + other)[fits], np.full(int(fits.sum()), LISTED)))
        return edges

    def _anchored(self, chance: np.random.Generator, links: Links) -> Links:
        """Most anchors are the title of the page they lead to, the others tell nothing."""
        title = self._titles(self.plan.source[links.targets].astype(np.int64))
        is_telling = chance.random(len(title)) < TELLING
        chrome = chance.integers(len(CHROME), size=len(title))
        return Links(links.start, links.targets, np.where(is_telling, title, chrome).astype(np.int32))

    def _with_copies(self, own: Links, first: int, stop: int) -> Links:
        """Give copies the links of their source; those of a mirror lead into the mirror where it has the page."""
        plan = self.plan
        page, kind, source = np.arange(first, stop), plan.kind[first:stop], plan.source[first:stop] - first
        lengths = np.diff(own.start)[source]
        places = ragged(own.start[source], lengths)
        target, anchor, row = own.targets[places], own.anchors[places], np.repeat(page - first, lengths)
        mirrored = np.flatnonzero(kind == MIRRORED)
        # Pages of mirrors as (mirror, page of the original): sorted, since both are.
        keys = plan.host_of(mirrored + first) << 32 | (source[mirrored] + first)
        links = np.flatnonzero(kind[row] == MIRRORED)
        mirror = plan.host_of(row[links] + first)
        wanted = mirror << 32 | plan.source[target[links]]
        is_found = np.isin(wanted, keys)
        target[links[is_found]] = mirrored[np.searchsorted(keys, wanted[is_found])] + first
        original = plan.original[mirror]
        is_inside = (plan.host_start[original] <= target[links]) & (target[links] < plan.host_start[original + 1])
        kept = target != row + first
        kept[links[is_inside]] = False
        order, chosen = in_order(row[kept], target[kept], np.flatnonzero(kept), stop - first)
        chosen = np.flatnonzero(kept)[chosen]
        return Links(order, target[chosen], anchor[chosen])


_Edges = tuple[IntArray, IntArray, IntArray]


def in_order(row: IntArray, target: IntArray, order: IntArray, n: int) -> tuple[IntArray, IntArray]:
    """Return which links of *n* rows stay, of those to one page the first, by row and order, and where rows start."""
    by_target = np.lexsort((order, target, row))
    is_first = np.diff(row[by_target], prepend=-1) != 0
    is_first |= np.diff(target[by_target], prepend=-1) != 0
    kept = by_target[is_first]
    kept = kept[np.lexsort((order[kept], row[kept]))]
    return np.searchsorted(row[kept], np.arange(n + 1)), kept
