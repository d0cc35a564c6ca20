"""Made-up text: what a text is about comes back in it, and what a machine strings together does not.

Word adaptation (Church: Empirical estimates of adaptation, COLING 2000): a rare word that stands in a text once stands
there again far more often than chance has it. Of Markov chains over other texts that is not so: their words are as
frequent as in any other page of the chain. Only prose is measured. Lists of names, tables and code are none.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import mmh3
import numpy as np

from scrapy_replica.pages.stop_words import STOP_WORDS
from scrapy_replica.records import Page
from scrapy_replica.urls.budgets import path_prefixes

WINDOW = 30
"""Pages of a place that are measured together: of one page alone nothing is known."""
LEAST = 0.05
"""Adaptation below which a window is made up; see docs/dust for what real directories and babble have."""
MIN_STEMS = 15
"""Rare stems without which a page says nothing."""
MIN_PROSE = 0.2
"""Share of stop words: in prose a third to a half, in lists and tables less than a tenth."""
RARE = 0.2
"""A rare stem stands on at most this share of the other pages of its window."""
MAX_IDS = 2_000
"""Pages of a made-up place that are remembered; what an older one led to does not wait."""
_COUNT = (1 << 8) - 1
"""Bits of a packed stem that say how often it stands on the page; those above are its hash."""


def adaptation(pages: Sequence[array[int]]) -> float | None:
    """Return how much more often than by chance rare stems that stand on a page stand there again, mean over pages.

    *pages* are packed stems. Chance is a Poisson law with the rate of the stem on the other pages. ``None`` where a
    fifth of the pages or more have too few rare stems.
    """
    stems = np.concatenate([np.frombuffer(page, np.uint32) for page in pages])
    owner = np.repeat(np.arange(len(pages)), [len(page) for page in pages])
    counts = (stems & _COUNT).astype(np.float64)
    _, which, spread = np.unique(stems & ~np.uint32(_COUNT), return_inverse=True, return_counts=True)
    of_page = np.bincount(owner, counts, len(pages))
    elsewhere = np.maximum(1, of_page.sum() - of_page)[owner]
    expected = np.maximum(1e-6, (np.bincount(which, counts)[which] - counts) * of_page[owner] / elsewhere)
    again = 1 - expected * np.exp(-expected) / -np.expm1(-expected)
    is_rare = spread[which] - 1 <= RARE * (len(pages) - 1)
    n_rare = np.bincount(owner[is_rare], minlength=len(pages))
    beyond = np.bincount(owner[is_rare], ((counts > 1) - again)[is_rare], len(pages))
    tells = n_rare >= MIN_STEMS
    return float((beyond[tells] / n_rare[tells]).mean()) if tells.mean() > 1 - RARE else None


def packed_stems(page: Page, language_default: str) -> array[int] | None:
    """Return half of the stems of *page*, by their hashes, with their counts; ``None`` where its text is no prose."""
    stop_words = STOP_WORDS.get(page.language or language_default)
    if stop_words is None or len(page.terms) < 2 * MIN_STEMS:
        return None
    words = page.text.lower().split()
    if sum(map(stop_words.__contains__, words)) < MIN_PROSE * len(words):
        return None
    told = ((stem.encode("utf-8", "surrogatepass"), count) for stem, count in page.terms.items())
    hashes = ((mmh3.hash(stem, signed=False), count) for stem, count in told)
    return array("I", (h & ~_COUNT | min(count, _COUNT) for h, count in hashes if h & 1))


@dataclass(slots=True)
class _Place:
    """The pages of one place since it was measured last."""

    stems: list[array[int]] = field(default_factory=list)
    ids: dict[int, None] = field(default_factory=dict)
    is_made_up: bool = False


class MadeUp:
    """Watches the text of one host, each directory of the first level by itself.

    All of it is held in memory only: where a host is met again it is measured from the first page on.

    :param max_places: the place observed least recently is forgotten first.
    """

    def __init__(self, max_places: int = 100) -> None:
        self._places: OrderedDict[str, _Place] = OrderedDict()
        self._max_places = max_places

    def observe(self, page: Page, url_id: int, language_default: str) -> bool:
        """Take note of a page; return whether it makes a place real again that was made up."""
        stems = packed_stems(page, language_default)
        if stems is None:
            return False
        name = _place_of(page.url)
        place = self._places.setdefault(name, _Place())
        self._places.move_to_end(name)
        if len(self._places) > self._max_places:
            self._places.popitem(last=False)
        place.stems.append(stems)
        place.ids[url_id] = None
        if len(place.ids) > MAX_IDS:
            del place.ids[next(iter(place.ids))]
        return len(place.stems) == WINDOW and self._measure(place)

    @staticmethod
    def _measure(place: _Place) -> bool:
        was_made_up, measured = place.is_made_up, adaptation(place.stems)
        place.stems.clear()
        place.is_made_up = measured is not None and measured < LEAST
        if not place.is_made_up:
            place.ids.clear()
        return was_made_up and not place.is_made_up

    def place_of(self, url: str, found_on: int | None) -> str | None:
        """Return the made-up place that *url*, found on the page with the id *found_on*, leads on in, if it does."""
        name = _place_of(url)
        place = self._places.get(name)
        return name if place is not None and place.is_made_up and found_on in place.ids else None

    def __len__(self) -> int:
        return sum(3 * len(place.stems) + len(place.ids) for place in self._places.values())


def _place_of(url: str) -> str:
    """Return host and first directory of *url*; the host where it lies in none."""
    return max(path_prefixes(url.partition("?")[0])[:2], key=len, default="")
