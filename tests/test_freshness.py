"""Rates of change, and what servers say about them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.crawl.histories import MAX_CHANGED, with_interval, without_not_modified
from scrapy_replica.crawldb.revisits import History
from scrapy_replica.freshness.answer import Validators, is_same_etag, validators_of
from scrapy_replica.freshness.change_rate import WEIGHT, Changes, chances, pooled, rates, regular_rate
from scrapy_replica.lab.crawls.revisits import ORDERS, evaluate

DAY = 86_400.0
NOW = 1.7e9

times = st.lists(st.floats(0.01 * DAY, 100 * DAY), max_size=5)


def rate(changed, unchanged, host):
    """The rate of one page."""
    padded = np.array([[*changed, *[0.0] * (6 - len(changed))]])
    return rates(padded, np.array([sum(unchanged)]), np.array([host.share]), np.array([host.interval]))[0]


def slow_rate(changed, unchanged, host):
    """The rate under which visits of the page and of its host are most likely, by trying ever finer ones."""

    def likelihood(r):
        found = sum(math.log(-math.expm1(-r * t)) for t in changed) - r * sum(unchanged)
        of_host = host.share * math.log(-math.expm1(-r * host.interval)) - (1 - host.share) * r * host.interval
        return found + WEIGHT * of_host

    low, high = math.log(1e-11), math.log(1.0)
    for _ in range(40):
        tried = [low + (high - low) * step / 20 for step in range(21)]
        best = max(tried, key=lambda one: likelihood(math.exp(one)))
        low, high = best - (high - low) / 20, best + (high - low) / 20
    return math.exp((low + high) / 2)


@given(times, times, st.integers(1, 50), st.integers(1, 50))
def test_rates_are_the_most_likely_ones(changed, unchanged, visits, changes):
    host = Changes(visits + changes, changes, (visits + changes) * 3 * DAY)
    assert rate(changed, unchanged, host) == pytest.approx(slow_rate(changed, unchanged, host), rel=1e-4)


@given(st.integers(0, 6), st.integers(0, 6), st.floats(0.1 * DAY, 50 * DAY))
def test_regular_visits_give_the_estimator_in_closed_form(changes, others, interval):
    host = Changes(40, 10, 40 * interval)
    expected = -math.log((others + WEIGHT * (1 - host.share)) / (changes + others + WEIGHT)) / interval
    assert rate([interval] * changes, [interval] * others, host) == pytest.approx(expected, rel=1e-6)


def test_a_page_without_visits_of_its_own_has_the_rate_of_its_host():
    host = Changes(100, 30, 100 * DAY)
    assert rate([], [], host) == pytest.approx(regular_rate(100, 30, DAY), rel=1e-6)


def test_hosts_are_pooled():
    every, hosts = pooled({"a": Changes(100, 50, 100 * DAY), "b": Changes(100, 0, 100 * DAY), "c": Changes(2, 0, DAY)})
    assert hosts["a"].share > every.share > hosts["c"].share > hosts["b"].share > 0
    assert pooled({}) == (Changes(), {})
    assert 0 < pooled({"a": Changes(9, 0, DAY)})[0].share < 0.06


def test_no_page_changes_that_never_did_on_a_host_that_never_did():
    assert rate([], [DAY] * 5, Changes(50, 0, 50 * DAY)) == 0


def test_the_estimator_has_little_bias():
    """Pages that change three times in ten visits' time: X / n says less by a seventh."""
    random, true = np.random.default_rng(1), 0.3
    changes = random.binomial(20, -math.expm1(-true), size=20_000)
    told = np.mean([regular_rate(20, int(n), 1.0) for n in changes])
    assert told == pytest.approx(true, rel=0.02)
    assert np.mean(changes / 20) < 0.88 * true


def test_old_changes_are_forgotten_with_the_time_between_them():
    history = History(1, unchanged_s=100.0)
    for number in range(MAX_CHANGED + 1):
        history = with_interval(history, float(number), is_changed=True)
    assert history.changed == tuple(map(float, range(MAX_CHANGED // 2 + 1, MAX_CHANGED + 1)))
    assert history.unchanged_s == 50.0


def test_what_was_believed_is_taken_back():
    seen = History(1, visits=3, unchanged_s=7.0, seen_at=10.0, checked_at=10.0)
    believed = with_interval(with_interval(seen, 5.0, is_changed=False), 5.0, is_changed=False)
    believed = believed._replace(visits=5, believed=2, checked_at=20.0)
    assert without_not_modified(believed) == seen


def test_chances():
    assert chances(np.array([0.0, 1.0, 1e9]), np.array([9.0, 1.0, 9.0])) == pytest.approx([0, 1 - 1 / math.e, 1])


@pytest.mark.parametrize(
    "etag", [b"", b"x", b'"x', b'"a b"', b'"a\r\nX: y"', b'"\xff"', b'"' + b"x" * 10_000 + b'"', b'w/"x"']
)
def test_what_is_no_etag_is_none(etag):
    assert not validators_of(etag, None, NOW)


@pytest.mark.parametrize("etag", [b'"x"', b'W/"x"', b'""', b'"a-gzip"'])
def test_an_etag(etag):
    assert validators_of(etag, None, NOW).etag == etag.decode()


@pytest.mark.parametrize(
    "date",
    [b"", b"yesterday", b"0", b"-1", b"Fri, 01 Jan 2100 00:00:00 GMT", b"Mon, 99 Foo 2020 99:99:99 GMT",
     b"Mon, 06 Nov 1994 08:49:37 GMT\r\nX: y", b"9" * 10_000, b"Sun, 06 Nov 999999999999 08:49:37 GMT", b"\xff\xfe"],
)  # fmt: skip
def test_what_is_no_date_is_none(date):
    assert not validators_of(None, date, NOW)


def test_a_date_is_sent_back_as_it_came():
    date = "Sunday, 06-Nov-94 08:49:37 GMT"
    assert validators_of(None, date.encode(), NOW) == Validators(None, date)


def test_promises():
    both, date = Validators('"a"', "then"), Validators(None, "then")
    assert both.promise(Validators('W/"a-gzip"', "now"))
    assert not both.promise(Validators('"b"', "then"))
    assert not both.promise(date)
    assert date.promise(both)
    assert not date.promise(Validators('"a"', "now"))
    assert not Validators().promise(Validators())
    assert is_same_etag('"a-gzip"', '"a"')
    assert not is_same_etag('"a-b"', '"a"')


def test_the_order_of_chances_finds_more_changes_than_age_and_chance():
    figures = evaluate(pages=600, passes=12, days=60, share=0.1, seed=3)
    found = {order: figures[f"{order}.found_per_fetch"] for order in ORDERS}
    assert found["omniscient"] > found["due"] > 1.15 * found["age"]
    assert found["age"] > found["random"]
    assert figures["chance_0.02.found"] > 0.98
    assert figures["chance_0.02.fetches"] < 0.95
