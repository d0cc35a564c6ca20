from __future__ import annotations

import pytest

from scrapy_replica.urls.context import Condition, Fact
from scrapy_replica.urls.rule import Rule, Step
from scrapy_replica.urls.validation import Pair, RuleWatch, is_due, pairs_to_fetch

DROP = Rule("h", (), (Step("drop", "sid"),))
PAIR = Pair("http://h/?sid=1", "http://h/")


class TestIsDue:
    def test_waits_for_pages_and_twins(self):
        assert not is_due(20, 0, 10)
        assert not is_due(100, 0, 1)
        assert is_due(40, 0, 2)

    def test_learns_again_only_after_growth(self):
        assert not is_due(59, 40, 5)
        assert is_due(60, 40, 5)


class TestPairsToFetch:
    def test_known_side_first_and_within_budget(self):
        urls = [f"http://h/{i}?sid=1" for i in range(50)]
        pairs = pairs_to_fetch(DROP, urls, known=["http://h/42"], budget=3)
        assert len(pairs) == 3
        assert pairs[0] == Pair("http://h/42?sid=1", "http://h/42")

    def test_only_where_the_context_holds(self):
        rule = Rule("h", (Condition(Fact("p0", "=", "a")),), DROP.transformation)
        assert [pair.image for pair in pairs_to_fetch(rule, ["http://h/a?sid=1", "http://h/b?sid=1"], [])] == [
            "http://h/a"
        ]

    def test_one_pair_per_page(self):
        assert len(pairs_to_fetch(DROP, [f"http://h/a?sid={i}" for i in range(9)], [])) == 1

    def test_no_budget_no_pairs(self):
        assert pairs_to_fetch(DROP, ["http://h/a?sid=1"], [], budget=0) == []


class TestRuleWatch:
    def test_acts_only_after_its_proof(self):
        watch = RuleWatch(DROP)
        states = []
        for _ in range(3):
            states.append(watch.may_act)
            watch.record(PAIR, True)
        assert states == [False, False, False]
        assert watch.may_act

    def test_wrong_rule_is_withdrawn_and_stays_so(self):
        watch = RuleWatch(DROP)
        for _ in range(3):
            watch.record(PAIR, True)
        for _ in range(3):
            watch.record(PAIR, False)
        assert watch.is_withdrawn
        for _ in range(100):
            watch.record(PAIR, True)
        assert not watch.may_act
        assert watch.wrong_pairs == [PAIR] * 3

    def test_one_accident_among_many_is_forgiven(self):
        watch = RuleWatch(DROP, right=60)
        watch.record(PAIR, False)
        assert watch.may_act

    def test_limits_are_checked(self):
        with pytest.raises(ValueError, match="needed"):
            RuleWatch(DROP, needed=0)

    def test_three_wrong_of_the_latest_ten_withdraw_however_often_it_was_right_before(self):
        watch = RuleWatch(DROP)
        for _ in range(500):
            watch.record(PAIR, True)
        for _ in range(2):
            watch.record(PAIR, False)
            watch.record(PAIR, True)
        assert watch.may_act
        watch.record(PAIR, False)
        assert watch.is_withdrawn
