"""Orders of a person: each is carried out once by the part that knows its kind, and answered."""

from __future__ import annotations

import pytest

from scrapy_replica.commands.job import ordering, reading
from scrapy_replica.crawl.orders import Orders
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
def orders(store):
    return Orders(store, lambda: 7.0)


def give(job, *kinds):
    with ordering(str(job)) as give:
        return [give(kind, {"name": kind}) for kind in kinds]


def obey(orders, store):
    orders.obey()
    store.commit()


def given(job):
    with reading(str(job)) as reader:
        return {order.kind: order for order in reader.orders(10)}


class TestObeying:
    def test_each_is_carried_out_once_in_its_order(self, job, store, orders):
        seen = []
        for kind in "ab":
            orders.add(kind, lambda what: seen.append(what["name"]))
        give(job, "b", "a", "b")
        obey(orders, store)
        obey(orders, store)
        assert seen == ["b", "a", "b"]
        assert all(order.is_done and order.done_at == 7.0 for order in given(job).values())

    @pytest.mark.parametrize("error", [ValueError("no such host"), KeyError("host"), RuntimeError("broken")])
    def test_one_that_cannot_be_carried_out_leaves_only_an_answer(self, job, store, orders, error):
        seen = []

        def fails(what):
            seen.append(what)
            enter(store, "a.example/1")
            raise error

        orders.add("bad", fails)
        orders.add("good", lambda _: "done well")
        give(job, "bad", "good")
        obey(orders, store)
        obey(orders, store)
        told = given(job)
        assert len(seen) == 1
        assert store.urls.waiting == 0
        assert told["bad"].answer.startswith(NOT_DONE)
        assert str(error.args[0]) in told["bad"].answer
        assert not told["bad"].is_done
        assert not told["bad"].is_open
        assert told["good"].answer == "done well"
        assert [order.kind for order in store.orders.done("bad")] == []
        assert [order.kind for order in store.orders.done("good")] == ["good"]

    def test_many_are_carried_out_in_turns(self, job, store, orders):
        seen = []
        give(job, *["nobody"] * 70, *["a"] * 70)
        orders.add("a", seen.append)
        obey(orders, store)
        assert len(seen) == 50
        obey(orders, store)
        assert len(seen) == 70

    def test_an_error_of_the_file_is_not_the_orders_fault(self, job, store, orders):
        def full(_):
            raise StoreError("disk full")

        orders.add("a", full)
        give(job, "a")
        with pytest.raises(StoreError):
            orders.obey()
        assert given(job)["a"].is_open

    @pytest.mark.parametrize("value", [["a"], {}, None, 10**30, 7])
    def test_a_value_that_cannot_be_stored_is_the_orders_fault(self, job, store, orders, value):
        orders.add("a", lambda what: store.urls.hosts.pause(what["host"]))
        orders.add("checked", lambda what: store.urls.hosts.pause(what["host"]), host=str)
        with ordering(str(job)) as give:
            give("a", {"host": value})
            give("checked", {"host": value})
        obey(orders, store)
        assert not any(order.is_open for order in given(job).values())
        assert given(job)["checked"].answer == f"{NOT_DONE}its 'host' is missing or wrong"
        enter(store, "a.example/1")
        store.commit()
        assert store.urls.waiting == 1

    def test_one_of_a_kind_that_nobody_took_on_waits(self, job, store, orders):
        give(job, "later")
        obey(orders, store)
        assert given(job)["later"].is_open
        orders.add("later", lambda _: None)
        obey(orders, store)
        assert given(job)["later"].is_done

    @pytest.mark.parametrize("what", ["no json", "[]", "7", r'{"name": "\ud800"}'])
    def test_one_that_says_nothing_readable_is_answered(self, job, store, orders, what):
        store.connection.write("INSERT INTO orders (at, kind, what) VALUES (1.0, 'a', ?)", (what,))
        orders.add("a", lambda what: what["name"])
        obey(orders, store)
        assert given(job)["a"].answer == f"{NOT_DONE}KeyError: 'name'"
