"""The wiring of a crawl: which part works with which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TextIO

from scrapy_replica.config import Config
from scrapy_replica.crawl.checks import Checks
from scrapy_replica.crawl.claims.by_hand import ByHand
from scrapy_replica.crawl.claims.claim_evidence import ClaimEvidence
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.fallback import Fallback
from scrapy_replica.crawl.claims.late_samples import LateSamples
from scrapy_replica.crawl.claims.probes import Probes
from scrapy_replica.crawl.claims.restoring import Restorer
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.scope_check import ScopeCheck
from scrapy_replica.crawl.claims.settling import Settling
from scrapy_replica.crawl.decision_log import DecisionLog
from scrapy_replica.crawl.hosts.own_names import OwnNames
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.hosts.schemes import Schemes
from scrapy_replica.crawl.intake import Intake, Payloads
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
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawl.states import UrlStates
from scrapy_replica.crawl.topic.active_learning import ActiveLearning
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.guard import TrapGuard
from scrapy_replica.crawl.urls.look_ahead import LookAhead
from scrapy_replica.crawl.urls.permalinks import Permalinks
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.decision import Mode
from scrapy_replica.sites.aliases import Aliases


class Parts:
    """The parts of a crawl, each made of those that it works with; nothing else makes them.

    The parameters are those of :class:`~scrapy_replica.crawl.crawl.Crawl`.
    """

    def __init__(
        self,
        config: Config,
        store: CrawlDB,
        *,
        key: Callable[[str], int],
        now: Callable[[], float],
        aliases: Aliases,
        payloads: Payloads,
        counts: Counter[str],
        salt: int,
        sink: TextIO | None,
    ) -> None:
        self.config, self.store, self.counts, self.now, self.payloads = config, store, counts, now, payloads
        self.scope = CrawlScope(config, store, counts, aliases.canonical_host)
        self.runner = StrategyRunner(config, store, counts)
        self.active_learning = ActiveLearning(store, self.runner.relevance)
        self.duplicates = Duplicates(store.pages, config)
        self.reading = Reading(salt, reads_all=self._uses_each_page())
        self.forms, self.repetition = Forms(store.forms), Repetition(store.blocks)
        self.replicas = Replicas(config, store, now, self.duplicates.index)
        self.revisits = Revisits(config, store, key, now, salt, counts, self.scope)
        self.states = UrlStates(store, key, self.revisits)
        self.rules = CrawlRules(config, store, now)
        self.dust = Dust(config, store, self.rules, self.revisits.is_stale_url)
        self.guard = TrapGuard(config, store.pages)
        self.samples = Samples(store, config.explore, salt, key)
        self.log = DecisionLog(store, self.samples, self.reading, key, now, counts, sink)
        self.restorer = Restorer(store, self.log)
        schemes = Schemes(self.states, self.samples, store.claims)
        self.own_names = OwnNames(store, self.samples, key)
        permalinks = Permalinks(store)
        self.policy = Policy(
            config,
            aliases,
            self.replicas,
            self.rules,
            self.guard,
            store.claims,
            self.scope,
            self.states,
            schemes,
            self.own_names,
            permalinks,
        )
        self.intake = Intake(
            store,
            self.policy,
            self.samples,
            self.scope,
            payloads,
            self.restorer,
            self.log,
            key=key,
            counts=counts,
            on_new=self.replicas.add_url,
            on_led=self.revisits.note_led_on,
            on_withdrawn=self.replicas.read_again,
        )
        self.checks = Checks(store, config.stop_at, salt, is_topic=config.topic is not None)
        self.claims = Claims(store, self.replicas, self.rules, self.restorer, counts)
        settling = Settling(self.samples, self.replicas, store, key, self.revisits.is_stale)
        self.scope_check = ScopeCheck(store, self.scope, self.replicas, self.claims, settling, self.log, key)
        fallback = Fallback(store, self.intake, self.replicas, schemes, self.samples)
        self.probes = Probes(store, self.intake, self.reading, counts)
        look_ahead = LookAhead(store, self.intake, self.samples, self.guard, payloads)
        self.late_samples = LateSamples(
            store, self.samples, self.replicas, self.claims, self.restorer, fallback, look_ahead
        )
        self.evidence = ClaimEvidence(
            store,
            self.replicas,
            self.dust,
            permalinks,
            self.scope,
            self.scope_check,
            self.samples,
            settling,
            fallback,
            self.probes,
            self.claims,
            self.log,
            key,
            counts,
        )
        self.orders = Orders(store, now)
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
            counts,
        )
        self.remote = RemoteUpdates(
            store,
            self.replicas,
            self.rules,
            self.duplicates,
            self.runner,
            self.scope,
            self.orders,
            self.evidence,
            self.scope_check,
            self.restorer,
            payloads,
            now,
        )

    def _uses_each_page(self) -> bool:
        """Tell whether what each page says is needed, whatever can be saved."""
        config = self.config
        needs = (config.stop_at, config.known, config.revisit, config.warc, config.mode is Mode.OBSERVE)
        return any(needs) or self.store.is_shared or self.runner.order != WITHOUT_TOPIC
