"""The tests of what every crawl database does: a subclass gives the fixture ``opened``, which opens its store."""

from __future__ import annotations

import time
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from scrapy_replica.address import name_of
from scrapy_replica.claim import Claim, Kind, Work
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import URGENT, Found, Known, NewUrl, Permission, State
from scrapy_replica.crawldb.revisits import History
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.decision import Outcome, Reason

FIRST, SECOND = Claim(Kind.RULE, "1"), Claim(Kind.RULE, "2")


class StopError(Exception):
    """Raised in the middle of a page."""


def key_of(name):
    return sum(ord(character) * 131**place for place, character in enumerate(name)) % (1 << 62)


def url(name, score=0.0, **fields):
    """A URL named ``host/path``, with a key that only its name decides."""
    return NewUrl(f"http://{name}", name.partition("/")[0], fields.pop("key", key_of(name)), score, **fields)


def enter(db, *names, **fields):
    return [url_id for url_id, _ in db.urls.discover([url(name, **fields) for name in names])]


def name(waiting):
    return None if waiting is None else waiting.url.removeprefix("http://")


def taken(db):
    """Take what can be taken, in its order."""
    names = []
    while (row := db.urls.take()) is not None:
        names.append(name(row))
    return names


@contextmanager
def failing_page(db):
    with pytest.raises(StopError), db.span():  # noqa: PT012
        yield
        raise StopError


