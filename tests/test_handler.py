from __future__ import annotations

import gzip
import ipaddress
import socket
import zlib
from urllib.parse import quote

import pytest
from scrapy import Request, Spider, signals
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.test import get_crawler

from scrapy_replica.components.handler import ArchiveDownloadHandler, rehearsal_settings
from scrapy_replica.warc.archive import open_archive

HTML = b"<html><body><p>caf\xc3\xa9</p></body></html>"


def record(url: str, body: bytes, status: int, headers: list[str], ip: str) -> bytes:
    head = "\r\n".join([f"HTTP/1.1 {status} X", *headers]).encode()
    block = head + b"\r\n\r\n" + body
    lines = [
        "WARC/1.0",
        "WARC-Type: response",
        f"WARC-Target-URI: {url}",
        "WARC-Date: 2022-01-15T00:00:00Z",
        f"WARC-IP-Address: {ip}",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(block)}",
    ]
    return gzip.compress("\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n")


@pytest.fixture
def warc(tmp_path):
    def writes(*pages):
        path = tmp_path / "web.warc.gz"
        parts = []
        for url, *rest in pages:
            body, status, headers, ip = (
                *rest,
                *(HTML, 200, ["Content-Type: text/html; charset=utf-8"], "192.0.2.1")[len(rest) :],
            )
            parts.append(record(url, body, status, headers, ip))
        path.write_bytes(b"".join(parts))
        return path

    return writes


