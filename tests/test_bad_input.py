"""What the web really serves: nothing of it raises, and nothing is lost."""

from __future__ import annotations

import pytest
from scrapy import Request, Spider
from web import HTML, REPLICA, crawl, page, text

from scrapy_replica import TopicSpider

pytestmark = pytest.mark.asyncio
TOP = "http://a.example/"
DEPTH = 100_000

BODIES = {
    "empty": b"",
    "blank": b" \r\n\t ",
    "no-body": b"<title>alone</title>",
    "only-comment": b"<!-- nothing -->",
    "frameset": b"<html><frameset><frame src=/framed></frameset></html>",
    "not-html": b"\x00\x01\x02\xff\xfe" * 100,
    "control-characters": b"<html><body><p>a\x00b\x01c\x0bd\x1fe &#1; &#0; &#xd800;</p></body></html>",
    "broken-utf8": b"<html><body><p>caf\xe9 \xff\xfe \xc3</p></body></html>",
    "utf16": "<html><body><p>wide</p></body></html>".encode("utf-16"),
    "wrong-declaration": b'<html><head><meta charset="utf-16"></head><body><p>' + text(1).encode() + b"</p></body>",
    "unknown-encoding": b'<html><head><meta charset="klingon"></head><body><p>' + text(2).encode() + b"</p></body>",
    "cut-off": b"<html><body><div><p>" + text(3).encode() + b"<a href='/x",
    "deep": b"<div>" * DEPTH + b"<p>deep</p>",
    "deep-links": b"".join(b"<b><a href=/deep>" for _ in range(2000)),
    "many-attributes": b"<p " + b" ".join(b"a%d=1" % n for n in range(20_000)) + b">x</p>",
    "long-word": b"<p>" + b"x" * 1_000_000 + b"</p>",
    "xml": b'<?xml version="1.0"?><rss><channel><title>t</title></channel></rss>',
    "namespaces": b'<html xmlns:x="u:x"><body><x:p>odd</x:p><svg><a href="/svg"></a></svg></body></html>',
    "surrogates": "<p>\ud83d\ude00</p>".encode("utf-8", "surrogatepass"),
}

LINKS = {
    "http://[2001:db8::1]/v6": "http://[2001:db8::1]/v6",
    "http://[2001:db8::1]:8080/v6": "http://[2001:db8::1]:8080/v6",
    "http://a.example:8080/port": "http://a.example:8080/port",
    "http://192.0.2.7/address": "http://192.0.2.7/address",
    "http://bücher.example/": "http://xn--bcher-kva.example/",
    "http://user:pw@a.example/secret": "http://user:pw@a.example/secret",
    "/ä?ö=ü": f"{TOP}%C3%A4?%C3%B6=%C3%BC",
    "/a b": f"{TOP}a%20b",
    "/" + "x" * 10_000: TOP + "x" * 10_000,
    "/?q=" + "&amp;q=" * 3000: f"{TOP}?q=" + "&q=" * 3000,
    "?same=page": f"{TOP}?same=page",
    "//b.example/other": "http://b.example/other",
    "HTTP://A.EXAMPLE/UPPER": "http://a.example/UPPER",
    "/%zz%": None,
    "/..//../up": None,
}
UNPARSABLE = [
    *(
        "http://[::1/open",
        "http://[nonsense]/",
        "http://a.example:port/",
        "http://a.example:99999/",
        "http://",
        "http:///x",
    ),
    *("http://.example/", "http://a..example/", "http://" + "a" * 70 + ".example/", "https:", ":", "//", "http://%00/"),
    *(
        "javascript:void(0)",
        "mailto:x@a.example",
        "tel:1",
        "data:,x",
        "ftp://a.example/",
        "",
        "#",
        "\x01\x02",
        "http://\u2100.example/",
    ),
]


class TestBodies:
    @pytest.mark.parametrize("header", [HTML, {"Content-Type": "text/html"}, {}], ids=["utf-8", "html", "none"])
    async def test_every_page_is_observed(self, header):
        pages = {TOP: page(BODIES, seed="top"), **{TOP + name: (200, header, body) for name, body in BODIES.items()}}
        result = await crawl(TopicSpider, pages, {**REPLICA, "LOG_LEVEL": "CRITICAL"}, seeds=TOP)
        assert {item["url"] for item in result.items} == set(pages)
        assert "replica/page/error" not in result.stats
        assert "spider_exceptions/count" not in result.stats
        assert result.unfinished == {}

    async def test_text_behind_the_damage_is_read(self):
        pages = {TOP: page(["/control"], seed=1)}
        pages[f"{TOP}control"] = b"<html><body><p>" + text(2, 100).encode().replace(b" ", b"\x01 ") + b"</p></body>"
        result = await crawl(TopicSpider, pages, REPLICA, seeds=TOP)
        assert [item["novelty"] for item in result.items] == ["novel", "novel"]

    async def test_same_text_behind_other_encodings_is_the_same(self):
        words = " ".join(f"é{word}" for word in text(1, 100).split())
        html = f"<html><body><p>{words}</p></body></html>"
        pages = {
            TOP: page(["/utf8", "/latin1", "/utf16"], seed="top"),
            f"{TOP}utf8": (200, HTML, html.encode()),
            f"{TOP}latin1": (200, {"Content-Type": "text/html; charset=iso-8859-1"}, html.encode("latin-1")),
            f"{TOP}utf16": (200, {"Content-Type": "text/html"}, html.encode("utf-16")),
        }
        result = await crawl(TopicSpider, pages, REPLICA, seeds=TOP)
        assert sorted(item["novelty"] for item in result.items) == ["exact-duplicate"] * 2 + ["novel"] * 2


