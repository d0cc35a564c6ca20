"""Orders of a person: each is carried out once by the part that knows its kind, and answered."""

from __future__ import annotations

import pytest
from scrapy_replica.crawl.obeying import Obeying

from scrapy_replica.commands.job import ordering, reading
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.orders import NOT_DONE
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from tests.crawldb_contract import enter


@pytest.fixture
def job(tmp_path):
    return tmp_path


@pytest.fixture
def store(job):
    store = SqliteCrawlDB(job)
    yield store
    store.close()


@pytest.fixture
def obeying(store):
    return Obeying(store, lambda: 7.0)


def give(job, *kinds):
    with ordering(str(job)) as orders:
        return [orders.give(kind, {"name": kind}) for kind in kinds]


def obey(obeying, store):
    obeying.obey()
    store.commit()


def acts(job):
    with reading(str(job)) as reader:
        return {act.kind: act for act in reader.acts(10)}


class TestObeying:
    def test_each_is_carried_out_once_in_its_order(self, job, store, obeying):
        seen = []
        for kind in "ab":
            obeying.add(kind, lambda what: seen.append(what["name"]))
        give(job, "b", "a", "b")
        obey(obeying, store)
        obey(obeying, store)
        assert seen == ["b", "a", "b"]
        assert all(act.is_done and act.done_at == 7.0 for act in acts(job).values())

    @pytest.mark.parametrize("error", [ValueError("no such host"), KeyError("host"), RuntimeError("broken")])
    def test_one_that_cannot_be_carried_out_leaves_only_an_answer(self, job, store, obeying, error):
        seen = []

        def fails(what):
            seen.append(what)
            enter(store, "a.example/1")
            raise error

        obeying.add("bad", fails)
        obeying.add("good", lambda _: "done well")
        give(job, "bad", "good")
        obey(obeying, store)
        obey(obeying, store)
        told = acts(job)
        assert len(seen) == 1
        assert store.urls.waiting == 0
        assert told["bad"].answer.startswith(NOT_DONE)
        assert str(error.args[0]) in told["bad"].answer
        assert not told["bad"].is_done
        assert not told["bad"].is_open
        assert told["good"].answer == "done well"
        assert [order.kind for order in store.orders.done("bad")] == []
        assert [order.kind for order in store.orders.done("good")] == ["good"]

    def test_many_are_carried_out_in_turns(self, job, store, obeying):
        seen = []
        give(job, *["nobody"] * 70, *["a"] * 70)
        obeying.add("a", seen.append)
        obey(obeying, store)
        assert len(seen) == 50
        obey(obeying, store)
        assert len(seen) == 70

    def test_an_error_of_the_file_is_not_the_orders_fault(self, job, store, obeying):
        def full(_):
            raise StoreError("disk full")

        obeying.add("a", full)
        give(job, "a")
        with pytest.raises(StoreError):
            obeying.obey()
        assert acts(job)["a"].is_open

    @pytest.mark.parametrize("value", [["a"], {}, None, 10**30, 7])
    def test_a_value_that_cannot_be_stored_is_the_orders_fault(self, job, store, obeying, value):
        obeying.add("a", lambda what: store.urls.pause(what["host"]))
        obeying.add("checked", lambda what: store.urls.pause(what["host"]), host=str)
        with ordering(str(job)) as orders:
            orders.give("a", {"host": value})
            orders.give("checked", {"host": value})
        obey(obeying, store)
        assert not any(act.is_open for act in acts(job).values())
        assert acts(job)["checked"].answer == f"{NOT_DONE}its 'host' is missing or wrong"
        enter(store, "a.example/1")
        store.commit()
        assert store.urls.waiting == 1

    def test_one_of_a_kind_that_nobody_took_on_waits(self, job, store, obeying):
        give(job, "later")
        obey(obeying, store)
        assert acts(job)["later"].is_open
        obeying.add("later", lambda _: None)
        obey(obeying, store)
        assert acts(job)["later"].is_done

    @pytest.mark.parametrize("what", ["no json", "[]", "7", r'{"name": "\ud800"}'])
    def test_one_that_says_nothing_readable_is_answered(self, job, store, obeying, what):
        store._connection.write("INSERT INTO orders (at, kind, what) VALUES (1.0, 'a', ?)", (what,))
        obeying.add("a", lambda what: what["name"])
        obey(obeying, store)
        assert acts(job)["a"].answer == f"{NOT_DONE}KeyError: 'name'"