@pytest.fixture(autouse=True)
def no_socket(monkeypatch):
    """A rehearsal that opens a connection fails the test."""

    def refuse(self, address):
        raise AssertionError(f"connection to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: refuse(None, args))


async def crawl(path, requests, **settings):
    """Fetch *requests* in a whole crawl: URL or scheme error -> response."""
    fetched = {}

    class OneSpider(Spider):
        name = "one"
        handle_httpstatus_all = True

        async def start(self):
            for request in requests:
                meta = {"handle_httpstatus_all": True}
                yield (
                    request
                    if isinstance(request, Request)
                    else Request(request, self.parse, meta=meta, errback=self.failed)
                )

        def parse(self, response):
            fetched[response.url] = response

        def failed(self, failure):
            fetched[failure.request.url] = failure.value

    crawler = get_crawler(OneSpider, {**rehearsal_settings([path]), **settings})
    await crawler.crawl_async()
    return fetched, crawler.stats.get_stats()


@pytest.mark.asyncio
class TestCrawl:
    async def test_page_as_captured(self, warc):
        path = warc(
            ("http://a.example/x",),
            ("https://a.example/y", b"%PDF-1.4\0\1", 200, ["Content-Type: application/pdf"], "::1"),
        )
        fetched, _ = await crawl(path, ["http://a.example/x#part", "https://a.example/y"])
        page, pdf = fetched["http://a.example/x#part"], fetched["https://a.example/y"]
        assert type(page).__name__ == "HtmlResponse"
        assert page.css("p::text").get() == "café"
        assert page.headers["Content-Type"] == b"text/html; charset=utf-8"
        assert page.ip_address == ipaddress.ip_address("192.0.2.1")
        assert page.flags == ["archive"]
        assert type(pdf).__name__ == "Response"
        assert pdf.ip_address == ipaddress.ip_address("::1")

    async def test_redirects_and_errors_are_kept(self, warc):
        path = warc(
            ("http://a.example/old", b"", 301, ["Location: /new"]),
            ("http://a.example/new",),
            ("http://a.example/gone", b"gone", 410, ["Content-Type: text/plain"]),
        )
        meta = {"handle_httpstatus_list": [410]}
        fetched = {}

        class Follows(Spider):
            name = "follows"

            async def start(self):
                yield Request("http://a.example/old")
                yield Request("http://a.example/gone", meta=meta)

            def parse(self, response):
                fetched[response.url] = response

        await get_crawler(Follows, rehearsal_settings([path])).crawl_async()
        assert fetched["http://a.example/new"].meta["redirect_urls"] == ["http://a.example/old"]
        assert fetched["http://a.example/gone"].text == "gone"

    async def test_what_is_not_there_is_marked(self, warc):
        path = warc(("http://a.example/",))
        post = Request("http://a.example/", method="POST", meta={"handle_httpstatus_all": True}, dont_filter=True)
        for request in ("http://a.example/none", post):
            fetched, stats = await crawl(path, [request])
            (response,) = fetched.values()
            assert (response.status, response.body, response.flags) == (404, b"", ["not-in-archive"])
            assert response.headers["X-Not-In-Archive"] == b"1"
            assert stats["downloader/request_count"] == 1

    async def test_head_has_no_body(self, warc):
        fetched, _ = await crawl(warc(("http://a.example/",)), [Request("http://a.example/", method="HEAD")])
        assert (fetched["http://a.example/"].status, fetched["http://a.example/"].body) == (200, b"")

    @pytest.mark.parametrize(
        ("encoding", "body"),
        [
            ("gzip", gzip.compress(HTML, mtime=0)),
            ("deflate", zlib.compress(HTML)),
            ("gzip", HTML),
            ("br", HTML),
            ("deflate", HTML),
        ],
    )
    async def test_content_encoding(self, warc, encoding, body):
        headers = ["Content-Type: text/html; charset=utf-8", f"Content-Encoding: {encoding}"]
        fetched, _ = await crawl(warc(("http://a.example/", body, 200, headers)), ["http://a.example/"])
        response = fetched["http://a.example/"]
        assert response.body == HTML
        assert response.css("p::text").get() == "café"

    async def test_chunks_are_joined(self, warc):
        headers = ["Content-Type: text/html", "Transfer-Encoding: chunked"]
        body = b"%X\r\n%s\r\n0\r\n\r\n" % (len(HTML), HTML)
        fetched, _ = await crawl(warc(("http://a.example/", body, 200, headers)), ["http://a.example/"])
        assert fetched["http://a.example/"].body == HTML

    async def test_unreadable_address_is_none(self, warc):
        fetched, _ = await crawl(warc(("http://a.example/", HTML, 200, [], "not an address")), ["http://a.example/"])
        assert fetched["http://a.example/"].ip_address is None

    async def test_several_requests_in_flight(self, warc):
        path = warc(*((f"http://h{i}.example/",) for i in range(8)))
        seen = []

        class Watches(Spider):
            name = "watches"

            async def start(self):
                for i in range(8):
                    yield Request(f"http://h{i}.example/")

            def parse(self, response):
                pass

        crawler = get_crawler(Watches, rehearsal_settings([path]))

        def reached(request):
            seen.append(len(crawler.engine.downloader.active))

        crawler.signals.connect(reached, signals.request_reached_downloader)
        await crawler.crawl_async()
        assert max(seen) > 1


@pytest.mark.asyncio
class TestNoNetwork:
    @pytest.mark.parametrize("url", ["ftp://ftp.example/pub/x.txt", "s3://bucket/key", "ftp://192.0.2.1/"])
    async def test_other_schemes_get_404(self, warc, url):
        fetched, _ = await crawl(warc(("http://a.example/",)), [url])
        assert fetched[url].status == 404
        assert fetched[url].flags == ["not-in-archive"]

    async def test_unknown_scheme_fails_alone(self, warc):
        fetched, _ = await crawl(warc(("http://a.example/",)), ["gopher://a.example/", "http://a.example/"])
        assert type(fetched["gopher://a.example/"]).__name__ == "NotSupported"
        assert fetched["http://a.example/"].status == 200

    async def test_data_and_file_stay(self, warc, tmp_path):
        (tmp_path / "page.html").write_bytes(HTML)
        data, file = "data:text/html," + quote("<p>inline</p>"), (tmp_path / "page.html").as_uri()
        fetched, _ = await crawl(warc(("http://a.example/",)), [data, file])
        assert fetched[data].css("p::text").get() == "inline"
        assert fetched[file].body == HTML

    async def test_robots_only_if_archived(self, warc):
        _, stats = await crawl(warc(("http://a.example/",)), ["http://a.example/"])
        assert "robotstxt/request_count" not in stats
        rules = (b"User-agent: *\nDisallow: /private\n", 200, ["Content-Type: text/plain"])
        path = warc(("http://a.example/",), ("http://a.example/private",), ("http://a.example/robots.txt", *rules))
        fetched, stats = await crawl(path, ["http://a.example/", "http://a.example/private", "http://b.example/"])
        assert stats["robotstxt/forbidden"] == 1
        assert fetched["http://a.example/"].status == 200


class TestSettings:
    def test_handlers_share_one_archive(self, warc):
        path = warc(("http://a.example/",))
        settings = rehearsal_settings([path])
        handlers = [
            build_from_crawler(cls, get_crawler(settings_dict=settings))
            for cls in settings["DOWNLOAD_HANDLERS"].values()
        ]
        assert len({id(handler.archive) for handler in handlers}) == 1
        assert handlers[0].archive is open_archive([path])
        assert isinstance(handlers[0], ArchiveDownloadHandler)

    def test_bad_archive_is_refused_at_once(self, tmp_path):
        path = tmp_path / "x.warc"
        path.write_text("<html>")
        with pytest.raises(ValueError, match="is no WARC file"):
            rehearsal_settings([path])
