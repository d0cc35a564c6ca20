"""A few seconds of ``make fuzz``, and the damage that it found once."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack, closing

import pytest
from fuzz.loop import run
from fuzz.targets import TARGETS
from kept_job import unpacked

from scrapy_replica.commands.checks import BROKEN, of_job
from scrapy_replica.commands.job import reading
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB

KINDS = [kind for kind in TARGETS if kind != "redis"]
"""That one has a server of its own: ``processes/test_fuzz_redis.py``."""


@pytest.mark.parametrize("kind", KINDS)
def test_broken_input_raises_nothing_and_takes_no_second(kind):
    told = run(kind, n=100, seconds=1.0, seed=1)
    assert told.n
    assert [fault.what for fault in told.faults] == []


@pytest.mark.parametrize("kind", KINDS)
def test_sound_input_is_read(kind):
    with ExitStack() as stack:
        read = TARGETS[kind].make(stack)
        for data in TARGETS[kind].seeds:
            read(data)


@pytest.fixture
def job(tmp_path):
    return unpacked(tmp_path / "job")


def refusal(job, use):
    with pytest.raises(StoreError, match="doctor JOB --salvage NEWJOB") as error:
        use(job)
    assert "\n" not in str(error.value)
    return str(error.value)


def shown(job):
    with reading(str(job)) as known:
        known.status(None, 10)


class TestDamagedJobs:
    @pytest.mark.parametrize("put", [b"`ords INT", b"`\xff\xfe INT"])
    def test_a_statement_that_cannot_be_read(self, job, put):
        path = job / FILE_NAME
        data = path.read_bytes()
        assert b"words INT" in data
        path.write_bytes(data.replace(b"words INT", put.ljust(9)))
        assert len(refusal(job, shown)) < 500
        assert BROKEN in {check.state for check in of_job(str(job))}

    @pytest.mark.parametrize("at", ["1e300", "1e18", "1e12"])
    def test_times_that_no_crawl_writes(self, job, at):
        with closing(sqlite3.connect(job / FILE_NAME)) as file, file:
            file.execute(f"UPDATE pages SET fetched_at = {at}")

        def exported(job):
            with reading(str(job)) as known:
                known.tables.pages(0, 10)

        assert "malformed row" in refusal(job, exported)

    def test_an_error_of_a_command_is_not_taken_for_damage(self, job):
        with pytest.raises(KeyError), reading(str(job)):
            raise KeyError("of the command")

    def test_a_url_that_no_crawl_writes(self, job):
        with closing(sqlite3.connect(job / FILE_NAME)) as file, file:
            assert file.execute("UPDATE urls SET permission = 99 WHERE state = 0").rowcount

        def gone_on_with(job):
            store = SqliteCrawlDB(job, "topic")
            try:
                assert store.urls.take() is not None
            finally:
                store.abandon()

        assert "malformed row" in refusal(job, gone_on_with)

    def test_a_visit_that_cannot_be_unpacked(self, job):
        with closing(sqlite3.connect(job / FILE_NAME)) as file, file:
            assert file.execute("UPDATE visits SET body = X'789C00'").rowcount
        store = SqliteCrawlDB(job, "topic")
        assert "malformed row" in refusal(job, lambda _: list(store.visits.tail()))
        store.abandon()
