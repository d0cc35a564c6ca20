"""A few seconds of ``make fuzz`` of a job in Redis, and what it found once."""

from __future__ import annotations

import pytest
from fuzz.loop import run
from redis import Redis

from scrapy_replica.commands.job import reading
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.redis.database import RedisCrawlDB


def test_what_was_overwritten_raises_nothing_and_takes_no_second():
    told = run("redis", n=40, seconds=4.0, seed=1)
    assert told.n
    assert [fault.what for fault in told.faults] == []


def opened(address):
    RedisCrawlDB(address, "topic").close()


def shown(address):
    with reading(address) as known:
        known.status(None, 10)


@pytest.mark.parametrize("use", [opened, shown])
@pytest.mark.parametrize(("key", "value"), [("seq", b"soon"), ("layout", b"\xb5")])
def test_a_value_that_no_process_wrote_is_told_in_a_line(redis_server, key, value, use):
    opened(redis_server.address())
    with Redis(port=redis_server.port) as client:
        (name,) = client.keys(f"*}}:{key}")
        client.set(name, value)
    with pytest.raises(StoreError) as error:
        use(redis_server.address())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("use", [opened, shown])
def test_a_number_of_urls_that_nobody_gave_is_not_counted_to(redis_server, use):
    opened(redis_server.address())
    with Redis(port=redis_server.port) as client:
        (name,) = client.keys("*}:layout")
        client.set(name.replace(b"layout", b"id"), b"9" * 12)
    with pytest.raises(StoreError, match="no URL after number 0"):
        use(redis_server.address())
