"""The sequential test of claims: how often it draws, what it refutes, and what it measures."""

from __future__ import annotations

from contextlib import suppress

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_replica.claim import Claim, Kind
from scrapy_replica.crawl.claims import samples as samples_module
from scrapy_replica.crawl.claims.claim_test import MOST_OPEN, ClaimTest
from scrapy_replica.crawl.claims.samples import Pending, Samples
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.samples import Stratum
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.decision import Action, Decision, Outcome, Reason

CLAIM = Claim(Kind.MIRROR, "b.example", "a.example")


def key(url):
    return mmh3.hash64(url)[0]


def saving(number, n_agreed=0, reason=Reason.REPLICA_HOST, claims=(CLAIM,)):
    target = f"http://a.example/{number}"
    return Decision(Action.DROP, Action.DROP, reason, claims=claims, n_agreed=n_agreed, representative=target)


@pytest.fixture
def db():
    db = SqliteCrawlDB(None)
    yield db
    db.close()


def make(db, explore=0.02):
    return Samples(db, explore, 0, key)


def drawn(samples, numbers, outcome=None, **kwargs):
    """Ask about one URL after the other; what is drawn is fetched and turns out *outcome* at once."""
    found = []
    for number in numbers:
        url = f"http://b.example/{number}"
        decision = samples.draw(saving(number, **kwargs), url)
        if decision.is_sampled:
            found.append(number)
            samples.enter(number, url, decision)
            if outcome is not None:
                samples.settle(number, outcome)
    return found


class TestDraws:
    def test_the_first_is_sure_to_be_drawn_and_later_ones_ever_less_so(self, db):
        found = drawn(make(db), range(1, 2001), Outcome.SAME)
        assert found[0] == 1
        early, late = sum(n <= 100 for n in found), sum(n > 1000 for n in found)
        assert 8 <= early <= 25
        assert 5 <= late <= 45  # 2 % of 1,000

    def test_what_agreed_before_counts(self, db):
        assert len(drawn(make(db), range(1, 101), Outcome.SAME, n_agreed=20)) < 10

    def test_a_page_full_of_links_is_not_fetched_whole(self, db):
        assert len(drawn(make(db), range(1, 201))) < 30

    def test_one_page_is_one_sample_by_however_many_urls_of_one_page(self, db):
        samples, pending = make(db), Pending(list)
        spellings = [samples.draw(saving(7), f"http://b.example/7?sid={n}", pending) for n in range(50)]
        assert [decision.is_sampled for decision in spellings] == [True] + [False] * 49

    def test_nothing_is_counted_before_a_row_is_there(self, db):
        samples = make(db)
        for number in range(1, 50):
            samples.draw(saving(number), f"http://b.example/{number}")
        assert samples.test_of(CLAIM).n_samples == 0
        assert db.samples.of_claim(CLAIM) == []

    def test_a_list_of_links_is_more_than_one_test(self, db):
        """What is under way counts as agreeing up to a number, or a page of thousands of links would end the test."""
        samples = make(db)
        assert len(drawn(samples, range(1, 100), n_agreed=0)) > 5
        test = ClaimTest()
        for number in range(3 * MOST_OPEN):
            test.add(None, number, Stratum())
        assert test.likelihood_ratio(0) == pytest.approx((0.8 / 0.98) ** MOST_OPEN)

    def test_what_a_page_that_failed_entered_is_counted_no_more(self, db):
        samples = make(db)
        drawn(samples, [1], Outcome.SAME)
        with suppress(RuntimeError), db.span():
            db.urls.discover([NewUrl("http://b.example/2", "b.example", 2)])
            samples.enter(2, "http://b.example/2", saving(2))
            samples.settle(2, Outcome.OTHER)
            raise RuntimeError
        assert samples.test_of(CLAIM).outcomes == {Outcome.SAME: 1}
        assert db.samples.tested()[Reason.REPLICA_HOST].false_drops == 0

    def test_every_stratum_of_a_site_is_looked_at(self, db):
        samples = make(db, explore=1e-6)
        drawn(samples, range(1, 200), Outcome.SAME, n_agreed=60)
        for part in ("docs", "blog", "shop"):
            looked = [
                samples.draw(saving(f"{part}/{n}", n_agreed=60), f"http://b.example/{part}/{n}") for n in range(30)
            ]
            found = next(decision for decision in looked if decision.is_sampled)
            samples.enter(mmh3.hash(part, signed=False), f"http://b.example/{part}/0", found)
            again = samples.draw(saving(f"{part}/x", n_agreed=60), f"http://b.example/{part}/x")
            assert not again.is_sampled  # one of each is enough

    def test_one_that_is_another_page_makes_more_be_drawn(self, db):
        samples = make(db)
        drawn(samples, range(1, 500), Outcome.SAME)
        before = len(drawn(samples, range(500, 600), Outcome.SAME))
        for number in (10_000, 10_001, 10_002):
            samples.enter(number, "http://b.example/x", saving(number))
            samples.settle(number, Outcome.OTHER)
        assert len(drawn(samples, range(600, 700), Outcome.SAME)) > before + 5

    def test_none_without_exploring_nor_of_what_a_person_ordered(self, db):
        assert drawn(make(db, explore=0), range(1, 50)) == []
        assert drawn(make(db), range(1, 50), reason=Reason.MANUAL_BLOCK) == []
        assert drawn(make(db), range(1, 50), reason=Reason.PATH_BUDGET) == []

    def test_all_where_the_user_wants_all(self, db):
        assert drawn(make(db, explore=1), range(1, 50), Outcome.SAME) == list(range(1, 50))

    def test_the_weight_is_what_a_sample_stands_for(self, db):
        samples = make(db)
        drawn(samples, range(1, 5001), Outcome.SAME)
        weight = sum(sample.weight for sample in db.samples.of_claim(CLAIM))
        assert 3000 < weight < 7500

    def test_a_crawl_that_goes_on_draws_the_same(self, db):
        once = drawn(make(db), range(1, 400), Outcome.SAME)
        other = SqliteCrawlDB(None)
        twice = drawn(make(other), range(1, 100), Outcome.SAME)
        twice += drawn(make(other), range(100, 400), Outcome.SAME)
        other.close()
        assert once == twice


