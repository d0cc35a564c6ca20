from __future__ import annotations

import lxml.html
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from lxml.html import defs
from scrapy.http import HtmlResponse

from scrapy_replica.components.pages import elements_of
from scrapy_replica.pages.page import EXTRACTORS, page_from_body, page_from_tree
from scrapy_replica.records import Noise, Page

URL = "http://www.example.com/dir/page.html"
PARSER = {"recover": True, "encoding": "utf8", "huge_tree": True}


SOUP = ["<p>", "</p>", "<a href='", "http://[", "x'>", "</a>", "<div>", "\x00", "\x0b", "&#1;", "&bogus;", "'>", "é"]
SOUP += ["<base href='//", "<link rel=canonical href='http://h:x/'>", "<![CDATA[", "<?pi", "<!--", "-->", "<svg:a>"]
SOUP += ["<html lang='\x01'>", "<title>"]


def page_of(html: str | bytes, **marks: object) -> Page:
    body = html.encode() if isinstance(html, str) else html
    return page_from_tree(lxml.html.document_fromstring(body, parser=lxml.html.HTMLParser(**PARSER)), URL, **marks)


class TestPageFromTree:
    @pytest.mark.parametrize("noise", Noise)
    @pytest.mark.parametrize("mark", ["style='display:none'", "style='visibility: hidden'", "hidden"])
    def test_a_body_that_a_script_will_show_is_read(self, noise, mark):
        assert page_of(f"<body {mark}><p>One two three.</p></body>", extract=EXTRACTORS[noise]).text == "One two three."

    def test_a_whole_page(self):
        page = page_of(
            "<html lang=pt-BR><head><title> A\n title </title><link rel=canonical href=/c>"
            "<link rel=alternate hreflang=EN href='?en'></head><body><p>Redes e protocolos.</p><a href=x>x</a></body>",
            redirected_from=("http://example.com/",),
            ip="192.0.2.1",
        )
        assert (page.url, page.host, page.title, page.language) == (URL, "www.example.com", "A title", "pt")
        assert page.canonical == "http://www.example.com/c"
        assert page.alternates == (("en", "http://www.example.com/dir/page.html?en"),)
        assert [link.url for link in page.links] == ["http://www.example.com/dir/x"]
        assert (page.redirected_from, page.ip) == (("http://example.com/",), "192.0.2.1")
        assert page.terms["protocol"] == 1
        assert len(page.signature or b"") == 16

    def test_nothing_known_is_none(self):
        page = page_of("<html></html>")
        assert page == Page(URL, "www.example.com")
        assert page.signature is None
        assert page.simhash is None

    def test_words_count_chinese_characters_singly(self):
        assert page_of("<p>two words 汉字</p>").words == 4

    @pytest.mark.parametrize(
        ("html", "language"),
        [
            ("<html lang=en-US>", "en"),
            ("<html xml:lang=de>", "de"),
            ("<html><meta http-equiv=Content-Language content='fr, en'>", None),
            ("<html><meta http-equiv=content-language content=fr>", "fr"),
            ("<html lang=gsw>", None),
            ("<html lang=''>", None),
        ],
    )
    def test_language(self, html, language):
        assert page_of(html + "<p>text").language == language

    def test_base_holds_for_links_before_it(self):
        page = page_of("<head><link rel=canonical href=c><base href='http://other.org/b/'></head><a href=x>x</a>")
        assert page.canonical == "http://other.org/b/c"
        assert page.links[0].url == "http://other.org/b/x"

    def test_no_title_from_a_drawing(self):
        assert page_of("<title>page</title><svg><title>drawing</title></svg>").title == "page"

    def test_signature_sees_neither_case_nor_spacing_nor_tags(self):
        signatures = {
            page_of(html).signature for html in ["<p>Some TEXT</p>", "<div>some\n text</div>", "<p>some <i>text"]
        }
        assert len(signatures) == 1
        assert page_of("<p>other text</p>").signature not in signatures

    def test_language_default_is_for_terms(self):
        assert page_of("<p>as redes</p>", language_default="pt").terms == {"red": 1}

    def test_the_tree_is_not_changed(self):
        html = "<title>t</title><base href=/><!-- c --><p style='display:none'>h</p>tail<p>text<a href=x>l<b>b</b></a>"
        root = lxml.html.document_fromstring(html)
        before = etree.tostring(root)
        page_from_tree(root, URL)
        assert etree.tostring(root) == before


def test_elements_are_of_the_classes_that_they_have_without_the_add_on():
    """So that a spider's ``form.inputs`` and the like hold."""
    tags = [*defs.tags, "blink", "form"]
    body = f"<!-- c --><?pi x?><body>{''.join(f'<{tag} a=b></{tag}>' for tag in tags)}<svg:a></svg:a>"
    response, plain = (HtmlResponse("http://a.example/", body=body.encode()) for _ in range(2))
    assert [type(one) for one in elements_of(response)] == [type(one) for one in plain.selector.root.iter()]


class TestBadInput:
    @settings(max_examples=100)
    @given(st.lists(st.sampled_from(SOUP), max_size=15))
    def test_soup(self, pieces):
        assert page_of("<html>" + "".join(pieces)).url == URL

    @pytest.mark.parametrize(
        "html",
        [
            b"<p>\xff\xfe\x80 \xc3(</p>",
            b"<div>" * 100_000,
            b"<b><a href=x>" * 30_000,
            b"<a href='" + b"x" * 10_000 + b"'>" + b"y" * 10_000,
            b"<p>x" * 50_000,
        ],
    )
    def test_hostile_pages(self, html):
        assert page_of(html).host == "www.example.com"

    def test_a_page_of_any_number_of_elements_costs_no_more_than_a_large_one(self, monkeypatch):
        monkeypatch.setattr("scrapy_replica.pages.blocks.MAX_ELEMENTS", 50)
        small, *large = (page_of("<p>some more text</p>" * 20 + rest) for rest in ("", *(f"<p>{n}" * 90 for n in "12")))
        assert all(page.words < 50 * 3 and "some more text" in page.text for page in large)
        assert len({page.signature for page in (small, *large)}) == 3, "they differ where they are not read"
        assert len(page_of("".join(f"<p><a href={n}>text</a>" for n in range(90))).links) == 90

    @pytest.mark.parametrize(("url", "host"), [("http://[::1]:80/", "[::1]"), ("http://[::1", ""), ("about:blank", "")])
    def test_odd_urls_of_pages(self, url, host):
        root = lxml.html.document_fromstring("<a href=x>x</a><link rel=canonical href=y>")
        assert page_from_tree(root, url).host == host

    def test_an_unknown_encoding_loses_no_plain_link(self):
        page = page_of("<a href=x>x</a><a href='/é?é'>y</a>", encoding="no-such-encoding")
        assert page.links[0].url == "http://www.example.com/dir/x"


class TestPageFromBody:
    def test_signature_of_the_bytes(self):
        page = page_from_body(b"%PDF-1.7", "http://h/x.pdf", ip="192.0.2.1")
        assert page.signature == page_from_body(b"%PDF-1.7", "http://other/").signature
        assert page.signature != page_from_body(b"%PDF-1.6", "http://h/").signature
        assert (page.host, page.text, page.simhash, page.links, page.ip) == ("h", "", None, (), "192.0.2.1")

    def test_empty_body(self):
        assert page_from_body(b"", "http://h/").signature is None
