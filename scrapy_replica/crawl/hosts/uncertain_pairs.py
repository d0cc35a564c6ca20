"""Pairs of hosts that the judge is not sure about, with what a person decides them by."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from scrapy_replica.crawldb.verdicts import UncertainPairTable
from scrapy_replica.records import Page, PagePair, Verdict
from scrapy_replica.sites.alignment import normal_path
from scrapy_replica.sites.detector import Detector, Findings
from scrapy_replica.sites.evidence import path_of
from scrapy_replica.words.text import excerpt

MAX_TEXTS = 2000
"""Pages whose text is remembered, the last ones of this run: 2 MB."""
MAX_CHARACTERS, MAX_KEPT = 700, 750
"""Characters of a text that are shown, and that are remembered: white space is folded, and what is cut ends so."""
MAX_TITLE = 200
"""Characters of a title."""
MAX_SHOWN = 3
"""Pages shown of a pair."""


class _Text(NamedTuple):
    url: str
    title: str | None
    text: str


class UncertainPairs:
    """Writes down the pairs that were nearly decided; one that is decided otherwise is forgotten."""

    def __init__(self, store: UncertainPairTable, detector: Detector) -> None:
        self._store, self._detector = store, detector
        self._texts: dict[tuple[str, str], _Text] = {}
        """(Host, normalised path) -> what the page said."""

    def enter(self, findings: Findings) -> None:
        for first, second in findings.certain:
            self._store.decided(first, second)
        for pair in findings.uncertain:
            self._store.enter(replace(pair, pages=tuple(islice(self._known(pair.verdict), MAX_SHOWN))))

    def remember(self, page: Page) -> None:
        title = page.title[:MAX_TITLE] if page.title is not None else None
        place = page.host, normal_path(path_of(page.url))
        self._texts.pop(place, None)
        self._texts[place] = _Text(page.url, title, page.text[:MAX_KEPT])
        if len(self._texts) > MAX_TEXTS:
            del self._texts[next(iter(self._texts))]

    def _known(self, verdict: Verdict) -> Iterator[PagePair]:
        for mine, theirs in self._detector.copies.places(verdict):
            copy, kept = self._texts.get((verdict.copy, mine)), self._texts.get((verdict.canonical, theirs))
            if copy is not None and kept is not None:
                # Cleaned where it is shown: for each page it would take 0.13 ms.
                texts = excerpt(copy.text, MAX_CHARACTERS), excerpt(kept.text, MAX_CHARACTERS)
                yield PagePair((copy.url, kept.url), (copy.title, kept.title), texts)
