from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from crawldb_contract import CrawlDBContract, CrawlDBMachine, StoredContract, StoredMachine, enter, taken
from hypothesis import HealthCheck, settings

from scrapy_replica.claim import Claim
from scrapy_replica.crawldb import key_set
from scrapy_replica.crawldb.contract import NewUrl, StoreError
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.lock import LOCK_NAME
from scrapy_replica.decision import Outcome, Reason

SETTINGS = settings(max_examples=30, stateful_step_count=40, suppress_health_check=list(HealthCheck))


def die(db):
    """What the end of the process does to a store."""
    db.abandon()


class TestInMemory(CrawlDBContract):
    @pytest.fixture
    def opened(self):
        stores = []

        def opened():
            stores.append(SqliteCrawlDB(None))
            return stores[-1]

        yield opened
        for store in stores:
            store.close()

    @pytest.fixture
    def reopened(self):
        return lambda db: db

    def test_a_first_fetch_is_told_from_another(self, db):
        (url_id,) = enter(db, "a/1")
        assert not db.urls.is_first(url_id)  # it waits
        assert not db.urls.take().was_fetched
        assert db.urls.is_first(url_id)
        db.pages.enter(Fetched(url_id, 1.0, 404))
        db.urls.finish([url_id])
        assert not db.urls.is_first(url_id)
        db.urls.renew([(url_id, 0.5, None)])
        assert db.urls.take().was_fetched
        assert not db.urls.is_first(url_id)

    def test_after_what_was_taken_back_no_fetch_is_called_the_first(self, db):
        (url_id,) = enter(db, "a/1")
        db.urls.take()
        with pytest.raises(ZeroDivisionError), db.span():
            1 / 0  # noqa: B018
        assert not db.urls.is_first(url_id)
        assert not db.urls.row(url_id).was_fetched

    def test_the_pages_of_more_hosts_than_are_read_at_once_are_told(self, db):
        ids = enter(db, *(f"{host}/{page}" for host in "abcdef" for page in range(6)))
        for url_id in ids:
            db.pages.enter(Fetched(url_id, 1.0, 200, simhash=5, words=url_id))
        assert [place.host for place in db.pages.text_places(5, 9)] == [*"abcdef"]
        assert [place.words for place in db.pages.text_places(5, 3)] == ids[:18:6]

    def test_samples_and_names_beyond_those_held_are_found_in_the_table(self, db, monkeypatch):
        monkeypatch.setattr(key_set, "MOST_HELD", 2)
        ids = enter(db, "a/1", "a/2", "a/3")
        for url_id in ids:
            assert db.samples.of_url(url_id) == db.samples.awaiting(-url_id) == []
            db.samples.enter([Sample(url_id, Claim.read("rule 1"), Reason.DUST_RULE, -url_id, Stratum("a"), 1.0)])
            db.names.enter(url_id + 10, url_id, "parse")
        assert [one.id for url_id in ids for one in db.samples.of_url(url_id)] == ids
        assert [one for url_id in ids for one in db.samples.awaiting(-url_id)] == ids
        assert db.names.pages_of({*range(20)}) == {url_id + 10: (url_id, "parse") for url_id in ids}


class TestOnDisk(StoredContract):
    @pytest.fixture
    def opened(self, tmp_path):
        stores = []

        def opened():
            stores.append(SqliteCrawlDB(tmp_path))
            return stores[-1]

        yield opened
        stores[-1].close()

    die = staticmethod(die)


class InMemory(CrawlDBMachine):
    def open(self):
        self.db = SqliteCrawlDB(None)


class OnDisk(StoredMachine):
    def __init__(self):
        self.folder = TemporaryDirectory()
        super().__init__()

    def open(self):
        self.db = SqliteCrawlDB(Path(self.folder.name))

    def die(self):
        die(self.db)

    def teardown(self):
        super().teardown()
        self.folder.cleanup()


TestMachineInMemory = InMemory.TestCase
TestMachineInMemory.settings = SETTINGS
TestMachineOnDisk = OnDisk.TestCase
TestMachineOnDisk.settings = SETTINGS


OTHER_CRAWL = """
import sys, time
from pathlib import Path
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
try:
    SqliteCrawlDB(Path(sys.argv[1]))
except StoreError as error:
    sys.exit(f"refused: {error}")
print("open", flush=True)
time.sleep(60)
"""


