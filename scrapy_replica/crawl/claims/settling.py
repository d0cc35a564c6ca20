"""Settling: the page of a sample is held against that of its representative, or judged by whether it brought news."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.given import KeyOf
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawldb.contract import CrawlDB, Permission, State
from scrapy_replica.crawldb.items import goes_beyond
from scrapy_replica.crawldb.pages import Trace
from scrapy_replica.crawldb.samples import Sample
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Page
from scrapy_replica.sites.evidence import MIN_WORDS, SAME_PAGE_BITS, PageMark, is_said_by
from scrapy_replica.sites.redirects import lead_apart

_OF_NEWS: dict[bool | None, Outcome] = {True: Outcome.OTHER, False: Outcome.SAME, None: Outcome.UNKNOWN}

MUCH = 2
"""Pages with so many times the words of which nothing can be told say something, and are none of these."""
ALIKE = 4
"""Samples of a mirror that say the same beside their text as well, and so many times those that do not, after which one
that says something else there is another page."""
LINKS, FEW_LINKS = 4, 3
"""A sample with more than so many times the links of its representative, and so many more, leads further, and is
another page. Menus around every page of a copy make up to three times as many links to its own site."""


def compared(page: Trace, representative: Trace, *, is_beside_told: bool) -> Outcome:
    """Return what a sample's *page* is beside the page of its *representative*.

    *is_beside_told*: what stands beside their text tells pages apart, as within one host, where many have one text.
    """
    is_same = page.signature is not None and page.signature == representative.signature
    if is_same and is_beside_told and page.beside != representative.beside:
        return Outcome.OTHER
    least, most = sorted((page.words, representative.words))
    if least < MIN_WORDS and not is_same:
        # A document, whose words nobody counts, and a page of little text are not what says much.
        are_known = page.signature is not None and representative.signature is not None
        return Outcome.OTHER if are_known and most >= MUCH * MIN_WORDS else Outcome.UNKNOWN
    if page.mark is not None and representative.mark is not None:
        mine, theirs = PageMark.unpack(page.mark), PageMark.unpack(representative.mark)
        is_same = is_said_by(mine, theirs)
        is_same = is_same and mine.links <= LINKS * theirs.links + FEW_LINKS
    elif page.simhash is not None and representative.simhash is not None:
        is_same = is_same or (page.simhash ^ representative.simhash).bit_count() <= SAME_PAGE_BITS
    return Outcome.SAME if is_same else Outcome.OTHER


class Settling:
    """Settles samples when their page and that of their representative are there, whichever comes last.

    What a rewrite rule would suppress is settled by the rule, which knows the pages of its host.

    :param is_stale: whether a page may have changed since it was seen, so that it is asked for again first.
    """

    def __init__(
        self,
        samples: Samples,
        replicas: Replicas,
        store: CrawlDB,
        key: KeyOf,
        is_stale: Callable[[int], bool],
    ) -> None:
        self._samples, self._replicas, self._store = samples, replicas, store
        self._key, self._is_stale = key, is_stale
        self._under_way: set[int] = set()
        """Ids of the pages whose callbacks are not through: the items that they give are not known."""

    def begin(self, url_id: int) -> None:
        """Take note of a page whose callback is to get it."""
        self._under_way.add(url_id)

    def end(self, page: Page, url_id: int) -> list[Claim]:
        """Take note of a page whose callback is through; return the claims that this refuted."""
        self._under_way.discard(url_id)
        return self._enter_unasked(page, url_id) + self.add_page(page, url_id)

    def add_page(self, page: Page, url_id: int) -> list[Claim]:
        """Settle what a page is a sample of, and what waits for it; return the claims that this refuted."""
        refuted: list[Claim] = []
        keys = [self._store.urls.key_of(url_id), *map(self._key, page.redirected_from)]
        via = self._store.urls.find([key for key in keys[1:] if key is not None])
        for sample in (one for at in (url_id, *(known.id for known in via.values())) for one in self._open(at)):
            refuted += self._compare(sample, url_id, None)
        for key in keys:
            for sample in self._awaiting(key):
                refuted += self._compare(sample, sample.id, url_id)
        return refuted

    def finder_of_news(self, url_id: int) -> int | None:
        """Return the id of the page that alone led to a page that brought news, although it repeats another.

        The news waited as a link that its finder has and the page that the finder repeats has not: the finder leads
        further, and as a sample it is another page, although it says the same. Not a page of a session that began with
        a URL that nothing asked for: all that it leads to has names of its own.
        """
        row = self._store.urls.row(url_id)
        if row.parent is None or url_id in self._store.unrequested.beyond:
            return None
        if self._is_beyond_copy(row.url, row.host, row.parent):
            return row.parent
        if row.permission is Permission.AS_ASKED:
            return row.parent  # nothing makes such a request wait
        if not row.is_demoted:
            return None
        suppressed = self._store.suppressed.of_url(url_id)
        is_extra = any(one.claim.kind is Kind.LINKS and one.representative is None for one in suppressed)
        return row.parent if is_extra else None

    def _is_beyond_copy(self, url: str, host: str, parent: int) -> bool:
        """Tell whether a page of a canonical *host* leads to *url*, and the one that a copy brought before does not."""
        verdicts = self._replicas.judged_copies_of(host)
        copies = {verdict.claim._replace(kind=Kind.FETCHED): verdict for verdict in verdicts}
        samples = self._store.samples.of_url(parent) if copies else ()
        tested = [copies[one.claim] for one in samples if one.claim in copies]
        others = filter(None, (self._replicas.url_on_copy(verdict, url) for verdict in tested))
        return any(not self._store.urls.find([self._key(other)]) for other in others)

    def add_unchanged(self, url_id: int) -> list[Claim]:
        """Take note that a page is as it was; return the claims that this refuted."""
        refuted = []
        for sample in self._awaiting(self._store.urls.key_of(url_id)):
            refuted += self._compare(sample, sample.id, url_id)
        return refuted

    def add_failure(self, url_id: int, *, is_gone: bool = False) -> list[Claim]:
        """Take note that a URL brought no page, or *is gone*; return the claims that this refuted."""
        # What nothing leads to need not be there, and nobody misses what a copy of a part of a site has not.
        is_missed = not is_gone and url_id not in self._store.unrequested.ids
        outcome = Outcome.FAILED if is_missed else Outcome.UNREAD
        refuted = self._samples.settle(url_id, outcome) if self._open(url_id) else []
        for sample in self._awaiting(self._store.urls.key_of(url_id)):
            refuted += self._compare(sample, sample.id, url_id, is_away=self._store.pages.has_page(url_id))
        return refuted

    def add_redirect(self, url_id: int, location: str) -> list[Claim]:
        """Settle the samples of a URL that redirects; return the claims that this refuted.

        One that redirects to its representative agrees: that is not asked for once more where it was fetched, and links
        by http were never known to be the same by https. One that redirects elsewhere than its representative does is
        another page; where that redirects nowhere, the page that comes tells.
        """
        refuted = []
        for sample in self._open(url_id):
            if sample.representative == self._key(location):
                refuted += self._settle(sample, Outcome.SAME)
            else:
                refuted += self._compare_redirects(sample)
        for sample in self._awaiting(self._store.urls.key_of(url_id)):
            refuted += self._compare_redirects(sample)
        return refuted

    def _compare_redirects(self, sample: Sample) -> list[Claim]:
        """Settle a *sample* of a mirror that leads elsewhere than its representative does; return what it refuted."""
        known = self._store.urls.known(sample.representative) if sample.representative is not None else None
        if known is None or sample.claim.kind in {Kind.RULE, Kind.RULES}:
            return []
        mine, theirs = (self._store.pages.leads_to(one) for one in (sample.id, known.id))
        hosts = self._store.urls.row(sample.id).host, self._store.urls.row(known.id).host
        if mine is None or theirs is None or not lead_apart(mine, theirs, hosts):
            return []
        return self._settle(sample, Outcome.OTHER)

    def settle_left(self) -> list[Claim]:
        """Settle samples whose representatives were dropped after their pages had come; return what this refuted."""
        refuted = []
        for url_id in self._store.samples.left():
            for sample in self._open(url_id):
                known = self._store.urls.known(sample.representative) if sample.representative is not None else None
                if known is not None and known.state is State.DROPPED:
                    refuted += self._compare(sample, url_id, None)
        return refuted

    def settle_brought(self, claims: Iterable[Claim]) -> list[Claim]:
        """Hold samples of *claims* that were the same once more against their representatives, when all is fetched: by
        what callbacks asked for that stands on neither. Return what this refuted.

        Shops of one chain may have equal pages, and a callback asks for the stock by the name of the host.
        """
        refuted, items = [], self._store.items
        for url_id, key in (one for claim in claims for one in self._store.samples.with_brought(claim)):
            if (other_id := self._store.suppressed.final_representative(key)) is None:
                continue
            theirs = items.brought(other_id) | (items.of_page(other_id) or frozenset())
            if goes_beyond(items.brought(url_id), theirs):
                refuted += self._samples.overturn(url_id)
        return refuted

    def give_up(self, url_id: int, key: int) -> list[Claim]:
        """Take note that nothing will be known of a URL and its *key*; return the claims that this refuted."""
        refuted = self.add_failure(url_id)
        for sample in self._awaiting(key):
            refuted += self._settle(sample, Outcome.FAILED)
        return refuted

    def awaits(self, key: int | None) -> bool:
        """Tell whether a sample waits to be held against the page of the URL under *key*."""
        return bool(self._awaiting(key))

    def give_up_unread(self, url_id: int) -> None:
        """Take note that nothing tells what a page is, as a sample, whose representative was fetched and not read."""
        for sample in self._open(url_id):
            known = self._store.urls.find([sample.representative]) if sample.representative is not None else {}
            if any(self._store.pages.is_unread(one.id) for one in known.values()):
                self._settle(sample, Outcome.UNREAD)  # which refutes nothing

    def close_of_rules(self, url_id: int) -> None:
        """Take note that rules held a page against all others: of those that its samples, or what waits for it, leave
        open nothing is told.

        A sample that stays open counts as one that agrees. Of rules together one may have ended meanwhile, or the page
        that stands for the representative differs from the sample by some of them only.
        """
        key, has_page = self._store.urls.key_of(url_id), self._store.pages.has_page
        waiting = self._store.samples.awaiting(key) if key is not None else []
        left = [one for at in (url_id, *waiting) for one in self._samples.open_of(at)]
        for one in (one for one in left if one.claim.kind in {Kind.RULE, Kind.RULES}):
            other = self._store.suppressed.final_representative(one.representative)
            if other is not None and has_page(one.id) and has_page(other) and not self._is_stale(other):
                self._samples.settle(one.id, Outcome.UNREAD, one.claim)

    def _open(self, url_id: int) -> list[Sample]:
        """Return the open samples that the URL of that id is, one for each representative."""
        return list({one.representative: one for one in reversed(self._samples.open_of(url_id))}.values())

    def _awaiting(self, key: int | None) -> list[Sample]:
        """Return the open samples that wait to be held against the URL under *key*, one for each URL."""
        waiting = self._store.samples.awaiting(key) if key is not None else ()
        return [one for url_id in waiting for one in self._open(url_id) if one.representative == key]

    def _settle(self, sample: Sample, outcome: Outcome) -> list[Claim]:
        """Settle what *sample* tests, and its other claims with that representative; return what this refuted."""
        refuted = []
        for one in self._samples.open_of(sample.id):
            if one.representative == sample.representative:
                refuted += self._samples.settle(one.id, outcome, one.claim)
        return refuted

    def _enter_unasked(self, page: Page, url_id: int) -> list[Claim]:
        """Enter a sample of weight 1 for a mirror's page that was fetched although nobody drew it.

        Return the claims that it refuted.
        """
        verdict = self._replicas.verdict_of(page.host)
        counterpart = self._replicas.url_on_canonical(page.url, page.host)
        if verdict is None or counterpart is None or self._samples.is_sample(url_id):
            return []
        key = self._key(counterpart)
        known = self._store.urls.known(key)
        if known is None and page.redirected_from:
            return self._add_redirected(page, url_id)
        if known is None:
            is_tested = self._store.claims.is_refuted(verdict.claim._replace(kind=Kind.UNSHARED))
            return self._overturn_finder(url_id, url_id) if is_tested else []
        if self._store.pages.has_failed(known.id):
            return self._overturn_finder(url_id, url_id)
        if known.state is not State.DROPPED:
            claims = (verdict.claim,)
            decision = Decision(
                Action.FETCH, Action.DROP, Reason.REPLICA_HOST, claims=claims, representative=counterpart
            )
            self._samples.enter(url_id, page.url, decision)
        return []

    def _add_redirected(self, page: Page, url_id: int) -> list[Claim]:
        """Take note of a mirror's page behind a redirect, which the canonical host may lack; return what it refuted."""
        asked = page.redirected_from[0]
        counterpart = self._replicas.url_on_canonical(asked, host_of(asked))
        if counterpart is None:
            return []
        key, its_key = self._key(asked), self._key(counterpart)
        known = self._store.urls.find([key, its_key])
        is_lacking = len(known) == 2 and self._store.pages.has_error(known[its_key].id)
        return self._overturn_finder(known[key].id, url_id) if is_lacking else []

    def _overturn_finder(self, asked_id: int, url_id: int) -> list[Claim]:
        """Take note that the canonical host lacks a page of the mirror, asked for at one URL and found at another.

        Return the claims that this refuted. It came back by itself, so it says nothing of the others. But the page that
        leads to it is not the same on both.
        """
        parent = self._store.urls.row(asked_id).parent
        return self._samples.overturn(parent) if parent is not None and self._store.pages.is_own(url_id) else []

    def _compare(self, sample: Sample, url_id: int, other_id: int | None, *, is_away: bool = False) -> list[Claim]:
        """Settle *sample*, whose page is that of *url_id*, if its representative was fetched: as *other_id* where told.

        *is_away*: that brought nothing this time.
        """
        page = self._store.pages.trace(url_id)
        if page is None or url_id in self._under_way:
            return []
        if any(one.reason is Reason.DUST_RULE for one in self._samples.open_of(sample.id)):
            return []
        if sample.representative is None:
            return self._settle(sample, _OF_NEWS[page.is_news])
        is_fresh = other_id is not None
        known = None
        if other_id is None:
            known = self._store.urls.known(sample.representative)
            other_id = known.id if known is not None else None
        other = self._store.pages.trace(other_id) if other_id is not None else None
        if is_away or (other is None and other_id is not None and self._store.pages.has_failed(other_id)):
            return self._settle(sample, Outcome.FAILED) + self._overturn_finder(sample.id, url_id)
        if other is None and known is not None and known.state is State.DROPPED:
            return self._compare_with_final(sample, url_id, page, known.id)
        if other is None or other_id is None or other_id in self._under_way:
            return []
        outcome = Outcome.SAME if other_id == url_id else self._outcome_of(sample, url_id, page, other_id, other)
        if outcome is Outcome.OTHER and not is_fresh and self._is_stale(other_id):
            return []
        return self._settle(sample, outcome)

    def _compare_with_final(self, sample: Sample, url_id: int, page: Trace, dropped_id: int) -> list[Claim]:
        """Settle *sample*, whose representative was dropped, if it says what the page in place of that says.

        If it does not, what dropped the representative may be wrong as well as what *sample* tests: the representative
        is fetched to tell. Left open, two dozen of 50 samples of a mirror whose links all have a ``ref`` told nothing.
        """
        other_id = self._store.suppressed.final_representative(sample.representative)
        other = self._store.pages.trace(other_id) if other_id is not None else None
        if other is None or other_id is None or other_id == url_id or other_id in self._under_way:
            return []
        outcome = self._outcome_of(sample, url_id, page, other_id, other)
        if outcome is Outcome.OTHER:
            self._samples.wanted.add(dropped_id)
            return []
        return self._settle(sample, outcome)

    def _outcome_of(self, sample: Sample, url_id: int, page: Trace, other_id: int, other: Trace) -> Outcome:
        """Return what a *sample* is: another page where it gives an item that its representative does not."""
        items = self._store.items.of_page(url_id)
        if items is not None and goes_beyond(items, self._store.items.of_page(other_id) or frozenset()):
            return Outcome.OTHER
        host, other_host = (self._store.urls.row(one).host for one in (url_id, other_id))
        is_beside_told = host == other_host
        # The canonical host may be a copy of another one by now, which is not what the samples were held against.
        if items is None and other_host == sample.claim.of and None not in (page.beside, other.beside):
            # What stands beside the text often differs from host to host, or from fetch to fetch.
            n_equal, n_other = self._store.samples.beside(sample.claim)
            is_beside_told |= n_equal >= ALIKE and n_equal > ALIKE * n_other
        return compared(page, other, is_beside_told=is_beside_told)
