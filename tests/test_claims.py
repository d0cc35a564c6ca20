"""Claims in a crawl: how they are tested, how they end, and that nothing they suppressed stays away for ever."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import mmh3
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from scrapy import Request, Spider

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind, Restoration, Standing, Why, Work
from scrapy_replica.components.payloads import LostError, RequestPayloads
from scrapy_replica.config import Config
from scrapy_replica.crawl.claims import fallback
from scrapy_replica.crawl.claims.claim_evidence import MANY
from scrapy_replica.crawl.claims.claim_test import ClaimTest
from scrapy_replica.crawl.claims.late_samples import LEAST_DOUBTED, MOST_DOUBTED
from scrapy_replica.crawl.claims.samples import Samples
from scrapy_replica.crawl.claims.settling import compared
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import URGENT, NewUrl, Permission, State
from scrapy_replica.crawldb.pages import Trace
from scrapy_replica.crawldb.remote import RemoteUpdate
from scrapy_replica.crawldb.samples import Stratum
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.decision import FETCH, Action, Decision, Outcome, Reason
from scrapy_replica.records import Link, Page, Verdict
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.sites.evidence import PageMark

MIRROR, CANONICAL = "mirror.example", "canonical.example"
VERDICT = Verdict(MIRROR, CANONICAL, "", "", 0.99, 3)
TRAP = Claim(Kind.TRAP, "a.example", "calendar")


def key(url):
    return mmh3.hash64(url)[0]


class PlainGets:
    """No request has more than its URL."""

    def copy(self, payload):
        return payload

    def moved(self, payload, url):
        return payload

    def callback(self, payload):
        return ""

    def forget(self, payload):
        pass

    def may_leave(self, payload):
        return False

    has_arguments = is_lost = may_leave


def crawl_on(db, payloads=None, **config):
    return Crawl(
        Config(strategy="breadth-first", probes=0, **config),
        db,
        key=key,
        now=time.time,
        aliases=Aliases({}),
        payloads=payloads or PlainGets(),
        counts=Counter(),
        salt=7,
    )


@pytest.fixture
def db():
    db = SqliteCrawlDB(None, "x")
    yield db
    db.close()


def enter(db, *urls, is_done=False):
    found = db.urls.discover([NewUrl(url, host_of(url), key(url), is_dropped=is_done) for url in urls])
    if is_done:
        db.urls.finish([url_id for url_id, _ in found])
    return [url_id for url_id, _ in found]


def pages_of(host, n, first=0):
    return [f"http://{host}/{number}.html" for number in range(first, n)]


def hold(db, crawl, verdict=VERDICT):
    """Let the detector reach the verdict."""
    db.verdicts.enter(verdict, 0.0, 1e12)
    assert crawl.replicas.apply_remote([verdict.copy]) == [verdict]


def follow(crawl, url_id, urls):
    """Let a page of the canonical host be fetched that links to *urls*."""
    links = tuple(Link(url) for url in urls)
    url = crawl.store.urls.url_of(url_id)
    page = Page(url, CANONICAL, text="word " * 50, words=50, signature=b"s" * 16, links=links)
    observation = crawl.fetches.observe(page, url_id, 0)
    crawl.outlinks.follow(observation, links)


def visit(crawl, url_id, text, urls=()):
    """Let a page with that *text* be fetched that links to *urls*; return what was learnt."""
    links, url = tuple(Link(url) for url in urls), crawl.store.urls.url_of(url_id)
    signature, (simhash, _) = mmh3.hash_bytes(text), mmh3.hash64(text, signed=False)
    page = Page(
        url, host_of(url), text=text, words=len(text.split()), signature=signature, simhash=simhash, links=links
    )
    observation = crawl.fetches.observe(page, url_id, 0)
    crawl.outlinks.follow(observation, links)
    return observation


def restore(crawl):
    while crawl.restorer.has_work:
        crawl.frontier.unrequested.forget_unneeded(crawl.restorer.work())


class TestSamples:
    def test_links_that_are_known_are_no_samples(self, db):
        """Case 1: nine were counted, none was fetched, and the mirror was believed in."""
        root, *_ = enter(db, f"http://{CANONICAL}/", *pages_of(CANONICAL, 180))
        enter(db, *pages_of(MIRROR, 60), is_done=True)
        crawl = crawl_on(db)
        hold(db, crawl)
        follow(crawl, root, pages_of(MIRROR, 60))
        assert crawl.samples.test_of(VERDICT.claim).n_samples == len(db.samples.of_claim(VERDICT.claim)) == 0
        follow(crawl, root, pages_of(MIRROR, 180, first=60))
        n_samples = len(db.samples.of_claim(VERDICT.claim))
        assert crawl.samples.test_of(VERDICT.claim).n_samples == n_samples >= 8

    def test_a_mirror_that_is_found_again_goes_on_with_its_test(self, db):
        """Case 2: of one that had ended nine were drawn and none was in the table."""
        root, *_ = enter(db, f"http://{CANONICAL}/", *pages_of(CANONICAL, 60))
        db.verdicts.enter(VERDICT, 0.0, 1.0)  # over long ago
        crawl = crawl_on(db)
        assert not list(db.verdicts.holding())
        restore(crawl)
        hold(db, crawl)
        follow(crawl, root, pages_of(MIRROR, 60))
        n_samples = len(db.samples.of_claim(VERDICT.claim))
        assert crawl.samples.test_of(VERDICT.claim).n_samples == n_samples >= 5

    def test_what_is_drawn_waits_beside_its_representative(self, db):
        root, *_ = enter(db, f"http://{CANONICAL}/")
        crawl = crawl_on(db)
        hold(db, crawl)
        follow(crawl, root, pages_of(MIRROR, 30))
        samples = db.samples.of_claim(VERDICT.claim)
        assert samples
        for sample in samples:
            assert db.urls.find([sample.representative])[sample.representative].state is State.WAITING
            assert db.urls.find([db.urls.key_of(sample.id)])[db.urls.key_of(sample.id)].state is State.WAITING

    def test_one_that_alone_leads_to_news_is_another_page(self, db):
        """Equal text says nothing of what a page leads to: thirty pages of a mirror alone were never found."""
        links, settled = Claim(Kind.LINKS, CANONICAL, MIRROR), []
        root, copy = enter(db, f"http://{CANONICAL}/", f"http://{MIRROR}/")
        crawl = crawl_on(db)
        decision = Decision(
            Action.FETCH,
            Action.DROP,
            Reason.EXACT_DUPLICATE_LINKS,
            claims=(links,),
            representative=f"http://{CANONICAL}/",
        )
        crawl.samples.enter(copy, f"http://{MIRROR}/", decision)
        for url_id, found in ((root, ()), (copy, (f"http://{MIRROR}/own",))):
            observation = visit(crawl, url_id, "all work and no play makes a dull page " * 10, found)
            crawl.fetches.end_callback(observation)
            settled += [sample.outcome for sample in db.samples.of_claim(links)]
        assert settled == [None, Outcome.SAME]
        own = db.urls.find([key(f"http://{MIRROR}/own")])[key(f"http://{MIRROR}/own")].id
        crawl.fetches.end_callback(
            visit(crawl, own, "what only the copy has to say of other things in the world " * 10)
        )
        assert [sample.outcome for sample in db.samples.of_claim(links)] == [Outcome.OTHER]

    @pytest.mark.parametrize("is_late", [False, True])
    @pytest.mark.parametrize(("says", "outcome"), [("A", Outcome.SAME), ("B", Outcome.OTHER)])
    def test_one_is_held_against_what_stands_for_its_representative(self, db, is_late, says, outcome):
        """It waited for ever: of 50 samples of a mirror whose links all have a ``ref`` two dozen told nothing."""
        crawl, text = crawl_on(db), "the things in the world of which {0} speaks to whoever asks for {0} " * 10
        hold(db, crawl)
        urls = f"http://{CANONICAL}/1.html", f"http://{CANONICAL}/1.html?ref=1", f"http://{MIRROR}/1.html?ref=1"
        kept, dropped, sample = enter(db, *urls)
        crawl.samples.enter(sample, urls[2], crawl.policy.decide(urls[2], MIRROR))
        crawl.fetches.end_callback(visit(crawl, kept, text.format("A")))
        if is_late:
            crawl.fetches.end_callback(visit(crawl, sample, text.format(says)))
        db.urls.drop(dropped)
        db.suppressed.enter([Suppressed(dropped, Claim(Kind.RULE, "1"), key(urls[0]))])
        if is_late:
            crawl.late_samples.draw()
        else:
            crawl.fetches.end_callback(visit(crawl, sample, text.format(says)))
            crawl.late_samples.sample_doubted()
        if outcome is Outcome.OTHER:  # which may be the fault of the rule: what was dropped tells
            assert [one.outcome for one in db.samples.of_url(sample)] == [None]
            assert state(db, urls[1]) is State.WAITING
            assert [one.claim.kind for one in db.samples.of_url(dropped)] == [Kind.RULE]
            crawl.fetches.end_callback(visit(crawl, dropped, text.format("A")))
        else:
            assert state(db, urls[1]) is State.DROPPED
        assert [one.outcome for one in db.samples.of_url(sample)] == [outcome]

    @pytest.mark.parametrize("is_sample_first", [False, True])
    @pytest.mark.parametrize(
        ("places", "outcome"),
        [
            (("http://us.example/buy/7", "http://uk.example/buy/7"), Outcome.OTHER),
            ((f"http://{CANONICAL}/us/7", f"http://{MIRROR}/uk/7"), Outcome.OTHER),
            ((f"http://{CANONICAL}/shop/7", f"http://{MIRROR}/shop/7?way=2"), None),
            (("http://us.example/buy/7", "http://us.example/buy/7"), None),
        ],
    )
    def test_one_that_leads_elsewhere_than_its_representative_is_another_page(
        self, db, places, outcome, is_sample_first
    ):
        """It waited for ever, as no page is at either URL, and counted as one that agrees."""
        urls = f"http://{CANONICAL}/go/7", f"http://{MIRROR}/go/7"
        crawl, (kept, sample) = crawl_on(db), enter(db, *urls)
        hold(db, crawl)
        crawl.samples.enter(sample, urls[1], crawl.policy.decide(urls[1], MIRROR))
        told = [(kept, places[0]), (sample, places[1])]
        for url_id, place in reversed(told) if is_sample_first else told:
            crawl.fetches.observe_failure(url_id, 302, None, location=place)
        assert [one.outcome for one in db.samples.of_url(sample)] == [outcome]

    @pytest.mark.parametrize(("to", "outcome"), [("1.html", Outcome.SAME), ("2.html", None), ("3.html", None)])
    def test_one_that_leads_to_its_representative_is_that_page(self, db, to, outcome):
        """Nobody asks for it once more, so no page came of it: links by http never were those by https."""
        urls = [f"http://{CANONICAL}/{number}.html" for number in (1, 2, 3)]
        crawl, ids = crawl_on(db), enter(db, *urls, f"http://{MIRROR}/1.html")
        hold(db, crawl)
        crawl.samples.enter(ids[-1], f"http://{MIRROR}/1.html", crawl.policy.decide(f"http://{MIRROR}/1.html", MIRROR))
        for number in (1, 2):  # the third one waits
            crawl.fetches.end_callback(
                visit(crawl, ids[number - 1], f"what page {number} says of the world alone " * 10)
            )
        crawl.fetches.observe_failure(ids[-1], 301, None, location=f"http://{CANONICAL}/{to}")
        assert [one.outcome for one in db.samples.of_url(ids[-1])] == [outcome]

    @pytest.mark.parametrize(("status", "is_held"), [(404, True), (500, False)])
    def test_a_copy_of_a_part_of_a_site_is_still_one(self, db, status, is_held):
        """Seven pages that it has not, beside three that agreed, ended it, and the rest was fetched twice."""
        crawl = crawl_on(db, explore=1.0)
        hold(db, crawl)
        root, *_ = enter(db, f"http://{CANONICAL}/", *pages_of(CANONICAL, 12))
        follow(crawl, root, pages_of(MIRROR, 12))
        samples = db.samples.of_claim(VERDICT.claim)
        assert len(samples) == 12
        for sample in samples:
            crawl.fetches.observe_failure(sample.id, status, None)
        assert bool(crawl.replicas.holding()) is is_held

    @pytest.mark.parametrize("is_manual", [False, True])
    def test_what_a_person_left_out_is_not_fetched_to_tell(self, db, is_manual):
        crawl, (url_id,) = crawl_on(db), enter(db, f"http://{CANONICAL}/1.html?ref=1", is_done=True)
        rule = {"host": CANONICAL, "context": [], "transformation": [["drop", "ref", None]], "learntFrom": "combined"}
        claim = Claim(Kind.RULE, str(db.rules.enter(rule, 0.0, is_manual=is_manual)))
        db.urls.drop(url_id)
        db.suppressed.enter([Suppressed(url_id, claim, key(f"http://{CANONICAL}/1.html"))])
        crawl.samples.wanted.add(url_id)
        assert crawl.late_samples.sample_doubted() is not is_manual

    def test_what_spoke_against_a_claim_lets_some_be_fetched_that_it_suppressed_before(self, db):
        """Of what is new more is drawn; what was suppressed while it was believed in may be wrong as well."""
        root, *_ = enter(db, f"http://{CANONICAL}/", *pages_of(CANONICAL, 200))
        crawl = crawl_on(db)
        hold(db, crawl)
        follow(crawl, root, pages_of(MIRROR, 200))
        before = {sample.id for sample in db.samples.of_claim(VERDICT.claim)}
        crawl.samples.settle(min(before), Outcome.OTHER)
        crawl.take()
        late = {sample.id for sample in db.samples.of_claim(VERDICT.claim)} - before
        assert len(late) == MOST_DOUBTED
        assert all(db.urls.row(url_id).permission is Permission.EXEMPT for url_id in late)
        crawl.take()
        assert len(db.samples.of_claim(VERDICT.claim)) == len(before | late)  # once for each that is wrong

    def test_half_of_what_is_looked_back_for_stands_where_the_claim_was_wrong(self, db):
        """A copy with a section of its own: what is spread over all of its pages would hardly meet it."""
        paths = [f"{'own' if n % 10 == 0 else n // 20}/{n}.html" for n in range(200)]
        root, *_ = enter(db, f"http://{CANONICAL}/", *(f"http://{CANONICAL}/{path}" for path in paths))
        crawl = crawl_on(db)
        hold(db, crawl)
        follow(crawl, root, [f"http://{MIRROR}/{path}" for path in paths])
        before = {sample.id: sample for sample in db.samples.of_claim(VERDICT.claim)}
        crawl.samples.settle(
            next(one for one, sample in before.items() if sample.stratum.place == "own?"), Outcome.OTHER
        )
        crawl.take()
        late = [sample.stratum.place for sample in db.samples.of_claim(VERDICT.claim) if sample.id not in before]
        assert late.count("own?") >= MOST_DOUBTED // 2
        assert len({*late}) > 2

    def test_what_stands_beside_the_page_that_was_wrong_is_looked_at(self, db):
        """An argument that matters from some page on: what is spread over all would miss the last six of a hundred."""
        root, *_ = enter(db, f"http://{CANONICAL}/", *pages_of(CANONICAL, 100))
        crawl = crawl_on(db)
        hold(db, crawl)
        follow(crawl, root, pages_of(MIRROR, 100))
        before = {sample.id for sample in db.samples.of_claim(VERDICT.claim)}
        suppressed = {one.row.id for one in db.suppressed.last_of(VERDICT.claim)}
        wrong = max(before)
        crawl.samples.settle(wrong, Outcome.OTHER)
        crawl.take()
        nearest = sorted(suppressed, key=lambda url_id: abs(url_id - wrong))[: LEAST_DOUBTED // 4]
        assert {*nearest} <= {sample.id for sample in db.samples.of_claim(VERDICT.claim)}

    @pytest.mark.parametrize(("n_suppressed", "n_late"), [(4, 4), (20, 5), (100, 10), (400, 40), (900, 60)])
    def test_a_tenth_of_what_a_claim_suppressed_is_fetched_at_the_end(self, db, n_suppressed, n_late):
        """Spread over all: what was right at first, and wrong of a third of the pages from the middle on, is seen."""
        claim = Claim(Kind.NAME, CANONICAL)
        news = [NewUrl(url, CANONICAL, key(url), is_dropped=True) for url in pages_of(CANONICAL, n_suppressed)]
        ids = [url_id for url_id, _ in db.urls.discover(news)]
        db.suppressed.enter([Suppressed(url_id, claim, None) for url_id in ids])
        crawl_on(db).late_samples.draw()
        late = sorted(sample.id for sample in db.samples.of_claim(claim))
        assert len(late) == n_late
        assert max(later - earlier for earlier, later in pairwise(late)) <= max(1, n_suppressed / 2)

    def test_one_of_each_large_part_that_was_never_looked_at_is_fetched_at_the_end(self, db):
        """A copy that fills one of its sections with pages of its own."""
        root, *_ = enter(db, f"http://{CANONICAL}/", *(f"http://{CANONICAL}/{n // 20}/{n}.html" for n in range(200)))
        crawl = crawl_on(db)
        hold(db, crawl)
        follow(crawl, root, [f"http://{MIRROR}/{n // 20}/{n}.html" for n in range(200)])
        crawl.late_samples.draw()
        assert crawl.samples.test_of(VERDICT.claim).strata == {Stratum(f"{part}?") for part in range(10)}
        assert len(db.samples.of_claim(VERDICT.claim)) < 40

    def test_each_value_of_an_argument_that_many_urls_have_is_looked_at_at_the_end(self, db):
        """One value is what the site takes without any, and says nothing of the others."""
        rule = {"host": CANONICAL, "context": [], "transformation": [["drop", "v", None]], "learntFrom": "combined"}
        number = db.rules.enter(rule, 0.0)
        db.rules.update(number, Standing.IN_FORCE, 9, 0, 9)
        forms = pages_of(CANONICAL, 206)
        enter(db, *forms)
        urls = [f"{form}?v={2 if 100 <= n < 106 else 1}" for n, form in enumerate(forms)]
        found = db.urls.discover([NewUrl(url, CANONICAL, key(url), is_dropped=True) for url in urls])
        claim = Claim(Kind.RULE, str(number))
        rows = zip(found, forms, strict=True)
        db.suppressed.enter([Suppressed(url_id, claim, key(form)) for (url_id, _), form in rows])
        crawl_on(db).late_samples.draw()
        assert {db.urls.url_of(sample.id)[-3:] for sample in db.samples.of_claim(claim)} == {"v=1", "v=2"}

    def test_a_part_of_which_nothing_can_be_told_is_not_fetched_whole(self, db):
        root, *_ = enter(db, f"http://{CANONICAL}/", *(f"http://{CANONICAL}/part/{n}.html" for n in range(100)))
        crawl = crawl_on(db)
        hold(db, crawl)
        follow(crawl, root, [f"http://{MIRROR}/part/{n}.html" for n in range(100)])
        for _ in range(20):
            for sample in db.samples.of_claim(VERDICT.claim):
                crawl.samples.settle(sample.id, Outcome.UNREAD)
            crawl.late_samples.draw()
        assert len(db.samples.of_claim(VERDICT.claim)) < 60
        assert db.verdicts.holding()

    def test_pages_of_the_canonical_host_that_its_copy_brought_before_are_tested_by_themselves(self, db):
        """A copy without links: all of its pages are on the canonical host, which leads further from each."""
        crawl, (url_id,) = crawl_on(db), enter(db, f"http://{MIRROR}/1.html")
        visit(crawl, url_id, "what both have to say of the things in the world " * 10)
        db.urls.finish([url_id])
        hold(db, crawl)
        fetched, theirs = VERDICT.claim._replace(kind=Kind.FETCHED), f"http://{CANONICAL}/1.html"
        assert crawl.policy.decide(theirs, CANONICAL).claims == (VERDICT.claim, fetched)
        crawl.claims.refute([fetched])
        assert crawl.policy.decide(theirs, CANONICAL) is FETCH
        assert crawl.replicas.verdict_of(MIRROR) == VERDICT

    def test_a_page_that_leads_further_than_the_one_its_copy_brought_before_is_another_page(self, db):
        same, crawl = "what both have to say of the things in the world " * 10, crawl_on(db)
        urls = [f"http://{host}/1.html" for host in (MIRROR, CANONICAL)]
        copy, ours = enter(db, *urls)
        crawl.fetches.end_callback(visit(crawl, copy, same, [f"http://{MIRROR}/2.html"]))
        db.urls.finish([copy])
        hold(db, crawl)
        decision = crawl.policy.decide(urls[1], CANONICAL)
        crawl.samples.enter(ours, urls[1], decision)
        crawl.fetches.end_callback(visit(crawl, ours, same, [f"http://{CANONICAL}/{number}.html" for number in (2, 3)]))
        for number, outcome in ((2, Outcome.SAME), (3, Outcome.OTHER)):
            url = f"http://{CANONICAL}/{number}.html"
            crawl.fetches.end_callback(
                visit(crawl, db.urls.find([key(url)])[key(url)].id, f"what page {number} says alone " * 10)
            )
            assert {one.outcome for one in db.samples.of_url(ours)} == {outcome}

    @pytest.mark.parametrize("is_linked", [False, True])
    def test_what_a_copy_alone_led_to_counts_against_its_page_at_the_end(self, db, is_linked):
        """All pages of the copy are on the canonical host, where nothing leads to those below: they would be lost."""
        same, own = "what both have to say of the things in the world " * 10, f"http://{CANONICAL}/own.html"
        copy, ours, front = enter(db, f"http://{MIRROR}/1.html", f"http://{CANONICAL}/1.html", f"http://{CANONICAL}/")
        crawl = crawl_on(db)
        hold(db, crawl)
        crawl.samples.enter(copy, f"http://{MIRROR}/1.html", crawl.policy.decide(f"http://{MIRROR}/1.html", MIRROR))
        crawl.fetches.end_callback(visit(crawl, ours, same))
        crawl.fetches.end_callback(visit(crawl, copy, same, [f"http://{MIRROR}/own.html"]))
        assert {one.outcome for one in db.samples.of_url(copy)} == {Outcome.SAME}
        crawl.fetches.end_callback(
            visit(crawl, db.urls.find([key(own)])[key(own)].id, "what nobody else has to say of it " * 10)
        )
        crawl.fetches.end_callback(
            visit(crawl, front, "the first page of the canonical host " * 10, [own] if is_linked else [])
        )
        crawl.late_samples.draw()
        expected = Outcome.SAME if is_linked else Outcome.OTHER
        assert {one.outcome for one in db.samples.of_url(copy)} == {expected}

    def test_what_only_a_page_leads_to_that_nothing_asked_for_is_beyond(self, db):
        """It is no request that plain Scrapy makes, so it is none that was saved: a session may have begun there."""
        front, ours = enter(db, f"http://{CANONICAL}/", f"http://{CANONICAL}/1.html")
        both, alone, further = (f"http://{CANONICAL}/{name}" for name in ("both", "alone", "further"))
        crawl = crawl_on(db)
        db.unrequested.enter(ours)
        crawl.fetches.end_callback(
            visit(crawl, ours, "a page that nothing asked for and what it says " * 10, [both, alone])
        )
        ids = {url: known.id for url in (both, alone) for known in db.urls.find([key(url)]).values()}
        assert db.unrequested.beyond == {*ids.values()}
        crawl.fetches.end_callback(
            visit(crawl, ids[alone], "another one which only that page leads to " * 10, [further])
        )
        crawl.recent_links.clear()
        visit(crawl, front, "the first page of the canonical host " * 10, [both])
        assert db.unrequested.beyond == {ids[alone], db.urls.known(key(further)).id}
        del db.unrequested.__dict__["beyond"]  # as a process that begins reads it
        assert db.unrequested.beyond == {ids[alone], db.urls.known(key(further)).id}

    @pytest.mark.parametrize(
        ("is_same", "leads_on", "stands_for_others", "is_followed"),
        [
            (True, False, False, False),
            (False, False, False, True),
            (True, True, False, True),
            (True, False, True, True),
        ],
    )
    def test_a_page_that_nothing_asked_for_and_that_another_one_is_leads_nowhere(
        self, db, is_same, leads_on, stands_for_others, is_followed
    ):
        """It may begin a session, in which all has names of its own: 7,283 of 754 requests were made."""
        asked, ours = enter(db, f"http://{CANONICAL}/1.html?sid=1", f"http://{CANONICAL}/1.html")
        crawl, says = crawl_on(db), "what this page has to say of the things in the world " * 10
        db.unrequested.enter(ours)
        crawl.fetches.end_callback(visit(crawl, asked, says, [f"http://{CANONICAL}/2.html?sid=1"]))
        if stands_for_others:
            (other,) = enter(db, f"http://{CANONICAL}/1.html?sid=3", is_done=True)
            db.suppressed.enter([Suppressed(other, Claim(Kind.RULE, "1"), key(f"http://{CANONICAL}/1.html"))])
        there = f"http://{CANONICAL}/{9 if leads_on else 2}.html?sid=2"
        crawl.fetches.end_callback(visit(crawl, ours, says if is_same else f"{says} and more than that", [there]))
        assert (db.urls.known(key(there)) is not None) is is_followed
        assert crawl.counts["frontier/unneeded"] == (not is_followed)
        assert ours not in crawl.outlinks.unshown

    def test_of_one_that_is_fetched_again_the_links_are_entered(self, db):
        """Who is killed before its callback is through fetches it again, and by then it is known."""
        asked, ours = enter(db, f"http://{CANONICAL}/1.html?sid=1", f"http://{CANONICAL}/1.html")
        crawl, says = crawl_on(db), "what this page has to say of the things in the world " * 10
        db.unrequested.enter(ours)
        crawl.fetches.end_callback(visit(crawl, asked, says, [f"http://{CANONICAL}/2.html?sid=1"]))
        there = f"http://{CANONICAL}/2.html?sid=2"
        again = visit(crawl, ours, says, [there])
        assert db.urls.known(key(there)) is None
        again.is_known, again.held = True, ()
        crawl.outlinks.follow_new(again, again.page.links)
        assert db.urls.known(key(there)) is not None

    @pytest.mark.parametrize("is_unrequested", [False, True])
    def test_where_such_a_url_redirects_is_beyond(self, db, is_unrequested):
        """A URL without a session redirects to one that it begins: 367 requests were told to be saved, and 351 were."""
        (asked,) = enter(db, f"http://{CANONICAL}/home")
        crawl, url = crawl_on(db), f"http://{CANONICAL}/7/home"
        if is_unrequested:
            db.unrequested.enter(asked)
        crawl.frontier.enter([(NewUrl(url, CANONICAL, key(url)), FETCH)], via=f"http://{CANONICAL}/home")
        assert (db.urls.known(key(url)).id in db.unrequested.beyond) is is_unrequested

    @pytest.mark.parametrize("is_beyond", [False, True])
    def test_of_what_only_such_pages_lead_to_no_page_is_the_only_finder(self, db, is_beyond):
        """In a session of its own all that a page leads to has names of its own: 1,954 of 168 requests were made."""
        (front,) = enter(db, f"http://{CANONICAL}/")
        crawl, url = crawl_on(db), f"http://{CANONICAL}/1.html"
        new = NewUrl(url, CANONICAL, key(url), parent=front, permission=Permission.AS_ASKED)
        crawl.frontier.enter([(new, FETCH)])
        found = db.urls.known(key(url)).id
        if is_beyond:
            db.unrequested.enter(found, is_beyond=True)
        assert crawl.evidence._settling.finder_of_news(found) == (None if is_beyond else front)

    def test_what_another_process_asked_for_by_itself_is_led_to_by_a_page_of_this_one(self, db):
        front, ours = enter(db, f"http://{CANONICAL}/", f"http://{CANONICAL}/1.html")
        crawl = crawl_on(db)
        db.unrequested.enter(ours)
        crawl.remote.apply(RemoteUpdate(unrequested={ours}))
        visit(crawl, front, "the first page of the canonical host " * 10, [f"http://{CANONICAL}/1.html"])
        assert db.unrequested.ids == set()


def state(db, url):
    known = db.urls.find([key(url)]).get(key(url))
    return known and known.state


@pytest.mark.parametrize(("words", "other", "outcome"), [(38, 19, Outcome.UNKNOWN), (40, 19, Outcome.OTHER)])
def test_a_page_of_little_text_is_another_one_than_a_page_that_says_much(words, other, outcome):
    """Some words more or less, as a date, say nothing where a page has no twenty."""
    page, representative = (Trace(bytes([one]) * 16, None, one, None, None) for one in (words, other))
    assert compared(page, representative, is_beside_told=False) is outcome


@pytest.mark.parametrize(("links", "outcome"), [(43, Outcome.SAME), (44, Outcome.OTHER)])
def test_a_page_of_the_same_text_with_four_times_the_links_is_another_one(links, outcome):
    """Menus around every page of a copy make up to three times as many links."""
    page, representative = (
        Trace(b"s" * 16, 1, 100, None, PageMark(1, 1, 1, 1, 0, 100, None, None, links=n).pack()) for n in (links, 10)
    )
    assert compared(page, representative, is_beside_told=False) is outcome


class TestFallback:
    """What the canonical host does not bring is asked of its mirror, where something leads there."""

    SAYS = "the only thing that many pages of the canonical host have to say " * 10
    LIST = "all.html"

    def crawl(self, db, known=(), listed=(LIST,)):
        """Let 200 pages be found on a list of the canonical host, to whose place the mirror's first page leads.

        Return the crawl and the ids of the pages; the mirror's first page leads to *listed*, and *known* were fetched.
        """
        front, seed = enter(db, f"http://{MIRROR}/", f"http://{CANONICAL}/")
        enter(db, *(self.there(number) for number in known), is_done=True)
        crawl = crawl_on(db)
        first = "the front page of the mirror, which is the first page that it has " * 10
        visit(crawl, front, first, [f"http://{MIRROR}/{name}" for name in listed])
        hold(db, crawl)
        visit(crawl, seed, "the front page of the canonical host, which leads to a list " * 10, [self.listed()])
        found_on = db.urls.find([key(self.listed())])[key(self.listed())].id
        pages = [f"http://{CANONICAL}/page.html?number={number}" for number in range(200)]
        visit(crawl, found_on, "all that there is on the canonical host, in a list " * 10, pages)
        found = db.urls.find([*map(key, pages)])
        return crawl, [found[key(url)].id for url in pages]

    def listed(self):
        return f"http://{CANONICAL}/{self.LIST}"

    def listed_there(self):
        return f"http://{MIRROR}/{self.LIST}"

    @staticmethod
    def there(number):
        return f"http://{MIRROR}/page.html?number={number}"

    def asked(self, db, numbers=range(200)):
        return db.urls.find([key(self.there(number)) for number in numbers])

    def test_what_is_asked_instead_of_a_page_that_failed_leads_on(self, db):
        crawl, (failed, *_) = self.crawl(db)
        crawl.fetches.observe_failure(failed, 404, None)
        (asked,) = self.asked(db).values()
        behind = f"http://{MIRROR}/behind.html"
        crawl.fetches.end_callback(visit(crawl, asked.id, self.SAYS, [behind]))
        restore(crawl)
        assert state(db, f"http://{CANONICAL}/behind.html") is State.WAITING

    def test_what_the_canonical_host_alone_leads_to_is_not_asked_for(self, db):
        crawl, (failed, repeats, *_) = self.crawl(db, listed=())
        crawl.fetches.observe_failure(failed, 404, None)
        visit(crawl, repeats, "all that there is on the canonical host, in a list " * 10)
        assert not self.asked(db)

    @pytest.mark.parametrize("finder", [None, "http://portal.example/"])
    def test_what_others_lead_to_may_stand_on_left_out_pages_as_well(self, db, finder):
        """Of a page only its first finder is known: a sitemap, or a page of another host."""
        crawl, _ = self.crawl(db, listed=())
        url = f"http://{CANONICAL}/three.html"
        if finder is not None:
            visit(crawl, *enter(db, finder), "what stands on a portal that leads to many sites " * 10, [url])
        (failed,) = enter(db, url)
        crawl.fetches.observe_failure(failed, 404, None)
        assert state(db, f"http://{MIRROR}/three.html") is State.WAITING

    def test_what_a_mirror_leads_to_does_not_stand_on_another_one_whose_page_does_not(self, db):
        """Six mirrors of a site that lead to pages which nobody has took 360 requests of plain Scrapy's 328."""
        crawl, _ = self.crawl(db, listed=())
        hold(db, crawl, replace(VERDICT, copy="second.example"))
        url = f"http://{CANONICAL}/three.html"
        visit(crawl, *enter(db, "http://second.example/"), "the front page of the second mirror " * 10, [url])
        (failed,) = db.urls.find([key(url)]).values()
        crawl.fetches.observe_failure(failed.id, 404, None)
        assert state(db, f"http://{MIRROR}/three.html") is None
        assert state(db, "http://second.example/three.html") is None

    def test_nor_where_the_mirror_has_that_page_without_the_link(self, db):
        crawl, (failed, *_) = self.crawl(db)
        (at_mirror,) = db.urls.find([key(self.listed_there())]).values()
        visit(crawl, at_mirror.id, "what the mirror has in place of the list of all that there is " * 10)
        crawl.fetches.observe_failure(failed, 404, None)
        assert not self.asked(db)

    def test_what_turns_out_later_to_be_led_to_is_asked_for_at_the_end(self, db):
        """A partial copy that was elected lost four of 2,491 pages to which a list of its own alone led until then."""
        crawl, (failed, *_) = self.crawl(db, listed=())
        crawl.fetches.observe_failure(failed, 404, None)
        (late,) = enter(db, f"http://{MIRROR}/late.html")
        others = [f"http://{MIRROR}/other-{number}.html" for number in range(20)]
        says = "a page of the mirror that is fetched late and leads to the list " * 10
        visit(crawl, late, says, [self.listed_there(), *others])
        assert state(db, self.listed_there()) is State.DROPPED
        assert not self.asked(db)
        assert crawl.late_samples.draw()
        assert [*self.asked(db)] == [key(self.there(0))]

    def test_of_pages_that_nothing_leads_to_at_the_mirror_samples_are_asked(self, db):
        crawl, pages = self.crawl(db)
        for number, page in enumerate(pages):
            visit(crawl, page, f"the page of the number {number} of the canonical host and what it says {number} " * 10)
            for one in self.asked(db, [number]).values():
                assert crawl.samples.is_sample(one.id)
                says = f"the page of the number {number} of the canonical host and what it says {number} " * 10
                crawl.fetches.end_callback(visit(crawl, one.id, says))
        assert 5 <= len(self.asked(db)) <= 40

    def test_what_was_not_drawn_is_forgotten_before_it_fills_the_memory(self, db, monkeypatch):
        monkeypatch.setattr(fallback, "MOST_IN_ALL", 20)
        crawl, pages = self.crawl(db)
        for number, page in enumerate(pages):
            visit(crawl, page, f"the page of the number {number} of the canonical host and what it says {number} " * 10)
        assert 0 < sum(map(len, crawl.fallback.unlinked.values())) <= 20

    def test_one_that_is_missing_there_says_nothing_against_the_mirror(self, db):
        crawl, pages = self.crawl(db)
        for number, page in enumerate(pages):
            visit(crawl, page, f"the page of the number {number} of the canonical host and what it says {number} " * 10)
            for one in self.asked(db, [number]).values():
                crawl.fetches.observe_failure(one.id, 404, None)
        assert crawl.replicas.holding()

    def test_mirrors_are_asked_of_ever_fewer_pages_that_repeat_others(self, db):
        """When all were asked a shop whose goods have four URLs took 580 requests in place of 400."""
        crawl, pages = self.crawl(db)
        for number, page in enumerate(pages):
            visit(crawl, page, self.SAYS)
            for one in self.asked(db, [number]).values():
                crawl.fetches.end_callback(visit(crawl, one.id, self.SAYS))
        assert 8 <= len(self.asked(db)) <= 40

    def test_what_was_fetched_before_is_no_sample_of_what_mirrors_say(self, db):
        """Twenty such counted as agreeing, and of the rest none was asked."""
        crawl, pages = self.crawl(db, known=range(40))
        for page in pages[:60]:
            visit(crawl, page, self.SAYS)
        assert len(self.asked(db, range(40, 60))) >= 5


