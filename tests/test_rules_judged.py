"""Each DUST rule is judged by pages that it alone changes, and what ends one ends no other."""

from __future__ import annotations

import json
from collections import Counter
from itertools import product

import mmh3
import pytest

from scrapy_replica.claim import Claim, Kind, Standing, Why
from scrapy_replica.components.payloads import RequestPayloads
from scrapy_replica.config import Config
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawl.urls.gates import LEARNT_FROM
from scrapy_replica.crawl.urls.host_pages import HostPages
from scrapy_replica.crawl.urls.host_rules import HostRules
from scrapy_replica.crawl.urls.rule_places import Places, place_of
from scrapy_replica.crawl.urls.rule_proposals import MAX_CANDIDATES, RuleProposals
from scrapy_replica.crawl.urls.watched_rule import CONFIRMED, IMAGES_NEEDED, PAIRS_PER_RULE, WatchedRule
from scrapy_replica.crawldb.contract import NewUrl, Permission
from scrapy_replica.crawldb.rules import RuleRow
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.decision import Action, Outcome
from scrapy_replica.records import Link, Page
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.urls.context import Condition, Fact
from scrapy_replica.urls.interchange import clean_param
from scrapy_replica.urls.rule import Rule, Step

HOST = "a.example"
TEXT = "some words that all of these pages have, and enough of them to tell one page from another one by their text"


def key(url):
    return mmh3.hash64(url)[0]


class Site:
    """A crawl of one host with rules in force that were right in three places of it, to whose forms pages lead."""

    def __init__(self, *rules, mode="drop"):
        self.db, self.counts = SqliteCrawlDB(None, "s"), Counter()
        self.ids = [self.db.rules.enter(rule.to_dict(), 0.0) for rule in rules]
        for number in self.ids:
            self.db.rules.update(number, Standing.IN_FORCE, 100, 0, 5)
        self.open(mode)
        for number in self.ids:
            for place in "xyz":
                self.held(number).record(
                    f"http://{HOST}/{place}/1?sid=1&utm=1", f"http://{HOST}/{place}/1", 0, is_same=True
                )

    def open(self, mode="drop"):
        payloads = RequestPayloads(is_stored=False, url_of=self.db.urls.url_of, counts=self.counts)
        config = Config(strategy="breadth-first", probes=0, explore=1e-9, mode=mode)
        self.crawl = Crawl(config, self.db, key=key, now=lambda: 1e9, aliases=Aliases({}), payloads=payloads,
                           counts=self.counts, salt=3)  # fmt: skip
        self.crawl.probes.may_enter = True
        for number in self.ids:
            self.held(number).linked = {*range(IMAGES_NEEDED)}

    def held(self, number):
        own = self.crawl.rules.hosts.of(HOST).own
        return next(watched for watched in own.values() if watched.id == number)

    def asked(self, path):
        return self.crawl.policy.decide(f"http://{HOST}/{path}", HOST, Permission.MOVE, "", None)

    def enter(self, path, decision=None):
        url = f"http://{HOST}/{path}"
        url_id = self.db.urls.discover([NewUrl(url, HOST, key(url), is_dropped=decision is not None)])[0][0]
        if decision is not None:
            self.crawl.log.record(url_id, url, decision)
        return url_id

    def sample(self, path):
        """Let a URL that is to be saved be a sample."""
        url_id = self.enter(path)
        self.crawl.samples.enter(url_id, f"http://{HOST}/{path}", self.asked(path))
        return url_id

    def fetch(self, path, text=None, words=20, **more):
        url_id = self.enter(path)
        said = f"{TEXT} {path if text is None else text}"
        url = f"http://{HOST}/{path}"
        prints = {"signature": mmh3.hash_bytes(said), "simhash": key(said) % 2**64}
        page = Page(url, HOST, text=said, words=words, title="title", **prints, **more)
        observation = self.crawl.fetches.observe(page, url_id, 1)
        self.crawl.fetches.end_callback(observation)
        self.db.urls.finish([url_id])
        return url_id

    @property
    def states(self):
        return [self.db.rules.row(number).state for number in self.ids]

    def waiting(self):
        while self.crawl.restorer.has_work:
            self.crawl.restorer.work()
        return {url.removeprefix(f"http://{HOST}/") for url in self.db.urls.waiting_urls(HOST, 100)}


def sid_and_utm():
    return Site(clean_param(HOST, "sid"), clean_param(HOST, "utm"))


