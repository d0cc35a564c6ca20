"""What follows from findings on hosts and rules: URLs that wait are decided anew, dropped ones come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy_replica.address import host_of
from scrapy_replica.crawl.hosts.replicas import ProbeUrl
from scrapy_replica.crawl.hosts.samples import Samples
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.urls.watched import WatchedRule
from scrapy_replica.crawldb.sqlite.database import NewUrl, Waiting
from scrapy_replica.crawldb.sqlite.pages import GONE
from scrapy_replica.crawldb.sqlite.schema import DEMOTED, PRIORITY_STEP
from scrapy_replica.decision import FETCH, Action, Decision, Reason
from scrapy_replica.records import Novelty, Verdict

if TYPE_CHECKING:
    from scrapy_replica.crawl.crawl import Crawl

HOST_REASONS = (Reason.REPLICA_HOST.value, Reason.MANUAL_BLOCK.value)

PROBE_SCORE = 0.4 * PRIORITY_STEP
"""Score of a probe: before every link, after what the user gave a higher priority."""


class Consequences:
    """Carries findings out on the frontier of *crawl*."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawl, self._db, self._counts = crawl, crawl.db, crawl.counts
        self._samples = Samples(crawl.replicas, crawl.db, crawl.fingerprint)

    def of_page(self, observation: Observation) -> None:
        """Carry out what the page brought to light, and settle what it is a sample of."""
        self._of_hosts(observation)
        if self._of_rules(observation):
            return  # the pair tells, not the page alone
        settled, withdrawn = self._samples.fetched(observation.page, observation.url_id, observation.novelty)
        self._counts["sample/fetched"] += settled
        self._take_back(withdrawn)

    # Hosts

    def _of_hosts(self, observation: Observation) -> None:
        findings, probes = self._crawl.replicas.observe(observation.page, observation.url_id)
        for verdict in findings.verdicts:
            self._counts["host/blocked"] += 1
            self._reconsider(verdict.copy)
        self._take_back(findings.withdrawn)
        self._counts["host/conflicts"] += len(findings.conflicts)
        for probe in probes:
            self._counts["host/probes"] += self._probe(probe, observation)

    def _take_back(self, verdicts: Sequence[Verdict]) -> None:
        for verdict in verdicts:
            self._counts["host/withdrawn"] += 1
            self._db.restore(verdict.copy, HOST_REASONS)

    def _probe(self, probe: ProbeUrl, observation: Observation) -> bool:
        crawl = self._crawl
        fingerprint = crawl.fingerprint(probe.url)
        if probe.is_known:
            return self._db.raise_(fingerprint, PROBE_SCORE)
        if not crawl.may_enter_probes or crawl.decide(probe.url, probe.host, fingerprint) is not FETCH:
            return False
        new = NewUrl(probe.url, probe.host, fingerprint, PROBE_SCORE, observation.depth + 1, observation.url_id)
        return crawl.enter(new, FETCH)

    def _reconsider(self, host: str) -> None:
        """Decide anew about everything that waits of *host*."""
        crawl = self._crawl
        for waiting in self._db.waiting_of(host):
            if waiting.is_exempt:
                continue
            decision = crawl.decide(waiting.url, waiting.host, waiting.fingerprint)
            if decision.action in {Action.DROP, Action.REWRITE}:
                self._db.drop_waiting(waiting)
                crawl.record(waiting.id, waiting.url, decision)
            if decision.url is not None:
                self.enter_instead(waiting, decision.url)

    def enter_instead(self, waiting: Waiting, url: str) -> None:
        """Enter *url* in place of *waiting*, with its score: of two, the better one stays."""
        crawl = self._crawl
        host, fingerprint = host_of(url), crawl.fingerprint(url)
        score = waiting.score + (DEMOTED if waiting.score < -DEMOTED / 2 else 0.0)
        new = NewUrl(url, host, fingerprint, score, waiting.depth, payload=waiting.payload)
        crawl.enter(new, crawl.decide(url, host, fingerprint))

    # Rules

    def _of_rules(self, observation: Observation) -> bool:
        """Return whether the page is one that a DUST rule would have saved."""
        findings = self._crawl.dust.observe(observation.page, observation.url_id, observation.twin)
        for url_id, is_same in findings.settled:
            outcome = Novelty.EXACT_DUPLICATE if is_same else Novelty.NOVEL
            self._counts["sample/fetched"] += self._db.ledger.settle(url_id, outcome.value)
        for watched in findings.ended:
            self._withdraw(watched)
        for host in dict.fromkeys(findings.begun):
            self._counts["dust/begun"] += 1
            self._reconsider(host)
        for form in findings.probes:
            probe = ProbeUrl(form, host_of(form), is_known=True)
            is_asked = self._probe(probe, observation) or self._probe(probe._replace(is_known=False), observation)
            self._counts["dust/probes"] += is_asked
        return findings.is_saved

    def _withdraw(self, watched: WatchedRule) -> None:
        self._counts["dust/withdrawn"] += 1
        record = watched.watch
        wrong = [f"{pair.url} is not {pair.image}" for pair in record.wrong_pairs[:2]]
        evidence = {
            "withdrawn": watched.id,
            "pairs": record.right + record.wrong,
            "wrong": record.wrong,
            "for example": wrong,
        }
        self._say_again(self._db.restore_of_rule(watched.id), evidence)

    def _say_again(self, restored: list[tuple[int, str]], evidence: dict[str, object]) -> None:
        for url_id, url in restored:
            self._crawl.record(url_id, url, Decision(Action.FETCH, Action.FETCH, Reason.DUST_RULE, evidence=evidence))

    def of_failure(self, url_id: int, status: int | None) -> None:
        """Take note that a URL brought no page: what was dropped in its favour comes back if there is none."""
        self._take_back(self._samples.failed(url_id))
        if status in GONE:
            form = self._crawl.dust.gone(self._db.url_of(url_id))
            if form is not None:
                self._say_again(self._db.restore_of_form(form), {"gone": form})

    def obey(self) -> None:
        """Carry out what a person told the crawl through its database, and let old verdicts end."""
        blocked, freed = self._crawl.replicas.obey()
        for host in freed:
            self._db.restore(host, HOST_REASONS)
        begun, ended = self._crawl.dust.obey()
        for watched in ended:
            self._withdraw(watched)
        for host in (*blocked, *begun):
            self._reconsider(host)
        self._db.commit()
