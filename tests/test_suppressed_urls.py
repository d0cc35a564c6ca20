"""Which of what a rule suppressed is fetched at the end, and which claims that tests."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from test_claims import CANONICAL, crawl_on, enter, key, visit

from scrapy_replica.claim import Claim, Kind, Standing, of_rules
from scrapy_replica.crawl.claims.suppressed_urls import SuppressedUrls
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.decision import Outcome, Reason

TOP = f"http://{CANONICAL}/"
SAYS = "what the page has to say of one thing in the world and of no other thing in it " * 10


@pytest.fixture
def db():
    db = SqliteCrawlDB(None, "topic")
    yield db
    db.close()


def put_in_force(db, *transformation):
    rule = {"host": CANONICAL, "context": [], "transformation": [*transformation], "learntFrom": "combined"}
    number = db.rules.enter(rule, 0.0)
    db.rules.update(number, Standing.IN_FORCE, 9, 0, 9)
    return number


def suppress(db, url, claims, representative):
    ((url_id, _),) = db.urls.discover([NewUrl(url, CANONICAL, key(url), is_dropped=True)])
    db.suppressed.enter([Suppressed(url_id, claim, key(representative)) for claim in claims])
    return url_id


@pytest.mark.parametrize("most", [2, 5])
def test_what_differs_in_more_arguments_is_fetched_before_its_neighbours(db, most):
    """``?ref=1`` beside ``?ref=2`` says nothing of ``back``, which names other pages of the last few records."""
    (claim,) = of_rules((put_in_force(db, ["drop", "back", None], ["drop", "ref", None]),))
    for record in range(60):
        kept = f"{TOP}{record}?back=1&ref=2"
        enter(db, kept)
        for names in ("back=1&ref=1", "back=1&ref=3", "ref=1", "back=1&ref=4"):
            suppress(db, f"{TOP}{record}?{names}", [claim], kept)
    chosen = SuppressedUrls(db, 0).some_of(claim, most)
    assert len(chosen) == most
    telling = [one for one in chosen if "back" not in db.urls.url_of(one.id)]
    assert len(telling) >= most - 1  # one is what leads furthest


class TestSeveralRules:
    @pytest.mark.parametrize(
        ("url", "is_tested"),
        [("record/9?lang=de", [True, False]), ("s/9?lang=de", [True, True]), ("s/9", [False, True])],
    )
    def test_one_is_tested_where_the_page_that_stands_for_the_url_in_the_end_differs_by_it(self, db, url, is_tested):
        """``s/9``, which all are rewritten to, was dropped in its turn: the page is that of ``record/9``."""
        numbers = put_in_force(db, ["drop", "lang", None]), put_in_force(db, ["replace", "/record", "/s"])
        record, short = f"{TOP}record/9", f"{TOP}s/9"
        enter(db, record)
        claims = [Claim(Kind.RULE, str(number)) for number in numbers]
        suppress(db, short, [claims[1]], record)
        rows = [Suppressed(0, claim, key(short)) for claim in claims]
        assert [SuppressedUrls(db, 0).is_tested(row, f"{TOP}{url}") for row in rows] == is_tested

    @pytest.mark.parametrize(("is_last", "is_stale"), [(False, False), (True, False), (False, True)])
    def test_a_sample_that_tells_nothing_of_one_is_no_agreement(self, db, is_last, is_stale):
        """One that stays open counts as one: the rule that it was drawn for ended, or another page came. But where its
        representative *is_stale* that is asked for again, and tells.
        """
        claims = of_rules((put_in_force(db, ["drop", "lang", None]), put_in_force(db, ["drop", "ref", None])))
        crawl = crawl_on(db)
        ids = enter(db, f"{TOP}1.html", f"{TOP}1.html?lang=de&ref=1")
        stratum = Stratum.of(f"{TOP}1.html?lang=de&ref=1", f"{TOP}1.html")
        crawl.samples._enter(
            [Sample(ids[1], one, Reason.DUST_RULE, key(f"{TOP}1.html"), stratum, 1.0) for one in claims]
        )
        crawl.late_samples._settling._is_stale = lambda _: is_stale
        for number in (1, 2):
            db.rules.update(number, Standing.REFUTED, 9, 9, 9)
        for url_id in ids[:: -1 if is_last else 1]:
            assert {one.outcome for one in db.samples.of_url(ids[1])} == {None}
            crawl.fetches.end_callback(visit(crawl, url_id, SAYS))
        assert {one.outcome for one in db.samples.of_url(ids[1])} == {None if is_stale else Outcome.UNREAD}
        ratios = {crawl.samples.test_of(claim).likelihood_ratio(0) for claim in claims}
        assert (ratios == {1.0}) is not is_stale

    def test_what_each_suppressed_alone_is_looked_into_when_they_were_wrong_together(self, db):
        """One of them is wrong by itself, and no page of those that showed it tells which: of 515 contents two were
        lost that the one suppressed alone.
        """
        numbers = put_in_force(db, ["drop", "lang", None]), put_in_force(db, ["drop", "ref", None])
        together, *alone = of_rules(numbers)
        crawl = crawl_on(db)
        kept = enter(db, *(f"{TOP}{n}.html" for n in range(20)))
        hidden = [suppress(db, f"{TOP}{n}.html?lang=de", [alone[0]], f"{TOP}{n}.html") for n in range(20)]
        for url_id in kept[:2]:
            crawl.samples._enter([Sample(url_id, together, None, None, Stratum(), 1.0)])
            crawl.samples.settle(url_id, Outcome.OTHER)
        assert crawl.samples.test_of(together).is_refuted
        assert crawl.late_samples.sample_doubted()
        asked = {one.id for one in db.samples.of_claim(alone[0])}
        assert len(asked) >= 5
        assert asked <= {*hidden}


def test_no_run_of_things_is_left_out(db):
    """The newest tenth is, in whatever order a site's lists show them: of 150 records, 26 samples and none of these."""
    (claim,) = of_rules((put_in_force(db, ["drop", "back", None]),))
    numbers = [*range(200)]
    random.Random(7).shuffle(numbers)
    for number in numbers:
        kept = f"{TOP}{'xyz'[number % 3] * (number % 7 + 1)}-{number}.html"
        enter(db, kept)
        suppress(db, f"{kept}?back=1", [claim], kept)
    for salt in range(20):
        chosen = SuppressedUrls(db, salt).some_of(claim, 21)
        found = sorted(int(db.urls.url_of(one.id).rpartition("-")[2].partition(".")[0]) for one in chosen)
        assert max(later - earlier for earlier, later in pairwise([-1, *found, 200])) <= 20
    every_tenth = {number for number in range(200) if number % 10 == 9}
    assert any(
        int(db.urls.url_of(one.id).rpartition("-")[2].partition(".")[0]) in every_tenth
        for salt in range(3)
        for one in SuppressedUrls(db, salt).some_of(claim, 21)
    )