class TestWithdrawn:
    """What waits in the place of others when the claim that put it there ends: a site has no pages of those names."""

    PUT, THEIRS = pages_of(CANONICAL, 60), pages_of(MIRROR, 60)

    def crawl(self, db):
        """Let a page lead to sixty URLs of a mirror, in whose place as many of the canonical host wait."""
        (root,) = enter(db, f"http://{CANONICAL}/")
        crawl = crawl_on(db)
        hold(db, crawl)
        follow(crawl, root, self.THEIRS)
        assert {state(db, url) for url in self.PUT} == {State.WAITING}
        return crawl

    @staticmethod
    def end(crawl):
        decision = Decision(Action.FETCH, Action.DROP, Reason.REPLICA_HOST, claims=(VERDICT.claim,))
        for url_id in enter(crawl.store, *pages_of(MIRROR, 205, first=200), is_done=True):
            crawl.samples.enter(url_id, crawl.store.urls.url_of(url_id), decision)
            crawl.claims.refute(crawl.samples.settle(url_id, Outcome.FAILED))
        assert not crawl.replicas.holding()
        restore(crawl)

    def test_it_is_not_fetched_and_what_it_stood_for_is(self, db):
        crawl = self.crawl(db)
        self.end(crawl)
        assert {state(db, url) for url in self.PUT} == {None}
        assert {state(db, url) for url in self.THEIRS} == {State.WAITING}
        assert crawl.counts["frontier/withdrawn"] == 60
        assert db.unrequested.ids == set()
        assert db.urls.waiting == 61
        taken = [crawl.take().url for _ in range(61)]
        assert sorted(taken) == sorted([f"http://{CANONICAL}/", *self.THEIRS])
        assert crawl.take() is None

    def test_a_link_finds_it_anew(self, db):
        crawl = self.crawl(db)
        self.end(crawl)
        (front,) = enter(db, f"http://{CANONICAL}/")
        follow(crawl, front, self.PUT)
        assert {state(db, url) for url in self.PUT} == {State.WAITING}

    def test_what_a_page_led_to_meanwhile_stays(self, db):
        crawl, (front,) = self.crawl(db), enter(db, f"http://{CANONICAL}/")
        follow(crawl, front, self.PUT[:1])
        crawl.outlinks.follow_new(visit(crawl, front, "the same once more " * 20), (Link(self.PUT[1]),))
        self.end(crawl)
        assert [url for url in self.PUT if state(db, url)] == self.PUT[:2]

    def test_what_is_in_flight_or_was_fetched_stays(self, db):
        crawl = self.crawl(db)
        taken = [crawl.take() for _ in range(30)]
        again = next(row for row in taken if row.url in self.PUT)
        db.urls.retry(again.id, 0, None)
        self.end(crawl)
        for row in taken:
            assert state(db, row.url) is (State.WAITING if row is again else State.LEASED)

    def test_what_another_claim_put_there_as_well_stays(self, db):
        crawl, rule = self.crawl(db), (Claim(Kind.RULE, "1"),)
        for put in self.PUT[:20]:
            url = f"{put}?sid=1"
            decision = Decision(Action.REWRITE, Action.DROP, Reason.DUST_RULE, claims=rule, url=put, representative=put)
            crawl.frontier.enter([(NewUrl(url, CANONICAL, key(url)), decision)])
        assert db.suppressed.count(rule[0], 20) > 5
        self.end(crawl)
        assert [url for url in self.PUT if state(db, url)] == self.PUT[:20]

    @pytest.mark.parametrize("claims", [(), (Claim(Kind.MIRROR, "alias.example", CANONICAL),)])
    def test_what_a_person_put_there_as_well_stays(self, db, claims):
        crawl, url = self.crawl(db), "http://alias.example/0.html"
        reason = Reason.MANUAL_BLOCK if claims else Reason.MANUAL_ALIAS
        order = Decision(Action.REWRITE, Action.REWRITE, reason, claims=claims, url=self.PUT[0])
        crawl.frontier.enter([(NewUrl(url, "alias.example", key(url)), order)])
        self.end(crawl)
        assert [url for url in self.PUT if state(db, url)] == self.PUT[:1]

    def test_what_is_a_probe_or_a_fallback_as_well_stays(self, db):
        crawl = self.crawl(db)
        db.urls.rescore({key(self.PUT[0]): URGENT})
        (failed,) = enter(db, "http://third.example/1.html")
        crawl.frontier.enter_in_place_of(db.urls.row(failed), self.PUT[1])
        self.end(crawl)
        assert [url for url in self.PUT if state(db, url)] == self.PUT[:2]

    def test_what_is_a_sample_as_well_stays(self, db):
        """Its row outlived the URL, and what is looked at at the end ended in a traceback: the crawl never did."""
        crawl = self.crawl(db)
        decision = Decision(Action.FETCH, Action.DROP, Reason.TRAP_BUDGET, claims=(TRAP,))
        put = db.urls.find([key(self.PUT[0])])[key(self.PUT[0])]
        crawl.samples.enter(put.id, self.PUT[0], decision)
        self.end(crawl)
        assert [url for url in self.PUT if state(db, url)] == self.PUT[:1]

    def test_what_an_open_sample_of_a_claim_that_goes_on_is_held_against_stays(self, db):
        crawl = self.crawl(db)
        samples = db.samples.of_claim(VERDICT.claim)
        crawl.claims.lift_mirrors(crawl.replicas.allow(MIRROR))  # a person may take that back
        restore(crawl)
        kept = {key(url) for url in self.PUT if state(db, url)}
        assert kept == {sample.representative for sample in samples}

    def test_what_was_said_to_be_repeated_by_it_a_moment_ago_is_decided_about_anew(self, db):
        crawl, scheme = self.crawl(db), (Claim(Kind.SCHEME, CANONICAL),)
        decisions = [
            Decision(Action.DROP, Action.DROP, Reason.OTHER_SCHEME, claims=scheme, representative=url)
            for url in self.PUT
        ]
        self.end(crawl)
        urls = [url.replace("http:", "https:") for url in self.PUT]
        new = [NewUrl(url, CANONICAL, key(url)) for url in urls]
        crawl.frontier.enter(list(zip(new, decisions, strict=True)))
        assert {state(db, url) for url in urls} == {State.WAITING}

    def test_nothing_is_withdrawn_of_what_an_earlier_run_put_there(self, tmp_path):
        db = SqliteCrawlDB(tmp_path, "x")
        self.crawl(db)
        db.close()
        db = SqliteCrawlDB(tmp_path, "x")
        self.end(crawl_on(db))
        assert {state(db, url) for url in (*self.PUT, *self.THEIRS)} == {State.WAITING}
        db.close()

    def test_a_crawl_that_is_killed_meanwhile_has_either(self, tmp_path):
        db = SqliteCrawlDB(tmp_path, "x")
        crawl = self.crawl(db)
        db.commit()
        self.end(crawl)
        db.abandon()
        db = SqliteCrawlDB(tmp_path, "x")
        assert {state(db, url) for url in self.PUT} == {State.WAITING}
        assert db.verdicts.holding()
        db.close()

    def test_in_a_shared_crawl_nothing_is_withdrawn(self, db):
        crawl = self.crawl(db)
        db.is_shared = True
        self.end(crawl)
        assert {state(db, url) for url in (*self.PUT, *self.THEIRS)} == {State.WAITING}


