"""Samples: what was to be dropped and was fetched all the same is held against what stands in its place."""

from __future__ import annotations

from collections.abc import Callable

from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.trials import Trials
from scrapy_replica.crawldb.contract import CrawlDB, State
from scrapy_replica.crawldb.items import goes_beyond
from scrapy_replica.crawldb.pages import Trace
from scrapy_replica.crawldb.samples import Sample
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Novelty, Page
from scrapy_replica.sites.evidence import MIN_WORDS, SAME_PAGE_BITS, PageMark, is_same_page

AUDITED = 3
"""URLs that each verdict and rule saved that are fetched at the end, spread from the first to the last: what was right
at first and wrong for the last third is found out."""
DOUBTED = 8
"""URLs of a rule that was wrong once which are fetched after all: an eighth of what it saved, in a row, is met for
certain, and where a fifth was wrong, anywhere, that is seen in 5 of 6 cases, and leads to eight more."""
DOUBT = 0.1
"""Odds that a cause is a bad one at which more is fetched."""

_OF_NEWS: dict[bool | None, Outcome] = {True: Outcome.OTHER, False: Outcome.SAME, None: Outcome.UNKNOWN}


LINKS, FEW_LINKS = 4, 3
"""A sample with more than so many times the links of its target, and so many more, leads further, and is another page.
Menus around every page of a copy make up to three times as many links to its own site."""


def compared(page: Trace, target: Trace) -> Outcome:
    """Return what a sample's *page* is beside the page of its *target*."""
    is_same = page.signature is not None and page.signature == target.signature
    is_little = page.simhash is None or target.simhash is None or min(page.words, target.words) < MIN_WORDS
    if is_little and not is_same:
        return Outcome.UNKNOWN
    if page.mark is not None and target.mark is not None:
        mine, theirs = PageMark.unpack(page.mark), PageMark.unpack(target.mark)
        is_same = is_same_page(mine, theirs) and mine.links <= LINKS * theirs.links + FEW_LINKS
    elif page.simhash is not None and target.simhash is not None:
        is_same = is_same or (page.simhash ^ target.simhash).bit_count() <= SAME_PAGE_BITS
    return Outcome.SAME if is_same else Outcome.OTHER


