"""One crawl: decides about URLs, observes pages, enters links. It orchestrates; the algorithms live in the rooms."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TextIO

from scrapy_replica.config import Config
from scrapy_replica.crawl.novelty import Duplicates
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.policy import Policy
from scrapy_replica.crawl.relevance import Relevance
from scrapy_replica.crawl.replicas import ProbeUrl, Replicas
from scrapy_replica.crawl.samples import Samples
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.schema import DEMOTED, PRIORITY_STEP
from scrapy_replica.crawldb.sqlite import NewUrl, SqliteCrawlDB, Waiting
from scrapy_replica.decision import FETCH, Action, Decision, Reason
from scrapy_replica.focus.strategy import Strategy
from scrapy_replica.pages.links import host_of
from scrapy_replica.records import Link, Novelty, Page, Verdict
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.urls.budgets import NoveltyBudgets

PENALTY = {Action.DROP: float("inf"), Action.DEMOTE: DEMOTED}

MAX_SEEN = 50_000
"""URLs whose best score is remembered (about 10 MB): most links of a page stand on the pages before it, too."""


HOST_REASONS = (Reason.REPLICA_HOST.value, Reason.MANUAL_BLOCK.value)

PROBE_SCORE = 0.4 * PRIORITY_STEP
"""Score of a probe: before every link, after what the user gave a higher priority."""

MAX_REWRITES = 5
"""Rewrites of one URL in a row; more would be a circle of aliases and verdicts."""

NOVEL = {Novelty.NOVEL.value: True, Novelty.EXACT_DUPLICATE.value: False, Novelty.NEAR_DUPLICATE.value: False}
"""What a page of an earlier run means to the budgets; of short ones it is not known any more."""


class Crawl:
    """Holds the rooms together.

    :param fingerprint: URL -> first 64 bits of its request fingerprint, signed.
    :param now: seconds since the epoch.
    :param sink: where decisions are written as lines of JSON, besides the ledger in *db*.
    """

    def __init__(
        self,
        config: Config,
        db: SqliteCrawlDB,
        strategy: Strategy,
        *,
        fingerprint: Callable[[str], int],
        now: Callable[[], float],
        aliases: Aliases,
        sink: TextIO | None = None,
    ) -> None:
        self.config, self.db, self.strategy = config, db, strategy
        self.counts: Counter[str] = Counter()
        """Statistics, as ``area/what``; the extension hands them to Scrapy."""
        self._fingerprint, self._now, self._sink = fingerprint, now, sink
        self._best_score: dict[str, float] = {}
        self._duplicates = Duplicates(db.pages, config)
        self._budgets = NoveltyBudgets(config.trap_credit, config.host_budget, config.path_budget)
        for url, novelty in db.pages.novelties():
            self._budgets.count(url, is_novel=NOVEL.get(novelty))
        self.replicas = Replicas(config, db, now)
        self._samples = Samples(self.replicas, db, fingerprint)
        self.may_enter_probes = False
        """The spider follows links by itself, so that a page it did not ask for does no harm to its callbacks."""
        self._policy = Policy(config, aliases, self.replicas, self._budgets)
        self.decide, self.decide_link = self._policy.of_url, self._policy.of_link
        self.relevance = Relevance(db)
        if (state := db.meta(f"strategy/{strategy.name}")) is not None:
            strategy.load(state)
        self._early: list[tuple[Observation, Sequence[Link]]] = []
        self._pages = db.pages.count()
        self._is_warming_up = self.strategy.warms_up and self._pages < self.config.warmup_pages
        self.db.order_by_discovery(self._is_warming_up)
        self.obey()

    def _end_warmup(self) -> None:
        self._is_warming_up = False
        self.db.order_by_discovery(False)
        if not self.relevance.relearn([observation.page.terms for observation, _ in self._early]):
            return
        best: dict[str, float] = {}
        for observation, links in self._early:
            self.strategy.visited(observation.page, self.relevance.of(observation.page))
            for link, score in zip(links, self.scores(observation, links), strict=True):
                best[link.url] = max(score, best.get(link.url, score))
        for url, score in best.items():
            self.db.raise_(self._fingerprint(url), score)
            self._best_score[url] = score
        self._early.clear()

    def close(self) -> None:
        """Keep the strategy's state and close the crawl database."""
        if state := self.strategy.save():
            self.db.set_meta(f"strategy/{self.strategy.name}", state)
        self.db.close()

    # Decisions

    def _record(self, url_id: int, url: str, decision: Decision) -> None:
        assert decision.reason is not None
        at = self._now()
        self.db.ledger.record(url_id, decision, at)
        self.counts[f"decision/{decision.reason.value}/{decision.action.value}"] += 1
        if self._sink is not None:
            line = {
                "at": at,
                "url": url,
                "action": decision.action.value,
                "wanted": decision.wanted.value,
                "reason": decision.reason.value,
                "probability": decision.probability,
                "is_sampled": decision.is_sampled,
                "evidence": decision.evidence,
            }
            self._sink.write(json.dumps(line) + "\n")

    # Pages

    def observe(self, page: Page, url_id: int, depth: int) -> Observation:
        """Take note of a page that was fetched from the URL of that id, and judge it."""
        if self._is_warming_up and self._pages >= self.config.warmup_pages:
            self._end_warmup()
        relevance = self.relevance.of(page)
        novelty, twin = self._duplicates.judge(page, url_id)
        is_new, is_news = not self.db.pages.has_page(url_id), self._duplicates.is_news(page, novelty)
        self.db.pages.enter(
            Fetched(
                url_id,
                self._now(),
                200,
                None,
                page.signature,
                page.simhash,
                page.words,
                page.title,
                relevance,
                novelty.value,
                twin.url_id if twin else None,
            )
        )
        if page.ip is not None:
            self.db.set_host_ip(page.host, page.ip)
        self._duplicates.add(page)
        if is_new:
            self._pages += 1
            self._budgets.count(page.url, is_novel=is_news)
        observation = Observation(page, url_id, depth, relevance, novelty, twin)
        self._look_for_replicas(observation)
        self._count(observation)
        self.strategy.visited(page, relevance)
        return observation

    def _count(self, observation: Observation) -> None:
        self.counts["page/observed"] += 1
        self.counts[f"page/{observation.novelty.value}"] += 1
        self.counts["page/relevant"] += observation.relevance > 0.5
        settled, withdrawn = self._samples.fetched(observation.page, observation.url_id, observation.novelty)
        self.counts["sample/fetched"] += settled
        self._take_back(withdrawn)

    # Hosts

    def _look_for_replicas(self, observation: Observation) -> None:
        findings, probes = self.replicas.observe(observation.page, observation.url_id)
        for verdict in findings.verdicts:
            self.counts["host/blocked"] += 1
            self._reconsider(verdict.copy)
        self._take_back(findings.withdrawn)
        self.counts["host/conflicts"] += len(findings.conflicts)
        for probe in probes:
            self._probe(probe, observation)

    def _take_back(self, verdicts: Sequence[Verdict]) -> None:
        for verdict in verdicts:
            self.counts["host/withdrawn"] += 1
            self.db.restore(verdict.copy, HOST_REASONS)

    def _probe(self, probe: ProbeUrl, observation: Observation) -> None:
        fingerprint = self._fingerprint(probe.url)
        if probe.is_known:
            self.counts["host/probes"] += self.db.raise_(fingerprint, PROBE_SCORE)
        elif self.may_enter_probes and self.decide(probe.url, probe.host, fingerprint) is FETCH:
            new = NewUrl(probe.url, probe.host, fingerprint, PROBE_SCORE, observation.depth + 1, observation.url_id)
            self.counts["host/probes"] += self.enter(new, FETCH)

    def _reconsider(self, host: str) -> None:
        """Decide anew about everything that waits of *host*."""
        for waiting in self.db.waiting_of(host):
            if waiting.is_exempt:
                continue
            decision = self.decide(waiting.url, waiting.host, waiting.fingerprint)
            if decision.action in {Action.DROP, Action.REWRITE}:
                self.db.drop_waiting(waiting)
                self._record(waiting.id, waiting.url, decision)
            if decision.url is not None:
                self._enter_instead(waiting, decision.url)

    def _enter_instead(self, waiting: Waiting, url: str) -> None:
        host, fingerprint = host_of(url), self._fingerprint(url)
        new = NewUrl(url, host, fingerprint, waiting.score, waiting.depth, payload=waiting.payload)
        self.enter(new, self.decide(url, host, fingerprint))

    def obey(self) -> None:
        """Carry out what a person told the crawl through its database, and let old verdicts end."""
        blocked, freed = self.replicas.obey()
        for host in freed:
            self.db.restore(host, HOST_REASONS)
        for host in blocked:
            self._reconsider(host)
        self.db.commit()

    def url_id(self, url: str) -> int:
        """Return the id of *url*, entering it as done if it is unknown (another scheduler fetched it)."""
        new = NewUrl(url, host_of(url), self._fingerprint(url))
        assert new.fingerprint is not None
        known = self.db.find(new.fingerprint)
        if known is not None:
            return known[0]
        url_id = self.db.discover_dropped(new)
        assert url_id is not None
        self.db.finish(url_id)
        return url_id

    def failed(self, url_id: int, status: int | None, error: str | None) -> None:
        """Take note that a fetch brought no page: another status, another type, or no response."""
        if not self.db.pages.has_page(url_id):
            self.db.pages.enter(Fetched(url_id, self._now(), status, error))
            self.db.ledger.settle(url_id, "failed")
            self._take_back(self._samples.failed(url_id))
        self.counts["page/failed" if status is None else "page/other"] += 1

    # Links

    def scores(self, observation: Observation, links: Sequence[Link]) -> list[float]:
        """Return the strategy's scores of *links*, and move the waiting URLs that it scores anew."""
        scores: list[float] = self.strategy.scores(observation.page, links).tolist()
        for url, score in self.strategy.rescored().items():
            self.db.raise_(self._fingerprint(url), score)
        if self._is_warming_up:
            self._early.append((observation, links))
        return scores

    def follow(self, observation: Observation, links: Sequence[Link]) -> None:
        """Enter the *links* of the page just observed into the frontier."""
        best = self._best_score
        for link, score in zip(links, self.scores(observation, links), strict=True):
            known = best.get(link.url)
            if known is not None and score <= known:
                self.counts["dupefilter/filtered"] += 1
                continue
            self._follow_link(observation, link.url, score)
        if len(best) > MAX_SEEN:
            for url in list(best)[: MAX_SEEN // 2]:
                del best[url]

    def _follow_link(self, observation: Observation, url: str, score: float) -> None:
        host = host_of(url)
        fingerprint = self._fingerprint(url)
        decision = self.decide_link(observation, url, host, fingerprint)
        if decision.action is Action.DROP and url in self._best_score:
            return
        # What was dropped or demoted may come up again from a better page.
        self._best_score[url] = score - PENALTY.get(decision.action, 0.0)
        if host != observation.page.host:
            self.replicas.linked(host)
        self.enter(NewUrl(url, host, fingerprint, score, observation.depth + 1, observation.url_id), decision)

    def enter(self, new: NewUrl, decision: Decision) -> bool:
        """Enter *new* as *decision* says; ``False`` if it is known or dropped."""
        new, decision = self.follow_rewrites(new, decision)
        if decision.action is Action.DROP:
            url_id = self.db.discover_dropped(new)
            if url_id is not None:
                self._record(url_id, new.url, decision)
            return False
        demotion = DEMOTED if decision.action is Action.DEMOTE else 0.0
        found = self.db.discover(new._replace(score=new.score - demotion))
        if found is None:
            self.counts["dupefilter/filtered"] += 1
            return False
        self.counts["scheduler/enqueued" if found[1] else "frontier/raised"] += 1
        if found[1]:
            self.replicas.known(new.url, new.host)
            if decision.reason is not None:
                self._record(found[0], new.url, decision)
            if decision.url is not None:
                # A sample is worth nothing without the page that it is held against.
                self.enter(
                    new._replace(
                        url=decision.url, host=host_of(decision.url), fingerprint=self._fingerprint(decision.url)
                    ),
                    FETCH,
                )
        return True

    def follow_rewrites(self, new: NewUrl, decision: Decision) -> tuple[NewUrl, Decision]:
        """Return the URL to enter in place of *new* and what to do with it, having written each step down."""
        for _ in range(MAX_REWRITES):
            if decision.action is not Action.REWRITE or decision.url is None:
                return new, decision
            url_id = self.db.discover_dropped(NewUrl(new.url, new.host, self._fingerprint(new.url), parent=new.parent))
            if url_id is not None:
                self._record(url_id, new.url, decision)
            host, fingerprint = host_of(decision.url), self._fingerprint(decision.url)
            new = new._replace(url=decision.url, host=host, fingerprint=fingerprint)
            decision = self.decide(new.url, host, fingerprint)
        return new, FETCH

    # The frontier

    def take(self) -> Waiting | None:
        """Lease the best waiting URL of the ready hosts that may still be fetched, as things stand by now."""
        while (taken := self.db.take()) is not None:
            if taken.is_exempt or self._may_fetch(taken):
                return taken
        return None

    def _may_fetch(self, taken: Waiting) -> bool:
        decision = self.decide(taken.url, taken.host, taken.fingerprint)
        is_demoted = taken.score < -DEMOTED / 2
        if decision.reason is None or (decision.action is Action.DEMOTE and is_demoted):
            return True
        if decision.action is not Action.FETCH or not self.db.ledger.knows(taken.id, decision.reason):
            self._record(taken.id, taken.url, decision)
        if decision.action is Action.DEMOTE:
            self.db.put_back(taken, taken.score - DEMOTED)
        elif decision.action is not Action.FETCH:
            self.db.drop(taken.id)
        if decision.url is not None:
            self._enter_instead(taken, decision.url)
        return decision.action is Action.FETCH