class CrawlDBContract:
    """Invariants of :mod:`scrapy_replica.crawldb.contract`."""

    takes_in_pages = True
    """URLs may be taken inside of a page's span, which takes that back if it raises."""

    @pytest.fixture
    def db(self, opened):
        return opened()

    # Order

    def test_not_demoted_then_priority_then_score_then_first_found(self, db):
        db.urls.discover(
            [
                url("a/demoted", 9.0, priority=9, is_demoted=True),
                url("b/low", 0.9, priority=-600),
                url("c/third", 0.1),
                url("a/second", 0.5),
                url("c/fourth", 0.1),
                url("b/first", -5.0, priority=1),
                url("a/worse-demoted", 10.0, is_demoted=True),
            ]
        )
        order = ["b/first", "a/second", "c/third", "c/fourth", "b/low", "a/demoted", "a/worse-demoted"]
        assert taken(db) == order
        assert db.urls.waiting == 0

    def test_what_is_urgent_comes_before_every_score(self, db):
        db.urls.discover([url("a/1", 1e300), url("a/2", URGENT), url("b/user", 0.0, priority=1)])
        assert taken(db) == ["b/user", "a/2", "a/1"]

    def test_what_is_urgent_stays_so(self, db):
        url_id = enter(db, "a/1", score=URGENT)[0]
        assert db.urls.rescore({key_of("a/1"): 0.5}) == 0
        db.urls.set_scores([(db.urls.row(url_id), 0.5)])
        assert db.urls.discover([url("a/1", 0.5, priority=1)]) == [(url_id, Found.RAISED)]
        row = db.urls.take()
        assert (row.priority, row.score) == (1, URGENT)

    def test_held_slots_take_no_part(self, db):
        db.urls.discover([url("a/1", 0.9), url("b/1", 0.1), url("b/2", 0.2)])
        db.urls.hold("a")
        assert taken(db) == ["b/2", "b/1"]
        db.urls.release("a")
        assert taken(db) == ["a/1"]

    def test_slots_are_held_before_they_are_met_and_released_twice(self, db):
        db.urls.hold("a")
        db.urls.discover([url("a/1")])
        assert db.urls.take() is None
        db.urls.release("a")
        db.urls.release("a")
        assert taken(db) == ["a/1"]

    def test_two_services_of_one_name_share_its_slot(self, db):
        db.urls.discover([url("a/1"), url("a:8080/1")])
        db.urls.hold("a")
        assert db.urls.take() is None
        db.urls.release("a")
        assert [(row.host, row.slot) for row in (db.urls.take(), db.urls.take())] == [("a", "a"), ("a:8080", "a")]

    def test_the_slot_that_the_user_chose(self, db):
        db.urls.discover([url("a/1", slot="mine"), url("a/2"), url("b/1", slot="mine")])
        db.urls.hold("mine")
        assert taken(db) == ["a/2"]
        db.urls.hold("a")
        db.urls.release("mine")
        rows = [db.urls.take(), db.urls.take()]
        assert [(row.host, row.slot, name(row)) for row in rows] == [("a", "mine", "a/1"), ("b", "mine", "b/1")]

    def test_demoted_waits_for_held_slots(self, db):
        db.urls.discover([url("a/demoted", is_demoted=True), url("b/slow")])
        db.urls.hold("b")
        assert db.urls.take() is None
        assert db.urls.heads(3) == []
        db.urls.release("b")
        assert taken(db) == ["b/slow", "a/demoted"]

    def test_a_host_that_pauses_takes_no_part(self, db):
        db.urls.discover([url("a/1", 0.9), url("a/2", slot="mine"), url("b/1"), url("b/2", is_demoted=True)])
        assert db.urls.hosts.pause("a") == 2
        db.urls.discover([url("a/3", slot="other"), url("a/4", 1.0)])
        with failing_page(db):
            enter(db, "a/5", slot="new")
        assert db.urls.waiting == 6
        assert taken(db) == ["b/1", "b/2"]
        assert db.urls.hosts.resume("a") is True
        assert taken(db) == ["a/4", "a/1", "a/2", "a/3"]

    def test_only_what_is_known_pauses_and_only_what_pauses_goes_on(self, db):
        enter(db, "a/1")
        assert db.urls.hosts.pause("b") is None
        assert db.urls.hosts.resume("a") is False
        assert taken(db) == ["a/1"]

    def test_heads_are_the_best_of_the_host_whose_turn_it_is(self, db):
        db.urls.discover([url("a/1", 0.1), url("a/2", 0.9), url("b/1", 0.5), url("a/3", 0.9)])
        assert [name(row) for row in db.urls.heads(2)][:2] == ["a/2", "a/3"]
        assert db.urls.heads(1)[0] == db.urls.take()
        db.urls.hold("a")
        assert [name(row) for row in db.urls.heads(9)] == ["b/1"]
        assert db.urls.waiting == 3

    def test_the_best_waiting_urls_of_a_host(self, db):
        db.urls.discover([url("a/1", 0.1), url("a/2", 0.9), url("a/3", 0.5, is_demoted=True), url("b/1", 2.0)])
        assert db.urls.waiting_urls("a", 2) == ["http://a/2", "http://a/1"]
        assert db.urls.waiting_urls("nowhere", 2) == []

    def test_a_hosts_best_are_found_over_all_its_slots(self, db):
        db.urls.discover([url("a/1", 0.1), url("a/2", 0.9, slot="mine"), url("a/3", 0.5)])
        assert db.urls.waiting_urls("a", 2) == ["http://a/2", "http://a/3"]

    def test_what_is_being_fetched_of_a_host(self, db):
        db.urls.discover([url("a/1", 0.9), url("a/2", 0.1), url("b/1", 0.5)])
        db.urls.take()
        assert db.urls.leased_urls("a") == ["http://a/1"]
        assert db.urls.leased_urls("b") == db.urls.leased_urls("nowhere") == []

    # Entering

    def test_what_is_entered_is_what_is_taken(self, db):
        new = NewUrl("http://a:81/x", "a:81", -5, 0.25, -3, False, 7, 12, b"payload", Permission.STAY, "mine")
        ((url_id, what),) = db.urls.discover([new])
        row = db.urls.take()
        assert what is Found.NEW
        assert row[:12] == (
            url_id, "a:81", "mine", "http://a:81/x", -5, 0.25, -3, False, 7, 12, b"payload", Permission.STAY
        )  # fmt: skip
        assert type(row.is_demoted) is bool
        assert type(row.permission) is Permission
        assert (db.urls.url_of(url_id), db.urls.key_of(url_id)) == ("http://a:81/x", -5)

    def test_what_is_being_fetched_is_told_as_it_stands(self, db):
        enter(db, "a/1", payload=b"first")
        row = db.urls.take()
        assert db.urls.row(row.id) == row
        db.urls.retry(row.id, -1, b"second")
        told = db.urls.row(row.id)
        assert (told.priority, told.payload) == (-1, b"second")
        db.urls.finish([db.urls.take().id])
        assert db.urls.row(row.id).payload is None

    def test_what_was_taken_in_a_page_that_raises_is_told_no_more(self, db):
        if self.takes_in_pages:
            with failing_page(db):
                (lost,) = enter(db, "a/1")
                assert db.urls.take().id == lost
            (url_id,) = enter(db, "b/1")
            assert (url_id, db.urls.url_of(url_id), db.urls.key_of(url_id)) == (lost, "http://b/1", key_of("b/1"))

    def test_the_first_id_is_that_of_what_is_taken(self, db):
        assert db.urls.first_id() is None
        db.urls.discover([url("a/1", 0.1), url("b/1", 0.5)])
        assert db.urls.first_id() in {None, db.urls.take().id}
        db.urls.hold("a")
        assert db.urls.first_id() is None

    def test_a_better_place_raises_what_waits(self, db):
        url_id = enter(db, "b/1", is_demoted=True)[0]
        for fields in ({"score": 0.0}, {"score": 0.1}, {"score": -1.0, "priority": 1}):
            assert db.urls.discover([url("b/1", **fields)]) == [(url_id, Found.RAISED)]
        assert db.urls.waiting == 1
        row = db.urls.take()
        assert (row.is_demoted, row.priority, row.score) == (False, 1, -1.0)

    @pytest.mark.parametrize("worse", [{"score": 0.5}, {"score": 0.2}, {"score": 9.0, "priority": -1},
                                       {"score": 9.0, "priority": 9, "is_demoted": True}])  # fmt: skip
    def test_a_worse_place_changes_nothing(self, db, worse):
        url_id = enter(db, "a/1", score=0.5)[0]
        assert db.urls.discover([url("a/1", **worse)]) == [(url_id, Found.KNOWN)]
        row = db.urls.take()
        assert (row.is_demoted, row.priority, row.score) == (False, 0, 0.5)

    def test_raising_keeps_what_the_request_is(self, db):
        db.urls.discover([url("a/1", payload=b"first", permission=Permission.STAY, depth=1)])
        db.urls.discover([url("a/1", 1.0, payload=b"second", permission=Permission.MOVE, depth=5)])
        row = db.urls.take()
        assert (row.payload, row.permission, row.depth) == (b"first", Permission.STAY, 1)

    @pytest.mark.parametrize("end", ["leased", "done"])
    def test_what_was_taken_is_known(self, db, end):
        url_id = enter(db, "a/1")[0]
        db.urls.take()
        if end == "done":
            db.urls.finish([url_id])
        assert db.urls.discover([url("a/1", 1.0, priority=5)]) == [(url_id, Found.KNOWN)]
        assert db.urls.waiting == 0
        assert db.urls.take() is None

    def test_what_was_dropped_comes_back_as_it_is_asked_for(self, db):
        url_id = enter(db, "a/1", score=0.9, payload=b"old", is_dropped=True)[0]
        db.suppressed.enter([Suppressed(url_id, Claim.read("rule 1"), 5)])
        assert db.urls.waiting == 0
        again = url("a/1", 0.3, priority=2, payload=b"new", permission=Permission.AS_ASKED)
        assert db.urls.discover([again]) == [(url_id, Found.RESTORED)]
        assert db.urls.waiting == 1
        assert db.suppressed.claims_for(5) == []
        row = db.urls.take()
        assert (row.score, row.priority, row.payload, row.permission) == (0.3, 2, b"new", Permission.AS_ASKED)

    def test_dropping_leaves_what_is_known_alone(self, db):
        url_id = enter(db, "a/1")[0]
        assert db.urls.discover([url("a/1", 1.0, is_dropped=True)]) == [(url_id, Found.KNOWN)]
        assert db.urls.take().score == 0.0

    def test_what_waits_and_is_asked_for_exempt_is_exempt(self, db):
        enter(db, "a/1", score=0.9, payload=b"first")
        db.urls.discover([url("a/1", 0.3, permission=Permission.EXEMPT)])
        row = db.urls.take()
        assert (row.score, row.payload, row.permission) == (0.9, b"first", Permission.EXEMPT)

    def test_the_last_id(self, db):
        assert db.urls.last_id == 0
        ids = enter(db, "a/1", "a/2", "a/1")
        assert db.urls.last_id == max(ids)

    def test_without_a_key_it_is_entered_again(self, db):
        found = db.urls.discover([url("a/1", key=None)] * 2 + [url("a/1")])
        assert [what for _, what in found] == [Found.NEW] * 3
        assert db.urls.waiting == 3
        assert taken(db) == ["a/1"] * 3
        assert db.urls.key_of(found[0][0]) is None

    def test_one_url_twice_in_a_batch(self, db):
        found = db.urls.discover(
            [
                url("a/1", 0.1),
                url("a/1", 0.1),
                url("b/1", 0.2),
                url("a/1", 0.3),
                url("c/1", is_dropped=True),
                url("c/1", 0.5),
                url("c/1", 0.4),
            ]
        )
        a, b, c = found[0][0], found[2][0], found[4][0]
        assert len({a, b, c}) == 3
        assert found == [
            (a, Found.NEW),
            (a, Found.KNOWN),
            (b, Found.NEW),
            (a, Found.RAISED),
            (c, Found.NEW),
            (c, Found.RESTORED),
            (c, Found.KNOWN),
        ]
        assert db.urls.waiting == 3
        assert taken(db) == ["c/1", "a/1", "b/1"]

    def test_a_batch_of_hundreds(self, db):
        names = [f"h{n % 7}/{n}" for n in range(300)]
        assert len(set(enter(db, *names))) == 300
        found = db.urls.discover([url(one) for one in [*names, "new/1"]])
        assert [what for _, what in found] == [Found.KNOWN] * 300 + [Found.NEW]
        assert taken(db) == [*names, "new/1"]

    def test_the_time_of_a_batch_is_linear(self, db):
        def seconds(host, size):
            links = [f"{host}/{n}" for n in range(size)]
            enter(db, *links[::2])
            begin = time.thread_time()
            enter(db, *links[1::2], *links[::2])
            return time.thread_time() - begin

        # The best of several: what else runs beside it costs caches, too.
        few, many = min(seconds(f"a{n}", 1_000) for n in range(5)), min(seconds(f"b{n}", 8_000) for n in range(3))
        assert many < 24 * few, (few, many)  # 8 times as many links

    def test_nothing_is_a_batch(self, db):
        assert db.urls.discover([]) == []
        assert db.urls.find([]) == {}
        assert db.urls.rescore({}) == 0
        db.urls.set_scores([])
        db.urls.finish([])
        db.suppressed.enter([])

    def test_find_tells_the_state_and_leaves_out_what_is_unknown(self, db):
        ids = enter(db, "a/done", "a/leased", "a/waiting", "a/dropped")
        first, second = db.urls.take(), db.urls.take()
        db.urls.finish([first.id])
        db.urls.drop(ids[3])
        states = [State.DONE, State.LEASED, State.WAITING, State.DROPPED]
        keys = [key_of(one) for one in ("a/done", "a/leased", "a/waiting", "a/dropped")]
        assert second.id == ids[1]
        wanted = {key: Known(*pair, None) for key, *pair in zip(keys, ids, states, strict=True)}
        assert db.urls.find([*keys, key_of("unknown")]) == wanted

    # What becomes of a URL

    def test_rescore_moves_up_and_down_what_waits(self, db):
        db.urls.discover([url("a/1", 0.5), url("a/2", 0.4), url("b/1", 0.45), url("b/taken", 0.9)])
        db.urls.take()
        scores = {key_of("a/1"): 0.1, key_of("b/1"): 0.8, key_of("b/taken"): 0.7, key_of("unknown"): 0.9}
        assert db.urls.rescore(scores) == 2
        assert taken(db) == ["b/1", "a/2", "a/1"]

    def test_rescore_leaves_demotion_and_priority(self, db):
        db.urls.discover([url("a/1", is_demoted=True), url("b/1", priority=-1)])
        assert db.urls.rescore({key_of("a/1"): 9.0}) == 1
        assert taken(db) == ["b/1", "a/1"]

    def test_set_scores_moves_what_still_waits(self, db):
        ids = enter(db, "a/1", "a/2", "b/1")
        db.urls.take()
        db.urls.set_scores([(db.urls.row(ids[place]), score) for place, score in enumerate((5.0, -1.0, 1.0))])
        assert sorted(taken(db)) == ["a/2", "b/1"]

    def test_demoted_after_it_was_taken_it_waits_behind_the_rest(self, db):
        enter(db, "a/1", "b/1")
        db.urls.demote(db.urls.take().id)
        assert db.urls.waiting == 2
        assert name(db.urls.take()) == "b/1"
        row = db.urls.take()
        assert (name(row), row.is_demoted) == ("a/1", True)

    @pytest.mark.parametrize("is_taken", [False, True])
    def test_dropped_it_is_not_taken(self, db, is_taken):
        url_id = enter(db, "a/1")[0]
        if is_taken:
            db.urls.take()
        db.urls.drop(url_id)
        db.urls.drop(url_id)
        assert db.urls.waiting == 0
        assert db.urls.take() is None
        assert db.urls.find([key_of("a/1")]) == {key_of("a/1"): Known(url_id, State.DROPPED, None)}

    def test_what_is_done_waits_again_where_it_is_renewed(self, db):
        done, waits = enter(db, "a/1", "a/2")
        assert name(db.urls.take()) == "a/1"
        db.urls.finish([done])
        assert db.urls.renew([(done, 0.5, b"payload"), (waits, 0.9, None)]) == 1
        assert db.urls.waiting == 2
        row = db.urls.take()
        assert (row.id, row.score, row.payload, row.is_demoted) == (done, 0.5, b"payload", False)
        assert (db.urls.take().score, db.urls.waiting) == (0.0, 0)

    def test_what_was_taken_waits_again_where_it_is_tried_again(self, db):
        tried, other = enter(db, "a/1", "a/2")
        assert name(db.urls.take()) == "a/1"
        db.urls.retry(tried, -1, b"payload")
        db.urls.finish([tried])
        assert (db.urls.waiting, db.urls.take().id) == (2, other)
        row = db.urls.take()
        assert (row.id, row.priority, row.payload) == (tried, -1, b"payload")
        db.urls.finish([tried])
        db.urls.retry(tried, 0, None)
        assert db.urls.waiting == 0

    def test_histories(self, opened):
        db = opened()
        ids = enter(db, "a/1", "a/2", "b/1")
        for _ in ids:
            db.urls.finish([db.urls.take().id])
        told = History(0, visits=2, changes=1, changed=(0.5, 2.0), checked_at=9.0, page=7, items=frozenset({-1, 5}))
        histories = [told._replace(url=one) for one in ids]
        for history in histories:
            db.revisits.enter(history)
        db.revisits.enter(histories[0]._replace(believed=3))
        assert db.revisits.of(ids[1]) == histories[1]
        assert db.revisits.of(99) is None
        assert db.revisits.of_page(7)[1:] == histories[1:]
        assert db.revisits.of_page(8) == []
        assert db.revisits.done_after(ids[0], 9) == [(histories[1], "a", 0), (histories[2], "b", 0)]
        assert [one.url for one in db.revisits.believed_of("a", 9)] == ids[:1]
        assert db.revisits.changes_of_hosts() == {"a": (2, 2, 18.0), "b": (1, 1, 9.0)}
        db.urls.renew([(ids[2], 0.0, None)])
        assert [one.host for one in db.revisits.done_after(0, 9)] == ["a", "a"]

    def test_hosts_that_are_doubted(self, db):
        for _ in range(2):
            db.revisits.doubt("a")
        assert [db.revisits.is_doubted(host) for host in "ab"] == [True, False]

    def test_samples_that_are_retired_are_of_another_pass(self, db):
        settled, still_open = enter(db, "a/1", "a/2")
        mirror, trap = Claim(Kind.MIRROR, "a", "b"), Claim(Kind.TRAP, "a", "calendar")
        for one, claim in ((settled, mirror), (still_open, mirror), (settled, trap)):
            db.samples.enter([Sample(one, claim, Reason.REPLICA_HOST, 5, Stratum(), 1.0)])
        db.samples.settle(settled, Outcome.SAME)
        db.samples.retire(1)
        assert [sample.id for sample in db.samples.of_claim(mirror)] == [still_open]
        assert [sample.claim for sample in db.samples.of_url(settled)] == [trap]
        assert [one.samples for one in db.samples.tested().values()] == [2]
        again = Sample(settled, mirror, Reason.REPLICA_HOST, 5, Stratum(), 1.0)
        assert db.samples.enter([again]) == [again]  # in the pass that goes on it is another sample

    def test_what_is_done_stays_so(self, db):
        url_id = enter(db, "a/1")[0]
        db.urls.take()
        db.urls.finish([url_id])
        db.urls.drop(url_id)
        db.urls.demote(url_id)
        assert db.urls.find([key_of("a/1")])[key_of("a/1")].state is State.DONE

    def test_what_waits_again_is_not_acknowledged(self, db):
        url_id = enter(db, "a/1")[0]
        db.urls.demote(db.urls.take().id)
        db.urls.finish([url_id])
        assert db.urls.waiting == 1
        assert taken(db) == ["a/1"]

    def test_what_is_forgotten_may_be_found_anew(self, db):
        first, second, _ = enter(db, "a/1", "a/2", "b/1")
        assert db.urls.take().id == first
        for url_id in (first, second):
            db.urls.forget(url_id)
        assert db.urls.find([key_of("a/1")])[key_of("a/1")].state is State.LEASED
        assert not db.urls.find([key_of("a/2")])
        assert db.urls.waiting == 1
        assert db.urls.discover([url("a/2")])[0][1] is Found.NEW
        assert sorted(taken(db)) == ["a/2", "b/1"]

    def test_forget_waiting_deletes_by_the_beginning_of_the_payload(self, db):
        db.urls.discover(
            [url("a/1", payload=b"live1"), url("a/2"), url("b/1", payload=b"alive"), url("b/2", payload=b"live2")]
        )
        db.urls.take()
        assert db.urls.forget_waiting(b"live") == [("http://b/2", None)]
        assert db.urls.waiting == 2
        assert db.urls.discover([url("b/2")])[0][1] is Found.NEW
        assert taken(db) == ["a/2", "b/1", "b/2"]

    # Suppressed

    def test_what_a_url_saved_comes_back_exempt_in_slices(self, db):
        ids = enter(db, "a/1", "a/2", "a/3", "a/4")
        for url_id in ids[:3]:
            db.urls.drop(url_id)
        db.suppressed.enter([Suppressed(ids[n], Claim.read("links a of b"), 77) for n in range(3)])
        db.suppressed.enter([Suppressed(ids[3], Claim.read("links a of b"), 78)])
        assert db.suppressed.claims_for(77) == [Claim(Kind.LINKS, "a", "b")]
        slices = [db.suppressed.restore(Work(None, 77), 2), db.suppressed.restore(Work(None, 77), 2)]
        assert [len(one) for one in slices] == [2, 1]
        assert sorted(slices[0] + slices[1]) == [(ids[n], f"http://a/{n + 1}", 77) for n in range(3)]
        assert db.suppressed.restore(Work(None, 77), 2) == []
        assert db.suppressed.claims_for(77) == []
        assert db.urls.waiting == 4
        rows = {row.id: row.permission for row in iter(db.urls.take, None)}
        assert rows == {**dict.fromkeys(ids[:3], Permission.EXEMPT), ids[3]: Permission.MOVE}

    def test_what_a_claim_saved_comes_back_as_before(self, db):
        ids = enter(db, "a/1", "a/2", score=0.5, payload=b"x")
        for url_id in ids:
            db.urls.drop(url_id)
        db.suppressed.enter(
            [
                Suppressed(ids[0], Claim.read("rule 1"), 5),
                Suppressed(ids[0], Claim.read("rule 2"), 5),
                Suppressed(ids[1], Claim.read("rule 2"), None),
            ]
        )
        assert list(map(str, db.suppressed.claims_for(5))) == ["rule 1", "rule 2"]
        assert db.suppressed.restore(Work(Claim.read("rule 1")), 9) == [(ids[0], "http://a/1", 5)]
        assert db.suppressed.restore(Work(Claim.read("rule 1")), 9) == []
        row = db.urls.take()
        assert (row.id, row.score, row.payload, row.permission) == (ids[0], 0.5, b"x", Permission.MOVE)
        assert db.suppressed.restore(Work(Claim.read("rule 2")), 9) == [(ids[1], "http://a/2", None)]

    @pytest.mark.parametrize("work", [Work(Claim.read("mirror a of b")), Work(None, 77, is_anew=True)])
    def test_what_is_saved_again_meanwhile_stays_so(self, db, work):
        mirror = Claim.read("mirror a of b")
        ids = enter(db, "a/1", "a/2", "a/3")
        for url_id in ids:
            db.urls.drop(url_id)
        db.suppressed.enter([Suppressed(url_id, mirror, 77) for url_id in ids])
        db.suppressed.enter([Suppressed(ids[0], Claim.read("rule 1"), 77)])
        assert [one.id for one in db.suppressed.restore(work, 2, of=mirror)] == ids[:2]
        db.urls.drop(ids[0])
        db.suppressed.enter([Suppressed(ids[0], mirror, 77)])
        assert [one.id for one in db.suppressed.restore(work, 2, after=ids[1], of=mirror)] == ids[2:]
        assert db.suppressed.restore(work, 2, after=ids[2], of=mirror) == []

    def test_what_was_demoted_is_raised_again(self, db):
        ids = enter(db, "a/1", is_demoted=True) + enter(db, "b/1", score=-1.0)
        db.suppressed.enter([Suppressed(ids[0], Claim.read("mirror a of b"), None)])
        assert db.suppressed.restore(Work(Claim.read("mirror a of b")), 9) == [(ids[0], "http://a/1", None)]
        assert db.urls.waiting == 2
        assert taken(db) == ["a/1", "b/1"]

    def test_what_went_on_meanwhile_is_not_restored(self, db):
        ids = enter(db, "a/leased", "a/done", "a/waiting")
        db.urls.take()
        db.urls.finish([db.urls.take().id])
        db.suppressed.enter([Suppressed(url_id, Claim.read("mirror a of b"), None) for url_id in ids])
        restored = db.suppressed.restore(Work(Claim.read("mirror a of b")), 9)
        assert restored == [(url_id, None, None) for url_id in ids]
        assert db.suppressed.restore(Work(Claim.read("mirror a of b")), 9) == []
        assert db.urls.waiting == 1

    def test_work_stays_until_it_is_ended(self, opened, reopened):
        db = opened()
        rule, mirror = Work(Claim(Kind.RULE, "2")), Work(Claim(Kind.MIRROR, "a", "b"))
        for work in (rule, mirror, rule):
            db.suppressed.begin(work)
        db = reopened(db)
        assert db.suppressed.unfinished() == [rule, mirror]
        db.suppressed.end(Work(Claim.read("rule 2")))
        db.suppressed.end(Work(Claim(Kind.RULE, "99")))
        assert db.suppressed.unfinished() == [mirror]

    # Pages

    def test_a_page_that_raises_changes_nothing(self, db):
        ids = enter(db, "a/1", "b/1", "c/1", score=0.5)
        leased = db.urls.take()
        db.suppressed.enter([Suppressed(ids[1], Claim.read("rule 1"), 5)])
        db.set_meta("part", b"before")
        with failing_page(db):
            db.urls.discover([url("a/2", 0.9), url("new/1", 0.95), url("b/1", 0.8), url("d/1", slot="a")])
            db.urls.finish([leased.id])
            if self.takes_in_pages:
                assert name(db.urls.take()) == "new/1"
            db.urls.drop(ids[2])
            db.urls.rescore({key_of("b/1"): 0.1})
            db.suppressed.restore(Work(Claim.read("rule 1")), 9)
            db.suppressed.begin(Work(Claim.read("rule 1")))
            db.set_meta("part", b"after")
        assert db.urls.waiting == 2
        assert db.meta("part") == b"before"
        assert db.suppressed.unfinished() == []
        assert db.suppressed.claims_for(5) == [Claim(Kind.RULE, "1")]
        keys = {one: key_of(one) for one in ("a/1", "b/1", "c/1", "new/1", "a/2", "d/1")}
        known = db.urls.find(keys.values())
        assert {one: known[key].state for one, key in keys.items() if key in known} == {
            "a/1": State.LEASED,
            "b/1": State.WAITING,
            "c/1": State.WAITING,
        }
        assert [what for _, what in db.urls.discover([url("new/1", 0.1), url("a/2", 0.2)])] == [Found.NEW] * 2
        assert taken(db) == ["b/1", "c/1", "a/2", "new/1"]

    def test_a_demotion_in_a_page_that_raises_is_taken_back(self, db):
        enter(db, "a/1", "b/1")
        leased = db.urls.take()
        with failing_page(db):
            db.urls.demote(leased.id)
            assert not self.takes_in_pages or taken(db) == ["b/1", "a/1"]
        assert db.urls.waiting == 1
        assert taken(db) == ["b/1"]

    def test_what_was_written_before_the_page_stays(self, db):
        enter(db, "a/1")
        with failing_page(db):
            enter(db, "a/2")
        with db.span():
            enter(db, "a/3")
        db.commit()
        assert taken(db) == ["a/1", "a/3"]

    def test_slots_held_in_a_page_that_raises_stay_held(self, db):
        enter(db, "a/1", "b/1")
        with failing_page(db):
            db.urls.hold("a")
            enter(db, "a/2", score=1.0)
        assert taken(db) == ["b/1"]
        db.urls.release("a")
        assert taken(db) == ["a/1"]

    # Parts

    def test_hosts_of_seeds(self, db):
        for host in ("b", "a", "b"):
            db.seeds.enter(host)
        assert sorted(db.seeds.hosts()) == ["a", "b"]

    def test_meta(self, db):
        assert db.meta("part") is None
        db.set_meta("part", b"one")
        db.set_meta("part", b"two")
        assert db.meta("part") == b"two"

    def test_the_first_meta_stands(self, db):
        assert [db.first_meta("salt", value) for value in (b"1", b"2")] == [b"1", b"1"]
        db.set_meta("salt", b"3")
        assert db.first_meta("salt", b"4") == db.meta("salt") == b"3"

    def test_sums(self, db):
        db.set_meta("outside", b"another key")
        for sums in ({"near": 1, "far": 2}, {}, {"far": 3}):
            db.add_sums("outside", sums)
        assert db.status().outside == {"far": 5, "near": 1}


