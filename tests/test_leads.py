"""Where pages lead to, by which pages of one text are told apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.crawl.urls import host_pages
from scrapy_replica.crawl.urls.host_pages import HostPages, leads_of, pack_leads, unpack_leads
from scrapy_replica.records import Link, Page


def leads(*links):
    """Of a page with links, URL or (URL, text) each."""
    rows = [(one, "") if isinstance(one, str) else one for one in links]
    return leads_of(Page("http://a.example/", "a.example", links=tuple(Link(*row) for row in rows)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example/x?sid=1", "http://a.example/x?sid=2"),
        ("http://a.example/x;jsessionid=1", "http://a.example/x;jsessionid=2"),
        ("http://a.example/x", "https://a.example/x"),
        (("http://a.example/cart", "Cart (3)"), ("http://a.example/cart", "Cart (12)")),
    ],
)
def test_session_ids_counts_and_schemes_lead_nowhere_else(one, other):
    assert leads(one) == leads(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["http://a.example/x"], ["http://a.example/y"]),
        (["http://a.example/x"], ["http://b.example/x"]),
        ([("http://a.example/view?id=1", "Oak")], [("http://a.example/view?id=2", "Elm")]),
        (
            [("http://a.example/view?id=1", "details"), ("http://a.example/view?id=2", "details")],
            [("http://a.example/view?id=3", "details"), ("http://a.example/view?id=4", "details")],
        ),
    ],
)
def test_other_paths_hosts_and_words_lead_elsewhere(one, other):
    assert leads(*one).isdisjoint(leads(*other))


@given(st.lists(st.integers(0, 2**32 - 1), unique=True))
def test_stored_and_read_again(found):
    assert unpack_leads(pack_leads(found)) == found


def test_text_that_is_no_unicode():
    assert leads(("http://a.example/x", "\ud800"))


def test_beyond_the_bound_what_is_not_remembered_is_new(monkeypatch):
    monkeypatch.setattr(host_pages, "MAX_LEADS", 10)
    pages = HostPages()
    for number in range(5):
        found = leads(*(f"http://a.example/{number}-{k}" for k in range(4)))
        news = pages.news(found)
        pages.add(f"http://a.example/{number}", None, None, (), sorted(news)[: pages.room])
    assert pages.room == 0
    assert pages.weight < 1500 + 5 * 650 + 10 * 60 + 1
    assert not pages.news(leads("http://a.example/0-0"))
    assert pages.news(leads("http://a.example/4-3"))
