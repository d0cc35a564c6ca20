"""What a page says beside its main text tells it apart from others with one text."""

from __future__ import annotations

import json
import string

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.crawl.urls.contents import content_of
from scrapy_replica.pages.beside import beside
from scrapy_replica.pages.page import EXTRACTORS, page_from_tree
from scrapy_replica.records import Noise

TEXT = "Here you find everything that you need for your home and your garden, at fair prices and with quick delivery."
SHELL = (
    "<html><head>{head}</head><body><nav><a href='/'>Home</a></nav><main><h1>Shop</h1>"
    + 3 * f"<p>{TEXT}</p>"
    + "</main>{body}</body></html>"
)


def said(head="", body="", noise=Noise.LEARNED):
    root = lxml.html.document_fromstring(SHELL.format(head=head, body=body))
    return page_from_tree(root, "https://shop.example/store/1", extract=EXTRACTORS[noise]).beside


def script(value, kind="application/json"):
    return f"<script type='{kind}'>{json.dumps(value)}</script>"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            {"head": script({"@type": "Store", "id": 1}, "application/ld+json")},
            {"head": script({"@type": "Store", "id": 2}, "application/ld+json")},
        ),
        (
            {"head": script({"@type": "Car", "sku": "WVWZZZ1JZXW000001"}, "application/ld+json")},
            {"head": script({"@type": "Car", "sku": "WVWZZZ1JZXW000002"}, "application/ld+json")},
        ),
        ({"body": script({"props": [{"price": 1.5}]})}, {"body": script({"props": [{"price": 2.5}]})}),
        (
            {"body": '<script>window.__STATE__ = {"in_stock": true};</script>'},
            {"body": '<script>window.__STATE__ = {"in_stock": false};</script>'},
        ),
        (
            {"body": """<script>window.__STATE__ = JSON.parse('{"name": "it\\'s Rome"}')</script>"""},
            {"body": """<script>window.__STATE__ = JSON.parse('{"name": "it\\'s Paris"}')</script>"""},
        ),
        (
            {"body": '<script>const state = JSON.parse("{\\"n\\": 1}")</script>'},
            {"body": '<script>const state = JSON.parse("{\\"n\\": 2}")</script>'},
        ),
        ({"body": "<script>var shop = [1, 2]</script>"}, {"body": "<script>var shop = [1, 3]</script>"}),
        ({"body": "<span itemprop=price content=5>"}, {"body": "<span itemprop=price content=6>"}),
        ({"head": "<meta name=description content='Rome'>"}, {"head": "<meta name=description content='Paris'>"}),
        ({"head": "<meta property=og:title content='Rome'>"}, {"head": "<meta property=og:title content='Paris'>"}),
        (
            {"body": "<footer><p>12 Main Street, Rome</p></footer>"},
            {"body": "<footer><p>7 Side Street, Paris</p></footer>"},
        ),
    ],
)
def test_other_pages(one, other):
    assert said(**one) != said(**other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"body": script({"csrfToken": "a1"})}, {"body": script({"csrfToken": "b2"})}),
        (
            {"body": script({"buildId": 1, "query": {"ref": "x"}})},
            {"body": script({"buildId": 2, "query": {"ref": "y"}})},
        ),
        (
            {"body": script({"id": "5f2b6c0e-8f1a-4c9b-9d57-0242ac130003"})},
            {"body": script({"id": "6f2b6c0e-8f1a-4c9b-9d57-0242ac130003"})},
        ),
        ({"body": script({"to": "/p/1?sid=3"})}, {"body": script({"to": "/p/1?sid=4"})}),
        (
            {"body": "<footer><p>It is 12:04:55, made in 0.034 s</p></footer>"},
            {"body": "<footer><p>It is 13:17:02, made in 0.1 s</p></footer>"},
        ),
        (
            {"body": "<div class=pager><a href=?p=2>2</a> <a href=?p=3>3</a></div>"},
            {"body": "<div class=pager><a href=?p=4>4</a> <a href=?p=5>5</a></div>"},
        ),
        ({"body": "<script>var n = Math.random();</script>"}, {"body": "<script>var n = Math.random() + 1;</script>"}),
    ],
)
def test_what_changes_with_each_request_is_left_out(one, other):
    assert said(**one) == said(**other)


def test_density_parts_main_text_and_text_around():
    told = "<div><p>Open until six on all days.</p></div>"
    html = f"<html><body><div><p>{80 * TEXT}</p></div><div>{20 * '<a href=/>menu</a> '}{told}</div></body></html>"
    texts = EXTRACTORS[Noise.CETD](lxml.html.document_fromstring(html))
    assert set(texts.main.split("\n")).isdisjoint(texts.around.split("\n"))
    assert "Open until six on all days." in f"{texts.main}\n{texts.around}"


@given(st.text(string.printable, max_size=300))
def test_no_script_makes_it_fail(text):
    root = lxml.html.document_fromstring("<p>x</p>")
    for kind in ("application/json", ""):
        element = lxml.html.Element("script", type=kind)
        try:
            element.text = f"window.x = {text}"
        except ValueError:
            return
        root.append(element)
    assert isinstance(beside(root, ""), str)


def test_deep_and_large_data_are_read_in_part():
    assert said(body=f"<script type=application/json>{'[' * 100_000}</script>")
    assert said(body=script(list(range(200_000))))


def test_what_a_page_of_few_words_shows_counts():
    """Pictures of an album with one caption and items that say no more: 24 of 120 were lost."""

    def photo(number, words=4):
        text = f"<p>{'A photo of ours. ' * (words // 4)}</p><img src='/img/{number}.jpg?s=2'><img src='data:x{number}'>"
        root = lxml.html.document_fromstring(f"<html><body>{text}</body></html>")
        return page_from_tree(root, f"https://shop.example/{number}", extract=EXTRACTORS[Noise.LEARNED])

    assert photo(1).beside == "1.jpg?s=2"
    assert photo(1, 40).beside == photo(2, 40).beside
    assert content_of(photo(1), 0, 20, {1}) != content_of(photo(2), 0, 20, {1})