class StoredContract(CrawlDBContract):
    """What a store does beyond that which outlives its process."""

    @pytest.fixture
    def reopened(self, opened):
        def reopened(db):
            db.close()
            return opened()

        return reopened

    @pytest.fixture
    def died(self, opened):
        def died(db):
            self.die(db)
            return opened()

        return died

    def test_what_was_leased_waits_again(self, opened, reopened):
        db = opened()
        enter(db, "a/1", "a/2", "b/1", payload=b"request")
        db.urls.finish([db.urls.take().id])
        leased = db.urls.take()
        db = reopened(db)
        assert db.urls.waiting == 2
        assert db.urls.take() == leased

    def test_the_order_and_the_hosts_survive(self, opened, reopened):
        db = opened()
        names = [f"{'abc'[n % 3]}/{n}" for n in range(50)]
        db.urls.discover([url(one, n * 7 % 11, slot="mine" if n % 5 == 0 else None) for n, one in enumerate(names)])
        db = reopened(db)
        db.urls.hold("mine")
        order = sorted((n for n in range(50) if n % 5), key=lambda n: (-(n * 7 % 11), n))
        assert taken(db) == [names[n] for n in order]
        assert db.urls.discover([url("a/50"), url("new/51")])[0][1] is Found.NEW

    def test_ids_are_given_once(self, opened, reopened):
        db = opened()
        ids = enter(db, "a/1", payload=b"live")
        db.urls.forget_waiting(b"live")
        db = reopened(db)
        assert enter(db, "a/2") != ids

    def test_what_was_not_committed_is_gone(self, opened, died):
        db = opened()
        enter(db, "a/1")
        db.commit()
        enter(db, "a/2")
        db = died(db)
        assert db.urls.waiting == 1
        assert taken(db) == ["a/1"]

    def test_what_was_committed_survives(self, opened, died):
        db = opened()
        with db.span():
            ids = enter(db, "a/1", "b/1")
        db.urls.drop(ids[0])
        db.suppressed.enter([Suppressed(ids[0], Claim.read("rule 1"), 5)])
        db.set_meta("part", b"one")
        db.commit()
        db = died(db)
        assert db.meta("part") == b"one"
        assert db.suppressed.restore(Work(None, 5), 9) == [(ids[0], "http://a/1", 5)]
        assert taken(db) == ["a/1", "b/1"]


