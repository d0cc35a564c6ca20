"""One crawl: decides about URLs, observes pages, enters links. It orchestrates; the algorithms live in the rooms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from scrapy_replica.address import host_of
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.checks import Checks
from scrapy_replica.crawl.claims.by_hand import ByHand
from scrapy_replica.crawl.claims.claim_evidence import ClaimEvidence
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.fallback import Fallback
from scrapy_replica.crawl.claims.late_samples import LateSamples
from scrapy_replica.crawl.claims.permalink_evidence import PermalinkEvidence
from scrapy_replica.crawl.claims.probes import Probes
from scrapy_replica.crawl.claims.restoring import Restorer
from scrapy_replica.crawl.claims.rule_evidence import RuleEvidence
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.scope_check import ScopeCheck
from scrapy_replica.crawl.claims.settling import Settling
from scrapy_replica.crawl.decision_log import DecisionLog
from scrapy_replica.crawl.fetches import Fetches
from scrapy_replica.crawl.given import Clock, KeyOf, Payloads
from scrapy_replica.crawl.hosts.own_names import OwnNames
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.hosts.schemes import Schemes
from scrapy_replica.crawl.intake import Intake
from scrapy_replica.crawl.links.outlinks import Outlinks
from scrapy_replica.crawl.links.recent_links import RecentLinks
from scrapy_replica.crawl.order.beginning import WITHOUT_TOPIC
from scrapy_replica.crawl.order.head_rescorer import HeadRescorer
from scrapy_replica.crawl.order.strategy_runner import StrategyRunner
from scrapy_replica.crawl.orders import Orders
from scrapy_replica.crawl.pages.duplicates import Duplicates
from scrapy_replica.crawl.pages.reading import Reading
from scrapy_replica.crawl.pages.repetition import Repetition
from scrapy_replica.crawl.pages.search_forms import Forms
from scrapy_replica.crawl.policy import Policy
from scrapy_replica.crawl.remote import RemoteUpdates
from scrapy_replica.crawl.revisits import Revisits
from scrapy_replica.crawl.scope import HOST_PAGES, OUT_OF_SCOPE, CrawlScope, full
from scrapy_replica.crawl.states import UrlStates
from scrapy_replica.crawl.steering import Steering
from scrapy_replica.crawl.topic.active_learning import ActiveLearning
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.guard import TrapGuard
from scrapy_replica.crawl.urls.look_ahead import LookAhead
from scrapy_replica.crawl.urls.other_urls import OtherUrls
from scrapy_replica.crawl.urls.permalinks import Permalinks
from scrapy_replica.crawldb.contract import CrawlDB, NewUrl, Permission, UrlRow
from scrapy_replica.crawldb.orders import MARK
from scrapy_replica.decision import Decision, Mode, Reason
from scrapy_replica.sites.aliases import Aliases

SALT, NOISE = "salt", "noise"

MAX_DECIDED = 100
"""URLs decided about in one turn when none of them is to be fetched: 10 ms."""


class Crawl:
    """The parts of a crawl, each made of those that it works with, and what goes through several of them.

    :param payloads: what requests have beyond a plain GET.
    :param counts: statistics, as ``area/what``.
    :param salt: 32 bits that no site can know, on which it depends what is sampled; a job keeps its own.
    :param sink: where decisions are written as lines of JSON, besides the ledger in *store*.
    """

    def __init__(
        self,
        config: Config,
        store: CrawlDB,
        *,
        key: KeyOf,
        now: Clock,
        aliases: Aliases,
        payloads: Payloads,
        counts: Counter[str],
        salt: int = 0,
        sink: TextIO | None = None,
    ) -> None:
        _check_noise(config, store)
        self.config, self.store, self.counts, self.now, self.payloads = config, store, counts, now, payloads
        self._key, self._salt = key, int(store.first_meta(SALT, str(salt).encode()))
        self._make_what_is_known(aliases)
        self._make_what_decides(aliases, sink)
        self._make_what_tests()
        self._make_what_orders()
        self._fetches = fetches = Fetches(self)
        self.observe, self.observe_again = fetches.observe, fetches.observe_again
        self.observe_failure, self.settle_visit = fetches.observe_failure, fetches.settle_visit
        self.is_to_be_read, self.add_items = fetches.is_to_be_read, fetches.add_items
        self.end_callback, self.open_to, self.forget = fetches.end_callback, fetches.open_to, fetches.forget
        self.apply_remote = RemoteUpdates(self, fetches).apply
        self.is_behind = False
        """:meth:`take` stopped in the middle, so that nothing stalls; it wants to be called again."""
        self.orders.add(MARK, self._mark, url=str, is_relevant=bool)
        self.orders.follow(MARK, lambda _: self.runner.relevance.marks.read_again())
        if store.is_leader:
            self.restorer.adopt()
            if self.scope.is_changed:
                self.claims.lift(OUT_OF_SCOPE)
                self.claims.lift(HOST_PAGES)
        self.obey()

    def _make_what_is_known(self, aliases: Aliases) -> None:
        """Make what holds pages, hosts and URLs against those of before."""
        config, store, key = self.config, self.store, self._key
        self.scope = CrawlScope(config, store, self.counts, aliases.canonical_host)
        self.runner = StrategyRunner(config, store, self.counts)
        self.active_learning = ActiveLearning(store, self.runner.relevance)
        self.duplicates = Duplicates(store.pages, config)
        self.reading = Reading(self._salt, reads_all=self._uses_each_page())
        self.forms, self.repetition = Forms(store.forms), Repetition(store.blocks)
        self.replicas = Replicas(config, store, self.now, self.duplicates.index)
        self.revisits = Revisits(config, store, key, self.now, self._salt, self.counts, self.scope)
        self.states = UrlStates(store, key, self.revisits)
        self.rules = CrawlRules(config, store, self.now)
        self.dust = Dust(config, store, self.rules, self.revisits.is_stale_url)
        self.guard = TrapGuard(config, store.pages)
        self.permalinks = Permalinks(store)
        self.checks = Checks(store, config.stop_at, self._salt, is_topic=config.topic is not None)

    def _make_what_decides(self, aliases: Aliases, sink: TextIO | None) -> None:
        """Make what decides about URLs, writes it down and enters them."""
        config, store, key = self.config, self.store, self._key
        self.samples = Samples(store, config.explore, self._salt, key)
        self.schemes = Schemes(self.states, self.samples, store.claims)
        self.own_names = OwnNames(store, self.samples, key)
        self.log = DecisionLog(store, self.samples, self.reading, key, self.now, self.counts, sink)
        self.restorer = Restorer(store, self.log)
        self.policy = Policy(
            config,
            aliases,
            self.replicas,
            self.rules,
            self.guard,
            store.claims,
            self.scope,
            self.states,
            OtherUrls(self.states, self.own_names, self.permalinks, self.schemes, self.rules),
        )
        self.intake = Intake(
            store,
            self.policy,
            self.samples,
            self.payloads,
            self.restorer,
            self.log,
            self.replicas,
            self.revisits,
            key,
            self.counts,
        )

    def _make_what_tests(self) -> None:
        """Make what tests claims, and what follows when one ends."""
        store, key = self.store, self._key
        self.claims = Claims(store, self.replicas, self.rules, self.restorer, self.counts)
        settling = Settling(self.samples, self.replicas, store, key, self.revisits.is_stale)
        self.scope_check = ScopeCheck(store, self.scope, self.replicas, self.claims, settling, self.log, key)
        self.fallback = Fallback(store, self.intake, self.replicas, self.schemes, self.samples)
        self.probes = Probes(store, self.intake, self.reading, self.counts)
        look_ahead = LookAhead(store, self.intake, self.samples, self.guard, self.payloads)
        self.late_samples = LateSamples(
            store, self.samples, self.replicas, self.claims, self.restorer, self.fallback, look_ahead, settling
        )
        rules = RuleEvidence(self.dust, self.claims, self.samples, self.probes, self.counts)
        permalinks = PermalinkEvidence(store, self.permalinks, self.dust, self.samples, self.claims)
        self.evidence = ClaimEvidence(store, key, self.samples, settling, self.fallback, self.claims, rules, permalinks)

    def _make_what_orders(self) -> None:
        """Make what brings what waits in order: a person's word, and the strategy."""
        store = self.store
        self.orders = Orders(store, self.now)
        ByHand(self.replicas, self.rules, self.scope, self.claims).serve(self.orders)
        self.recent_links = RecentLinks()
        self.head_rescorer = HeadRescorer(store, self.runner, self.recent_links, self.revisits.is_known)
        self.outlinks = Outlinks(
            store,
            self.runner,
            self.policy,
            self.intake,
            self.scope,
            self.revisits,
            self.replicas,
            self.recent_links,
            self.counts,
        )

    def _uses_each_page(self) -> bool:
        """Tell whether what each page says is needed, whatever can be saved."""
        config = self.config
        needs = (config.stop_at, config.known, config.revisit, config.warc, config.mode is Mode.OBSERVE)
        return any(needs) or self.store.is_shared or self.runner.order != WITHOUT_TOPIC

    def obey(self) -> bool:
        """Carry out what a person told the crawl through its database, and let old verdicts end.

        Another process does so where this one is not the leader.

        :return: whether there was any order.
        """
        has_obeyed = False
        if self.store.is_leader:
            self.claims.mirrors_ended(self.replicas.expire())
            has_obeyed = self.orders.obey()
        self.store.commit()
        return has_obeyed

    def steer(self, on_seed: Callable[[str], None]) -> None:
        """Take note that the frontier is in use: a person's orders about it are carried out, beginning with those
        given before.

        *on_seed* is told the URL of each seed that a person added.
        """

        def added(url: str) -> None:
            self.open_to(host_of(url))
            on_seed(url)

        Steering(self.store, self.scope, self.intake, self.claims, self.orders, self.revisits.ask_wanted, on_seed=added)
        self.obey()
        if not self.store.is_shared:
            self.checks.begin()

    # Where another scheduler is in use

    def enter_fetched(self, url: str, found_on: int | None = None) -> int:
        """Return the id of *url*, which another scheduler fetched: it is done.

        *found_on* is the id of the page that it was found on.
        """
        url_id = self._enter_done(url, found_on)
        self.store.urls.finish([url_id])
        return url_id

    def record_decision(self, url: str, decision: Decision) -> None:
        """Write *decision* down about a URL that another scheduler fetches all the same, once for each reason."""
        decision = self.intake.draw(url, self.intake.key(url), decision)
        url_id = self._enter_done(url)
        if decision.reason is not None and not self.store.ledger.knows(url_id, decision.reason):
            self.log.record(url_id, url, decision)

    def _enter_done(self, url: str, found_on: int | None = None) -> int:
        """Return the id of *url*, which is not to be given out."""
        new = NewUrl(url, host_of(url), self.intake.key(url), parent=found_on, is_dropped=True)
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
            self._fetches.n_pages
        )

    def learn_anew(self) -> None:
        """Learn the topic anew where that is due, before each page, in a span of its own that no page takes back."""
        if self.store.is_leader:
            self.active_learning.work()
        self.outlinks.rescore(self.runner.learn_anew(self._fetches.n_pages))

    def enter_listed(self, listed: Sequence[tuple[str, float | None]]) -> None:
        """Enter URLs that a site's own list names, one link from the seeds, and when they changed, where it says so."""
        asked = []
        for url, _ in listed:
            host = host_of(url)
            if (outside := self.scope.outside(url, host)) is not None:
                self.scope.count(outside)
                continue
            new = NewUrl(url, host, self.intake.key(url), depth=1)
            asked.append((new, self.policy.decide(url, host, Permission.MOVE, "")))
        self.intake.enter(asked)
        self.revisits.ask_modified((self.intake.key(url), at) for url, at in listed if at is not None)

    # The frontier

    def take(self) -> UrlRow | None:
        """Lease the best waiting URL of the ready slots that may still be fetched, as things stand by now."""
        self.late_samples.look_back()
        self.intake.withdraw(self.restorer.work())
        self.revisits.work()
        self.replicas.work()
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
            elif self.intake.decide_again(taken):
                return taken
            if is_check:
                self.checks.end(taken.id, is_content=False)
        self.is_behind = True
        return None

    def _reread_hosts(self) -> None:
        """Read anew what is held of hosts that other processes had until now."""
        for host in self.store.urls.claimed():
            self.replicas.read_again(host)
            self._fetches.forget_counts(host)

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


def _check_noise(config: Config, store: CrawlDB) -> None:
    """Raise ``ConfigError`` where texts of this run and of those before do not compare."""
    noise = config.noise.value.encode()
    before = store.first_meta(NOISE, noise)
    if before != noise:
        raise ConfigError(f"REPLICA_NOISE: the crawl began with {before.decode()}; give that, or another JOBDIR")