class TestSamples:
    def test_wrong_ones_of_a_rule_end_that_rule_only(self):
        site = sid_and_utm()
        for n in range(2):
            url_id = site.sample(f"x/{n}?sid=1")
            site.crawl.claims.refute(site.crawl.samples.settle(url_id, Outcome.OTHER))
        assert site.states == [Standing.REFUTED, Standing.IN_FORCE]
        assert [site.asked(f"x/9?{name}=1").action for name in ("sid", "utm")] == [Action.FETCH, Action.REWRITE]
        site.open()
        assert site.asked("x/9?sid=1").action is Action.FETCH
        assert site.counts["dust/withdrawn"] == 1

    @pytest.mark.parametrize("is_target_first", [False, True])
    def test_pages_of_too_little_text_say_nothing_and_too_many_end_a_rule(self, is_target_first):
        site = sid_and_utm()
        for n in range(5):
            site.sample(f"x/{n}?sid=1")
            pages = [f"x/{n}?sid=1", f"x/{n}"]
            for path in reversed(pages) if is_target_first else pages:
                site.fetch(path, "", words=3)
        samples = site.db.samples.of_claim(Claim(Kind.RULE, str(site.ids[0])))
        assert [sample.outcome for sample in samples] == [Outcome.UNKNOWN] * 5
        assert site.states == [Standing.REFUTED, Standing.IN_FORCE]

    @pytest.mark.parametrize("is_target_first", [False, True])
    @pytest.mark.parametrize(("words", "target_words"), [(3, 20), (20, 3)])
    def test_a_page_of_little_text_is_none_that_says_much(self, words, target_words, is_target_first):
        site = sid_and_utm()
        for n in range(2):
            site.sample(f"x/{n}?sid=1")
        for n in range(2):
            pages = [(f"x/{n}?sid=1", words), (f"x/{n}", target_words)]
            for path, many in reversed(pages) if is_target_first else pages:
                site.fetch(path, words=many)
        samples = site.db.samples.of_claim(Claim(Kind.RULE, str(site.ids[0])))
        assert [sample.outcome for sample in samples] == [Outcome.OTHER] * 2
        assert site.states == [Standing.REFUTED, Standing.IN_FORCE]

    @pytest.mark.parametrize(("said", "outcome"), [("", Outcome.UNKNOWN), ("{path}", Outcome.OTHER)])
    @pytest.mark.parametrize(("words", "is_html"), [(0, False), (2, True)], ids=["document", "little text"])
    def test_documents_and_little_text_are_others_where_they_differ(self, said, outcome, words, is_html):
        """Two answers that are equal may be empty: they tell nothing."""
        site = sid_and_utm()
        for path in ("x/1?sid=1", "x/1"):
            if "?" in path:
                site.sample(path)
            site.fetch(path, said.format(path=path), words=words, is_html=is_html)
        (sample,) = site.db.samples.of_claim(Claim(Kind.RULE, str(site.ids[0])))
        assert sample.outcome is outcome

    @pytest.mark.parametrize("is_read_again", [False, True])
    def test_what_a_page_alone_leads_to_is_held_against_a_rule_in_the_next_run_as_well(self, is_read_again):
        """Each run began with such pages as pages of their own: the rule was wrong nowhere, and 14 of 102 were lost."""
        site = sid_and_utm()
        site.fetch("x/1", "")
        site.fetch("x/1?sid=1", "", links=(Link(f"http://{HOST}/more"),))
        if is_read_again:
            site.open()
        assert site.held(site.ids[0]).wrong == 0
        site.crawl.dust.led_to_news(f"http://{HOST}/x/1?sid=1", samples_of=())
        assert site.held(site.ids[0]).wrong == 1

    def test_one_beside_a_page_that_names_its_form_tests_the_rule_unless_it_tests_the_name(self):
        """Nobody was blamed where no sample was one of the name: of late pages some were lost."""
        site = sid_and_utm()
        for n in range(2):
            site.sample(f"x/{n}?sid=1")
        for n, place in product(range(3), "yz"):
            site.fetch(f"{place}/{n}", f"{n}", canonical=f"http://{HOST}/x/{n}")
        for n in range(2):
            site.fetch(f"x/{n}?sid=1", f"{n} other")
        samples = site.db.samples.of_claim(Claim(Kind.RULE, str(site.ids[0])))
        assert [sample.outcome for sample in samples] == [Outcome.OTHER] * 2
        assert site.states == [Standing.REFUTED, Standing.IN_FORCE]

    def test_a_page_at_its_form_settles_it_as_before(self):
        site = sid_and_utm()
        for n, text in enumerate(("same", "same", "other")):
            site.sample(f"x/{n}?sid=1")
            site.fetch(f"x/{n}", f"{n} same")
            site.fetch(f"x/{n}?sid=1", f"{n} {text}")
        outcomes = [sample.outcome for sample in site.db.samples.of_claim(Claim(Kind.RULE, str(site.ids[0])))]
        assert outcomes == [Outcome.SAME, Outcome.SAME, Outcome.OTHER]


