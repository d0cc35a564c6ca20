from __future__ import annotations

import random
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.sqlite.connection import DatabaseError
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, NewUrl, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.schema import DEMOTED, DONE, DROPPED
from scrapy_replica.decision import Action, Decision, Reason


def url(host, path, score=0.0, **kwargs):
    address = f"http://{host}/{path}"
    return NewUrl(address, host, hash(address), score, **kwargs)


@pytest.fixture
def db():
    db = SqliteCrawlDB(None)
    yield db
    db.close()


def taken(db):
    order = []
    while (row := db.take()) is not None:
        order.append(row.url.partition("://")[2])
    return order


class TestOrder:
    def test_best_score_first_over_all_hosts(self, db):
        for host, path, score in [("a", "1", 0.1), ("b", "1", 0.9), ("a", "2", 0.5), ("c", "1", 0.7)]:
            db.discover(url(host, path, score))
        assert taken(db) == ["b/1", "c/1", "a/2", "a/1"]

    def test_equal_scores_first_found_first(self, db):
        for host, path in [("b", "1"), ("a", "1"), ("b", "2"), ("a", "2")]:
            db.discover(url(host, path))
        assert taken(db) == ["b/1", "a/1", "b/2", "a/2"]

    def test_demoted_waits_behind_everything(self, db):
        db.discover(url("a", "demoted", 0.9 - DEMOTED))
        db.discover(url("a", "poor", -5.0))
        assert taken(db) == ["a/poor", "a/demoted"]

    def test_demoted_waits_for_hosts_that_are_not_ready(self, db):
        db.discover(url("a", "demoted", 0.9 - DEMOTED))
        db.discover(url("b", "slow", 0.1))
        db.hold(db.host_id("b"))
        assert db.take() is None
        db.release(db.host_id("b"))
        assert taken(db) == ["b/slow", "a/demoted"]

    def test_a_better_score_raises_a_waiting_url(self, db):
        db.discover(url("a", "1", 0.5))
        db.discover(url("b", "1", 0.1))
        assert db.discover(url("b", "1", 0.9)) == (2, False)
        assert taken(db) == ["b/1", "a/1"]

    def test_a_worse_score_changes_nothing(self, db):
        db.discover(url("a", "1", 0.5))
        assert db.discover(url("a", "1", 0.2)) is None
        assert db.take().score == 0.5

    def test_raise_moves_down_too(self, db):
        db.discover(url("a", "1", 0.5))
        db.discover(url("a", "2", 0.4))
        assert db.raise_(hash("http://a/1"), 0.1)
        assert taken(db) == ["a/2", "a/1"]

    def test_only_ready_hosts_take_part(self, db):
        db.discover(url("a", "1", 0.9))
        db.discover(url("b", "1", 0.1))
        db.hold(db.host_id("a"))
        assert taken(db) == ["b/1"]
        db.release(db.host_id("a"))
        assert taken(db) == ["a/1"]

    def test_warm_up_takes_in_the_order_of_discovery_demoted_last(self, db):
        db.order_by_discovery(True)
        for host, path, score in [("a", "1", -DEMOTED), ("a", "2", 0.1), ("b", "1", 0.2), ("a", "3", 0.9)]:
            db.discover(url(host, path, score))
        assert db.take().url == "http://a/2"
        assert db.take().url == "http://b/1"
        db.discover(url("b", "2", 0.5))
        db.order_by_discovery(False)
        assert taken(db) == ["a/3", "b/2", "a/1"]

    @settings(max_examples=60, deadline=None)
    @given(st.integers(0, 10**6))
    def test_equals_a_slow_reference(self, seed):
        """Random discoveries, raises, takes, holds and releases against a sorted list of everything that waits."""
        rng = random.Random(seed)
        db, waiting, held, number = SqliteCrawlDB(None), {}, set(), {}
        for _ in range(120):
            host = rng.choice("abcd")
            match rng.randrange(6):
                case 0 | 1 | 2:
                    path, score = str(rng.randrange(30)), rng.randrange(5) / 4
                    key = f"http://{host}/{path}"
                    number.setdefault(key, len(number))
                    if db.discover(url(host, path, score)) is not None:
                        waiting[key] = max(score, waiting.get(key, score))
                case 3:
                    db.hold(db.host_id(host))
                    held.add(host)
                case 4:
                    db.release(db.host_id(host))
                    held.discard(host)
                case _:
                    ready = [k for k in waiting if k[7] not in held]
                    best = min(ready, key=lambda k: (-waiting[k], number[k]), default=None)
                    row = db.take()
                    assert (row and row.url) == best
                    if best is not None:
                        assert row.score == waiting.pop(best)
            assert db.waiting == len(waiting)
        db.close()


