"""One crawl: decides about URLs, observes pages, enters links. It orchestrates; the algorithms live in the rooms."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from scrapy_replica.address import host_of
from scrapy_replica.config import Config
from scrapy_replica.crawl.consequences import Consequences
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.links.guide import Guide
from scrapy_replica.crawl.links.heads import Heads
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.pages.novelty import Duplicates
from scrapy_replica.crawl.pages.repetition import Repetition
from scrapy_replica.crawl.pages.search_forms import Forms
from scrapy_replica.crawl.policy import Policy
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.guard import Guard
from scrapy_replica.crawldb.sqlite.database import NewUrl, SqliteCrawlDB, Waiting
from scrapy_replica.crawldb.sqlite.pages import Fetched
from scrapy_replica.crawldb.sqlite.schema import DEMOTED
from scrapy_replica.decision import FETCH, Action, Decision
from scrapy_replica.records import Link, Novelty, Page
from scrapy_replica.sites.aliases import Aliases

PENALTY = {Action.DROP: float("inf"), Action.DEMOTE: DEMOTED}

MAX_SEEN = 50_000
"""URLs whose best score is remembered (about 10 MB): most links of a page stand on the pages before it, too."""


MAX_REWRITES = 5
"""Rewrites of one URL in a row; more would be a circle of aliases and verdicts."""


class Crawl:
    """Holds the rooms together.

    :param fingerprint: URL -> 64 bits of its request fingerprint, signed.
    :param now: seconds since the epoch.
    :param sink: where decisions are written as lines of JSON, besides the ledger in *db*.
    """

    def __init__(
        self,
        config: Config,
        db: SqliteCrawlDB,
        *,
        fingerprint: Callable[[str], int],
        now: Callable[[], float],
        aliases: Aliases,
        sink: TextIO | None = None,
    ) -> None:
        self.config, self.db = config, db
        self.guide = Guide(config, db)
        self.counts: Counter[str] = Counter()
        """Statistics, as ``area/what``; the extension hands them to Scrapy."""
        self.fingerprint, self._now, self._sink = fingerprint, now, sink
        self._best_score: dict[str, float] = {}
        self._duplicates = Duplicates(db.pages, config)
        self._guard = Guard(config, db.pages)
        self.replicas = Replicas(config, db, now, self._duplicates.index)
        self.dust = Dust(config, db, now, db.ledger)
        self.forms = Forms(db.forms)
        self.repetition = Repetition(db.blocks)
        self.may_enter_probes = False
        """The spider follows links by itself, so that a page it did not ask for does no harm to its callbacks."""
        self._policy = Policy(config, aliases, self.replicas, self.dust.hit, self._guard)
        self.rewritten = self._policy.rewritten
        self._consequences = Consequences(self)
        self.obey = self._consequences.obey
        self.decide, self.decide_link = self._policy.of_url, self._policy.of_link
        self._pages = db.pages.count()
        self._unshown: set[int] = set()
        self._heads = Heads(db, self.guide, self._best_score)
        self.db.order_by_discovery(self.guide.is_warming_up)
        self.obey()

    def _end_warmup(self) -> None:
        self.db.order_by_discovery(False)
        self._rescore(self.guide.end_warmup())

    def close(self) -> None:
        """Close the crawl database."""
        self.db.close()

    # Decisions

    def record(self, url_id: int, url: str, decision: Decision) -> None:
        """Write *decision* about a URL into ledger, counts and sink."""
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
        if self.guide.is_warming_up and self._pages >= self.config.warmup_pages:
            self._end_warmup()
        relevance = self.guide.relevance.of(page)
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
                is_news,
            )
        )
        if page.ip is not None:
            self.db.set_host_ip(page.host, page.ip)
        self._duplicates.add(page)
        self.counts["form/found"] += self.forms.shown(page.forms)
        if is_new:
            self._pages += 1
            self._guard.count(page.url, page.host, is_novel=is_news)
            if novelty is Novelty.NOVEL:
                self.repetition.add(page)
        observation = Observation(page, url_id, depth, relevance, novelty, twin)
        self._consequences.of_page(observation)
        self._count(observation)
        self.replicas.work()
        self.dust.work()
        self._unshown.add(url_id)
        return observation

    def _count(self, observation: Observation) -> None:
        self.counts["page/observed"] += 1
        self.counts[f"page/{observation.novelty.value}"] += 1
        self.counts["page/relevant"] += observation.relevance > 0.5

    def url_id(self, url: str) -> int:
        """Return the id of *url*, entering it as done if it is unknown (another scheduler fetched it)."""
        new = NewUrl(url, host_of(url), self.fingerprint(url))
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
            self._consequences.of_failure(url_id, status)
        self.counts["page/failed" if status is None else "page/other"] += 1

    # Links

    def scores(self, observation: Observation, links: Sequence[Link]) -> list[float]:
        """Return the strategy's scores of *links*, and move the waiting URLs that it scores anew."""
        self._unshown.discard(observation.url_id)
        scores, moved = self.guide.scores(observation.page, observation.relevance, links)
        self._rescore(moved)
        return scores

    def _rescore(self, scores: Mapping[str, float]) -> None:
        self.db.rescore({self.fingerprint(url): score for url, score in scores.items()})
        self._best_score.update(scores)

    def end(self, observation: Observation) -> None:
        """Take note that no more links of the page will come; one that had none is shown to the strategy now."""
        if observation.url_id in self._unshown:
            self.scores(observation, ())

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
        fingerprint = self.fingerprint(url)
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
                self.record(url_id, new.url, decision)
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
                self.record(found[0], new.url, decision)
            if decision.url is not None:
                # A sample is worth nothing without the page that it is held against.
                self.enter(
                    new._replace(
                        url=decision.url, host=host_of(decision.url), fingerprint=self.fingerprint(decision.url)
                    ),
                    FETCH,
                )
        return True

    def follow_rewrites(self, new: NewUrl, decision: Decision) -> tuple[NewUrl, Decision]:
        """Return the URL to enter in place of *new* and what to do with it, having written each step down."""
        for _ in range(MAX_REWRITES):
            if decision.action is not Action.REWRITE or decision.url is None:
                return new, decision
            url_id = self.db.discover_dropped(NewUrl(new.url, new.host, self.fingerprint(new.url), parent=new.parent))
            if url_id is not None:
                self.record(url_id, new.url, decision)
            host, fingerprint = host_of(decision.url), self.fingerprint(decision.url)
            new = new._replace(url=decision.url, host=host, fingerprint=fingerprint)
            decision = self.decide(new.url, host, fingerprint)
        return new, FETCH

    # The frontier

    def take(self) -> Waiting | None:
        """Lease the best waiting URL of the ready hosts that may still be fetched, as things stand by now."""
        while True:
            self._heads.score()
            taken = self.db.take()
            if taken is None or taken.is_exempt or self._may_fetch(taken):
                return taken

    def _may_fetch(self, taken: Waiting) -> bool:
        decision = self.decide(taken.url, taken.host, taken.fingerprint)
        is_demoted = taken.score < -DEMOTED / 2
        if decision.reason is None or (decision.action is Action.DEMOTE and is_demoted):
            return True
        if decision.action is not Action.FETCH or not self.db.ledger.knows(taken.id, decision.reason):
            self.record(taken.id, taken.url, decision)
        if decision.action is Action.DEMOTE:
            self.db.put_back(taken, taken.score - DEMOTED)
        elif decision.action is not Action.FETCH:
            self.db.drop(taken.id)
        if decision.url is not None:
            self._consequences.enter_instead(taken, decision.url)
        return decision.action is Action.FETCH
