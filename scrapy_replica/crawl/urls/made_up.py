"""Mazes of text that a machine wrote: by what the text says, or by the way in.

What a text is about comes back in it, and what a machine strings together does not.

Word adaptation (Church: Empirical estimates of adaptation, COLING 2000): a rare word that stands in a text once stands
there again far more often than chance has it. Of Markov chains over other texts that is not so: their words are as
frequent as in any other page of the chain. One that copies whole phrases repeats words of the phrase, but none a
hundred words on. Only prose in paragraphs is measured so. Lists of names, tables and code are none, and lists of
sayings, headlines and the like are about something else in each line: of lines it is asked as well whether their words
remember more than the last one or two (:mod:`~scrapy_replica.crawl.urls.chains`).

What a language model writes reads as prose does. Who builds a labyrinth of that keeps readers out of it: the links that
lead in are hidden, or ask not to be followed, and those in it lead to more of it.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import mmh3
import numpy as np

from scrapy_replica.crawl.urls.chains import LINE, odds_ratio
from scrapy_replica.pages.stop_words import STOP_WORDS
from scrapy_replica.pages.terms import spans
from scrapy_replica.records import Page
from scrapy_replica.urls.shapes import TrapKind

WINDOW = 30
"""Pages of a place that are measured together: of one page alone nothing is known."""
LEAST = 0.05
"""Adaptation below which a window is made up; see docs/dust for what real directories and babble have."""
APART = 100
"""Words between two places of a stem that no phrase reaches over."""
LEAST_APART = 0.007
"""Adaptation over that distance below which two windows together are made up."""
LEAST_IN_LINES = 0.1
"""Adaptation of the last window below which the lines of two are made up if they are a chain."""
CHAIN = 1.4
"""Odds ratio below which words are a chain: of directories it is 1.69 and more, of chains 1.35 and less."""
TELLING = 3.0
"""What has to tell of that ratio."""
ORDERS = (1, 2)
"""Orders of chains that are looked for in the lines of two windows."""
LONG_ORDER, LONG, TELLING_LONG = 3, 4 * WINDOW, 12.0
"""Order looked for in so many pages and in twice as many, and what has to tell of it; 60 pages repeat too few runs
of three words. Of chains the ratio is 1.27 and less then, of real directories 1.79 and more; if less tells, 1.15."""
MOST_WORDS = 400
"""Words of a page, and ends of lines, that are held for that."""
LONG_PAGE = 250
"""Words without which a page says nothing about that distance."""
PARAGRAPH = 50
"""Words of a line that is a paragraph; half of the words of a page stand in such lines, or it says nothing."""
MIN_STEMS = 15
"""Rare stems without which a page says nothing."""
MIN_STEMS_IN_LINES = 5
"""The same where it has no paragraphs."""
MIN_PROSE = 0.2
"""Share of stop words: in prose a third to a half, in lists and tables less than a tenth."""
RARE = 0.2
"""A rare stem stands on at most this share of the other pages of its window."""
INWARD = 0.8
"""Share of the links of a labyrinth's pages to their own host that lead to more of it. A menu, a way home lead out."""
MAX_WAYS = 1_000
"""Places of a host of which is held whether a reader is led there. A host with more holds no labyrinth."""
MAX_PLACES = 100
"""Places of a host that are measured; the one observed least recently is forgotten first."""
MAX_IDS = 2_000
"""Pages of a made-up place that are remembered; what an older one led to does not wait."""
_COUNT = (1 << 7) - 1
"""Bits of a packed stem that say how often it stands on the page."""
_FAR = 1 << 7
"""Bit that says that two of these places are :data:`APART`; those above are its hash."""
_HASH = 0xFFFFFFFF & ~(_COUNT | _FAR)


class Stems(NamedTuple):
    """What is measured of a page."""

    packed: array[int]
    words: int
    sequence: array[int]
    """Of its first words, the hash of each as it is written; :data:`LINE` where a line ends."""
    is_flowing: bool
    """Half of its words stand in paragraphs."""


_EMPTY = Stems(array("I"), 0, array("I"), False)


