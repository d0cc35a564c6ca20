"""The intake: the one hand on the frontier. It turns decisions into rows and lines of the ledger."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol, TextIO

from scrapy_replica.address import has_secret, host_of, redacted
from scrapy_replica.crawl.late import LateSaves
from scrapy_replica.crawl.policy import Policy
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawl.trials import Trials
from scrapy_replica.crawldb.contract import CrawlDB, Found, Leeway, NewUrl, Saved, StoreError, Waiting
from scrapy_replica.decision import BUDGETS, FETCH, TESTED, Action, Decision, Reason

MAX_REWRITES = 5
"""Rewrites of one URL in a row; more would be a circle of aliases and verdicts."""


class Payloads(Protocol):
    """What requests have beyond a plain GET, as the store keeps it: each payload belongs to one row."""

    def again(self, payload: bytes | None) -> bytes | None:
        """Return an equal payload for a second row."""

    def elsewhere(self, payload: bytes | None) -> bytes | None:
        """Return *payload* without what another host must not hear: the page that the URL was found on."""

    def callback(self, payload: bytes | None) -> str:
        """Return the name of the callback that is to get the page, empty for the spider's ``parse``."""

    def has_arguments(self, payload: bytes | None) -> bool:
        """Tell whether the callback is handed more than the page (``cb_kwargs``): another URL's would differ."""

    def may_leave(self, payload: bytes | None) -> bool:
        """Tell whether the user said that the request may leave the scope."""

    def is_lost(self, payload: bytes | None) -> bool:
        """Tell whether only an earlier run could have made the request: nothing can be fetched in its place."""

    def forget(self, payload: bytes | None) -> None:
        """Take note that no row holds *payload*."""


class Row(NamedTuple):
    """A row to enter, and the decision to write down if it is new."""

    new: NewUrl
    decision: Decision
    is_moved: bool = False
    """It stands in the place of the URL that was asked for."""

    @property
    def needs_control(self) -> bool:
        """Whether it is a sample, which is worth nothing without the page that it is held against."""
        return self.decision.action is Action.FETCH and self.decision.url is not None