def test_a_rule_does_not_act_where_a_page_differs_from_the_one_that_names_its_form():
    """Whichever of the two is wrong: of 26 pages, of which three differed, one was lost in a crawl of four."""
    host = HostPages()
    for n, place in product(range(3), "yz"):
        host.add(f"http://{HOST}/{place}/{n}", n + 1 << 20, n + 1 << 20, [f"http://{HOST}/x/{n}"])
    watched = WatchedRule(RuleRow(1, clean_param(HOST, "sid").to_dict(), Standing.IN_FORCE, False, 3, 0, 0, []))
    asked = f"http://{HOST}/x/8?sid=1", f"http://{HOST}/x/8", 0
    watched.places.record(place_of(*asked), is_same=True)
    assert watched.holds(*asked)
    watched.observe(f"http://{HOST}/x/1?sid=1", 9 << 20, 1, host, lambda form: False)
    assert not watched.holds(*asked)


@pytest.mark.parametrize(("names", "given", "is_linked"), [("xxx", "", False), ("xy", "", True), ("xy", "y", False)])
def test_pages_lead_to_urls_without_a_session_where_they_lead_to_two_that_the_user_did_not_give(
    names, given, is_linked
):
    """The front page is one, however many sessions lead there: 821 of 276 requests were made."""
    host = HostPages()
    watched = WatchedRule(RuleRow(1, clean_param(HOST, "sid").to_dict(), Standing.IN_FORCE, False, 3, 0, 0, []))
    for n, name in enumerate(names):
        form, content = f"http://{HOST}/{name}", ord(name) << 20
        if name in given:
            host.unlinked.add(form)
        host.add(form, content, content)
        watched.observe(f"{form}?sid={n}", content, n + 1, host, lambda form: False)
    assert watched.are_images_linked is is_linked


def test_candidates_of_which_nothing_is_told_keep_no_other_from_being_tried():
    """A shop learnt early what nothing told of, and 1,500 variants of its products were fetched for it."""
    db = SqliteCrawlDB(None, "s")
    host, rules = HostRules(HOST, ()), RuleProposals(Config(), db, float, ())
    assert all(rules.candidate(clean_param(HOST, f"ref{n}"), host) for n in range(MAX_CANDIDATES))
    assert not rules.candidate(clean_param(HOST, "variant"), host)
    next(iter(host.own.values())).proofs = [(f"http://{HOST}/{n}", 1) for n in range(PAIRS_PER_RULE)]
    assert rules.candidate(clean_param(HOST, "variant"), host)
    assert not rules.candidate(clean_param(HOST, "colour"), host)


@pytest.mark.parametrize("there", [f"http://{HOST}/x", "https://b.example/x"])
def test_what_is_asked_for_elsewhere_comes_from_the_front_page_there(there):
    """By http as well: whoever listens is not told which page of https led here."""
    site, url = Site(), f"https://{HOST}/x"
    found = NewUrl(url, HOST, key(url), payload=b'{"r":1}', permission=Permission.MOVE)
    failed = site.db.urls.row(site.db.urls.discover([found])[0][0])
    asked = site.crawl.frontier.enter_in_place_of(failed, there)
    told = json.loads(site.db.urls.row(asked).payload)
    assert told == {"headers": {"Referer": [there.removesuffix("x")]}}


