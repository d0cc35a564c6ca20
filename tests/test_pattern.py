from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.urls.context import facts, is_true
from scrapy_replica.urls.pattern import parse, token_class

URLS = st.builds(
    "".join,
    st.lists(
        st.sampled_from(
            [
                "http://",
                "Ex.org",
                "/",
                "//",
                "..",
                "?",
                "&",
                "&amp;",
                ";",
                "=",
                "a",
                "b%2F",
                "%",
                "#",
                "7",
                "é",
                ":",
                ".html",
            ]
        )
    ),
)


class TestParse:
    @given(URLS | st.text())
    def test_every_string_comes_back_exactly(self, url):
        assert str(parse(url)) == url

    @pytest.mark.parametrize(
        "url",
        [
            "http://h/?" + "&".join(f"a{i}={i}" for i in range(200)),
            "http://H:80/A/b;m=1/./../c//d/?x=&y&=z&&#frag?no=query",
            "http://u@h/%7e%7E?q=%C3%A9+%20",
            "http://h?x=1",
        ],
    )
    def test_odd_urls_come_back_exactly(self, url):
        assert str(parse(url)) == url

    def test_escaped_ampersand_is_another_name(self):
        pattern = parse("http://h/?a=1&amp;b=2;c=3")
        assert pattern.arguments == ("a=1", "amp;b=2", "c=3")
        assert pattern.separators == ("&", ";")

    def test_repeated_names_keep_their_order_when_sorted(self):
        assert str(parse("http://h/?b=2&a=2&a=1").sorted()) == "http://h/?a=2&a=1&b=2"

    def test_git_hash_is_hex(self):
        assert token_class("e3457cf0e3457cf0aa") == "hex"
        assert token_class("2024") == "digits"


class TestFacts:
    @given(URLS)
    def test_single_test_agrees_with_the_list(self, url):
        pattern = parse(url)
        assert all(is_true(fact, pattern) for fact in facts(pattern))

    @given(URLS, URLS)
    def test_facts_of_another_url_are_true_only_if_listed(self, one, other):
        pattern, listed = parse(one), set(facts(parse(one)))
        assert all(is_true(fact, pattern) == (fact in listed) for fact in facts(parse(other)))
