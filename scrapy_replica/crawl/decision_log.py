"""Decisions, written down: ledger, counts, the user's sink, and rows of what is suppressed or sampled."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TextIO

from scrapy_replica.address import redacted
from scrapy_replica.claim import Restoration
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.given import Clock, KeyOf
from scrapy_replica.crawl.pages.reading import Reading
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import CrawlDB, StoreError
from scrapy_replica.decision import TESTED_REASONS, Action, Decision, Reason


class DecisionLog:
    """Writes each decision to the ledger, and the suppressed or sample rows that follow from it.

    People read ledger and sink: secrets in URLs are left out there.
    """

    def __init__(
        self,
        store: CrawlDB,
        samples: Samples,
        reading: Reading,
        key: KeyOf,
        now: Clock,
        counts: Counter[str],
        sink: TextIO | None = None,
    ) -> None:
        self._store, self._samples, self._reading, self._key, self._now = store, samples, reading, key, now
        self._counts, self._sink = counts, sink

    def record(self, url_id: int, url: str, decision: Decision) -> None:
        """Write *decision* about a URL down, what it suppressed, and the sample that it is."""
        reason = decision.reason
        assert reason is not None
        if reason in TESTED_REASONS:
            self._reading.found()
        at = self._now()
        decision = replace(decision, evidence={what: _redacted(told) for what, told in decision.evidence.items()})
        self._store.ledger.record(url_id, decision, at)
        if decision.action is not Action.FETCH:
            other = self._key(decision.representative) if decision.representative is not None else None
            self._store.suppressed.enter([Suppressed(url_id, claim, other) for claim in decision.claims])
        elif decision.wanted is Action.DROP and reason in TESTED_REASONS:
            self._samples.enter(url_id, url, decision)
            self._counts["sample/fetched"] += 1
        self._counts[f"decision/{reason.value}/{decision.action.value}"] += 1
        if self._sink is not None:
            self._write(url, decision, at)

    def record_restored(self, url_id: int, url: str, reason: Reason, restoration: Restoration) -> None:
        """Write down that a URL that was suppressed for *reason* comes back."""
        self.record(url_id, url, Decision(Action.FETCH, Action.FETCH, reason, evidence=restoration.evidence()))

    def _write(self, url: str, decision: Decision, at: float) -> None:
        assert self._sink is not None
        assert decision.reason is not None
        other = decision.representative
        line = {
            "at": at,
            "url": redacted(url),
            "action": decision.action.value,
            "wanted": decision.wanted.value,
            "reason": decision.reason.value,
            "probability": decision.probability,
            "is_sampled": decision.is_sampled,
            "representative": redacted(other) if other is not None else None,
            "evidence": decision.evidence,
        }
        try:
            self._sink.write(json.dumps(line) + "\n")
        except OSError as error:
            raise StoreError(f"REPLICA_LEDGER cannot be written ({error.strerror}); make room") from error


def _redacted(told: object) -> object:
    if isinstance(told, str):
        return redacted(told)
    return [_redacted(one) for one in told] if isinstance(told, list) else told
