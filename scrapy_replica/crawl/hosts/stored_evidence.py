"""The evidence of hosts as the crawl database has it."""

from __future__ import annotations

from http import HTTPStatus

from scrapy_replica.address import origin_of
from scrapy_replica.crawldb.contract import CrawlDB
from scrapy_replica.crawldb.pages import TextPlace, is_absent
from scrapy_replica.pages.near_duplicates import NearDuplicates
from scrapy_replica.sites.alignment import MAX_HOSTS, normal_path
from scrapy_replica.sites.evidence import MIN_WORDS, HostEvidence, PageMark, path_of
from scrapy_replica.sites.evidence_store import MAX_DISTANCE_BITS, NearText
from scrapy_replica.sites.neighbours import Neighbours

MAX_WAITING = 150
"""UrlRow URLs of a host that are read, the best first."""
MAX_LINKING = 100
"""Hosts read that link to a host."""
MAX_NEAR = 20
"""Near texts looked at for one page, the nearest first."""


class StoredEvidence:
    """The :class:`~scrapy_replica.sites.evidence_store.EvidenceStore` of a crawl."""

    def __init__(self, db: CrawlDB, index: NearDuplicates) -> None:
        self._db, self._index = db, index

    def read(self, host: str) -> HostEvidence:
        """Return what is known of *host*: its pages, what is being fetched, and the best of its waiting URLs."""
        evidence = HostEvidence(host)
        urls = []
        for page in self._db.pages.of_host(host):
            urls.append(page.url)
            path = path_of(page.url)
            normal = normal_path(path)
            evidence.add_path(normal, path)
            if page.mark is not None and page.neighbours is not None:
                Neighbours.from_json(page.neighbours).tell(evidence)
                evidence.add_page(normal, PageMark.unpack(page.mark))
            if page.status == HTTPStatus.OK:
                evidence.add_fetch(page.fetched_at)
            elif is_absent(page.status):
                evidence.add_missing(normal)
                if page.leads_to is not None:
                    evidence.add_redirect(normal, page.leads_to)
        for url in self._db.urls.leased_urls(host) + self._db.urls.waiting_urls(host, MAX_WAITING):
            urls.append(url)
            path = path_of(url)
            evidence.add_path(normal_path(path), path)
        evidence.origin = origin_of(urls[0]) if urls else None
        return evidence

    def linking_hosts(self, host: str) -> list[str]:
        return self._db.pages.linking_hosts(host, MAX_LINKING)

    def near_texts(self, host: str, path: str, simhash: int) -> list[NearText]:
        """Return the pages of other hosts near the page at the normalised *path* of *host*."""
        equal = self._db.pages.text_places(simhash, MAX_HOSTS + 1) if simhash in self._index else []
        own = next((place.host_id for place in equal if place.host == host), None)
        if own is not None:
            urls = self._db.pages.text_urls(simhash, own, 2)
            if any(normal_path(path_of(url)) != path for url in urls):
                return []
        if len(equal) > (own is not None):
            return _near_texts(equal, host)
        near = [known for known in self._index.query(simhash, MAX_DISTANCE_BITS) if known != simhash][:MAX_NEAR]
        return [text for known in near for text in _near_texts(self._db.pages.text_places(known, MAX_HOSTS + 1), host)]

    def forget_pages(self, host: str) -> None:
        self._db.pages.forget_marks(host)


def _near_texts(places: list[TextPlace], host: str) -> list[NearText]:
    """Return the *places* of one text on other hosts than *host*; none where too many have it."""
    if len(places) > MAX_HOSTS:
        return []
    return [
        NearText(place.host, normal_path(path_of(place.url)), len(places))
        for place in places
        if place.host != host and place.words >= MIN_WORDS
    ]
