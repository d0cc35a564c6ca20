"""Trials: what is to be dropped is fetched all the same, often at first and ever more seldom as it proves right."""

from __future__ import annotations

import logging
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import mmh3

from scrapy_replica import words
from scrapy_replica.crawldb.contract import Saved
from scrapy_replica.crawldb.samples import Sample, SampleStore
from scrapy_replica.decision import TESTED, Action, Decision, Outcome, Reason
from scrapy_replica.numeric import is_above, weighted_share

logger = logging.getLogger(__name__)

GOOD, BAD = 0.02, 0.2
"""The shares of false drops that the test tells apart: eight agreements in a row bring the share that is fetched all
the same down to a fifth, twenty to 1/60."""
MOST = 0.05
"""What is above this share of false drops with 97.5 % confidence ends: three of ten, two of five."""
CORNER = 0.5
"""Least probability that the first URL of a corner of a site is drawn with, 0.8 of that for the next corner, and so on:
three samples more for a site of any size."""
UNTOLD = 5
"""Samples that nothing can be told of, and twice as many as of the others, after which what they test ends as well."""
ENOUGH = 5_000
"""Samples of one cause after which what nobody drew is none any more: in ``observe`` mode every URL would be one."""
MAX_RECORDS = 10_000
"""Causes whose record is in memory, about 1 kB each; others are read again."""


RETIRED = "before pass"
"""Begins the cause of a sample that was settled in an earlier pass over the job."""

_DIGITS = re.compile(r"\d+")


