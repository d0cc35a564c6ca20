"""What a person said of pages: on the topic, or not."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_replica.crawldb.contract import CrawlDB

Terms = Mapping[str, int]

MOST = 1_000
"""Pages that can be marked; a person marks some dozens."""

GIVEN, LEARNT = "marks given", "marks learnt"


class Marks:
    """Marks by URL, kept in the crawl database. The last word on a page counts."""

    def __init__(self, db: CrawlDB) -> None:
        self._db = db
        self.read_again()

    def read_again(self) -> None:
        self._said = {mark.url: mark.is_relevant for mark in self._db.texts.marks()}
        self._given, self._begun = int(self._db.meta(GIVEN) or 0), int(self._db.meta(LEARNT) or 0)

    def give(self, url_id: int, url: str, *, is_relevant: bool) -> None:
        """Take a mark.

        :raises ValueError: nothing could be learnt from it.
        """
        terms = self._db.texts.terms(url_id) or self._db.visits.terms_of(url)
        if not terms:
            raise ValueError("the crawl has no text of that page, or keeps it no more")
        if url not in self._said and len(self._said) >= MOST:
            raise ValueError(f"{MOST:,} pages are marked, and no more are learnt from")
        self._db.texts.mark(url_id, terms, is_relevant=is_relevant)
        self._db.pages.set_relevance(url_id, float(is_relevant))
        self._said[url] = is_relevant
        self._given += 1
        self._db.set_meta(GIVEN, str(self._given).encode())

    def relevance(self, url: str) -> float | None:
        """Return what was said of the page at *url*, 0 or 1; ``None`` if nothing."""
        said = self._said.get(url)
        return None if said is None else float(said)

    def terms(self) -> tuple[list[Terms], list[Terms]]:
        """Return the terms of the pages that are on the topic by their marks, and of those that are not."""
        yes: list[Terms] = []
        no: list[Terms] = []
        for mark in self._db.texts.marks():
            (yes if mark.is_relevant else no).append(mark.terms)
        return yes, no

    @property
    def are_new(self) -> bool:
        """Some were given since they were learnt from last."""
        return self._given > self._begun

    def begin(self) -> None:
        """Take note that all marks so far are being learnt from."""
        self._begun = self._given

    def end(self) -> None:
        """Take note that those have been learnt from which there were at :meth:`begin`."""
        self._db.set_meta(LEARNT, str(self._begun).encode())