class TestEnds:
    def refute(self, crawl, numbers=(101, 102)):
        for number in numbers:
            url = f"http://a.example/{number}"
            decision = Decision(Action.FETCH, Action.DROP, Reason.TRAP_BUDGET, claims=(TRAP,))
            url_id = enter(crawl.store, url)[0]
            crawl.samples.enter(url_id, url, decision)
            crawl.claims.refute(crawl.samples.settle(url_id, Outcome.OTHER))

    def test_what_was_refuted_stays_so_after_a_resume(self, tmp_path):
        """Case 3: samples that were found earlier and settled later made the claim act again."""
        db = SqliteCrawlDB(tmp_path, "x")
        crawl = crawl_on(db)
        known = enter(db, *(f"http://a.example/{number}" for number in range(40)))
        self.refute(crawl)
        for url_id in known:
            decision = Decision(Action.FETCH, Action.DROP, Reason.TRAP_BUDGET, claims=(TRAP,))
            crawl.samples.enter(url_id, db.urls.url_of(url_id), decision)
            crawl.samples.settle(url_id, Outcome.SAME)
        db.close()
        db = SqliteCrawlDB(tmp_path, "x")
        crawl = crawl_on(db)
        assert not crawl.samples.test_of(TRAP).is_refuted  # two of 42: the test alone would let it act
        assert crawl.store.claims.is_refuted(TRAP)
        db.close()

    def test_one_that_is_refuted_twice_is_restored_once(self, db):
        crawl = crawl_on(db)
        self.refute(crawl)
        restore(crawl)
        self.refute(crawl, (103, 104))
        assert not crawl.restorer.has_work
        assert crawl.counts["sample/ended/trap-budget"] == 1

    def test_no_sample_refutes_a_limit_of_the_user(self, db):
        """In observe mode what is beyond a limit is fetched, and is new; the limit holds when the mode is another."""
        crawl, limit = crawl_on(db), Claim(Kind.BUDGET, "a.example", "path-budget")
        crawl.claims.refute([limit])
        assert not crawl.store.claims.is_refuted(limit)
        assert not crawl.restorer.has_work

    def test_a_page_that_failed_refutes_nothing(self, db):
        crawl = crawl_on(db)
        with suppress(RuntimeError), db.span():
            self.refute(crawl)
            raise RuntimeError
        assert not crawl.store.claims.is_refuted(TRAP)
        assert crawl.samples.test_of(TRAP).n_samples == 0

    def test_with_a_mirror_ends_what_is_said_of_the_links_of_its_pages(self, db):
        crawl = crawl_on(db)
        hold(db, crawl)
        crawl.claims.refute([VERDICT.claim])
        assert crawl.store.claims.is_refuted(Claim(Kind.LINKS, CANONICAL, MIRROR))

    def test_what_was_decided_before_the_end_is_decided_anew(self, db):
        """A link is decided about when its page is observed, and entered a while later."""
        enter(db, f"http://{CANONICAL}/", *pages_of(CANONICAL, 5))
        crawl = crawl_on(db, explore=0.0)
        hold(db, crawl)
        url = f"http://{MIRROR}/1.html"
        decision = crawl.policy.decide(url, MIRROR)
        assert decision.action is Action.REWRITE
        crawl.claims.refute([VERDICT.claim])
        assert crawl.frontier.enter([(NewUrl(url, MIRROR, key(url)), decision)])[0].is_waiting


