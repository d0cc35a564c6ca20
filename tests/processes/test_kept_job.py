"""A job of this version, kept as a file: it opens, goes on, and is told of. One of another version is refused."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from command_line import replica
from kept_job import KEPT, PAGES, SETTINGS, SITE, unpacked
from web import crawl, job_states

from scrapy_replica import TopicSpider
from scrapy_replica.commands import export
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.schema import VERSION

AGAIN = "raise VERSION in crawldb/sqlite/schema.py where tables change; then run python tests/kept_job.py"

READING = [
    ["status", "JOB"],
    ["status", "JOB", "--json"],
    ["report", "JOB", "--out", "OUT.html"],
    ["explain", "JOB", f"{SITE}/1"],
    ["explain", "JOB", "a.example"],
    ["hosts", "JOB"],
    ["rules", "list", "JOB"],
    *[["export", "JOB", table, "--out", "OUT.csv"] for table in export.TABLES],
    ["mine", "JOB", "--out", "OUT"],
    ["doctor", "JOB"],
]
"""Commands about the job that only read it."""
OTHERS = [
    ["export", "JOB", "model", "--out", "OUT.npz"],
    ["judge", "JOB"],
    ["hosts", "JOB", "--undecided"],
    ["rules", "export", "JOB"],
    ["rules", "disable", "JOB", "1"],
    ["steer", "add", f"{SITE}/new", "--job", "JOB"],
    ["steer", "block", "b.example", "--as", "a.example", "--job", "JOB"],
    ["steer", "exclude", f"{SITE}/1/", "--job", "JOB"],
    ["steer", "pause", "a.example", "--job", "JOB"],
    ["serve", "JOB", "--port", "0"],
    ["crawl", f"{SITE}/", "--job", "JOB"],
    ["doctor", "JOB", "--salvage", "OUT"],
]


@pytest.fixture
def job(tmp_path):
    assert KEPT.is_file(), f"no job of version {VERSION} is kept: {AGAIN}"
    return unpacked(tmp_path / "job")


@pytest.fixture
def run(job, tmp_path):
    """Run a command about the job here; returns (exit code, standard output, standard error)."""

    def run(arguments):
        names = {"JOB": str(job), "OUT": str(tmp_path / "out")}
        given = [
            next((argument.replace(k, v) for k, v in names.items() if k in argument), argument)
            for argument in arguments
        ]
        return replica(*given)

    return run


def tables(path):
    with closing(sqlite3.connect(path)) as file:
        return set(file.execute("SELECT name, sql FROM sqlite_master"))


def test_its_tables_are_those_of_today(job, tmp_path):
    (tmp_path / "new").mkdir()
    SqliteCrawlDB(tmp_path / "new").close()
    assert tables(job / FILE_NAME) == tables(tmp_path / "new" / FILE_NAME), AGAIN


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_commands_tell_of_it(arguments, run):
    code, _, err = run(arguments)
    assert "Traceback" not in err
    found_nothing = arguments[0] == "mine" or "nothing to export" in err
    assert code == (1 if found_nothing else 0)


def test_what_they_tell(run):
    status = json.loads(run(["status", "JOB", "--json"])[1])
    assert "6" in run(["status", "JOB"])[1]
    assert status
    assert "its file is whole" in run(["doctor", "JOB"])[1]
    assert "title: Seed" in run(["explain", "JOB", f"{SITE}/"])[1]


@pytest.mark.asyncio
async def test_it_goes_on(job):
    before = job_states(job)
    done = {url for url, states in before.items() if states == ["done"]}
    waiting = {url for url, states in before.items() if states == ["waiting"]}
    assert done
    assert waiting
    result = await crawl(TopicSpider, PAGES, {**SETTINGS, "JOBDIR": str(job)}, seeds=f"{SITE}/")
    assert waiting <= set(result.urls)
    assert not done & set(result.urls)
    assert {url for url in PAGES if url not in {*done, *result.urls}} == set()
    assert result.unfinished == {}


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
@pytest.mark.parametrize("arguments", [*READING, *OTHERS], ids=" ".join)
def test_one_of_another_version_is_refused_in_a_line(version, arguments, job, run):
    with closing(sqlite3.connect(job / FILE_NAME)) as file, file:
        file.execute("UPDATE meta SET value = ? WHERE key = 'version'", (str(version).encode(),))
        file.execute("UPDATE meta SET value = ? WHERE key = 'release'", (b"0.0.9",))
    before = (job / FILE_NAME).read_bytes()
    code, out, err = run(arguments)
    told = out if arguments == ["doctor", "JOB"] else err
    assert code != 0
    assert f"has version {version}, this release" in " ".join(told.split())
    assert "finish that crawl with scrapy-replica 0.0.9, which began it, or give another" in " ".join(told.split())
    assert arguments == ["doctor", "JOB"] or err.count("\n") == 1
    assert (job / FILE_NAME).read_bytes() == before
