"""What servers send that is too much, too odd or not what it says."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import gettempdir
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import numpy as np
from fuzz import seeds as sound
from fuzz.mutation import mutated
from lxml.html import document_fromstring
from scrapy import Request
from web import HTML

from hostile.building import Answer, Site, page, site, text
from hostile.copies import GOOD, top
from hostile.scenario import KEY, Crawled, Follower, Scenario, Topical, item, keys
from scrapy_replica.pages.beside import hash_of_beside
from scrapy_replica.pages.collection import row_of, write_collection
from scrapy_replica.pages.page import page_from_tree

BODY = "<html><head><title>{title}</title></head><body>{body}</body></html>"


def with_pages(pages: dict[str, Any], n: int = 60) -> Any:
    """A site whose front page links to *pages*, at paths of their own."""
    good = site(GOOD, n, more=lambda k: list(pages) if k == 0 else ())
    return {**good, **{f"http://{GOOD}{name}": answer for name, answer in pages.items()}}


def html(key: str, body: bytes | str, kind: str = "text/html; charset=utf-8", **headers: str) -> Answer:
    return 200, {"Content-Type": kind, KEY: key, **headers}, body


def odd_characters() -> Any:
    bodies = {
        "nul": BODY.format(
            title="a\0b", body=f"<p>{text('nul')}\0\0</p><a href='/a\0b'>x</a><a href='/behind-nul'>y</a>"
        ),
        "surrogates": f"<title>&#xd800;</title><p>{text('s')} &#xdfff; &#xd83d;</p><a href='/&#xd800;'>x</a>",
        "controls": "<title>\x01\x02\x1b[2J</title><p>"
        + text("c").replace(" ", "\x0b\x0c ")
        + "</p><a href='/\x7f'>x</a>",
        "direction": f"<title>\u202e\u2066abc</title><p>\u200b\ufeff{text('d')}</p><a href='/\u202ex'>x</a>",
        "planes": f"<title>\U0001f600</title><p>{text('p')} {chr(0x10FFFF)}</p><a href='/\U0001f600'>x</a>",
    }
    pages = {f"/{name}": html(name, body.encode("utf-8", "surrogatepass")) for name, body in bodies.items()}
    pages["/lone"] = html(
        "lone", b"<title>\xed\xa0\x80</title><p>\xed\xb0\x80 \xff\xfe \xc0\x80</p>" + text("l").encode()
    )
    return {**with_pages(pages), f"http://{GOOD}/behind-nul": page("behind nul")}


def encodings() -> Any:
    """One text in ten encodings, some with a declaration that is wrong, each beside a page of its own."""
    pages: dict[str, Any] = {}
    for number, (encoding, declared) in enumerate(
        (
            *(("utf-16", ""), ("utf-16-le", "utf-16le"), ("utf-16-be", "utf-16be"), ("utf-32", "")),
            *(("utf-8-sig", "utf-16"), ("latin-1", "utf-8"), ("cp1252", "klingon"), ("shift_jis", "utf-8")),
            *(("utf-16", "utf-8"), ("utf-7", "utf-7")),
        )
    ):
        body = f"<html><title>{number}</title><p>{text(('e', number))}</p><a href='/own-{number}'>next</a></html>"
        kind = f"text/html; charset={declared}" if declared else "text/html"
        pages[f"/encoded-{number}"] = html(f"encoded {number}", body.encode(encoding), kind)
    own = {f"http://{GOOD}/own-{number}": page(f"own {number}") for number in range(len(pages))}
    return {**with_pages(pages), **own}


def many_links(n: int) -> Any:
    links = "".join(f"<a href=/l/{k}>{k}</a>" for k in range(n))
    return with_pages({"/links": html("links", f"<title>links</title><p>{text('links')}</p>{links}")})


def bombs() -> Any:
    """Bodies that grow a thousandfold, inside out, and documents that are one tag, word or tree."""
    big = 1_000_000
    zeros = gzip.compress(b"<p>" + b"word " * (big // 5), 9)
    twice = gzip.compress(gzip.compress(b"0" * 15_000_000, 9), 9)
    return with_pages(
        {
            "/bomb": html("bomb", zeros, **{"Content-Encoding": "gzip"}),
            "/twice": html("twice", twice, **{"Content-Encoding": "gzip, gzip"}),
            "/cut": html("", zeros[: len(zeros) // 2], **{"Content-Encoding": "gzip"}),
            "/deep": html("deep", "<div>" * 100_000 + text("deep")),
            "/inline": html("inline", "<b><i>" * 20_000 + text("inline")),
            "/tables": html("tables", "<table><tr><td>" * 5_000 + text("tables")),
            "/word": html("word", "<p>" + "x" * big),
            "/tag": html("tag", "<p " + "a" * big + ">" + text("tag")),
            "/attributes": html("attributes", "<p " + " ".join(f"a{k}=1" for k in range(30_000)) + ">" + text("at")),
            "/entities": html("entities", "<p>" + "&amp;&lt;&#65;" * 100_000),
            "/comments": html("comments", "<!--" * 100_000 + text("comments")),
            "/title": html("title", f"<title>{'t ' * 250_000}</title><p>{text('title')}"),
            "/doctype": html("doctype", '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]><p>&b;' + text("dt")),
        }
    )


def heads() -> Any:
    """HeadRescorer and forms by the thousand."""
    alternates = "".join(
        f'<link rel="alternate" hreflang="x{k}" href="http://h{k}.example/">'
        f'<link rel="canonical" href="http://c{k}.example/">'
        for k in range(3_000)
    )
    metas = "".join(f'<meta http-equiv="refresh" content="9999;url=/m{k}"><base href="/b{k}/">' for k in range(1_000))
    forms = "".join(
        f'<form action="/f{k}"><input name="i{k}"><select name="s"><option>1</select></form>' for k in range(1_000)
    )
    options = "<form><select name=q>" + "".join(f"<option>{k}" for k in range(30_000)) + "</select></form>"
    return with_pages(
        {
            "/alternates": html("alternates", f"<head>{alternates}</head><p>{text('al')}"),
            "/metas": html("metas", f"<head>{metas}</head><p>{text('me')}"),
            "/forms": html("forms", f"{forms}<p>{text('fo')}"),
            "/options": html("options", f"{options}<p>{text('op')}"),
        }
    )


ODD_LINKS = (
    *(
        "http://[::1",
        "http://[x]/",
        "http://a.example:99999/",
        "http://a.example:0/",
        "http://a.example:-1/",
        "http://:80/",
    ),
    *(
        "http://" + "a" * 300 + ".example/",
        "http://a..b.example/",
        "http://-.example/",
        "http://%31.example/",
        "http://",
    ),
    *(
        "//",
        "///x",
        "http:/\\/a.example",
        "http://a.example\\@b.example/",
        "http://b\u00fccher.example/\u00e4?\u00f6#\u00fc",
    ),
    *(
        "http://\u2160.example/",
        "http://a.example/%",
        "http://a.example/%zz%00",
        "/..%2f..%2fetc",
        "?",
        "#",
        "?#",
        "&amp;",
    ),
    *(
        "http://a.example/\n/x",
        "http://a.example/ x",
        "HTTP://GOOD.EXAMPLE:80/part-0/page-1.html",
        "//good.example:080/",
    ),
    *(
        "http://good.example./",
        "http://user@good.example/",
        "http://xn--a.example/",
        "http://xn--.example/",
        "http://1.2.3/",
    ),
)


def odd_links() -> Any:
    return with_pages({"/odd": page("odd", ODD_LINKS), "/odder": page("odder", [f"/x/{link}" for link in ODD_LINKS])})


def long_urls(length: int) -> Any:
    """URLs of *length* characters: of folders, of arguments, of words that are looked for."""
    folders = "/".join(str(k) for k in range(length // 5))
    repeated = "a/b/" * (length // 4)
    arguments = "&".join(f"a{k}={k}" for k in range(length // 10))
    words = "token" * (length // 5)
    dates = "2024-01" * (length // 7)
    links = [
        link
        for k in range(12)
        for link in (
            f"/long/{k}/{folders}",
            f"/long/{k}/{repeated}",
            f"/long/x?{k}&{arguments}",
            f"/long/?{k}{words}",
            f"/long/?{k}&" + "&".join(["token"] * (length // 6)),
            f"/long/{k}/{dates}",
            f"/long/{k}?" + ";" * length,
        )
    ]
    good = with_pages({"/long": page("long", links)})
    again = page("again", links[::7], says=text("long", 60), title="Long")

    def answer(request: Request) -> Any:
        return again if f"{GOOD}/long/" in request.url else good.get(request.url)

    return answer


class Everything(Follower):
    """Follows what a listing names, too."""

    name = "everything"

    def parse(self, response: Any) -> Any:
        yield from super().parse(response)
        if response.url.endswith("/listing"):
            for name in json.loads(response.body):
                yield response.follow(name, self.parse_other)

    def parse_other(self, response: Any) -> Any:
        yield item(response)


def other_types() -> Any:
    """Documents that are no HTML, are HTML and say otherwise, or the reverse; many with equal first bytes."""
    kinds = ("application/pdf", "image/png", "application/json", "text/plain", "application/octet-stream", "", "x")
    pages: dict[str, Any] = {}
    for number in range(42):
        kind = kinds[number % len(kinds)]
        body = b"%PDF-1.4 " + bytes(500) + str(number).encode() if number % 2 else page("x", says=f"n {number}")[2]
        pages[f"/other/{number}"] = html(f"other {number}", body, kind)
    names = list(pages)
    listing = 200, {"Content-Type": "application/json", KEY: "listing"}, json.dumps(names)
    return {**with_pages({**pages, "/listing": listing}), f"http://{GOOD}/none": (200, {**HTML}, "")}


def short_pages() -> Site:
    """A dictionary: two hundred entries of six words each, which look like nothing to compare."""
    names = [f"/entry/{number}" for number in range(200)]
    pages = {f"http://{GOOD}/": page("front", names)}
    for name in names:
        pages[f"http://{GOOD}{name}"] = page(name, ["/"], says=f"see the entry {name[7:]} above", title="Entry")
    return pages


def without_spaces() -> Site:
    """A site in Chinese: whole sentences, of which a program that looks for spaces sees a word or two."""
    signs = [chr(0x4E00 + k) for k in range(3_000)]
    random = Random("signs")

    def says(k: int) -> str:
        return "\u3002".join("".join(random.choices(signs, k=18)) for _ in range(12)) + "\u3002"

    return site(GOOD, 150, says=says, title="\u9875")


def refusing() -> Any:
    """A site that lets its pages be fetched and refuses each use of them, and links to the terms."""
    said = {"X-Robots-Tag": "noindex, noai", "TDM-Reservation": "1", "Content-Usage": "train-ai=n, search=n"}
    head = '<meta name="robots" content="noindex, noai"><link rel="license" href="/terms">'
    honest = site(GOOD, head=lambda _: head)
    robots = "License: /rsl.xml\nUser-agent: *\nAllow: /\nContent-Usage: train-ai=n\nContent-Signal: ai-train=no\n"

    def answer(request: Request) -> Answer | None:
        if request.url.endswith("/robots.txt"):
            return 200, {"Content-Type": "text/plain"}, robots
        known = honest.get(request.url)
        return known and (known[0], {**known[1], **said}, known[2])

    return answer


COLLECTION = Path(gettempdir()) / f"collection-{os.getpid()}.index"


def site_that_is_half_collected() -> Site:
    return site(GOOD, 80, fanout=2)


@contextmanager
def collected(pages: Site, host_of: Callable[[int], str | None]) -> Iterator[None]:
    """Write the collection: those of *pages* for whose number *host_of* names a host, as pages of that host."""
    rows = []
    for number, (url, (_, _, html)) in enumerate(pages.items()):
        said, host = page_from_tree(document_fromstring(html), url), host_of(number)
        if host is not None and said.signature is not None:
            rows.append(row_of(said.signature, host, said.title, hash_of_beside(said)))
    with COLLECTION.open("wb") as file:
        write_collection([np.array(rows, dtype=np.uint64).reshape(-1, 3)], "learned", file, COLLECTION.parent)
    try:
        yield
    finally:
        COLLECTION.unlink()


def every_second(number: int) -> str | None:
    """Half of them are of this host, half of another one."""
    return (GOOD if number % 4 == 1 else "elsewhere.example") if number % 2 else None


N_LACKED = 40


def collected_site() -> Site:
    return site(GOOD, 120)


def mostly_collected() -> Site:
    """A site that is collected but for its front page, and forty others behind that."""
    front = site(GOOD, 7, more=lambda k: ["/new/0"])
    pages = {**collected_site(), f"http://{GOOD}/": front[f"http://{GOOD}/"]}
    for number in range(N_LACKED):
        links = [f"/new/{k}" for k in range(4 * number + 1, 4 * number + 5) if k < N_LACKED]
        pages[f"http://{GOOD}/new/{number}"] = page(f"new {number}", links)
    return pages


def lacked(crawled: Crawled) -> set[str]:
    return {key for key in keys(crawled) if key.startswith("new")}


def before_the_others(plain: Crawled, ours: Crawled) -> Iterator[str]:
    """The collection brings what plain Scrapy does not find in as many requests."""
    if not len(lacked(plain)) < len(lacked(ours)) == N_LACKED:
        yield f"found {len(lacked(ours))} of {N_LACKED} that the collection lacks, plain Scrapy {len(lacked(plain))}"


N_BROKEN = 40


def broken_around_pages() -> Any:
    """Hosts of four sound pages whose headers, robots.txt and sitemaps are broken, each in its own way."""
    pages = {}
    for number in range(N_BROKEN):
        host = f"h{number}.example"
        pages |= site(host, 4)

    def broken(what: list[bytes], tokens: list[bytes], url: str) -> bytes:
        data = mutated(Random(f"{url} 1"), what, tokens)
        return data.replace(b"a.example", urlsplit(url).netloc.encode())

    def answer(request: Request) -> Answer | None:
        url = request.url
        if url.endswith("/robots.txt"):
            return 200, {"Content-Type": "text/plain"}, broken(sound.ROBOTS, sound.ROBOTS_TOKENS, url)
        if url.endswith(".xml"):
            return 200, {"Content-Type": "text/xml"}, broken(sound.SITEMAPS, sound.SITEMAP_TOKENS, url)
        known = pages.get(url)
        if known is None:
            return None
        lines = broken(sound.HEADERS, sound.HEADER_TOKENS, url).split(b"\r\n")
        told = {name.strip().decode("latin-1"): value for name, _, value in (line.partition(b":") for line in lines)}
        return known[0], {**{name: value for name, value in told.items() if name}, **known[1]}, known[2]

    return answer


@contextmanager
def delays_of_no_length() -> Iterator[None]:
    """What a broken robots.txt asks for is heeded, a hundredth of a second of it at most."""
    with patch("scrapy_replica.components.robots.MOST_DELAY_S", 0.01):
        yield


SCENARIOS = [
    Scenario(
        name="odd characters",
        tried="NUL, lone surrogates, controls and marks of direction in texts, titles and links.",
        pages=odd_characters,
        seeds=top(GOOD),
    ),
    Scenario(
        name="odd characters, topic spider",
        tried="The same for the spider whose links become rows without a request.",
        pages=odd_characters,
        seeds=top(GOOD),
        spider=Topical,
    ),
    Scenario(
        name="encodings",
        tried="UTF-16, UTF-32, UTF-7 and pages whose declared encoding is wrong or unknown.",
        pages=encodings,
        seeds=top(GOOD),
    ),
    Scenario(
        name="20,000 links on a page",
        tried="A page has 20,000 links; sixty real pages wait beside them.",
        pages=lambda: many_links(20_000),
        seeds=top(GOOD),
        spider=Topical,
        settings={"CLOSESPIDER_PAGECOUNT": 100, "DEPTH_LIMIT": 6},
    ),
    Scenario(
        name="bombs",
        tried="Bodies that grow a thousandfold; documents that are one tag, word, title or tree.",
        pages=bombs,
        seeds=top(GOOD),
        settings={"DOWNLOAD_MAXSIZE": 2_500_000},
    ),
    Scenario(
        name="heads and forms",
        tried="Thousands of alternates, canonical links, refreshes, bases, forms and options.",
        pages=heads,
        seeds=top(GOOD),
    ),
    Scenario(
        name="odd links",
        tried="Links that are no URLs, or are spelt so that they look like others.",
        pages=odd_links,
        seeds=top(GOOD),
    ),
    Scenario(
        name="long URLs",
        tried="URLs of 2,000 characters: folders, arguments, words that are looked for.",
        pages=lambda: long_urls(2_000),
        seeds=top(GOOD),
    ),
    Scenario(
        name="URLs of 60,000 characters",
        tried="The same at full length for the spider whose links become rows without a request.",
        pages=lambda: long_urls(60_000),
        seeds=top(GOOD),
        spider=Topical,
        settings={"CLOSESPIDER_PAGECOUNT": 150},
    ),
    Scenario(
        name="documents that are no HTML",
        tried="Documents of other types, and HTML that says it is one, with equal beginnings.",
        pages=other_types,
        seeds=top(GOOD),
        spider=Everything,
    ),
    Scenario(
        name="refused uses",
        tried="Each page refuses to be found, to be mined and to train, in headers and head, as its robots.txt does.",
        pages=refusing,
        seeds=top(GOOD),
        modes=("demote", "drop"),
        settings={"ROBOTSTXT_OBEY": True},
    ),
    Scenario(
        name="collected elsewhere",
        tried="A collection has every second page, in part of this host: their links wait, and all else lies behind.",
        pages=site_that_is_half_collected,
        seeds=top(GOOD),
        modes=("demote", "drop"),
        settings={"REPLICA_KNOWN": str(COLLECTION)},
        around=lambda: collected(site_that_is_half_collected(), every_second),
    ),
    Scenario(
        name="mostly collected",
        tried="Eighty requests for a site of 160 pages, of which a collection has 119.",
        pages=mostly_collected,
        seeds=top(GOOD),
        settings={"REPLICA_KNOWN": str(COLLECTION), "CLOSESPIDER_PAGECOUNT": 80},
        around=lambda: collected(collected_site(), lambda _: GOOD),
        contents=lacked,
        check=before_the_others,
    ),
    Scenario(
        name="broken headers, robots.txt, sitemaps",
        tried="Forty hosts whose headers, robots.txt and sitemaps are sound ones with bytes changed.",
        pages=broken_around_pages,
        seeds=top(*(f"h{number}.example" for number in range(N_BROKEN))),
        spider=Topical,
        settings={"ROBOTSTXT_OBEY": True, "REPLICA_SITEMAPS": True},
        around=delays_of_no_length,
    ),
    Scenario(
        name="short pages",
        tried="Two hundred pages with one title and six words each: too little to tell.",
        pages=short_pages,
        seeds=top(GOOD),
        settings={"REPLICA_TRAP_CREDIT": 3},
    ),
    Scenario(
        name="text without spaces",
        tried="A site in Chinese, with one title, of whose pages a look for spaces sees one word.",
        pages=without_spaces,
        seeds=top(GOOD),
        settings={"REPLICA_TRAP_CREDIT": 5},
    ),
]
