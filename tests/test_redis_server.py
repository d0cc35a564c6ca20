"""The connection to Redis: what is wrong with an address or a server is one line, and a server that is away is waited for."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from contextlib import closing, contextmanager

import pytest
from redis_server import RedisServer, free_port

from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.redis import server as module
from scrapy_replica.crawldb.redis.address import Address
from scrapy_replica.crawldb.redis.server import Server

SECRET = "s3cret/with%25"  # noqa: S105


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
    assert Address.parse("redis://:word@[::1]:1/").password == "word"  # noqa: S105
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
    assert "start Redis there, or correct REPLICA_CRAWLDB" in line


def test_a_name_that_is_no_host():
    assert "cannot be reached" in refused("redis://no-such-host.invalid")


def test_a_socket_that_is_none(tmp_path):
    assert "cannot be reached" in refused(f"unix://{tmp_path}/redis.sock")


def test_a_unix_socket(tmp_path):
    with RedisServer(tmp_path, unixsocket=tmp_path / "redis.sock"):
        with closing(connected(f"unix://{tmp_path}/redis.sock?prefix=x")) as server:
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
    monkeypatch.setattr(module, "CONNECT_S", 0.5)
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
        line = refused(redis.address())
        assert redis.place in line
        assert "cannot be" in line  # CLUSTERDOWN: no node has the slot


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
        yield "redis://127.0.0.1:{}".format(listening.getsockname()[1])
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


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x00\x01\x02", b"-ERR \x1b[31mred\r\n"])
def test_a_server_of_something_else(answer, monkeypatch):
    monkeypatch.setattr(module, "ANSWER_S", 0.5)
    with fake([answer] * 3) as address:
        assert refused(address).isprintable()