class TestLostRequests:
    def opened(self, folder):
        db = SqliteCrawlDB(folder, "x")
        payloads = RequestPayloads(is_stored=True, url_of=db.urls.url_of, counts=Counter())
        payloads.spider = Spider("x")
        return db, payloads, crawl_on(db, payloads, explore=0.0)

    def test_one_that_only_an_earlier_run_could_make_is_given_out_and_not_moved(self, tmp_path):
        """Case 6: it was dropped, and came back in a later run with a payload that nobody had: it stayed leased."""
        url, other = f"http://{MIRROR}/1.html", "http://other.example/1.html"
        db = SqliteCrawlDB(tmp_path, "x")
        enter(db, f"http://{CANONICAL}/1.html", other)
        db.close()
        db, payloads, crawl = self.opened(tmp_path)
        hold(db, crawl)
        new = NewUrl(url, MIRROR, key(url), payload=payloads.dump(Request(url, callback=lambda response: None), None))
        crawl.frontier.enter([(new, crawl.policy.decide(url, MIRROR))])
        assert db.urls.find([key(url)])[key(url)].state is State.DROPPED
        db.close()
        db, payloads, crawl = self.opened(tmp_path)
        crawl.claims.refute([VERDICT.claim])
        crawl.replicas.block(MIRROR, "other.example")  # which would have the other host asked
        taken = {row.url: row for row in iter(crawl.take, None)}
        assert len(taken) == 3
        with pytest.raises(LostError):
            payloads.load(taken[url])
        db.close()


