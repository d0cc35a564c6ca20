"""What fetches show of permalinks: whether a link leads back to the page that it was found on."""

from __future__ import annotations

from collections.abc import Iterable

from scrapy_replica.claim import Kind
from scrapy_replica.crawl.claims.claims import Claims
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.observation import Observation
from scrapy_replica.crawl.urls.contents import form_of
from scrapy_replica.crawl.urls.dust import Dust
from scrapy_replica.crawl.urls.permalinks import Permalinks
from scrapy_replica.crawldb.contract import CrawlDB, UrlRow
from scrapy_replica.decision import Outcome
from scrapy_replica.urls.pattern import parse


class PermalinkEvidence:
    """Tells :class:`Permalinks` which links led back, as far as :class:`Dust` knows two pages for one."""

    def __init__(self, store: CrawlDB, permalinks: Permalinks, dust: Dust, samples: Samples, claims: Claims) -> None:
        self._store, self._permalinks, self._dust = store, permalinks, dust
        self._samples, self._claims = samples, claims

    def add_page(self, observation: Observation, via: Iterable[int], *, asks_more: bool, is_part: bool) -> None:
        """Take note whether the page is the one that it, or what redirected to it (*via*, ids), was found on.

        *is_part*: it repeats its twin and leads to less.
        """
        twin = observation.twin
        for url_id in (observation.url_id, *via):
            link = self._store.urls.row(url_id)
            there = self._finder_of(link)
            if there is None or not self._dust.are_one(there, there):
                continue  # it was not read, or has too little text
            is_one = bool(self._dust.are_one(observation.page.url, there))
            is_twin_there = twin is not None and bool(self._dust.are_one(twin.url, there))
            is_one = is_one or (is_part and is_twin_there)
            # One that says the same and leads further shows neither.
            if asks_more or is_one or not is_twin_there:
                self._add(link, there, is_back=is_one and not asks_more)

    def add_document(self, url_id: int) -> None:
        """Take note of an answer that is no page, and so not the one that its link was found on."""
        link = self._store.urls.row(url_id)
        if (there := self._finder_of(link)) is not None:
            self._contradict(link, there)

    def add_redirect(self, link: UrlRow, location: str) -> None:
        there = self._finder_of(link)
        if there is None:
            return
        is_back: bool | None = form_of(location) == form_of(there)  # a location may be no URL
        if not is_back and parse(form_of(location)).host == parse(form_of(there)).host:
            is_back = self._dust.are_one(location, there)
        if is_back is None:
            return  # the page there tells when it is read
        if not is_back:
            self._contradict(link, there)
            return
        self._settle(link.id, Outcome.SAME)
        self._add(link, there, is_back=True)

    def add_led_to_news(self, link: UrlRow) -> None:
        """Take note that a page alone led to news, and so is not the one that its link was found on."""
        if (there := self._finder_of(link)) is not None:
            self._add(link, there, is_back=False)

    def _finder_of(self, link: UrlRow) -> str | None:
        return None if link.parent is None else self._store.urls.url_of(link.parent)

    def _contradict(self, link: UrlRow, there: str) -> None:
        """Take note that a link does not lead back to the page at *there*, which it was found on."""
        self._settle(link.id, Outcome.OTHER)
        self._add(link, there, is_back=False)

    def _add(self, link: UrlRow, there: str, *, is_back: bool) -> None:
        self._claims.refute(self._permalinks.add(link, there, is_back=is_back))

    def _settle(self, url_id: int, outcome: Outcome) -> None:
        for sample in self._samples.open_of(url_id):
            if sample.claim.kind is Kind.PERMALINK:
                self._claims.refute(self._samples.settle(url_id, outcome, sample.claim))
