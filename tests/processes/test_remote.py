"""Crawls of several processes on one job: they find what one process finds, and lose nothing."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from redis_server import RedisServer
from shared_crawls import IN_FLIGHT, Crawls
from test_live_replicas import html, site, text_of

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Kind, Standing, Why
from scrapy_replica.config import Config, ConfigError
from scrapy_replica.crawl.urls.watched_rule import IMAGES_NEEDED
from scrapy_replica.crawldb.contract import NewUrl, Permission, State
from scrapy_replica.crawldb.orders import ALLOW, EXCLUDE, MARK, PAUSE, RESUME, SEEDS
from scrapy_replica.decision import FETCH, Action, Decision, Mode, Outcome, Reason
from scrapy_replica.focus.background import Background
from scrapy_replica.focus.relevance import Relevance
from scrapy_replica.records import Reach, Verdict
from scrapy_replica.urls.interchange import clean_param

UNSAMPLED = Config(explore=0.0)


@pytest.fixture(scope="module")
def server():
    with TemporaryDirectory() as folder, RedisServer(Path(folder)) as server:
        yield server


@pytest.fixture
def crawls(server):
    open_ones = []

    def crawls(web, n=2, config=UNSAMPLED):
        server.clear()
        open_ones.append(Crawls(web, n, server if n > 1 else None, config))
        return open_ones[-1]

    yield crawls
    for one in open_ones:
        one.__exit__()


def web_of(*sites):
    return {url: html for pages in sites for url, html in pages.items()}


def mirrors():
    """Two copies of one work, and another work."""
    return web_of(site("http://a.example", "one"), site("http://b.example", "one"), site("http://c.example", "two"))


SEEDS_OF = {name: f"http://{name}.example/" for name in "abc"}


def verdicts(one):
    return {frozenset((verdict.copy, verdict.canonical)) for verdict in one.store.verdicts.holding()}


class TestOneJudgement:
    def test_two_processes_reach_the_verdict_that_one_reaches(self, crawls):
        alone = crawls(mirrors(), 1).run(*SEEDS_OF.values())
        both = crawls(mirrors(), 2).run(*SEEDS_OF.values())
        found = [verdicts(one) for one in (*alone.all, *both.all)]
        assert found == [{frozenset({"a.example", "b.example"})}] * 3
        assert all(one.fetched for one in both.all)
        assert len(both.fetched) == len(set(both.fetched))
        assert len(both.fetched) < len(alone.fetched) + 10

    def test_only_the_process_that_leads_reaches_it(self, crawls):
        both = crawls(mirrors()).run(*SEEDS_OF.values())
        blocked = {one.store.is_leader: one.crawl.counts["host/blocked"] for one in both.all}
        assert blocked == {True: 1, False: 0}

    def test_the_lead_changes_and_the_verdict_comes_all_the_same(self, crawls):
        both = crawls(
            web_of(*(site(f"http://{name}.example", work, 80) for name, work in zip("abc", "xxy", strict=True)))
        )
        first, second = both.all
        first.seed(*SEEDS_OF.values())
        for _ in range(8):
            for one in both.all:
                one.turn()
            both.listen()
        assert verdicts(second) == set()
        both.leave(first)
        assert second.listen().is_leader
        while second.turn():
            second.listen()
        assert verdicts(second) == {frozenset({"a.example", "b.example"})}

    def test_what_a_person_ordered_is_asked_of_the_next_leader(self, crawls):
        both = crawls(mirrors())
        first, second = both.all
        first.store.orders.give(ALLOW, {"host": "b.example"}, 1.0)
        assert first.crawl.obey()
        assert not second.crawl.obey()
        both.leave(first)
        second.listen()
        both.run(*SEEDS_OF.values())
        assert verdicts(second) == set()

    def test_the_leader_hears_where_urls_lead_that_others_fetched(self, crawls):
        both = crawls(mirrors())
        leader, other = both.leader, next(one for one in both.all if not one.store.is_leader)
        evidence = leader.crawl.replicas.detector.candidates.host("a.example")
        url = "http://a.example/go/1"
        url_id = other.store.urls.discover([NewUrl(url, "a.example", other.crawl.frontier.key(url))])[0][0]
        other.crawl.fetches.observe_failure(url_id, 302, None, location="http://shop.example/1?way=2")
        other.store.commit()
        leader.listen()
        assert evidence.redirects == {"go/1": "shop.example/1"}

    def test_what_one_asks_for_by_itself_the_other_is_led_to(self, crawls):
        """Else a page of the canonical host would not tell that a copy is not the only one that leads there."""
        first, second = crawls(mirrors()).all
        url = "http://a.example/1"
        new = NewUrl(url, "a.example", first.crawl.frontier.key(url))
        first.crawl.frontier.enter([(new, FETCH)], are_unrequested=True)
        first.store.commit()
        second.listen()
        assert len(second.store.unrequested.ids) == 1
        second.seed(url)
        first.listen()
        assert second.store.unrequested.ids == set()
        assert not first.store.connection.read("SELECT url FROM unrequested").fetchall()

    def test_a_page_is_near_to_what_another_process_fetched(self, crawls):
        text = text_of("the same")
        both = crawls({"http://a.example/": html(text), "http://b.example/": html(text)})
        first, second = both.all
        first.seed("http://a.example/", "http://b.example/")
        first.take()
        second.listen()
        assert second.take().host != first.in_flight[0].host
        first.answer()
        second.listen()
        second.answer()
        assert second.crawl.counts["page/exact-duplicate"] == 1


# Races

COPY = Verdict("b.example", "a.example", "", "", 0.99, 20)


def enter_verdict(one, verdict=COPY):
    now = time.time()
    one.store.verdicts.enter(verdict, now, now + 1e6)
    one.store.commit()
    one.crawl.replicas.apply_remote({verdict.copy})


def follow(one, url):
    """Let *one* decide about a link to *url*, and return the decision."""
    crawl, host = one.crawl, host_of(url)
    decision = crawl.policy.decide(url, host)
    return crawl.frontier.enter([(NewUrl(url, host, crawl.frontier.key(url)), decision)])[0].decision


def state(one, url):
    key = one.crawl.frontier.key(url)
    return one.store.urls.find([key])[key].state


def restore(one):
    """Let *one* do all that is on its way back."""
    while one.crawl.restorer.has_work:
        one.crawl.restorer.work()


class TestRaces:
    ON_COPY, KEPT = "http://b.example/x", "http://a.example/x"

    @pytest.fixture
    def two(self, crawls):
        """Two processes that know of a verdict; the first, which leads, fetches the canonical host's page."""
        both = crawls({self.KEPT: 404, self.ON_COPY: html(text_of("own"))})
        leader, follower = both.all
        leader.seed(self.KEPT)
        enter_verdict(leader)
        assert leader.take().url == self.KEPT
        follower.listen()
        assert leader.store.is_leader
        assert not follower.store.is_leader
        return both

    def save(self, follower):
        assert follow(follower, self.ON_COPY).action in {Action.DROP, Action.REWRITE}
        assert state(follower, self.ON_COPY) is State.DROPPED

    def end(self, two):
        for one in two.all:
            one.store.urls.release("a.example")
        two.run()
        assert self.ON_COPY in two.fetched

    def test_the_target_fails_where_nobody_knows_yet_what_it_saved(self, two):
        leader, follower = two.all
        self.save(follower)
        follower.store.commit()
        leader.answer()
        follower.listen()
        restore(follower)
        assert state(follower, self.ON_COPY) is State.WAITING
        self.end(two)

    def test_the_target_failed_before_this_process_hears_of_it(self, two):
        leader, follower = two.all
        leader.answer()
        self.save(follower)
        follower.store.commit()
        assert state(follower, self.ON_COPY) is State.WAITING
        self.end(two)

    def test_the_verdict_ends_where_nobody_knows_yet_what_it_saved(self, two):
        leader, follower = two.all
        self.save(follower)
        follower.store.commit()
        leader.crawl.claims.refute([COPY.claim])
        restore(leader)
        leader.store.commit()
        follower.listen()
        restore(follower)
        assert follower.crawl.replicas.verdict_of("b.example") is None
        assert state(follower, self.ON_COPY) is State.WAITING
        self.end(two)

    def test_the_process_that_saved_is_gone_before_it_hears_of_that(self, two):
        leader, follower = two.all
        self.save(follower)
        follower.store.commit()
        leader.answer()
        leader.crawl.claims.refute([COPY.claim])
        restore(leader)
        leader.store.commit()
        two.leave(follower)
        leader.listen()
        assert state(leader, self.ON_COPY) is State.DROPPED
        self.end(two)

    def test_a_process_that_does_not_lead_takes_a_verdict_back(self, two):
        leader, follower = two.all
        self.save(follower)
        follower.crawl.claims.refute([COPY.claim])
        follower.store.commit()
        leader.listen()
        assert leader.crawl.replicas.verdict_of("b.example") is None
        # Not judged again, either.
        assert frozenset({"a.example", "b.example"}) in leader.crawl.replicas.detector._kept_apart
        self.end(two)

    def test_samples_that_only_together_refute_a_claim_end_it(self, crawls):
        claim = Claim(Kind.TRAP, "a.example", "calendar")
        both = crawls({})
        leader, follower = both.all
        for number, one in enumerate((leader, follower)):
            draw_other(one, number, claim)
        both.listen()
        both.listen()
        assert all(one.crawl.samples.test_of(claim).is_refuted for one in both.all)
        assert not leader.crawl.restorer.are_in_force([claim])

    def test_the_process_that_leads_is_gone_before_it_hears_that_samples_refute_a_claim(self, crawls):
        claim, url = Claim(Kind.TRAP, "a.example", "calendar"), "http://a.example/dropped"
        both = crawls({url: html(text_of("own"))})
        leader, follower = both.all
        key = leader.crawl.frontier.key(url)
        dropped = Decision(Action.DROP, Action.DROP, Reason.TRAP_BUDGET, claims=(claim,))
        leader.crawl.frontier.enter([(NewUrl(url, "a.example", key), dropped)])
        for number, one in enumerate((leader, follower)):
            draw_other(one, number, claim)
        follower.listen()
        assert follower.crawl.samples.test_of(claim).is_refuted
        both.leave(leader)
        both.run()
        assert url in both.fetched

    @pytest.mark.parametrize("is_gone", [False, True])
    def test_the_target_is_left_out_where_nobody_knows_yet_what_it_saved(self, crawls, is_gone):
        both = crawls({self.KEPT: html(text_of("own")), self.ON_COPY: html(text_of("own"))})
        leader, follower = both.all
        leader.seed(self.KEPT)
        enter_verdict(leader)
        follower.listen()
        self.save(follower)
        follower.store.commit()
        if is_gone:
            both.leave(follower)
        leader.crawl.scope.exclude("*a.example/x*")
        assert leader.take() is None
        self.end(both)
        assert self.KEPT not in both.fetched

    def test_work_of_a_process_that_is_gone_is_done(self, two):
        leader, follower = two.all
        self.save(follower)
        follower.crawl.claims.refute([COPY.claim])
        two.leave(follower)  # before a slice of it
        leader.listen()
        restore(leader)
        assert state(leader, self.ON_COPY) is State.WAITING
        self.end(two)

    def test_work_that_nobody_ended_for_a_minute_is_adopted(self, two):
        leader, follower = two.all
        self.save(follower)
        follower.crawl.claims.refute([COPY.claim])
        two.leave(follower)
        leader.listen()
        third = two.join()
        for seconds, is_adopted in ((0, False), (50, False), (70, True)):
            leader.ahead = seconds
            third.store.set_meta("news", str(seconds).encode())
            third.store.commit()
            leader.listen()
            restore(leader)
            assert (leader.store.suppressed.unfinished() == []) is is_adopted


