"""Which rules are tried on a host, and how they are proved: guesses, what held elsewhere, what its own pages teach."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from operator import attrgetter

from scrapy_replica.claim import Standing
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.given import Clock
from scrapy_replica.crawl.urls.contents import form_of
from scrapy_replica.crawl.urls.host_rules import HostRules
from scrapy_replica.crawl.urls.rule_priors import RulePriors
from scrapy_replica.crawl.urls.watched_rule import WatchedRule
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.rules import RuleRow
from scrapy_replica.decision import Mode
from scrapy_replica.urls.interchange import rules_at
from scrapy_replica.urls.judge import shipped
from scrapy_replica.urls.learners import combined
from scrapy_replica.urls.rule import Rule

PLAN_EVERY = 5
"""Pages of a host between two looks for URLs that would prove its candidates."""
PLAN_GROWTH = 8
"""On a large host, this part of its pages."""
WAITING_LOOKED_AT = 500
"""Best waiting URLs of a host among which they are looked for: 3 to 10 ms. Where these hold no pair, images are
guessed: with 200 half of those that were to prove one rule of a campus crawl did not exist."""
PROOFS, PROOF_SHARE = 12, 0.1
"""URLs of one host fetched to prove rules: at most so many, and this share of its pages."""
MAX_CANDIDATES = 12
"""Rules of one host under proof at a time. Those of which nothing was told by the URLs fetched to prove them take no
place: twelve such kept one over a thousand variants of products from being tried."""
MAX_LESSONS = 50
"""Hosts learnt from at a time, about 0.5 MB each; others wait for their next page."""
STEPS = 4
"""Steps of a lesson in one turn."""


class RuleProposals:
    """Proposes rules for hosts, and looks for the URLs whose pages prove them.

    :param wide: the rules for more than one host.
    """

    def __init__(self, config: Config, db: CrawlDB, now: Clock, wide: Sequence[WatchedRule]) -> None:
        self._config, self._db, self._now, self._wide = config, db, now, wide
        self.priors = RulePriors()
        if config.rules is not None:
            try:
                self.priors.give(rules_at(config.rules))
            except ValueError as error:
                raise ConfigError(f"REPLICA_RULES: {error}") from None
        self._lessons: dict[str, Generator[None, None, list[Rule]]] = {}
        """Host (and port) -> the lesson that is being learnt from its pages."""

    # What is proposed

    def propose(self, host: HostRules, form: str) -> bool:
        """Propose the priors that fit *form* and, when it is time, what the host's own pages teach."""
        rules = self.priors.rules_for(form, host.name)
        if host.pages.is_due() and host.name not in self._lessons and len(self._lessons) < MAX_LESSONS:
            self._lessons[host.name] = combined.learn_in_steps(*host.pages.lesson(), judge=shipped())
        return sum(self.candidate(rule, host) for rule in rules) > 0

    def work(self) -> tuple[str, list[Rule]] | None:
        """Do a little of what is too long for one turn; return a host (and port) and the rules that its pages taught,
        if a lesson came to its end.
        """
        for _ in range(STEPS if self._lessons else 0):
            name = next(iter(self._lessons))
            try:
                next(self._lessons[name])
            except StopIteration as end:
                del self._lessons[name]
                return name, end.value
        return None

    def propose_learnt(self, host: HostRules, rules: Iterable[Rule]) -> None:
        """Propose the *rules* that the pages of *host* taught, and look for their proofs with its next page."""
        for rule in rules:
            if self.candidate(rule, host):
                host.next_plan = 0

    def candidate(self, rule: Rule, host: HostRules) -> bool:
        """Take *rule* up as one to be proved on *host*; ``False`` if there is anything against it."""
        if rule.key in host.own or any(rule.key == watched.rule.key for watched in self._wide):
            return False
        under_proof = [one for one in host.watched() if one.state is Standing.CANDIDATE and one.needs_proof]
        row = RuleRow(0, rule.to_dict(), Standing.CANDIDATE, False, 0, 0, 0, [])
        watched = WatchedRule(row)
        if len(under_proof) >= MAX_CANDIDATES or host.is_refused(watched):
            return False
        host.take(row._replace(id=self._db.rules.enter(row.rule, self._now())), {})
        return True

    # How it is proved

    def plan(self, host: HostRules, host_name: str, *, is_news: bool) -> list[str]:
        """Return URLs to fetch that prove the candidates of a host: seldom any on one that has many pages."""
        n_pages = host.pages.pages
        if self._config.mode is Mode.OBSERVE or not (is_news or n_pages >= host.next_plan):
            return []
        host.next_plan = n_pages + max(PLAN_EVERY, n_pages // PLAN_GROWTH)
        unproved = sorted(filter(attrgetter("needs_proof"), host.watched()), key=lambda one: one.doubt(shipped()))
        left = int(PROOFS + PROOF_SHARE * n_pages) - host.spent
        if not unproved or left <= 0:
            return []
        probes: list[str] = []
        waiting = [form_of(url) for url in self._db.urls.waiting_urls(host_name, WAITING_LOOKED_AT)]
        are_waiting = {host.canonical(form)[0] for form in waiting}

        def is_met(image: str) -> bool:
            canonical = host.canonical(image)[0]
            return canonical in are_waiting or host.fetched_form(canonical) is not None

        for watched in unproved:
            if watched.state is Standing.CANDIDATE and not watched.may_save(waiting, is_met):
                continue
            known = len(watched.proofs)
            found = watched.pairs(host.pages, waiting, left, host.is_one)
            probes += found
            left -= len(found)
            host.spent += len(found)
            if len(watched.proofs) > known:
                self._db.rules.set_proofs(watched.id, watched.proofs)
        return probes
