"""Faults of the crawl database: the crawl closes in one line, and of a damaged job nothing stays lost."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import shutil
import sqlite3
import time

import pytest
from command_line import replica
from web import REPLICA, crawl, job_states, page

from scrapy_replica.claim import Claim, Kind
from scrapy_replica.components.spider import TopicSpider
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import NewUrl, State, StoreError
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.crawldb.sqlite.damaged import DamagedFile
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.salvage import salvage
from scrapy_replica.crawldb.texts import Mark
from scrapy_replica.decision import Outcome, Reason
from scrapy_replica.records import Verdict

N = 400
SITE = "http://a.example/"
SETTINGS = {**REPLICA, "REPLICA_MODE": "observe", "REPLICA_STRATEGY": "breadth-first", "REPLICA_TRAPS": False}


def url_of(number):
    return f"{SITE}{number}" if number else SITE


WHOLE = {url_of(number) for number in range(N)}


def answer(request):
    number = int(request.url.removeprefix(SITE) or 0)
    children = [k for k in range(3 * number + 1, 3 * number + 4) if k < N]
    return page([f"/{k}" for k in children], seed=number)


async def go_on(job, **settings):
    """Crawl in *job*; returns the URLs of the pages that came."""
    result = await crawl(TopicSpider, answer, {**SETTINGS, "JOBDIR": str(job), **settings}, seeds=SITE)
    return {item["url"] for item in result.items}


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """A job in the middle of its crawl, and the pages that it had."""
    job = tmp_path_factory.mktemp("interrupted")
    return job, asyncio.run(go_on(job, CLOSESPIDER_PAGECOUNT=120))


def overwritten(whole, seed):
    """Overwrite bytes, parts of pages and pages here and there, not the first page, which has the schema.

    With bytes beyond ASCII: a URL that became another URL nobody can tell from one that was there.
    """
    lots, content = random.Random(seed), bytearray(whole)
    for _ in range(1 + 2 * seed):
        size = lots.choice([1, 60, 4096])
        place = lots.randrange(4096, len(content) - size)
        content[place : place + size] = bytes(byte | 0x80 for byte in lots.randbytes(size))
    return bytes(content)


DAMAGE = {
    **{f"overwritten-{seed}": lambda whole, seed=seed: overwritten(whole, seed) for seed in range(6)},
    **{
        f"cut-{percent}": lambda whole, percent=percent: whole[: len(whole) * percent // 100]
        for percent in (85, 90, 99)
    },
    "first-page": lambda whole: bytes(4096) + whole[4096:],
    "a-quarter": lambda whole: whole[: len(whole) // 4] + bytes(len(whole) // 4) + whole[len(whole) // 2 :],
}


class TestNothingStaysLost:
    @pytest.mark.asyncio
    @pytest.mark.parametrize("damage", DAMAGE)
    async def test_the_salvaged_crawl_has_every_page(self, interrupted, tmp_path, damage):
        job, before = interrupted
        (tmp_path / "damaged").mkdir()
        damaged = tmp_path / "damaged" / FILE_NAME
        damaged.write_bytes(DAMAGE[damage]((job / FILE_NAME).read_bytes()))
        as_it_was = damaged.read_bytes()
        salvaged = salvage(damaged, tmp_path / "new")
        assert damaged.read_bytes() == as_it_was
        after = await go_on(tmp_path / "new")
        assert before | after == WHOLE
        assert salvaged.urls.get(State.DONE, 0) >= len(WHOLE - after)
        assert integrity(tmp_path / "new") == "ok"

    @pytest.mark.asyncio
    async def test_of_a_whole_job_nothing_is_fetched_twice(self, interrupted, tmp_path):
        job, before = interrupted
        salvaged = salvage(job / FILE_NAME, tmp_path)
        assert (salvaged.lost, salvaged.fetched_again, salvaged.restored, salvaged.unreadable) == (0, 0, 0, 0)
        after = await go_on(tmp_path)
        assert before | after == WHOLE
        assert not before & after

    def test_a_small_hole_costs_few_pages(self, interrupted, tmp_path, monkeypatch):
        monkeypatch.setattr("scrapy_replica.crawldb.sqlite.salvage.SLACK", 0.0)  # the crawl took no longer
        job, _ = interrupted
        content = bytearray((job / FILE_NAME).read_bytes())
        place = page_of_urls(job)
        content[place : place + 4096] = bytes(4096)
        (tmp_path / FILE_NAME).write_bytes(content)
        salvaged = salvage(tmp_path / FILE_NAME, tmp_path / "new")
        assert 10 < salvaged.lost < 120
        assert 1 < salvaged.fetched_again < 60
        assert salvaged.urls[State.WAITING] > 100


def integrity(job):
    db = sqlite3.connect(job / FILE_NAME)
    try:
        return db.execute("PRAGMA integrity_check").fetchone()[0]
    finally:
        db.close()


def page_of_urls(job):
    """Return where a page of the table of URLs begins."""
    source = DamagedFile(job / FILE_NAME)
    for number in range(2, source.n_pages + 1):
        content = source._page(number)
        if content[0] == 13 and content.count(SITE.encode()) > 10 and b'"page"' not in content:
            rows = list(source._rows_of(None, number, []))
            if len(rows[0].values) == 12 and rows[0].id > 150:
                return (number - 1) * 4096
    raise AssertionError("no page holds URLs")


class TestLog:
    """What was committed and not yet copied into the file is in its log."""

    @pytest.fixture
    def running(self, tmp_path):
        (tmp_path / "job").mkdir()
        db = SqliteCrawlDB(tmp_path / "job", "a")
        db.urls.discover([NewUrl(f"{SITE}{number}", "a.example", number + 1) for number in range(50)])
        db.commit()
        db.connection.read("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        db.urls.discover([NewUrl(f"{SITE}{number}", "a.example", number + 1) for number in range(50, 90)])
        db.commit()
        db.urls.discover([NewUrl(f"{SITE}never", "a.example", 1000)])
        yield tmp_path / "job"
        db.close()

    def copied(self, running, folder, *names):
        folder.mkdir()
        for name in names:
            shutil.copy(running / name, folder / name)
        salvage(folder / FILE_NAME, folder / "new")
        return set(job_states(folder / "new"))

    def test_is_read_up_to_the_last_commit(self, running, tmp_path):
        urls = self.copied(running, tmp_path / "copy", FILE_NAME, f"{FILE_NAME}-wal")
        assert urls == {f"{SITE}{number}" for number in range(90)}

    def test_without_it_the_file_is_read(self, running, tmp_path):
        urls = self.copied(running, tmp_path / "copy", FILE_NAME)
        assert urls == {f"{SITE}{number}" for number in range(50)}


class TestWhatIsKept:
    @pytest.fixture
    def job(self, tmp_path):
        """URLs, of which two were dropped in favour of others, verdicts, a rule and an order."""
        (tmp_path / "job").mkdir()
        db = SqliteCrawlDB(tmp_path / "job", "a")
        rows = [NewUrl(f"{SITE}{number}", "a.example", number + 1) for number in range(4)]
        rows += [NewUrl(f"http://b.example/{k}", "b.example", 100 + k, is_dropped=True) for k in range(5)]
        ids = [url_id for url_id, _ in db.urls.discover(rows)]
        holds, ended = (Verdict("b.example", f"{name}.example", "", "", 0.9, 9) for name in "ac")
        db.suppressed.enter(
            [Suppressed(ids[4], holds.claim, 1), Suppressed(ids[5], Claim.read("links a.example of b.example"), 999)]
        )
        db.suppressed.enter(
            [Suppressed(ids[7], claim, 1) for claim in (ended.claim, ended.claim._replace(kind=Kind.UNSHARED))]
        )
        db.suppressed.enter([Suppressed(ids[8], Claim.read(claim), 1) for claim in ("rule 99", "rules 98+99")])
        db.verdicts.enter(holds, time.time(), time.time() + 1e6)
        db.rules.enter({"host": "a.example", "rule": "x"}, 1.0, is_manual=True)
        db.connection.write("INSERT INTO orders (at, kind, what) VALUES (1.0, 'allow', '{}')")
        db.close()
        return tmp_path / "job"

    def test_what_something_stands_for_stays_dropped(self, job, tmp_path):
        salvaged = salvage(job / FILE_NAME, tmp_path / "new")
        states = job_states(tmp_path / "new")
        assert states["http://b.example/0"] == ["dropped"]  # its target waits, and the verdict holds
        assert states["http://b.example/1"] == ["waiting"]  # its target is nowhere
        assert states["http://b.example/2"] == ["waiting"]  # nothing stands for it
        assert states["http://b.example/3"] == ["waiting"]  # its verdict is gone
        assert states["http://b.example/4"] == ["waiting"]  # its rule is gone
        assert salvaged.restored == 4

    def test_tests_of_claims_and_what_they_refuted_also_where_no_root_leads_to_them(self, job, tmp_path):
        refuted, claim = Claim.read("links a.example of b.example"), Claim.read("mirror b.example of a.example")
        db = SqliteCrawlDB(job, "a")
        for url_id in range(1, 5):
            db.samples.enter([Sample(url_id, claim, Reason.REPLICA_HOST, 7, Stratum("part"), 2.0)])
            db.samples.settle(url_id, Outcome.SAME, claim)
        db.claims.refute(refuted)
        db.close()
        for number, damaged in enumerate([job / FILE_NAME, tmp_path / FILE_NAME]):
            if number:
                damaged.write_bytes(bytes(4096) + (job / FILE_NAME).read_bytes()[4096:])
            salvaged = salvage(damaged, tmp_path / f"new-{number}")
            assert salvaged.rows["samples"] == 4
            db = SqliteCrawlDB(tmp_path / f"new-{number}", "a")
            assert [sample.outcome for sample in db.samples.of_claim(claim)] == [Outcome.SAME] * 4
            assert db.claims.is_refuted(refuted)
            db.close()

    def test_a_claim_that_makes_no_sense_any_more(self, job, tmp_path):
        content = (job / FILE_NAME).read_bytes()
        assert content.count(b"rules 98+99") > 0
        (tmp_path / FILE_NAME).write_bytes(content.replace(b"rules 98+99", b"suler 98+99"))
        salvage(tmp_path / FILE_NAME, tmp_path / "new")
        assert job_states(tmp_path / "new")["http://b.example/4"] == ["waiting"]

    def test_verdicts_rules_and_orders(self, job, tmp_path):
        salvaged = salvage(job / FILE_NAME, tmp_path / "new")
        assert (salvaged.rows["verdicts"], salvaged.rows["rules"], salvaged.rows["orders"]) == (1, 1, 1)
        db = SqliteCrawlDB(tmp_path / "new", "a")
        assert [verdict.copy for verdict in db.verdicts.holding()] == ["b.example"]
        db.close()

    def test_marks_that_can_be_read(self, job, tmp_path):
        db = SqliteCrawlDB(job, "a")
        for url_id in (1, 2, 99):
            db.texts.mark(url_id, {"x": url_id}, is_relevant=True)
        db.connection.write("UPDATE marks SET terms = x'789c00' WHERE url = 2")
        db.close()
        salvage(job / FILE_NAME, tmp_path / "new")
        db = SqliteCrawlDB(tmp_path / "new", "a")
        assert db.texts.marks() == [Mark(f"{SITE}0", True, {"x": 1})]
        db.close()

    def test_the_spider_that_it_belongs_to(self, job, tmp_path):
        salvage(job / FILE_NAME, tmp_path / "new")
        with pytest.raises(StoreError, match="belongs to the spider 'a'"):
            SqliteCrawlDB(tmp_path / "new", "b")


class TestCommand:
    def test_json(self, interrupted, tmp_path):
        job, before = interrupted
        code, out, err = replica("doctor", job, "--salvage", tmp_path / "new", "--json")
        found = json.loads(out)["figures"]
        assert code == 0, err
        assert found["urls_done"] >= len(before)
        assert found["urls_waiting"] > 100
        assert (found["lost_urls"], found["unreadable"]) == (0, 0)
        assert str(tmp_path / "new") in err

    @pytest.mark.parametrize(
        ("content", "says"), [(b"", "no URL of a crawl"), (b"no database" * 900, "no URL of a crawl")]
    )
    def test_nothing_to_read(self, tmp_path, content, says):
        (tmp_path / FILE_NAME).write_bytes(content)
        code, out, err = replica("doctor", tmp_path, "--salvage", tmp_path / "new")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert says in err
        assert not (tmp_path / "new").exists()

    def test_a_job_is_never_written_over(self, interrupted):
        job, _ = interrupted
        code, _, err = replica("doctor", job, "--salvage", job)
        assert code == 2
        assert "give a new folder" in err


class TestCrawlOnADamagedJob:
    @pytest.mark.asyncio
    @pytest.mark.parametrize("seed", range(6))
    async def test_closes_and_says_what_to_do_in_one_line(self, interrupted, tmp_path, caplog, seed):
        job, _ = interrupted
        content = bytearray((job / FILE_NAME).read_bytes())
        lots = random.Random(seed)
        for number in lots.sample(range(1, len(content) // 4096), 25):
            content[number * 4096 : number * 4096 + 2048] = lots.randbytes(2048)
        (tmp_path / FILE_NAME).write_bytes(content)
        with caplog.at_level(logging.ERROR):
            try:
                await go_on(tmp_path)
            except ValueError as error:
                told = [str(error)]  # it could not begin
            else:
                told = [record.getMessage() for record in caplog.records]
        assert [line for line in told if "scrapy replica doctor JOB --salvage NEWJOB" in line]
        assert len(told) == 1, told
        assert "\n" not in told[0]
        assert not [record for record in caplog.records if record.exc_info and "coroutine" not in record.getMessage()]

    def test_a_file_that_may_not_be_written(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        db.connection.read("PRAGMA query_only = ON")
        with pytest.raises(StoreError, match="let it be written to; the same command goes on"):
            db.urls.discover([NewUrl(SITE, "a.example", 1)])
        with pytest.raises(StoreError, match="let it be written to"):
            db.close()

    @pytest.mark.asyncio
    async def test_a_file_that_another_program_holds(self, interrupted, tmp_path, caplog, monkeypatch):
        shutil.copy(interrupted[0] / FILE_NAME, tmp_path / FILE_NAME)
        connect = sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", lambda *how, timeout, **more: connect(*how, timeout=0.05, **more))
        other = connect(tmp_path / FILE_NAME)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ValueError, match="end the program that has it open"):
            await go_on(tmp_path)
        other.close()
        assert len(await go_on(tmp_path)) > 100
