from __future__ import annotations

import time
from urllib.parse import urljoin

import lxml.html
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from scrapy import Request

from scrapy_replica.address import host_of
from scrapy_replica.pages.links import MAX_TEXT_CHARACTERS, Base, page_links
from scrapy_replica.records import Link

PAGE_URL = "http://example.com/dir/page.html"
PARTS = st.sampled_from(
    [
        "http:",
        "https:",
        "mailto:",
        "//",
        "/",
        "/",
        "/",
        "..",
        ".",
        "a",
        "b.html",
        "~u",
        "%7E",
        "?",
        "x=1",
        "&",
        "#",
        "é",
        " ",
        "example.com",
        "EXAMPLE.com",
        ":8080",
        ":080",
        ";p",
        "[::1]",
        "[",
        "@",
        "\\",
        "|",
        "%",
        "münchen.de",
        "+",
        ":",
        "\t",
    ]
)
REFERENCES = st.lists(PARTS, max_size=9).map("".join)
BASES = ["http://example.com", "http://example.com/a/b/../c", "https://h:8443/x/y/z.html?q=1#f", "http://h/a//b/c;p/d"]


def slow_absolute(base: str, reference: str) -> str | None:
    """What Scrapy would request."""
    try:
        url = Request(urljoin(base, reference.strip(" \t\n\r\f"))).url.partition("#")[0]
    except ValueError:
        return None
    return url if url.startswith(("http://", "https://")) and host_of(url) else None


def links_of(html: str, url: str = PAGE_URL) -> tuple[Link, ...]:
    return page_links(lxml.html.document_fromstring(html), Base(url))[0]


class TestBase:
    @settings(max_examples=500)
    @given(st.sampled_from(BASES), REFERENCES)
    def test_equals_what_scrapy_would_request(self, base, reference):
        assert Base(base).absolute(reference) == slow_absolute(base, reference)

    @pytest.mark.parametrize("base", BASES)
    @pytest.mark.parametrize(
        "reference",
        [
            "x",
            "x/",
            "x.html#top",
            "./x",
            "../x",
            "../../../x",
            ".",
            "..",
            "/",
            "/x/y?a=b",
            "?a=b",
            "//other.org/x",
            "x?",
            "",
            "http://other.org",
            "http://other.org/",
            "https://other.org:81/a.b/c?d=e&f",
            "HTTP://Other.ORG/",
            "x//y",
            ".x",
        ],
    )
    def test_common_forms(self, base, reference):
        assert Base(base).absolute(reference) == slow_absolute(base, reference)

    @pytest.mark.parametrize(
        "reference",
        ["mailto:a@b", "javascript:void(0)", "ftp://h/x", "tel:1", "data:,x", "http://[::1", "http://h:x/"],
    )
    def test_no_web_page(self, reference):
        assert Base(PAGE_URL).absolute(reference) is None

    def test_query_in_the_encoding_of_the_page(self):
        assert Base(PAGE_URL, "latin-1").absolute("/é?q=é") == "http://example.com/%C3%A9?q=%E9"

    def test_a_name_that_no_host_can_have_is_told_at_once(self):
        begun = time.process_time()
        assert Base(PAGE_URL).absolute(f"http://{'ä' * 600_000}.example/") is None
        assert time.process_time() - begun < 0.5
        assert Base(PAGE_URL).absolute(f"http://{'a' * 60}.{'b' * 60}.example/") is not None

    def test_international_host(self):
        assert Base(PAGE_URL).absolute("http://MÜNCHEN.de/") == "http://xn--mnchen-3ya.de/"

    def test_long_urls_are_kept(self):
        reference = "/" + "x" * 10_000
        assert Base(PAGE_URL).absolute(reference) == "http://example.com" + reference


class TestPageLinks:
    def test_in_document_order_with_their_place(self):
        html = (
            "<body><ul><li><a href='a'>First  \n one</a></li></ul><map><area href=b alt=Area></map><p><a href=c>c</a>"
        )
        assert links_of(html) == (
            Link("http://example.com/dir/a", "First one", 0),
            Link("http://example.com/dir/b", "Area", 1),
            Link("http://example.com/dir/c", "c", 2),
        )

    def test_first_of_each_url(self):
        links = links_of("<a href=a>one</a><a href=a#part>two</a><a href=b>three</a>")
        assert [(link.text, link.position) for link in links] == [("one", 0), ("three", 1)]

    def test_references_to_nothing_are_left_out(self):
        assert (
            links_of("<a>x</a><a href>x</a><a href='#top'>x</a><a href='mailto:a@b'>x</a><a href='http://[::1'>x</a>")
            == ()
        )

    @pytest.mark.parametrize(
        ("inner", "text"),
        [
            ("one <b>two</b> three", "one two three"),
            ("<!-- no -->yes<!-- no -->", "yes"),
            ("<img alt=' a  picture '>", "a picture"),
            ("<img alt=picture> text", "text"),
            ("<script>no</script>yes", "yes"),
            ("", ""),
        ],
    )
    def test_text(self, inner, text):
        assert [link.text for link in links_of(f"<a href=x>{inner}</a> tail")] == [text]

    def test_long_text_is_cut(self):
        for inner in ("word " * 1000, "<b>word </b>" * 1000):
            (link,) = links_of(f"<a href=x>{inner}</a>")
            assert link.text.startswith("word word")
            assert len(link.text) <= MAX_TEXT_CHARACTERS

    def test_hidden_links_count(self):
        assert len(links_of("<div style='display:none'><a href=x>x</a></div><noscript><a href=y>y</a></noscript>")) == 2

    def test_the_tree_is_not_changed(self):
        root = lxml.html.document_fromstring("<base href=/><a href='../x#y'>a<b>c</b></a>tail")
        before = etree.tostring(root)
        page_links(root, Base(PAGE_URL))
        assert etree.tostring(root) == before
