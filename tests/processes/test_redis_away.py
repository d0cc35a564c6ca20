"""A crawl whose Redis is away, answers half, is full or freezes loses nothing and counts nothing twice."""

from __future__ import annotations

import random
import signal
import socket
import threading
import time
from contextlib import closing, suppress

import pytest
from crawldb_contract import enter, name, taken, url
from job_processes import NumberedWeb, end_all, until
from redis import Redis
from redis_server import RedisServer, server_of

from scrapy_replica.claim import Claim, Work
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.redis import local_tables
from scrapy_replica.crawldb.redis.database import RedisCrawlDB

LEASE_S = 1.0


@pytest.fixture
def redis(tmp_path):
    with RedisServer(tmp_path, appendonly="yes", appendfsync="always") as redis:
        yield redis


def opened(redis, lease=LEASE_S):
    return RedisCrawlDB(redis.address(lease=lease))


def live(store, seconds):
    """Give signs of life."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        store.listen()
        time.sleep(0.05)


class CuttingProxy:
    """Passes on what goes to a server and back, and hangs up now and then: before a call, or before its reply."""

    def __init__(self, port, seed):
        self._lots, self._target = random.Random(seed), port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.is_cutting, self.n_cuts = False, 0
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self._target)) as server, suppress(OSError):
            while call := client.recv(1 << 20):
                if self._cuts():
                    return
                server.sendall(call)
                reply = server.recv(1 << 20)
                if self._cuts():
                    return
                client.sendall(reply)

    def _cuts(self):
        is_cut = self.is_cutting and self._lots.random() < 0.04
        self.n_cuts += is_cut
        return is_cut

    def close(self):
        self._listening.close()


def test_connections_that_break_at_any_moment(redis):
    with closing(CuttingProxy(redis.port, seed=1)) as proxy:
        one = RedisCrawlDB(f"redis://127.0.0.1:{proxy.port}/0")
        two = opened(redis, lease=30)
        proxy.is_cutting = True
        found, hosts = [], "abcdefgh"
        for number in range(40):
            enter(one, *(f"{host}/{number}" for host in hosts[number % 3 :]))
            for store in (one, two):
                if (row := store.urls.take()) is not None:
                    found.append(name(row))
                    store.urls.finish([row.id])
                store.listen()
        proxy.is_cutting = False
        assert proxy.n_cuts > 10
        for store in (one, two, one):
            store.idle(True)
            store.listen()
            store.listen()
        whole = {f"{host}/{number}" for number in range(40) for host in hosts[number % 3 :]}
        assert one.urls.waiting == two.urls.waiting == len(whole) - len(found)
        while rows := [(store, row) for store in (one, two) if (row := store.urls.take()) is not None]:
            for store, row in rows:
                found.append(name(row))
                store.urls.finish([row.id])
        assert sorted(found) == sorted(whole)
        one.close()
        two.close()


def test_away_for_longer_than_the_lease(redis):
    """Nobody could give a sign of life."""
    one, two = opened(redis), opened(redis)
    enter(one, "a/1", "b/1")
    taken_before = [one.urls.take(), two.urls.take()]
    redis.kill()
    time.sleep(1.5 * LEASE_S)
    redis.start()
    for store, row in zip((one, two), taken_before, strict=True):
        store.listen()
        store.urls.finish([row.id])
        store.commit()
    assert one.listen() is None or one.urls.waiting == 0
    assert len(one.processes()) == 2
    one.close()
    two.close()


def test_frozen_for_longer_than_the_lease(redis):
    one, two = opened(redis), opened(redis)
    for store in (one, two):
        store.listen()
    redis.signal(signal.SIGSTOP)
    time.sleep(1.5 * LEASE_S)
    redis.signal(signal.SIGCONT)
    for store in (one, two):
        store.listen()
    assert len(one.processes()) == 2
    one.close()
    two.close()


def test_where_all_were_silent_nobody_is_taken_for_dead(redis):
    """As after a time in which Redis was away; who is silent for longer than the others is out."""
    one, two = opened(redis), opened(redis)
    for store in (one, two):
        store.listen()  # who enters has longer
    time.sleep(1.5 * LEASE_S)
    one.listen()
    live(two, 1.5 * LEASE_S)
    with pytest.raises(StoreError, match="no sign of life"):
        one.listen()
    with suppress(StoreError):
        one.close()
    two.close()


def test_who_is_silent_while_others_are_heard_is_still_out(redis):
    one, two = opened(redis), opened(redis)
    enter(one, "a/1")
    one.urls.take()
    live(two, 1.5 * LEASE_S)
    assert taken(two) == ["a/1"]
    with pytest.raises(StoreError, match="no sign of life"):
        one.listen()
    with suppress(StoreError):
        one.close()
    two.close()


def test_a_large_job_is_read_for_longer_than_the_lease(redis, monkeypatch):
    """Others go on meanwhile, and do not take who reads for dead; what they write is heard."""
    monkeypatch.setattr(local_tables, "BETWEEN_S", 0.0)
    one = opened(redis)
    enter(one, *(f"h{number}/1" for number in range(100)))
    one.commit()
    between = RedisCrawlDB._go_on_opening

    def slowly(self):
        live(one, 1.5 * LEASE_S)
        enter(one, f"late{self._log.seen}/1")
        one.commit()
        between(self)
        monkeypatch.undo()

    monkeypatch.setattr(RedisCrawlDB, "_go_on_opening", slowly)
    two = opened(redis)
    two.listen()
    assert two.urls.waiting == 101
    assert len(one.processes()) == 2
    assert len({*taken(one), *taken(two)}) == 101
    live(one, 1.5 * LEASE_S)
    with pytest.raises(StoreError, match="no sign of life"):  # who takes part has no longer than the others
        two.listen()
    one.close()
    with suppress(StoreError):
        two.close()


def test_full(redis):
    """What was acknowledged is there for whoever goes on, and nothing of the last commit is there in part."""
    one = opened(redis, lease=30)
    used = int(server_of(one).run("INFO", "memory").split(b"used_memory:")[1].split()[0])
    server_of(one).run("CONFIG", "SET", "maxmemory", used + (1 << 20))
    kept = 0
    with pytest.raises(StoreError, match=r"is full .*: raise maxmemory"):  # noqa: PT012
        while True:
            enter(one, *(f"h{kept % 9}/{kept}-{number}" for number in range(50)))
            one.set_meta("kept", str(kept + 1).encode())
            one.commit()
            kept += 1
    assert kept > 5
    with pytest.raises(StoreError, match="is full"):
        one.urls.take()
    with suppress(StoreError):
        one.close()
    with Redis(port=redis.port) as client:
        client.config_set("maxmemory", 0)
    two = opened(redis, lease=30)
    n_kept = int(two.meta("kept"))
    assert n_kept in {kept, kept + 1}
    assert two.urls.waiting == 50 * n_kept
    assert len(set(taken(two))) == 50 * n_kept
    enter(two, *(f"h{n_kept % 9}/{n_kept}-{number}" for number in range(50)))
    assert two.urls.waiting == 50
    two.close()


def test_a_cluster(tmp_path):
    """All keys of a job have one slot, wherever their names are made."""
    with RedisServer(tmp_path, cluster_enabled="yes") as redis, Redis(port=redis.port) as client:
        client.execute_command("CLUSTER", "ADDSLOTS", *range(16384))
        while client.execute_command("CLUSTER", "INFO").count(b"cluster_state:ok") == 0:
            time.sleep(0.05)
        one, two = opened(redis, lease=30), opened(redis, lease=30)
        enter(one, "a/1", "b/1", "c/1")
        one.suppressed.begin(Work(Claim.read("rule 1")))
        for store in (one, two, one):
            store.listen()
        found = [*taken(two), *taken(one)]
        assert sorted(found) == ["a/1", "b/1", "c/1"]
        assert two.suppressed.unfinished() == [Work(Claim.read("rule 1"))]
        one.urls.drop(one.urls.discover([url("d/1")])[0][0])
        one.close()
        two.close()
        slots = {client.execute_command("CLUSTER", "KEYSLOT", key) for key in client.scan_iter()}
        assert slots == {client.execute_command("CLUSTER", "KEYSLOT", "replica")}


# Real processes


def errors(process):
    return [line for line in process.told.splitlines() if " ERROR: " in line]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_waits_ends_with_a_signal(started, redis_server, number):
    with NumberedWeb(200, seconds=0.05).serving() as web:
        one = started("topic", "one", seeds=web.of(0))
        until(lambda: len(web.asked) > 30)
        redis_server.kill()
        until(lambda: "does not answer" in one.log.read_text())
        one.send(number)
        one.ended(20)
    assert ["the wait for it was ended" in line for line in errors(one)] == [True], one.told
    assert "Traceback" not in one.told


def test_a_crawl_whose_redis_is_full_ends_in_one_line_and_goes_on(started, redis_server):
    with NumberedWeb(200, seconds=0.02).serving() as web, Redis(port=redis_server.port) as client:
        both = [started("topic", name, seeds=web.of(0)) for name in ("one", "two")]
        until(lambda: len(web.asked) > 60)
        client.config_set("maxmemory", client.info("memory")["used_memory"])
        for process in both:
            process.ended(30)
            assert ["is full" in line for line in errors(process)] == [True], process.told
            assert "Traceback" not in process.told
        n_fetched = len(web.asked)
        assert n_fetched < 200
        client.config_set("maxmemory", 0)
        for process in both:
            process.start()
        end_all(*both)
        assert set(web.fetched()) == web.whole
        assert len(web.asked) <= 200 + 40, "what was in flight, and no more, is fetched again"


def test_a_crawl_whose_redis_lost_everything_ends_in_one_line(started, redis_server):
    with NumberedWeb(200, seconds=0.05).serving() as web:
        both = [started("topic", name, seeds=web.of(0)) for name in ("one", "two")]
        until(lambda: len(web.asked) > 30)
        redis_server.kill()
        redis_server.start()
        for process in both:
            process.ended(30)
            assert ["came back without its last changes" in line for line in errors(process)] == [True], process.told
            assert "Traceback" not in process.told