def draw_other(one, number, claim):
    """Let *one* fetch a sample of *claim* that turns out to be another page."""
    url = f"http://a.example/{number}/"
    url_id = one.store.urls.discover([NewUrl(url, "a.example", one.crawl.frontier.key(url))])[0][0]
    decision = Decision(Action.FETCH, Action.DROP, Reason.TRAP_BUDGET, claims=(claim,), is_sampled=False)
    one.crawl.samples.enter(url_id, url, decision)
    one.crawl.samples.settle(url_id, Outcome.OTHER)
    one.store.commit()


class TestRules:
    URL, BARE = "http://a.example/dir/p?sid=1", "http://a.example/dir/p"

    @pytest.fixture
    def two(self, crawls):
        """Two processes, of which the first saw where the rule is right."""
        same, one, other = (html(text_of(name)) for name in ("same", "one", "other"))
        first = {"http://a.example/dir/q?sid=1": same, "http://a.example/dir/q": same}
        both = crawls({**first, self.URL: one, self.BARE: other})
        both.all[0].seed(*first)
        while both.all[0].turn():
            pass
        both.listen()
        return both

    def enter_rule(self, one):
        rule = clean_param("a.example", "sid")
        number = one.store.rules.enter(rule.to_dict(), 1.0)
        one.store.rules.update(number, Standing.IN_FORCE, 9, 0, 3)
        one.store.commit()
        one.crawl.rules.apply_remote({"a.example"})
        return number

    def test_a_rule_of_another_process_acts_and_ends(self, two):
        leader, follower = two.all
        number = self.enter_rule(leader)
        follower.listen()
        assert follower.crawl.rules.hit(self.URL, "a.example") is not None
        leader.store.rules.update(number, Standing.REFUTED, 9, 9, 3)
        leader.store.commit()
        follower.listen()
        assert follower.crawl.rules.hit(self.URL, "a.example") is None

    @pytest.mark.parametrize("end", ["disable", "withdraw"])
    def test_a_rule_that_ended_stays_so_where_another_process_still_counts(self, two, end):
        leader, follower = two.all
        number = self.enter_rule(follower)
        leader.listen()
        if end == "disable":
            leader.crawl.claims.restore_after_rule(leader.crawl.rules.disable(number), Why.ENDED)
        else:
            leader.store.rules.update(number, Standing.REFUTED, 9, 9, 3)
        leader.store.commit()
        follower.store.rules.update(number, Standing.IN_FORCE, 10, 0, 4)  # a page of the same moment
        follower.store.commit()
        two.listen()
        two.listen()
        states = {one.store.rules.row(number).state for one in two.all}
        assert states == {Standing.DISABLED if end == "disable" else Standing.REFUTED}
        assert [one.crawl.rules.hit(self.URL, "a.example") for one in two.all] == [None, None]

    def test_what_a_rule_saves_while_it_is_withdrawn_comes_back(self, two):
        leader, follower = two.all
        number = self.enter_rule(leader)
        follower.listen()
        (held,) = follower.crawl.rules.hosts.of("a.example").own.values()
        held.linked = {*range(IMAGES_NEEDED)}
        assert follow(follower, self.URL).action is Action.REWRITE
        follower.store.commit()
        leader.store.rules.update(number, Standing.REFUTED, 9, 9, 3)
        leader.crawl.rules.apply_remote({"a.example"})
        leader.crawl.claims.lift(Claim(Kind.RULE, str(number)))
        restore(leader)
        leader.store.commit()
        two.run()
        assert {self.BARE, self.URL} <= set(two.fetched)


