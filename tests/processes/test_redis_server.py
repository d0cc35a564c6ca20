"""The connection to Redis: what is wrong with it is one line, and a server that is away is waited for."""

from __future__ import annotations

import signal
import socket
import threading
from contextlib import closing, contextmanager

import pytest
from redis_server import RedisServer, free_port

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.redis import server as module
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.redis.server import Server

SECRET = "s3cret/with%25"


def connected(address):
    return Server(Address.parse(address))


def refused(address):
    """Return in which words a server is refused."""
    with pytest.raises(StoreError) as error:
        connected(address)
    line = str(error.value)
    assert "\n" not in line
    assert "s3cret" not in line
    return line


# Addresses


def test_an_address_with_all_that_it_can_have():
    address = Address.parse("rediss://me:s3cret%2F%25@redis.example:7000/3?prefix=job-1&lease=4.5")
    assert address[:7] == ("redis.example", 7000, "", 3, "me", "s3cret/%", True)
    assert (address.prefix, address.lease_s) == ("job-1", 4.5)
    assert str(address) == "rediss://redis.example:7000/3?prefix=job-1"
    assert "s3cret" not in repr(address)


def test_what_an_address_leaves_out():
    address = Address.parse("redis://localhost")
    assert (address.port, address.db, address.prefix, address.lease_s) == (6379, 0, "replica", 30.0)
    assert (address.username, address.password, address.is_tls) == (None, None, False)


def test_other_forms_of_addresses():
    assert Address.parse("redis://:word@[::1]:1/").password == "word"
    assert str(Address.parse("redis://:word@[::1]:1/")) == "redis://[::1]:1/0?prefix=replica"
    address = Address.parse("unix://me:word@/run/redis%20one.sock?db=2&prefix=x")
    assert (address.path, address.db, address.prefix) == ("/run/redis one.sock", 2, "x")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "begins with redis://"),
        ("localhost:6379", "begins with redis://"),
        ("http://localhost/", "begins with redis://"),
        ("redis://", "no host"),
        ("redis:///0", "no host"),
        ("redis://:s3cret@/0", "no host"),
        ("redis://host:port", "cannot be read"),
        ("redis://host:0", "port is a number from 1 to 65535"),
        ("redis://host:65536", "cannot be read"),
        ("redis://:s3cret/word@host", "cannot be read"),
        ("redis://:s3cret#word@host", "cannot be read"),
        ("redis://host#1", "has a #"),
        ("redis://:s3cret?word@host", "cannot be read"),
        ("redis://[::1", "cannot be read"),
        ("redis://host/one", "db is a number"),
        ("redis://host/-1", "db is a number"),
        ("redis://host/0/1", "db is a number"),
        ("redis://host?db=1", "not 'db'"),
        ("redis://host?timeout=3", "not 'timeout'"),
        ("redis://host?prefix=", "prefix is made of"),
        ("redis://host?prefix={x}", "prefix is made of"),
        ("redis://host?prefix=a%0Ab", "prefix is made of"),
        ("redis://host?prefix=a&prefix=b", "twice"),
        ("redis://host?lease=0.5", "lease is a number of seconds, 1 or more"),
        ("redis://host?lease=nan", "lease is a number"),
        ("redis://host?lease=30s", "lease is a number"),
        ("unix://run/redis.sock", "absolute path"),
        ("unix://", "absolute path"),
    ],
)
def test_what_is_no_address_is_named_with_the_setting(text, why):
    with pytest.raises(ValueError, match="REPLICA_CRAWLDB is no address of Redis") as error:
        Address.parse(text)
    assert why in str(error.value)
    assert "\n" not in str(error.value)
    assert "s3cret" not in str(error.value)


# What is wrong at the start


def test_nobody_is_there():
    address = f"redis://:s3cret@127.0.0.1:{free_port()}"
    line = refused(address)
    assert "cannot be reached" in line
    assert "Connection refused" in line
    assert "start Redis there, or correct the address" in line


def test_a_name_that_is_no_host():
    assert "cannot be reached" in refused("redis://no-such-host.invalid")


def test_a_socket_that_is_none(tmp_path):
    assert "cannot be reached" in refused(f"unix://{tmp_path}/redis.sock")


def test_a_unix_socket(tmp_path):
    path = tmp_path / "redis.sock"
    with RedisServer(tmp_path, unixsocket=path), closing(connected(f"unix://{path}?prefix=x")) as server:
        assert server.run("PING") == b"PONG"