class TestEndedMeanwhile:
    def test_what_a_rule_was_to_rewrite_is_entered_as_it_stands(self):
        """A request's fingerprint is that of what it is rewritten to, which stood beside it: six items were lost."""
        site = Site(clean_param(HOST, "sid"))
        url, image = f"http://{HOST}/x/9?sid=3", f"http://{HOST}/x/9"
        decision = site.asked("x/9?sid=3")
        assert decision.url == image
        ended, rules = site.held(site.ids[0]), site.crawl.rules
        ended.refute()
        rules.put_in_force(rules.hosts.of(HOST), ended)
        site.crawl.claims.restore_after_rule(ended, Why.REFUTED)
        asked = [(NewUrl(image, HOST, key(image)), site.asked("x/9")), (NewUrl(url, HOST, key(image)), decision)]
        assert all(entered.is_waiting for entered in site.crawl.frontier.enter(asked))
        assert site.waiting() == {"x/9", "x/9?sid=3"}


class TestTwoRulesOfOneUrl:
    def disagree(self, site, text):
        """Let a URL that both rules change turn out to be another page; *text* is that of each form of it."""
        decision = site.asked("y/1?sid=1&utm=1")
        site.enter("y/1?sid=1&utm=1", decision)
        site.sample("x/1?sid=1&utm=1")
        for path in ("x/1?sid=1&utm=1", "x/1"):
            site.fetch(path, text(path))
        return site.waiting()

    def test_neither_is_blamed_before_a_page_is_fetched_that_it_changes_alone(self):
        site = sid_and_utm()
        self.disagree(site, lambda path: path)
        for n in range(8):
            site.fetch(f"probe/{n}")  # they are asked for one by one
        waiting = site.waiting()
        assert site.states == [Standing.IN_FORCE] * 2
        assert {"x/1?sid=1", "x/1?utm=1"} <= waiting
        samples = site.db.samples.of_url(site.enter("x/1?sid=1&utm=1"))
        assert {str(sample.claim): sample.outcome for sample in samples} == {
            "rules 1+2": Outcome.OTHER, "rule 1": Outcome.UNKNOWN, "rule 2": Outcome.UNKNOWN
        }  # fmt: skip

    def test_what_both_changed_is_fetched_and_comes_back(self):
        site = sid_and_utm()
        assert "y/1?sid=1&utm=1" in self.disagree(site, lambda path: path)
        site.crawl.rules.hosts.of(HOST).put_in_force()  # which finds it anew in the pages
        assert [site.asked(f"z/5?{query}").action for query in ("sid=1&utm=1", "sid=1", "utm=1")] == [
            Action.FETCH, Action.REWRITE, Action.REWRITE
        ]  # fmt: skip

    def test_the_one_that_is_wrong_ends(self):
        site = sid_and_utm()

        def text(path):
            return "1" if "sid" in path else "2"

        self.disagree(site, text)
        for n in range(4):
            for path in (f"x/{n}?sid=1&utm=1", f"x/{n}?sid=1", f"x/{n}?utm=1", f"x/{n}"):
                site.fetch(path, f"{n} {text(path)}")
        assert site.states == [Standing.REFUTED, Standing.IN_FORCE]

    def test_where_they_agree_both_are_right(self):
        site = sid_and_utm()
        before = [site.held(number).right for number in site.ids]
        self.disagree(site, lambda path: path.partition("?")[0])
        assert [site.held(number).right for number in site.ids] == [right + 1 for right in before]
        assert site.asked("z/5?sid=1&utm=1").action is Action.REWRITE

    def test_what_changes_the_page_that_was_fetched_first_is_tested_as_well(self):
        """``x/7?utm=1`` is another page, and stands for ``x/7?sid=1``: the rule about ``utm`` was tested by nothing."""
        site = sid_and_utm()
        site.fetch("x/7?utm=1")
        decision = site.asked("x/7?sid=1")
        assert decision.action is Action.DROP
        assert {part.subject for claim in decision.claims for part in (claim, *claim.parts)} >= {"1", "2"}

    def test_but_of_the_page_that_a_gate_leads_to_that_says_nothing(self):
        gate = Rule(HOST, (), (Step("template", "/vote/{0}", "/login"),), 5, 0.0, LEARNT_FROM)
        site = Site(gate, clean_param(HOST, "back"))
        for number in range(3):
            site.held(site.ids[0]).record(f"http://{HOST}/vote/{number}", f"http://{HOST}/login", 0, is_same=True)
        site.fetch("login?back=1")
        decision = site.asked("vote/9")
        assert decision.action is Action.DROP
        assert [str(claim) for claim in decision.claims] == [f"rule {site.ids[0]}"]

    def test_that_says_nothing_of_either_alone(self):
        """``/id.php?num=1`` is ``/record.asp?id=1&tab=2`` by two rules, and there is no ``/id.php?num=1&tab=2``."""
        site = sid_and_utm()
        for number in site.ids:
            held = site.held(number)
            held.places = Places()
            held.record(f"http://{HOST}/w/1?sid=1&utm=1", f"http://{HOST}/w/1", 0, is_same=True, is_joint=True)
        assert site.asked("w/5?sid=2&utm=2").action is Action.REWRITE
        site.held(site.ids[1]).disable()
        site.crawl.rules.hosts.of(HOST).put_in_force()
        assert site.asked("w/5?sid=2&utm=2").action is Action.FETCH


