"""What a shape is: a site of any size, the spider that reads it, and what a crawl of it may cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hostile.scenario import Crawled, Outcome, Scenario
from itemadapter import ItemAdapter
from scrapy import Request, Spider

SHOP = "https://shop.example"
MODES = ("observe", "demote", "drop")
BOTH = ("demote", "drop")
MADE_UP = {"url", "fetched", "uuid", "random"}
"""Fields that say where, when and by whom an item was made, and differ whenever it is made again."""


class Shop(Spider):
    """Fetches its start URLs as links are fetched; a subclass reads what comes."""

    name = "shop"

    async def start(self) -> Any:
        for url in self.start_urls:
            yield Request(url)


class Reader(Shop):
    """Yields what it reads on a page, and follows all links."""

    def parse(self, response: Any) -> Any:
        yield from self.read(response)
        yield from response.follow_all(css="a")

    def read(self, response: Any) -> Iterable[Any]:
        raise NotImplementedError


class ScriptReader(Reader):
    """Yields what stands in the page's first script."""

    def read(self, response: Any) -> Iterable[Any]:
        yield script_of(response)


def script_of(response: Any) -> Any:
    return json.loads(response.css("script::text").re_first(r"\{.*\}"))


@dataclass
class Place:
    """The URL that is asked for."""

    host: str
    path: str
    args: dict[str, str]

    @property
    def number(self) -> int:
        """The last part of the path, 0 where it is none."""
        last = self.path.rpartition("/")[2]
        return int(last) if last.isdecimal() else 0


Answer = Callable[[Place], Any]
"""What a site gives for each place; None is a 404."""


Contents = Callable[[Crawled], set[str]]
"""What tells which contents a crawl found."""


def place_of(request: Request) -> Place:
    url = urlsplit(request.url)
    return Place(url.netloc, url.path, dict(parse_qsl(url.query)))


def items_of(crawled: Crawled) -> set[str]:
    """Return what the items say, in whatever of Scrapy's types, where and when they were made left out."""
    adapters = map(ItemAdapter, crawled.items)
    return {repr(sorted((name, item[name]) for name in item if name not in MADE_UP)) for item in adapters}


def ids_of(crawled: Crawled) -> set[str]:
    """Return the ids of items that nobody can print."""
    return {str(ItemAdapter(item)["id"]) for item in crawled.items}


def pages_of(crawled: Crawled) -> set[str]:
    """Return the pages that were asked for, where the items do not say which they are of."""
    return {asked.url for asked in crawled.asked}


def scenario(
    name: str,
    tried: str,
    answer: Answer,
    *,
    seeds: Iterable[str] = (f"{SHOP}/",),
    spider: type[Spider] = ScriptReader,
    contents: Contents = items_of,
    **more: Any,
) -> Scenario:
    return Scenario(
        name=name,
        tried=tried,
        pages=lambda: lambda request: answer(place_of(request)),
        seeds=tuple(seeds),
        spider=spider,
        contents=contents,
        modes=MODES,
        **more,
    )


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A scenario of any size, and the sizes that are crawled."""

    make: Callable[[int], Scenario]
    small: int
    """The least at which what it is there for shows."""
    full: int
    fast_modes: tuple[str, ...] = ("demote",)
    """Modes of the fast tier; the default mode alone, where others of its theme are crawled in both."""
    most: Mapping[int, float] = field(default_factory=dict)
    """Size -> requests for each of plain Scrapy's, where something is to be saved."""

    @property
    def fast(self) -> Scenario:
        return replace(self.make(self.small), modes=self.fast_modes)

    @property
    def name(self) -> str:
        return self.fast.name


def problems_of(shape: Shape, size: int, outcome: Outcome) -> list[str]:
    """Return what did not hold, in words."""
    ours, plain, most = len(outcome.ours.asked), len(outcome.plain.asked), shape.most.get(size)
    if most is None or outcome.mode == "observe" or ours <= most * plain:
        return outcome.problems
    return [*outcome.problems, f"{ours} requests, {plain} without the add-on: more than {most:.0%}"]
