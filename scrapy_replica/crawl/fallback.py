"""The way back: what a kept host does not bring is asked of its copies."""

from __future__ import annotations

from scrapy_replica.address import has_secret
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.intake import Intake
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.samples import compared
from scrapy_replica.crawl.trials import Trials
from scrapy_replica.crawldb.contract import CrawlDB, Leeway
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Novelty


class Fallback:
    """Asks copies for the pages that their kept host does not bring.

    What was saved on a copy comes back when its target fails. What lies behind it was never found there, because the
    pages that lead to it were saved: the kept host's own links do, so each of them that fails is asked of the copies.
    What a copy has and its kept host lacks counts against the verdict.
    """

    def __init__(self, store: CrawlDB, intake: Intake, replicas: Replicas, trials: Trials) -> None:
        self._store, self._intake, self._replicas, self._trials = store, intake, replicas, trials
        self._asked: dict[int, int] = {}
        """Id of a URL on a copy -> id of the kept host's."""

    def ask(self, url_id: int) -> None:
        """Ask the copies for what the kept host did not bring at the URL of that id."""
        failed = self._store.urls.row(url_id)
        is_plain = failed.leeway is Leeway.MOVE or (failed.leeway is Leeway.EXEMPT and failed.payload is None)
        if is_plain and not has_secret(failed.url):
            for url, is_in_vain in self._replicas.on_copies(failed.url, failed.host):
                asked_id = self._intake.ask_elsewhere(failed, url, is_demoted=is_in_vain)
                if asked_id is not None:
                    self._asked[asked_id] = url_id

    def fetched(self, observation: Observation) -> list[str]:
        """Take note of a page; return the verdicts that it ended."""
        kept_id = self._asked.pop(observation.url_id, None)
        verdict = self._replicas.verdict_of(observation.page.host)
        if kept_id is None or verdict is None:
            return []
        outcome = self._outcome(observation, kept_id)
        self._replicas.asked(observation.page.host, is_news=outcome is not Outcome.SAME)
        if outcome is Outcome.SAME:
            return []
        decision = Decision(Action.FETCH, Action.DROP, Reason.REPLICA_HOST, causes=(verdict.cause,))
        self._trials.begin(observation.url_id, observation.page.url, decision)
        return self._trials.settle(observation.url_id, outcome)

    def _outcome(self, observation: Observation, kept_id: int) -> Outcome:
        page, kept = self._store.pages.trace(observation.url_id), self._store.pages.trace(kept_id)
        if page is not None and kept is not None:
            return compared(page, kept)
        if observation.novelty is Novelty.UNKNOWN:
            return Outcome.UNKNOWN
        return Outcome.OTHER if observation.novelty is Novelty.NOVEL else Outcome.SAME

    def failed(self, url_id: int) -> None:
        """Take note that a URL brought no page: that copy was asked in vain."""
        if self._asked.pop(url_id, None) is not None:
            self._replicas.asked(self._store.urls.row(url_id).host, is_news=False)
