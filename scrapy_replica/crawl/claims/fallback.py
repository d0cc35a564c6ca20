"""Fallback: what a canonical host does not bring is asked of its mirrors, and by the other scheme."""

from __future__ import annotations

from scrapy_replica.address import has_secret
from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.settling import compared
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.hosts.schemes import Schemes
from scrapy_replica.crawl.intake import Intake
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawldb.contract import CrawlDB, Permission
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Novelty


class Fallback:
    """Asks mirrors for the pages that their canonical host does not bring.

    What was suppressed on a mirror comes back when its representative fails. What lies behind it was never found there,
    because the pages that lead to it were suppressed: the canonical host's own links do, so each of them that fails is
    asked of the mirrors. What a mirror has and its canonical host lacks counts against the claim. The same holds of a
    URL that fails by http and its twin by https.
    """

    def __init__(self, store: CrawlDB, intake: Intake, replicas: Replicas, schemes: Schemes, samples: Samples) -> None:
        self._store, self._intake, self._samples = store, intake, samples
        self._replicas, self._schemes = replicas, schemes
        self._asked: dict[int, int] = {}
        """Id of a URL on a mirror, or by the other scheme -> id of the one that failed."""

    def ask_again(self, host: str) -> bool:
        """Ask for what failed on *host* before a claim acted that may suppress what leads to it.

        Tell whether anything is asked for.
        """
        n_before = len(self._asked)
        for url_id in self._store.pages.failed_on(host):
            self.ask(url_id)
        return len(self._asked) > n_before

    def ask(self, url_id: int) -> None:
        """Ask the mirrors, and the other scheme, for what was not brought at the URL of that id."""
        failed = self._store.urls.row(url_id)
        is_plain = failed.permission is Permission.MOVE or (
            failed.permission is Permission.EXEMPT and failed.payload is None
        )
        if is_plain and not has_secret(failed.url):
            others = self._replicas.on_copies(failed.url, failed.host)
            if (other := self._schemes.instead_of(failed.url, failed.host)) is not None:
                others.append(other)
            for url in others:
                if (asked_id := self._intake.ask_elsewhere(failed, url)) is not None:
                    self._asked[asked_id] = url_id

    def add_page(self, observation: Observation) -> list[Claim]:
        """Take note of a page; return the claims that it refuted."""
        failed_id = self._asked.pop(observation.url_id, None)
        if failed_id is None:
            return []
        host = observation.page.host
        are_on_one_host = self._store.urls.row(failed_id).host == host
        outcome = self._outcome(observation, failed_id, are_on_one_host=are_on_one_host)
        if are_on_one_host:
            claim, reason = Claim(Kind.SCHEME, host), Reason.OTHER_SCHEME
        elif (verdict := self._replicas.verdict_of(host)) is not None:
            claim, reason = verdict.claim, Reason.REPLICA_HOST
        else:
            return []
        if outcome is Outcome.SAME:
            return []
        decision = Decision(Action.FETCH, Action.DROP, reason, claims=(claim,))
        self._samples.enter(observation.url_id, observation.page.url, decision)
        return self._samples.settle(observation.url_id, outcome)

    def _outcome(self, observation: Observation, failed_id: int, *, are_on_one_host: bool) -> Outcome:
        page, failed = self._store.pages.trace(observation.url_id), self._store.pages.trace(failed_id)
        if page is not None and failed is not None:
            return compared(page, failed, is_beside_told=are_on_one_host)
        if observation.novelty is Novelty.UNKNOWN:
            return Outcome.UNKNOWN
        return Outcome.OTHER if observation.novelty is Novelty.NOVEL else Outcome.SAME

    def add_failure(self, url_id: int) -> None:
        """Take note that a URL brought no page: it was asked in vain."""
        self._asked.pop(url_id, None)