class TestLock:
    def refused(self, folder):
        with pytest.raises(StoreError) as caught:
            SqliteCrawlDB(folder)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_a_second_crawl_is_refused_in_one_line(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        enter(db, "a/1")
        row = db.urls.take()
        assert "another crawl has the job" in self.refused(tmp_path)
        db.urls.finish([row.id])
        db.close()
        SqliteCrawlDB(tmp_path).close()

    def test_another_process_is_refused_too(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        other = subprocess.run(
            [sys.executable, "-c", OTHER_CRAWL, str(tmp_path)], capture_output=True, text=True, check=False
        )
        db.close()
        assert other.returncode == 1
        assert re.fullmatch(r"refused: another crawl has the job .* open: .*another JOBDIR\n", other.stderr)

    def test_the_job_is_free_when_its_crawl_was_killed(self, tmp_path):
        other = subprocess.Popen([sys.executable, "-c", OTHER_CRAWL, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        with other:
            assert other.stdout.readline() == "open\n"
            assert "another crawl has the job" in self.refused(tmp_path)
            other.kill()
        SqliteCrawlDB(tmp_path).close()

    def test_a_failed_opening_frees_the_job(self, tmp_path):
        SqliteCrawlDB(tmp_path, "mine").close()
        with pytest.raises(StoreError, match=r"belongs to the spider 'mine', not to 'other'.*JOBDIR"):
            SqliteCrawlDB(tmp_path, "other")
        SqliteCrawlDB(tmp_path, "mine").close()

    def test_a_lock_that_is_none_is_refused(self, tmp_path):
        (tmp_path / LOCK_NAME).write_bytes(b"no lock" * 1000)
        assert "another JOBDIR" in self.refused(tmp_path)

    def test_a_folder_that_is_none_is_refused(self, tmp_path):
        assert "another JOBDIR" in self.refused(tmp_path / "missing")


class TestFile:
    @pytest.mark.parametrize("part", ["version", "fingerprints"])
    def test_another_version_is_refused(self, tmp_path, part):
        db = SqliteCrawlDB(tmp_path)
        db.set_meta(part, b"99")
        db.close()
        with pytest.raises(StoreError, match=rf"{part} 99.*another JOBDIR"):
            SqliteCrawlDB(tmp_path)

    def test_a_foreign_file_is_refused(self, tmp_path):
        (tmp_path / FILE_NAME).write_bytes(b"this is no database, whatever its name says" * 100)
        with pytest.raises(StoreError, match=r"is not a crawl database.*another JOBDIR"):
            SqliteCrawlDB(tmp_path)

    def test_a_foreign_database_is_refused_and_left_as_it_is(self, tmp_path):
        foreign = sqlite3.connect(tmp_path / FILE_NAME)
        foreign.execute("CREATE TABLE t (x)")
        foreign.commit()
        foreign.close()
        before = (tmp_path / FILE_NAME).read_bytes()
        with pytest.raises(StoreError, match="is not a crawl database"):
            SqliteCrawlDB(tmp_path)
        assert (tmp_path / FILE_NAME).read_bytes() == before

    def test_a_damaged_page_is_told_in_one_line(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        enter(db, *(f"a/{n}" for n in range(2000)))
        db.close()
        content = bytearray((tmp_path / FILE_NAME).read_bytes())
        content[200_000:-4096] = b"\xa5" * (len(content) - 204_096)
        (tmp_path / FILE_NAME).write_bytes(content)
        with pytest.raises(StoreError) as caught:  # noqa: PT012
            db = SqliteCrawlDB(tmp_path)
            try:
                taken(db)
            finally:
                die(db)
        assert "\n" not in str(caught.value)

    def test_a_damaged_page_that_is_met_half_way_is_the_end(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        with pytest.raises(StoreError, match="malformed"), db.span():
            raise sqlite3.DatabaseError("database disk image is malformed")
        with pytest.raises(StoreError, match="malformed"):
            db.close()

    def test_a_value_that_cannot_be_stored_is_not_the_end(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        with pytest.raises(sqlite3.Error), db.span():  # noqa: PT012
            enter(db, "a/1")
            db.set_meta("a", ["no", "bytes"])
        enter(db, "a/2")
        db.close()
        db = SqliteCrawlDB(tmp_path)
        assert taken(db) == ["a/2"]
        db.close()

    def test_a_key_that_is_there_twice_is_the_end(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        with pytest.raises(StoreError, match="UNIQUE"):
            db.connection.write("INSERT INTO meta VALUES ('version', X'00')")
        with pytest.raises(StoreError, match="UNIQUE"):
            db.close()

    def test_what_is_committed_is_seen_by_a_reader(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        enter(db, "a/1")
        db.commit()
        enter(db, "a/2")
        reader = sqlite3.connect(tmp_path / FILE_NAME)
        assert reader.execute("SELECT url FROM urls").fetchall() == [("http://a/1",)]
        reader.close()
        db.close()


class TestDiskFull:
    @pytest.fixture
    def db(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        enter(db, *(f"a/{n}" for n in range(100)))
        db.commit()
        pages = db.connection.read("PRAGMA page_count").fetchone()[0]
        db.connection.read(f"PRAGMA max_page_count = {pages + 5}")
        return db

    def fill(self, db):
        for n in range(100):
            enter(db, *(f"b/{n}-{m}" for m in range(100)))

    def test_every_call_raises_from_then_on(self, db):
        with pytest.raises(StoreError, match=r"full.*free some space"), db.span():
            self.fill(db)
        for call in (db.urls.take, db.commit, lambda: enter(db, "c/1"), lambda: db.meta("x"), db.span().__enter__):
            with pytest.raises(StoreError, match="free some space"):
                call()
        with pytest.raises(StoreError, match="free some space"):
            db.close()

    def test_nothing_half_written_is_left(self, db, tmp_path):
        db.urls.take()
        with pytest.raises(StoreError), db.span():
            self.fill(db)
        with pytest.raises(StoreError):
            db.close()
        db = SqliteCrawlDB(tmp_path)
        assert db.urls.waiting == 100
        assert taken(db) == [f"a/{n}" for n in range(100)]
        db.close()


class TestPages:
    @pytest.fixture
    def db(self):
        db = SqliteCrawlDB(None)
        yield db
        db.close()

    def test_found_by_fingerprints(self, db):
        ids = enter(db, "a/1")
        simhash = (1 << 64) - 5
        db.pages.enter(Fetched(ids[0], 1.0, 200, signature=b"s" * 16, simhash=simhash, title="T"))
        assert [page.url for page in db.pages.by_signature(b"s" * 16)] == ["http://a/1"]
        assert [page.title for page in db.pages.by_simhash(simhash)] == ["T"]
        assert list(db.pages.simhashes()) == [simhash]
        assert db.pages.by_simhash(5) == []
        assert db.pages.count(9) == 1

    def test_where_a_page_led_is_known_when_it_is_gone(self, db):
        (url_id,) = enter(db, "a/1")
        db.pages.enter(Fetched(url_id, 1.0, 200, title="T"))
        db.pages.set_content(url_id, 7, 7, None, b"12345678")
        db.pages.enter(Fetched(url_id, 2.0, 404))
        (page,) = db.pages.of_host("a")
        assert (page.status, page.content, page.cluster, page.leads) == (404, None, None, b"12345678")
        db.pages.enter(Fetched(url_id, 3.0, 200, title="T"))
        assert db.pages.leads(url_id) is None, "it is back, and nobody has read it"

    def test_what_a_sitemap_names_is_linked(self, db):
        """Read again it was given by the user, since no page led there; live it is one link from the seeds."""
        urls = [NewUrl("http://a/seed", "a", 1), NewUrl("http://a/listed", "a", 2, depth=1)]
        for url_id, _ in db.urls.discover(urls):
            db.pages.enter(Fetched(url_id, 1.0, 200))
        assert [page.is_given for page in db.pages.of_host("a")] == [True, False]


class TestSamples:
    SAMPLES = (
        Sample(1, Claim.read("rule 4"), Reason.DUST_RULE, 7, Stratum("a/x"), 2.0),
        Sample(1, Claim.read("rule 5"), None, 7, Stratum("a/x"), 2.0),
        Sample(2, Claim.read("rule 5"), Reason.DUST_RULE, None, Stratum("a/y"), 4.0),
    )

    @pytest.fixture
    def samples(self):
        db = SqliteCrawlDB(None)
        db.samples.enter(self.SAMPLES)
        yield db.samples
        db.close()

    def test_they_are_found_by_url_and_by_claim(self, samples):
        first, second, third = self.SAMPLES
        assert samples.of_url(1) == [first, second]
        assert samples.of_claim(Claim.read("rule 5")) == [second, third]

    def test_what_is_known_stays_what_it_is(self, samples):
        samples.settle(1, Outcome.SAME)
        samples.enter(self.SAMPLES)
        assert {one.outcome for one in samples.of_url(1)} == {Outcome.SAME}

    def test_one_waits_for_its_target_until_it_is_settled(self, samples):
        assert samples.awaiting(7) == [1]
        assert [one.claim for one in samples.settle(1, Outcome.OTHER)] == [Claim.read("rule 4"), Claim.read("rule 5")]
        assert samples.awaiting(7) == []
        assert samples.settle(1, Outcome.SAME) == []

    def test_they_are_summed_by_reason(self, samples):
        samples.settle(1, Outcome.OTHER)
        samples.settle(2, Outcome.OTHER)
        assert {reason: tuple(told) for reason, told in samples.tested().items()} == {
            Reason.DUST_RULE: (0, 6, 20, 2, 2)
        }
