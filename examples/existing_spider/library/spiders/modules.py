"""An ordinary spider: rules, a link extractor, a callback that knows nothing of the add-on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.http import Response


class ModulesSpider(CrawlSpider):
    """Titles of all pages about modules."""

    name = "modules"
    start_urls = ["http://docs.pydoc.example/"]  # noqa: RUF012 - as Scrapy has it
    rules = (
        Rule(LinkExtractor(allow=r"/pages/"), callback="parse_module", follow=True),
        Rule(LinkExtractor(deny=r"/calendar/")),
    )

    def parse_module(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "title": response.css("h1::text").get()}