class Samples:
    """Settles samples. A page is held against its target, which may come later, or if it has none, as that of a trap,
    is judged by whether it brought news to where it lies.

    What a DUST rule was to save is settled by the rule, which knows the pages of its host.

    :param fingerprint: URL -> 64 bits of its request fingerprint, signed.
    :param is_stale: whether a page may have changed since it was seen, so that it is asked for again first.
    """

    def __init__(
        self,
        trials: Trials,
        replicas: Replicas,
        db: CrawlDB,
        fingerprint: Callable[[str], int],
        is_stale: Callable[[int], bool],
    ) -> None:
        self._trials, self._replicas, self._db, self._fingerprint = trials, replicas, db, fingerprint
        self._is_stale = is_stale
        self._audited: set[str] = set()
        """Causes of which some of what they saved was fetched at the end."""
        self._under_way: set[int] = set()
        """Ids of the pages whose callbacks are not through: the items that they give are not known."""

    def begin(self, url_id: int) -> None:
        """Take note of a page whose callback is to get it."""
        self._under_way.add(url_id)

    def fetched(self, page: Page, url_id: int) -> list[str]:
        """Take note of a page whose callback is through; return the causes that it ended."""
        self._under_way.discard(url_id)
        return self._unasked(page, url_id) + self.heard(page, url_id)

    def is_under_way(self, url_id: int) -> bool:
        """Tell whether the callback of a page is not through."""
        return url_id in self._under_way

    def heard(self, page: Page, url_id: int) -> list[str]:
        """Settle what a page is a sample of, and what waits for it; return the causes that this ended."""
        ended: list[str] = []
        keys = [self._db.urls.key_of(url_id), *map(self._fingerprint, page.redirected_from)]
        via = self._db.urls.find([key for key in keys[1:] if key is not None])
        for sample in (one for at in (url_id, *(known.id for known in via.values())) for one in self._open(at)):
            ended += self._settle(sample, url_id, None)
        for waiting in (one for key in keys if key is not None for one in self._trials.awaiting(key)):
            for sample in self._open(waiting):
                ended += self._settle(sample, waiting, url_id)
        return ended

    def confirmed(self, url_id: int) -> list[str]:
        """Take note that a page is as it was; return the causes that this ended."""
        key = self._db.urls.key_of(url_id)
        ended = []
        for waiting in self._trials.awaiting(key) if key is not None else ():
            for sample in self._open(waiting):
                ended += self._settle(sample, waiting, url_id)
        return ended

    def audit(self, cause: str, reason: Reason, n_agreed: int) -> bool:
        """Let some of what *cause* saved be fetched after all; tell whether there was any.

        Once for each cause, and again as long as its samples leave a doubt; *n_agreed* is as in :class:`Decision`.
        """
        is_settled = cause in self._audited and self._trials.odds(cause, n_agreed) < DOUBT
        if not self._trials.are_drawn or is_settled:
            return False
        self._audited.add(cause)
        return self.look_at(cause, reason, AUDITED)

    def look_at(self, cause: str, reason: Reason, most: int) -> bool:
        """Let at most *most* URLs that *cause* saved be fetched after all; tell whether there were any."""
        chosen = self._db.saved.some_of(cause, most)
        for saved in chosen:
            self._trials.audit(saved, reason, self._db.urls.url_of(saved.id))
            self._db.saved.restore(saved.id)
        return bool(chosen)

    def failed(self, url_id: int) -> list[str]:
        """Take note that a URL brought no page; return the causes that this ended."""
        ended = self._trials.settle(url_id, Outcome.FAILED) if self._open(url_id) else []
        key = self._db.urls.key_of(url_id)
        for waiting in self._trials.awaiting(key) if key is not None else ():
            for sample in self._open(waiting):
                ended += self._settle(sample, waiting, url_id, is_away=self._db.pages.has_page(url_id))
        return ended

    def _open(self, url_id: int) -> list[Sample]:
        """Return the sample that the URL of that id is, for one of its causes, if it is not settled."""
        return self._trials.open_of(url_id)[:1]

    def _unasked(self, page: Page, url_id: int) -> list[str]:
        """Take note of a page of a copy that was fetched for another reason; return the causes that it ended.

        It is a sample that stands for itself alone.
        """
        verdict, twin = self._replicas.verdict_of(page.host), self._replicas.twin_url(page)
        if verdict is None or twin is None or self._trials.is_sample(url_id):
            return []
        key = self._fingerprint(twin)
        known = self._db.urls.find([key]).get(key)
        if known is not None and self._db.pages.has_failed(known.id):
            return self._own(url_id)
        if known is not None and known.state is not State.DROPPED:
            decision = Decision(Action.FETCH, Action.DROP, Reason.REPLICA_HOST, causes=(verdict.cause,), target=twin)
            self._trials.begin(url_id, page.url, decision)
        return []

    def _own(self, url_id: int) -> list[str]:
        """Take note that the kept host lacks a page of the copy; return the causes that this ended.

        It came back by itself, so it says nothing of the others. But the page that leads to it is not the same on both.
        """
        trace, parent = self._db.pages.trace(url_id), self._db.urls.row(url_id).parent
        is_own = trace is not None and trace.novelty == Novelty.NOVEL.value
        return self._trials.reconsider(parent) if is_own and parent is not None else []

    def _settle(self, sample: Sample, url_id: int, target_id: int | None, *, is_away: bool = False) -> list[str]:
        """Settle *sample*, whose page is that of *url_id*, if its target was fetched: as *target_id* where told.

        *is_away*: that brought nothing this time.
        """
        page = self._db.pages.trace(url_id)
        if (
            page is None
            or url_id in self._under_way
            or any(one.reason is Reason.DUST_RULE for one in self._trials.open_of(sample.id))
        ):
            return []
        if sample.target is None:
            return self._trials.settle(sample.id, _OF_NEWS[page.is_news])
        is_fresh = target_id is not None
        if target_id is None:
            known = self._db.urls.find([sample.target]).get(sample.target)
            target_id = known.id if known is not None else None
        target = self._db.pages.trace(target_id) if target_id is not None else None
        if is_away or (target is None and target_id is not None and self._db.pages.has_failed(target_id)):
            return self._trials.settle(sample.id, Outcome.FAILED) + self._own(url_id)
        if target is None or target_id is None or not self._under_way.isdisjoint((url_id, target_id)):
            return []
        outcome = Outcome.SAME if target_id == url_id else self._compared(url_id, page, target_id, target)
        if outcome is Outcome.OTHER and not is_fresh and self._is_stale(target_id):
            return []
        return self._trials.settle(sample.id, outcome)

    def _compared(self, url_id: int, page: Trace, target_id: int, target: Trace) -> Outcome:
        """Return what a sample is beside its target: another page where it gives an item that the target does not."""
        items = self._db.items.of_page(url_id)
        if items is not None and goes_beyond(items, self._db.items.of_page(target_id) or frozenset()):
            return Outcome.OTHER
        return compared(page, target)