def test_passwords(tmp_path):
    with RedisServer(tmp_path, password=SECRET) as redis:
        assert "wants a password" in refused(f"redis://{redis.place}")
        assert "refuses this user or password" in refused(f"redis://:s3cret@{redis.place}")
        assert "refuses this user or password" in refused(f"redis://nobody:s3cret@{redis.place}")
        quoted = SECRET.replace("%", "%25").replace("/", "%2F")
        with closing(connected(f"redis://:{quoted}@{redis.place}")) as server:
            assert server.run("PING") == b"PONG"


def test_a_password_that_is_not_asked_for(tmp_path):
    with RedisServer(tmp_path) as redis:
        assert "has no password (AUTH" in refused(f"redis://:s3cret@{redis.place}")


def test_a_user_who_may_not(tmp_path):
    with RedisServer(tmp_path) as redis:
        with closing(connected(redis.address())) as server:
            server.run("ACL", "SETUSER", "reader", "on", ">s3cret", "~*", "+@read", "+info", "+select")
        assert "does not let this user do what a crawl does" in refused(f"redis://reader:s3cret@{redis.place}")


def test_a_database_that_is_not_there(tmp_path):
    with RedisServer(tmp_path) as redis:
        assert "has no database of that number" in refused(f"redis://{redis.place}/99")


def test_tls(tmp_path, monkeypatch):
    with RedisServer(tmp_path, is_tls=True) as redis:
        line = refused(f"redis://{redis.place}")
        assert "if it speaks TLS write rediss://" in line
        assert "certificate that is not trusted" in refused(redis.address())
        monkeypatch.setenv("SSL_CERT_FILE", str(redis.certificate))
        with closing(connected(redis.address())) as server:
            assert server.run("PING") == b"PONG"
        assert "certificate that is not trusted" in refused(f"rediss://localhost:{redis.port}")