def adaptation(pages: Sequence[Stems], *, is_apart: bool = False, least: int = MIN_STEMS) -> float | None:
    """Return how much more often than by chance rare stems that stand on a page stand there again, mean over pages.

    Where it *is_apart*, only :data:`APART` words on. Chance is a Poisson law with the rate of the stem on the other
    pages. ``None`` where a fifth of the pages or more have fewer than *least* rare stems, or words for that distance.
    """
    stems = np.concatenate([np.frombuffer(page.packed, np.uint32) for page in pages])
    owner = np.repeat(np.arange(len(pages)), [len(page.packed) for page in pages])
    counts, words = (stems & _COUNT).astype(np.float64), np.array([max(1, page.words) for page in pages])
    _, which, spread = np.unique(stems & _HASH, return_inverse=True, return_counts=True)
    of_page = np.bincount(owner, counts, len(pages))
    elsewhere = np.maximum(1, of_page.sum() - of_page)[owner]
    expected = np.maximum(1e-6, (np.bincount(which, counts)[which] - counts) * of_page[owner] / elsewhere)
    again = 1 - expected * np.exp(-expected) / -np.expm1(-expected)
    if is_apart:  # so far from each other are two places of a page, wherever they lie
        again *= np.maximum(0, 1 - APART / words)[owner] ** 2
    is_again = (stems & _FAR) > 0 if is_apart else counts > 1
    is_rare = spread[which] - 1 <= RARE * (len(pages) - 1)
    n_rare = np.bincount(owner[is_rare], minlength=len(pages))
    beyond = np.bincount(owner[is_rare], (is_again - again)[is_rare], len(pages))
    tells = (n_rare >= least) & (words >= (LONG_PAGE if is_apart else 0))
    return float((beyond[tells] / n_rare[tells]).mean()) if tells.mean() > 1 - RARE else None


def is_made_up(pages: Sequence[Stems]) -> bool:
    """Tell whether a machine made up the last window of *pages*, or all of them if they are two windows."""
    flowing = [page if page.is_flowing else _EMPTY for page in pages]
    if _is_below(LEAST, adaptation(flowing[-WINDOW:])):
        return True
    if len(pages) < 2 * WINDOW:
        return False
    return _is_below(LEAST_APART, adaptation(flowing, is_apart=True)) or (
        _forgets(pages) and any(_is_chain(pages, order) for order in ORDERS)
    )


def is_long_chain(pages: Sequence[Stems]) -> bool:
    """Tell whether :data:`LONG` *pages*, or twice as many, are a chain of an order that shows in no fewer."""
    return _forgets(pages) and _is_chain(pages, LONG_ORDER, TELLING_LONG)


def _is_below(least: float, measured: float | None) -> bool:
    return measured is not None and measured < least


def _forgets(pages: Sequence[Stems]) -> bool:
    """Tell whether rare words of the last window hardly come back, in paragraphs or in lines."""
    return _is_below(LEAST_IN_LINES, adaptation(pages[-WINDOW:], least=MIN_STEMS_IN_LINES))


def _is_chain(pages: Sequence[Stems], order: int, telling: float = TELLING) -> bool:
    ratio, tells = odds_ratio([page.sequence for page in pages], order)
    return ratio < CHAIN and tells >= telling


def packed_stems(page: Page, language_default: str) -> Stems | None:
    """Return half of the stems of *page* and its first words; ``None`` where its text is no prose."""
    stop_words = STOP_WORDS.get(page.language or language_default)
    if stop_words is None or len(page.terms) < 2 * MIN_STEMS:
        return None
    words = page.text.lower().split()
    if sum(map(stop_words.__contains__, words)) < MIN_PROSE * len(words):
        return None
    lines = [line.split() for line in page.text.splitlines()]
    is_flowing = 2 * sum(len(line) for line in lines if len(line) >= PARAGRAPH) >= len(words)
    hashes = ((_hash(stem), stem) for stem in page.terms)
    places = spans(page.text, page.language or language_default) if len(words) >= LONG_PAGE and is_flowing else {}
    far = {stem for stem, (first, last) in places.items() if last - first >= APART}
    packed = (h & _HASH | min(page.terms[stem], _COUNT) | _FAR * (stem in far) for h, stem in hashes if h & 1)
    sequence = (number for line in lines for number in (*map(_hash, line), LINE))
    return Stems(array("I", packed), len(words), array("I", islice(sequence, MOST_WORDS)), is_flowing)


def _hash(word: str) -> int:
    return mmh3.hash(word.encode("utf-8", "surrogatepass"), signed=False)


