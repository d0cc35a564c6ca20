"""Main text as Markdown, and the other parts of what ``extract`` returns."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html
from scrapy.http import HtmlResponse, Response

from scrapy_replica import extract
from scrapy_replica.pages.blocks import read_blocks
from scrapy_replica.pages.dates import as_iso, dates_of
from scrapy_replica.pages.links import Base
from scrapy_replica.pages.markdown import markdown

TAGS = ("p", "div", "b", "i", "a", "li", "ul", "pre", "td", "tr", "table", "h2", "blockquote", "script", "section")
ABSOLUTE = Base("http://a.example/d/").absolute


def whole(body: str) -> str:
    """Return all of a page as Markdown."""
    root = html.document_fromstring(f"<html><body>{body}</body></html>")
    return markdown(root, [True] * len(read_blocks(root).texts), ABSOLUTE)


class TestMarkdown:
    @pytest.mark.parametrize(
        ("body", "told"),
        [
            ("<h1>A <em>b</em></h1><p>c", "# A *b*\n\nc"),
            ("<p>A <b>bold</b> word, <a href='/x(1)'>link</a>", "A **bold** word, [link](http://a.example/x%281%29)"),
            ("<p>x <code>a*b</code> 3*4 a_b _c", "x `a*b` 3\\*4 a_b \\_c"),
            ("<a href='mailto:a@b.example'>write</a>", "write"),
            ("<h2>Part<a href='#part'>¶</a></h2>", "## Part"),
            ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d"),
            ("<ol start=3><li>a<li>b</ol>", "3. a\n4. b"),
            ("<ul><li><p>a<p>b</ul>", "- a\n\n  b"),
            ("<blockquote><p>a<p>b</blockquote><p>c", "> a\n>\n> b\n\nc"),
            ("<pre class='language-py'>if x:\n    y  # z\n\nw</pre>", "```py\nif x:\n    y  # z\n\nw\n```"),
            ("<pre>a ``` b</pre>", "````\na ``` b\n````"),
            ("<table><tr><th>a<th>b<tr><td>1<td>x|y</table>", "| a | b |\n| --- | --- |\n| 1 | x\\|y |"),
            ("<table><tr><td>a<td><ul><li>b</ul><tr><td>c<td>d</table>", "a\n\n- b\n\nc\n\nd"),
            ("<p># a<p>1. b<p>- c<p>> d", "\\# a\n\n1\\. b\n\n\\- c\n\n\\> d"),
            ("a<br>b<br><br>c<!-- d -->e", "a b\n\nce"),
            ("<p>a<script>b</script><style>c</style> d", "a d"),
            ("<p>&lt;b&gt; [x](y)", "\\<b> [x\\](y)"),
        ],
    )
    def test_says_what_the_page_shows(self, body, told):
        assert whole(body) == told

    def test_only_what_is_kept_is_there(self):
        root = html.document_fromstring("<body><nav><p>menu</nav><h1>a</h1><p>b<footer>c</footer>")
        assert read_blocks(root).texts == ["menu", "a", "b", "c"]
        assert markdown(root, [False, True, True, False], ABSOLUTE) == "# a\n\nb"

    @given(
        st.recursive(
            st.sampled_from(["word", " ", "two words", "<br>", "<br><br>", "<img>", "<!-- x -->", "<hr>", "&nbsp;"]),
            lambda parts: st.tuples(
                st.sampled_from(TAGS),
                st.sampled_from(["", " hidden", " style='display:none'", " class='language-c'", " href='/x'"]),
                st.lists(parts, max_size=4),
            ).map(lambda told: f"<{told[0]}{told[1]}>{''.join(told[2])}</{told[0]}>"),
            max_leaves=20,
        )
    )
    def test_reads_the_runs_that_the_extractor_reads(self, body):
        root = html.document_fromstring(f"<html><body>{body}<p>end</p></body></html>")
        texts = read_blocks(root).texts
        before = html.tostring(root)
        assert markdown(root, [False] * len(texts), ABSOLUTE) == ""
        told = markdown(root, [True] * len(texts), ABSOLUTE)
        assert told.endswith("end")
        assert html.tostring(root) == before
        # Each word stands there once, in the order of the page.
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", told.replace("*", ""))
        words = [word for word in plain.split() if word in WORDS]
        assert words == [word for text in texts for word in text.split() if word in WORDS]


WORDS = {"word", "two", "words", "end"}

ARTICLE = """<html lang="pt-BR"><head><title>A title</title><base href="/docs/">
<meta property="article:published_time" content="2024-05-01T10:00:00Z"><meta name="last-modified" content="20240602">
</head><body><nav><a href="/">Home</a></nav><article><h1>A title</h1><p>%s And <a href="more">more</a>.</p>
</article></body></html>""" % ("Some words that a reader wants to have read, and more of them. " * 8)


class TestExtract:
    @pytest.mark.parametrize(
        "page",
        [ARTICLE, ARTICLE.encode(), HtmlResponse("http://a.example/x/", body=ARTICLE.encode(), encoding="utf-8")],
        ids=["text", "bytes", "response"],
    )
    def test_has_all_parts(self, page):
        found = extract(page, "http://a.example/x/")
        assert (found.title, found.language, found.url) == ("A title", "pt", "http://a.example/x/")
        assert (found.date, found.changed) == ("2024-05-01T10:00:00+00:00", "2024-06-02")
        assert found.text.startswith("A title\nSome words that")
        assert "Home" not in found.text
        assert found.markdown.startswith("# A title\n\nSome words that")
        assert "[more](http://a.example/docs/more)" in found.markdown
        assert [(link.url, link.text) for link in found.links][-1] == ("http://a.example/docs/more", "more")

    @pytest.mark.parametrize(
        "page", ["", " ", "<html>", "plain", b"\xff\xfe", "<p>" * 5000, "<a href='http://['>x</a>"]
    )
    def test_a_page_without_sense_has_little(self, page):
        found = extract(page)
        assert isinstance(found.text, str)
        assert isinstance(found.markdown, str)
        assert (found.date, found.changed) == (None, None)

    def test_what_is_no_html_is_refused(self):
        with pytest.raises(ValueError, match="is no HTML: there is nothing to extract"):
            extract(Response("http://a.example/x.pdf", body=b"%PDF"))


class TestDates:
    @pytest.mark.parametrize(
        ("head", "published"),
        [
            ('<script type="application/ld+json">{"datePublished": "2023-01-02"}</script>', "2023-01-02"),
            ('<meta name="date" content="2023/01/02">', "2023-01-02"),
            ('<meta itemprop="datePublished" content="2023-01-02T03:04">', "2023-01-02T03:04"),
            ('<span itemprop="datePublished" content="20230102">x</span>', "2023-01-02"),
            ('<time datetime="2023-01-02">then</time>', "2023-01-02"),
            ('<time datetime="2023-01-02">a</time><time datetime="2023-01-03">b</time>', None),
            ('<meta name="date" content="yesterday">', None),
            ('<meta name="date" content="2023-02-30">', None),
        ],
    )
    def test_published(self, head, published):
        assert dates_of(html.document_fromstring(f"<html><body>{head}<p>x</p></body></html>")).published == published

    @given(st.text(max_size=40))
    def test_any_text_is_a_date_or_none(self, text):
        told = as_iso(text)
        assert told is None or told[4] == "-"
