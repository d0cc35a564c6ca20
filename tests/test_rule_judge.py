"""The judge of candidate rules."""

from __future__ import annotations

import json

import pytest

from scrapy_replica.crawl.urls.host_rules import HostRules
from scrapy_replica.crawl.urls.watched_rule import WatchedRule
from scrapy_replica.crawldb.rules import RuleRow
from scrapy_replica.lab.dust.dust_judge import cube_of
from scrapy_replica.urls.context import Condition, Fact
from scrapy_replica.urls.interchange import priors
from scrapy_replica.urls.judge import SIZES, WEIGHT, RuleJudge, Seen, shipped, traits_of
from scrapy_replica.urls.learners import combined
from scrapy_replica.urls.learners.proposing import finished
from scrapy_replica.urls.learners.selection import Proposal
from scrapy_replica.urls.rule import Rule, Step

DROP, TEMPLATE = Step("drop", "zref"), Step("template", "/a/{0}", "/{0}")


def rule(*steps, context=()):
    return Rule("a.example", context, steps)


def same_kind(step, outcomes):
    traits = traits_of(rule(step))
    return [(traits, right, wrong) for right, wrong in outcomes]


class TestTraits:
    def test_stay_within_their_sizes(self):
        seen = [None, Seen(0, 0, 0, 0, 0, 0), Seen(3, 3, 3, 3, 6, 6), Seen(500, 500, 500, 500, 900, 90_000)]
        for one in [*priors(), rule(TEMPLATE), rule(DROP, Step("set", "a", "1"))]:
            for known in seen:
                assert all(0 <= trait < size for trait, size in zip(traits_of(one, known), SIZES, strict=True))

    def test_tell_kinds_names_and_contexts_apart(self):
        holds = Condition(Fact("q:a", "has", ""))
        rules = [
            rule(DROP),
            rule(DROP, Step("drop", "other")),
            rule(Step("drop", "zref", "1")),
            rule(DROP, Step("set", "a", "1")),
            rule(Step("replace", "?a=1", "?a=2")),
            rule(Step("replace", "/a", "/b")),
            rule(TEMPLATE),
            rule(Step("drop", "PHPSESSID")),
            rule(Step("drop", "utm_source")),
            rule(DROP, context=(holds,)),
            rule(DROP, context=(holds._replace(holds=False),)),
            rule(DROP, context=(holds, Condition(Fact("q:b", "has", ""), holds=False))),
        ]
        assert len({traits_of(one) for one in rules}) == len(rules)


class TestJudge:
    def test_rules_are_expected_to_be_what_others_of_their_kind_were(self):
        judge = RuleJudge(cube_of(same_kind(DROP, [(9, 1), (20, 0)]) + same_kind(TEMPLATE, [(1, 9)])))
        good, bad = (judge.prior(traits_of(rule(step))) for step in (DROP, TEMPLATE))
        assert good < bad / 2

    def test_what_a_rule_showed_itself_outweighs_its_kind(self):
        judge = RuleJudge(cube_of(same_kind(TEMPLATE, [(0, 10)])))
        traits = traits_of(rule(TEMPLATE))
        assert judge.expected(traits, 0, 0) == pytest.approx(judge.prior(traits))
        assert judge.expected(traits, 0, 98) == pytest.approx(WEIGHT * judge.prior(traits) / 100)
        assert judge.expected(traits, 98, 98) > 0.98

    def test_one_rule_is_one_example_however_many_groups_it_has(self):
        traits = traits_of(rule(DROP))
        one = RuleJudge(cube_of([(traits, 10_000, 0), (traits, 0, 20)]))
        assert one.prior(traits) == pytest.approx(0.5)

    def test_survives_being_written(self, tmp_path):
        judge = RuleJudge(cube_of(same_kind(DROP, [(9, 1)])))
        judge.save(tmp_path / "judge.json")
        assert RuleJudge.load(tmp_path / "judge.json").prior(traits_of(rule(DROP))) == judge.prior(
            traits_of(rule(DROP))
        )

    @pytest.mark.parametrize("change", [{"format": 0}, {"traits": ["kind"]}, {"sizes": [2] * 7}])
    def test_a_file_of_another_version_is_refused(self, tmp_path, change):
        shipped().save(tmp_path / "judge.json")
        data = json.loads((tmp_path / "judge.json").read_text())
        (tmp_path / "judge.json").write_text(json.dumps(data | change))
        with pytest.raises(ValueError, match="this version"):
            RuleJudge.load(tmp_path / "judge.json")


class TestChoice:
    def test_of_equal_evidence_the_kind_that_was_right_elsewhere_comes_first(self):
        judge = RuleJudge(cube_of(same_kind(DROP, [(20, 0)]) + same_kind(TEMPLATE, [(1, 9)])))
        proposals = [
            Proposal(Rule("a.example", (), (step,), traits=traits_of(rule(step))), 5, 0.02, 5).judged(judge)
            for step in (TEMPLATE, DROP)
        ]
        assert min(proposals, key=lambda proposal: proposal.expected_error).rule.transformation == (DROP,)

    def test_what_few_pages_say_waits_where_its_kind_was_wrong(self):
        traits = traits_of(rule(DROP))
        trusting, doubting = (RuleJudge(cube_of([(traits, *outcome)])) for outcome in ((20, 0), (0, 20)))

        def learnt(n, judge):
            urls = [f"http://a.example/{page}?zref={value}" for page in range(n) for value in "12"]
            clusters = [page for page in range(n) for _ in "12"]
            return finished(combined.learn_in_steps(urls, clusters, judge=judge))

        assert learnt(5, trusting)
        assert not learnt(5, doubting)
        assert learnt(50, doubting)