class TestSlots:
    def test_what_is_asked_elsewhere_keeps_the_slot_of_the_user(self, db):
        """Case 9: a request that was moved to another host came into that host's slot, and ran beside the user's."""
        url, other = f"http://{MIRROR}/1.html", f"http://{CANONICAL}/1.html"
        db.urls.discover([NewUrl(url, MIRROR, key(url), slot="mine")])
        crawl = crawl_on(db, explore=0.0)
        taken = db.urls.take()
        assert crawl.frontier.enter_in_place_of(taken, other) is not None
        assert db.urls.take().slot == "mine"
        db.urls.finish([taken.id])
        url = f"http://{MIRROR}/2.html"
        db.urls.discover([NewUrl(url, MIRROR, key(url), slot="mine")])
        hold(db, crawl)
        taken = db.urls.take()
        assert not crawl.frontier.decide_again(taken)  # it is rewritten
        assert db.urls.take().slot == "mine"

    def test_the_slot_of_the_host_is_not_the_users(self, db):
        url, other = f"http://{MIRROR}/1.html", f"http://{CANONICAL}/1.html"
        enter(db, url)
        crawl = crawl_on(db)
        crawl.frontier.enter_in_place_of(db.urls.take(), other)
        assert db.urls.take().slot == CANONICAL


