"""Samples: what was to be dropped and was fetched all the same is held against what stands in its place."""

from __future__ import annotations

from collections.abc import Callable

from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.trials import Trials
from scrapy_replica.crawldb.contract import CrawlDB, Sample, State
from scrapy_replica.crawldb.pages import Trace
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Page, Verdict
from scrapy_replica.sites.evidence import MIN_WORDS, SAME_PAGE_BITS, PageMark, is_same_page

AUDITED = 3
"""URLs of each copy fetched at the end: where half of its pages are others by then, that is seen in 7 of 8 cases."""

_OF_NEWS = {True: Outcome.OTHER, False: Outcome.SAME, None: Outcome.UNKNOWN}


def compared(page: Trace, target: Trace) -> Outcome:
    """Return what a sample's *page* is beside the page of its *target*."""
    if page.signature is not None and page.signature == target.signature:
        return Outcome.SAME
    if page.simhash is None or target.simhash is None or min(page.words, target.words) < MIN_WORDS:
        return Outcome.UNKNOWN
    if page.mark is not None and target.mark is not None:
        is_same = is_same_page(PageMark.unpack(page.mark), PageMark.unpack(target.mark))
    else:
        is_same = (page.simhash ^ target.simhash).bit_count() <= SAME_PAGE_BITS
    return Outcome.SAME if is_same else Outcome.OTHER


class Samples:
    """Settles samples. A page is held against its target, which may come later, or if it has none, as that of a trap,
    is judged by whether it brought news to where it lies.

    What a DUST rule was to save is settled by the rule, which knows the pages of its host.

    :param fingerprint: URL -> 64 bits of its request fingerprint, signed.
    """

    def __init__(self, trials: Trials, replicas: Replicas, db: CrawlDB, fingerprint: Callable[[str], int]) -> None:
        self._trials, self._replicas, self._db, self._fingerprint = trials, replicas, db, fingerprint
        self._audited: dict[str, int] = {}
        """Copy -> samples that were other pages when what it saved was looked at last."""

    def fetched(self, page: Page, url_id: int) -> list[str]:
        """Take note of a page; return the causes that it ended."""
        if not self._trials.is_sample(url_id):
            self._unasked(page, url_id)
        keys = [self._db.urls.key_of(url_id), *map(self._fingerprint, page.redirected_from)]
        via = self._db.urls.find([key for key in keys[1:] if key is not None])
        ended: list[str] = []
        for sample in (one for at in (url_id, *(known.id for known in via.values())) for one in self._open(at)):
            ended += self._settle(sample, url_id, None)
        for waiting in (one for key in keys if key is not None for one in self._trials.awaiting(key)):
            for sample in self._open(waiting):
                ended += self._settle(sample, waiting, url_id)
        return ended

    def audit(self, verdict: Verdict) -> bool:
        """Let some of what *verdict* saved be fetched after all; tell whether there was any.

        Once for each verdict, and again as long as a sample that it saw was another page.
        """
        if not self._trials.are_drawn:
            return False
        n_other = self._trials.n_other(verdict.cause)
        if self._audited.get(verdict.copy) == n_other:
            return False
        self._audited[verdict.copy] = n_other
        chosen = self._db.saved.some_of(verdict.cause, AUDITED)
        for saved in chosen:
            self._trials.audit(saved, self._db.urls.url_of(saved.id))
            self._db.saved.restore(saved.id)
        return bool(chosen)

    def failed(self, url_id: int) -> list[str]:
        """Take note that a URL brought no page; return the causes that this ended."""
        return self._trials.settle(url_id, Outcome.FAILED) if self._open(url_id) else []

    def _open(self, url_id: int) -> list[Sample]:
        """Return the sample that the URL of that id is, for one of its causes, if it is not settled."""
        return self._trials.open_of(url_id)[:1]

    def _unasked(self, page: Page, url_id: int) -> None:
        """Make a sample of a page of a copy that was fetched for another reason, and stands for itself alone."""
        verdict, twin = self._replicas.verdict_of(page.host), self._replicas.twin_url(page)
        if verdict is None or twin is None:
            return
        key = self._fingerprint(twin)
        known = self._db.urls.find([key]).get(key)
        if known is not None and known.state is not State.DROPPED and not self._db.pages.has_failed(known.id):
            decision = Decision(Action.FETCH, Action.DROP, Reason.REPLICA_HOST, causes=(verdict.cause,), target=twin)
            self._trials.begin(url_id, page.url, decision)

    def _settle(self, sample: Sample, url_id: int, target_id: int | None) -> list[str]:
        """Settle *sample*, whose page is that of *url_id*, if its target was fetched: as *target_id* where told."""
        page = self._db.pages.trace(url_id)
        if page is None or any(one.reason is Reason.DUST_RULE for one in self._trials.open_of(sample.id)):
            return []
        if sample.target is None:
            return self._trials.settle(sample.id, _OF_NEWS[page.is_news])
        if target_id is None:
            known = self._db.urls.find([sample.target]).get(sample.target)
            target_id = known.id if known is not None else None
        target = self._db.pages.trace(target_id) if target_id is not None else None
        if target is None:
            return []
        outcome = Outcome.SAME if target_id == url_id else compared(page, target)
        return self._trials.settle(sample.id, outcome)
