"""Restoring: what a claim suppressed, or what one page stood for, comes back in slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scrapy_replica.claim import Claim, Kind, Restoration, Why, Work
from scrapy_replica.crawl.decision_log import DecisionLog
from scrapy_replica.crawldb.claims import Restored
from scrapy_replica.crawldb.contract import CrawlDB, State
from scrapy_replica.decision import Reason

SLICE = 100
"""URLs that come back in one turn: 3 ms."""

_REASONS = {
    Kind.RULE: Reason.DUST_RULE,
    Kind.RULES: Reason.DUST_RULE,
    Kind.SCHEME: Reason.OTHER_SCHEME,
    Kind.NAME: Reason.OTHER_NAME,
    Kind.PERMALINK: Reason.PERMALINK,
    Kind.LINKS: Reason.EXACT_DUPLICATE_LINKS,
    Kind.TRAP: Reason.TRAP_BUDGET,
    Kind.BUDGET: Reason.PATH_BUDGET,
    Kind.FULL: Reason.HOST_PAGES,
    Kind.SCOPE: Reason.OUT_OF_SCOPE,
    Kind.EXCLUDED: Reason.EXCLUDED,
}


def reason_of(claim: Claim | None) -> Reason:
    """Return the reason under which the ledger shows what *claim* suppressed."""
    return _REASONS.get(claim.kind, Reason.REPLICA_HOST) if claim is not None else Reason.REPLICA_HOST


@dataclass(slots=True)
class _Job:
    """One piece of work in this process."""

    reason: Reason
    restoration: Restoration
    is_own: bool
    """This process says when it is done."""
    done: int = 0
    """Id of the last URL that came back: what is suppressed again meanwhile stays so."""
    claims: list[Claim] | None = None
    """Of what one page stood for, the claims by which URLs are still to come back."""


class Restorer:
    """The one way back. Work is written down first, so that no end of a process loses it.

    Where several processes share the crawl each of them does all work that any of them began, on what it knows to be
    suppressed: what one suppressed a moment before it heard of the end comes back from there. Twice does no harm.
    """

    def __init__(self, store: CrawlDB, log: DecisionLog) -> None:
        self._store, self._log = store, log
        self._jobs: dict[Work, _Job] = {}
        store.on_rollback.append(self._forget_undone)
        self._ended: set[Claim] = set()
        """Claims that ended in this run, here or elsewhere."""

    def are_in_force(self, claims: Iterable[Claim]) -> bool:
        """Tell whether none of *claims* ended in this run, so that a decision by them still stands."""
        return self._ended.isdisjoint(claims)

    def begin(self, work: Work, reason: Reason, restoration: Restoration) -> None:
        """Let what *work* is about come back."""
        self._store.suppressed.begin(work)
        self._add(work, _Job(reason, restoration, is_own=True))

    def bring_back(self, claim: Claim, restoration: Restoration) -> None:
        """Let come back what *claim* suppressed, which is not in force any more."""
        self.begin(Work(claim), reason_of(claim), restoration)

    def restore_urls(self, urls: Mapping[int, str], restoration: Restoration) -> list[int]:
        """Let those of *urls* (key -> URL) wait that were dropped, as they were asked for; return their ids."""
        dropped = {key: one.id for key, one in self._store.urls.find(urls).items() if one.state is State.DROPPED}
        for key, url_id in dropped.items():
            reason = next((reason_of(one.claim) for one in self._store.suppressed.of_url(url_id)), Reason.REPLICA_HOST)
            self._store.suppressed.restore_one(url_id)
            self._log.record_restored(url_id, urls[key], reason, restoration)
        return [*dropped.values()]

    def join(self, works: Iterable[Work], *, is_own: bool = False) -> None:
        """Do here as well what another process began; as this process's *own* where that one is gone."""
        for work in works:
            if work not in self._jobs:
                what = str(work.claim) if work.claim is not None else None
                restoration = Restoration(Why.ENDED if what else Why.GONE, what)
                self._add(work, _Job(reason_of(work.claim), restoration, is_own))
            elif is_own:
                self._jobs[work].is_own = True

    def _add(self, work: Work, job: _Job) -> None:
        if work.claim is not None:
            self._ended.add(work.claim)
        self._jobs[work] = job

    def adopt(self) -> None:
        """Go on with all work that was begun and not ended, by whatever process."""
        self.join(self._store.suppressed.unfinished(), is_own=True)

    def _forget_undone(self) -> None:
        """Drop what was begun in a span that was taken back: its claim acts on."""
        if self._jobs:
            begun = set(self._store.suppressed.unfinished())
            self._jobs = {work: job for work, job in self._jobs.items() if not job.is_own or work in begun}

    @property
    def has_work(self) -> bool:
        """Whether URLs are still to come back."""
        return bool(self._jobs)

    def work(self) -> set[int]:
        """Let one slice come back; return the keys of what may have waited for its sake alone."""
        if not self._jobs:
            return set()
        work, job = next(iter(self._jobs.items()))
        keys = self._awaited_by(work.claim) if not job.done else set()
        restored = self._slice(work, job)
        if not restored:
            if job.is_own:
                if self._store.is_shared:
                    self._store.commit()  # or others never hear of what was begun and ended between two commits
                self._store.suppressed.end(work)
            del self._jobs[work]
            return keys
        for one in restored:
            if one.url is not None:
                self._log.record_restored(one.id, one.url, job.reason, job.restoration)
        job.done = restored[-1].id
        return keys | {one.representative for one in restored if one.representative is not None}

    def _slice(self, work: Work, job: _Job) -> list[Restored]:
        """Let one slice come back: of what one page stood for claim by claim, each in the order of ids.

        In another order what is suppressed for that page again comes back again, without end.
        """
        suppressed = self._store.suppressed
        if work.representative is None:
            return suppressed.restore(work, SLICE, after=job.done)
        if job.claims is None:
            job.claims = suppressed.claims_for(work.representative)
        while job.claims:
            if restored := suppressed.restore(work, SLICE, after=job.done, of=job.claims[0]):
                return restored
            job.claims, job.done = job.claims[1:], 0
        return []

    def _awaited_by(self, claim: Claim | None) -> set[int]:
        """Return the keys of what open samples of *claim* wait to be held against."""
        samples = self._store.samples.of_claim(claim) if claim is not None else ()
        return {one.representative for one in samples if one.outcome is None and one.representative is not None}
