"""A spider that follows every link, in the order that the add-on finds best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import IGNORED_EXTENSIONS, LinkExtractor

from scrapy_replica.components.extension import ReplicaExtension
from scrapy_replica.components.extract import extract
from scrapy_replica.components.items import PageItem
from scrapy_replica.components.observer import page_of
from scrapy_replica.components.seeds import read_seeds
from scrapy_replica.components.sitemaps import Sitemaps
from scrapy_replica.config import ConfigError
from scrapy_replica.records import Novelty
from scrapy_replica.usage import license_of, uses_by_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from scrapy.http import Response

    from scrapy_replica.components.sitemaps import Listed
    from scrapy_replica.crawl.observation import Observation
    from scrapy_replica.records import Link, Page

IGNORED = frozenset(IGNORED_EXTENSIONS)


class TopicSpider(Spider):
    """Crawls from *seeds* and yields an item for each page.

    :param seeds: URLs, separated by commas or white space, or the path of a file with one URL a line; ``start_urls``
        of the class if there is none.
    :param domains: domains to stay in, separated by commas; ``allowed_domains`` of the class if there is none, and else
        the whole web.
    :param fields: what items hold, separated by commas: names of :data:`FIELDS`.
    :param new_only: give no item of a page that repeats another one.

    Under the add-on its links become rows of the crawl database without a ``Request`` for each. Without the add-on it
    is an ordinary spider with a ``LinkExtractor``, which follows the same links breadth-first or as Scrapy is set to.
    """

    name = "topic"
    custom_settings = {  # noqa: RUF012 - Scrapy's own way to declare it
        # Scrapy makes this many tasks for each response, whatever it yields: 0.3 ms a page less than with 100.
        "CONCURRENT_ITEMS": 16,
    }

    def __init__(
        self, seeds: str = "", domains: str = "", fields: str = "", new_only: bool | str = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.fields = read_fields(fields)
        self.new_only = str(new_only).lower() in {"1", "true", "yes"}
        if seeds or not self.start_urls:
            self.start_urls = read_seeds(seeds)
        allowed = domains.split(",") if domains else getattr(self, "allowed_domains", [])
        self.allowed_domains = [domain.strip().lower() for domain in allowed if domain.strip()]
        self._suffixes = tuple("." + domain for domain in self.allowed_domains)
        self._extractor = LinkExtractor(allow_domains=self.allowed_domains)

    async def start(self) -> AsyncIterator[Any]:
        for url in self.start_urls:
            yield Request(url)
        if self.settings.getbool("REPLICA_SITEMAPS"):
            async for batch in Sitemaps(self.crawler, self.start_urls, self._may_fetch).listed():
                for url in self._entered(batch):
                    yield Request(url)

    def _may_fetch(self, url: str) -> bool:
        """Tell whether a sitemap at *url* lies inside the crawl's borders."""
        extension = self.crawler.get_extension(ReplicaExtension)
        return self._is_near(url) and (extension is None or extension.may_fetch(url))

    def _entered(self, batch: Sequence[Listed]) -> list[str]:
        """Enter what a sitemap lists into the crawl database; return what is to be requested without one."""
        batch = [listed for listed in batch if self._may_follow(listed.url)]
        extension = self.crawler.get_extension(ReplicaExtension)
        if extension is None or not extension.has_frontier:
            return [listed.url for listed in batch]
        extension.enter_listed(batch)
        return []

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if not (self.new_only and _is_repeat(response)):
            yield self.item(response)
        extension = self.crawler.get_extension(ReplicaExtension)
        # A page that could not be observed has no links as far as the add-on knows.
        is_followed = extension is not None and extension.has_frontier and page_of(response) is not None
        if isinstance(response, HtmlResponse) and not is_followed:
            for link in self._extractor.extract_links(response):
                if link.url.startswith(("http://", "https://")):  # a page may name files of this machine
                    yield Request(link.url)

    def item(self, response: Response) -> dict[str, Any]:
        """Return the item of a page; override it to scrape more."""
        observation = page_of(response)
        if observation is None:
            return PageItem(url=response.url)
        return PageItem({name: FIELDS[name](response, observation) for name in self.fields})

    def links_to_follow(self, page: Page) -> Sequence[Link]:
        """Return the links of *page* that the crawl may follow: in the domains, and not to images and the like."""
        return [link for link in page.links if self._may_follow(link.url)]

    def _may_follow(self, url: str) -> bool:
        if not self._is_near(url):
            return False
        _, slash, path = url.partition("://")[2].partition("/")
        name = path.partition("?")[0].rpartition("/")[2] if slash else ""
        return "." not in name or name.rpartition(".")[2].lower() not in IGNORED

    def _is_near(self, url: str) -> bool:
        if not self._suffixes:
            return True
        host = url.partition("://")[2].partition("/")[0].rpartition("@")[2].partition(":")[0]
        return host in self.allowed_domains or host.endswith(self._suffixes)


def _is_repeat(response: Response) -> bool:
    observation = page_of(response)
    if observation is None:
        return False
    return observation.was_given or observation.novelty in {Novelty.EXACT_DUPLICATE, Novelty.NEAR_DUPLICATE}


def _of_html(response: Response, name: str) -> Any:
    return getattr(extract(response), name) if isinstance(response, HtmlResponse) else None


FIELDS: dict[str, Callable[[Response, Observation], Any]] = {
    "url": lambda response, _: response.url,
    "title": lambda _, found: found.page.title,
    "language": lambda _, found: found.page.language,
    "relevance": lambda _, found: round(found.relevance, 4),
    "novelty": lambda _, found: found.novelty.value,
    "repeats": lambda _, found: found.twin.url if found.twin is not None else None,
    "collected": lambda _, found: found.is_collected,
    "date": lambda response, _: _of_html(response, "date"),
    "text": lambda _, found: found.page.text,
    "markdown": lambda response, _: _of_html(response, "markdown"),
    "changed": lambda response, _: _of_html(response, "changed"),
    "links": lambda _, found: [{"url": link.url, "anchor": link.text} for link in found.page.links],
    "status": lambda response, _: response.status,
    "depth": lambda _, found: found.depth,
    "uses": lambda _, found: uses_by_name(found.page.statements),
    "license": lambda _, found: license_of(found.page.statements),
}
"""What an item of a page can hold; ``repeats`` is the URL of the page that it repeats, dates are ISO 8601."""

USUAL = ("url", "title", "language", "relevance", "novelty", "repeats", "date", "text")
"""What it holds unless told otherwise."""


def read_fields(fields: str) -> tuple[str, ...]:
    """Return the names of fields that *fields* holds, separated by commas; ``+name`` adds to the usual ones.

    :raises ConfigError: there is no such field.
    """
    names = [name.strip() for name in fields.split(",") if name.strip()]
    if unknown := [name for name in names if name.removeprefix("+") not in FIELDS]:
        raise ConfigError(f"fields: there is no {unknown[0]!r}; choose of {', '.join(FIELDS)}")
    own = [name for name in names if not name.startswith("+")]
    return tuple(dict.fromkeys([*(own or USUAL), *(name[1:] for name in names if name.startswith("+"))]))
