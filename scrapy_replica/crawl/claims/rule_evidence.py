"""What pages, redirects and failures show of rewrite rules, and what follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from scrapy_replica.claim import Claim, Kind, Why, of_rules
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.waiting_probes import Probes
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.dust_findings import DustFindings
from scrapy_replica.crawl.urls.watched_rule import Settled
from scrapy_replica.crawldb.contract import UrlRow
from scrapy_replica.decision import Outcome


class RuleEvidence:
    """Shows :class:`Dust` what fetches bring, and draws the consequences."""

    def __init__(self, dust: Dust, claims: Claims, samples: Samples, probes: Probes, counts: Counter[str]) -> None:
        self._dust, self._claims, self._samples = dust, claims, samples
        self._probes, self._counts = probes, counts

    def add_page(self, observation: Observation, callback: str, *, asks_more: bool) -> bool:
        """Take note of a page that *callback* is through with.

        Tell whether it repeats its twin and leads to less, as a version for print does.
        """
        findings = self._dust.observe(observation, callback, asks_more=asks_more)
        self._apply(findings, observation.depth, observation.url_id)
        return findings.is_part

    def add_redirect(self, row: UrlRow, location: str, callback: str) -> None:
        self._apply(self._dust.observe_redirect(row.url, row.id, location, callback), row.depth, row.id)

    def add_failure(self, url: str, claims: Iterable[Claim], *, is_told: bool) -> None:
        """Take note that *url*, in whose favour *claims* suppressed others, brought no page.

        *is_told*: its row says that it is gone.
        """
        rules = [int(claim.subject) for claim in claims if claim.kind is Kind.RULE]
        self._dust.note_gone(url, rules, is_told=is_told)

    def add_led_to_news(self, row: UrlRow, rules: set[int]) -> None:
        """Take note that a page that *rules* take for another one alone led to news."""
        self._apply(self._dust.led_to_news(row.url, rules), row.depth, row.id)

    def _apply(self, findings: DustFindings, depth: int, parent: int) -> None:
        """Draw the consequences of what rules showed on a page, at a *depth*, of the URL *parent* (its id)."""
        for watched in findings.ended:
            self._claims.restore_after_rule(watched, Why.REFUTED)
        for settled in findings.settled:
            self._claims.refute(self._settle(settled))
            if settled.image_id is not None:
                claim = of_rules(settled.rules)[0]
                self._claims.refute(self._samples.settle(settled.image_id, settled.outcome, claim))
        for rules in findings.disputed:
            self._claims.lift(of_rules(rules)[0])
        for watched in findings.doubted:
            self._samples.doubted.setdefault(Claim(Kind.RULE, str(watched.id)), parent)
        self._counts["dust/begun"] += len(set(findings.begun))
        self._probes.add_of_rules(findings.probes, depth, parent)
        self._probes.ask()

    def _settle(self, settled: Settled) -> list[Claim]:
        """Settle a sample of rewrite rules: where several made another page of it, none of them alone is blamed.

        Nor is a rule where the name of the page may be wrong, but where the sample tests no name: nobody would be.
        """
        url_id, outcome, rules, is_named, _ = settled
        tests_name = any(sample.claim.kind is Kind.NAME for sample in self._samples.open_of(url_id))
        is_named = is_named and tests_name
        refuted = self._samples.settle(url_id, outcome, of_rules(rules)[0]) if not is_named else []
        others = self._samples.open_of(url_id) if outcome is Outcome.OTHER or len(rules) > 1 or tests_name else ()
        for sample in others:
            is_told = sample.claim.kind is (Kind.NAME if is_named else Kind.RULES) or outcome is Outcome.SAME
            refuted += self._samples.settle(url_id, outcome if is_told else Outcome.UNKNOWN, sample.claim)
        return refuted