class TestProofs:
    """Pages of which some name a session and some an order; nothing tells of the order yet."""

    WAITING = tuple(f"http://a.example/{n}?zorder=up&zref={n}" for n in range(9))

    def test_no_request_is_spent_on_what_the_rules_in_force_say_already(self):
        host = HostRules("a.example", ())
        session = host.take(row(1, DROP, right=9), {})
        narrower = host.take(row(2, Step("drop", "zref", "4")), {})
        order = host.take(row(3, Step("drop", "zorder")), {})
        host.put_in_force()
        assert session.pairs(host.pages, self.WAITING, 9, host.is_one)
        assert not narrower.pairs(host.pages, self.WAITING, 9, host.is_one)
        assert order.pairs(host.pages, self.WAITING, 9, host.is_one)

    @pytest.mark.parametrize(
        ("waiting", "fetched", "may_save"),
        [
            (["/1?zref=a", "/2?zref=a"], ["/", "/?zref=a"], False),  # one session, and each proof begins another
            (["/1?zref=a", "/2?zref=b"], [], True),
            (["/1?zref=a", "/1"], [], True),
            (["/1?zref=a"], ["/1"], True),
            (["/1?zref=a"], ["/2?zref=b"], True),
            (["/3"], ["/1?zref=a", "/2?zref=b"], False),
            (["/1?zref=a&zorder=up", "/1"], [], True),  # the rule in force takes the order away
            (["/1?zref=a&zother=up", "/1"], [], False),
        ],
    )
    def test_a_rule_that_can_save_nothing_is_not_proved(self, waiting, fetched, may_save):
        host = HostRules("a.example", ())
        host.take(row(1, Step("drop", "zorder"), right=9), {})
        for number, path in enumerate(fetched, 1):
            host.pages.add(f"http://a.example{path}", number, number)
        session = host.take(row(2, DROP), {})
        host.put_in_force()
        forms = [f"http://a.example{path}" for path in waiting]
        are_met = {host.canonical(form)[0] for form in (*forms, *host.pages.clusters)}
        assert session.may_save(forms, lambda image: host.canonical(image)[0] in are_met) == may_save

    def test_of_two_rules_that_say_the_same_the_one_over_any_value_acts(self):
        host = HostRules("a.example", ())
        for one in (row(1, Step("drop", "zref", "4"), right=9), row(2, DROP, right=9)):
            host.take(one, {})
        host.put_in_force()
        assert [watched.id for watched in host.canonical("http://a.example/4?zref=4")[1]] == [2]

    def test_a_rule_over_what_two_spellings_share_does_not_act(self):
        host = HostRules("a.example", ())
        for number, name in enumerate(("zref", "zsid"), 1):
            host.take(row(number, Step("drop", name), right=9)._replace(is_manual=True), {})
        host.put_in_force()
        host.pages.add("http://a.example/4?zref=1&zsid=7", 4, 4)
        for asked, rules in (("zref=2&zsid=7", (1,)), ("zref=1&zsid=8", (2,)), ("zref=2&zsid=8", (1, 2))):
            hit = host.hit(f"http://a.example/4?{asked}", 0)
            assert hit is not None
            assert hit.rules == rules

    def test_a_spelling_that_waits_stands_for_others_where_one_rule_makes_up_the_form(self):
        host = HostRules("a.example", ())
        order, session = (host.take(row(n, Step("drop", name), right=9), {}) for n, name in ((1, "zref"), (2, "zsid")))
        # Pages lead to URLs without the one, and not without the other.
        order.linked, order.images, session.images = {*range(9)}, 9, 9
        for n in range(3):
            order.record(f"http://a.example/{n}?zref=1&zsid=7", f"http://a.example/{n}?zsid=7", 0, is_same=True)
            session.record(f"http://a.example/{n}?zsid=7", f"http://a.example/{n}", 0, is_same=True)
        host.put_in_force()
        waiting = "http://a.example/4?zref=1&zsid=7"
        host.note_waiting(waiting, 0)
        hit = host.hit("http://a.example/4?zref=2&zsid=7", 0)
        assert hit is not None
        assert (hit.target, hit.rules) == (waiting, (1,))

    def test_the_least_doubtful_rule_is_proved_first(self):
        trusted, doubted = (WatchedRule(row(n, step)) for n, step in enumerate((DROP, TEMPLATE)))
        judge = RuleJudge(cube_of(same_kind(DROP, [(20, 0)]) + same_kind(TEMPLATE, [(1, 9)])))
        assert trusted.doubt(judge) < doubted.doubt(judge)
        for n in range(20):
            doubted.record(f"http://a.example/a/{n}", f"http://a.example/{n}", 0, is_same=True)
        assert doubted.doubt(judge) < trusted.doubt(judge)


def row(rule_id, step, right=0):
    return RuleRow(rule_id, rule(step).to_dict(), "in force" if right else "candidate", False, right, 0, 0, [])
