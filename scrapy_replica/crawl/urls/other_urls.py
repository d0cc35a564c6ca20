"""By which other URL a page is fetched: as it says itself, as the page it was found on, or by the other scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from scrapy_replica.crawl.hosts.own_names import OwnNames
from scrapy_replica.crawl.hosts.schemes import SameByOther, Schemes
from scrapy_replica.crawl.states import UrlStates
from scrapy_replica.crawl.urls.crawl_rules import CrawlRules
from scrapy_replica.crawl.urls.permalinks import Permalinks
from scrapy_replica.decision import Reason


class OtherUrls:
    """Asks those who know of other URLs than rewrite rules make and mirrors have."""

    def __init__(
        self, states: UrlStates, own_names: OwnNames, permalinks: Permalinks, schemes: Schemes, rules: CrawlRules
    ) -> None:
        self._states, self._rules = states, rules
        self._own_names, self._permalinks, self._schemes = own_names, permalinks, schemes

    @contextmanager
    def looked_up(self, urls: Sequence[str]) -> Iterator[None]:
        """Within, what is known of *urls* was asked at once; nothing may be entered meanwhile."""
        others = filter(None, map(self._schemes.other_of, urls))
        with self._states.looked_up([*urls, *others]), self._own_names.looked_up(urls):
            yield

    def same_of(self, url: str, host: str, callback: str, parent: int | None) -> tuple[Reason, SameByOther] | None:
        """Return the URL by which the page of *url* is fetched, which *callback* is to get, and why it is the same.

        *parent* is the id of the page that *url* was found on.
        """
        if (same := self._own_names.same_of(url, host, callback)) is not None:
            return None if self._states.is_missing(same.url) else (Reason.OTHER_NAME, same)
        same = self._permalinks.same_of(url, host, parent)
        # Another callback makes other items of the same page.
        if same is not None and self._rules.is_of_callback(same.url, callback):
            return None if self._states.is_missing(same.url) else (Reason.PERMALINK, same)
        same = self._schemes.same_of(url, host)
        return (Reason.OTHER_SCHEME, same) if same is not None else None
