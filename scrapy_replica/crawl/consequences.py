"""What follows from findings on hosts and rules: pages are asked for, and what was saved wrongly comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scrapy_replica.address import host_of
from scrapy_replica.crawl.hosts.replicas import ProbeUrl, Replicas
from scrapy_replica.crawl.hosts.samples import Samples
from scrapy_replica.crawl.intake import Intake
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.watched import WatchedRule
from scrapy_replica.crawldb.contract import URGENT, CrawlDB
from scrapy_replica.crawldb.pages import MISSING
from scrapy_replica.decision import Action, Decision, Reason
from scrapy_replica.records import Novelty, Verdict

SLICE = 100
"""URLs that come back in one turn: 3 ms."""


@dataclass(slots=True)
class _Work:
    """What one thing that ended saved, on its way back."""

    reason: Reason
    evidence: Mapping[str, object]
    done: int = 0
    """Id of the last URL that came back: what is saved again meanwhile, because the host is blocked anew, stays so."""


class Consequences:
    """Carries findings out on the frontier; nothing else does.

    A verdict or rule that comes into force needs no work here: what waits is decided once more when it is taken. What
    one saved that ends comes back in slices, written down so that no end of the process loses it.
    """

    def __init__(
        self,
        store: CrawlDB,
        intake: Intake,
        replicas: Replicas,
        dust: Dust,
        samples: Samples,
        counts: Counter[str],
    ) -> None:
        self._store, self._intake, self._counts = store, intake, counts
        self._replicas, self._dust, self._samples = replicas, dust, samples
        self.may_enter_probes = False
        """The spider follows links by itself, so that a page it did not ask for does no harm to its callbacks."""
        self._work = {work: _Work(Reason.REPLICA_HOST, {}) for work in store.saved.unfinished_work()}

    def of_page(self, observation: Observation) -> None:
        """Carry out what the page brought to light, and settle what it is a sample of."""
        self._of_hosts(observation)
        if self._dust.saves(observation.page):
            return  # the pair tells, not the page alone
        settled, withdrawn = self._samples.fetched(observation.page, observation.url_id, observation.novelty)
        self._counts["sample/fetched"] += settled
        self._take_back(withdrawn)

    def _of_hosts(self, observation: Observation) -> None:
        findings, probes = self._replicas.observe(observation.page, observation.url_id)
        self._counts["host/blocked"] += len(findings.verdicts)
        self._take_back(findings.withdrawn)
        self._counts["host/conflicts"] += len(findings.conflicts)
        for probe in probes:
            self._counts["host/probes"] += self._ask(probe, observation)

    def _ask(self, probe: ProbeUrl, observation: Observation) -> bool:
        if probe.is_known:
            return self._store.urls.rescore({self._intake.key(probe.url): URGENT}) > 0
        return self.may_enter_probes and self._intake.ask_for(
            probe.url, probe.host, URGENT, depth=observation.depth + 1, parent=observation.url_id
        )

    def of_callback(self, observation: Observation, callback: str, *, asks_more: bool) -> None:
        """Carry out what the page says of rules, now that it is known what *callback* asked for because of it."""
        findings = self._dust.observe(
            observation.page, observation.url_id, observation.twin, callback, asks_more=asks_more
        )
        for settled in findings.settled:
            outcome = Novelty.EXACT_DUPLICATE if settled.is_same else Novelty.NOVEL
            self._counts["sample/fetched"] += self._store.ledger.settle(settled.url_id, outcome.value)
        for watched in findings.doubted:
            # What it saved is asked about anew: where it was wrong the rule does not act any more.
            self._bring_back(f"of rule {watched.id}", Reason.DUST_RULE, _evidence("doubted", watched))
        for watched in findings.ended:
            self._withdraw(watched)
        self._counts["dust/begun"] += len(set(findings.begun))
        for form in findings.probes:
            probe = ProbeUrl(form, host_of(form), is_known=True)
            is_asked = self._ask(probe, observation) or self._ask(probe._replace(is_known=False), observation)
            self._counts["dust/probes"] += is_asked

    def of_failure(self, url_id: int, status: int | None) -> None:
        """Take note that a URL brought no page: what was saved in its favour comes back if there is none."""
        self._take_back(self._samples.failed(url_id))
        if status is not None and status < MISSING:
            return
        key = self._store.urls.key_of(url_id)
        causes = self._store.saved.causes_of(key) if key is not None else []
        url = self._store.urls.url_of(url_id)
        self._dust.gone(url, [int(cause.removeprefix("rule ")) for cause in causes if cause.startswith("rule ")])
        if causes:
            self._bring_back(f"for {key}", Reason.DUST_RULE, {"gone": url})

    # What comes back

    def _take_back(self, verdicts: Sequence[Verdict]) -> None:
        for verdict in verdicts:
            self._counts["host/withdrawn"] += 1
            self._bring_back(f"of host {verdict.copy}", Reason.REPLICA_HOST, {"withdrawn": verdict.copy})

    def _withdraw(self, watched: WatchedRule) -> None:
        self._counts["dust/withdrawn"] += 1
        self._bring_back(f"of rule {watched.id}", Reason.DUST_RULE, _evidence("withdrawn", watched))

    def _bring_back(self, work: str, reason: Reason, evidence: Mapping[str, object]) -> None:
        self._store.saved.begin_work(work)
        self._work[work] = _Work(reason, evidence)

    @property
    def has_work(self) -> bool:
        """Whether URLs are still to come back."""
        return bool(self._work)

    def work(self) -> None:
        """Do one slice of what is to be done."""
        if self._work:
            self._slice(next(iter(self._work)))

    def _slice(self, work: str) -> None:
        kind, _, what = work.partition(" ")
        saved, state = self._store.saved, self._work[work]
        if kind == "for":
            restored = saved.restore_for(int(what), SLICE)
        else:
            restored = saved.restore_of(what, SLICE, after=state.done)
        if not restored:
            saved.end_work(work)
            del self._work[work]
            return
        for url_id, url in restored:
            if url is not None:
                decision = Decision(Action.FETCH, Action.FETCH, state.reason, evidence=state.evidence)
                self._intake.record(url_id, url, decision)
        state.done = restored[-1][0]

    # A person's orders

    def obey(self) -> None:
        """Carry out what a person told the crawl through its database, and let old verdicts end."""
        for host in self._replicas.obey():
            self._bring_back(f"of host {host}", Reason.REPLICA_HOST, {"freed": host})
        for watched in self._dust.obey():
            self._withdraw(watched)
        self._store.commit()


def _evidence(what: str, watched: WatchedRule) -> dict[str, object]:
    record = watched.watch
    return {
        what: watched.id,
        "pairs": record.right + record.wrong,
        "wrong": record.wrong,
        "for example": [f"{pair.url} is not {pair.image}" for pair in record.wrong_pairs[:2]],
    }
