"""URLs of which all of a shape lead to one page: what tells that they do, and what tells that they do not."""

from __future__ import annotations

import pytest

from scrapy_replica.crawl.urls.gates import FIRST, Gates, destination_of
from scrapy_replica.pages.forms import Form, FormField
from scrapy_replica.records import Link, Page

HOST = "http://site.example"


def found(urls, to="/login", pages=(), gates=None, text=lambda url: "Apply", *, is_page=False):
    """What is said of the URLs that lead *to* a page, or show it, one after the other; links to them have a *text*."""
    gates = gates if gates is not None else Gates()
    gates.add(f"{HOST}{urls[0]}/before", f"{HOST}/else", [], str, is_page=is_page)
    gates.read(Page(HOST, "a.example", links=tuple(Link(HOST + url, text(url)) for url in urls)))
    return [
        rule.transformation[0][1:]
        for url in urls
        if (rule := gates.add(HOST + url, HOST + to, [HOST + one for one in pages], str, is_page=is_page))
    ]


class TestGates:
    def test_five_of_a_shape_tell(self):
        urls = [f"/apply/{number}" for number in range(FIRST)]
        assert found(urls[:-1]) == []
        assert found(urls) == [("/apply/{0}", "/login")]

    def test_each_part_that_differs_may_be_anything(self):
        urls = [f"/add?page=%2Flist&product={number}" for number in range(FIRST)]
        urls += [f"/add?page=%2Fp%2F{number}&product={number}" for number in range(FIRST)]
        assert found(urls) == [
            ("/add?page=%2Flist&product={0}", "/login"),
            ("/add?page={0}&product={1}", "/login"),
        ]

    def test_links_that_say_what_they_lead_to_lead_to_no_gate(self):
        urls = [f"/thesis/{number}" for number in range(FIRST)]
        assert found(urls, text=lambda url: f"On oak, and {'abcde'[int(url[-1])]}") == []
        assert found(urls, text=lambda url: "") == []

    def test_the_first_name_is_the_same(self):
        assert found([f"/{number}/apply" for number in range(FIRST)]) == []

    def test_a_page_of_that_shape_says_otherwise(self):
        assert found([f"/item/{number}" for number in range(FIRST)], pages=["/item/99"]) == []

    def test_one_that_leads_elsewhere_says_otherwise(self):
        gates = Gates()
        found(["/item/99"], to="/item/oak", gates=gates)
        assert found([f"/item/{number}" for number in range(FIRST)], gates=gates) == []

    def test_one_that_leads_to_another_host_says_otherwise(self):
        gates = Gates()
        gates.add(f"{HOST}/out/99", "http://company.example/", [], str, is_page=False)
        assert found([f"/out/{number}" for number in range(FIRST)], to="/none", gates=gates) == []

    def test_another_host_is_no_gate(self):
        gates = Gates()
        told = [gates.add(f"{HOST}/out/{n}", "http://company.example/", [], str, is_page=False) for n in range(FIRST)]
        assert told == [None] * FIRST

    def test_what_leads_to_its_own_shape_is_none(self):
        assert found([f"/item/{number}" for number in range(FIRST)], to="/item/login") == []


class TestOfPages:
    """URLs that lead nowhere, and all show the page at the first of them."""

    URLS = tuple(f"/apply/{number}/form" for number in range(1, FIRST + 1))

    def test_all_of_a_shape_show_the_first(self):
        assert found(self.URLS, to="/apply/0/form", is_page=True) == [("/apply/{0}/form", "/apply/0/form")]

    def test_one_that_shows_another_page_says_otherwise(self):
        assert found(self.URLS, to="/apply/0/form", pages=["/apply/99/form"], is_page=True) == []

    def test_links_of_which_no_text_is_known_tell_nothing(self):
        gates = Gates()
        assert not any(gates.add(HOST + url, f"{HOST}/apply/0/form", [], str, is_page=True) for url in self.URLS)

    def test_another_name_in_the_path_is_another_shape(self):
        assert found(self.URLS, to="/apply/0/form", pages=["/apply/99/letters"], is_page=True) != []

    def test_names_of_things_differ(self):
        urls = [
            f"/apply/the-{name}-{number}.html?form=1"
            for number, name in enumerate(("oak", "old-elm", "ash", "fir", "yew"))
        ]
        assert found(urls, to=urls[0], is_page=True) == [("/apply/{0}?form=1", urls[0])]

    def test_what_stands_last_may_say_what_to_do_with_the_thing(self):
        urls = [f"/apply/{number}/{('add-to-cart', 'write-review')[number % 2]}" for number in range(2 * FIRST - 2)]
        assert found(urls, to=urls[0], is_page=True) == []

    def test_spellings_of_one_of_many_pages_make_none(self):
        gates = Gates()
        found(["/item/1?from=9"], to="/item/1", gates=gates, is_page=True)
        urls = [f"/item/0?from={number}" for number in range(FIRST)]
        assert found(urls, to="/item/0", gates=gates, is_page=True) == []


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("/login?next=/apply/7", "/login"),
        ("/login?lang=de&next=%2Fapply%2F7", "/login?lang=de"),
        ("/login?back=http%3A%2F%2Fsite.example%2Fapply%2F7", "/login"),
        ("/login?next=/cart", "/login?next=/cart"),
    ],
)
def test_where_to_come_back_to_is_no_part_of_the_place(location, place):
    assert destination_of(f"{HOST}/apply/7", HOST + location) == HOST + place


@pytest.mark.parametrize(
    ("url", "is_gate"),
    [
        ("http://shop.example/en/cart?add=1&id_product=7", True),
        ("http://shop.example/shop/?add-to-cart=7", True),
        ("http://shop.example/index.php?option=com_mailto&link=7", True),
        ("http://shop.example/posts/7/edit", True),
        ("http://shop.example/news/7/sendto_form", True),
        ("http://shop.example/credit?id=7", False),
        ("http://shop.example/user/7/favorites", False),
        ("http://shop.example/contact?home=7", False),
        ("http://shop.example/edit/7", False),
        ("http://shop.example/comments?of=7", False),
    ],
)
def test_a_page_that_is_there_to_do_something_is_closed(url, is_gate):
    assert Gates().is_closed(Page(url, "shop.example")) is is_gate


def test_a_box_to_log_in_on_each_page_tells_nothing_of_one():
    login = Form("http://a.example/login", "post", (FormField("name", "Name", ()),), is_login=True)
    pages = [Page(f"{HOST}/{name}", "a.example", forms=(login,)) for name in "abc"]
    gates = Gates()
    for page in pages:
        gates.read(page)
    assert not gates.is_closed(pages[0])
    for name in "defg":
        gates.read(Page(f"{HOST}/{name}", "a.example"))
    assert gates.is_closed(pages[0])