@dataclass
class Row:
    """A URL as the slow reference knows it."""

    new: NewUrl
    state: State
    score: float
    priority: int
    is_demoted: bool
    permission: Permission

    @property
    def slot(self):
        return self.new.slot or self.new.host

    @property
    def is_urgent(self):
        return self.state is State.WAITING and self.score == URGENT


@dataclass
class Reference:
    """A crawl database made of dictionaries."""

    rows: dict[int, Row] = field(default_factory=dict)
    ids: dict[int, int] = field(default_factory=dict)
    suppressed: dict[tuple[int, str], int | None] = field(default_factory=dict)

    def order(self, url_id):
        row = self.rows[url_id]
        return row.is_demoted, -row.priority, -row.score, url_id

    def waiting(self):
        return sorted((one for one, row in self.rows.items() if row.state is State.WAITING), key=self.order)

    def best(self, held):
        waiting = self.waiting()
        ready = [one for one in waiting if self.rows[one].slot not in held]
        if not ready or (self.rows[ready[0]].is_demoted and not self.rows[waiting[0]].is_demoted):
            return None
        return ready[0]

    def expected(self, new):
        """What :meth:`CrawlDB.discover` makes of *new*; the reference follows."""
        url_id = self.ids.get(new.key)
        if url_id is None:
            return Found.NEW
        row = self.rows[url_id]
        if new.is_dropped or row.state in {State.LEASED, State.DONE}:
            return Found.KNOWN
        score = URGENT if row.is_urgent else new.score
        if row.state is State.WAITING and new.permission is Permission.EXEMPT:
            row.permission = Permission.EXEMPT
        if row.state is State.WAITING and (not new.is_demoted, new.priority, score) <= (
            not row.is_demoted, row.priority, row.score
        ):  # fmt: skip
            return Found.KNOWN
        was, row.state = row.state, State.WAITING
        row.is_demoted, row.priority, row.score = new.is_demoted, new.priority, score
        if was is State.DROPPED:
            row.permission = new.permission
            self.suppressed = {
                (one, claim): target for (one, claim), target in self.suppressed.items() if one != url_id
            }
        return Found.RAISED if was is State.WAITING else Found.RESTORED

    def enter(self, url_id, new):
        assert url_id not in self.rows
        state = State.DROPPED if new.is_dropped else State.WAITING
        self.rows[url_id] = Row(new, state, new.score, new.priority, new.is_demoted, new.permission)
        self.ids[new.key] = url_id

    def restore(self, url_ids, permission=None):
        restored = []
        for url_id in url_ids:
            self.suppressed = {
                (one, claim): target for (one, claim), target in self.suppressed.items() if one != url_id
            }
            row = self.rows[url_id]
            if row.state is State.DROPPED or (row.state is State.WAITING and row.is_demoted):
                row.state, row.is_demoted = State.WAITING, False
                row.permission = row.permission if permission is None else permission
                restored.append((url_id, row.new.url))
        return restored


