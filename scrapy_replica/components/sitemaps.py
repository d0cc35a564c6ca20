"""Sitemaps of the seeds' hosts: which pages they list, and when those last changed.

https://www.sitemaps.org/protocol.html. A sitemap is a stranger's file: its size, its number of elements, and the number
of files and URLs of one host are bounded, and what lies on another site is left out.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from datetime import datetime, timezone
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request
from scrapy.utils.gz import gunzip
from scrapy.utils.sitemap import Sitemap

from scrapy_replica.address import host_of, origin_of, site_of
from scrapy_replica.components.flight import NO_PAGE
from scrapy_replica.components.refused import one_line
from scrapy_replica.pages.links import Base

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = logging.getLogger(__name__)

MAX_BYTES = 50 * 1024 * 1024
"""Of one sitemap, unpacked: the protocol's own limit."""
MAX_TAGS = 1_000_000
"""Of one sitemap: 50,000 URLs with their dates have 400,000. At worst each costs 100 bytes and 3 us. When the sitemaps
of a host have more, no other is begun."""
MAX_FILES, MAX_URLS = 100, 100_000
"""Of one host."""
AT_ONCE = 8
"""Hosts whose sitemaps are read at the same time."""
BATCH = 200
"""URLs that are handed on together: 10 ms."""
TIMEOUT_SECONDS = 30
EARLIEST = 631_152_000.0  # 1990
DAY_SECONDS = 86_400.0


class Listed(NamedTuple):
    """A page that a sitemap lists."""

    url: str
    changed_at: float | None
    """Seconds since the epoch; ``None`` where no date stands that can be true."""


class Sitemaps:
    """Reads the sitemaps of the hosts of *seeds*: those that robots.txt names, ``/sitemap.xml`` where it names none.

    :param may_fetch: whether the site at a URL lies inside the borders of the crawl.
    """

    def __init__(self, crawler: Crawler, seeds: Iterable[str], may_fetch: Callable[[str], bool]) -> None:
        self._crawler, self._may_fetch = crawler, may_fetch
        self._origins = list(dict.fromkeys(filter(None, map(origin_of, seeds))))

    async def listed(self) -> AsyncIterator[list[Listed]]:
        """Yield what they list, some at a time."""
        found: asyncio.Queue[list[Listed] | None] = asyncio.Queue(AT_ONCE)
        origins = iter(self._origins)
        readers = [asyncio.ensure_future(self._read(origins, found)) for _ in self._origins[:AT_ONCE]]
        n_reading = len(readers)
        try:
            while n_reading:
                batch = await found.get()
                if batch is None:
                    n_reading -= 1
                else:
                    yield batch
        finally:
            for reader in readers:
                reader.cancel()

    async def _read(self, origins: Iterator[str], found: asyncio.Queue[list[Listed] | None]) -> None:
        for origin in origins:
            await self._pass_on(origin, found)
        await found.put(None)

    async def _pass_on(self, origin: str, found: asyncio.Queue[list[Listed] | None]) -> None:
        try:
            async for batch in self._of_origin(origin):
                await found.put(batch)
        except Exception:
            logger.exception("The sitemaps of %s cannot be read", origin)

    async def _of_origin(self, origin: str) -> AsyncIterator[list[Listed]]:
        files, n_urls, n_tags = await self._named(origin), 0, 0
        for place, file in enumerate(files):  # which grows by those that an index names
            if place >= MAX_FILES or n_urls >= MAX_URLS or n_tags > MAX_TAGS:
                logger.warning("Of the sitemaps of %s only the first %d are read, %d URLs", origin, place, n_urls)
                return
            if (found := await self._sitemap(file)) is None:
                continue
            sitemap, entries = found[0], entries_of(found[0], file)
            n_tags += found[1]
            if sitemap.type == "sitemapindex":
                named = dict.fromkeys(entry.url for entry in islice(entries, MAX_FILES + 1))
                files += [url for url in named if url not in files]
                continue
            while batch := list(islice(entries, min(BATCH, MAX_URLS - n_urls))):
                n_urls += len(batch)
                yield [entry for entry in batch if site_of(host_of(entry.url)) == site_of(host_of(origin))]
                await asyncio.sleep(0)

    async def _named(self, origin: str) -> list[str]:
        robots = await self._fetched(f"{origin}/robots.txt")
        named = named_in(robots.body[:MAX_BYTES], robots.url) if robots is not None else []
        return named or [f"{origin}/sitemap.xml"]

    async def _sitemap(self, url: str) -> tuple[Sitemap, int] | None:
        if not self._may_fetch(url):
            logger.warning("The sitemap %s is out of scope and not read", url)
            return None
        response = await self._fetched(url)
        if response is None:
            return None
        try:
            return parsed(response.body)
        except Exception as error:  # noqa: BLE001 - whatever a broken file raises
            logger.warning("The sitemap %s cannot be read (%s)", url, one_line(error) or type(error).__name__)
            return None

    async def _fetched(self, url: str) -> Response | None:
        assert self._crawler.engine is not None
        meta = {NO_PAGE: True, "download_maxsize": MAX_BYTES, "download_timeout": TIMEOUT_SECONDS}
        try:
            response = await self._crawler.engine.download_async(Request(url, meta=meta))
        except Exception:
            logger.debug("Fetching %s failed", url, exc_info=True)
            return None
        return response if response.status == 200 and self._may_fetch(response.url) else None


_SITEMAP_LINE = re.compile(
    rb"^[ \t]*(?:\xef\xbb\xbf)?sitemap[ \t]*:[ \t]*([^\s][^\r\n]*)", re.IGNORECASE | re.MULTILINE
)


def named_in(body: bytes, url: str) -> list[str]:
    """Return the sitemaps that the robots.txt at *url* names; Scrapy's own reader ends at the first that is no URL."""
    lines = (line[1].decode("utf-8", "replace") for line in islice(_SITEMAP_LINE.finditer(body), MAX_FILES))
    return list(dict.fromkeys(filter(None, map(Base(url).absolute, lines))))


def parsed(body: bytes) -> tuple[Sitemap, int] | None:
    """Return the sitemap that *body* is, packed or not, and how many tags it has; ``None`` if it is something else.

    :raises ValueError: it is too large.
    """
    if body[:2] == b"\x1f\x8b":
        body = gunzip(body, max_size=MAX_BYTES)
    n_tags = body.count(b"<")
    if len(body) > MAX_BYTES or n_tags > MAX_TAGS:
        raise ValueError("it is larger than the protocol allows")
    sitemap = Sitemap(body)
    return (sitemap, n_tags) if sitemap.type in {"urlset", "sitemapindex"} else None


def entries_of(sitemap: Sitemap, url: str) -> Iterator[Listed]:
    """Yield what *sitemap* at *url* lists, as far as it can be read."""
    base = Base(url)
    try:
        for entry in sitemap:
            listed = base.absolute(entry["loc"])
            if listed is not None:
                yield Listed(listed, date_of(entry.get("lastmod", ""), time.time()))
    except Exception as error:  # noqa: BLE001 - whatever a broken file raises in its middle
        logger.warning("The sitemap %s is read to where it is broken (%s)", url, one_line(error))


def date_of(text: str, now: float) -> float | None:
    """Return the time that *text* (W3C date and time) tells, in seconds since the epoch.

    ``None`` if it tells none, or one that cannot be true: before the web, or after *now* by more than a time zone.
    """
    try:
        date = datetime.fromisoformat(text.replace("Z", "+00:00"))
        at = (date if date.tzinfo is not None else date.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        return None
    return at if EARLIEST <= at <= now + DAY_SECONDS else None