@pytest.mark.parametrize(
    ("reason", "number", "is_fetched"),
    [(Reason.DUST_RULE, 1, True), (Reason.DUST_RULE, 2, False), (Reason.MANUAL_BLOCK, 1, False)],
)
def test_what_a_sample_is_held_against_is_not_dropped_for_the_sample(db, monkeypatch, reason, number, is_fetched):
    """One of 85 crawls of a site lost thirty pages so: the one sample that would have told stood for its control."""
    crawl = crawl_on(db, explore=1.0)
    hold(db, crawl)
    place, other = f"http://{CANONICAL}/1.html", f"http://{MIRROR}/1.html"
    enter(db, place, f"http://{MIRROR}/2.html")
    crawl.frontier.enter([(NewUrl(other, MIRROR, key(other)), crawl.policy.decide(other, MIRROR))])
    assert crawl.samples.open_of(db.urls.known(key(other)).id)
    taken = db.urls.row(db.urls.known(key(place)).id)
    rule = Claim(Kind.RULE, "1")
    stands = f"http://{MIRROR}/{number}.html"
    decision = Decision(Action.DROP, Action.DROP, reason, 1.0, claims=(rule,), representative=stands)
    monkeypatch.setattr(crawl.policy, "decide", lambda *_: decision)
    monkeypatch.setattr(crawl.samples, "draw", lambda decision, *_: decision)
    assert crawl.frontier.decide_again(taken) is is_fetched


