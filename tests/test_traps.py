from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.urls.traps import TrapKind, Traps, path_pattern, shape


def fed(urls, was_novel=False, **options):
    traps = Traps(**options)
    for url in urls:
        traps.observe(url, was_novel)
    return traps


class TestTraps:
    @pytest.mark.parametrize(
        ("urls", "kind"),
        [
            ([f"http://h/events/{y}-{m:02}" for y in range(2020, 2024) for m in range(1, 13)], TrapKind.CALENDAR),
            ([f"http://h/a/b{'/x' + '/yz'.join(map(str, range(n)))}" for n in range(12, 40)], TrapKind.GROWING_PATH),
            ([f"http://h/a/b{'/a/b' * n}" for n in range(2, 30)], TrapKind.REPEATING_SEGMENTS),
            ([f"http://h/shop?a={i}&b=1&c={i}&d=2" for i in range(20)], TrapKind.FACETS),
        ],
    )
    def test_no_news_and_the_shape_of_a_trap(self, urls, kind):
        assert fed(urls).is_trap(urls[-1]) is kind

    def test_old_versions_are_no_news_and_counted_by_host(self):
        pages = [f"http://h/wiki/{page}?{view}" for page in "abc" for view in ("rev=7", "action=diff&version=2")]
        traps = fed(pages, was_novel=True, patience=6)
        assert traps.is_trap("http://h/wiki/d?do=revisions") is TrapKind.REVISIONS
        assert traps.is_trap("http://h/wiki/d") is None
        assert traps.is_trap("http://other/wiki/d?rev=3") is None
        assert traps.is_trap("http://h/wiki/d?version=latest") is None

    def test_a_calendar_with_news_is_none(self):
        urls = [f"http://h/events/2024-{m:02}" for m in range(1, 13)]
        assert fed(urls, was_novel=True).is_trap(urls[-1]) is None

    def test_news_ends_the_wait(self):
        urls = [f"http://h/list?o={i}" for i in range(100)]
        traps = fed(urls)
        assert traps.is_trap("http://h/list?o=7") is TrapKind.NO_NEWS
        traps.observe("http://h/list?o=100", True)
        assert traps.is_trap("http://h/list?o=7") is None

    def test_other_patterns_are_not_touched(self):
        traps = fed([f"http://h/events/2024-{m:02}" for m in range(1, 13)] * 2)
        assert traps.is_trap("http://h/news/2024-01") is None
        assert traps.is_trap("http://other/events/2024-01") is None

    def test_memory_is_bounded(self):
        assert len(fed((f"http://h{i}/a/b" for i in range(500)), max_patterns=100)) == 100

    @pytest.mark.parametrize("url", ["", "h", "http://", "http://h?", "http://h/?&&=", "http://h/#/a/a/a"])
    def test_odd_urls_are_no_traps(self, url):
        assert fed([url]).is_trap(url) is None

    def test_ordinary_url_has_no_shape(self):
        assert shape("http://h/wiki/Ada_Lovelace?section=7") is None

    def test_patience_must_be_positive(self):
        with pytest.raises(ValueError, match="patience"):
            Traps(patience=0)


def obvious_pattern(url):
    base, _, query = url.partition("?")
    _, _, host, *components = base.split("/")
    parts = [host, *(re.sub(r"\d+", "0", component) for component in components[:2])]
    if query:
        arguments = query.partition("#")[0].split("&")
        parts.append("?" + "&".join(sorted({argument.partition("=")[0] for argument in arguments})))
    return "/".join(parts)


class TestPattern:
    @given(st.text("ab12/-.", max_size=12), st.text("ab1&=#?", max_size=12))
    def test_says_what_the_obvious_one_says(self, path, query):
        for url in (f"http://h1.org/{path}", f"http://h1.org/{path}?{query}"):
            assert path_pattern(url) == obvious_pattern(url)
