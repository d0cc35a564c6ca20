"""Decides about a URL: verdicts, rules, schemes, names, traps and budgets are asked; the first objection counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy_replica.address import has_secret, host_of
from scrapy_replica.claim import Claim, Kind, of_rules
from scrapy_replica.config import Config
from scrapy_replica.crawl.hosts.replicas import Block, Replicas
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.scope import CrawlScope, excluded, full
from scrapy_replica.crawl.states import UrlStates
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawl.urls.guard import Rejection, TrapGuard
from scrapy_replica.crawl.urls.host_rules import Hit
from scrapy_replica.crawl.urls.other_urls import OtherUrls
from scrapy_replica.crawl.urls.watched_rule import CONFIRMED
from scrapy_replica.crawldb.contract import Permission
from scrapy_replica.decision import FETCH, Action, Decision, Mode, Reason
from scrapy_replica.records import Novelty, Verdict
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.sites.counterpart import counterpart
from scrapy_replica.urls.validation import PROVED

if TYPE_CHECKING:
    from scrapy_replica.crawldb.claims import ClaimTable


class Policy:
    """Turns the first objection to a URL into a :class:`Decision`, under the mode.

    What the evidence asks for is done to the letter in ``drop`` mode; in ``demote`` mode what is not certain waits
    behind everything else; in ``observe`` mode everything is fetched. A refuted claim does not act. Which URLs are
    fetched all the same, as samples, is decided when they are entered.
    """

    def __init__(
        self,
        config: Config,
        aliases: Aliases,
        replicas: Replicas,
        rules: CrawlRules,
        guard: TrapGuard,
        claims: ClaimTable,
        scope: CrawlScope,
        states: UrlStates,
        other_urls: OtherUrls,
    ) -> None:
        self._config, self._aliases = config, aliases
        self._replicas, self._rules, self._guard, self._claims = replicas, rules, guard, claims
        self._scope, self._states, self._other_urls = scope, states, other_urls
        self.may_stand, self.looked_up = scope.may_stand, other_urls.looked_up

    def decide(
        self,
        url: str,
        host: str,
        permission: Permission = Permission.MOVE,
        callback: str = "",
        parent: int | None = None,
    ) -> Decision:
        """Return what is done with *url* on *host*, which *callback* is to get, less the samples.

        *parent* is the id of the page that it was found on. Nothing is drawn or written; the URL is remembered as one
        that was met, by its scheme and by what stands in the places of rules.
        """
        if permission is Permission.EXEMPT:
            return FETCH
        if (pattern := self._scope.excluded_by(url, host)) is not None:
            return excluded(pattern)
        decision = self._of_url(url, host, permission, callback, parent)
        other = decision.url or decision.representative
        # What is not asked for can stand for something only where it was fetched before, or where a person says so: it
        # is left out on the canonical host then, by what holds there.
        is_ordered = decision.reason is Reason.MANUAL_BLOCK
        if other is not None and not is_ordered and not self.may_ask(other) and not self._states.is_fetched(other):
            decision = FETCH
        is_full = decision is FETCH and permission <= Permission.STAY and self._guard.is_full(host)
        return full(host) if is_full else decision

    def may_ask(self, url: str) -> bool:
        """Tell whether *url* is in scope, and its host not full."""
        return self._scope.may_stand(url) and not self._guard.is_full(host_of(url))

    def _of_url(self, url: str, host: str, permission: Permission, callback: str, parent: int | None) -> Decision:
        block = self._replicas.block_of(url, host)
        if block is not None and permission is Permission.MOVE and has_secret(url):
            permission = Permission.STAY
        if block is not None and block.verdict.is_manual and permission > Permission.MOVE:
            return self._ordered(block)
        if permission is Permission.AS_ASKED:
            return FETCH
        target = self._aliases.canonical_url(url, host) if self._aliases and permission is Permission.MOVE else url
        if target != url:
            return self._aliased(target, host)
        # Rules before verdicts: without its session id a page is found on the canonical host.
        hit = self._rules.hit(url, host, callback)
        if hit is not None and (decision := self._by_rule(hit, host)) is not FETCH:
            return decision
        if permission is Permission.MOVE and block is not None:
            return self._blocked(block, host, callback)
        if permission is Permission.MOVE and (found := self._fetched_on_copy(url, host, callback)) is not None:
            return found
        if permission is Permission.MOVE and (found := self._same_elsewhere(url, host, callback, parent)) is not None:
            return found
        if (rejection := self._guard.rejection_of(url, host, parent)) is not None:
            return self._by_guard(rejection, host)
        return FETCH

    def decide_link(
        self, observation: Observation, url: str, host: str, permission: Permission, callback: str
    ) -> Decision:
        """Return what is done with a link to *url* on the page of *observation*, as :meth:`decide` does."""
        decision = self.decide(url, host, permission, callback, observation.url_id)
        if decision is FETCH and observation.is_collected and permission <= Permission.STAY:
            action = Action.FETCH if self._config.mode is Mode.OBSERVE else Action.DEMOTE
            return Decision(action, Action.DEMOTE, Reason.COLLECTED_LINKS, evidence={"page": observation.page.url})
        twin = observation.twin
        if decision is not FETCH or twin is None or observation.gives_news or permission > Permission.STAY:
            return decision
        evidence: dict[str, object] = {"page": observation.page.url, "repeats": twin.url}
        claim = Claim(Kind.LINKS, twin.host, host)
        if observation.novelty is Novelty.NEAR_DUPLICATE:
            return self._decision(Action.DEMOTE, Reason.NEAR_DUPLICATE_LINKS, claim, evidence, is_certain=False)
        # Equal text says little of what it links to. Where the same link of the twin is known there is a page to stand
        # for it; otherwise nothing does, and it may only wait.
        other, urls = counterpart(url, observation.page.url, twin.url), self._states
        may_drop = other is not None and urls.is_known(other) and not urls.is_missing(other) and self.may_ask(other)
        # Behind that page may lie what is out of scope there, and inside here.
        may_drop = may_drop and not self._scope.left_out_of(twin.host) and self._replicas.shares(twin.host, callback)
        evidence["counterpart"] = other if may_drop else None
        wanted = Action.DROP if may_drop else Action.DEMOTE
        decision = self._decision(wanted, Reason.EXACT_DUPLICATE_LINKS, claim, evidence, is_certain=False)
        return replace(decision, representative=other) if may_drop and decision.reason is not None else decision

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
        evidence = {"canonical": block.verdict.canonical}
        return self._decision(Action.DROP, Reason.MANUAL_BLOCK, block.verdict.claim, evidence, is_certain=True)

    def _blocked(self, block: Block, host: str, callback: str) -> Decision:
        verdict, target = block.verdict, block.url
        if verdict.is_manual:
            # What a person ordered stands, whatever the canonical host shows: it is no target that brings it back.
            decision = self._by_verdict(verdict, Reason.MANUAL_BLOCK)
            told = {**decision.evidence, "url": target} if target is not None else decision.evidence
            return self._with_rewrite(replace(decision, evidence=told), target)
        if target is None or self._states.is_missing(target) or not self._replicas.shares(verdict.canonical, callback):
            return FETCH
        decision = replace(self._by_verdict(verdict), representative=target, n_agreed=verdict.n_aligned)
        if not self._states.is_wanted(target):
            # Nobody but the copy leads to it: what the two have in common says less about it.
            unshared = Claim(Kind.UNSHARED, host, verdict.canonical)
            if self._claims.is_refuted(unshared):
                return FETCH
            decision = replace(decision, claims=(*decision.claims, unshared))
        return self._with_rewrite(decision, target)

    def _with_rewrite(self, decision: Decision, url: str | None) -> Decision:
        if url is None or self._config.mode is Mode.OBSERVE:
            return decision
        action = Action.REWRITE if decision.action is Action.DROP else decision.action
        return replace(decision, action=action, url=url)

    def _by_verdict(self, verdict: Verdict, reason: Reason = Reason.REPLICA_HOST) -> Decision:
        evidence = {"canonical": verdict.canonical, "score": round(verdict.score, 4)}
        decision = self._decision(Action.DROP, reason, verdict.claim, evidence, is_certain=True)
        return replace(decision, probability=verdict.score)

    def _fetched_on_copy(self, url: str, host: str, callback: str) -> Decision | None:
        """Return the decision about *url* on a canonical host whose page a copy had before it was blocked."""
        if self._config.revisit:
            return None  # the copy is not asked again, and so its page is of an earlier pass
        found = self._replicas.fetched.instead_of(url, host)
        if found is None or has_secret(url):
            return None
        verdicts, target = found
        copy = verdicts[-1].copy
        # Where a part of the copy is out of scope, its pages do not lead there.
        if self._scope.left_out_of(copy) or not self._replicas.shares(copy, callback):
            return None
        if self._states.is_missing(target):
            return None
        claims = tuple(
            verdict.claim._replace(kind=kind) for verdict in verdicts for kind in (Kind.MIRROR, Kind.FETCHED)
        )
        if any(map(self._claims.is_refuted, claims)):
            return None
        n_agreed = min(verdict.n_aligned for verdict in verdicts)
        return replace(self._by_verdict(verdicts[0]), claims=claims, representative=target, n_agreed=n_agreed)

    def _same_elsewhere(self, url: str, host: str, callback: str, parent: int | None) -> Decision | None:
        """Return the decision about *url* whose page is fetched by another URL."""
        if not self._config.dust or has_secret(url):
            return None
        found = self._other_urls.same_of(url, host, callback, parent)
        if found is None or not self._replicas.shares(host, callback):
            return None
        reason, same = found
        decision = self._decision(Action.DROP, reason, same.claim, {"other": same.url}, is_certain=True)
        action = decision.action if same.is_proved or decision.action is not Action.DROP else Action.DEMOTE
        return replace(decision, action=action, representative=same.url)

    def _by_guard(self, rejection: Rejection, host: str) -> Decision:
        kind = Kind.TRAP if rejection.reason is Reason.TRAP_BUDGET else Kind.BUDGET
        evidence, is_certain = rejection.evidence, rejection.is_certain
        claim = Claim(kind, host, str(evidence.get("kind", rejection.reason.value)))
        decision = self._decision(rejection.wanted, rejection.reason, claim, evidence, is_certain=is_certain)
        return replace(decision, n_agreed=rejection.n_agreed) if decision.reason is not None else FETCH

    def _by_rule(self, hit: Hit, host: str) -> Decision:
        evidence = {"rules": list(hit.rules), "representative": hit.target, "fetched": hit.is_fetched}
        claims = of_rules(hit.rules)
        decision = self._decision(Action.DROP, Reason.DUST_RULE, claims[0], evidence, is_certain=hit.is_certain)
        if decision.reason is None or self._states.has_error(hit.target):
            return FETCH
        # Who comes back finds such a page by a name without the session. Otherwise it saves nothing that the page does
        # not save that is fetched as it stands, each sample costs one, and each may begin a session.
        if hit.is_made_up and not self._config.revisit and not self._states.is_known(hit.target):
            return FETCH
        if hit.is_named:
            name = Claim(Kind.NAME, host)
            if self._claims.is_refuted(name):
                return FETCH
            claims = (*claims, name)
        n_agreed = 0 if hit.is_gate else CONFIRMED if hit.is_certain else PROVED
        decision = replace(
            decision,
            claims=claims,
            representative=hit.target,
            n_agreed=n_agreed,
            is_gate=hit.is_gate,
            is_rule_chain=hit.is_rule_chain,
        )
        return decision if hit.is_fetched else self._with_rewrite(decision, hit.target)

    def note_waiting(self, url: str, host: str, callback: str) -> None:
        """Take note that *url* on *host* is to be fetched as it stands, for *callback*.

        Whoever comes back asks for names without a session.
        """
        if not self._config.revisit:
            self._rules.note_waiting(url, host, callback)

    def rewrite_target(self, url: str, host: str, callback: str) -> str:
        """Return the URL that is fetched in place of *url* as the rules in force stand; *url* itself if none is."""
        hit = self._rules.hit(url, host, callback)
        decision = self._by_rule(hit, host) if hit is not None else FETCH
        return decision.url if decision.action is Action.REWRITE and decision.url is not None else url

    def _decision(
        self, wanted: Action, reason: Reason, claim: Claim, evidence: Mapping[str, object], *, is_certain: bool
    ) -> Decision:
        if self._claims.is_refuted(claim):
            return FETCH
        action = wanted
        if self._config.mode is Mode.OBSERVE:
            action = Action.FETCH
        elif wanted is Action.DROP and not is_certain and self._config.mode is Mode.DEMOTE:
            action = Action.DEMOTE
        return Decision(action, wanted, reason, 1.0 if is_certain else 0.5, evidence, claims=(claim,))
