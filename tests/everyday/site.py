"""What an ordinary site is, and the three spiders that crawl it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from http.cookies import SimpleCookie
from math import inf
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hostile.scenario import Crawled, Follower, Scenario, Topical, item, keys
from scrapy import Request, Spider
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

MODES = ("observe", "demote", "drop")


@dataclass(frozen=True)
class Place:
    """The URL that is asked for, and the cookies that come with it."""

    scheme: str
    host: str
    path: str
    query: str
    cookies: Mapping[str, str]

    @cached_property
    def args(self) -> dict[str, str]:
        return dict(parse_qsl(self.query, keep_blank_values=True))

    @cached_property
    def number(self) -> int:
        """The last number in the path, -1 where there is none."""
        numbers = re.findall(r"\d+", self.path)
        return int(numbers[-1]) if numbers else -1

    @classmethod
    def of(cls, request: Request) -> Place:
        url = urlsplit(request.url)
        cookies = SimpleCookie((request.headers.get("Cookie") or b"").decode())
        return cls(url.scheme, url.netloc, url.path, url.query, {name: kept.value for name, kept in cookies.items()})


Answer = Callable[[Place], Any]
"""What a site gives for each place; None is a 404."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """A site of any size, and the sizes at which it is crawled."""

    name: str
    what: str
    """What of it is met by several URLs, in one sentence."""
    make: Callable[[int], Answer]
    """Makes the site of that size anew for each crawl: it may remember sessions."""
    seeds: tuple[str, ...]
    items: str
    """Pattern of the URLs whose pages give items; all others are lists, which lead on."""
    small: int
    """The size of the tests: 40 to 150 contents."""
    full: int
    """200 to 500 contents."""
    copies: tuple[str, ...] = ()
    """Hosts that may be blocked."""

    def scenario(
        self,
        size: int,
        spider: str = "ordinary",
        modes: Iterable[str] = MODES,
        settings: Mapping[str, Any] | None = None,
    ) -> Scenario:
        """Return the crawls of the site of that *size*, in several *modes*."""
        return Scenario(
            name=self.name,
            tried=self.what,
            pages=lambda: self._pages(self.make(size)),
            seeds=self.seeds,
            spider=SPIDERS[spider](self.items),
            settings=settings or {},
            modes=tuple(modes),
            copies=self.copies,
            contents=contents,
            most=inf,  # figures.problems_of has a bound of its own
        )

    @staticmethod
    def _pages(answer: Answer) -> Callable[[Request], Any]:
        return lambda request: answer(Place.of(request))


def contents(crawled: Crawled) -> set[str]:
    """Return the contents that came, and those that came as items."""
    return {asked.key for asked in crawled.asked if asked.key} | {f"item {key}" for key in keys(crawled)}


def ordinary(items: str) -> type[Spider]:
    """Follows every link, and yields an item of each page that has one."""
    is_item = re.compile(items).search

    class Ordinary(Follower):
        name = "ordinary"

        def parse(self, response: Any) -> Any:
            found = super().parse(response)
            next(found)  # its own item, which it yields for lists as well
            if is_item(response.url):
                yield item(response)
            yield from found

    return Ordinary


def crawl_spider(items: str) -> type[Spider]:
    """A ``CrawlSpider`` with one callback for lists and one for what gives items."""

    class TwoCallbacks(CrawlSpider):
        name = "two callbacks"
        rules = (
            Rule(LinkExtractor(allow=items), callback="parse_item", follow=True),
            Rule(LinkExtractor(deny=items), callback="parse_list", follow=True),
        )

        def parse_item(self, response: Any) -> Any:
            yield item(response)

        def parse_list(self, response: Any) -> Any:
            return []

    return TwoCallbacks


SPIDERS: dict[str, Callable[[str], type[Spider]]] = {
    "ordinary": ordinary,
    "crawl-spider": crawl_spider,
    "topic": lambda items: Topical,
}
"""Name -> what makes the spider, given the pattern of the URLs whose pages give items."""
