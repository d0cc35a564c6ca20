"""Where pages lead to, by which pages of one text are told apart."""

from __future__ import annotations

from dataclasses import replace

import lxml.html
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.crawl.urls import host_pages
from scrapy_replica.crawl.urls.contents import content_of, is_of_links
from scrapy_replica.crawl.urls.host_pages import HostPages
from scrapy_replica.crawl.urls.leads import leads_of, pack_leads, unpack_leads
from scrapy_replica.pages.links import Base, page_links
from scrapy_replica.records import Form, FormField, Link, Page


def leads(*links, on="http://a.example/"):
    """Of a page with links, URL or (URL, text) each."""
    rows = [(one, "") if isinstance(one, str) else one for one in links]
    return frozenset(leads_of(Page(on, "a.example", links=tuple(Link(*row) for row in rows))))


def is_news(one, other):
    """Whether a page leads elsewhere after another; each is its URL and one that it links to."""
    pages = HostPages()
    pages.add(one[0], None, None, (), sorted(leads(one[1], on=one[0])))
    return bool(pages.news(leads(other[1], on=other[0])))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.example/x?sid=1", "http://a.example/x?sid=2"),
        ("http://a.example/x;jsessionid=1", "http://a.example/x;jsessionid=2"),
        ("http://a.example/x", "https://a.example/x"),
        ("http://a.example/x", "http://www.a.example/x"),
        (("http://a.example/cart", "Cart (3)"), ("http://a.example/cart", "Cart (12)")),
        ("http://a.example/index.php?id=1", "http://a.example/index.php/?id=1"),
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


def versions(ref, other, *, mode="&mode=old"):
    """Of a page with links to one page and another version of it, which say where they stand."""
    return leads(("http://a.example/?id=1&ref=" + ref, "Oak"), (f"http://a.example/?id=1{mode}&ref=" + other, "Oak"))


def test_where_links_stand_leads_nowhere_else():
    """Of a site all of whose pages are at /index.php 1,717 requests of 1,717 were made: each link had another ref."""
    assert versions("a", "b") == versions("c", "a")


def test_what_may_say_where_a_link_stands_and_alone_tells_links_apart_leads_elsewhere():
    assert versions("a", "b", mode="").isdisjoint(versions("c", "d", mode=""))


def test_a_link_that_stands_there_by_both_names_of_the_host_is_one_link():
    url = "a.example/out?to=%2Fx"
    assert leads((f"http://{url}", "x"), (f"http://www.{url}", "x")) == leads((f"http://{url}", "x"))


def numbered(number, *ids, on="http://a.example/list"):
    return leads(*((f"http://a.example/view?id={one}&list={number}", "details") for one in ids), on=on)


def test_what_all_links_of_one_kind_have_is_no_other_place_unless_it_names_the_page():
    assert numbered(491170, 1, 2) == numbered(238134, 1, 2)
    assert numbered(491170, 1, 2).isdisjoint(numbered(491170, 3, 4))
    assert numbered(7, 1, 2, on="http://a.example/album/7").isdisjoint(numbered(8, 1, 2, on="http://a.example/album/8"))


HASHES = st.integers(0, 2**32 - 1)


@given(st.lists(st.tuples(HASHES, HASHES), unique=True))
def test_stored_and_read_again(found):
    assert unpack_leads(pack_leads(found)) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("/s1/list", "/s1/item"), ("/s2/list", "/s2/item")),
        (("/1.0/a/x.html", "/1.0/index.html"), ("/2.0/a/x.html", "/2.0/index.html")),
        (("/sport/story-7", "/amp/sport/story-7"), ("/world/story-7", "/amp/world/story-7")),
        (("/list", "/item/7"), ("/item/5", "/item/7")),
        (("/s1/list", "/s1/item"), ("/s2/item", "/s2/item")),
    ],
)
def test_pages_of_two_folders_that_lead_to_the_same_beside_them_lead_nowhere_else(one, other):
    assert not is_news(*([f"http://a.example{path}" for path in page] for page in (one, other)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("/s1/list", "/s1/item"), ("/s2/list", "/s2/other")),
        (("/store/1", "/store/1/menu"), ("/store/2", "/store/2/menu")),
        (("/list", "/item"), ("/s2/list", "/s2/more/item")),
        (("/print/story-7", "/desk/story-7"), ("/print/story-8", "/amp/desk/story-8")),
    ],
)
def test_pages_that_lead_to_something_else_beside_them_lead_elsewhere(one, other):
    assert is_news(*([f"http://a.example{path}" for path in page] for page in (one, other)))