NAMES = [f"{host}/{path}" for host in ("a", "b", "b:81", "c") for path in range(5)]
SCORES = st.sampled_from([-1.0, 0.0, 0.25, 0.5, URGENT])
NEW = st.builds(
    url,
    st.sampled_from(NAMES),
    st.sampled_from([0.0, 0.25, 0.5, URGENT]),
    priority=st.sampled_from([-1, 0, 0, 0, 1]),
    is_demoted=st.booleans(),
    is_dropped=st.sampled_from([False, False, True]),
    permission=st.sampled_from([Permission.MOVE, Permission.STAY, Permission.EXEMPT]),
    slot=st.sampled_from([None, None, "a", "mine"]),
)
SLOTS = ["a", "b", "c", "mine"]
CLAIMS = [Claim(Kind.RULE, "1"), Claim(Kind.MIRROR, "a", "b")]
TARGET = 5
TARGETS = [TARGET, None]


class CrawlDBMachine(RuleBasedStateMachine):
    """All operations on URLs, in whatever order, against :class:`Reference`."""

    db: Any
    takes_in_pages = True

    def __init__(self):
        super().__init__()
        self.reference = Reference()
        self.held = set()
        self.open()
        self.committed = deepcopy(self.reference)

    def open(self):
        """Set ``db``, again after the end of the process."""
        raise NotImplementedError

    def ids(self, *states):
        return [one for one, row in self.reference.rows.items() if row.state in states]

    def pick(self, data, *states):
        ids = self.ids(*states)
        return data.draw(st.sampled_from(ids)) if ids else None

    @rule(urls=st.lists(NEW, max_size=6))
    def discover(self, urls):
        for new, (url_id, what) in zip(urls, self.db.urls.discover(urls), strict=True):
            assert what is self.reference.expected(new)
            if what is Found.NEW:
                self.reference.enter(url_id, new)
            assert url_id == self.reference.ids[new.key]

    @rule()
    def take(self):
        best = self.reference.best(self.held)
        heads = self.db.urls.heads(1)
        row = self.db.urls.take()
        assert (row.id if row else None) == best
        assert heads[:1] == ([row] if row else [])
        if row is not None:
            known = self.reference.rows[row.id]
            known.state = State.LEASED
            assert (row.score, row.priority, row.is_demoted, row.permission, row.slot) == (
                known.score, known.priority, known.is_demoted, known.permission, name_of(known.slot)
            )  # fmt: skip

        if not self.takes_in_pages:
            self.committed = deepcopy(self.reference)  # what is taken is known to all, and so is what came before

    def discover_nothing(self):
        assert self.db.urls.discover([]) == []

    @rule(slot=st.sampled_from(SLOTS))
    def hold(self, slot):
        self.db.urls.hold(slot)
        self.held |= {slot} if slot != "b" else {"b", "b:81"}

    @rule(slot=st.sampled_from(SLOTS))
    def release(self, slot):
        self.db.urls.release(slot)
        self.held -= {slot} if slot != "b" else {"b", "b:81"}

    @rule(data=st.data())
    def finish(self, data):
        url_id = self.pick(data, State.LEASED, State.WAITING)
        if url_id is not None:
            self.db.urls.finish([url_id])
            row = self.reference.rows[url_id]
            row.state = State.DONE if row.state is State.LEASED else row.state

    @rule(data=st.data())
    def demote(self, data):
        url_id = self.pick(data, State.LEASED)
        if url_id is not None:
            self.db.urls.demote(url_id)
            row = self.reference.rows[url_id]
            row.state, row.is_demoted = State.WAITING, True

    @rule(data=st.data(), claim=st.sampled_from(CLAIMS), instead=st.sampled_from(TARGETS))
    def drop(self, data, claim, instead):
        url_id = self.pick(data, State.LEASED, State.WAITING)
        if url_id is not None:
            self.db.urls.drop(url_id)
            self.reference.rows[url_id].state = State.DROPPED
            self.save(url_id, claim, instead)

    @rule(data=st.data(), claim=st.sampled_from(CLAIMS), instead=st.sampled_from(TARGETS))
    def save_what_waits(self, data, claim, instead):
        url_id = self.pick(data, State.WAITING)
        if url_id is not None:
            self.save(url_id, claim, instead)

    def save(self, url_id, claim, target):
        self.db.suppressed.enter([Suppressed(url_id, claim, target)])
        self.reference.suppressed[url_id, claim] = target

    @rule(claim=st.sampled_from(CLAIMS), most=st.sampled_from([1, 9]))
    def restore_of(self, claim, most):
        ids = sorted({one for one, why in self.reference.suppressed if why == claim})
        assert self.all_restored(lambda: self.db.suppressed.restore(Work(claim), most)) == self.reference.restore(ids)

    @rule(most=st.sampled_from([1, 9]))
    def restore_for(self, most):
        ids = sorted({one for (one, _), target in self.reference.suppressed.items() if target == TARGET})
        wanted = self.reference.restore(ids, permission=Permission.EXEMPT)
        assert self.all_restored(lambda: self.db.suppressed.restore(Work(None, TARGET), most)) == wanted

    def all_restored(self, restore):
        """All slices: which URLs one of them holds is the store's choice."""
        return sorted(one[:2] for restored in iter(restore, []) for one in restored if one.url is not None)

    @rule(scores=st.dictionaries(st.sampled_from(NAMES), SCORES, max_size=4))
    def rescore(self, scores):
        moved = self.scored((self.reference.ids.get(key_of(one)), score) for one, score in scores.items())
        assert self.db.urls.rescore({key_of(one): score for one, score in scores.items()}) == moved

    @rule(data=st.data(), score=SCORES)
    def set_scores(self, data, score):
        url_id = self.pick(data, State.WAITING, State.LEASED)
        if url_id is not None:
            self.scored([(url_id, score)])
            self.db.urls.set_scores([(self.db.urls.row(url_id), score)])

    def scored(self, pairs):
        count = 0
        for url_id, score in pairs:
            row = self.reference.rows.get(url_id)
            if row is not None and row.state is State.WAITING and not row.is_urgent:
                row.score = score
                count += 1
        return count

    @rule(data=st.data(), fails=st.booleans(), steps=st.integers(1, 6))
    def page(self, data, fails, steps):
        before = deepcopy(self.reference)
        rules = [
            lambda: self.discover(data.draw(st.lists(NEW, max_size=6))),
            self.take if self.takes_in_pages else self.discover_nothing,
            lambda: self.finish(data),
            lambda: self.drop(data, FIRST, 5),
            lambda: self.demote(data),
            lambda: self.restore_for(most=9),
            lambda: self.rescore(data.draw(st.dictionaries(st.sampled_from(NAMES), SCORES, max_size=4))),
            lambda: self.hold("a"),
            lambda: self.release("a"),
        ]
        try:
            with self.db.span():
                for _ in range(steps):
                    data.draw(st.sampled_from(rules))()
                if fails:
                    raise StopError
        except StopError:
            self.reference = before

    @rule()
    def commit(self):
        self.db.commit()
        self.committed = deepcopy(self.reference)

    @invariant()
    def what_waits_is_counted(self):
        assert self.db.urls.waiting == len(self.ids(State.WAITING))

    @invariant()
    def states_are_those_of_the_reference(self):
        keys = self.reference.ids
        wanted = {key: Known(url_id, self.reference.rows[url_id].state, None) for key, url_id in keys.items()}
        assert self.db.urls.find([key_of(one) for one in NAMES]) == wanted

    def teardown(self):
        self.db.close()


class StoredMachine(CrawlDBMachine):
    """As :class:`CrawlDBMachine`, with ends of the process in between."""

    def die(self):
        """End the process of ``db`` without a word."""
        raise NotImplementedError

    @rule()
    def ends(self):
        self.db.close()
        self.opened_again(self.reference)

    @rule()
    def is_killed(self):
        self.die()
        self.opened_again(self.committed)

    def opened_again(self, reference):
        self.reference = deepcopy(reference)
        self.held.clear()
        for row in self.reference.rows.values():
            row.state = State.WAITING if row.state is State.LEASED else row.state
        self.open()
        self.committed = deepcopy(self.reference)
