"""``scrapy replica doctor``: what is wrong is found, told in a line, and not mended."""

import json
import sqlite3
from configparser import ConfigParser
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest
from command_line import replica
from scrapy.settings import Settings

from scrapy_replica.claim import Claim, Kind
from scrapy_replica.commands import checks
from scrapy_replica.commands.checks import BROKEN, LOOK, OK, of_job, of_settings
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.words.text import width_of

ADDON = {"ADDONS": {"scrapy_replica.Addon": 500}}
POLITE = {"ROBOTSTXT_OBEY": True, "DOWNLOAD_DELAY": 1, "JOBDIR": "job", "USER_AGENT": "me (+http://a.example/)"}


def doctor(*arguments):
    code, out, err = replica("doctor", *arguments)
    assert err == ""
    return code, out


@pytest.fixture
def job(tmp_path):
    SqliteCrawlDB(tmp_path, "mine").close()
    return tmp_path


def states(found):
    return {check.state for check in found}


def test_a_sound_job(job):
    code, out = doctor(job)
    assert code == 0
    assert f"scrapy-replica {version('scrapy-replica')}, Scrapy {version('scrapy')}" in out
    assert "spider mine: 0 URLs fetched, 0 wait; no crawl has it open" in out
    assert "its file is whole" in out
    assert " KiB, and" in out
    assert "REPLICA_TOPIC" not in out
    assert max(map(width_of, out.splitlines())) <= 80 + len(str(job))


def test_an_open_job(job):
    db = SqliteCrawlDB(job, "mine")
    assert "a crawl has it open" in doctor(job)[1]
    db.close()


def test_as_json(job):
    code, out = doctor(job, "--json", "-s", "REPLICA_MODE=dorp")
    found = json.loads(out)
    assert code == 1
    assert found["figures"]["broken"] == 1
    broken = next(check for check in found["checks"] if check["state"] == BROKEN)
    assert broken["what"] == "REPLICA_MODE is 'dorp': it takes one of observe, demote, drop"
    assert broken["todo"]


def half(path):
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 8] + bytes(len(whole) - len(whole) // 8))


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda path: path.unlink(), "name the JOBDIR of a crawl"),
        (lambda path: path.write_bytes(b"<html>" * 1_000), "is not a crawl database"),
        (half, "malformed"),
    ],
)
def test_what_is_wrong_with_a_job(harm, says, job):
    harm(job / FILE_NAME)
    code, out = doctor(job)
    assert code == 1
    assert says in out


def test_a_page_of_the_file_that_cannot_be_read_is_found(tmp_path):
    db = SqliteCrawlDB(tmp_path)
    db.set_meta("x", bytes(200_000))
    db.close()
    path = tmp_path / FILE_NAME
    whole = bytearray(path.read_bytes())
    whole[-150_000:-100_000] = b"\xff" * 50_000
    path.write_bytes(whole)
    assert BROKEN in states(of_job(str(tmp_path)))


def test_a_large_job_is_not_read_to_its_end(job, monkeypatch):
    monkeypatch.setattr(checks, "checking", lambda job, seconds: (None, False))
    assert any("no damage in what was read of its file within 20 s" in check.what for check in of_job(str(job)))


def test_a_disk_that_is_full(job, monkeypatch):
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1_000_000})())
    assert [check.todo for check in of_job(str(job)) if check.state == BROKEN] == [
        "make room; a crawl stops when the disk is full"
    ]


@pytest.mark.parametrize(
    ("settings", "state", "says"),
    [
        (ADDON, OK, "the add-on is in ADDONS"),
        ({}, LOOK, "the add-on is not in ADDONS"),
        (ADDON | {"REPLICA_ENABLED": False}, LOOK, "REPLICA_ENABLED is False"),
        (ADDON | {"SCHEDULER": "scrapy.core.scheduler.Scheduler"}, LOOK, "another SCHEDULER is in use"),
        (ADDON | {"REPLICA_TOPIC": "nowhere"}, BROKEN, "no such file or folder"),
        (ADDON | {"REPLICA_DEFAULT_LANGUAGE": "xx", "REPLICA_TOPIC": __file__}, BROKEN, "REPLICA_TOPIC"),
        (ADDON | {"REPLICA_MOD": "drop"}, BROKEN, "did you mean REPLICA_MODE"),
        (ADDON | {"ROBOTSTXT_OBEY": False}, LOOK, "robots.txt is not asked"),
        (ADDON | {"DOWNLOAD_DELAY": 0, "CONCURRENT_REQUESTS_PER_DOMAIN": 16}, LOOK, "16 requests to a host at once"),
        (ADDON | {"JOBDIR": None}, LOOK, "JOBDIR is not set"),
        (ADDON | {"USER_AGENT": None}, OK, "robots.txt is obeyed"),
    ],
)
def test_settings_of_a_project(settings, state, says):
    found = list(of_settings(Settings(POLITE | settings), has_project=True, has_job=False))
    assert [check.state for check in found if says in check.what] == [state]


def test_a_polite_project_needs_nothing_done():
    assert states(of_settings(Settings(POLITE | ADDON), has_project=True, has_job=False)) == {OK}


def test_a_job_with_tests_of_what_it_saves_is_whole(tmp_path):
    """SQLite 3.40 took a table for damaged whose key was not made of its first columns."""
    store = SqliteCrawlDB(tmp_path)
    store.urls.discover([NewUrl("http://a.example/", "a.example", 1)])
    claim = Claim(Kind.MIRROR, "b.example", "a.example")
    store.samples.enter([Sample(1, claim, None, None, Stratum("b.example/"), 1.0)])
    store.close()
    assert [check.state for check in of_job(str(tmp_path)) if "damaged" in check.what] == []
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as file:
        columns = [row[1] for row in file.execute("PRAGMA table_info(samples)")]
    assert columns[:3] == ["url", "claim", "pass"]


def test_extras(monkeypatch):
    warc = ['fastwarc>=2; extra == "warc"', 'tqdm>=999; extra == "warc"']
    needs = ["lxml>=5", *warc, 'nowhere; extra == "lab"', 'lxml; extra == "lab"']
    monkeypatch.setattr(checks, "requires", lambda name: needs)
    monkeypatch.setattr(
        checks, "metadata", lambda name: type("M", (), {"get_all": lambda self, key: [*checks.EXTRAS]})()
    )
    told = {check.what.split(",")[0].split(" is ")[0]: check for check in checks.of_installation()}
    assert told["extra warc"].state == LOOK
    assert ">=999" in told["extra warc"].what
    assert told["extra lab"].state == OK
    assert "pip install 'scrapy-replica[lab]'" in told["extra lab"].what


def test_every_extra_for_users_has_words():
    setup = ConfigParser()
    setup.read(Path(__file__).parents[1] / "setup.cfg")
    assert {*setup["options.extras_require"]} - {"test", "docs"} == checks.EXTRAS.keys()


def test_a_requirement_that_is_missing(monkeypatch):
    monkeypatch.setattr(checks, "requires", lambda name: ["lxml>=5", "nowhere>=1"])
    broken = [check for check in checks.of_installation() if check.state == BROKEN]
    assert [check.what for check in broken] == ["nowhere is missing"]