def test_arguments_that_the_page_has_as_well_lead_nowhere_else():
    def pager(own, *parts):
        return leads(
            *((f"http://a.example/list?{part}{own}", part[-1]) for part in parts), on=f"http://a.example/list?{own}"
        )

    pages = HostPages()
    pages.add("http://a.example/list?", None, None, (), sorted(pager("", "p=1", "p=2")))
    assert not pages.news(pager("&sort=new", "p=1", "p=2"))
    assert pages.news(pager("&sort=new", "p=3", "p=4"))


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
    assert pages.weight < 1500 + 5 * 650 + 10 * 200 + 1
    assert not pages.news(leads("http://a.example/0-0"))
    assert pages.news(leads("http://a.example/4-3"))


def test_a_page_with_another_session_is_the_page_that_was_told_apart_by_where_it_leads():
    pages, content, first, second = HostPages(), 1 << 20, leads("http://a.example/a"), leads("http://a.example/b")
    pages.add("http://a.example/1", content, content, (), first)
    pages.add("http://a.example/2", content, 2 << 20, (), second)
    assert pages.told_apart_by(content, first) is None
    assert pages.told_apart_by(content, first | second) == 2 << 20
    assert pages.told_apart_by(3 << 20, second) is None


def test_so_is_one_that_leads_to_itself_by_an_argument_of_its_own():
    def product(*query):
        colours = (("http://a.example/c/7?colour=1", "colour"), ("http://a.example/c/7?colour=2", "colour"))
        return leads(*colours, on="?".join(["http://a.example/c/7", *query]))

    pages, content = HostPages(), 1 << 20
    pages.add("http://a.example/7", content, content)
    pages.add("http://a.example/c/7", content, 2 << 20, (), product())
    assert product("colour=1") != product() != product("colour=2")
    assert pages.told_apart_by(content, product("colour=1")) == 2 << 20
    assert pages.told_apart_by(content, product("colour=2")) == 2 << 20


def test_so_is_one_that_gives_the_same_items():
    """A list in another order, an item of which is made, by its other name: no rule over names was proved by it."""
    pages, content, items = HostPages(), 1 << 20, frozenset({1, 2})
    pages.add("http://a.example/list", content, content)
    apart = pages.tell_apart("http://a.example/list?order=price", content, content, items, is_open=False)
    pages.add("http://a.example/list?order=price", content, apart)
    assert pages.told_apart_by(content, frozenset(), items) == apart
    assert pages.told_apart_by(content, frozenset(), frozenset({1})) is None
    assert pages.told_apart_by(content, frozenset()) is None


def version_of(url, *alternates):
    """What stands for the version in the content of a page with *alternates*, language and URL each."""
    page = Page(url, "a.example", text="one two three", words=3, signature=b"", title="", alternates=alternates)
    return content_of(page, 0, 1) & 0xFF


def test_the_declared_version_is_that_of_the_path_whatever_arguments_are_beside():
    paths = (("en", "http://a.example/en/x"), ("de", "http://a.example/de/x"))
    assert version_of("http://a.example/de/x?highlight=word", *paths) == version_of("http://a.example/de/x", *paths)
    assert version_of("http://a.example/de/x?highlight=word", *paths) != version_of("http://a.example/en/x", *paths)
    args = (("en", "http://a.example/x"), ("de", "http://a.example/x?l=de"))
    assert version_of("http://a.example/x?l=de&sid=1", *args) == version_of("http://a.example/x?l=de", *args)
    assert version_of("http://a.example/x?l=de&sid=1", *args) != version_of("http://a.example/x?sid=1", *args)


def test_a_page_leads_to_itself_with_a_slash_at_the_end_and_without():
    here, there = ("http://a.example/item/7", "Print"), ("http://a.example/item/7/?print=1", "Print")
    found = leads(here, there, on="http://a.example/item/7")
    assert found == leads(here, there, on="http://a.example/item/7/")
    assert {beside for _, beside in found} == {
        beside for _, beside in leads(here, there, on="http://a.example/item/7/")
    }


def test_a_version_for_print_beside_each_page_is_the_place_that_this_page_leads_to():
    """What lies beside each page in the same way is no news of the second page, and was not remembered.

    The versions of all but the first page, which lead to themselves, were told apart: 1,721 of 1,721 requests.
    """
    pages = HostPages()
    for number in (1, 2):
        own = f"http://a.example/item/{number}"
        there = leads((f"http://a.example/print/item/{number}", "Print"), on=own)
        pages.add(own, number, number, (), sorted(pages.first_met(there)))
    version = "http://a.example/print/item/2"
    assert not pages.news(leads((version, "Print"), on=version))


def test_the_order_of_arguments_is_no_other_place():
    one = leads(("http://a.example/x?a=1&b=2", "x"), ("http://a.example/x?a=2&b=1", "x"))
    assert one == leads(("http://a.example/x?b=2&a=1", "x"), ("http://a.example/x?b=1&a=2", "x"))


