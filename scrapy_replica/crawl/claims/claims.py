"""Claims that end: what they suppressed comes back.

Replicas and CrawlRules write how their verdicts and rules stand; all other claims are written here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from scrapy_replica.claim import TESTED_KINDS, Claim, Kind, Restoration, Why, Work
from scrapy_replica.crawl.claims.restoring import Restorer, reason_of
from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawl.urls.watched_rule import WatchedRule
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.decision import Reason
from scrapy_replica.records import Verdict


class Claims:
    """Begins the return of what an ended claim suppressed.

    A claim that comes into force needs no work here: what waits is decided once more when it is taken.
    """

    def __init__(
        self,
        store: CrawlDB,
        replicas: Replicas,
        rules: CrawlRules,
        restorer: Restorer,
        counts: Counter[str],
    ) -> None:
        self._store, self._replicas, self._rules = store, replicas, rules
        self._restorer, self._counts = restorer, counts

    def refute(self, claims: Iterable[Claim]) -> None:
        for claim in claims:
            if claim.kind is Kind.MIRROR:
                self.restore_after_mirror(self._replicas.refute(claim), Why.REFUTED)
                # It has pages of its own: those of its pages that say the same may lead to them.
                self.refute([Claim(Kind.LINKS, claim.of, claim.subject)])
            elif claim.kind is Kind.RULE:
                self.restore_after_rule(self._rules.refute(int(claim.subject)), Why.REFUTED)
            elif claim.kind in TESTED_KINDS and not self._store.claims.is_refuted(claim):  # a user's limit is no belief
                self._store.claims.refute(claim)
                self._counts[f"sample/ended/{reason_of(claim).value}"] += 1
                self._restorer.bring_back(claim, Restoration(Why.REFUTED, str(claim)))

    def restore_after_mirror(self, verdict: Verdict | None, why: Why, what: str | None = None) -> None:
        """Let come back what a mirror suppressed that was withdrawn; nothing where it was not in force.

        :param why: what ended it: samples (``REFUTED``), or the scope, which left out *what* (``LEFT_OUT``).
        """
        if verdict is not None:
            self._counts["host/withdrawn"] += 1
            self._restorer.bring_back(verdict.claim, Restoration(why, what or str(verdict.claim)))

    def lift_mirrors(self, verdicts: Iterable[Verdict]) -> None:
        """Let come back what mirrors suppressed that a person or their age ended."""
        for verdict in verdicts:
            self.lift(verdict.claim)

    def restore_after_rule(self, watched: WatchedRule | None, why: Why) -> None:
        """Let come back what a rewrite rule suppressed; nothing if it did not act.

        :param why: samples refuted it, or a person switched it off (``ENDED``).
        """
        if watched is None:
            return
        self._counts["dust/withdrawn"] += 1
        claim = Claim(Kind.RULE, str(watched.id))
        details = {
            "pairs": watched.right + watched.wrong,
            "wrong": watched.wrong,
            "for example": [f"{pair.url} is not {pair.image}" for pair in watched.wrong_pairs],
        }
        self._restorer.bring_back(claim, Restoration(why, str(claim), details))

    def lift(self, claim: Claim) -> None:
        """Let come back what *claim* suppressed, to be decided about anew when its turn comes; it may act again."""
        self._restorer.bring_back(claim, Restoration(Why.ENDED, str(claim)))

    def lift_traps(self, host: str) -> None:
        """Let come back what traps of *host* suppressed: one of them brought news."""
        for claim in self._store.suppressed.claims(Kind.TRAP, host):
            self.lift(claim)

    def restore_for(self, key: int, why: Why, what: str | None, *, is_anew: bool = False) -> None:
        """Let come back what the URL under *key* stood for."""
        claims = self._store.suppressed.claims_for(key)
        reason = reason_of(claims[0]) if claims else Reason.REPLICA_HOST
        self._restorer.begin(Work(None, key, is_anew), reason, Restoration(why, what))
