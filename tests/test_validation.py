from __future__ import annotations

from scrapy_replica.urls.context import Condition, Fact
from scrapy_replica.urls.rule import Rule, Step
from scrapy_replica.urls.validation import Pair, is_due, is_proved, is_refuted, pairs_to_fetch

DROP = Rule("h", (), (Step("drop", "sid"),))


class TestIsDue:
    def test_waits_for_pages_and_twins(self):
        assert not is_due(20, 0, 10, 0)
        assert not is_due(100, 0, 1, 0)
        assert is_due(40, 0, 2, 0)

    def test_learns_again_only_after_growth(self):
        assert not is_due(59, 40, 7, 4)
        assert is_due(60, 40, 5, 4)
        assert is_due(50, 40, 8, 4)


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


class TestRecord:
    def test_proved_by_three_right_pairs_and_one_wrong_in_twenty(self):
        assert [is_proved(right, 0) for right in range(4)] == [False, False, False, True]
        assert not is_proved(18, 1)
        assert is_proved(19, 1)

    def test_refuted_by_one_wrong_of_few_and_by_ten_of_a_hundred(self):
        assert [is_refuted(right, 1) for right in (0, 3, 60)] == [True, True, False]
        assert is_refuted(90, 10)

    def test_three_wrong_of_the_latest_ten_refute_however_often_it_was_right_before(self):
        assert not is_refuted(500, 3)
        assert not is_refuted(500, 3, (True, False) * 2)
        assert is_refuted(500, 3, (True, False) * 3)
