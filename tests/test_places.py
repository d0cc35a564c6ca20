from __future__ import annotations

import pytest

from scrapy_replica.crawl.urls.rule_places import A_NAME, EVERYWHERE, MAX_NAMES, PER_WRONG, LeftOut, Places, place_of
from scrapy_replica.crawl.urls.rule_priors import RulePriors
from scrapy_replica.urls.rule import Rule, Step, repeats, share_argument

TOP = "http://h.example/"


def at(path, query="sid=1", rest="", callback=0):
    """The place of a URL of which a rule takes *query* away."""
    image = f"{TOP}{path}{f'?{rest}' if rest else ''}"
    return place_of(f"{TOP}{path}?{'&'.join(filter(None, (rest, query)))}", image, callback)


class TestPlaceOf:
    def test_values_and_numbers_are_left_out(self):
        assert at("a/1", "sid=1") == at("a/2", "sid=2")
        assert at("vol1/x", rest="id=1") == at("vol2/y", rest="id=2")

    @pytest.mark.parametrize(
        "other",
        [at("b/1"), at("a/1", "id=1"), at("a/1", "sid=1&id=1"), at("a/1", rest="view=full"), at("a/1", callback=7)],
    )
    def test_folder_arguments_and_callback_tell_places_apart(self, other):
        assert other != at("a/1")


class TestPlaces:
    def test_holds_where_it_was_right(self):
        places = Places()
        places.record(at("a/1"), is_same=True)
        assert places.holds(at("a/2"))
        assert not places.holds(at("b/2"))

    def test_holds_everywhere_when_it_was_right_in_several_places(self):
        places = Places()
        for folder in "abc"[:EVERYWHERE]:
            places.record(at(folder), is_same=True)
        assert places.holds(at("new"))
        assert not places.is_right(at("new"))
        assert not places.holds(at("new", "id=1"))  # of which none of the pairs says anything
        places.record(at("b"), is_same=False)
        assert not places.holds(at("new"))

    def test_one_wrong_pair_ends_it_until_many_were_right(self):
        places = Places()
        for _ in range(100):
            places.record(at("a"), is_same=True)
        places.record(at("a"), is_same=False)
        for _ in range(PER_WRONG):
            assert not places.holds(at("a"))
            places.record(at("a"), is_same=True)
        places.record(at("a"), is_same=True)
        assert places.holds(at("a"))


class TestLeftOut:
    @pytest.mark.parametrize("name", ["reviews", "page2", "2", "ref=reviews", "%D0%BE%D1%82%D0%B7%D1%8B%D0%B2%D1%8B"])
    def test_what_several_pages_have_is_a_name(self, name):
        left_out = LeftOut()
        found = [left_out.names(f"{TOP}item/{n}/{name}", f"{TOP}item/{n}") for n in (1, 1, *range(2, A_NAME + 2))]
        assert found == [frozenset()] * A_NAME + [frozenset({f"/{name}"})] * 2

    @pytest.mark.parametrize("session", ["a71f3c", "20240517", "7-2-9"])
    def test_a_session_is_none(self, session):
        left_out = LeftOut()
        assert not any(left_out.names(f"{TOP}s/{session}/item/{n}", f"{TOP}s/item/{n}") for n in range(100))

    def test_titles_that_are_new_each_time_are_none_and_take_little_memory(self):
        left_out = LeftOut()
        assert not any(left_out.names(f"{TOP}item/{n}/{'x' * n}", f"{TOP}item/{n}") for n in range(2 * MAX_NAMES))
        assert len(left_out) == MAX_NAMES

    def test_a_name_stays_one_among_them(self):
        left_out = LeftOut()
        found = []
        for n in range(3 * MAX_NAMES):
            found += [left_out.names(f"{TOP}item/{n}/{'x' * n}", f"{TOP}item/{n}")]
            if n % (MAX_NAMES // 2) == 0:
                found += [left_out.names(f"{TOP}item/{n}/reviews", f"{TOP}item/{n}")]
        assert sum(map(bool, found)) == 6 - (A_NAME - 1)


def rule(*steps, host="h.example"):
    return Rule(host, (), tuple(Step(*step) for step in steps))


class TestSiblings:
    @pytest.mark.parametrize(
        "other",
        [
            rule(("drop", "sid")),
            rule(("drop", "sid", "5")),
            rule(("set", "sid", "0")),
            rule(("drop", "x"), ("drop", "sid")),
            rule(("replace", "sid={0}&", "")),
            rule(("only", "id")),
        ],
    )
    def test_rules_over_one_argument(self, other):
        assert share_argument(rule(("drop", "sid")), other)
        assert share_argument(other, rule(("drop", "sid")))

    @pytest.mark.parametrize("other", [rule(("drop", "id")), rule(("unslash", "")), rule(("only", "sid,id"))])
    def test_rules_over_others(self, other):
        assert not share_argument(rule(("drop", "sid")), other)
        assert not share_argument(other, rule(("drop", "sid")))


class TestRepeats:
    """What a rule that was wrong says of others: of its arguments one names the page."""

    wrong = rule(("drop", "lang"), ("drop", "sum"))

    @pytest.mark.parametrize(
        "other",
        [rule(("drop", "sum"), ("drop", "lang")), rule(("only", "id")), rule(*wrong.transformation, ("drop", "x"))],
    )
    def test_all_of_its_arguments(self, other):
        assert repeats(other, self.wrong)

    @pytest.mark.parametrize("other", [rule(("drop", "sum")), rule(("drop", "lang")), rule(("only", "id,lang"))])
    def test_one_of_them_is_left_alone(self, other):
        assert not repeats(other, self.wrong)

    def test_without_arguments_the_same(self):
        assert repeats(rule(("unslash", "")), rule(("unslash", "")))
        assert not repeats(rule(("drop", "sum")), rule(("unslash", "")))


class TestRulePriors:
    def proposed(self, carried):
        return carried.rules_for(f"{TOP}?PHPSESSID=1", "h.example")

    def test_a_guess_that_was_wrong_on_two_hosts_is_not_made_again(self):
        carried = RulePriors()
        (guess,) = self.proposed(carried)
        carried.add_refuted(guess)
        assert self.proposed(carried) == [guess]
        carried.add_refuted(rule(*guess.transformation, host="other.example"))
        assert self.proposed(carried) == []

    def test_unless_it_is_right_on_as_many(self):
        carried = RulePriors()
        (guess,) = self.proposed(carried)
        for host in "ab":
            carried.add_refuted(rule(*guess.transformation, host=host))
        for host in "cd":
            carried.add_certain(rule(*guess.transformation, host=host))
        assert self.proposed(carried) == [guess]