class TestOrders:
    def test_each_process_keeps_to_what_is_excluded_paused_and_added(self, crawls):
        both = crawls({})
        leader, follower = both.all
        seeds = []
        for one in both.all:
            one.crawl.steer(seeds.append)
        leader.seed("http://p.example/1")
        both.listen()
        for kind, what in (
            (EXCLUDE, {"pattern": "*x.example/no*"}),
            (PAUSE, {"host": "p.example"}),
            (SEEDS, {"urls": ["http://s.example/"]}),
        ):
            leader.store.orders.give(kind, what, 1.0)
        leader.crawl.obey()
        follower.listen()
        assert follower.crawl.scope.excluded_by("http://x.example/no/1", "x.example") is not None
        assert seeds.count("http://s.example/") == 2
        assert "p.example" in follower.store.urls.hosts._paused
        leader.store.orders.give(EXCLUDE, {"pattern": "*x.example/no*", "lift": True}, 2.0)
        leader.store.orders.give(RESUME, {"host": "p.example"}, 2.0)
        leader.crawl.obey()
        follower.listen()
        assert follower.crawl.scope.excluded_by("http://x.example/no/1", "x.example") is None
        assert "p.example" not in follower.store.urls.hosts._paused

    def test_a_seed_of_one_process_is_in_the_scope_of_all(self, crawls):
        both = crawls({}, config=Config(scope=Reach.HOSTS))
        leader, follower = both.all
        leader.crawl.fetches.open_to("a.example")
        leader.store.commit()
        follower.listen()
        follower.crawl.fetches.open_to("s.example")
        follower.store.commit()
        assert leader.crawl.scope.outside("http://s.example/1", "s.example") is not None
        leader.listen()
        assert leader.crawl.scope.outside("http://s.example/1", "s.example") is None

    def test_another_scope_is_refused(self, crawls):
        both = crawls({})
        with pytest.raises(ConfigError, match="another scope: give REPLICA_SCOPE, REPLICA_HOST_PAGES as it has"):
            both.join(Config(scope=Reach.HOSTS, host_pages=5))

    def test_news_that_cannot_be_taken_up_leave_the_rest_alone(self, crawls, monkeypatch, caplog):
        leader, follower = crawls({}).all

        def fails(_):
            raise RuntimeError("a bad rule")

        monkeypatch.setattr(follower.crawl.rules, "apply_remote", fails)
        leader.store.rules.enter(clean_param("a.example", "sid").to_dict(), 1.0)
        enter_verdict(leader)
        with caplog.at_level("CRITICAL"):
            follower.listen()
        assert follower.crawl.replicas.verdict_of("b.example") == COPY


