"""Which claims are refuted that are neither verdicts nor rules."""

from __future__ import annotations

from scrapy_replica.claim import Claim
from scrapy_replica.crawldb.contract import CrawlDB


class Standings:
    """Keeps refuted claims without a row of their own in memory, because every decision asks: a handful."""

    def __init__(self, store: CrawlDB) -> None:
        self._store = store
        self._refuted: frozenset[Claim] = frozenset()
        self._n_rollbacks = -1

    def is_refuted(self, claim: Claim) -> bool:
        """Tell whether samples refuted *claim*."""
        if self._n_rollbacks != self._store.n_rollbacks:
            self.refresh()
        return claim in self._refuted

    def refute(self, claim: Claim) -> None:
        """Write that samples refuted *claim*."""
        self._store.claims.refute(claim)
        self._refuted |= {claim}

    def refresh(self) -> None:
        """Read the standings anew: others wrote some, or a span was taken back."""
        self._refuted = frozenset(self._store.claims.refuted())
        self._n_rollbacks = self._store.n_rollbacks
