"""The test of a claim: how often what it would suppress is fetched, and when it is refuted. Arithmetic, no store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from scrapy_replica.crawldb.samples import Sample
from scrapy_replica.decision import Outcome
from scrapy_replica.numeric import is_above

GOOD, BAD = 0.02, 0.2
"""The shares of false drops that the test tells apart: eight agreements in a row bring the share that is fetched all
the same down to a fifth, twenty to 1/60."""
MOST_FALSE = 0.05
"""What is above this share of false drops with 97.5 % confidence is refuted: three of ten, two of five."""
FRESH, FADING = 0.5, 0.8
"""Least probability that the first URL of a stratum is drawn with, and its factor for each stratum before: three
samples more for a site of any size."""
UNTOLD = 5
"""Samples of too little text to tell that refute a claim as well, if they outnumber the settled ones 2 to 1."""
MOST_OPEN = 24
"""Samples under way that count as agreeing: as many as a page full of links brings at an even chance; without a bound
a list of 3,000 links would be one test."""

_DIGITS = re.compile(r"\d+")


@dataclass(slots=True)
class ClaimTest:
    """What the samples of one claim showed."""

    outcomes: Counter[Outcome | None] = field(default_factory=Counter)
    """Samples by their outcome; ``None``: those under way."""
    met: set[tuple[int, str]] = field(default_factory=set)
    """Key of the page that a sample is held against, and the arguments that the page lacks: one page is one sample, by
    however many values of these it is met.
    """
    strata: set[str] = field(default_factory=set)
    agreed: Counter[str] = field(default_factory=Counter)
    """Argument that the page of a sample lacks -> samples with it that agree or are under way."""

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> ClaimTest:
        """Return what *samples* show, in whatever order they are."""
        test = cls()
        for sample in samples:
            test.add(sample.outcome, sample.representative, sample.stratum)
        return test

    def add(self, outcome: Outcome | None, representative: int | None, stratum: str) -> None:
        """Count a sample."""
        self.strata.add(stratum)
        if representative is not None:
            self.met.add((representative, lacking(stratum)))
        self._count(outcome, stratum, 1)

    def settle(self, before: Outcome | None, outcome: Outcome, stratum: str) -> None:
        """Count a sample of *stratum* that was counted as *before* as *outcome*."""
        self._count(before, stratum, -1)
        self._count(outcome, stratum, 1)

    def _count(self, outcome: Outcome | None, stratum: str, by: int) -> None:
        self.outcomes[outcome] += by
        for argument in lacking(stratum).split("&") if outcome in {None, Outcome.SAME} else ():
            self.agreed[argument] += by

    @property
    def n_samples(self) -> int:
        """Samples, settled or not."""
        return sum(self.outcomes.values())

    def likelihood_ratio(self, n_agreed: int, stratum: str | None = None) -> float:
        """Return Wald's ratio (1945) of a claim wrong in :data:`BAD` of its drops to one in :data:`GOOD`.

        *n_agreed* comparisons agreed before the claim came into force. Of several arguments that a rule takes away one
        may name the page: in a *stratum* that has some of them only samples that test each of these speak for it.
        """
        other, under_way = self.outcomes[Outcome.OTHER], min(self.outcomes[None], MOST_OPEN)
        agreed = self.outcomes[Outcome.SAME] + under_way
        if stratum is not None and (arguments := lacking(stratum)):
            agreed = min(agreed, *(self.agreed[argument] for argument in arguments.split("&")))
        agreed += n_agreed
        ratio: float = ((1 - BAD) / (1 - GOOD)) ** agreed * (BAD / GOOD) ** other
        return ratio

    def probability(self, stratum: str | None, n_agreed: int, least: float) -> float:
        """Return the probability that a URL of *stratum* is fetched all the same, *least* to 1.

        *stratum* is ``None`` for several rules at once: each single rule draws a first sample in each stratum.
        """
        fresh = FRESH * FADING ** len(self.strata) if stratum is not None and stratum not in self.strata else 0.0
        return min(1.0, max(least, self.likelihood_ratio(n_agreed, stratum), fresh))

    @property
    def is_refuted(self) -> bool:
        """Whether the claim is wrong too often, or nothing can be told of most samples.

        The exact bound, since Wald's own threshold assumes one of two shares, and what costs pages is any share above
        it. Looking after each sample ends some good claims; that costs fetches only.
        """
        other, unknown = self.outcomes[Outcome.OTHER], self.outcomes[Outcome.UNKNOWN]
        settled = other + self.outcomes[Outcome.SAME]
        return is_above(MOST_FALSE, other, settled) or (unknown >= UNTOLD and unknown > 2 * settled)


def stratum_of(url: str, representative: str | None = None) -> str:
    """Return the part of its site that *url* lies in: two components of its path, digits folded, its arguments, and
    after a ``#`` those that its *representative* lacks.
    """
    base, names = url.partition("?")[0], _names(url)
    lacks = "&".join(sorted(names - _names(representative))) if representative is not None else ""
    place = f"{_DIGITS.sub('0', '/'.join(base.split('/', 5)[3:5]))}?{'&'.join(sorted(names))}"
    return f"{place}#{lacks}" if lacks else place


def lacking(stratum: str) -> str:
    """Return the arguments of URLs of *stratum* that their representatives lack, ``&`` between them."""
    return stratum.partition("#")[2]


def _names(url: str) -> set[str]:
    query = url.partition("#")[0].partition("?")[2]
    return {argument.partition("=")[0] for argument in query.split("&")}
