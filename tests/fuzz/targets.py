"""What reads each kind of input, as the add-on reads it. Whatever raises there, and is not told below, is a fault."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from aiohttp import web as aiohttp_web
from kept_job import SITE, unpacked
from scrapy import Request, Spider
from scrapy.http import Headers, HtmlResponse, Response, TextResponse
from scrapy.responsetypes import responsetypes
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from fuzz import seeds, shared
from fuzz.mutation import damaged, mutated
from scrapy_replica import extract
from scrapy_replica.commands.checks import of_job
from scrapy_replica.commands.explain import explain_any
from scrapy_replica.commands.job import reading, salvaging
from scrapy_replica.commands.served import PARTS, ServedJob
from scrapy_replica.components import sitemaps
from scrapy_replica.components.archived import ArchivedPages
from scrapy_replica.components.downloadermiddleware import location_of
from scrapy_replica.components.pages import page_from_response
from scrapy_replica.components.patience import retry_after
from scrapy_replica.components.robots import CleanParamParser
from scrapy_replica.components.usage import UsageStatements
from scrapy_replica.config import Config
from scrapy_replica.control.server import ControlServer
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.decision import FETCH
from scrapy_replica.freshness.answer import validators_of
from scrapy_replica.mining import cdx, warcs
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.urls.interchange import clean_param
from scrapy_replica.usage import uses
from scrapy_replica.warc.folder import end_of_last_record

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

HOST = "a.example"
PAGES_A_CRAWL = 300
AT_A_TIME = 100
"""Requests that wait together, since what is no whole request is waited for."""


class Target(NamedTuple):
    """One kind of input."""

    seeds: list[bytes]
    tokens: list[bytes]
    make: Callable[[ExitStack], Callable[[bytes], object]]
    """Returns what reads an input; what it opens ends with the stack."""
    mutate: Callable[[Random, list[bytes], list[bytes]], bytes] = mutated


def _response(data: bytes, url: str, status: int = 200) -> Response:
    """Take *data* apart: header lines, an empty line, a body."""
    head, _, body = data.partition(b"\r\n\r\n")
    headers = Headers()
    for line in head.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon and name.strip():
            headers.appendlist(name.strip().decode("latin-1"), value.strip())
    kind = responsetypes.from_args(headers=headers, url=url, body=body)
    return kind(url, status=status, headers=headers, body=body, request=Request(url, headers={"User-Agent": "bot/1"}))


class _PlainGets:
    """Of requests nothing but plain GETs."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def _crawl() -> Crawl:
    store = SqliteCrawlDB(None, "fuzz")
    return Crawl(
        Config(probes=0),
        store,
        key=lambda url: hash(url) >> 1,
        now=lambda: 1e9,
        aliases=Aliases({}),
        payloads=_PlainGets(),
        counts=Counter(),
        salt=1,
    )


def pages(_: ExitStack) -> Callable[[bytes], object]:
    statements, state = UsageStatements(Settings()), SimpleNamespace(n=0, crawl=_crawl())

    def read(data: bytes) -> None:
        if state.n % PAGES_A_CRAWL == 0:
            state.crawl.store.close()
            state.crawl = _crawl()
        state.n += 1
        crawl, url = state.crawl, f"http://{HOST}/d{state.n % 7}/{state.n}"
        response = _response(data, url)
        if not isinstance(response, TextResponse):
            response = TextResponse(url, body=response.body, headers=response.headers, request=response.request)
        page = page_from_response(response, crawl.config, statements=statements.of(response))
        crawl.frontier.enter([(NewUrl(url, HOST, crawl.frontier.key(url)), FETCH)])
        row = crawl.store.urls.find([crawl.frontier.key(url)])[crawl.frontier.key(url)]
        with crawl.store.span():
            seen = crawl.fetches.observe(page, row.id, 0, len(response.body))
            crawl.outlinks.follow(seen, page.links)
        crawl.fetches.end_callback(seen)
        crawl.store.urls.finish([row.id])
        assert crawl.store.pages.has_page(row.id)
        if isinstance(response, HtmlResponse):
            found = extract(response)
            _ = found.markdown, found.date, found.changed, found.links

    return read


def headers(_: ExitStack) -> Callable[[bytes], object]:
    statements = UsageStatements(Settings())

    def read(data: bytes) -> None:
        response = _response(data, f"http://{HOST}/d/page", 302)
        said = statements.of(response)
        uses(said)
        statements.again(response, said)
        retry_after(response, 1e9)
        location_of(response)
        validators_of(response.headers.get("ETag"), response.headers.get("Last-Modified"), 1e9)

    return read


def robots(_: ExitStack) -> Callable[[bytes], object]:
    crawler = get_crawler(Spider, {"REPLICA_FALLBACK_ROBOTSTXT_PARSER": "scrapy.robotstxt.ProtegoRobotParser"})

    def read(data: bytes) -> None:
        parser = CleanParamParser.from_crawler(crawler, data)
        for url in (f"http://{HOST}/", f"http://{HOST}/x/a.pdf?b=%C3%A9", f"http://{HOST}/private/{'a' * 300}"):
            parser.allowed(url, "OurBot/1.0 (+http://me.example)")
            uses(parser.usage.statements(url, "OurBot/1.0"))
        for line in parser.clean_params:
            clean_param(HOST, line)
        sitemaps.named_in(data, f"http://{HOST}/robots.txt")

    return read


def listed(_: ExitStack) -> Callable[[bytes], object]:
    def read(data: bytes) -> None:
        try:
            found = sitemaps.parsed(data)
        except Exception:  # noqa: BLE001 - a sitemap that cannot be read is logged and left out
            return
        if found is not None:
            list(sitemaps.entries_of(found[0], f"http://{HOST}/sitemap.xml"))

    return read


