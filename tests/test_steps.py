"""Steps: where a machine's URLs lead, held against dates made one by one."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.urls.steps import walk_of

MONTHS = {
    "https://a.example/cal?y={y}&m={m}": False,
    "https://a.example/cal?month={m}&year={y}&view=list": False,
    "https://a.example/calendar/{y}/{m:02}/": True,
    "https://a.example/events/{y}-{m:02}": True,
    "https://127.0.0.1:2030/{m:02}.{y}/all": True,
}
DAYS = ["https://a.example/archive/{:%Y-%m-%d}", "https://a.example/{:%Y/%m/%d}/news", "https://a.example/{:%d.%m.%Y}"]


@given(
    st.sampled_from(sorted(MONTHS)), st.integers(1950 * 12, 2100 * 12), st.sampled_from([1, -1]), st.integers(0, 500)
)
def test_months(form, month, step, n):
    def url(months):
        return form.format(y=months // 12, m=months % 12 + 1)

    walk = walk_of(url(month), url(month - step))
    assert walk is not None
    assert walk.at(0) == url(month)
    assert walk.is_ahead(walk.position + step)
    assert not walk.is_ahead(walk.position - step)
    if month % 12 < 9 or "-" in form:  # elsewhere 10 does not tell whether 9 is written 09
        assert walk.at(n) == url(month + n * step)


@given(
    st.sampled_from(DAYS), st.dates(date(1950, 1, 2), date(2100, 1, 1)), st.sampled_from([1, -1]), st.integers(0, 900)
)
def test_days(form, day, step, n):
    def url(days):
        return form.format(day + timedelta(days))

    walk = walk_of(url(0), url(-step))
    # Over the end of a month all of a date changes at once.
    if walk is not None and len(walk.parts) == 3:
        assert walk.at(n) == url(n * step)


@pytest.mark.parametrize(
    ("before", "url", "third"),
    [
        ("https://a.example/list?page=30", "https://a.example/list?page=31", "https://a.example/list?page=34"),
        ("https://a.example/list?start=20", "https://a.example/list?start=40", "https://a.example/list?start=100"),
        ("https://a.example/n/009", "https://a.example/n/010", "https://a.example/n/013"),
        ("https://a.example/n/4", "https://a.example/n/3", "https://a.example/n/0"),
        (
            "https://a.example/cal?d=1&m=12&y=2023",
            "https://a.example/cal?d=1&m=1&y=2024",
            "https://a.example/cal?d=1&m=4&y=2024",
        ),
    ],
)
def test_numbers(before, url, third):
    assert walk_of(url, before).at(3) == third


@pytest.mark.parametrize(
    ("before", "url"),
    [
        ("https://a.example/", "https://a.example/list?page=1"),
        ("https://a.example/a/1/b/2", "https://a.example/a/2/b/3"),
        ("https://a.example/list?page=1", "https://a.example/list?page=1"),
        ("https://a.example/x?id=1", "https://a.example/x?id=" + 40 * "9"),
    ],
)
def test_what_is_no_step(before, url):
    assert walk_of(url, before) is None


def test_a_walk_ends_where_there_is_no_number_and_no_year():
    assert walk_of("https://a.example/n/1", "https://a.example/n/2").at(2) is None
    assert walk_of("https://a.example/2024/02/", "https://a.example/2024/01/").at(2_500) is None
