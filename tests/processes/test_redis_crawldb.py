"""The crawl database on Redis keeps the contract, for one process and for several."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from crawldb_contract import (
    NAMES,
    SCORES,
    StoredContract,
    StoredMachine,
    enter,
    key_of,
    name,
    taken,
    url,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from redis_server import RedisServer, age, die, server_of

from scrapy_replica.claim import Claim, Kind, Standing, Work
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import Found, Permission, State, StoreError
from scrapy_replica.crawldb.redis import database
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.redis.database import RedisCrawlDB
from scrapy_replica.crawldb.redis.reader import Follower
from scrapy_replica.crawldb.redis.records import LAYOUT, OrderPlace, Records, UrlColumns
from scrapy_replica.urls.interchange import clean_param

PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
"""Making an example smaller takes minutes here."""

SETTINGS = settings(max_examples=20, stateful_step_count=25, phases=PHASES, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def server():
    with TemporaryDirectory() as folder, RedisServer(Path(folder)) as server:
        OnRedis.server = server
        yield server


@pytest.fixture
def opened(server):
    stores = []

    def opened(spider=""):
        stores.append(RedisCrawlDB(server.address(), spider))
        return stores[-1]

    server.clear()
    yield opened
    for store in stores:
        store.connection.abandon()
        server_of(store).close()


@pytest.fixture
def both(opened):
    return opened(), opened()


class TestContract(StoredContract):
    takes_in_pages = False
    die = staticmethod(die)


def test_the_page_that_a_link_was_found_on_is_known_before_the_change_is_read(both):
    """Who meets the link as well is told its row, and may take it: its request was taken for one of a lost callback."""
    one, two = both
    (page,) = enter(one, "a/page")
    assert name(one.urls.take()) == "a/page"
    enter(one, "b/link", parent=page)
    one.commit()
    enter(two, "b/link", parent=enter(two, "c/page")[0])
    row = next(row for row in iter(two.urls.take, None) if name(row) == "b/link")
    assert row.parent == page
    assert two.urls.url_of(page) == "http://a/page"


class TestOneLookForManyUrls:
    """Of a page of an ordinary spider each request is entered by itself."""

    @pytest.fixture
    def looks(self, monkeypatch):
        looks, known = [], RedisCrawlDB.known
        monkeypatch.setattr(RedisCrawlDB, "known", lambda db, keys: looks.append(len(keys)) or known(db, keys))
        return looks

    def test_what_is_expected_is_asked_for_at_once(self, both, looks):
        one, two = both
        enter(two, "known to the other")
        two.commit()
        names = ["known to the other", "new", "newer"]
        one.urls.expect([key_of(name) for name in names])
        one.urls.expect([key_of(name) for name in names])
        ids = [enter(one, name)[0] for name in names]
        assert looks == [1, 3]
        assert ids[0] == two.urls.known(key_of("known to the other")).id
        assert len({*ids}) == 3

    def test_who_enters_it_meanwhile_does_so_as_the_same(self, both):
        one, two = both
        one.urls.expect([key_of("page")])
        (theirs,) = enter(two, "page")
        assert name(two.urls.take()) == "page"
        two.urls.finish([theirs])
        two.commit()
        (mine,) = enter(one, "page")
        assert mine == theirs
        assert one.urls.take() is None
        one.listen()
        assert one.urls.known(key_of("page")).state is State.DONE

    def test_what_never_comes_is_forgotten(self, opened, looks):
        """A server that came back may have given its id to nobody."""
        db = opened()
        db.urls.expect([key_of("a"), key_of("b")])
        enter(db, "a")
        db.listen()
        enter(db, "b")
        assert looks == [2, 1]


def test_a_commit_alone_looks_at_no_host(opened):
    """All that wait would be sorted."""
    db = opened()
    enter(db, *(f"host{number}/page" for number in range(50)))
    assert db._commit(0) == []
    enter(db, "another/page")
    assert len(db._commit(4)) == 4


def test_the_next_hosts_come_with_the_commit_that_changes_them(opened):
    db = opened()
    enter(db, "a/page")
    assert [name(row) for row in db.urls.heads(1)] == ["a/page"]
    enter(db, "b/page")
    assert [name(row) for row in db.urls.heads(1)] == ["a/page", "b/page"]
    assert [name(row) for row in db.urls.heads(1)] == ["a/page", "b/page"]


class OnRedis(StoredMachine):
    takes_in_pages = False
    server: RedisServer

    def open(self):
        if not hasattr(self, "db"):
            self.server.clear()
        self.db = RedisCrawlDB(self.server.address())

    def die(self):
        die(self.db)


@pytest.mark.usefixtures("server")
class TestMachine(OnRedis.TestCase):
    settings = SETTINGS


PLACES = st.builds(
    OrderPlace,
    st.booleans(),
    st.sampled_from([0, 1, -1]) | st.integers(-(1 << 63) + 1, (1 << 63) - 1),
    st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0]),
)


@given(st.lists(PLACES))
def test_packed_places_sort_as_urls_do(places):
    assert [OrderPlace.unpack(one.pack()) for one in places] == places
    in_order = sorted(places, key=lambda one: (one.is_demoted, -one.priority, -one.score))
    assert [one.pack() for one in in_order] == sorted(one.pack() for one in places)


class OneHost(Records):
    def __init__(self, name):
        self._hosts = dict.fromkeys(range(10), (name, name))


URLS = st.sampled_from(
    ["http://a.example/", "https://a.example/b", "http://a.example:80/", "http://a.example", "http://b/", "", "\x00"]
)


@given(URLS, st.integers(0, 9), st.integers(-(1 << 63), (1 << 63) - 1) | st.none(), st.binary() | st.none())
def test_records(address, host, key, payload):
    row = UrlColumns(7, host, f"{address}\udc80", key, 2, True, -5, 0.25, 3, None, payload, 1)
    records = OneHost("a.example")
    if address != "\x00":  # which is no URL
        assert records.unpack(7, records.pack(row)) == row


class TestTwoProcesses:
    @pytest.fixture(autouse=True)
    def offers_at_once(self, monkeypatch):
        monkeypatch.setattr(database, "OFFER_S", 0.0)

    @staticmethod
    def hear(*stores):
        for store in stores:
            store.commit()
        for store in stores:
            store.listen()

    def test_a_url_has_one_id(self, both):
        one, two = both
        first, again = enter(one, "a/1", "b/1"), enter(two, "b/1", "c/1")
        assert again[0] == first[1]
        self.hear(one, two)
        assert (one.urls.waiting, two.urls.waiting) == (3, 3)
        assert one.urls.find([key_of("c/1")])[key_of("c/1")].id == again[1]
        assert two.urls.discover([url("a/1")]) == [(first[0], Found.KNOWN)]

    def test_two_that_begin_in_one_instant_agree_who_was_first(self, both):
        one, two = both
        assert [one.first_meta("salt", b"1"), two.first_meta("salt", b"2")] == [b"1", b"1"]
        self.hear(one, two)
        assert [db.meta("salt") for db in both] == [b"1", b"1"]

    def test_sums_of_both_add_up(self, both):
        one, two = both
        one.add_sums("outside", {"far": 1}), two.add_sums("outside", {"far": 2})
        self.hear(one, two)
        one.add_sums("outside", {"far": 4})
        self.hear(one, two)
        assert [db.status().outside for db in both] == [{"far": 7}] * 2

    def test_a_host_has_one_id(self, both):
        one, two = both
        enter(one, "a/1"), enter(two, "a/2")
        self.hear(one, two)
        assert taken(two) == ["a/1", "a/2"]
        assert [row for store in both for row in store.connection.read("SELECT id, name FROM hosts")] == [(1, "a")] * 2

    @pytest.mark.parametrize("is_better_first", [False, True])
    def test_the_better_place_counts(self, both, is_better_first):
        one, two = both
        enter(one, "a/1", score=0.5), enter(two, "a/1", score=0.9), enter(two, "a/2", score=0.7)
        both[is_better_first].commit()
        self.hear(one, two)
        row = one.urls.take()
        assert (name(row), row.score) == ("a/1", 0.9)

    def test_each_url_is_taken_once_and_a_slot_belongs_to_one(self, both):
        one, two = both
        enter(one, "a/1", "a/2", "b/1", "b/2")
        assert name(one.urls.take()) == "a/1"
        assert taken(two) == ["b/1", "b/2"]
        assert taken(one) == ["a/2"]

    def test_demoted_waits_for_what_is_another_processs(self, both):
        one, two = both
        enter(one, "a/1", "a/2")
        enter(one, "b/1", is_demoted=True)
        one.urls.take()
        assert two.urls.take() is None
        assert taken(one) == ["a/2", "b/1"]

    def test_who_has_nothing_to_do_is_given_slots_that_rest(self, both):
        one, two = both
        enter(one, *(f"{host}/{n}" for n in range(2) for host in "abcd"))
        done = [one.urls.take().id for _ in range(4)]
        assert two.urls.take() is None
        two.idle(True)
        two.listen()
        one.listen()
        assert two.urls.take() is None  # all of them are in flight
        one.urls.finish(done[:3])
        one.listen()
        row = two.urls.take()
        assert row is not None
        assert two.urls.claimed() == [row.host]
        assert two.urls.claimed() == []
        assert not set(taken(one)) & {name(row), *taken(two)}

    def test_who_has_nothing_to_do_is_given_a_share_of_few_busy_slots(self, both):
        one, two = both
        enter(one, *(f"{host}/{n}" for n in range(5) for host in "abcd"))
        first = [one.urls.take() for _ in range(8)]
        assert two.urls.take() is None
        two.idle(True)
        two.listen()
        one.listen()  # all slots are busy: two of them are brought to rest
        assert {one.urls.take().host for _ in range(6)} == {"c", "d"}
        assert two.urls.take() is None
        one.urls.hold("a")
        one.urls.release("a")
        one.urls.finish([row.id for row in first])
        one.listen()
        assert {two.urls.take().host for _ in range(6)} == {"a", "b"}
        assert one.urls.take() is None
        one.listen()
        assert not one.urls.host_order.draining

    def test_nothing_comes_to_rest_for_who_waits_for_a_delay(self, both):
        one, two = both
        enter(one, *(f"{host}/{n}" for n in range(2) for host in "abc"))
        for store in (one, one, two):
            store.urls.hold(store.urls.take().host)
        two.urls.finish(list(two.urls.in_flight))
        two.idle(True)
        two.listen()
        one.listen()
        assert not one.urls.host_order.draining
        two.urls.release("c")
        two.urls.finish([two.urls.take().id])
        two.listen()
        one.listen()
        assert one.urls.host_order.draining == {"a"}

    def test_what_was_to_rest_goes_on_where_nobody_waits_for_it(self, both):
        one, two = both
        enter(one, *(f"{host}/{n}" for n in range(3) for host in "ab"))
        for _ in range(2):
            one.urls.take()
        two.idle(True)
        two.listen()
        one.listen()
        assert one.urls.host_order.draining == {"a"}
        two.close()
        one.listen()
        assert len(taken(one)) == 4

    def test_what_rests_and_has_nothing_to_do_is_nobodys(self, both):
        one, two = both
        enter(one, "a/1")
        one.urls.finish([one.urls.take().id])
        one.listen()
        enter(one, "a/2")
        one.commit()
        assert name(two.urls.take()) == "a/2"
        assert two.urls.claimed() == ["a"]

    def test_a_slot_that_comes_back_to_its_last_process_is_no_news(self, both):
        one, _ = both
        enter(one, "a/1")
        one.urls.finish([one.urls.take().id])
        one.listen()
        enter(one, "a/2")
        assert name(one.urls.take()) == "a/2"
        assert one.urls.claimed() == []

    def test_what_was_written_before_a_slot_changes_hands_is_known(self, both):
        one, two = both
        enter(one, "b/1", "a/1", "b/2", "a/2")
        one.urls.finish([one.urls.take().id, one.urls.take().id])
        one.forms.add_terms("a", ["word"])
        one.commit()
        assert one._call("give", "1", "b", "a") == [b"a"]
        assert name(two.urls.take()) == "a/2"
        assert two.forms.terms("a") == ["word"]

    def test_what_is_saved_by_a_claim_that_ended_elsewhere_waits(self, both):
        one, two = both
        ids = enter(one, "a/1", "b/1")
        self.hear(one, two)
        two.suppressed.begin(Work(Claim.read("mirror a of b")))
        two.commit()
        one.urls.drop(ids[0])
        one.suppressed.enter([Suppressed(ids[0], Claim.read("mirror a of b"), key_of("b/1"))])
        self.hear(one, two)
        assert [store.urls.find([key_of("a/1")])[key_of("a/1")].state for store in both] == [State.WAITING] * 2
        assert [store.suppressed.claims_for(key_of("b/1")) for store in both] == [[], []]
        assert sorted(taken(one)) == ["a/1", "b/1"]

    def test_what_is_saved_by_a_claim_whose_end_was_not_told_yet_waits(self, both):
        one, two = both
        (url_id,) = enter(one, "a/1")
        self.hear(one, two)
        two.suppressed.begin(Work(Claim.read("trap a of calendar")))
        two.commit()
        one.catch_up()  # as it does when a slot comes over
        one.urls.drop(url_id)
        one.suppressed.enter([Suppressed(url_id, Claim.read("trap a of calendar"), None)])
        one.commit()
        assert one.urls.find([key_of("a/1")])[key_of("a/1")].state is State.WAITING

    def test_a_claim_may_end_again_before_all_that_it_saved_came_back(self, both):
        one, two = both
        (url_id,) = enter(one, "a/1")
        two.suppressed.begin(Work(Claim.read("trap a of calendar")))
        self.hear(one, two)
        two.suppressed.begin(Work(Claim.read("trap a of calendar")))
        two.commit()
        one.urls.drop(url_id)
        one.suppressed.enter([Suppressed(url_id, Claim.read("trap a of calendar"), None)])
        one.commit()
        assert one.urls.find([key_of("a/1")])[key_of("a/1")].state is State.WAITING
        assert one.listen().work == {Work(Claim.read("trap a of calendar"))}

    def test_what_is_saved_by_a_claim_that_was_known_to_end_is_suppressed(self, both):
        one, two = both
        (url_id,) = enter(one, "a/1")
        two.suppressed.begin(Work(Claim.read("trap a of calendar")))
        self.hear(one, two)
        one.urls.drop(url_id)
        one.suppressed.enter([Suppressed(url_id, Claim.read("trap a of calendar"), None)])
        self.hear(one, two)
        assert two.suppressed.restore(Work(Claim.read("trap a of calendar")), 9) == [(url_id, "http://a/1", None)]

    def test_what_one_drops_while_another_scores_it_waits(self, both):
        one, two = both
        (url_id,) = enter(one, "a/1")
        self.hear(one, two)
        one.urls.drop(url_id)
        two.urls.set_scores([(two.urls.row(url_id), 9.0)])
        self.hear(one, two)
        assert taken(one) == ["a/1"]

    @pytest.mark.parametrize("ended", ["rule 1", "rule 2"])
    def test_what_is_saved_by_two_claims_of_which_one_ended_elsewhere_waits(self, both, ended):
        one, two = both
        ids = enter(one, "a/1", "b/1")
        self.hear(one, two)
        two.suppressed.begin(Work(Claim.read(ended)))
        two.commit()
        one.urls.drop(ids[0])
        one.suppressed.enter([Suppressed(ids[0], Claim(Kind.RULE, number), key_of("b/1")) for number in "12"])
        self.hear(one, two)
        assert [store.suppressed.claims_for(key_of("b/1")) for store in both] == [[], []]
        assert sorted(taken(one)) == ["a/1", "b/1"]

    def test_what_is_not_kept_is_not_there_for_who_comes_later(self, both, opened):
        one, two = both
        ids = enter(one, "a/1", "b/1")
        self.hear(one, two)
        one.urls.drop(ids[0])
        one.suppressed.enter([Suppressed(ids[0], Claim.read("rule 1"), key_of("b/1"))])
        self.hear(one, two)
        two.suppressed.begin(Work(Claim.read("rule 1")))
        two.commit()
        one.connection.write("UPDATE suppressed SET claim = claim")  # as who saves it once more
        self.hear(one, two)
        assert opened().suppressed.claims_for(key_of("b/1")) == []

    @pytest.mark.parametrize("end", ["finish", "drop"])
    def test_what_is_saved_for_a_page_that_came_to_its_end_elsewhere_waits(self, both, end):
        one, two = both
        ids = enter(one, "a/1", "b/1")
        self.hear(one, two)
        taken(two)
        self.hear(two, one)
        two.urls.finish([ids[1]]) if end == "finish" else two.urls.drop(ids[1])
        two.urls.retry(ids[0], 0, None)
        two.commit()
        one.suppressed.enter([Suppressed(ids[0], Claim.read("rule 1"), key_of("b/1"))])
        one.commit()
        assert one.suppressed.claims_for(key_of("b/1")) == []

    def test_what_is_saved_for_a_page_that_was_done_is_suppressed(self, both):
        one, two = both
        ids = enter(one, "b/1", "a/1")
        one.commit()
        two.urls.finish([two.urls.take().id])
        self.hear(two, one)
        one.urls.drop(ids[1])
        one.suppressed.enter([Suppressed(ids[1], Claim.read("rule 1"), key_of("b/1"))])
        self.hear(one, two)
        restored = two.suppressed.restore(Work(None, key_of("b/1")), 9)
        assert restored == [(ids[1], "http://a/1", key_of("b/1"))]

    def test_who_fetches_a_url_says_what_becomes_of_it(self, both):
        one, two = both
        (url_id,) = enter(one, "a/1")
        self.hear(one, two)
        row = two.urls.take()
        one.urls.drop(url_id)
        one.urls.set_scores([(one.urls.row(url_id), 9.0)])
        one.commit()
        assert one.urls.find([key_of("a/1")])[key_of("a/1")].state is State.LEASED
        two.urls.finish([row.id])
        self.hear(two, one)
        assert one.urls.find([key_of("a/1")])[key_of("a/1")].state is State.DONE
        assert one.urls.take() is None

    def test_what_the_dead_were_fetching_waits_for_the_others(self, both):
        one, two = both
        enter(one, "a/1", "b/1")
        one.urls.hold("b")
        assert name(one.urls.take()) == "a/1"
        one.urls.hold("a")
        one.commit()
        age(one)
        assert two.urls.take() is None
        news = two.listen()
        assert news.is_leader
        assert two.is_leader
        assert sorted(taken(two)) == ["a/1", "b/1"]

    def test_nothing_of_the_dead_stays_but_what_it_counted(self, both, opened):
        one, two = both
        third = opened()
        enter(one, "a/1", "b/1")
        one.urls.take()
        one.urls.hold("b")
        self.hear(one, two, third)
        age(one)
        two.listen()
        third.listen()
        assert third.urls.find([key_of("a/1")])[key_of("a/1")].state is State.WAITING
        names = server_of(two).run("KEYS", "*" + server_of(one).name)
        assert [key.rpartition(b":")[0] for key in names] == [b"{replica}:done"]

    def test_what_the_dead_gave_up_stays_with_whom_it_went_to(self, both, opened):
        one, two = both
        enter(one, "a/1")
        one.urls.finish([one.urls.take().id])
        one.listen()
        enter(two, "a/2", "a/3")
        assert name(two.urls.take()) == "a/2"
        age(one)
        two.listen()
        assert opened().urls.take() is None
        assert taken(two) == ["a/3"]

    def test_who_was_taken_for_dead_is_refused(self, both):
        one, two = both
        (url_id,) = enter(one, "a/1")
        one.urls.take()
        age(one)
        two.listen()
        one.urls.finish([url_id])
        for call in (one.commit, one.listen, one.urls.take):
            with pytest.raises(StoreError, match=r"sign of life.*start it again"):
                call()
        assert name(two.urls.take()) == "a/1"

    def test_one_leads_until_it_leaves(self, opened):
        one, two = opened(), opened()
        assert (one.is_leader, two.is_leader) == (True, False)
        assert two.listen() is None or not two.is_leader
        one.close()
        assert two.listen().is_leader
        assert two.is_leader
        assert not opened().is_leader

    def test_news(self, both):
        one, two = both
        ids = enter(one, "a/1", "b/1")
        one.set_meta("part", b"one")
        one.seeds.enter("a")
        one.forms.add_terms("b", ["word"])
        one.suppressed.begin(Work(Claim.read("rule 7")))
        one.commit()
        news = two.listen()
        assert (list(news.urls), news.seeds, news.forms, news.work) == (
            ids,
            {"a"},
            {"b"},
            {Work(Claim(Kind.RULE, "7"))},
        )
        assert "part" in news.meta
        assert two.listen() is None
        assert one.listen() is None
        assert two.meta("part") == b"one"

    def test_many_changes_are_heard_of_at_once(self, both, monkeypatch):
        one, two = both
        monkeypatch.setattr("scrapy_replica.crawldb.redis.log.MOST_CHANGES", 2)
        for n in range(5):
            enter(one, f"a/{n}")
            one.commit()
        two.listen()
        assert len(two.urls.find([key_of(f"a/{n}") for n in range(5)])) == 5

    @pytest.mark.parametrize("ends", [(Standing.DISABLED, Standing.REFUTED), (Standing.REFUTED, Standing.DISABLED)])
    def test_a_rule_that_a_person_disabled_stays_so(self, both, ends):
        one, two = both
        number = one.rules.enter(clean_param("a", "sid").to_dict(), 1.0)
        self.hear(one, two)
        for store, end in zip(both, ends, strict=True):
            store.rules.update(number, end, 9, 9, 3)
        self.hear(one, two)
        assert [store.rules.row(number).state for store in both] == [Standing.DISABLED] * 2

    def test_a_third_begins_with_all_that_the_others_wrote(self, both, opened):
        one, two = both
        enter(one, "a/1", "b/1", payload=b"\x00\xff")
        two.set_meta("part", b"two")
        two.urls.drop(enter(two, "c/1")[0])
        self.hear(one, two)
        three = opened()
        tables = ("urls", "hosts", "meta", "suppressed", "seed_hosts")
        for table in tables:
            rows = [sorted(map(repr, db.connection.read(f"SELECT * FROM {table}"))) for db in (one, two, three)]
            assert rows[0] == rows[1] == rows[2]
        assert [name(row) for row in (three.urls.take(), three.urls.take(), three.urls.take()) if row] == ["a/1", "b/1"]

    def test_large_changes_are_kept_until_all_know_them(self, both, opened):
        one, two = both
        late = opened()

        def length():
            server_of(one).run("INCRBY", server_of(one).key("logged"), 1 << 28)
            enter(one, f"a/{length.n}", payload=b"a")
            length.n += 1
            one.commit()
            return server_of(one).run("XLEN", server_of(one).key("log"))

        length.n = 0
        self.hear(one, two, late, one, two, late)
        lengths = [length(), length()]
        self.hear(one, two, one, two)
        lengths.append(length())
        self.hear(late, one, two, late, one, two)
        lengths.append(length())
        assert lengths == [1, 2, 3, 1]
        late.listen()
        assert len(late.urls.find([key_of(f"a/{n}") for n in range(4)])) == 4

    def test_what_is_held_is_no_change(self, both):
        one, _ = both
        enter(one, "a/1")
        one.commit()
        before = server_of(one).run("GET", server_of(one).key("seq"))
        one.urls.hold("a")
        one.commit()
        one.urls.release("a")
        one.commit()
        assert server_of(one).run("GET", server_of(one).key("seq")) == before

    def test_all_have_nothing_to_do(self, both):
        one, two = both
        (url_id,) = enter(one, "a/1")
        one.urls.take()
        for store in both:
            store.idle(True)
        self.hear(one, two, one)
        assert not one.are_all_idle
        one.urls.finish([url_id])
        one.idle(True)
        self.hear(one, two, one, two, one)
        assert one.are_all_idle
        one.end()
        two.listen()
        assert two.is_over

    def test_it_is_not_over_while_a_url_waits(self, both):
        one, two = both
        enter(one, "a/1")
        one.urls.hosts.pause("a")
        for store in both:
            store.idle(True)
        self.hear(one, two, one, two, one)
        assert not one.are_all_idle
        one.end()
        assert not one.is_over

    def test_the_dead_are_not_waited_for(self, both):
        one, two = both
        for store in both:
            store.idle(True)
        self.hear(one, two, one, two)
        age(one)
        two.listen()
        assert two.are_all_idle
        two.end()
        assert two.is_over

    def test_who_did_not_hear_of_the_last_change_may_have_something_to_do(self, both):
        one, two = both
        for store in both:
            store.idle(True)
        self.hear(one, two, one, two, one)
        assert one.are_all_idle
        one.suppressed.begin(Work(Claim.read("trap a of calendar")))  # and two has to bring back what it saved by that
        self.hear(one)
        one.listen()
        assert not one.are_all_idle
        one.end()
        assert not one.is_over
        self.hear(two, two, one)
        assert one.are_all_idle

    def test_it_is_not_over_where_somebody_came_and_found_more(self, both, opened):
        one, two = both
        for store in both:
            store.idle(True)
        self.hear(one, two, one, two, one)
        late = opened()
        one.end()  # as it heard that all have nothing to do
        assert not one.is_over
        late.idle(True)
        self.hear(late, one, two, late, one, two)
        one.end()
        assert one.is_over
        enter(late, "a/1")
        late.urls.take()
        two.listen()
        assert not two.is_over

    def test_statistics_are_summed_also_those_of_the_dead(self, both):
        one, two = both
        one.tell({"pages": 3, "errors": 1})
        two.tell({"pages": 4})
        age(one)
        two.listen()
        assert two.stats() == {"pages": 7, "errors": 1}
        assert [process.leads for process in two.processes()] == [True]

    def test_who_takes_part_is_told_by_the_clock_of_redis(self, both, monkeypatch):
        one, _ = both
        monkeypatch.setattr("time.time", lambda: 4e9)  # that of this machine was set
        assert [process.leads for process in one.processes()].count(True) == 1
        assert len(one.processes()) == 2

    def test_a_pause_is_one_for_all_and_ends_with_the_run(self, both, opened):
        one, two = both
        enter(one, "a/1")
        self.hear(one, two)
        assert one.urls.hosts.pause("a") == 1
        one.commit()
        assert two.urls.take() is None
        one.close()
        two.close()
        assert name(opened().urls.take()) == "a/1"

    def test_another_spider_or_layout_is_refused(self, opened):
        one = opened("mine")
        with pytest.raises(StoreError, match=r"redis://.*'mine', not to 'other': give each spider a prefix"):
            opened("other")
        server_of(one).run("SET", server_of(one).key("layout"), "0.0")
        with pytest.raises(StoreError, match=r"another release.*another prefix"):
            opened("mine")
        server_of(one).run("SET", server_of(one).key("layout"), LAYOUT)


class TestFullDisk:
    """Of the temporary files."""

    @contextmanager
    def full(self):
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    def test_a_process_does_not_begin(self, opened):
        one = opened()
        with pytest.raises(StoreError, match="give another TMPDIR, or "), self.full():
            opened()
        assert len(one.processes()) == 1

    def test_a_command_ends_and_the_next_one_reads(self, opened, server):
        enter(one := opened(), "a/1")
        one.commit()
        follower = Follower(Address.parse(server.address()))
        with pytest.raises(StoreError, match="give another TMPDIR, or "), self.full(), follower.reading():
            pass
        with follower.reading() as reader:
            assert reader.host_names() == ["a"]

    def test_a_process_ends_and_the_others_have_what_it_was_at(self, both):
        one, two = both
        enter(one, "a/1")
        one.commit()
        two.urls.take()
        pages = two.connection.read("PRAGMA page_count").fetchone()[0]
        two.connection.read(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(StoreError, match="is full"):  # noqa: PT012
            for number in range(100):
                enter(one, *(f"b/{number}-{other}" for other in range(50)))
                one.commit()
                two.listen()
        with pytest.raises(StoreError, match="is full"):
            two.close()
        assert "a/1" in taken(one)


PICKLE = b"\x80\x04\x95\x10cposix\nsystem\n"
NONSENSE = [b"", b"\xc1", b"half a string \xda", PICKLE, b"\x93\x01\x02", b"\xcf" + b"\xff" * 8]


@pytest.mark.parametrize("nonsense", NONSENSE)
class TestNonsense:
    """Whoever has the password may have written anything: the crawl ends with one line."""

    MATCH = r"^redis://127.0.0.1:\d+/0\?prefix=replica holds something that no process of this crawl wrote \([^\n]+$"

    def test_in_the_log(self, opened, nonsense):
        one = opened()
        server_of(one).run("INCR", server_of(one).key("seq"))
        seq = int(server_of(one).run("GET", server_of(one).key("seq")))
        server_of(one).run("XADD", server_of(one).key("log"), f"{seq}-1", "p", "?", "d", nonsense)
        with pytest.raises(StoreError, match=self.MATCH):
            one.listen()

    @pytest.mark.parametrize(("table", "key"), [("hosts", b"\x91\x07"), ("pages", None)])
    def test_in_a_table(self, opened, server, nonsense, table, key):
        one = opened()
        server_of(one).run("HSET", server_of(one).key(f"t:{table}"), key or nonsense, nonsense)
        with pytest.raises(StoreError, match=self.MATCH):
            opened()
        with pytest.raises(StoreError, match=self.MATCH), Follower(Address.parse(server.address())).reading():
            pass

    def test_in_the_statistics(self, opened, nonsense):
        one = opened()
        server_of(one).run("HSET", server_of(one).key("stats"), server_of(one).name, nonsense)
        for told in (one.stats, one.processes):
            with pytest.raises(StoreError, match=self.MATCH):
                told()

    def test_in_the_record_of_a_url(self, opened, nonsense):
        one, two = opened(), opened()
        enter(one, "a/1")
        one.commit()
        key, place = server_of(one).key("u:0"), b"\x01"
        record = server_of(one).run("HGET", key, place)
        server_of(one).run("HSET", key, place, record[: 2 + record[1] + 5] + nonsense)
        with pytest.raises(StoreError, match=self.MATCH):
            two.urls.take()


class TestRestarts:
    def test_numbers_that_redis_lost_are_not_given_again(self, tmp_path):
        """A number is given before the row that it is for is written, and Redis may lose that it gave it."""
        with RedisServer(tmp_path) as redis:
            one, two = RedisCrawlDB(redis.address()), RedisCrawlDB(redis.address())
            enter(one, "a/0")
            for store in (one, two, one):
                store.listen()
            server_of(one).run("SAVE")
            with one.span():
                mine = one.urls.discover([url("b/1")])
                one.suppressed.begin(Work(Claim(Kind.RULE, "1")))
            redis.kill()
            redis.start()
            with two.span():
                theirs = two.urls.discover([url("c/1"), url("c/2")])
                two.suppressed.begin(Work(Claim(Kind.RULE, "2")))
            for store in (one, two, one):
                store.listen()
            assert not {*mine} & {*theirs}
            assert (
                one.suppressed.unfinished()
                == two.suppressed.unfinished()
                == [Work(Claim(Kind.RULE, number)) for number in "12"]
            )
            for store in (one, two):
                hosts = store.connection.read("SELECT name FROM hosts").fetchall()
                assert sorted(hosts) == [("a",), ("b",), ("c",)]
            assert sorted(taken(two)) == ["a/0", "b/1", "c/1", "c/2"]
            for store in (one, two):
                store.close()


class TestFollower:
    @pytest.fixture
    def follower(self, opened, server):
        return Follower(Address.parse(server.address()))

    def test_what_is_there_is_read_and_then_what_is_new(self, opened, follower):
        assert not follower.is_begun
        with pytest.raises(StoreError, match="there is no crawl at redis://"), follower.reading():
            pass
        one = opened()
        enter(one, "a/1")
        one.commit()
        before = follower.trace()
        with follower.reading() as reader:
            assert reader.host_names() == ["a"]
        enter(one, "b/1")
        one.commit()
        assert follower.trace() != before
        with follower.reading() as reader:
            assert sorted(reader.host_names()) == ["a", "b"]
            assert reader.url("http://b/1").state is State.WAITING
        assert [process.leads for process in follower.processes()] == [True]

    def test_what_is_not_in_the_log_any_more_is_read_anew(self, opened, follower):
        one = opened()
        enter(one, "a/1")
        one.commit()
        with follower.reading():
            pass
        enter(one, "b/1"), one.commit()
        enter(one, "c/1"), one.commit()
        server_of(one).run("XTRIM", server_of(one).key("log"), "MAXLEN", 1)
        with follower.reading() as reader:
            assert sorted(reader.host_names()) == ["a", "b", "c"]

    def test_a_job_in_the_place_of_one_that_was_deleted_is_read_anew(self, opened, follower, server):
        for host, n_commits in (("old", 3), ("new", 2), ("last", 9)):
            server.clear()
            with pytest.raises(StoreError, match="there is no crawl at redis://"), follower.reading():
                pass
            one = opened()
            for n in range(n_commits):
                enter(one, f"{host}/{n}")
                one.commit()
            with follower.reading() as reader:
                assert reader.host_names() == [host]

    def test_orders(self, opened, follower):
        one, two = opened(), opened()
        with follower.ordering() as give:
            first, second = give("block", {"host": "a"}), give("allow", {"host": "b"})
        one.listen()
        assert [(order.id, order.kind, order.what) for order in one.orders.open()] == [
            (first, "block", {"host": "a"}),
            (second, "allow", {"host": "b"}),
        ]
        one.orders.answer(first, 1.0, "done")
        one.commit()
        assert two.listen().orders == [first]
        assert [order.id for order in two.orders.open()] == [second]


OPERATIONS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["enter", "drop", "rescore", "take", "finish", "demote", "restore", "end", "listen", "commit"]),
        st.sampled_from(NAMES),
        SCORES,
    ),
    max_size=60,
)


class TestRaces:
    @settings(max_examples=60, suppress_health_check=list(HealthCheck))
    @given(operations=OPERATIONS)
    def test_all_processes_come_to_know_the_same(self, server, operations):
        """And what is not done and not saved is given out, once."""
        server.clear()
        stores = [RedisCrawlDB(server.address()), RedisCrawlDB(server.address())]
        leased = [[], []]
        done = []
        for who, what, one, score in operations:
            self.operate(stores[who], leased[who], done, what, one, score)
        for store in stores * 2:
            store.listen()
        third = RedisCrawlDB(server.address())
        for table, columns in {"urls": "*", "hosts": "*", "suppressed": "*", "work": "work"}.items():
            sql = f"SELECT {columns} FROM {table}"
            rows = [sorted(map(repr, db.connection.read(sql))) for db in (*stores, third)]
            assert rows[0] == rows[1] == rows[2]
        assert len(done) == len(set(done))
        waiting = {row[0] for row in third.connection.read("SELECT url FROM urls WHERE state = 0")}
        assert third.urls.waiting == len(waiting)
        ids = list(third.connection.read("SELECT id FROM urls WHERE state = 3"))
        suppressed = {row[0] for row in third.connection.read("SELECT url FROM suppressed")}
        assert {one for (one,) in ids} <= suppressed
        for store in stores:
            die(store)
        third.listen()
        found = taken(third)
        assert len(found) == len(set(found)) == third.connection.read(
            "SELECT COUNT(*) FROM urls WHERE state = 1"
        ).fetchone()[0]  # fmt: skip
        die(third)

    def operate(self, store, leased, done, what, one, score):
        urls, known = store.urls, store.urls.find([key_of(one)]).get(key_of(one))
        if what == "enter":
            urls.discover([url(one, score, permission=Permission.MOVE)])
        elif what == "take" and (row := urls.take()) is not None:
            leased.append(row.id)
        elif what == "finish" and leased:
            done.append(leased.pop())
            urls.finish([done[-1]])
        elif what == "demote" and leased:
            urls.demote(leased.pop())
        elif what == "drop" and known is not None and known.state is State.WAITING:
            urls.drop(known.id)
            store.suppressed.enter([Suppressed(known.id, Claim.read("rule 1"), key_of(NAMES[0]))])
        elif what == "rescore":
            urls.rescore({key_of(one): score})
        elif what == "restore":
            store.suppressed.restore(Work(None, key_of(NAMES[0])), 2)
        elif what == "end":
            store.suppressed.begin(Work(Claim.read("rule 1")))
        elif what == "listen":
            store.listen()
        elif what == "commit":
            store.commit()