class Yields(Spider):
    """What a careless spider yields."""

    name = "yields"
    start_urls = (TOP,)

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            try:
                request = response.follow(link, self.parse_other, errback=self.failed)
            except ValueError:
                continue
            yield request
        yield {"end": response.url}

    def parse_other(self, response):
        yield {"url": response.url}

    def failed(self, failure):
        yield {"url": failure.request.url}


def odd_web(request):
    if request.url == TOP:
        return page([*LINKS, *UNPARSABLE], seed="top")
    return page(seed=request.url)


class TestUrls:
    async def test_links_of_a_page(self):
        settings = {**REPLICA, "URLLENGTH_LIMIT": 0}
        result = await crawl(TopicSpider, odd_web, settings, seeds=TOP)
        assert {url for url in LINKS.values() if url} <= set(result.urls)
        assert "replica/page/error" not in result.stats
        assert result.unfinished == {}
        assert len(result.items) >= len(LINKS)

    @pytest.mark.parametrize("lines", [None, "*.example canonical.test"])
    async def test_requests_of_a_spider(self, lines, tmp_path):
        settings = {**REPLICA, "URLLENGTH_LIMIT": 0, "LOG_LEVEL": "CRITICAL", "RETRY_ENABLED": False}
        plain = await crawl(Yields, odd_web, {k: v for k, v in settings.items() if k != "ADDONS"})
        if lines:
            (tmp_path / "aliases").write_text(lines)
            settings["REPLICA_ALIASES"] = str(tmp_path / "aliases")
        result = await crawl(Yields, odd_web, settings)
        assert {"end": TOP if lines is None else "http://canonical.test/"} in result.items or lines
        assert result.unfinished == {}
        assert result.stats.get("spider_exceptions/count") == plain.stats.get("spider_exceptions/count")
        if lines is None:
            assert {item["url"] for item in result.items if "url" in item} == {
                item["url"] for item in plain.items if "url" in item
            }

    async def test_redirects_to_nonsense(self):
        targets = [
            "http://[::1/open",
            "http://a.example:99999/",
            "",
            "\x01",
            "http://",
            "mailto:x@y.example",
            "/" + "x" * 9000,
        ]
        pages = {TOP: page([f"/r{n}" for n in range(len(targets))], seed="top")}
        pages |= {f"{TOP}r{n}": (302, {"Location": target}, "") for n, target in enumerate(targets)}
        settings = {**REPLICA, "LOG_LEVEL": "CRITICAL", "RETRY_ENABLED": False}
        result = await crawl(TopicSpider, pages, settings, seeds=TOP)
        assert result.unfinished == {}
        assert all(f"{TOP}r{n}" in result.urls for n in range(len(targets)))

    async def test_odd_base(self):
        bases = ["http://[::1/", "/deeper/", "http://b.example/x/", "javascript:x", ""]
        pages = {TOP: page([f"/b{n}" for n in range(len(bases))], seed="top")}
        for n, base in enumerate(bases):
            pages[f"{TOP}b{n}"] = page([f"end{n}"], seed=n).replace("<head>", f'<head><base href="{base}">')
        settings = {**REPLICA, "METAREFRESH_ENABLED": False}  # which gives up on the first page
        result = await crawl(TopicSpider, pages, settings, seeds=TOP)
        assert {f"{TOP}end0", f"{TOP}deeper/end1", "http://b.example/x/end2", f"{TOP}end4"} <= set(result.urls)
        assert result.unfinished == {}


async def test_what_a_spider_hands_on_may_be_odd(tmp_path):
    """Surrogates in meta, a bytes URL's worth of anything: what cannot be stored is kept in memory."""

    class Hands(Spider):
        name = "hands"
        start_urls = (TOP,)

        def parse(self, response):
            yield response.follow("/1", self.parse_one, meta={"x": "\ud83d"})
            yield response.follow("/2", self.parse_one, meta={"x": lambda: 1})
            yield response.follow("/3", self.parse_one, cb_kwargs={"lock": object()})
            yield Request(f"{TOP}4", self.parse_one, method="PUT", body=b"\xff\x00", headers={"X": "\xe9"})

        def parse_one(self, response, lock=None):
            yield {"url": response.url}

    pages = {TOP: page(), **{f"{TOP}{n}": page(seed=n) for n in range(1, 5)}}
    result = await crawl(Hands, pages, {**REPLICA, "JOBDIR": str(tmp_path)})
    assert {item["url"] for item in result.items} == set(pages) - {TOP}
    assert result.unfinished == {}
