"""The crawl database on Redis keeps the contract, for one process and for several."""

from __future__ import annotations

import pytest
from crawldb_contract import CrawlDBMachine, StoredContract, StoredMachine
from hypothesis import HealthCheck, settings

from scrapy_replica.crawldb.redis.database import RedisCrawlDB
import redis

SETTINGS = settings(max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
R = redis.Redis(port=7777)
ADDRESS = "redis://127.0.0.1:7777/0"


def die(db):
    """What the end of the process does to a store, and the time that it takes until that is seen."""
    db._connection.abandon()
    db._server.run("ZADD", db._server.key("alive"), 1, db._server.name)
    db._server.close()
    db._folder.cleanup()


class TestContract(StoredContract):
    takes_in_pages = False

    @pytest.fixture
    def opened(self):
        R.flushall()
        stores = []

        def opened():
            stores.append(RedisCrawlDB(ADDRESS))
            return stores[-1]

        yield opened
        stores[-1].close()

    @pytest.fixture
    def reopened(self, opened):
        def reopened(db):
            db.close()
            return opened()

        return reopened

    @pytest.fixture
    def died(self, opened):
        def died(db):
            die(db)
            return opened()

        return died


class OnRedis(StoredMachine):
    takes_in_pages = False

    def __init__(self):
        R.flushall()
        super().__init__()

    def open(self):
        self.db = RedisCrawlDB(ADDRESS)

    def die(self):
        die(self.db)


TestMachineOnRedis = OnRedis.TestCase
TestMachineOnRedis.settings = SETTINGS
