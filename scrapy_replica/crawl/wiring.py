"""The wiring of a crawl: which part works with which. Nothing else builds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from scrapy_replica.config import Config
from scrapy_replica.crawl.checks import Checks
from scrapy_replica.crawl.claims.by_hand import ByHand
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.evidence import Evidence
from scrapy_replica.crawl.claims.fallback import Fallback
from scrapy_replica.crawl.claims.late_samples import LateSamples
from scrapy_replica.crawl.claims.probes import Probes
from scrapy_replica.crawl.claims.restoring import Restorer
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.scope_check import ScopeCheck
from scrapy_replica.crawl.claims.settling import Settling
from scrapy_replica.crawl.claims.standings import Standings
from scrapy_replica.crawl.decision_log import DecisionLog
from scrapy_replica.crawl.hosts.own_names import OwnNames
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.hosts.schemes import Schemes
from scrapy_replica.crawl.intake import Intake, Payloads
from scrapy_replica.crawl.links.outlinks import Outlinks
from scrapy_replica.crawl.links.seen import Seen
from scrapy_replica.crawl.order.head_rescorer import HeadRescorer
from scrapy_replica.crawl.order.strategy_runner import StrategyRunner
from scrapy_replica.crawl.orders import Orders
from scrapy_replica.crawl.pages.novelty import Duplicates
from scrapy_replica.crawl.pages.repetition import Repetition
from scrapy_replica.crawl.pages.search_forms import Forms
from scrapy_replica.crawl.policy import Policy
from scrapy_replica.crawl.remote import RemoteUpdates
from scrapy_replica.crawl.revisits import Revisits
from scrapy_replica.crawl.scope import CrawlScope
from scrapy_replica.crawl.states import UrlStates
from scrapy_replica.crawl.topic.asking import Asking
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.guard import TrapGuard
from scrapy_replica.crawl.urls.look_ahead import LookAhead
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.sites.aliases import Aliases


@dataclass
class Parts:
    """The parts of one crawl that it calls by itself."""

    scope: CrawlScope
    runner: StrategyRunner
    asking: Asking
    duplicates: Duplicates
    replicas: Replicas
    revisits: Revisits
    states: UrlStates
    dust: Dust
    forms: Forms
    repetition: Repetition
    guard: TrapGuard
    samples: Samples
    policy: Policy
    log: DecisionLog
    restorer: Restorer
    intake: Intake
    orders: Orders
    claims: Claims
    scope_check: ScopeCheck
    probes: Probes
    late_samples: LateSamples
    checks: Checks
    own_names: OwnNames
    evidence: Evidence
    seen: Seen
    head_rescorer: HeadRescorer
    outlinks: Outlinks
    remote: RemoteUpdates


def wire(
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
) -> Parts:
    """Return the parts of a crawl; the parameters are those of :class:`~scrapy_replica.crawl.crawl.Crawl`."""
    scope = CrawlScope(config, store, counts, aliases.canonical_host)
    runner = StrategyRunner(config, store, counts)
    asking = Asking(store, runner.relevance)
    duplicates = Duplicates(store.pages, config)
    replicas = Replicas(config, store, now, duplicates.index)
    revisits = Revisits(config, store, key, now, salt, counts, scope)
    states = UrlStates(store, key, revisits)
    dust = Dust(config, store, now, revisits.is_stale_url)
    guard = TrapGuard(config, store.pages)
    samples, standings = Samples(store, config.explore, salt, key), Standings(store)
    log = DecisionLog(store, samples, key, now, counts, sink)
    restorer = Restorer(store, log)
    schemes, own_names = Schemes(states, samples, standings), OwnNames(store, samples, standings, key)
    policy = Policy(config, aliases, replicas, dust, guard, standings, scope, states, schemes, own_names)
    intake = Intake(
        store,
        policy,
        samples,
        scope,
        payloads,
        restorer,
        log,
        key=key,
        counts=counts,
        on_new=replicas.add_url,
        on_led=revisits.led_on,
    )
    checks = Checks(store, config.stop_at, salt, is_topic=config.topic is not None)
    claims = Claims(store, standings, replicas, dust, restorer, counts)
    settling = Settling(samples, replicas, store, key, revisits.is_stale)
    scope_check = ScopeCheck(store, scope, replicas, claims, settling, log, key)
    fallback = Fallback(store, intake, replicas, schemes, samples)
    probes = Probes(store, intake, counts)
    look_ahead = LookAhead(store, intake, samples, guard, payloads)
    late_samples = LateSamples(store, samples, standings, replicas, claims, restorer, fallback, look_ahead)
    evidence = Evidence(
        store,
        replicas,
        dust,
        scope,
        scope_check,
        samples,
        settling,
        fallback,
        probes,
        late_samples,
        claims,
        log,
        key,
        counts,
    )
    orders = Orders(store, now)
    ByHand(replicas, dust, scope, claims).serve(orders)
    seen = Seen()
    return Parts(
        scope=scope,
        runner=runner,
        asking=asking,
        duplicates=duplicates,
        replicas=replicas,
        revisits=revisits,
        states=states,
        dust=dust,
        forms=Forms(store.forms),
        repetition=Repetition(store.blocks),
        guard=guard,
        samples=samples,
        policy=policy,
        log=log,
        restorer=restorer,
        intake=intake,
        orders=orders,
        claims=claims,
        scope_check=scope_check,
        probes=probes,
        late_samples=late_samples,
        checks=checks,
        own_names=own_names,
        evidence=evidence,
        seen=seen,
        head_rescorer=HeadRescorer(store, runner, seen, revisits.is_known),
        outlinks=Outlinks(store, runner, policy, intake, scope, revisits, replicas, seen, counts),
        remote=RemoteUpdates(
            store,
            replicas,
            dust,
            duplicates,
            runner,
            scope,
            orders,
            evidence,
            scope_check,
            standings,
            restorer,
            payloads,
            now,
        ),
    )