def short(title="Sunrise", words="Sunrise over the hills", **more):
    return Page("http://a.example/1", "a.example", title, text=words, words=4, signature=b"1", **more)


def test_a_page_of_little_text_is_what_its_items_say():
    """Of 150 pictures with twelve words each nothing was known."""
    assert content_of(short(), 0, 20, {1, 2}) == content_of(short(), 0, 20, [2, 1])
    others = {content_of(short(), 0, 20, {1}), content_of(short("Dusk"), 0, 20, {1}), content_of(short(), 0, 20, {2})}
    assert len(others) == 3
    assert None not in others


@pytest.mark.parametrize("page", [short(), short(is_read=False), short(is_html=False)])
def test_a_page_of_little_text_and_no_items_a_text_that_was_not_read_and_a_document_are_nothing_known(page):
    assert content_of(page, 0, 20, {1} if not (page.is_read and page.is_html) else ()) is None


def test_a_page_of_little_text_with_a_form_to_log_in_is_known():
    login = Form("http://a.example/login", "post", (FormField("name", "Name", ()),), is_login=True)
    assert content_of(short(forms=(login,)), 0, 20) is not None


def test_where_to_come_back_to_is_no_other_place():
    one = leads("http://a.example/compare/7/back/%2Fsale%2F7.html", on="http://a.example/sale/7.html")
    other = leads("http://a.example/compare/7/back/%2F7.html", on="http://a.example/7.html")
    third = leads("http://a.example/compare/7/back/%2F8.html", on="http://a.example/7.html")
    assert {it for it, _ in one} == {it for it, _ in other}
    assert one.isdisjoint(third)


def listing(*entries, words="News Sports Weather Culture", menu="News Sports Weather Culture"):
    """A page whose main text is *words*, below a *menu*."""
    links = tuple(Link(f"http://a.example/{entry}", entry) for entry in (*menu.split(), *entries))
    return Page("http://a.example/list", "a.example", "List", text=words, words=40, signature=b"", links=links)


def content(page):
    return content_of(page, 0, 1, of_links=is_of_links(page))


def test_parts_of_a_listing_are_told_apart_by_what_they_list_where_a_menu_is_taken_for_their_text():
    first = content(listing("Apples", "Pears"))
    assert content(listing("Pears", "Apples")) == first
    assert content(listing("Plums", "Pears")) != first


def test_links_to_one_place_say_all_that_they_say_however_they_are_spelt():
    """Two spellings of a list gave "first page" or not, and each rule about them was wrong."""
    url = "http://a.example/list?sort=name"
    found = []
    for first, second in (
        (url, url + "&ref=2"),
        (url + "&ref=1", "http://a.example/list/?ref=1&sort=name"),
        (url, url),
    ):
        items = "".join(f'<a href="/{one}">{one}</a>' for one in ("Apples", "Pears"))
        named = f'<a href="{first}">by name</a><a href="{second}">first page</a><a href="{second}">by name</a>'
        links, other_links = page_links(lxml.html.document_fromstring(f"<p>{items}{named}</p>"), Base(url))
        found.append(content(replace(listing("Apples", "Pears"), links=links, other_links=other_links)))
    assert len({*found}) == 1
    assert content(listing("Apples", "Pears")) != found[0]


def test_a_list_by_its_default_order_leads_where_it_leads_without_one():
    """There its own URL is that of "by date" and of "50 a page": a rule with seven right pairs was ended by one such
    page, and 1,468 of 4,373 requests were made in place of 1,281.
    """
    texts = {"by date": "sort=date&n=50", "by pay": "sort=pay&n=50", "10": "sort=date&n=10", "50": "sort=date&n=50"}
    found = []
    for default in ("", "sort=date&"):
        url = f"http://a.example/list?{default}n=50"
        anchors = [
            f'<a href="?{query if text.startswith("by") else query.replace("sort=date&", default)}">{text}</a>'
            for text, query in texts.items()
        ]
        links, other_links = page_links(lxml.html.document_fromstring(f"<p>{''.join(anchors)}</p>"), Base(url))
        page = Page(
            url,
            "a.example",
            "List",
            text="by date by pay",
            words=40,
            signature=b"",
            links=links,
            other_links=other_links,
        )
        found.append((content(page), leads_of(page)))
    (first, there), (second, here) = found
    assert first == second is not None
    assert all({*lead} & {one for known in there for one in known} for lead in here)


def test_links_tell_no_page_with_words_of_its_own_apart():
    words = "Apples are picked in September and kept until spring"
    assert content(listing("Plums", words=words)) == content(listing("Pears", words=words))
