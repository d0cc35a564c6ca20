"""One crawl: decides about URLs, observes pages, enters links. It orchestrates; the algorithms live in the rooms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scrapy_replica.address import host_of
from scrapy_replica.crawl.fetches import Fetches
from scrapy_replica.crawl.remote import RemoteUpdates
from scrapy_replica.crawl.scope import HOST_PAGES, OUT_OF_SCOPE, full
from scrapy_replica.crawl.steering import Steering
from scrapy_replica.crawl.wiring import Parts
from scrapy_replica.crawldb.contract import NewUrl, Permission, UrlRow
from scrapy_replica.crawldb.orders import MARK
from scrapy_replica.decision import Decision, Reason

MAX_DECIDED = 100
"""URLs decided about in one turn when none of them is to be fetched: 10 ms."""


class Crawl(Parts):
    """The parts of a crawl, and what goes through several of them."""

    def _begin(self) -> None:
        self.fetches = Fetches(self)
        self.remote = RemoteUpdates(self, self.fetches)
        self.is_behind = False
        """:meth:`take` stopped in the middle, so that nothing stalls; it wants to be called again."""
        self.orders.add(MARK, self._mark, url=str, is_relevant=bool)
        self.orders.follow(MARK, lambda _: self.runner.relevance.marks.read_again())
        if self.store.is_leader:
            self.restorer.adopt()
            if self.scope.is_changed:
                self.claims.lift(OUT_OF_SCOPE)
                self.claims.lift(HOST_PAGES)
        self.obey()

    def obey(self) -> bool:
        """Carry out what a person told the crawl through its database, and let old verdicts end.

        Another process does so where this one is not the leader.

        :return: whether there was any order.
        """
        has_obeyed = False
        if self.store.is_leader:
            self.claims.lift_mirrors(self.replicas.expire())
            has_obeyed = self.orders.obey()
        self.store.commit()
        return has_obeyed

    def steer(self, on_seed: Callable[[str], None]) -> None:
        """Take note that the frontier is in use: a person's orders about it are carried out, beginning with those
        given before.

        *on_seed* is told the URL of each seed that a person added.
        """

        def added(url: str) -> None:
            self.fetches.open_to(host_of(url))
            on_seed(url)

        Steering(
            self.store, self.scope, self.frontier, self.claims, self.orders, self.revisits.ask_wanted, on_seed=added
        )
        self.obey()
        if not self.store.is_shared:
            self.checks.begin()

    # Where another scheduler is in use

    def enter_fetched(self, url: str, parent: int | None = None) -> int:
        """Return the id of *url*, which another scheduler fetched: it is done.

        *parent* is the id of the page that it was found on.
        """
        url_id = self._enter_done(url, parent)
        self.store.urls.finish([url_id])
        return url_id

    def record_decision(self, url: str, decision: Decision) -> None:
        """Write *decision* down about a URL that another scheduler fetches all the same, once for each reason."""
        decision = self.frontier.draw(url, self.frontier.key(url), decision)
        url_id = self._enter_done(url)
        if decision.reason is not None and not self.store.ledger.knows(url_id, decision.reason):
            self.log.record(url_id, url, decision)

    def _enter_done(self, url: str, parent: int | None = None) -> int:
        """Return the id of *url*, which is not to be given out."""
        new = NewUrl(url, host_of(url), self.frontier.key(url), parent=parent, is_dropped=True)
        return self.store.urls.discover([new])[0][0]

    def _mark(self, what: Mapping[str, Any]) -> None:
        """Take what a person said of a page."""
        if self.config.topic is None:
            raise ValueError("the crawl has no examples of a topic to learn it with: give some with --topic")
        if (known := self.states.of(what["url"])) is None:
            raise ValueError("no page of the crawl links there")
        url = self.store.urls.url_of(known.id)
        self.runner.relevance.marks.give(known.id, url, is_relevant=bool(what["is_relevant"]))
        self.counts["mark/taken"] += 1

    # Links

    @property
    def has_to_learn(self) -> bool:
        """Whether there is something to do for :meth:`learn_anew`: a span for nothing would take 15 us a response."""
        return (self.store.is_leader and self.active_learning.has_work) or self.runner.has_to_learn(
            self.fetches.n_pages
        )

    def learn_anew(self) -> None:
        """Learn the topic anew where that is due, before each page, in a span of its own that no page takes back."""
        if self.store.is_leader:
            self.active_learning.work()
        self.outlinks.rescore(self.runner.learn_anew(self.fetches.n_pages))

    def enter_listed(self, listed: Sequence[tuple[str, float | None]]) -> None:
        """Enter URLs that a site's own list names, one link from the seeds, and when they changed, where it says so."""
        asked = []
        for url, _ in listed:
            host = host_of(url)
            if (outside := self.scope.outside(url, host)) is not None:
                self.scope.count(outside)
                continue
            new = NewUrl(url, host, self.frontier.key(url), depth=1)
            asked.append((new, self.policy.decide(url, host, Permission.MOVE, "")))
        self.frontier.enter(asked)
        self.revisits.ask_modified((self.frontier.key(url), at) for url, at in listed if at is not None)

    # The frontier

    def take(self) -> UrlRow | None:
        """Lease the best waiting URL of the ready slots that may still be fetched, as things stand by now."""
        self.late_samples.sample_doubted()
        self.frontier.unrequested.forget_unneeded(self.restorer.work())
        self.revisits.work()
        self.dust.work()
        self.is_behind = False
        for _ in range(MAX_DECIDED):
            self.head_rescorer.score()
            taken = self.store.urls.take()
            if taken is None:
                return None
            self._reread_hosts()
            if is_check := self.checks.is_check(taken.id):
                taken = taken._replace(is_demoted=True)  # it is fetched whatever only demotes it
            if (decision := self._left_out(taken)) is not None:
                self.scope_check.leave_out(taken, decision)
            elif self.frontier.decide_again(taken):
                return taken
            if is_check:
                self.checks.end(taken.id, is_content=False)
        self.is_behind = True
        return None

    def _reread_hosts(self) -> None:
        """Read anew what is held of hosts that other processes had until now."""
        for host in self.store.urls.claimed():
            self.replicas.read_again(host)
            self.fetches.forget_counts(host)

    def _left_out(self, taken: UrlRow) -> Decision | None:
        """Return why a URL whose turn has come does not belong to the crawl any more; ``None`` if it does."""
        decision = self.scope.about(taken)
        if decision is None and self.guard.is_full(taken.host) and not self.store.pages.has_page(taken.id):
            decision = full(taken.host)
        if decision is None or decision.reason is Reason.EXCLUDED:
            return decision
        is_asked = taken.permission is Permission.AS_ASKED or self.payloads.may_leave(taken.payload)
        return None if is_asked else decision

    @property
    def has_work(self) -> bool:
        """Whether :meth:`take` has something to do although it gave nothing."""
        return self.is_behind or self.restorer.has_work or self.revisits.has_work

    @property
    def is_pending(self) -> bool:
        """Whether there is anything to fetch, now or later."""
        return self.store.urls.waiting > 0 or self.restorer.has_work or self.revisits.has_work