class TestStates:
    def test_a_known_url_is_not_entered_again(self, db):
        db.discover(url("a", "1"))
        row = db.take()
        assert db.discover(url("a", "1", 1.0)) is None
        db.finish(row.id)
        assert db.discover(url("a", "1", 1.0)) is None
        assert db.find(hash("http://a/1")) == (row.id, DONE)

    def test_without_fingerprint_it_is_entered_again(self, db):
        for _ in range(2):
            db.discover(NewUrl("http://a/1", "a", None))
        assert taken(db) == ["a/1", "a/1"]

    def test_a_dropped_url_comes_back_when_a_good_page_links_to_it(self, db):
        url_id = db.discover_dropped(url("a", "1"))
        assert db.find(hash("http://a/1")) == (url_id, DROPPED)
        assert db.waiting == 0
        assert db.discover(url("a", "1", 0.3)) == (url_id, False)
        assert db.waiting == 1
        assert taken(db) == ["a/1"]

    def test_dropping_leaves_a_waiting_url_alone(self, db):
        db.discover(url("a", "1"))
        assert db.discover_dropped(url("a", "1")) is None
        assert taken(db) == ["a/1"]

    def test_restore_brings_back_what_was_dropped_for_these_reasons(self, db):
        for path in "12":
            db.discover(url("a", path, 0.5))
        for waiting, reason in zip(db.waiting_of("a"), (Reason.REPLICA_HOST, Reason.TRAP_BUDGET), strict=True):
            db.drop_waiting(waiting)
            db.ledger.record(waiting.id, Decision(Action.DROP, Action.DROP, reason), 1.0)
        assert db.waiting == 0
        assert db.take() is None
        assert db.restore("a", ["replica-host"]) == 1
        assert db.waiting == 1
        assert taken(db) == ["a/1"]

    def test_put_back_with_another_score(self, db):
        db.discover(url("a", "1", 0.9))
        db.discover(url("a", "2", 0.5))
        db.put_back(db.take(), 0.1)
        assert db.waiting == 2
        assert taken(db) == ["a/2", "a/1"]


class TestFile:
    def test_leases_are_put_back_at_open(self, tmp_path):
        db = SqliteCrawlDB(tmp_path / FILE_NAME)
        for path in "12":
            db.discover(url("a", path, payload=b"request"))
        done = db.take()
        db.finish(done.id)
        leased = db.take()
        db.close()
        db = SqliteCrawlDB(tmp_path / FILE_NAME)
        assert db.waiting == 1
        assert db.take() == leased
        db.close()

    def test_what_was_not_committed_is_gone_and_what_was_is_there(self, tmp_path):
        db = SqliteCrawlDB(tmp_path / FILE_NAME)
        db.discover(url("a", "1"))
        db.commit()
        db.discover(url("a", "2"))
        reader = sqlite3.connect(tmp_path / FILE_NAME)
        assert reader.execute("SELECT url FROM urls").fetchall() == [("http://a/1",)]
        reader.close()
        db.close()

    def test_the_order_survives(self, tmp_path):
        db = SqliteCrawlDB(tmp_path / FILE_NAME)
        for n in range(50):
            db.discover(url("abc"[n % 3], str(n), (n * 7 % 11) / 11))
        db.close()
        db = SqliteCrawlDB(tmp_path / FILE_NAME)
        scores = []
        while (row := db.take()) is not None:
            scores.append(row.score)
        db.close()
        assert len(scores) == 50
        assert scores == sorted(scores, reverse=True)

    @pytest.mark.parametrize("damage", ["version", "fingerprints"])
    def test_another_version_is_refused(self, tmp_path, damage):
        db = SqliteCrawlDB(tmp_path / FILE_NAME)
        db.set_meta(damage, b"99")
        db.close()
        with pytest.raises(DatabaseError, match=rf"{damage} 99.*another JOBDIR"):
            SqliteCrawlDB(tmp_path / FILE_NAME)

    def test_a_foreign_file_is_refused(self, tmp_path):
        (tmp_path / FILE_NAME).write_bytes(b"this is no database, whatever its name says" * 100)
        with pytest.raises(DatabaseError, match=r"is not a crawl database.*another JOBDIR"):
            SqliteCrawlDB(tmp_path / FILE_NAME)

    def test_a_foreign_database_is_refused(self, tmp_path):
        foreign = sqlite3.connect(tmp_path / FILE_NAME)
        foreign.execute("CREATE TABLE t (x)")
        foreign.commit()
        foreign.close()
        with pytest.raises(DatabaseError, match="is not a crawl database"):
            SqliteCrawlDB(tmp_path / FILE_NAME)

    def test_requests_kept_in_memory_only_are_forgotten(self, db):
        db.discover(url("a", "1", payload=b"live1"))
        db.discover(url("a", "2"))
        assert db.forget_waiting(b"live") == ["http://a/1"]
        assert taken(db) == ["a/2"]


class TestPages:
    def test_found_by_fingerprints(self, db):
        db.discover(url("a", "1"))
        row = db.take()
        simhash = (1 << 64) - 5
        db.pages.enter(Fetched(row.id, 1.0, 200, signature=b"s" * 16, simhash=simhash, title="T"))
        assert [p.url for p in db.pages.by_signature(b"s" * 16)] == ["http://a/1"]
        assert [p.title for p in db.pages.by_simhash(simhash)] == ["T"]
        assert list(db.pages.simhashes()) == [simhash]
        assert db.pages.by_simhash(5) == []
        assert db.pages.count() == 1

    def test_an_outcome_settles_only_what_was_to_be_dropped(self, db):
        db.discover(url("a", "1"))
        db.discover(url("a", "2"))
        sampled = Decision(Action.FETCH, Action.DROP, Reason.TRAP_BUDGET, is_sampled=True)
        demoted = Decision(Action.DEMOTE, Action.DEMOTE, Reason.NEAR_DUPLICATE_LINKS)
        db.ledger.record(1, sampled, 1.0)
        db.ledger.record(2, demoted, 1.0)
        assert db.ledger.settle(1, "novel")
        assert not db.ledger.settle(2, "novel")
        assert db.ledger.outcomes() == {"novel": 1}
