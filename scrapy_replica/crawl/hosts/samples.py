"""What the sample of dropped URLs shows: the false drops, and the verdicts that they contradict."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from scrapy_replica.crawl.hosts.replicas import Replicas
from scrapy_replica.crawldb.contract import CrawlDB, State
from scrapy_replica.records import Novelty, Page, Verdict
from scrapy_replica.sites.evidence import PageMark, is_same_page, mark_of

MAX_WAITING = 10_000
"""Samples that wait for the kept host's page (about 5 MB); later ones are not settled."""


class _Sample(NamedTuple):
    url_id: int
    copy: str
    mark: PageMark


class Samples:
    """Settles samples. A page of a copy is held against the kept host's, which may come later or be missing."""

    def __init__(self, replicas: Replicas, db: CrawlDB, fingerprint: Callable[[str], int]) -> None:
        self._replicas, self._db, self._fingerprint = replicas, db, fingerprint
        self._waiting: dict[int, _Sample] = {}
        """Id of the kept host's URL -> the sample that waits for it."""

    def fetched(self, page: Page, url_id: int, novelty: Novelty) -> tuple[int, list[Verdict]]:
        """Take note of a page; return how many samples it settled and the verdicts it took back."""
        settled, withdrawn = 0, []
        sample = self._waiting.pop(url_id, None)
        if sample is not None:
            withdrawn = self._settle(sample, is_same=is_same_page(sample.mark, mark_of(page)))
            settled = 1
        outcome = self._replicas.outcome(page, novelty)
        if outcome is not None:
            return settled + self._db.ledger.settle(url_id, outcome.value), withdrawn
        twin = self._replicas.twin_url(page)
        key = self._fingerprint(twin) if twin is not None else None
        known = self._db.urls.find([key]).get(key) if key is not None else None
        sample = _Sample(url_id, page.host, mark_of(page))
        if known is not None and known.state is State.DONE:
            return settled + 1, withdrawn + self._settle(sample, is_same=False)
        if known is not None and len(self._waiting) < MAX_WAITING:
            self._waiting[known.id] = sample
        return settled, withdrawn

    def failed(self, url_id: int) -> list[Verdict]:
        """Take note that a URL brought no page: a sample that waited for it was no copy. Return verdicts taken back."""
        sample = self._waiting.pop(url_id, None)
        return self._settle(sample, is_same=False) if sample is not None else []

    def _settle(self, sample: _Sample, *, is_same: bool) -> list[Verdict]:
        outcome = Novelty.NEAR_DUPLICATE if is_same else Novelty.NOVEL
        self._db.ledger.settle(sample.url_id, outcome.value)
        return self._replicas.reviewed(sample.copy, is_same=is_same)
