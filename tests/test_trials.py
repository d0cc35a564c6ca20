"""The sequential test of what saves: how often it draws, what ends, and what it measures."""

from __future__ import annotations

from math import comb

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy_replica.crawl.trials import Record, Trials, corner_of

from scrapy_replica.crawl import trials as trials_module
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.numeric import is_above

CAUSE = "host b.example of a.example"


def key(url):
    return mmh3.hash64(url)[0]


def saving(number, n_agreed=0, reason=Reason.REPLICA_HOST, causes=(CAUSE,)):
    target = f"http://a.example/{number}"
    return Decision(Action.DROP, Action.DROP, reason, causes=causes, n_agreed=n_agreed, target=target)


@pytest.fixture
def db():
    db = SqliteCrawlDB(None)
    yield db
    db.close()


def make(db, explore=0.02):
    return Trials(db.samples, explore, 0, key)


def drawn(trials, numbers, outcome=None, **kwargs):
    """Ask about one URL after the other; what is drawn is fetched and turns out *outcome* at once."""
    found = []
    for number in numbers:
        url = f"http://b.example/{number}"
        decision = trials.draw(saving(number, **kwargs), url)
        if decision.is_sampled:
            found.append(number)
            trials.begin(number, url, decision)
            if outcome is not None:
                trials.settle(number, outcome)
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

    def test_one_page_is_one_sample_by_however_many_urls(self, db):
        trials = make(db)
        spellings = [trials.draw(saving(7), f"http://b.example/7?sid={n}") for n in range(50)]
        assert [decision.is_sampled for decision in spellings] == [True] + [False] * 49

    def test_every_corner_of_a_site_is_looked_at(self, db):
        trials = make(db)
        drawn(trials, range(1, 200), Outcome.SAME, n_agreed=40)
        found = [
            trials.draw(saving(f"{part}/{n}", n_agreed=40), f"http://b.example/{part}/{n}").is_sampled
            for part in ("docs", "blog", "shop")
            for n in range(40)
        ]
        assert sum(found) >= 2

    def test_one_that_is_another_page_makes_more_be_drawn(self, db):
        trials = make(db)
        drawn(trials, range(1, 500), Outcome.SAME)
        before = len(drawn(trials, range(500, 600), Outcome.SAME))
        for number in (10_000, 10_001, 10_002):
            trials.begin(number, "http://b.example/x", saving(number))
            trials.settle(number, Outcome.OTHER)
        assert len(drawn(trials, range(600, 700), Outcome.SAME)) > before + 5

    def test_none_without_exploring_nor_of_what_a_person_ordered(self, db):
        assert drawn(make(db, explore=0), range(1, 50)) == []
        assert drawn(make(db), range(1, 50), reason=Reason.MANUAL_BLOCK) == []
        assert drawn(make(db), range(1, 50), reason=Reason.HOST_BUDGET) == []

    def test_all_where_the_user_wants_all(self, db):
        assert drawn(make(db, explore=1), range(1, 50), Outcome.SAME) == list(range(1, 50))

    def test_the_weight_is_what_a_sample_stands_for(self, db):
        trials = make(db)
        drawn(trials, range(1, 5001), Outcome.SAME)
        weight = sum(sample.weight for sample in db.samples.of_cause(CAUSE))
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
        monkeypatch.setattr(trials_module, "ENOUGH", 10)
        trials = make(db)
        for number in range(1, 30):
            decision = saving(number)
            trials.begin(number, f"http://b.example/{number}", decision)
        assert len(db.samples.of_cause(CAUSE)) == 10


class TestEnds:
    def settle(self, trials, outcomes):
        ended = []
        for number, outcome in enumerate(outcomes, 1):
            trials.begin(number, f"http://b.example/{number}", saving(number))
            ended += trials.settle(number, outcome)
        return ended

    @pytest.mark.parametrize(
        ("other", "same", "ends"), [(3, 7, True), (2, 3, True), (2, 4, False), (1, 0, False), (3, 11, False)]
    )
    def test_what_is_wrong_too_often(self, db, other, same, ends):
        trials = make(db)
        assert self.settle(trials, [Outcome.SAME] * same + [Outcome.OTHER] * other) == [CAUSE] * ends
        assert trials.has_refuted(CAUSE) is ends

    def test_what_nothing_can_be_told_of(self, db):
        trials = make(db)
        assert self.settle(trials, [Outcome.SAME, Outcome.SAME] + [Outcome.UNKNOWN] * 4) == []
        assert self.settle(make(SqliteCrawlDB(None)), [Outcome.UNKNOWN] * 5) == [CAUSE]

    def test_what_could_not_be_fetched_says_nothing(self, db):
        assert self.settle(make(db), [Outcome.FAILED] * 20) == []

    def test_it_ends_once_and_for_good(self, db):
        trials = make(db)
        assert self.settle(trials, [Outcome.OTHER] * 5) == [CAUSE]
        assert make(db).has_refuted(CAUSE)

    def test_each_cause_of_a_url_is_tested_by_it(self, db):
        trials = make(db)
        causes = ("dust-rule on a.example", "rule 1")
        for number in range(1, 3):
            trials.begin(
                number, f"http://a.example/{number}?x=1", saving(number, reason=Reason.DUST_RULE, causes=causes)
            )
            ended = trials.settle(number, Outcome.OTHER)
        assert ended == list(causes)
        assert trials.n_settled == trials.n_false == 2


class TestRates:
    def test_a_sample_counts_for_as_many_as_it_stands_for(self, db):
        trials = make(db)
        for number, (weight, outcome) in enumerate([(1, Outcome.OTHER), (9, Outcome.SAME), (50, Outcome.UNKNOWN)], 1):
            decision = Decision(
                Action.FETCH, Action.DROP, Reason.REPLICA_HOST, causes=(CAUSE,), is_sampled=True, weight=weight
            )
            trials.begin(number, f"http://b.example/{number}", decision)
            trials.settle(number, outcome)
        for known in (trials, make(db)):
            rate, low, high = known.rate(Reason.REPLICA_HOST)
            assert rate == pytest.approx(0.1)
            assert low < 0.1 < high
            assert high > 0.7  # two samples of so different weight tell little
            assert known.rate() == known.rate(Reason.REPLICA_HOST)

    def test_nothing_is_said_without_samples(self, db):
        assert make(db).rate() is None


class TestOdds:
    @given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 10))
    def test_are_those_of_the_two_shares(self, agreed, same, other):
        record = Record()
        for outcome in [Outcome.SAME] * same + [Outcome.OTHER] * other:
            record.n_drawn += 1
            record.settle(outcome)
        bad = 0.8 ** (agreed + same) * 0.2**other
        good = 0.98 ** (agreed + same) * 0.02**other
        assert record.odds(agreed) == pytest.approx(bad / good)

    @given(st.integers(0, 60), st.integers(0, 60))
    def test_the_bound_is_that_of_the_binomial_distribution(self, hits, misses):
        n = hits + misses
        tail = sum(comb(n, k) * 0.05**k * 0.95 ** (n - k) for k in range(hits, n + 1))
        assert is_above(0.05, hits, n) is (tail <= 0.025 + 1e-12)


@pytest.mark.parametrize(
    ("url", "other", "is_same"),
    [
        ("http://a/docs/1/x", "http://b/docs/2/y", True),
        ("http://a/docs/x/1", "http://b/blog/x/1", False),
        ("http://a/p?id=1", "http://b/p?id=2", True),
        ("http://a/p?id=1", "http://b/p?no=1", False),
    ],
)
def test_corners(url, other, is_same):
    assert (corner_of(url) == corner_of(other)) is is_same