def test_tls_that_the_server_does_not_speak(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ANSWER_S", 0.5)
    with RedisServer(tmp_path) as redis:
        assert "if it speaks no TLS write redis://" in refused(f"rediss://{redis.place}")


def test_a_server_that_forgets_when_it_is_full(tmp_path):
    with RedisServer(tmp_path, maxmemory="100mb", maxmemory_policy="allkeys-lru") as redis:
        line = refused(redis.address())
        assert "forgets keys when it is full (allkeys-lru): set maxmemory-policy noeviction" in line


def test_a_replica(tmp_path):
    (tmp_path / "replica").mkdir()
    with RedisServer(tmp_path) as redis, RedisServer(tmp_path / "replica", replicaof=f"127.0.0.1 {redis.port}") as copy:
        assert "is a replica, which is only read: give the address of its master" in refused(copy.address())


def test_a_node_of_a_cluster_without_the_job(tmp_path):
    with RedisServer(tmp_path, cluster_enabled="yes") as redis:
        assert "Hash slot not served" in refused(redis.address())


@contextmanager
def fake(answers):
    """A server that gives *answers*, one for each command that it gets."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve():
            connection, _ = listening.accept()
            with connection:
                for answer in answers:
                    if not connection.recv(1 << 16):
                        return
                    connection.sendall(answer)
                connection.recv(1 << 16)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"redis://127.0.0.1:{listening.getsockname()[1]}"
        thread.join(5)


def bulk(text):
    return f"${len(text)}\r\n{text}\r\n".encode()


OK = b"+OK\r\n"


@pytest.mark.parametrize(
    ("info", "why"),
    [
        ("redis_version:6.0.16", "is Redis 6.0.16: 6.2 is needed, or Valkey"),
        ("redis_version:2.8.4", "is Redis 2.8.4"),
        ("redis_version:strange\x1b[31m", "is Redis strange"),
        ("", "is Redis"),
    ],
)
def test_a_server_that_is_too_old(info, why):
    with fake([OK + OK, bulk(f"# Server\r\n{info}\r\nrun_id:x\r\n")]) as address:
        line = refused(address)
    assert why in line
    assert line.isprintable()


def test_a_cluster_of_which_another_node_has_the_job():
    info = bulk("redis_version:7.0.15\r\nrun_id:x\r\n")
    with fake([OK + OK, info, b"-MOVED 866 10.0.0.7:7001\r\n"]) as address:
        line = refused(address)
    assert "another node of it has the job (866 10.0.0.7:7001): give the address of that node" in line


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x01\x02", b"-ERR \x1b[31mred\r\n"])
def test_a_server_of_something_else(answer, monkeypatch):
    monkeypatch.setattr(module, "ANSWER_S", 0.5)
    with fake([answer] * 3) as address:
        assert refused(address).isprintable()


# What comes later


SCRIPTS = {
    "add": "return redis.call('INCRBY', KEYS[1], ARGV[1])",
    "fill": "return redis.call('SET', KEYS[1], string.rep('x', tonumber(ARGV[1])))",
    "wrong": "return redis.call('HGET', KEYS[1], 'x')",
    "echo": "return {ARGV[1], #KEYS, #ARGV, false, 3}",
    "nothing": "return",
    "several": "return {1, {2, {'x', {}}}}",
    "gone": "return redis.error_reply('GONE this process gave no sign of life for too long')",
}


@pytest.fixture
def _scripts(monkeypatch):
    kept = module._text
    monkeypatch.setattr(module, "_text", lambda name: SCRIPTS[name] if name in SCRIPTS else kept(name))
    module._script.cache_clear()
    yield
    module._script.cache_clear()


@pytest.mark.usefixtures("_scripts")
class TestCalls:
    @pytest.fixture
    def redis(self, tmp_path):
        with RedisServer(tmp_path, appendonly="yes", appendfsync="always") as redis:
            yield redis

    @pytest.fixture
    def server(self, redis):
        with closing(connected(redis.address(prefix="job"))) as server:
            yield server

    def test_keys_have_the_prefix_as_their_tag(self, server):
        server.call("add", ["n"], [2])
        assert server.run("GET", "{job}:n") == b"2"
        assert all(key.startswith(b"{job}:") for key in server.run("KEYS", "*"))

    @pytest.mark.parametrize("is_change", [True, False])
    def test_replies_come_as_the_script_gives_them(self, server, is_change):
        for value, found in ((b"\xff\x00", b"\xff\x00"), ("\ud800", b"\xed\xa0\x80"), (7, b"7"), (0.5, b"0.5")):
            assert server.call("echo", ["n"], [value], is_change=is_change) == [found, 1, 1, None, 3]
        assert server.call("nothing", [], is_change=is_change) is None
        assert server.call("several", [], is_change=is_change) == [1, [2, [b"x", []]]]

    def test_a_call_that_comes_twice_is_carried_out_once(self, server):
        """Its reply was lost, so nobody knows whether it was carried out."""
        assert server.call("add", ["n"], [2]) == 2
        server._number -= 1
        assert server.call("add", ["n"], [2]) == 2
        assert server.call("add", ["n"], [2]) == 4
        assert server.run("GET", "{job}:n") == b"4"

    def test_processes_do_not_answer_for_each_other(self, server, redis):
        with closing(connected(redis.address(prefix="job"))) as other:
            assert [server.call("add", ["n"], [1]), other.call("add", ["n"], [1])] == [1, 2]

    def test_what_a_script_refuses_is_one_line_and_final(self, server):
        server.run("SET", "{job}:s", "text")
        with pytest.raises(StoreError, match=r"has something else under the prefix of the job .*: give another prefix"):
            server.call("wrong", ["s"])
        with pytest.raises(StoreError, match="has something else"):
            server.call("add", ["n"], [1])
        with pytest.raises(StoreError, match="has something else"):
            server.run("PING")

    def test_a_process_that_was_taken_for_dead(self, server):
        with pytest.raises(StoreError, match=r"no sign of life .*: others go on with what it did; start it again"):
            server.call("gone", [])

    def test_several_commands_of_which_one_fails(self, server):
        server.run("SET", "{job}:s", "text")
        with pytest.raises(StoreError, match="something else"):
            server.run_many([["GET", "{job}:s"], ["HGETALL", "{job}:s"], ["GET", "{job}:s"]])

    def test_a_server_that_is_full(self, server):
        server.run("CONFIG", "SET", "maxmemory", server.run("INFO", "memory").split(b"used_memory:")[1].split()[0])
        with pytest.raises(StoreError, match=r"is full .*: raise maxmemory; the same command goes on"):
            server.call("fill", ["n"], [1 << 20])

    def test_scripts_that_the_server_forgot(self, server):
        assert server.call("add", ["n"], [1]) == 1
        server.run("SCRIPT", "FLUSH")
        assert server.call("add", ["n"], [1]) == 2

    def test_a_server_that_goes_away_and_comes_back(self, server, redis, caplog):
        caplog.set_level("INFO")
        assert server.call("add", ["n"], [1]) == 1
        redis.kill()
        threading.Timer(0.5, redis.start).start()
        assert server.call("add", ["n"], [1]) == 2
        assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
        assert "does not answer" in caplog.messages[0]
        assert "answers again" in caplog.messages[1]
        assert server.run_many([["GET", "{job}:n"]] * 2) == [b"2", b"2"]

    def test_a_server_that_hangs(self, redis, monkeypatch):
        monkeypatch.setattr(module, "ANSWER_S", 0.3)
        with closing(connected(redis.address(prefix="job"))) as server:
            server.call("add", ["n"], [1])
            redis.signal(signal.SIGSTOP)
            threading.Timer(0.8, redis.signal, [signal.SIGCONT]).start()
            assert [server.call("add", ["n"], [1]) for _ in range(3)] == [2, 3, 4]

    def test_a_wait_is_told_now_and_then(self, server, redis, monkeypatch, caplog):
        monkeypatch.setattr(module, "TELL_S", 0.2)
        redis.kill()
        threading.Timer(1, redis.start).start()
        server.run("PING")
        assert any("still waiting" in message for message in caplog.messages)

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_a_wait_ends_with_a_signal(self, server, redis, number, monkeypatch):
        """Who read that it waits may send it at once."""
        before = signal.getsignal(number)
        redis.kill()
        monkeypatch.setattr(module.logger, "warning", lambda *_: signal.raise_signal(number))
        with pytest.raises(StoreError, match="the wait for it was ended: the same command goes on"):
            server.run("PING")
        assert signal.getsignal(number) is before

    def test_a_wait_in_a_thread_leaves_signals_alone(self, server, redis):
        redis.kill()
        replies = []
        thread = threading.Thread(target=lambda: replies.append(server.run("PING")))
        thread.start()
        redis.start()
        thread.join(5)
        assert replies == [b"PONG"]

    def test_what_was_acknowledged_is_not_lost(self, server, redis):
        for number in range(1, 50):
            server.seen = server.call("add", ["seq"], [1])
            if number % 10 == 0:
                redis.kill()
                redis.start()
        assert server.call("add", ["seq"], [1]) == 50

    def test_a_password_that_was_changed_meanwhile(self, server, redis):
        redis.kill()
        redis.start(requirepass="s3cret")
        with pytest.raises(StoreError, match="wants a password") as error:
            server.run("PING")
        assert "s3cret" not in str(error.value)


@pytest.mark.usefixtures("_scripts")
class TestLoss:
    """A server that writes nothing to its disk, or not all."""

    MATCH = "came back without its last changes: start all processes of the crawl again"

    @pytest.fixture
    def redis(self, tmp_path):
        with RedisServer(tmp_path) as redis:
            yield redis

    @pytest.fixture
    def server(self, redis):
        with closing(connected(redis.address())) as server:
            yield server

    def test_all(self, server, redis):
        redis.kill()
        redis.start()
        with pytest.raises(StoreError, match=self.MATCH):
            server.run("PING")

    def test_some(self, server, redis):
        server.seen = server.call("add", ["seq"], [1])
        server.run("SAVE")
        redis.kill()
        redis.start()
        assert server.run("PING") == b"PONG"
        server.seen = server.call("add", ["seq"], [1])
        redis.kill()
        redis.start()
        with pytest.raises(StoreError, match=self.MATCH):
            server.run("PING")

    def test_a_call_that_was_answered(self, server, redis):
        """What it changed did not come back in the log yet."""
        assert server.call("add", ["n"], [1]) == 1
        server.run("SAVE")
        assert server.call("add", ["n"], [1]) == 2
        redis.kill()
        redis.start()
        with pytest.raises(StoreError, match=self.MATCH):
            server.call("add", ["n"], [1])

    def test_some_that_others_have_made_up_for(self, server, redis):
        """The numbers are as high as before, and other changes have them."""
        server.seen = server.call("add", ["seq"], [1])
        server.run("SAVE")
        server.seen = server.call("add", ["seq"], [1])
        redis.kill()
        redis.start()
        with closing(connected(redis.address())) as other:
            assert other.call("add", ["seq"], [1]) == 2
            assert other.call("add", ["seq"], [1]) == 3
        with pytest.raises(StoreError, match=self.MATCH):
            server.run("PING")

    def test_several_starts_without_loss(self, server, redis):
        server.seen = server.call("add", ["seq"], [1])
        for _ in range(3):
            server.run("SAVE")
            redis.kill()
            redis.start()
            with closing(connected(redis.address())) as other:
                other.call("add", ["seq"], [1])
                other.run("SAVE")
            redis.kill()
            redis.start()
            assert server.run("PING") == b"PONG"
            server.seen = int(server.run("GET", "{replica}:seq"))

    def test_keys_that_were_deleted(self, server, redis):
        server.run("FLUSHALL")
        redis.kill()
        redis.start()
        with pytest.raises(StoreError, match=self.MATCH):
            server.run("PING")


def test_a_server_that_reads_its_data_is_waited_for(tmp_path):
    """At its start as well: it is there."""
    with RedisServer(tmp_path) as redis:
        with closing(connected(redis.address())) as server:
            server.run("EVAL", "for n = 1, 20000 do redis.call('SET', 'k' .. n, n) end", 0)
            server.run("SAVE")
        redis.kill()
        redis.start(key_load_delay=5, loading_process_events_interval_bytes=1024)
        with closing(connected(redis.address())) as server:
            assert server.run("DBSIZE") > 20_000
