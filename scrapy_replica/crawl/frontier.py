"""The frontier of a crawl: decisions become rows, and what was taken is decided about once more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from scrapy_replica.address import has_secret, host_of, name_of, origin_of
from scrapy_replica.claim import Restoration, Why
from scrapy_replica.crawl.claims.restoring import Restorer
from scrapy_replica.crawl.claims.samples import Pending, Samples
from scrapy_replica.crawl.decision_log import DecisionLog
from scrapy_replica.crawl.given import KeyOf, Payloads
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.policy import Policy
from scrapy_replica.crawl.revisits import Revisits
from scrapy_replica.crawl.unrequested import UnrequestedUrls
from scrapy_replica.crawldb.claims import MAX_REWRITES
from scrapy_replica.crawldb.contract import URGENT, CrawlDB, Found, Known, NewUrl, Permission, UrlRow
from scrapy_replica.decision import BUDGETS, FETCH, TESTED_REASONS, Action, Decision, Reason


class Entered(NamedTuple):
    """What became of a URL that was to be entered."""

    decision: Decision
    """What was decided about it, samples drawn."""
    is_waiting: bool
    """It, or what stands for it, waits now and did not before, or waits in a better place."""


class Entry(NamedTuple):
    """A row to enter, and the decision to write down if it is new."""

    new: NewUrl
    decision: Decision
    is_moved: bool = False
    """It stands in the place of the URL that was asked for."""
    is_for_claim: bool = False
    """So it does by a claim: that URL comes back when the claim ends."""

    @property
    def needs_control(self) -> bool:
        """Whether it is a sample, which is worth nothing without the page that it is held against."""
        return self.decision.action is Action.FETCH and self.decision.url is not None


class Frontier:
    """Enters URLs as decided, and decides about those that were taken.

    Samples are drawn here, of what is new: a sample is a row, and nothing else.
    """

    def __init__(
        self,
        store: CrawlDB,
        policy: Policy,
        samples: Samples,
        payloads: Payloads,
        restorer: Restorer,
        log: DecisionLog,
        replicas: Replicas,
        revisits: Revisits,
        key: KeyOf,
        counts: Counter[str],
    ) -> None:
        self._store, self._policy, self._samples, self._payloads = store, policy, samples, payloads
        self._restorer, self._log = restorer, log
        self._replicas, self._revisits, self.key, self._counts = replicas, revisits, key, counts
        self.unrequested = UnrequestedUrls(store, samples, payloads, replicas, counts)

    def enter(
        self,
        asked: Sequence[tuple[NewUrl, Decision]],
        *,
        moved_by: Decision | None = None,
        are_unrequested: bool = False,
        via: str | None = None,
    ) -> list[Entered]:
        """Enter URLs as decided, less the samples: as they stand, behind the others, under another URL, or as dropped.

        :param moved_by: what was decided about the URL that they stand in the place of.
        :param are_unrequested: they are to decide something.
        :param via: the URL that redirects to them.
        """
        redirecting = None if via is None else self._store.urls.known(self.key(via))
        rows: list[Entry] = []
        places, pending = [], Pending(list)
        for new, decision in asked:
            made = self._entries(*self._as_of_now(new, decision), pending, moved_by=moved_by)
            places.append((len(rows), len(rows) + len(made) - 1))
            rows += made
        rows += [self._control(rows[last]) for _, last in places if rows[last].needs_control]
        found = self._store.urls.discover([row.new for row in rows])
        for row, (url_id, what) in zip(rows, found, strict=True):
            self._note_entered(row, url_id, what)
            finder = row.new.parent if redirecting is None else redirecting.id
            is_unrequested, is_for_claim = row.is_moved or are_unrequested, row.is_for_claim
            self.unrequested.note_entered(
                url_id, what, row.new.host, finder, is_unrequested=is_unrequested, is_for_claim=is_for_claim
            )
        return [
            Entered(rows[first].decision, not rows[last].new.is_dropped and found[last][1] is not Found.KNOWN)
            for first, last in places
        ]

    def _as_of_now(self, new: NewUrl, decision: Decision) -> tuple[NewUrl, Decision]:
        """Return *new* and its *decision*, made a moment ago, or the present one where that does not hold any more."""
        is_held = self._restorer.are_in_force(decision.claims)
        other = decision.representative if is_held and self.unrequested.has_withdrawn and decision.url is None else None
        if is_held and (other is None or self._store.urls.find([self.key(other)])):
            return new, decision
        new = self._under_own_key(new, decision)
        return new, self._decide(new)

    def draw(self, url: str, key: int | None, decision: Decision, pending: Pending | None = None) -> Decision:
        """Return *decision*, or that *url* is fetched as a sample; what is known is none."""
        drawn = self._samples.draw(decision, url, pending)
        if not drawn.is_sampled or key is None or not self._store.urls.find([key]):
            return drawn
        if pending is not None:
            for claim in decision.tested:
                pending[claim].pop()
        return decision

    def _entries(self, new: NewUrl, decision: Decision, pending: Pending, *, moved_by: Decision | None) -> list[Entry]:
        """Return the rows that *decision* makes of *new*: each URL on the way of rewrites, the one to fetch last."""
        rows: list[Entry] = []
        for _ in range(MAX_REWRITES):
            own = self._under_own_key(new, decision)
            if decision.reason in TESTED_REASONS and self._would_mix(new, decision.url):
                new, decision = own, FETCH
                break
            decision = self.draw(new.url, own.key, decision, pending)
            if decision.is_sampled:
                new = own
            if decision.action is not Action.REWRITE or decision.url is None:
                break
            dropped = own._replace(key=self.key(new.url), is_dropped=True, payload=self._payloads.copy(new.payload))
            rows.append(_entry(dropped, decision, moved_by))
            new, moved_by = self._moved(new, decision.url), decision
            decision = self._decide_moved(new)
        else:
            decision = FETCH
        if decision.action is Action.DEMOTE and new.priority > 0:
            decision = FETCH  # the user wants it before others
        if decision.action is Action.DROP:
            new = new._replace(is_dropped=True)
        elif decision.action is Action.DEMOTE:
            new = new._replace(is_demoted=True)
        return [*rows, _entry(new, decision, moved_by)]

    def _would_mix(self, asked: NewUrl | UrlRow, url: str | None) -> bool:
        """Tell whether a callback that is told something would get, for what is *asked* for, a page of another host, at
        *url*, that nobody asked for by itself: it may be told of its own host, and make one item of two.
        """
        if url is None or host_of(url) == asked.host or not self._payloads.has_arguments(asked.payload):
            return False
        return not self._store.urls.find([self.key(url)])

    def _under_own_key(self, new: NewUrl, decision: Decision) -> NewUrl:
        """Return *new* under the key of its URL: a request that is rewritten has the fingerprint of the other URL."""
        return new._replace(key=self.key(new.url)) if decision.url is not None and new.key is not None else new

    def _decide(self, url: NewUrl | UrlRow) -> Decision:
        callback = self._payloads.callback(url.payload)
        return self._policy.decide(url.url, url.host, url.permission, callback, url.parent)

    def _decide_moved(self, new: NewUrl) -> Decision:
        """Return the decision about a URL that stands in the place of another: no page has a link to it."""
        decision = self._decide(new)
        return FETCH if decision.reason is Reason.PERMALINK else decision

    def _moved(self, new: NewUrl, url: str) -> NewUrl:
        # By http nobody on the way is to read which page of https led here.
        is_here = origin_of(url) == origin_of(new.url)
        payload = new.payload if is_here else self._payloads.moved(new.payload, url)
        return new._replace(url=url, host=host_of(url), key=self.key(url), payload=payload)

    def _control(self, row: Entry) -> Entry:
        """Return the row of the page that a sample is held against."""
        assert row.decision.url is not None
        new = row.new._replace(payload=self._payloads.copy(row.new.payload))
        return _entry(self._moved(new, row.decision.url), FETCH, row.decision)

    def representative_of(self, url: str) -> str:
        """Return the URL that stands for *url* as things are by now; *url* itself if none does."""
        for _ in range(MAX_REWRITES):
            decision = self._policy.decide(url, host_of(url))
            other = decision.url or decision.representative
            if other is None or decision.action not in {Action.REWRITE, Action.DROP}:
                break
            url = other
        return url

    def _note_entered(self, row: Entry, url_id: int, what: Found) -> None:
        if what in {Found.KNOWN, Found.RAISED}:
            self._payloads.forget(row.new.payload)
        if what is Found.NEW and row.decision.reason is not None:
            self._log.record(url_id, row.new.url, row.decision)
        if row.new.is_dropped:
            return
        self._counts[_COUNTED[what]] += 1
        if what is Found.NEW:
            if row.decision.reason is None and row.new.permission <= Permission.STAY:
                self._policy.note_waiting(row.new.url, row.new.host, self._payloads.callback(row.new.payload))
            if row.new.parent is not None:
                self._revisits.note_led_on(row.new.parent)
            # The callback of one that stands in the place of another is that one's.
            is_found = not row.is_moved and row.new.parent is not None
            callback = self._payloads.callback(row.new.payload) if is_found else None
            self._replicas.add_url(row.new.url, row.new.host, callback)

    def find_asked(self, keys: Collection[int]) -> dict[int, Known]:
        """Return what is known of the URLs of *keys*, which something asks for: none of them is withdrawn."""
        known = self._store.urls.find(keys)
        self.unrequested.note_requested(one.id for one in known.values())
        return known

    def decide_again(self, taken: UrlRow) -> bool:
        """Decide once more about a URL that was taken, as things stand by now; tell whether it is to be fetched."""
        self.unrequested.note_requested([taken.id])
        if self._payloads.is_lost(taken.payload):
            return True  # which fails
        decision = self._decide(taken)
        if decision.reason is None or (decision.action is Action.DEMOTE and (taken.is_demoted or taken.priority > 0)):
            if taken.permission <= Permission.STAY:
                self._policy.note_waiting(taken.url, taken.host, self._payloads.callback(taken.payload))
            return True
        # A budget is one of new pages, and this one was fetched before.
        if decision.reason in BUDGETS and self._store.pages.has_page(taken.id):
            return True
        # What a person orders holds for samples, too, and whatever a callback is told.
        if decision.reason in TESTED_REASONS and (
            self._samples.is_sample(taken.id) or self._would_mix(taken, decision.url)
        ):
            return True
        # Its page is what a sample is held against: the sample's own, which would stand for it, tells nothing.
        if decision.reason in TESTED_REASONS and self._samples.awaits(taken.key, decision.representative):
            return True
        # Where others lead here it is the page of those, not only of the link that it was found by.
        if decision.reason is Reason.PERMALINK and taken.key is not None and self.unrequested.is_needed(taken.key):
            return True
        is_noted = self._store.ledger.knows(taken.id, decision.reason)
        decision = self._samples.draw(decision, taken.url)
        # A demoted URL that is drawn now is a new sample, even if this reason is in the ledger. A URL that a later pass
        # asks for again is none: where a host did not answer, its verdict would end.
        if decision.action is not Action.FETCH or (decision.is_sampled and taken.is_demoted) or not is_noted:
            self._log.record(taken.id, taken.url, decision)
        if decision.action is Action.DEMOTE:
            self._store.urls.demote(taken.id)
        elif decision.action is not Action.FETCH:
            self._store.urls.drop(taken.id)
        if decision.url is not None:
            # In its place in the order, also where it waits on: once the rule is certain it need not be fetched.
            new = self._moved(self._like(taken), decision.url)
            self.enter([(new, self._decide_moved(new))], moved_by=decision)
        return decision.action is Action.FETCH

    def _like(self, row: UrlRow) -> NewUrl:
        """Return a URL to enter that is asked for as *row* is; the user's slot stays the one of the request."""
        return NewUrl(
            row.url,
            row.host,
            row.key,
            row.score,
            row.priority,
            depth=row.depth,
            parent=row.parent,
            payload=self._payloads.copy(row.payload),
            permission=row.permission,
            slot=row.slot if row.slot != name_of(row.host) else None,
        )

    def ask_for(self, url: str, host: str, *, depth: int, parent: int) -> bool:
        """Enter a URL that is to decide something, before all others, unless there is anything against it.

        One that holds a secret may be the guess of a page that was found on another host, which alone may hear it. What
        a page says is its own URL may be what proves a rewrite rule.
        """
        decision = self._policy.decide(url, host)
        is_free = decision is FETCH or decision.reason is Reason.OTHER_NAME
        if has_secret(url) or not is_free or not self._policy.may_stand(url):
            return False
        permission = Permission.MOVE if decision is FETCH else Permission.EXEMPT
        new = NewUrl(url, host, self.key(url), URGENT, depth=depth, parent=parent, permission=permission)
        return self.enter([(new, FETCH)], are_unrequested=True)[0].is_waiting

    def ask_as_sample(self, row: UrlRow, url: str, *, is_late: bool) -> bool:
        """Enter *url*, which nothing leads to and which a claim would suppress in favour of *row*, if it is drawn.

        One that *is_late* is entered in any case; tell whether it was.
        """
        key = self.key(url)
        if not self._may_ask(row, url) or self._would_mix(row, url) or self._store.urls.find([key]):
            return False
        new = self._moved(self._like(row), url)
        decision = self._decide_moved(new)
        if decision.reason not in TESTED_REASONS or decision.action is Action.FETCH:
            return False
        drawn = replace(decision, action=Action.FETCH, is_sampled=True) if is_late else self.draw(url, key, decision)
        return drawn.is_sampled and self.enter([(new, drawn)], are_unrequested=True)[0].is_waiting

    def _may_ask(self, row: UrlRow, url: str) -> bool:
        """Tell whether *url* may be asked for as *row* was; a request that only memory had went with it."""
        return self._policy.may_stand(url) and not self._payloads.is_lost(row.payload)

    def enter_in_place_of(self, failed: UrlRow, url: str, why: Why = Why.GONE) -> int | None:
        """Enter *url* on another host in place of one that *failed*; return its id if it waits now and did not.

        One that was dropped comes back with the callback that it was asked for with.
        """
        if not self._may_ask(failed, url):
            return None
        if dropped := self._restorer.restore_urls({self.key(url): url}, Restoration(why, failed.url)):
            return dropped[0]
        if self._would_mix(failed, url):
            return None
        new = self._moved(self._like(failed)._replace(permission=Permission.EXEMPT), url)
        url_id, found = self._store.urls.discover([new])[0]
        self.unrequested.note_entered(url_id, found, is_unrequested=True)
        return url_id if found in {Found.NEW, Found.RESTORED} else None


def _entry(new: NewUrl, decision: Decision, moved_by: Decision | None) -> Entry:
    """Return the row of *new*, which stands in the place of a URL about which *moved_by* was decided, if any."""
    is_for_claim = moved_by is not None and bool(moved_by.claims) and moved_by.representative is not None
    return Entry(new, decision, is_moved=moved_by is not None, is_for_claim=is_for_claim)


_COUNTED = {
    Found.NEW: "scheduler/enqueued",
    Found.RAISED: "frontier/raised",
    Found.RESTORED: "frontier/raised",
    Found.KNOWN: "dupefilter/filtered",
}