class _Rows:
    """Takes the pages of a collection."""

    def page(self, *_: object) -> None: ...
    def url(self, *_: object) -> None: ...
    def link(self, *_: object) -> None: ...


def _files(stack: ExitStack, ending: str) -> Callable[[bytes], Path]:
    folder, numbers = Path(stack.enter_context(tempfile.TemporaryDirectory())), iter(range(1 << 40))

    def written(data: bytes) -> Path:
        for old in folder.iterdir():
            old.unlink()
        path = folder / f"{next(numbers)}{ending}"
        path.write_bytes(data)
        return path

    return written


def collections(stack: ExitStack) -> Callable[[bytes], object]:
    written, page_of = _files(stack, ".warc.gz"), ArchivedPages(Settings())

    def read(data: bytes) -> None:
        path = written(data)
        end_of_last_record(path)
        with suppress(ValueError):  # no WARC, or none of one record a member
            warcs.convert(path, _Rows(), lambda _: None, lambda: page_of)

    return read


def captures(stack: ExitStack) -> Callable[[bytes], object]:
    written = _files(stack, ".cdxj")

    def read(data: bytes) -> None:
        with suppress(ValueError):  # no line can be read
            cdx.convert(written(data), _Rows(), lambda _: None)

    return read


def jobs(stack: ExitStack) -> Callable[[bytes], object]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))

    def read(data: bytes) -> None:
        for old in folder.rglob("*"):
            if old.is_file():
                old.unlink()
        (folder / FILE_NAME).write_bytes(data)
        for use in (_looked_at, _told_of, _gone_on_with, _salvaged):
            _refused(use, folder)

    return read


def _refused(use: Callable[[Path], None], folder: Path) -> None:
    """Have a command use the job; where it cannot, one line has to say so."""
    told = ""
    try:
        use(folder)
    except UnicodeError:
        raise  # a ValueError that tells nobody what to do
    except (ValueError, sqlite3.DatabaseError) as error:
        told = str(error)
    assert "\n" not in told


def _looked_at(folder: Path) -> None:
    assert list(of_job(str(folder)))


def _told_of(folder: Path) -> None:
    with reading(str(folder)) as known:
        known.status(None, 10)
        explain_any(known, f"{SITE}/1")
        explain_any(known, "a.example")
        for table in (known.tables.links, known.tables.pages, known.tables.decisions):
            table(0, 100)
        known.tables.hosts()
    ServedJob(str(folder)).look([*PARTS])


def _gone_on_with(folder: Path) -> None:
    store = SqliteCrawlDB(folder, "topic")
    try:
        while (taken := store.urls.take()) is not None:
            store.urls.finish([taken.id])
    finally:
        store.abandon()


def _salvaged(folder: Path) -> None:
    salvaging(str(folder), str(folder / "salvaged"))


def requests(stack: ExitStack) -> Callable[[bytes], object]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    loop = asyncio.new_event_loop()
    stack.callback(loop.close)
    address = loop.run_until_complete(_served(unpacked(folder), stack, loop))

    async def answered(data: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(data)
        try:
            return await asyncio.wait_for(reader.read(2_000), 0.05)
        except (OSError, asyncio.TimeoutError):
            return b""
        finally:
            writer.close()

    waiting: list[bytes] = []

    async def answers() -> list[bytes]:
        return await asyncio.gather(*map(answered, waiting))

    def read(data: bytes) -> None:
        waiting.append(data)
        if len(waiting) < AT_A_TIME:
            return
        for asked, answer in zip(waiting, loop.run_until_complete(answers()), strict=True):
            assert not answer.startswith((b"HTTP/1.1 500", b"HTTP/1.0 500")), (asked, answer[:500])
        waiting.clear()

    return read


async def _served(folder: Path, stack: ExitStack, loop: asyncio.AbstractEventLoop) -> tuple[str, int]:
    served = aiohttp_web.AppRunner(ControlServer(ServedJob(str(folder)), "TOKEN", "127.0.0.1").app, access_log=None)
    await served.setup()
    stack.callback(lambda: loop.run_until_complete(served.cleanup()))
    await aiohttp_web.TCPSite(served, "127.0.0.1", 0).start()
    return served.addresses[0][:2]


def _kept_job() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        return [(unpacked(Path(folder)) / FILE_NAME).read_bytes()]


WITH_HEADERS = [head + b"\r\n" + body for head in seeds.HEADERS for body in seeds.HTML]
TARGETS = {
    "pages": Target(WITH_HEADERS, seeds.HTML_TOKENS + seeds.HEADER_TOKENS, pages),
    "headers": Target(seeds.HEADERS, seeds.HEADER_TOKENS, headers),
    "robots": Target(seeds.ROBOTS, seeds.ROBOTS_TOKENS, robots),
    "sitemaps": Target(seeds.SITEMAPS, seeds.SITEMAP_TOKENS, listed),
    "warc": Target(seeds.WARC, seeds.WARC_TOKENS, collections),
    "cdx": Target(seeds.CDX, seeds.CDX_TOKENS, captures),
    "jobs": Target(
        _kept_job(), [b"\x00" * 16, b"\xff" * 16, b"\x0d\x00", b"topic", b"14", b"nan", b"{"], jobs, damaged
    ),
    "redis": Target([bytes(8)], [], shared.jobs, shared.chosen),
    "requests": Target(seeds.REQUESTS, seeds.REQUEST_TOKENS, requests),
}
