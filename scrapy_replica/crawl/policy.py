"""From evidence to decisions: the mode, the exploration sample, the user's aliases and budgets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from scrapy_replica.address import has_secret, host_of
from scrapy_replica.config import Config
from scrapy_replica.crawl.hosts.replicas import Block, Replicas
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.scope import CrawlScope, excluded, full
from scrapy_replica.crawl.states import UrlStates
from scrapy_replica.crawl.trials import Trials
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.guard import TrapGuard
from scrapy_replica.crawl.urls.host_rules import Hit
from scrapy_replica.crawl.urls.watched_rule import CONFIRMED
from scrapy_replica.crawldb.contract import Leeway
from scrapy_replica.decision import FETCH, TESTED, Action, Decision, Mode, Reason
from scrapy_replica.records import Novelty, Verdict
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.sites.counterpart import counterpart
from scrapy_replica.urls.validation import PROVED

ONLY = "only on "
"""Begins the cause of what is saved on a copy where nothing else leads to the kept host's page."""


class Policy:
    """Says what to do with a URL.

    What the evidence asks for is done to the letter in ``drop`` mode; in ``demote`` mode what is not certain waits
    behind everything else; in ``observe`` mode everything is fetched. Of what would be dropped :class:`Trials`
    draws what is fetched all the same; what they ended does not act.
    """

    def __init__(
        self,
        config: Config,
        aliases: Aliases,
        replicas: Replicas,
        dust: Dust,
        guard: TrapGuard,
        trials: Trials,
        scope: CrawlScope,
        states: UrlStates,
    ) -> None:
        self._config, self._aliases = config, aliases
        self._replicas, self._dust, self._guard, self._trials = replicas, dust, guard, trials
        self._scope, self._states = scope, states

    def decide(self, url: str, host: str, leeway: Leeway, callback: str, found_on: int | None = None) -> Decision:
        """Decide what is done with *url* on *host*, which *callback* is to get; samples are drawn.

        *found_on* is the id of the page that it was found on.
        """
        return self._trials.draw(self.of_url(url, host, leeway, callback, found_on), url)

    def decide_link(self, observation: Observation, url: str, host: str, leeway: Leeway, callback: str) -> Decision:
        """Decide what is done with a link to *url* on the page of *observation*; samples are drawn."""
        decision = self._trials.draw(self._of_link(observation, url, host, leeway, callback), url)
        if decision.action is Action.DROP and decision.reason is Reason.EXACT_DUPLICATE_LINKS:
            observation.dropped.append(url)
        return decision

    def of_url(
        self, url: str, host: str, leeway: Leeway = Leeway.MOVE, callback: str = "", found_on: int | None = None
    ) -> Decision:
        """Return what the evidence asks for about *url* on *host*, as the mode has it."""
        if leeway is Leeway.EXEMPT:
            return FETCH
        if (pattern := self._scope.excluded_by(url, host)) is not None:
            return excluded(pattern)
        decision = self._of_url(url, host, leeway, callback, found_on)
        other = decision.url or decision.target
        # What is not asked for can stand for something only where it was fetched before.
        if other is not None and not self._may_ask(other) and not self._states.is_fetched(other):
            decision = FETCH
        is_full = decision is FETCH and leeway <= Leeway.STAY and self._guard.is_full(host)
        return full(host) if is_full else decision

    def _may_ask(self, url: str) -> bool:
        return self._scope.may_stand(url) and not self._guard.is_full(host_of(url))

    def _of_url(self, url: str, host: str, leeway: Leeway, callback: str, found_on: int | None) -> Decision:
        block = self._replicas.block_of(url, host)
        if block is not None and leeway is Leeway.MOVE and has_secret(url):
            leeway = Leeway.STAY
        if block is not None and block.is_manual and leeway > Leeway.MOVE:
            return self._ordered(block)
        if leeway is Leeway.AS_ASKED:
            return FETCH
        target = self._aliases.canonical_url(url, host) if self._aliases and leeway is Leeway.MOVE else url
        if target != url:
            return self._aliased(target, host)
        # Rules before verdicts: without its session id a page is found on the kept host.
        hit = self._dust.hit(url, host, callback)
        if hit is not None and (decision := self._saved(host, hit)) is not FETCH:
            return decision
        if leeway is Leeway.MOVE and block is not None:
            return self._blocked(block, host, callback)
        if leeway is Leeway.MOVE and (saved := self._fetched_on_copy(url, host, callback)) is not None:
            return saved
        if (bar := self._guard.bars(url, host, found_on)) is not None:
            decision = self._resolve(bar.wanted, bar.reason, host, bar.evidence, is_certain=bar.is_certain)
            return replace(decision, n_agreed=bar.n_agreed) if decision.reason is not None else FETCH
        return FETCH

    def _of_link(self, observation: Observation, url: str, host: str, leeway: Leeway, callback: str) -> Decision:
        decision = self.of_url(url, host, leeway, callback, observation.url_id)
        twin = observation.twin
        if decision is not FETCH or twin is None or observation.gives_news or leeway > Leeway.STAY:
            return decision
        evidence: dict[str, object] = {"page": observation.page.url, "repeats": twin.url}
        if observation.novelty is Novelty.NEAR_DUPLICATE:
            return self._resolve(Action.DEMOTE, Reason.NEAR_DUPLICATE_LINKS, host, evidence, is_certain=False)
        # Equal text says little of what it links to. Where the same link of the twin is known there is a page to stand
        # for it; otherwise nothing does, and it may only wait.
        other, urls = counterpart(url, observation.page.url, twin.url), self._states
        is_saved = other is not None and urls.is_known(other) and not urls.is_missing(other) and self._may_ask(other)
        # Behind that page may lie what is out of scope there, and inside here.
        beside = links_beside(twin.host)
        is_saved = is_saved and not self._scope.left_out_of(twin.host) and not self._trials.has_refuted(beside)
        is_saved = is_saved and self._replicas.shares(twin.host, callback)
        evidence["counterpart"] = other if is_saved else None
        wanted = Action.DROP if is_saved else Action.DEMOTE
        decision = self._resolve(wanted, Reason.EXACT_DUPLICATE_LINKS, host, evidence, is_certain=False)
        if not is_saved or decision.reason is None:
            return decision
        return replace(decision, target=other, causes=(*decision.causes, beside))

    def _aliased(self, target: str, host: str) -> Decision:
        is_acting = self._config.mode is not Mode.OBSERVE
        return Decision(
            Action.REWRITE if is_acting else Action.FETCH,
            Action.REWRITE,
            Reason.MANUAL_ALIAS,
            evidence={"host": host, "url": target},
            url=target if is_acting else None,
        )

    def _ordered(self, block: Block) -> Decision:
        """Decide about a request that may not be changed on a host that a person blocked."""
        evidence = {"keeper": block.verdict.keeper}
        decision = self._resolve(Action.DROP, Reason.MANUAL_BLOCK, block.verdict.copy, evidence, is_certain=True)
        return replace(decision, causes=(block.verdict.cause,))

    def _blocked(self, block: Block, host: str, callback: str) -> Decision:
        verdict, target = block.verdict, block.url
        if block.is_manual:
            # What a person ordered stands, whatever the kept host has to show: it is no target that brings it back.
            decision = self._replica(verdict, host, Reason.MANUAL_BLOCK)
            told = {**decision.evidence, "url": target} if target is not None else decision.evidence
            return self._rewritten(replace(decision, evidence=told), target)
        if target is None or self._states.is_missing(target) or not self._replicas.shares(verdict.keeper, callback):
            return FETCH
        if self._states.is_known(target):
            decision = replace(self._replica(verdict, host), target=target, n_agreed=verdict.n_aligned)
            return self._rewritten(decision, target)
        # Nobody but the copy leads to it: what the two have in common says less about it.
        only = f"{ONLY}{host}"
        if self._replicas.has_own_pages(host) or self._trials.has_refuted(only):
            return FETCH
        if not self._config.rewrite:
            return self._replica(verdict, host, wanted=Action.DEMOTE)
        decision = self._replica(verdict, host)
        causes = (*decision.causes, only)
        return self._rewritten(replace(decision, causes=causes, target=target, n_agreed=verdict.n_aligned // 2), target)

    def _rewritten(self, decision: Decision, url: str | None) -> Decision:
        if not self._config.rewrite or url is None or self._config.mode is Mode.OBSERVE:
            return decision
        action = Action.REWRITE if decision.action is Action.DROP else decision.action
        return replace(decision, action=action, url=url)

    def _replica(
        self, verdict: Verdict, host: str, reason: Reason = Reason.REPLICA_HOST, wanted: Action = Action.DROP
    ) -> Decision:
        evidence = {"keeper": verdict.keeper, "score": round(verdict.score, 4)}
        decision = self._resolve(wanted, reason, host, evidence, is_certain=True)
        return replace(decision, probability=verdict.score, causes=(verdict.cause,))

    def _fetched_on_copy(self, url: str, host: str, callback: str) -> Decision | None:
        """Return the decision about *url* on a kept host whose page a copy had before it was blocked, if one had."""
        if self._config.revisit:
            return None  # the copy is not asked again, and so its page is of an earlier pass
        found = self._replicas.fetched_on_copy(url, host)
        if found is None or has_secret(url):
            return None
        verdicts, target = found
        copy = verdicts[-1].copy
        # Where a part of the copy is out of scope, its pages do not lead there.
        if self._scope.left_out_of(copy) or not self._replicas.shares(copy, callback):
            return None
        if self._states.is_missing(target):
            return None
        causes = tuple(verdict.cause for verdict in verdicts)
        n_agreed = min(verdict.n_aligned for verdict in verdicts)
        return replace(self._replica(verdicts[0], host), causes=causes, target=target, n_agreed=n_agreed)

    def _saved(self, host: str, hit: Hit) -> Decision:
        evidence = {"rules": list(hit.rules), "canonical": hit.url, "fetched": hit.is_fetched}
        decision = self._resolve(Action.DROP, Reason.DUST_RULE, host, evidence, is_certain=hit.is_certain)
        if decision.reason is None:
            return FETCH
        # Several rules are a cause of their own beside each of them: what is wrong with all may be right with each.
        causes = tuple(dict.fromkeys([cause_by(hit.rules), *(cause_by([rule]) for rule in hit.rules)]))
        n_agreed = CONFIRMED if hit.is_certain else PROVED
        decision = replace(decision, causes=causes, target=hit.target, n_agreed=n_agreed)
        if hit.is_fetched or self._config.mode is Mode.OBSERVE:
            return decision
        action = Action.REWRITE if decision.action is Action.DROP else decision.action
        return replace(decision, action=action, url=hit.url)

    def rewritten(self, url: str, host: str, callback: str) -> str:
        """Return the URL that is fetched in place of *url* as the rules in force stand; *url* itself if none is."""
        hit = self._dust.hit(url, host, callback)
        decision = self._saved(host, hit) if hit is not None else FETCH
        return decision.url if decision.action is Action.REWRITE and decision.url is not None else url

    def _resolve(
        self, wanted: Action, reason: Reason, host: str, evidence: Mapping[str, object], *, is_certain: bool
    ) -> Decision:
        cause = cause_on(reason, host)
        if reason in TESTED and self._trials.has_refuted(cause):
            return FETCH
        action = wanted
        if self._config.mode is Mode.OBSERVE:
            action = Action.FETCH
        elif wanted is Action.DROP and not is_certain and self._config.mode is Mode.DEMOTE:
            action = Action.DEMOTE
        return Decision(action, wanted, reason, 1.0 if is_certain else 0.5, evidence, causes=(cause,))


def cause_on(reason: Reason, host: str) -> str:
    """Return the cause of what is suppressed for *reason* on *host*."""
    return f"{reason.value} on {host}"


def cause_by(rules: Sequence[int]) -> str:
    """Return the cause of what DUST *rules* (their ids) change together: ``rule 3``, ``rules 3+8``."""
    return f"rule{'s' * (len(rules) > 1)} {'+'.join(map(str, sorted(rules)))}"


def links_beside(host: str) -> str:
    """Return the cause that links of duplicates are dropped by in favour of those of their twins on *host*."""
    return f"{Reason.EXACT_DUPLICATE_LINKS.value} of {host}"
