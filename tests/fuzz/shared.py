"""Jobs in Redis, of which some values were overwritten: whoever has the server's password may write there."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from kept_job import PAGES, SETTINGS, SITE
from redis import Redis
from redis_server import RedisServer
from web import crawl

from fuzz.mutation import mutated
from scrapy_replica import TopicSpider
from scrapy_replica.commands.checks import of_job
from scrapy_replica.commands.job import reading
from scrapy_replica.crawldb.redis.database import RedisCrawlDB

if TYPE_CHECKING:
    from collections.abc import Callable

TOKENS = [
    b"topic",
    b"14",
    b"nan",
    b"\x93\x01\x02\x03",
    b"\xc0",
    b"\xc1",
    b"\xdf\xff\xff\xff\xff",
    b"\xcb" + b"\xff" * 8,
]
"""Parts of MessagePack among them: nil, what never stands there, a map without end, no number."""


def chosen(random: Random, *_: object) -> bytes:
    """Return what an input is: the seed of what is overwritten, since a job is known when the server runs."""
    return random.randbytes(8)


def jobs(stack: ExitStack) -> Callable[[bytes], object]:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    server = stack.enter_context(RedisServer(folder))
    client = stack.enter_context(Redis(port=server.port))
    settings = {**SETTINGS, "REPLICA_CRAWLDB": server.address(), "CLOSESPIDER_PAGECOUNT": 6, "CONCURRENT_REQUESTS": 1}
    asyncio.run(crawl(TopicSpider, PAGES, settings, seeds=f"{SITE}/"))
    kept = {key: client.dump(key) for key in sorted(client.keys())}

    def read(data: bytes) -> None:
        client.flushdb()
        for key, value in kept.items():
            client.restore(key, 0, value)
        random = Random(data)
        for _ in range(random.choice((1, 1, 2, 8)) if any(data) else 0):
            _overwrite(client, random.choice(sorted(kept)), random)
        for use in (_looked_at, _told_of, _gone_on_with):
            told = ""
            try:
                use(server.address())
            except UnicodeError:
                raise
            except ValueError as error:
                told = str(error)
            assert "\n" not in told

    return read


def _overwrite(client: Any, key: bytes, random: Random) -> None:
    def other(value: bytes) -> bytes:
        return mutated(random, [value or b"\0"], TOKENS)

    kind = client.type(key)
    if kind == b"string":
        client.set(key, other(client.get(key)))
    elif kind == b"hash" and (fields := sorted(client.hgetall(key).items())):
        name, value = random.choice(fields)
        client.hset(key, other(name) if random.random() < 0.2 else name, other(value))
    elif kind == b"zset" and (members := client.zrange(key, 0, -1)):
        client.zadd(key, {other(random.choice(members)): random.choice((0, -1, 1e300, float("inf")))})
    elif kind == b"set" and (members := sorted(client.smembers(key))):
        client.sadd(key, other(random.choice(members)))
    elif kind == b"list" and (length := client.llen(key)):
        place = random.randrange(length)
        client.lset(key, place, other(client.lindex(key, place)))
    if random.random() < 0.05:
        client.delete(key)


def _looked_at(address: str) -> None:
    assert list(of_job(address))


def _told_of(address: str) -> None:
    with reading(address) as known:
        known.status(None, 10)
        for table in (known.tables.links, known.tables.pages, known.tables.decisions):
            table(0, 100)


def _gone_on_with(address: str) -> None:
    store = RedisCrawlDB(address, "topic")
    try:
        for _ in range(100):
            if (taken := store.urls.take()) is None:
                break
            store.urls.finish([taken.id])
            store.commit()
            store.listen()
    finally:
        store.abandon()