@dataclass(slots=True)
class _Place:
    """The pages of one place."""

    n_pages: int = 0
    stems: deque[Stems] = field(default_factory=lambda: deque(maxlen=2 * LONG))
    is_long_chain: bool = False
    """Its last :data:`LONG` pages, or twice as many, are a chain of the order that shows in no fewer."""
    ids: dict[int, None] = field(default_factory=dict)
    n_links: int = 0
    """Links to its host, and of these the ones that lead to more of the place."""
    n_inward: int = 0
    kind: TrapKind | None = None


class MadeUp:
    """Watches the text and the links of one host, each directory of the first level by itself.

    All of it is held in memory only: where a host is met again it is measured from the first page on.
    """

    def __init__(self) -> None:
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._is_shown: dict[str, bool] = {}
        """Place that pages elsewhere on the host lead to -> whether one of them shows its reader the way."""

    def observe(self, page: Page, url_id: int, language_default: str) -> bool:
        """Take note of a page; return whether it makes a place real again."""
        inward = self.meet(page)
        stems = packed_stems(page, language_default)
        if stems is None:
            return False
        name = _place_of(page.url)
        place = self._places.setdefault(name, _Place())
        self._places.move_to_end(name)
        if len(self._places) > MAX_PLACES:
            self._places.popitem(last=False)
        place.n_pages += 1
        place.stems.append(stems)
        place.n_links += len(inward)
        place.n_inward += sum(inward)
        place.ids[url_id] = None
        if len(place.ids) > MAX_IDS:
            del place.ids[next(iter(place.ids))]
        return place.n_pages % WINDOW == 0 and self._measure(name, place)

    def meet(self, page: Page) -> list[bool]:
        """Take note of where the links of a page to its own host lead; return of each whether it stays in the place."""
        own = _place_of(page.url)
        host = own.partition("/")[0]
        inward = []
        for link in page.links:
            name = _place_of(link.url)
            if name.partition("/")[0] != host:
                continue
            inward.append(name == own)
            is_shown = self._is_shown.get(name)
            if name != own and not is_shown and (is_shown is not None or len(self._is_shown) < MAX_WAYS):
                self._is_shown[name] = not link.is_shy
        return inward

    def is_hidden(self, url: str) -> bool:
        """Tell whether links lead to the place of *url*, and all of them are shy."""
        return self._is_hidden(_place_of(url))

    def _is_hidden(self, name: str) -> bool:
        return len(self._is_shown) < MAX_WAYS and self._is_shown.get(name) is False

    def show(self, url: str) -> None:
        """Take note that somebody leads to *url* who is no page of this host."""
        self._is_shown[_place_of(url)] = True

    def _measure(self, name: str, place: _Place) -> bool:
        was_maze = place.kind is not None
        place.kind = None
        if self._is_hidden(name) and place.n_inward >= INWARD * max(1, place.n_links):
            place.kind = TrapKind.LABYRINTH  # whatever it says: of made-up text less waits
        elif self._is_made_up(place):
            place.kind = TrapKind.MADE_UP
        elif not _forgets([*place.stems]):
            place.ids = dict.fromkeys([*place.ids][-WINDOW:])  # the older ones are real
        place.n_links = place.n_inward = 0
        return was_maze and place.kind is None

    @staticmethod
    def _is_made_up(place: _Place) -> bool:
        pages = [*place.stems]
        if is_made_up(pages[-2 * WINDOW :]):
            return True
        if place.n_pages % LONG == 0:  # 27 ms, and 63 ms of twice as many: not with each window
            place.is_long_chain = is_long_chain(pages)
        elif place.is_long_chain:
            place.is_long_chain = _forgets(pages)
        return place.is_long_chain

    def maze_of(self, url: str, parent: int | None) -> tuple[TrapKind, str] | None:
        """Return kind and place of the maze that *url*, found on the page with the id *parent*, leads on in.

        What other pages lead to in made-up text may be said by somebody; into a labyrinth lead hidden links alone.
        """
        name = _place_of(url)
        place = self._places.get(name)
        if place is None or place.kind is None:
            return None
        leads_on = parent in place.ids if place.kind is TrapKind.MADE_UP else self._is_hidden(name)
        return (place.kind, name) if leads_on else None

    def __len__(self) -> int:
        places = self._places.values()
        return len(self._is_shown) + sum(14 * len(place.stems) + len(place.ids) for place in places)


@lru_cache(4_096)
def _place_of(url: str) -> str:
    """Return host and first directory of *url*; the host where it lies in none."""
    parts = url.partition("?")[0].split("/", 4)
    return "/".join(parts[2:4] if len(parts) > 4 else parts[2:3])
