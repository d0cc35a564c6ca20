"""What knows requests that were asked for before: the crawl database, or the filter that the user chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.dupefilters import BaseDupeFilter, RFPDupeFilter
from scrapy.utils.misc import build_from_crawler, load_object

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from scrapy_replica.components.fingerprinter import UrlFingerprints
    from scrapy_replica.components.takeover import PlainJob
    from scrapy_replica.crawl.frontier import Frontier


class StoreFilter(BaseDupeFilter):
    """The crawl database as Scrapy's filters are used by other code; the scheduler asks the database itself."""

    def __init__(self, frontier: Frontier, fingerprints: UrlFingerprints) -> None:
        self._frontier, self._fingerprints = frontier, fingerprints
        self._marked: set[int] = set()

    def request_seen(self, request: Request) -> bool:
        """Tell whether *request* was asked for; from then on it counts as asked for, until the process ends."""
        key = self._fingerprints.of_request(request)
        is_seen = key in self._marked or bool(self._frontier.find_asked([key]))
        self._marked.add(key)
        return is_seen

    def has_marked(self, request: Request) -> bool:
        """Tell whether other code asked :meth:`request_seen` about *request*."""
        return bool(self._marked) and self._fingerprints.of_request(request) in self._marked


def has_own_filter(settings: BaseSettings) -> bool:
    """Tell whether the user chose a filter other than Scrapy's."""
    return load_object(settings["DUPEFILTER_CLASS"]) is not RFPDupeFilter


class Filters:
    """What knows requests beside the crawl database: the user's filter, or what a plain job and other code marked."""

    def __init__(self, crawler: Crawler, frontier: Frontier, fingerprints: UrlFingerprints, plain: PlainJob) -> None:
        self._crawler, self._plain = crawler, plain
        self._marked = StoreFilter(frontier, fingerprints)
        self.own: BaseDupeFilter | None = None
        """The filter that the user chose; ``None`` where that is Scrapy's, whose work the crawl database does."""
        if has_own_filter(crawler.settings):
            self.own = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)

    @property
    def shown(self) -> BaseDupeFilter:
        """What other code may ask whether a request was asked for."""
        return self.own or self._marked

    def know(self, request: Request) -> bool:
        """Tell whether *request* is to be left out."""
        if request.dont_filter:
            return False
        if self.own is None:
            return self._marked.has_marked(request) or self._plain.has_seen(request)
        is_known = self.own.request_seen(request)
        if is_known:
            assert self._crawler.spider is not None
            self.own.log(request, self._crawler.spider)
        return is_known
