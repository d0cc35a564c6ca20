"""From evidence to decisions: the mode, the exploration sample, the user's aliases and budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import mmh3

from scrapy_replica.address import has_secret
from scrapy_replica.config import Config
from scrapy_replica.crawl.hosts.replicas import Block, Replicas
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.guard import Guard
from scrapy_replica.crawl.urls.in_force import Hit
from scrapy_replica.crawldb.contract import Leeway
from scrapy_replica.decision import FETCH, Action, Decision, Mode, Reason
from scrapy_replica.records import Novelty
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.sites.counterpart import counterpart


class Policy:
    """Says what to do with a URL.

    What the evidence asks for is done to the letter in ``drop`` mode; in ``demote`` mode what is not certain waits
    behind everything else; in ``observe`` mode everything is fetched. A sample of what would be dropped is fetched.

    :param is_known: whether a URL was fetched or waits.
    :param is_missing: whether a URL was fetched and brought no page.
    """

    def __init__(
        self,
        config: Config,
        aliases: Aliases,
        replicas: Replicas,
        dust: Dust,
        guard: Guard,
        is_known: Callable[[str], bool],
        is_missing: Callable[[str], bool],
    ) -> None:
        self._config, self._aliases = config, aliases
        self._replicas, self._dust, self._guard = replicas, dust, guard
        self._is_known, self._is_missing = is_known, is_missing

    def of_url(
        self, url: str, host: str, key: int | None, leeway: Leeway = Leeway.MOVE, callback: str = ""
    ) -> Decision:
        """Decide about *url* on *host*, which *callback* is to get, from what is known of hosts and paths."""
        if leeway is Leeway.EXEMPT:
            return FETCH
        block = self._replicas.block_of(url, host)
        if block is not None and leeway is Leeway.MOVE and has_secret(url):
            leeway = Leeway.STAY
        if leeway is Leeway.AS_ASKED or (leeway is Leeway.STAY and block is not None):
            return self._ordered(block) if block is not None and block.is_manual else FETCH
        if leeway is Leeway.MOVE:
            target = self._aliases.canonical_url(url, host) if self._aliases else url
            if target != url:
                return self._aliased(target, host)
            if block is not None:
                is_lost = block.url is None or self._is_missing(block.url)
                return FETCH if is_lost and not block.is_manual else self._blocked(block, host, key)
        if (hit := self._dust.hit(url, host, callback)) is not None:
            return self._saved(url, hit)
        if (barred := self._guard.bars(url, host)) is not None:
            return self._resolve(Action.DROP, barred[0], key, barred[1], is_certain=barred[2])
        return FETCH

    def of_link(
        self, observation: Observation, url: str, host: str, key: int | None, leeway: Leeway, callback: str = ""
    ) -> Decision:
        """Decide about a link to *url* on the page of *observation*."""
        decision = self.of_url(url, host, key, leeway, callback)
        twin = observation.twin
        if decision is not FETCH or twin is None or leeway > Leeway.STAY:
            return decision
        evidence: dict[str, object] = {"page": observation.page.url, "repeats": twin.url}
        if observation.novelty is Novelty.NEAR_DUPLICATE:
            return self._resolve(Action.DEMOTE, Reason.NEAR_DUPLICATE_LINKS, key, evidence, is_certain=False)
        # Equal text says little of what it links to. Where the same link of the twin is known there is a page to stand
        # for it; otherwise nothing does, and it may only wait.
        other = counterpart(url, observation.page.url, twin.url)
        is_saved = other is not None and self._is_known(other) and not self._is_missing(other)
        evidence["counterpart"] = other if is_saved else None
        wanted = Action.DROP if is_saved else Action.DEMOTE
        decision = self._resolve(wanted, Reason.EXACT_DUPLICATE_LINKS, key, evidence, is_certain=False)
        return replace(decision, target=other) if is_saved else decision

    def _aliased(self, target: str, host: str) -> Decision:
        is_acting = self._config.mode is not Mode.OBSERVE
        return Decision(
            Action.REWRITE if is_acting else Action.FETCH,
            Action.REWRITE,
            Reason.MANUAL_ALIAS,
            evidence={"host": host},
            url=target if is_acting else None,
        )

    def _ordered(self, block: Block) -> Decision:
        """Decide about a request that may not be changed on a host that a person blocked."""
        evidence = {"keeper": block.verdict.keeper}
        decision = self._resolve(Action.DROP, Reason.MANUAL_BLOCK, None, evidence, is_certain=True)
        return replace(decision, causes=(f"host {block.verdict.copy}",))

    def _blocked(self, block: Block, host: str, key: int | None) -> Decision:
        reason = Reason.MANUAL_BLOCK if block.is_manual else Reason.REPLICA_HOST
        evidence = {"keeper": block.verdict.keeper, "score": round(block.verdict.score, 4)}
        decision = self._resolve(Action.DROP, reason, key, evidence, is_certain=True)
        # What a person ordered stands, whatever the kept host has to show.
        target = None if block.is_manual else block.url
        decision = replace(decision, probability=block.verdict.score, causes=(f"host {host}",), target=target)
        if not self._config.rewrite or block.url is None or self._config.mode is Mode.OBSERVE:
            return decision
        action = Action.REWRITE if decision.action is Action.DROP else decision.action
        return replace(decision, action=action, url=block.url)

    def _saved(self, url: str, hit: Hit) -> Decision:
        evidence = {"rules": list(hit.rules), "canonical": hit.url, "fetched": hit.is_fetched}
        # Sampled by the URL as it stands: its request fingerprint may be that of the canonical form.
        number = mmh3.hash64(url.encode("utf-8", "surrogatepass"))[0]
        decision = self._resolve(Action.DROP, Reason.DUST_RULE, number, evidence, is_certain=hit.is_certain)
        decision = replace(decision, causes=tuple(f"rule {rule}" for rule in hit.rules), target=hit.target)
        if hit.is_fetched or self._config.mode is Mode.OBSERVE:
            return decision
        action = Action.REWRITE if decision.action is Action.DROP else decision.action
        return replace(decision, action=action, url=hit.url)

    def rewritten(self, url: str, host: str, callback: str) -> str:
        """Return the URL that is fetched in place of *url* as the rules in force stand; *url* itself if none is."""
        hit = self._dust.hit(url, host, callback)
        decision = self._saved(url, hit) if hit is not None else FETCH
        return decision.url if decision.action is Action.REWRITE and decision.url is not None else url

    def _resolve(
        self, wanted: Action, reason: Reason, key: int | None, evidence: Mapping[str, object], *, is_certain: bool
    ) -> Decision:
        action, is_sampled = wanted, False
        if self._config.mode is Mode.OBSERVE:
            action = Action.FETCH
        elif wanted is Action.DROP and not is_certain and self._config.mode is Mode.DEMOTE:
            action = Action.DEMOTE
        elif wanted is Action.DROP and self._is_sampled(key):
            action, is_sampled = Action.FETCH, True
        probability = 1.0 if is_certain else 0.5
        return Decision(action, wanted, reason, probability, evidence, is_sampled=is_sampled)

    def _is_sampled(self, key: int | None) -> bool:
        # By the URL, not by chance: a crawl that is repeated or resumed samples the same URLs.
        if key is None:
            return False
        mixed = (key + self._config.seed) * 0x9E3779B97F4A7C15 % (1 << 64)
        return mixed < self._config.explore * (1 << 64)