@dataclass(slots=True)
class Record:
    """What the samples of one cause showed."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    n_drawn: int = 0
    targets: set[int] = field(default_factory=set)
    """Keys of the pages that samples were drawn for."""
    corners: set[str] = field(default_factory=set)
    is_refuted: bool = False

    def odds(self, n_agreed: int) -> float:
        """Return Wald's likelihood ratio (1945) of a cause wrong in :data:`BAD` of its drops to one in :data:`GOOD`.

        A sample that is not settled yet counts as one that agrees, so that a page full of links is not fetched whole.
        *n_agreed* comparisons agreed before.
        """
        other = self.outcomes[Outcome.OTHER]
        agreed = n_agreed + self.n_drawn - other - self.outcomes[Outcome.UNKNOWN] - self.outcomes[Outcome.FAILED]
        ratio: float = ((1 - BAD) / (1 - GOOD)) ** agreed * (BAD / GOOD) ** other
        return ratio

    def settle(self, outcome: Outcome) -> None:
        """Count *outcome*; what is refuted stays so."""
        self.outcomes[outcome] += 1
        other, unknown = self.outcomes[Outcome.OTHER], self.outcomes[Outcome.UNKNOWN]
        told = other + self.outcomes[Outcome.SAME]
        self.is_refuted |= is_above(MOST, other, told) or (unknown >= UNTOLD and unknown > 2 * told)


class Trials:
    """A sequential test on every verdict, every rule, and every other reason on a host.

    Of what a cause is to drop a URL is fetched all the same with the probability that Wald's likelihood ratio gives,
    between 1 and ``REPLICA_EXPLORE``: the ratio is the odds, even ones to begin with, that the cause is a bad one. It
    falls fast while samples agree and rises tenfold with each that does not. A cause ends when the exact lower bound of
    its share of false drops passes :data:`MOST`: Wald's own upper threshold assumes one of two shares, and what costs
    pages is any share above the bound. Looking after each sample ends some good causes; that costs fetches only.

    One page is one sample, by however many URLs it is met.

    :param explore: least probability; 0 draws none.
    :param salt: what draws depend on besides the URL; unknown to the sites, which would be honest where they are looked
        at.
    :param key: URL -> 64 bits of its request fingerprint, signed.
    """

    def __init__(self, samples: SampleStore, explore: float, salt: int, key: Callable[[str], int]) -> None:
        self._samples, self._explore, self._salt, self._key = samples, explore, salt, key
        self._records: dict[str, Record] = {}
        self._sums: defaultdict[Reason, defaultdict[Outcome, float]] = defaultdict(partial(defaultdict, float))
        """Reason -> outcome -> URLs that the settled samples stand for."""
        self._squares: defaultdict[Reason, float] = defaultdict(float)
        self.n_settled = self.n_false = 0
        for reason, outcome, weight, square, n in samples.settled():
            self._count(reason, outcome, weight, square, n)

    def _record(self, cause: str) -> Record:
        record = self._records.get(cause)
        if record is None:
            if len(self._records) >= MAX_RECORDS:
                self._records.clear()
            record = self._records[cause] = Record()
            for sample in self._samples.of_cause(cause):
                self._take(record, sample)
                if sample.outcome is not None:
                    record.settle(sample.outcome)
        return record

    @staticmethod
    def _take(record: Record, sample: Sample) -> None:
        record.n_drawn += 1
        record.corners.add(sample.corner)
        if sample.target is not None:
            record.targets.add(sample.target)

    def has_refuted(self, cause: str) -> bool:
        """Tell whether its samples ended *cause*."""
        return self._record(cause).is_refuted

    def of(self, reason: Reason) -> list[str]:
        """Return the causes that are *reason* on some host and of which samples were drawn in this run."""
        known = [(cause, record) for cause, record in self._records.items() if record.n_drawn]
        return [cause for cause, _ in known if cause.startswith(f"{reason.value} on ")]

    @property
    def are_drawn(self) -> bool:
        """Whether there are samples at all."""
        return self._explore > 0

    def odds(self, cause: str, n_agreed: int) -> float:
        """Return the odds that *cause* is a bad one."""
        return self._record(cause).odds(n_agreed)

    def heed(self, causes: Iterable[str]) -> list[str]:
        """Read anew what samples of *causes* showed elsewhere; return those that are refuted and were not before."""
        before = {cause: self._records.pop(cause, None) for cause in causes}
        return [
            cause for cause, one in before.items() if self.has_refuted(cause) and (one is None or not one.is_refuted)
        ]

    # Drawing

    def draw(self, decision: Decision, url: str) -> Decision:
        """Return *decision* about *url*, or that it is fetched all the same as a sample."""
        is_tested = decision.action in {Action.DROP, Action.REWRITE} and decision.reason in TESTED
        if not is_tested or not self.are_drawn:
            return decision
        records = [self._record(cause) for cause in decision.causes]
        target, corner = self._key(decision.target or url), corner_of(url)
        if any(target in record.targets for record in records):
            return decision
        probability = max(self._probability(record, decision.n_agreed, corner) for record in records)
        # By the page, not by chance: its other spellings are drawn or left alike, and a crawl can be repeated.
        if mmh3.hash64(target.to_bytes(8, "big", signed=True), self._salt, signed=False)[0] >= probability * (1 << 64):
            return decision
        for record in records:
            record.n_drawn += 1
            record.targets.add(target)
            record.corners.add(corner)
        return replace(decision, action=Action.FETCH, is_sampled=True, weight=1 / probability)

    def _probability(self, record: Record, n_agreed: int, corner: str) -> float:
        fresh = CORNER * 0.8 ** len(record.corners) if corner not in record.corners else 0.0
        return min(1.0, max(self._explore, record.odds(n_agreed), fresh))

    def begin(self, url_id: int, url: str, decision: Decision) -> None:
        """Write down that the URL of that id is fetched although *decision* was to drop it."""
        if not decision.is_sampled and self._record(decision.causes[0]).n_drawn >= ENOUGH:
            return
        target = self._key(decision.target) if decision.target is not None else None
        corner = corner_of(url)
        reasons: list[Reason | None] = [decision.reason, *[None] * len(decision.causes)]
        samples = [
            Sample(url_id, cause, reason, target, corner, decision.weight)
            for cause, reason in zip(decision.causes, reasons, strict=False)
        ]
        self._samples.enter(samples)
        if not decision.is_sampled:
            for sample in samples:
                self._take(self._record(sample.cause), sample)

    def audit(self, saved: Saved, reason: Reason, url: str) -> None:
        """Write down that *url*, which was *saved*, is fetched after all as a sample that stands for itself."""
        sample = Sample(saved.id, saved.cause, reason, saved.target, corner_of(url), 1.0)
        self._samples.enter([sample])
        self._take(self._record(saved.cause), sample)

    # What they showed

    def is_sample(self, url_id: int) -> bool:
        """Tell whether the URL of that id was drawn, in this pass over the job."""
        return any(not sample.cause.startswith(RETIRED) for sample in self._samples.of_url(url_id))

    def open_of(self, url_id: int) -> list[Sample]:
        """Return the samples that the URL of that id is and that are not settled."""
        return [sample for sample in self._samples.of_url(url_id) if sample.outcome is None]

    def awaiting(self, target: int) -> list[int]:
        """Return the ids of the samples that wait to be held against the URL with key *target*."""
        return self._samples.awaiting(target)

    def settle(self, url_id: int, outcome: Outcome, cause: str | None = None) -> list[str]:
        """Take note what fetching a sample showed, of one *cause* or of all; return the causes that this ends."""
        return self._settled(self._samples.settle(url_id, outcome, cause), outcome)

    def reconsider(self, url_id: int) -> list[str]:
        """Take note that a sample is another page, whatever it seemed to be; return the causes that this ends."""
        ended = self.settle(url_id, Outcome.OTHER)
        samples = self._samples.reconsider(url_id)
        for sample in samples:
            self._record(sample.cause).outcomes[Outcome.SAME] -= 1
            if sample.reason is not None:
                self._count(sample.reason, Outcome.SAME, -sample.weight, -(sample.weight**2), -1)
        return ended + self._settled(samples, Outcome.OTHER)

    def _settled(self, samples: Iterable[Sample], outcome: Outcome) -> list[str]:
        ended = []
        for sample in samples:
            record = self._record(sample.cause)
            was_refuted = record.is_refuted
            record.settle(outcome)
            if record.is_refuted and not was_refuted:
                ended.append(sample.cause)
                other, same = record.outcomes[Outcome.OTHER], record.outcomes[Outcome.SAME]
                told = "Not any more: %s (%s of it turned out to be pages of their own, %d did not)"
                logger.info(told, words.cause(sample.cause), words.counted(other, "sample"), same)
            if sample.reason is not None:
                self._count(sample.reason, outcome, sample.weight, sample.weight**2, 1)
        return ended

    def _count(self, reason: Reason, outcome: Outcome, weight: float, square: float, n: int) -> None:
        self._sums[reason][outcome] += weight
        if outcome in {Outcome.SAME, Outcome.OTHER}:
            self._squares[reason] += square
            self.n_settled += n
            self.n_false += n * (outcome is Outcome.OTHER)

    def rate(self, *reasons: Reason) -> tuple[float, float, float] | None:
        """Return the share of false drops of all or some *reasons* and its 95 % interval; ``None`` without samples.

        Each sample stands for as many URLs as it was seldom drawn.
        """
        asked = reasons or tuple(self._sums)
        other = sum(self._sums[reason][Outcome.OTHER] for reason in asked)
        told = other + sum(self._sums[reason][Outcome.SAME] for reason in asked)
        return weighted_share(other, told, sum(self._squares[reason] for reason in asked))

    @property
    def reasons(self) -> list[Reason]:
        """The reasons that were sampled."""
        return list(self._sums)


def corner_of(url: str) -> str:
    """Return the part of its site that *url* lies in: two components of its path, digits folded, and its arguments."""
    base, _, query = url.partition("?")
    names = "&".join(sorted({argument.partition("=")[0] for argument in query.split("&")}))
    return f"{_DIGITS.sub('0', '/'.join(base.split('/', 5)[3:5]))}?{names}"