class TestWithoutDrawing:
    def test_what_is_fetched_anyway_is_a_sample_up_to_a_number(self, db, monkeypatch):
        monkeypatch.setattr(samples_module, "ENOUGH", 10)
        samples = make(db)
        for number in range(1, 30):
            decision = saving(number)
            samples.enter(number, f"http://b.example/{number}", decision)
        assert len(db.samples.of_claim(CLAIM)) == 10


class TestEnds:
    def settle(self, samples, outcomes):
        ended = []
        for number, outcome in enumerate(outcomes, 1):
            samples.enter(number, f"http://b.example/{number}", saving(number))
            ended += samples.settle(number, outcome)
        return ended

    @pytest.mark.parametrize(
        ("other", "same", "ends"),
        [(3, 7, True), (2, 3, True), (2, 37, True), (2, 38, False), (1, 0, False), (3, 57, False)],
    )
    def test_what_is_wrong_too_often(self, db, other, same, ends):
        samples = make(db)
        assert self.settle(samples, [Outcome.SAME] * same + [Outcome.OTHER] * other) == [CLAIM] * ends
        assert samples.test_of(CLAIM).is_refuted is ends

    def test_what_nothing_can_be_told_of(self, db):
        samples = make(db)
        assert self.settle(samples, [Outcome.SAME, Outcome.SAME] + [Outcome.UNKNOWN] * 4) == []
        assert self.settle(make(SqliteCrawlDB(None)), [Outcome.UNKNOWN] * 5) == [CLAIM]

    def test_what_is_mostly_asked_in_vain(self, db, caplog):
        caplog.set_level("INFO")
        assert self.settle(make(db), [Outcome.SAME] * 10 + [Outcome.FAILED] * 20) == []
        assert self.settle(make(SqliteCrawlDB(None)), [Outcome.UNREAD] * 20) == []
        assert self.settle(make(SqliteCrawlDB(None)), [Outcome.FAILED] * 5) == [CLAIM]
        assert caplog.messages[-1].endswith("(of 5 samples of it nothing can be told, of 0 it can)")

    def test_it_ends_once_and_for_good(self, db):
        samples = make(db)
        assert self.settle(samples, [Outcome.OTHER] * 5) == [CLAIM]
        assert make(db).test_of(CLAIM).is_refuted

    def test_each_cause_of_a_url_is_tested_by_it(self, db):
        samples = make(db)
        claims = (Claim(Kind.RULE, "1"), Claim(Kind.RULE, "2"))
        for number in range(1, 3):
            samples.enter(
                number, f"http://a.example/{number}?x=1", saving(number, reason=Reason.DUST_RULE, claims=claims)
            )
            ended = samples.settle(number, Outcome.OTHER)
        assert ended == list(claims)
        tested = db.samples.tested()[Reason.DUST_RULE]
        assert tested.samples == tested.false_drops == 2


class TestRates:
    def test_a_sample_counts_for_as_many_as_it_stands_for(self, db):
        samples = make(db)
        for number, (weight, outcome) in enumerate([(1, Outcome.OTHER), (9, Outcome.SAME), (50, Outcome.UNKNOWN)], 1):
            decision = Decision(
                Action.FETCH, Action.DROP, Reason.REPLICA_HOST, claims=(CLAIM,), is_sampled=True, weight=weight
            )
            samples.enter(number, f"http://b.example/{number}", decision)
            samples.settle(number, outcome)
        rate, low, high = db.samples.tested()[Reason.REPLICA_HOST].rate
        assert rate == pytest.approx(0.1)
        assert low < 0.1 < high
        assert high > 0.7  # two samples of so different weight tell little

    def test_nothing_is_said_without_samples(self, db):
        assert db.samples.tested() == {}


class TestLikelihoodRatio:
    @given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 10))
    def test_are_those_of_the_two_shares(self, agreed, same, other):
        test = ClaimTest()
        for outcome in [Outcome.SAME] * same + [Outcome.OTHER] * other:
            test.add(outcome, None, Stratum())
        bad = 0.8 ** (agreed + same) * 0.2**other
        good = 0.98 ** (agreed + same) * 0.02**other
        assert test.likelihood_ratio(agreed) == pytest.approx(bad / good)


@pytest.mark.parametrize(
    ("url", "other", "is_same"),
    [
        ("http://a/docs/1/x", "http://b/docs/1/y", True),
        ("http://a/docs/1/x", "http://b/docs/2/x", False),
        ("http://a/docs/x/1", "http://b/blog/x/1", False),
        ("http://a/p?id=1", "http://b/p?id=2", True),
        ("http://a/p?id=1", "http://b/p?no=1", False),
    ],
)
def test_strata(url, other, is_same):
    assert (Stratum.of(url) == Stratum.of(other)) is is_same


@pytest.mark.parametrize("representative", [None, "http://a.example/x", "http://a.example/x?b=1"])
def test_the_database_tells_strata_by_their_names(representative):
    stratum = Stratum.of("http://a.example/x?a=1&b=2", representative)
    assert Stratum.read(str(stratum)) == stratum
