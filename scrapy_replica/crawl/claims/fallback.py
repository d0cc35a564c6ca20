"""Fallback: what a canonical host does not bring is asked of its mirrors."""

from __future__ import annotations

from scrapy_replica.address import has_secret
from scrapy_replica.claim import Claim
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.settling import compared
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.intake import Intake
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawldb.contract import CrawlDB, Leeway
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Novelty


class Fallback:
    """Asks mirrors for the pages that their canonical host does not bring.

    What was suppressed on a mirror comes back when its representative fails. What lies behind it was never found there,
    because the pages that lead to it were suppressed: the canonical host's own links do, so each of them that fails is
    asked of the mirrors. What a mirror has and its canonical host lacks counts against the claim.
    """

    def __init__(self, store: CrawlDB, intake: Intake, replicas: Replicas, samples: Samples) -> None:
        self._store, self._intake, self._replicas, self._samples = store, intake, replicas, samples
        self._asked: dict[int, int] = {}
        """Id of a URL on a mirror -> id of the canonical host's."""

    def ask(self, url_id: int) -> None:
        """Ask the mirrors for what the canonical host did not bring at the URL of that id."""
        failed = self._store.urls.row(url_id)
        is_plain = failed.leeway is Leeway.MOVE or (failed.leeway is Leeway.EXEMPT and failed.payload is None)
        if is_plain and not has_secret(failed.url):
            for url, is_in_vain in self._replicas.on_copies(failed.url, failed.host):
                asked_id = self._intake.ask_elsewhere(failed, url, is_demoted=is_in_vain)
                if asked_id is not None:
                    self._asked[asked_id] = url_id

    def add_page(self, observation: Observation) -> list[Claim]:
        """Take note of a page; return the claims that it refuted."""
        failed_id = self._asked.pop(observation.url_id, None)
        verdict = self._replicas.verdict_of(observation.page.host)
        if failed_id is None or verdict is None:
            return []
        outcome = self._outcome(observation, failed_id)
        self._replicas.asked(observation.page.host, is_news=outcome is not Outcome.SAME)
        if outcome is Outcome.SAME:
            return []
        decision = Decision(Action.FETCH, Action.DROP, Reason.REPLICA_HOST, claims=(verdict.claim,))
        self._samples.enter(observation.url_id, observation.page.url, decision)
        return self._samples.settle(observation.url_id, outcome)

    def _outcome(self, observation: Observation, failed_id: int) -> Outcome:
        page, failed = self._store.pages.trace(observation.url_id), self._store.pages.trace(failed_id)
        if page is not None and failed is not None:
            return compared(page, failed)
        if observation.novelty is Novelty.UNKNOWN:
            return Outcome.UNKNOWN
        return Outcome.OTHER if observation.novelty is Novelty.NOVEL else Outcome.SAME

    def add_failure(self, url_id: int) -> None:
        """Take note that a URL brought no page: that mirror was asked in vain."""
        if self._asked.pop(url_id, None) is not None:
            self._replicas.asked(self._store.urls.row(url_id).host, is_news=False)