class TestNothingIsLost:
    @settings(max_examples=12, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_every_page_was_fetched_or_one_that_is_it(self, server, data):
        """Copies lack pages, have pages of their own; processes listen whenever they like, and one may die."""
        web, n_pages = {}, 30
        chance = data.draw(st.randoms(use_true_random=False))
        for name in "abc":
            pages = site(f"http://{name}.example", "one" if name != "c" else "two", n_pages)
            web |= pages
            for path in chance.sample([f"chapter-{number}.html" for number in range(1, n_pages)], 3):
                web[f"http://{name}.example/{path}"] = 404
            own = f"http://{name}.example/own-{name}.html"
            web[own] = html(text_of(f"own of {name}"))
            front = f"http://{name}.example/"
            web[front] = web[front].replace("</ul>", f'<li><a href="{own}"></a></li></ul>')
        server.clear()
        config = Config(explore=chance.choice([0.0, 0.01]), mode=chance.choice([Mode.DROP, Mode.DEMOTE]))
        with Crawls(web, data.draw(st.integers(2, 3)), server, config) as crawls:
            dies_at, dying = data.draw(st.one_of(st.none(), st.integers(3, 40))), data.draw(st.integers(0, 1))
            crawls.run(*SEEDS_OF.values(), every=data.draw(st.integers(1, 15)), dies_at=dies_at, dying=dying)
            event(f"one died: {dies_at is not None}")
            fetched = set(crawls.fetched)
            assert lost(web, fetched) == set()
            store = crawls.leader.store
            assert store.suppressed.orphans(10) == []
            assert store.suppressed.unfinished() == []
            assert len(crawls.fetched) == len(fetched)

    @settings(max_examples=3, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def test_rules_that_one_process_learns_lose_nothing_in_another(self, server, data):
        """Links carry session ids, which mean nothing, and ids, which do; both hosts link to both."""
        web = Sessions(9, data.draw(st.integers(0, 1000)))
        server.clear()
        with Crawls(web, data.draw(st.integers(2, 3)), server, Config(mode=Mode.DROP)) as crawls:
            for one, seed in zip(crawls.all, web.seeds, strict=False):
                one.seed(seed)
            crawls.run(every=data.draw(st.integers(1, 10)))
            assert lost(web, set(crawls.fetched)) == set()
            assert crawls.leader.store.suppressed.orphans(10) == []
            event(f"rules acting: {len(list(crawls.leader.store.rules.acting()))}")
            event(f"fetched: {len(crawls.fetched) // 50 * 50}")


class Sessions(dict):
    """Two hosts of *n* pages, each under any session id; of every third its ``id`` means something."""

    IDS = 12

    def __init__(self, n, seed):
        super().__init__()
        self.seeds = [f"http://{name}.example/dir/0?id=0&PHPSESSID=0" for name in "ab"]
        self._n, self._seed = n, seed

    def get(self, url, default=None):
        found = re.fullmatch(r"http://([ab])\.example/dir/(\d+)(?:\?(?:id=(\d+))?&?(?:PHPSESSID=(\d+))?)?", url)
        if found is None or int(found[2]) >= self._n:
            return default
        host, number, own, sid = found[1], int(found[2]), int(found[3] or 0), int(found[4] or 0)
        chance = random.Random(f"{self._seed} {host} {number} {own}")
        others = chance.sample([f"{name}.example/dir/{number}" for name in "ab" for number in range(self._n)], 6)
        links = [
            f"http://{other}?id={chance.randrange(2)}&PHPSESSID={(sid + step) % self.IDS}"
            for step, other in enumerate(others)
        ]
        return html(text_of(f"{host} {number} {own if number % 3 == 0 else 0}"), links)

    __getitem__ = get


def lost(web, fetched):
    """Return the URLs of pages that no page that was fetched is."""
    known = {page_text(web[url]) for url in fetched if isinstance(web.get(url), str)}
    linked = {link for url in fetched if isinstance(web.get(url), str) for link in links_of(web[url])}
    return {url for url in linked - fetched if isinstance(web.get(url), str) and page_text(web[url]) not in known}


def page_text(html):
    return html.partition("<p>")[2]


def links_of(html):
    return [part.partition('"')[0] for part in html.split('href="')[1:]]


class TestTopic:
    """Two processes learn one topic: what the one that leads learns, the other one takes over."""

    TOPIC = Config(explore=0.0, mirrors=False, dust=False, topic=Path("any"), warmup_pages=8, strategy="link-aware")

    @pytest.fixture
    def web(self):
        return {url: page for name in "ab" for url, page in topical(f"http://{name}.example", 60).items()}

    @pytest.fixture
    def learning(self, crawls, web):
        def learning(n=2):
            found = crawls(web, n, self.TOPIC)
            for one in found.all:
                one.crawl.runner.relevance.learn(fit)
            return found

        return learning

    SEEDS = ("http://a.example/0", "http://b.example/0")

    def test_all_judge_with_the_same_model_and_leave_the_warm_up(self, learning):
        both = learning()
        for one, seed in zip(both.all, self.SEEDS, strict=True):  # each has a host
            one.seed(seed)
            assert one.take().url == seed
        both.run()
        assert len(both.fetched) == len(set(both.fetched)) == 120
        leader, follower = both.all
        assert (leader.store.is_leader, follower.store.is_leader) == (True, False)
        pages = [follower.crawl.runner.relevance.of_terms(terms) for terms in ({"markov": 9}, {"recipe": 9})]
        theirs = [leader.crawl.runner.relevance.of_terms(terms) for terms in ({"markov": 9}, {"recipe": 9})]
        assert pages == pytest.approx(theirs, abs=1e-12)
        assert pages[0] > pages[1]
        assert [one.crawl.runner.is_warming_up for one in both.all] == [False, False]
        assert leader.store.meta("stage") == follower.store.meta("stage")

    def test_each_strategy_sees_every_page_once(self, learning, monkeypatch):
        seen = []
        both = learning()
        for one in both.all:
            strategy, of_one = one.crawl.runner._strategy, []
            seen.append(of_one)
            visited = strategy.visited
            monkeypatch.setattr(
                strategy, "visited", lambda page, *more, of=of_one, to=visited: (of.append(page.url), to(page, *more))
            )
        both.all[0].seed(*self.SEEDS)
        for _ in range(3):  # before the end of the warm-up, when there is another strategy
            for one in both.all:
                one.turn()
            both.listen()
        for one in both.all:
            one.crawl.learn_anew()
        assert [sorted(urls) for urls in seen] == [sorted(both.fetched)] * 2

    def test_who_joins_knows_what_was_learnt(self, learning, server):
        both = learning()
        both.all[0].seed(*self.SEEDS)
        for _ in range(20):
            for one in both.all:
                one.turn()
            both.listen()
        third = both.join()
        third.crawl.runner.relevance.learn(fit)
        runner = both.leader.crawl.runner
        assert third.crawl.runner.is_warming_up is runner.is_warming_up is False
        assert third.crawl.runner.relevance.of_terms({"markov": 9}) == runner.relevance.of_terms({"markov": 9})
        both.run()
        assert len(both.fetched) == len(set(both.fetched)) == 120

    def test_the_next_leader_learns_on(self, learning):
        both = learning()
        both.all[0].seed(*self.SEEDS)
        for _ in range(2):
            for one in both.all:
                one.turn()
            both.listen()
        before = both.all[1].store.meta("stage")
        both.leave(both.all[0])
        both.listen()
        both.run()
        assert before is None
        assert both.all[0].store.meta("stage") is not None
        assert not both.all[0].crawl.runner.is_warming_up

    def test_marks_of_a_person_are_heard_of(self, learning):
        both = learning()
        both.run(*self.SEEDS)
        leader, follower = both.all
        url = next(url for url in leader.fetched if "misc" in url)
        leader.store.orders.give(MARK, {"url": url, "is_relevant": True}, 1.0)
        leader.crawl.obey()
        assert leader.store.orders.last(1)[0].is_done
        follower.listen()
        assert follower.crawl.runner.relevance.marks.relevance(url) == 1.0


def topical(origin, n_pages):
    """Pages that link to seven others; every fourth is on the topic."""
    urls = [f"{origin}/{'markov' if number % 4 == 3 else 'misc'}/{number}" for number in range(n_pages)]
    urls[0] = f"{origin}/0"
    return {
        url: html(
            "markov chain hidden model " * 15 * (number % 4 == 3) + text_of(url),
            [urls[(3 * number + step) % n_pages] for step in range(1, 8)],
        )
        for number, url in enumerate(urls)
    }


def fit(unlabelled, yes, no):
    model = Relevance()
    wanted = [{"markov": 20, "chain": 20, "hidden": 20, "model": 20, f"w{number}": 1} for number in range(8)]
    model.fit([*wanted, *yes], Background.shipped().with_documents([*unlabelled, *no]))
    return model


def test_who_takes_a_url_knows_the_page_that_it_was_found_on(crawls):
    """It may be taken before anything was heard of it."""
    web = {"http://a.example/": html(text_of("a"), ["http://b.example/"])}
    finder, taker = crawls(web).all
    finder.seed(*web)
    assert finder.turn()
    taken = taker.take()
    assert taken.url == "http://b.example/"
    assert taker.store.urls.url_of(taken.parent) == "http://a.example/"


def test_a_host_that_comes_over_is_counted_anew(crawls):
    """The budget of a host holds however often it changes hands."""
    web = {f"http://a.example/{number}": html(text_of(number)) for number in range(30)}
    both = crawls(web, config=Config(explore=0.0, host_pages=10))
    first, second = both.all
    first.seed("http://a.example/0")
    urls = [NewUrl(url, "a.example", first.crawl.frontier.key(url), depth=1) for url in web]
    first.store.urls.discover(urls)
    assert first.turn()
    second.listen()
    # Met while another process has the host.
    assert second.crawl.policy.decide("http://a.example/99", "a.example", Permission.MOVE, "").action is Action.FETCH
    for _ in range(6):
        first.turn()
    while first.in_flight:
        first.answer()
    both.leave(first)
    second.listen()
    while second.turn():
        pass
    assert 10 <= len(both.fetched) <= 9 + IN_FLIGHT
