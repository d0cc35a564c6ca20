"""When a crawl learns its topic again, from which of its pages, and what its links are worth then."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from scrapy_replica.focus.links import directories
from scrapy_replica.records import Link

GROWTH = 4
"""The topic is learnt again at the end of the warm-up, and whenever there are so many times as many pages ..."""
MOST_PAGES = 4_000
"""... up to so many."""
CHOOSES_AT = 960
"""Pages before which none of them is taken for an example of a topic in words: of 240 the best are too often others."""
MOST_UNLABELLED = 1_000
"""Pages of the crawl that the model is given."""
POWER = 0.75
"""With a topic alone, mean Pref of best-first with anchors over five topics of three crawls, two draws: .886; with the
root .878, with all pages .883, with those of the warm-up alone .855; without the ones that the model before took for
relevant .872."""


def next_stage(pages: int, warm_up: int) -> int | None:
    """Return the number of pages, more than *pages*, at which the topic is learnt again; ``None`` if there is none."""
    stage = warm_up
    while 0 < stage <= max(warm_up, MOST_PAGES):
        if stage > pages:
            return stage
        stage *= GROWTH
    return None


def unlabelled(urls: Sequence[str], warm_up: int) -> list[int]:
    """Return the places of the pages, among *urls* in the order of the crawl, that the model is to be given.

    Later pages of a good crawl are on topic, and a model that takes them for others breaks. The directories that they
    lie in are few: beside the pages of the *warm_up* n ** ``POWER`` of a directory with n later pages are taken, evenly
    in their order, and of all these at most ``MOST_UNLABELLED``.
    """
    of_directory: dict[str, list[int]] = defaultdict(list)
    for place, url in enumerate(urls[warm_up:], warm_up):
        of_directory[directories(url)[-1]].append(place)
    later = [place for places in of_directory.values() for place in even(places, math.ceil(len(places) ** POWER))]
    return even([*range(min(warm_up, len(urls))), *sorted(later)], MOST_UNLABELLED)


def even(places: Sequence[int], most: int) -> list[int]:
    """Return at most so many of *places*, evenly spread."""
    if len(places) <= most:
        return list(places)
    return [places[place] for place in np.linspace(0, len(places) - 1, most).astype(int).tolist()]


class BestScores:
    """The best score of each link of the pages that a strategy is shown once more."""

    def __init__(self) -> None:
        self.scores: dict[str, float] = {}
        """URL -> score."""

    def add(self, links: Sequence[Link], scores: Sequence[float], moved: Mapping[str, float]) -> None:
        """Take the *scores* of a page's links, and those of links found earlier that were *moved*."""
        best = self.scores
        for link, score in zip(links, scores, strict=True):
            best[link.url] = max(score, best.get(link.url, score))
        best.update((url, score) for url, score in moved.items() if url in best)
