"""What a page holds, for whoever has its HTML: main text, Markdown, dates, links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from parsel import Selector
from scrapy.http import HtmlResponse

from scrapy_replica.pages import extractor
from scrapy_replica.pages.blocks import read_blocks
from scrapy_replica.pages.dates import dates_of
from scrapy_replica.pages.links import Base
from scrapy_replica.pages.page import page_from_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lxml import etree
    from scrapy.http import Response

    from scrapy_replica.records import Link, Page


@dataclass(frozen=True)
class Extracted:
    """The content of one page; each part is made when it is first asked for."""

    root: etree._Element
    """The tree of the page as lxml parsed it; it is not changed."""
    url: str
    encoding: str = "utf-8"

    @cached_property
    def _page(self) -> Page:
        return page_from_tree(self.root, self.url, encoding=self.encoding)

    @property
    def title(self) -> str | None:
        return self._page.title

    @property
    def language(self) -> str | None:
        """The two letters of the language that it declares."""
        return self._page.language

    @property
    def text(self) -> str:
        """Its main text: a line for each block, white space folded; empty if there is none."""
        return self._page.text

    @cached_property
    def markdown(self) -> str:
        """Its main text with headings, lists, tables, quotes, code, emphasis and links."""
        from scrapy_replica.pages.markdown import markdown  # noqa: PLC0415 - few ask for it

        blocks = read_blocks(self.root)
        if not blocks.texts:
            return ""
        kept = extractor.kept_runs(blocks, extractor.shipped()).tolist()
        return markdown(self.root, kept, Base(self.base, self.encoding).absolute) or self.text

    @cached_property
    def base(self) -> str:
        """The URL that its references are relative to."""
        element = next((found for found in self.root.iter("base") if found.get("href")), None)
        return self.url if element is None else Base(self.url).absolute(element.get("href", "")) or self.url

    @property
    def date(self) -> str | None:
        """When it was published, as it says: ISO 8601, a day or a moment."""
        return dates_of(self.root).published

    @property
    def changed(self) -> str | None:
        """When it was changed last, as it says."""
        return dates_of(self.root).changed

    @property
    def links(self) -> Sequence[Link]:
        """Its links: absolute URL, anchor text, place on the page."""
        return self._page.links


def tree_of(response: HtmlResponse) -> etree._Element:
    """Return the tree of a page as Scrapy parses it, also where Scrapy gives up on the URL of its ``<base>``."""
    try:
        root: etree._Element = response.selector.root
    except ValueError:
        root = Selector(response.text, type="html", base_url=response.url).root
    return root


def extract(page: Response | str | bytes, url: str | None = None) -> Extracted:
    """Return what *page* holds: a response of Scrapy, or HTML; links are relative to *url*.

    The main text is found by the learned extractor, whatever ``REPLICA_NOISE`` says.

    :raises ValueError: it is a response that is no HTML.
    """
    if isinstance(page, (str, bytes)):
        body = page.encode() if isinstance(page, str) else page
        encoding = {"encoding": "utf-8"} if isinstance(page, str) else {}
        page = HtmlResponse(url or "http://localhost/", body=body, **encoding)
    if not isinstance(page, HtmlResponse):
        raise ValueError(f"{page.url} is no HTML: there is nothing to extract")
    return Extracted(tree_of(page), url or page.url, page.encoding)