class TestOthers:
    def test_a_rule_like_one_that_ended_goes_on(self):
        one, two = (Rule(HOST, (Condition(Fact("p0", "=", place)),), (Step("drop", "sid"),)) for place in "xy")
        site = Site(one, two)
        site.crawl.claims.refute([Claim(Kind.RULE, str(site.ids[0]))])
        assert site.states == [Standing.REFUTED, Standing.IN_FORCE]

    @pytest.mark.parametrize("step", [Step("drop", "sid"), Step("set", "sid", "1"), Step("only", "page")])
    def test_one_that_was_switched_off_is_not_proposed_in_another_form(self, step):
        site = sid_and_utm()
        site.fetch("x/1?sid=1")
        site.crawl.claims.restore_after_rule(site.crawl.rules.disable(site.ids[0]), Why.ENDED)
        host = site.crawl.rules.hosts.of(HOST)
        for context in ((), (Condition(Fact("p0", "=", "x")),)):
            assert not site.crawl.rules.proposals.candidate(Rule(HOST, context, (step,)), host)
        assert site.crawl.rules.proposals.candidate(Rule(HOST, (), (Step("drop", "other"),)), host)

    def test_nor_one_of_a_path_that_says_the_same_of_a_page(self):
        site = Site(Rule(HOST, (), (Step("replace", "/old/", "/"),)))
        site.fetch("old/1")
        site.crawl.claims.restore_after_rule(site.crawl.rules.disable(site.ids[0]), Why.ENDED)
        host = site.crawl.rules.hosts.of(HOST)
        assert not site.crawl.rules.proposals.candidate(Rule(HOST, (), (Step("template", "/old/{0}", "/{0}"),)), host)


class TestImages:
    """Pages that are met by what a rule changes first, and then as it has them, as without a slash or a language."""

    def met(self, n=CONFIRMED, *, is_backward=True):
        site = Site(clean_param(HOST, "utm"))
        for one in range(n):
            for path in (f"x/{one}?utm=1", f"x/{one}")[:: 1 if is_backward else -1]:
                site.fetch(path, text=one)
        site.fetch("x/90?utm=1", text="ninety")
        return site

    def test_they_are_saved_where_five_were_the_same(self):
        """Each link to /item/7 was fetched where the others lead to /item/7/ or /en/item/7: 314 requests of 314."""
        assert self.met(CONFIRMED - 1).asked("x/90").action is Action.FETCH
        decision = self.met().asked("x/90")
        assert (decision.action, decision.representative) == (Action.DROP, f"http://{HOST}/x/90?utm=1")
        assert self.met().asked("x/91").action is Action.FETCH  # of which nothing was fetched

    def test_what_was_met_the_other_way_round_says_nothing_of_them(self):
        """A version for print that is met first lacks what its page leads to."""
        assert self.met(4 * CONFIRMED, is_backward=False).asked("x/90").action is Action.FETCH

    @pytest.mark.parametrize(("says", "outcome"), [("ninety", Outcome.SAME), ("other", Outcome.OTHER)])
    def test_samples_are_held_against_what_was_fetched(self, says, outcome):
        site = self.met()
        url_id = site.sample("x/90")
        site.fetch("x/90", text=says)
        assert [one.outcome for one in site.db.samples.of_url(url_id)] == [outcome]

    def test_where_one_in_twenty_is_another_page_all_of_them_come_back(self):
        site = self.met()
        site.enter("x/90", site.asked("x/90"))
        site.fetch("x/91?utm=1")
        site.fetch("x/91")  # another page
        assert "x/90" in site.waiting()
        assert site.asked("x/90").action is Action.FETCH
        assert site.states == [Standing.IN_FORCE]
        site.open()
        assert site.asked("x/90").action is Action.FETCH
