"""The test of a claim: how often what it would suppress is fetched, and when it is refuted. Arithmetic, no store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.decision import Outcome

GOOD, BAD = 0.02, 0.2
"""The shares of false drops that the test tells apart: eight agreements in a row bring the share that is fetched all
the same down to a fifth, twenty to 1/60."""
MOST_FALSE = 0.05
"""Of a claim that was wrong twice, the share of its samples above which it is refuted: two of 39, three of 59. Once is
looked into, since a page may be unlike its copy for a reason of its own."""
FRESH, FADING = 0.5, 0.8
"""Least probability that the first URL of a stratum is drawn with, and its factor for each stratum before: three
samples more for a site of any size. A crawl that is ended by a limit has no others of its late parts."""
UNTOLD = 5
"""Samples that refute a claim as well if they outnumber those that tell 2 to 1: of too little text, or because one of
the two failed, the sample otherwise than by being gone. What is asked in vain costs no page, but saves none either."""
MOST_OPEN = 24
"""Samples under way that count as agreeing: as many as a page full of links brings at an even chance; without a bound
a list of 3,000 links would be one test."""


@dataclass(slots=True)
class ClaimTest:
    """What the samples of one claim showed."""

    outcomes: Counter[Outcome | None] = field(default_factory=Counter)
    """Samples by their outcome; ``None``: those under way."""
    met: set[tuple[int, tuple[str, ...]]] = field(default_factory=set)
    """Key of the page that a sample is held against, and the arguments that the page lacks: one page is one sample, by
    however many values of these it is met.
    """
    strata: set[Stratum] = field(default_factory=set)
    agreed: Counter[str] = field(default_factory=Counter)
    """Argument that the page of a sample lacks -> samples with it that agree or are under way."""

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> ClaimTest:
        """Return what *samples* show, in whatever order they are."""
        test = cls()
        for sample in samples:
            test.add(sample.outcome, sample.representative, sample.stratum)
        return test

    def add(self, outcome: Outcome | None, representative: int | None, stratum: Stratum) -> None:
        self.strata.add(stratum)
        if representative is not None:
            self.met.add((representative, stratum.lacks))
        self._count(outcome, stratum, 1)

    def settle(self, before: Outcome | None, outcome: Outcome, stratum: Stratum) -> None:
        self._count(before, stratum, -1)
        self._count(outcome, stratum, 1)

    def _count(self, outcome: Outcome | None, stratum: Stratum, by: int) -> None:
        self.outcomes[outcome] += by
        for argument in stratum.lacks if outcome in {None, Outcome.SAME} else ():
            self.agreed[argument] += by

    @property
    def n_samples(self) -> int:
        """Samples, settled or not."""
        return sum(self.outcomes.values())

    def likelihood_ratio(self, n_agreed: int, stratum: Stratum | None = None) -> float:
        """Return Wald's ratio (1945) of a claim wrong in :data:`BAD` of its drops to one in :data:`GOOD`.

        *n_agreed* comparisons agreed before the claim came into force. Of several arguments that a rule takes away one
        may name the page: in a *stratum* that has some of them only samples that test each of these speak for it.
        """
        other, under_way = self.outcomes[Outcome.OTHER], min(self.outcomes[None], MOST_OPEN)
        agreed = self.outcomes[Outcome.SAME] + under_way
        if stratum is not None:
            agreed = min([agreed, *(self.agreed[argument] for argument in stratum.lacks)])
        agreed += n_agreed
        ratio: float = ((1 - BAD) / (1 - GOOD)) ** agreed * (BAD / GOOD) ** other
        return ratio

    def probability(self, stratum: Stratum | None, n_agreed: int, least: float) -> float:
        """Return the probability that a URL of *stratum* is fetched all the same, *least* to 1.

        *stratum* is ``None`` for several rules at once: each single rule draws a first sample in each stratum.
        """
        fresh = FRESH * FADING ** len(self.strata) if stratum is not None and stratum not in self.strata else 0.0
        return min(1.0, max(least, self.likelihood_ratio(n_agreed, stratum), fresh))

    @property
    def n_told(self) -> int:
        """Samples that were held against their representatives."""
        return self.outcomes[Outcome.OTHER] + self.outcomes[Outcome.SAME]

    @property
    def n_untold(self) -> int:
        """Samples of which nothing can be told."""
        return self.outcomes[Outcome.UNKNOWN] + self.outcomes[Outcome.FAILED]

    @property
    def is_wrong(self) -> bool:
        """Whether the claim is wrong too often.

        The share as it was met, not one that is above the bound for certain: what a claim that is right costs when it
        ends is fetches, and what one costs that is wrong is pages.
        """
        other = self.outcomes[Outcome.OTHER]
        return other > 1 and other > MOST_FALSE * self.n_told

    @property
    def is_refuted(self) -> bool:
        """Whether the claim is wrong too often, or nothing can be told of most samples."""
        return self.is_wrong or (self.n_untold >= UNTOLD and self.n_untold > 2 * self.n_told)