class Intake:
    """Enters URLs as decided, and decides about those that were taken.

    :param key: URL -> 64 bits of its request fingerprint, signed.
    :param now: seconds since the epoch.
    :param counts: statistics, as ``area/what``.
    :param on_new: told URL, host and callback of every URL that waits and was not known; no callback where the URL
        stands in the place of another one, whose callback it is, or was found on no page.
    :param on_led: told the id of every page that leads to a URL that waits and was not known.
    :param sink: where decisions are written as lines of JSON, besides the ledger of the store.
    """

    def __init__(
        self,
        store: CrawlDB,
        policy: Policy,
        trials: Trials,
        scope: CrawlScope,
        payloads: Payloads,
        *,
        key: Callable[[str], int],
        now: Callable[[], float],
        counts: Counter[str],
        on_new: Callable[[str, str, str | None], None],
        on_led: Callable[[int], None],
        sink: TextIO | None = None,
    ) -> None:
        self._store, self._policy, self._trials, self._payloads = store, policy, trials, payloads
        self._scope = scope
        self.key, self._now, self._counts, self._sink = key, now, counts, sink
        self._on_new, self._on_led = on_new, on_led
        self._ended: set[str] = set()
        """Causes that ended in this run."""
        self._late = LateSaves(now) if store.is_shared else None

    def enter(self, asked: Sequence[tuple[NewUrl, Decision]], *, are_moved: bool = False) -> list[bool]:
        """Enter URLs as decided: as they stand, behind the others, under another URL, or as dropped.

        :param are_moved: they stand in the place of others.
        :return: for each whether it, or what stands for it, waits now and did not before, or waits in a better place.
        """
        rows, last = [], []
        for new, decision in asked:
            holds = self._ended.isdisjoint(decision.causes)
            rows += self._rows(new, decision if holds else self._again_of(new), is_moved=are_moved)
            last.append(len(rows) - 1)
        rows += [self._control(rows[place]) for place in last if rows[place].needs_control]
        found = self._store.urls.discover([row.new for row in rows])
        for row, (url_id, what) in zip(rows, found, strict=True):
            self._entered(row, url_id, what)
        return [not rows[place].new.is_dropped and found[place][1] is not Found.KNOWN for place in last]

    def end(self, cause: str) -> None:
        """Take note that *cause* ended: what was decided because of it and is not entered yet is decided once more."""
        self._ended.add(cause)

    def has_ended(self, cause: str) -> bool:
        """Tell whether *cause* ended in this run."""
        return cause in self._ended

    def _rows(self, new: NewUrl, decision: Decision, *, is_moved: bool) -> list[Row]:
        """Return the rows that *decision* makes of *new*: each URL on the way of rewrites, the one to fetch last."""
        rows = []
        for _ in range(MAX_REWRITES):
            if decision.action is not Action.REWRITE or decision.url is None:
                break
            # Under the key of the URL as it stands: its fingerprint may be that of what it is rewritten to.
            dropped = new._replace(key=self.key(new.url), is_dropped=True, payload=self._payloads.again(new.payload))
            rows.append(Row(dropped, decision))
            new = self._moved(new, decision.url)
            decision = self._again_of(new)
        else:
            decision = FETCH
        if decision.action is Action.DEMOTE and new.priority > 0:
            decision = FETCH  # the user wants it before others
        if decision.action is Action.DROP:
            new = new._replace(is_dropped=True)
        elif decision.action is Action.DEMOTE:
            new = new._replace(is_demoted=True)
        return [*rows, Row(new, decision, is_moved=is_moved or bool(rows))]

    def _again_of(self, url: NewUrl | Waiting) -> Decision:
        callback = self._payloads.callback(url.payload)
        return self._policy.decide(url.url, url.host, url.leeway, callback, url.parent)

    def _moved(self, new: NewUrl, url: str) -> NewUrl:
        host = host_of(url)
        payload = new.payload if host == new.host else self._payloads.elsewhere(new.payload)
        return new._replace(url=url, host=host, key=self.key(url), payload=payload)

    def _control(self, row: Row) -> Row:
        """Return the row of the page that a sample is held against."""
        assert row.decision.url is not None
        new = row.new._replace(payload=self._payloads.again(row.new.payload))
        return Row(self._moved(new, row.decision.url), FETCH, is_moved=True)

    def in_place_of(self, url: str) -> str:
        """Return the URL that stands for *url* as things are by now; *url* itself if none does."""
        for _ in range(MAX_REWRITES):
            decision = self._policy.of_url(url, host_of(url))
            other = decision.url or decision.target
            if other is None or decision.action not in {Action.REWRITE, Action.DROP}:
                break
            url = other
        return url

    def _entered(self, row: Row, url_id: int, what: Found) -> None:
        if what in {Found.KNOWN, Found.RAISED}:
            self._payloads.forget(row.new.payload)
        if what is Found.NEW and row.decision.reason is not None:
            self.record(url_id, row.new.url, row.decision)
        if row.new.is_dropped:
            return
        self._counts[_COUNTED[what]] += 1
        if what is Found.NEW:
            if row.new.parent is not None:
                self._on_led(row.new.parent)
            is_found = not row.is_moved and row.new.parent is not None
            callback = self._payloads.callback(row.new.payload) if is_found else None
            self._on_new(row.new.url, row.new.host, callback)

    def again(self, taken: Waiting) -> bool:
        """Decide once more about a URL that was taken, as things stand by now; tell whether it is to be fetched."""
        if self._payloads.is_lost(taken.payload):
            return True  # which fails
        decision = self._again_of(taken)
        if decision.reason is None or (decision.action is Action.DEMOTE and (taken.is_demoted or taken.priority > 0)):
            return True
        # A budget is one of new pages, and this one was fetched before.
        if decision.reason in BUDGETS and self._store.pages.has_page(taken.id):
            return True
        # What a person orders holds for samples, too.
        if decision.reason in TESTED and self._trials.is_sample(taken.id):
            return True
        if decision.action is not Action.FETCH or not self._store.ledger.knows(taken.id, decision.reason):
            self.record(taken.id, taken.url, decision)
        if decision.action is Action.DEMOTE:
            self._store.urls.demote(taken.id)
        elif decision.action is not Action.FETCH:
            self._store.urls.drop(taken.id)
        if decision.url is not None:
            self._enter_instead(taken, decision.url)
        return decision.action is Action.FETCH

    def _enter_instead(self, taken: Waiting, url: str) -> None:
        """Enter *url* in place of *taken*, in its place in the order."""
        new = NewUrl(
            taken.url,
            taken.host,
            taken.key,
            taken.score,
            taken.priority,
            depth=taken.depth,
            parent=taken.parent,
            payload=self._payloads.again(taken.payload),
            leeway=taken.leeway,
        )
        new = self._moved(new, url)
        self.enter([(new, self._again_of(new))], are_moved=True)

    def ask_for(self, url: str, host: str, score: float, *, depth: int, parent: int) -> bool:
        """Enter a URL that is to decide something, unless there is anything against it.

        One that holds a secret may be the guess of a page that was found on another host, which alone may hear it.
        """
        if has_secret(url) or self._scope.outside(url, host) or self._policy.of_url(url, host) is not FETCH:
            return False
        return self.enter([(NewUrl(url, host, self.key(url), score, depth=depth, parent=parent), FETCH)])[0]

    def ask_elsewhere(self, failed: Waiting, url: str, *, is_demoted: bool) -> int | None:
        """Enter *url* on another host in place of one that *failed*; return its id if it waits now and did not."""
        if not self._scope.may_stand(url):
            return None
        new = NewUrl(
            failed.url,
            failed.host,
            failed.key,
            failed.score,
            failed.priority,
            is_demoted,
            depth=failed.depth,
            parent=failed.parent,
            payload=self._payloads.again(failed.payload),
            leeway=Leeway.EXEMPT,
        )
        url_id, found = self._store.urls.discover([self._moved(new, url)])[0]
        return url_id if found in {Found.NEW, Found.RESTORED} else None

    def bring_back_late(self, rest: str | int, reason: Reason, evidence: Mapping[str, object]) -> None:
        """Let come back what was saved here of late and rests on a cause or target that is no more.

        That ended in another process, which did not know of it.
        """
        for url_id in self._late.take(rest) if self._late is not None else ():
            self._store.saved.restore(url_id)
            decision = Decision(Action.FETCH, Action.FETCH, reason, evidence=evidence)
            self.record(url_id, self._store.urls.url_of(url_id), decision)

    def record(self, url_id: int, url: str, decision: Decision) -> None:
        """Write *decision* about a URL into ledger, counts and sink, and what it saved.

        People read ledger and sink: secrets in URLs are left out there.
        """
        reason = decision.reason
        assert reason is not None
        at = self._now()
        decision = replace(decision, evidence={what: _redacted(told) for what, told in decision.evidence.items()})
        self._store.ledger.record(url_id, decision, at)
        if decision.action is not Action.FETCH:
            target = self.key(decision.target) if decision.target is not None else None
            self._store.saved.save([Saved(url_id, cause, target) for cause in decision.causes])
            if self._late is not None:
                self._late.add(url_id, decision.causes, target)
        elif decision.wanted is Action.DROP:
            self._trials.begin(url_id, url, decision)
            self._counts["sample/fetched"] += 1
        self._counts[f"decision/{reason.value}/{decision.action.value}"] += 1
        if self._sink is not None:
            line = {
                "at": at,
                "url": redacted(url),
                "action": decision.action.value,
                "wanted": decision.wanted.value,
                "reason": reason.value,
                "probability": decision.probability,
                "is_sampled": decision.is_sampled,
                "target": redacted(decision.target) if decision.target is not None else None,
                "evidence": decision.evidence,
            }
            try:
                self._sink.write(json.dumps(line) + "\n")
            except OSError as error:
                raise StoreError(f"REPLICA_LEDGER cannot be written ({error.strerror}); make room") from error


def _redacted(told: object) -> object:
    if isinstance(told, str):
        return redacted(told)
    return [_redacted(one) for one in told] if isinstance(told, list) else told


_COUNTED = {
    Found.NEW: "scheduler/enqueued",
    Found.RAISED: "frontier/raised",
    Found.RESTORED: "frontier/raised",
    Found.KNOWN: "dupefilter/filtered",
}
