"""What a crawl is made of, and with what: nothing else makes its parts."""

from __future__ import annotations

from collections import Counter
from typing import TextIO

from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.checks import Checks
from scrapy_replica.crawl.claims.by_hand import ByHand
from scrapy_replica.crawl.claims.claim_evidence import ClaimEvidence
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.fallback import Fallback
from scrapy_replica.crawl.claims.late_samples import LateSamples
from scrapy_replica.crawl.claims.permalink_evidence import PermalinkEvidence
from scrapy_replica.crawl.claims.restoring import Restorer
from scrapy_replica.crawl.claims.rule_evidence import RuleEvidence
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.scope_check import ScopeCheck
from scrapy_replica.crawl.claims.settling import Settling
from scrapy_replica.crawl.claims.waiting_probes import Probes
from scrapy_replica.crawl.decision_log import DecisionLog
from scrapy_replica.crawl.frontier import Frontier
from scrapy_replica.crawl.given import Clock, KeyOf, Payloads
from scrapy_replica.crawl.hosts.own_names import OwnNames
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.hosts.schemes import Schemes
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
from scrapy_replica.crawl.revisits import Revisits
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawl.states import UrlStates
from scrapy_replica.crawl.topic.active_learning import ActiveLearning
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.guard import TrapGuard
from scrapy_replica.crawl.urls.look_ahead import LookAhead
from scrapy_replica.crawl.urls.other_urls import OtherUrls
from scrapy_replica.crawl.urls.permalinks import Permalinks
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.decision import Mode
from scrapy_replica.sites.aliases import Aliases

SALT, NOISE = "salt", "noise"


class Parts:
    """The parts of a crawl, each made of those that it works with.

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
        self._begin()

    def _begin(self) -> None:
        """Begin the crawl with these parts."""

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
        self.guard = TrapGuard(config, store.pages, store.urls.url_of)
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
        self.frontier = Frontier(
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
        self.fallback = Fallback(store, self.frontier, self.replicas, self.schemes, self.samples)
        self.probes = Probes(store, self.frontier, self.reading, self.counts)
        look_ahead = LookAhead(store, self.frontier, self.samples, self.guard, self.payloads)
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
        ByHand(self.replicas, self.rules, self.scope, self.claims, self.orders)
        self.recent_links = RecentLinks()
        self.head_rescorer = HeadRescorer(store, self.runner, self.recent_links, self.revisits.is_known)
        self.outlinks = Outlinks(
            store,
            self.runner,
            self.policy,
            self.frontier,
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


def _check_noise(config: Config, store: CrawlDB) -> None:
    """Raise ``ConfigError`` where texts of this run and of those before do not compare."""
    noise = config.noise.value.encode()
    before = store.first_meta(NOISE, noise)
    if before != noise:
        raise ConfigError(f"REPLICA_NOISE: the crawl began with {before.decode()}; give that, or another JOBDIR")