@pytest.mark.parametrize(
    ("action", "entered"), [(Action.DEMOTE, State.WAITING), (Action.REWRITE, State.WAITING), (Action.DROP, None)]
)
def test_what_stands_for_one_whose_turn_has_come_is_fetched(db, monkeypatch, action, entered):
    """Also where a guess lets it wait on: a site took 816 requests of 604 when the representative was not asked for."""
    crawl = crawl_on(db)
    url, other = f"http://{MIRROR}/1.html?session=1", f"http://{MIRROR}/1.html"
    enter(db, url)
    moved = other if action is not Action.DROP else None
    decision = Decision(action, Action.DROP, Reason.DUST_RULE, url=moved, claims=(Claim(Kind.RULE, "1"),))
    monkeypatch.setattr(crawl.policy, "decide", lambda asked, *_: decision if asked == url else FETCH)
    monkeypatch.setattr(crawl.samples, "draw", lambda decision, *_: decision)
    assert not crawl.frontier.decide_again(db.urls.take())
    assert state(db, other) is entered


@pytest.mark.parametrize(("says", "is_of_many"), [("one text", True), ("text {} of a pair", False)])
def test_what_was_saved_comes_back_where_the_page_in_its_place_repeats_another(db, says, is_of_many):
    """All of it where many say the same, and else a sample; when all came back, two names of one host saved nothing."""
    crawl = crawl_on(db)
    hold(db, crawl)
    places = pages_of(CANONICAL, 200)
    for place in places[1::2]:
        other = place.replace(CANONICAL, MIRROR)
        enter(db, place)
        crawl.frontier.enter([(NewUrl(other, MIRROR, key(other)), crawl.policy.decide(other, MIRROR))])
        if state(db, other) is not State.DROPPED:  # a sample of the mirror, or what it is held against
            db.urls.finish([db.urls.known(key(other)).id])
    saved = [place for place in places[1::2] if state(db, place.replace(CANONICAL, MIRROR)) is State.DROPPED]
    assert len(saved) > 80
    for number, place in enumerate(places):
        (url_id,) = enter(db, place)
        crawl.fetches.end_callback(visit(crawl, url_id, says.format(number // 2) + " word" * 40))
        db.urls.finish([url_id])
        restore(crawl)
        there = place.replace(CANONICAL, MIRROR)
        if place in saved and state(db, there) is State.WAITING:
            asked = db.urls.known(key(there)).id
            crawl.fetches.end_callback(visit(crawl, asked, says.format(number // 2) + " word" * 40))
            db.urls.finish([asked])
    back = [place for place in saved if state(db, place.replace(CANONICAL, MIRROR)) is not State.DROPPED]
    assert len(back) >= len(saved) - MANY if is_of_many else 5 <= len(back) <= 40


@pytest.mark.parametrize("is_known", [False, True])
def test_what_was_dropped_there_comes_back_as_it_was_asked_for(db, is_known):
    """It came back with the callback of the page that failed, or that repeats another one of its host."""
    url, other, mine = f"http://{CANONICAL}/1.html", f"http://{MIRROR}/1.html", b'{"callback":"of_mirror"}'
    db.urls.discover([NewUrl(url, CANONICAL, key(url), payload=b'{"callback":"of_canonical"}')])
    crawl = crawl_on(db, explore=0.0)
    hold(db, crawl)
    if is_known:
        new = NewUrl(other, MIRROR, key(other), payload=mine)
        crawl.frontier.enter([(new, crawl.policy.decide(other, MIRROR))])
        assert state(db, other) is State.DROPPED
    asked = crawl.frontier.enter_in_place_of(db.urls.take(), other)
    assert (state(db, other), db.urls.row(asked).payload == mine) == (State.WAITING, is_known)
    assert not db.suppressed.of_url(asked)


class TestRestoring:
    def test_what_a_page_stands_for_again_does_not_come_back_without_end(self, db):
        """A callback got the redirect of that page itself: it brought nothing, and a rule names it as before."""
        urls, target = pages_of(MIRROR, 150), f"http://{MIRROR}/target.html"
        ids, rules = enter(db, *urls), [Claim(Kind.RULE, "1"), Claim(Kind.RULE, "2")]

        def drop(url_ids):
            for url_id in url_ids:
                db.urls.drop(url_id)
            db.suppressed.enter(Suppressed(url_id, rule, key(target)) for url_id in url_ids for rule in rules)

        crawl = crawl_on(db)
        drop(ids)
        crawl.claims.restore_for(key(target), Why.GONE, target, is_anew=True)
        came_back = Counter()
        for _ in range(10):
            crawl.restorer.work()
            waiting = [row.id for row in iter(db.urls.take, None)]
            came_back.update(waiting)
            drop(waiting)
        assert not crawl.restorer.has_work
        assert came_back.keys() == {*ids}
        assert max(came_back.values()) <= len(rules)

    def test_work_goes_on_after_a_kill(self, tmp_path):
        db = SqliteCrawlDB(tmp_path, "x")
        enter(db, *pages_of(CANONICAL, 250))
        crawl = crawl_on(db, explore=0.0)
        hold(db, crawl)
        dropped = pages_of(MIRROR, 250)
        crawl.frontier.enter([(NewUrl(url, MIRROR, key(url)), crawl.policy.decide(url, MIRROR)) for url in dropped])
        assert len(db.suppressed.claims()) == 1
        crawl.claims.refute([VERDICT.claim])
        crawl.restorer.work()  # one slice, and the process is gone
        db.commit()
        db.abandon()
        db = SqliteCrawlDB(tmp_path, "x")
        crawl = crawl_on(db)
        restore(crawl)
        assert {known.state for known in db.urls.find(map(key, dropped)).values()} == {State.WAITING}
        assert db.suppressed.claims() == []
        assert db.suppressed.unfinished() == []
        db.close()

    def test_work_has_one_name_and_reads_it(self):
        for work in (Work(TRAP), Work(None, -5), Work(None, 7, is_anew=True), Work(Claim(Kind.SCOPE))):
            assert Work.read(str(work)) == work

    def test_a_restoration_is_evidence(self):
        told = Restoration(Why.REFUTED, str(TRAP), {"pairs": 3}).evidence()
        assert told == {"restored": "refuted", "what": "trap a.example of calendar", "pairs": 3}


@settings(max_examples=20, stateful_step_count=25, suppress_health_check=list(HealthCheck))
class Life(RuleBasedStateMachine):
    """The life of a mirror: drawn, entered, settled, refuted, too old, found again, resumed."""

    @initialize(explore=st.sampled_from([0.0, 0.1, 1.0]))
    def begin(self, explore):
        self.folder, self.config = TemporaryDirectory(), {"explore": explore}
        self.is_refuted, self.n = False, 0
        self.open()
        self.root = enter(self.db, f"http://{CANONICAL}/")[0]

    def open(self):
        self.db = SqliteCrawlDB(Path(self.folder.name), "x")
        self.crawl = crawl_on(self.db, **self.config)

    def teardown(self):
        if hasattr(self, "db"):
            self.db.close()
            self.folder.cleanup()

    @property
    def standing(self):
        row = self.db.connection.read("SELECT standing FROM verdicts ORDER BY id DESC LIMIT 1").fetchone()
        return Standing(row[0]) if row else None

    @precondition(lambda self: not self.is_refuted and self.standing is not Standing.IN_FORCE)
    @rule()
    def find(self):
        hold(self.db, self.crawl)

    @rule(n=st.integers(1, 12), are_known=st.booleans())
    def link(self, n, are_known):
        if are_known:
            enter(self.db, *pages_of(CANONICAL, self.n + n, self.n))
        urls = pages_of(MIRROR, self.n + n, max(0, self.n - 3))
        self.n += n
        follow(self.crawl, self.root, urls)

    @rule(outcome=st.sampled_from([Outcome.SAME, Outcome.SAME, Outcome.OTHER, Outcome.UNKNOWN, Outcome.FAILED]))
    def settle(self, outcome):
        waiting = [sample for sample in self.db.samples.of_claim(VERDICT.claim) if sample.outcome is None]
        for sample in waiting[:1]:
            self.crawl.claims.refute(self.crawl.samples.settle(sample.id, outcome))
        self.is_refuted |= self.standing is Standing.REFUTED

    @precondition(lambda self: self.standing is Standing.IN_FORCE)
    @rule()
    def grow_old(self):
        self.db.connection.write("UPDATE verdicts SET expires_at = 1 WHERE standing = 'in force'")
        self.crawl.obey()
        assert self.standing is Standing.SUSPENDED

    @rule()
    def take(self):
        if (taken := self.crawl.take()) is not None:
            self.db.urls.finish([taken.id])

    @rule(is_killed=st.booleans())
    def resume(self, is_killed):
        self.db.commit()
        if is_killed:
            self.db.abandon()
        else:
            self.db.close()
        self.open()

    @rule()
    def fail(self):
        """A page that raises: nothing of it stays, in the store or in memory."""
        before, work = self.standing, self.db.suppressed.unfinished()
        with suppress(RuntimeError), self.db.span():
            url = f"http://{MIRROR}/{self.n}.html"
            self.crawl.frontier.enter([(NewUrl(url, MIRROR, key(url)), self.crawl.policy.decide(url, MIRROR))])
            self.crawl.claims.refute([VERDICT.claim])
            raise RuntimeError
        self.crawl.fetches.forget(MIRROR)
        assert (self.standing, self.db.suppressed.unfinished()) == (before, work)
        if not work:
            self.crawl.restorer.work()
            assert not self.crawl.restorer.has_work

    @invariant()
    def what_is_counted_is_what_is_in_the_table(self):
        if not hasattr(self, "db"):
            return
        rows = self.db.samples.of_claim(VERDICT.claim)
        slow = ClaimTest()
        for row in rows:
            slow.add(row.outcome, row.representative, row.stratum)
        test = self.crawl.samples.test_of(VERDICT.claim)
        assert +test.outcomes == +slow.outcomes
        assert (test.met, test.strata, +test.agreed) == (slow.met, slow.strata, +slow.agreed)
        fresh = Samples(self.db, 0.1, 7, key)
        decision = Decision(Action.DROP, Action.DROP, Reason.REPLICA_HOST, claims=(VERDICT.claim,), n_agreed=3)
        own = Samples(self.db, 0.1, 7, key)
        own._tests = {VERDICT.claim: test}
        urls = [f"http://{MIRROR}/{number}/x" for number in range(20)]
        assert [own.draw(decision, url) for url in urls] == [fresh.draw(decision, url) for url in urls]

    @invariant()
    def what_is_refuted_stays_so(self):
        if hasattr(self, "db") and self.is_refuted:
            assert self.standing is Standing.REFUTED
            assert self.crawl.replicas.verdict_of(MIRROR) is None
            assert self.crawl.policy.decide(f"http://{MIRROR}/x", MIRROR).action is Action.FETCH

    @invariant()
    def what_acts_is_what_its_row_says(self):
        if hasattr(self, "db"):
            is_in_force = self.standing is Standing.IN_FORCE
            assert (self.crawl.replicas.verdict_of(MIRROR) is not None) is is_in_force

    @invariant()
    def nothing_stays_suppressed_by_what_is_not_in_force(self):
        """All that a claim suppressed waits again, or its work is written down."""
        if hasattr(self, "db") and self.standing is not Standing.IN_FORCE and not self.crawl.restorer.has_work:
            assert self.db.suppressed.claims(Kind.MIRROR) == []
            assert self.db.suppressed.unfinished() == []


TestLife = Life.TestCase


def test_exempt_urls_are_asked_for_as_they_are(db):
    enter(db, *pages_of(CANONICAL, 3))
    crawl = crawl_on(db)
    hold(db, crawl)
    assert crawl.policy.decide(f"http://{MIRROR}/1.html", MIRROR, Permission.EXEMPT).action is Action.FETCH
