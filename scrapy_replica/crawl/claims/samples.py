"""Samples: what claims would suppress is fetched all the same, often at first and ever more seldom as it agrees."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain, repeat

import mmh3

from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.claims.claim_test import ClaimTest
from scrapy_replica.crawl.given import KeyOf
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.decision import TESTED_REASONS, Action, Decision, Outcome, Reason
from scrapy_replica.words import phrases, terminal

logger = logging.getLogger(__name__)

ENOUGH = 5_000
"""Samples of one claim after which what nobody drew is none any more: in ``observe`` mode every URL would be one."""
CANDIDATES = frozenset({Reason.OTHER_SCHEME, Reason.OTHER_NAME})
"""Reasons whose claims nothing but their own samples can prove: what waits because of one is sampled as well."""
MAX_TESTS = 10_000
"""Claims whose test is in memory, about 1 kB each; others are read again."""


Pending = defaultdict[Claim, list[tuple[int, Stratum]]]
"""Claim -> key of the representative and stratum of each URL that was drawn and is not entered yet: links of one page
are drawn together."""


class Samples:
    """A sequential test on every claim that rests on evidence.

    Of what a claim would suppress a URL is fetched all the same with the probability that :class:`ClaimTest` gives, at
    least ``REPLICA_EXPLORE``. It is drawn by its representative, the names of the arguments that this lacks and the
    job's salt, so that other values of these are drawn or left alike, and a crawl can be repeated. **Nothing is counted
    when a URL is drawn**: a sample exists from the moment that its row is there.

    :param explore: least probability; 0 draws none.
    :param salt: what draws depend on besides the URL; unknown to the sites, which would be honest where they are looked
        at.
    """

    def __init__(self, store: CrawlDB, explore: float, salt: int, key: KeyOf) -> None:
        self._store, self._explore, self.salt, self._key = store, explore, salt, key
        self._tests: dict[Claim, ClaimTest] = {}
        store.on_rollback.append(self._tests.clear)
        self.doubted: dict[Claim, int] = {}
        """Claims that something spoke against, and that were not looked into since, in that order -> the id of the URL
        that did last."""
        self.wanted: set[int] = set()
        """Ids of representatives that were dropped and are to be fetched: what stands for them is not the sample."""

    def test_of(self, claim: Claim) -> ClaimTest:
        test = self._tests.get(claim)
        if test is None:
            if len(self._tests) >= MAX_TESTS:
                self._tests.clear()
            test = self._tests[claim] = ClaimTest.of(self._store.samples.of_claim(claim))
        return test

    def forget(self, claims: Iterable[Claim]) -> None:
        """Read the samples of *claims* anew when they are needed: other processes added to them."""
        for claim in claims:
            self._tests.pop(claim, None)

    # Drawing

    @property
    def are_drawn(self) -> bool:
        """Whether there are samples at all."""
        return self._explore > 0

    def draw(self, decision: Decision, url: str, pending: Pending | None = None) -> Decision:
        """Return *decision* about *url*, which is new, or that it is fetched all the same as a sample.

        *pending* is what was drawn before and is not entered yet; what is drawn now is added to it.
        """
        is_acting = decision.action in {Action.DROP, Action.REWRITE} or (
            decision.action is Action.DEMOTE and decision.reason in CANDIDATES
        )
        is_tested = is_acting and decision.reason in TESTED_REASONS
        if not is_tested or not self.are_drawn:
            return decision
        pending = pending if pending is not None else Pending(list)
        stands = None if decision.is_gate else decision.representative
        key, stratum = self._key(stands or url), Stratum.of(url, stands)
        tests = [self._with(self.test_of(claim), pending[claim]) for claim in decision.tested]
        if any((key, stratum.lacks) in test.met for test in tests):
            return decision
        probability = max(
            test.probability(
                None if claim.kind is Kind.RULES else stratum,
                self.agreed_before(claim, decision.n_agreed),
                self._explore,
            )
            for claim, test in zip(decision.tested, tests, strict=True)
        )
        if not self._is_drawn(key, stratum, probability):
            return decision
        for claim in decision.tested:
            pending[claim].append((key, stratum))
        return replace(decision, action=Action.FETCH, is_sampled=True, weight=1 / probability)

    def _is_drawn(self, key: int, stratum: Stratum, probability: float) -> bool:
        drawn = key.to_bytes(8, "big", signed=True) + "&".join(stratum.lacks).encode("utf-8", "surrogatepass")
        return mmh3.hash64(drawn, self.salt, signed=False)[0] < probability * (1 << 64)

    def draws(self, test: ClaimTest, url: str) -> bool:
        """Tell whether *url*, about which nothing is decided, is drawn for *test*."""
        stratum = Stratum.of(url)
        return self._is_drawn(self._key(url), stratum, test.probability(stratum, 0, self._explore))

    def agreed_before(self, claim: Claim, n_agreed: int) -> int:
        """Return the comparisons that agreed before *claim* acted, *n_agreed* of its parts.

        Of rules together the samples of each count, the fewest of any: a forum has twenty combinations of six rules,
        and a test of its own for each costs more than they save. What a mirror has in common with its canonical host
        says half as much of pages that the mirror alone leads to.
        """
        if claim.kind not in {Kind.RULES, Kind.UNSHARED}:
            return n_agreed
        n_agreed += min(self.test_of(part).outcomes[Outcome.SAME] for part in claim.parts)
        return n_agreed // 2 if claim.kind is Kind.UNSHARED else n_agreed

    @staticmethod
    def _with(test: ClaimTest, drawn: list[tuple[int, Stratum]]) -> ClaimTest:
        """Return *test* with what was *drawn* and is not entered yet."""
        if not drawn:
            return test
        whole = ClaimTest(test.outcomes.copy(), set(test.met), set(test.strata), test.agreed.copy())
        for key, stratum in drawn:
            whole.add(None, key, stratum)
        return whole

    def enter(self, url_id: int, url: str, decision: Decision) -> None:
        """Write down that the URL of that id is fetched although the claims of *decision* would suppress it."""
        if not decision.is_sampled and self.test_of(decision.tested[0]).n_samples >= ENOUGH:
            return
        key = self._key(decision.representative) if decision.representative is not None else None
        stratum = Stratum.of(url, None if decision.is_gate else decision.representative)
        reasons = [decision.reason, *[None] * (len(decision.tested) - 1)]
        self._enter(
            [
                Sample(url_id, claim, reason, key, stratum, decision.weight)
                for claim, reason in zip(decision.tested, reasons, strict=True)
            ]
        )

    def enter_late(self, rows: Iterable[Suppressed], reason: Reason, url: str) -> None:
        """Write down that *url* is fetched after all as a sample, which stands for itself, of what suppressed it.

        It is counted for *reason*, which is that of the first of *rows*.
        """
        reasons = chain([reason], repeat(None))
        self._enter(
            [
                Sample(row.id, row.claim, why, row.representative, self._stratum(url, row.representative), 1.0)
                for row, why in zip(rows, reasons, strict=False)
            ]
        )

    def _stratum(self, url: str, representative: int | None) -> Stratum:
        known = self._store.urls.known(representative) if representative is not None else None
        return Stratum.of(url, None if known is None else self._store.urls.url_of(known.id))

    def _enter(self, samples: list[Sample]) -> None:
        tests = [self.test_of(sample.claim) for sample in samples]  # before the rows are there
        new = {sample.claim for sample in self._store.samples.enter(samples)}
        for sample, test in zip(samples, tests, strict=True):
            if sample.claim in new:
                test.add(None, sample.representative, sample.stratum)

    # What they showed

    def is_sample(self, url_id: int) -> bool:
        """Tell whether the URL of that id was drawn, in this pass over the job."""
        return bool(self._store.samples.of_url(url_id))

    def open_of(self, url_id: int) -> list[Sample]:
        return [sample for sample in self._store.samples.of_url(url_id) if sample.outcome is None]

    def need(self, representative: int) -> bool:
        """Tell whether a sample of a claim that is not refuted waits to be held against the URL with that key."""
        ids = self._store.samples.awaiting(representative)
        waiting = (one for url_id in ids for one in self.open_of(url_id))
        claims = {one.claim for one in waiting if one.representative == representative}
        return any(not any(self.test_of(part).is_refuted for part in (claim, *claim.parts)) for claim in claims)

    def awaits(self, representative: int | None, url: str | None) -> bool:
        """Tell whether *url* is a sample that waits to be held against the URL with that key."""
        if url is None or representative is None or not (ids := self._store.samples.awaiting(representative)):
            return False
        return any(one.id in ids for one in self._store.urls.find([self._key(url)]).values())

    def settle(self, url_id: int, outcome: Outcome, claim: Claim | None = None) -> list[Claim]:
        """Take note what fetching a sample showed of one *claim* or of all; return those that this refutes."""
        return self._settled(lambda: self._store.samples.settle(url_id, outcome, claim), url_id, None, outcome)

    def overturn(self, url_id: int) -> list[Claim]:
        """Take note that a sample is another page, whatever it seemed to be; return the claims that this refutes."""
        refuted = self.settle(url_id, Outcome.OTHER)
        changed = self._settled(lambda: self._store.samples.overturn(url_id), url_id, Outcome.SAME, Outcome.OTHER)
        return refuted + changed

    def _settled(
        self, write: Callable[[], list[Sample]], url_id: int, before: Outcome | None, outcome: Outcome
    ) -> list[Claim]:
        known = {sample.claim for sample in self._store.samples.of_url(url_id)}
        tests = {claim: self.test_of(claim) for claim in known}  # before the rows change
        refuted = []
        for sample in write():
            test = tests[sample.claim]
            was_refuted = test.is_refuted
            test.settle(before, outcome, sample.stratum)
            if outcome is Outcome.OTHER and not test.is_refuted:
                self.doubted[sample.claim] = sample.id
            if test.is_refuted and not was_refuted:
                refuted.append(sample.claim)
                if sample.claim.kind is Kind.RULES:  # one of them is wrong by itself: what it suppressed alone tells
                    self.doubted.update(dict.fromkeys(sample.claim.parts, sample.id))
                logger.info("Not any more: %s (%s)", phrases.claim(sample.claim), _why_refuted(test))
        return refuted


def _why_refuted(test: ClaimTest) -> str:
    if test.is_wrong:
        other, same = test.outcomes[Outcome.OTHER], test.outcomes[Outcome.SAME]
        return f"{terminal.counted(other, 'sample')} of it turned out to be pages of their own, {same:,} did not"
    return f"of {terminal.counted(test.n_untold, 'sample')} of it nothing can be told, of {test.n_told:,} it can"
