"""WARC files and exports go to object stores: whole, none twice, none lost while the store is away."""

from __future__ import annotations

import asyncio
import gzip
import sys
import time
import zipfile

import fsspec
import pytest
from command_line import replica
from fsspec.implementations.memory import MemoryFileSystem
from web import REPLICA, crawl, page

from scrapy_replica import TopicSpider
from scrapy_replica.bucket import Bucket, is_url
from scrapy_replica.components.refused import RefusedError

SITE = "http://a.example"
PAGES = {f"{SITE}/{n}": page([f"/{n + 1}"] if n < 4 else (), seed=n) for n in range(5)}


class Moody(MemoryFileSystem):
    """A store that takes the files that it likes."""

    protocol = "moody"
    store: dict = {}  # noqa: RUF012 - of all, as that of memory://
    refuses = ""
    """Nothing is taken whose name contains it; in Scrapy's threads as well."""

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(str(path).replace("moody://", "memory://"))

    asked: list | None = None
    """URLs that were asked for: a file is taken when there are three of them, so the crawl goes on meanwhile."""
    is_in_time = True
    """They came within a minute."""

    def _answer(self, path):
        if Moody.refuses and Moody.refuses in path:
            raise RuntimeError("An error occurred (503): Slow Down\nplease")

    def pipe_file(self, path, value, **more):
        self._answer(path)
        super().pipe_file(path, value, **more)

    def put_file(self, lpath, rpath, **more):
        self._answer(rpath)
        deadline = time.monotonic() + 60
        # Not files: what comes while one is written goes into the next together.
        while Moody.asked is not None and len(Moody.asked) < 3 and Moody.is_in_time:
            time.sleep(0.01)
            Moody.is_in_time = time.monotonic() < deadline
        super().put_file(lpath, rpath, **more)


@pytest.fixture(autouse=True)
def moody(monkeypatch):
    fsspec.register_implementation("moody", Moody, clobber=True)
    monkeypatch.setattr(Moody, "store", {})
    monkeypatch.setattr(Moody, "pseudo_dirs", [""])
    monkeypatch.setattr(Moody, "refuses", "")
    monkeypatch.setattr(Moody, "asked", None)
    monkeypatch.setattr(Moody, "is_in_time", True)


def kept():
    """Return the names of the files in the bucket, and all they hold."""
    store = fsspec.filesystem("moody").store
    return sorted(store), b"".join(gzip.decompress(file.getvalue()) for file in store.values())


async def crawled(job, web=PAGES, **settings):
    settings = {**REPLICA, "REPLICA_WARC": "moody://crawls/kept", "JOBDIR": job, **settings}
    return await crawl(TopicSpider, web, settings, seeds=f"{SITE}/0")


class TestWarc:
    @pytest.mark.asyncio
    async def test_files_are_moved_when_they_are_whole(self, tmp_path):
        result = await crawled(tmp_path, REPLICA_WARC_SIZE=1)
        names, text = kept()
        assert len(names) > 1
        assert all(name.startswith("/crawls/kept/topic-") and name.endswith(".warc.gz") for name in names)
        assert all(f"WARC-Target-URI: {url}\r\n".encode() in text for url in PAGES)
        assert not list((tmp_path / "warc").iterdir())
        assert result.stats["replica/warc/responses"] == len(PAGES)
        assert "replica/warc/left" not in result.stats

    @pytest.mark.asyncio
    async def test_the_crawl_goes_on_while_a_file_is_moved_and_waits_for_it_at_its_end(self, tmp_path, monkeypatch):
        monkeypatch.setattr(Moody, "asked", [])

        def web(request):
            Moody.asked.append(request.url)
            return PAGES[request.url]

        result = await crawled(tmp_path, web, REPLICA_WARC_SIZE=1)
        assert Moody.is_in_time
        assert len(result.items) == len(PAGES)
        assert all(f"WARC-Target-URI: {url}\r\n".encode() in kept()[1] for url in PAGES)
        assert not list((tmp_path / "warc").iterdir())

    @pytest.mark.asyncio
    async def test_what_a_store_did_not_take_is_moved_by_the_next_run(self, tmp_path, monkeypatch, caplog):
        monkeypatch.setattr(Moody, "refuses", ".warc.gz")
        result = await crawled(tmp_path, REPLICA_WARC_SIZE=1)
        assert result.stats["finish_reason"] == "finished"
        assert len(result.items) == len(PAGES)
        left = len(list((tmp_path / "warc").glob("*.warc.gz")))
        assert result.stats["replica/warc/left"] == left > 1
        assert kept()[0] == []
        assert f"REPLICA_WARC: moody://crawls/kept did not take {left} files" in caplog.text
        assert "cannot be reached (An error occurred (503): Slow Down please)" in caplog.text
        monkeypatch.setattr(Moody, "refuses", "")
        again = await crawled(tmp_path)
        assert not again.urls
        assert len(kept()[0]) == left
        assert not list((tmp_path / "warc").iterdir())

    @pytest.mark.asyncio
    async def test_a_copy_refers_to_what_was_moved(self, tmp_path):
        await crawled(tmp_path)
        settings = {**REPLICA, "REPLICA_WARC": "moody://crawls/kept", "JOBDIR": tmp_path}
        await crawl(TopicSpider, {f"{SITE}/copy": PAGES[f"{SITE}/1"]}, settings, seeds=f"{SITE}/copy")
        assert b"WARC-Type: revisit" in kept()[1]

    @pytest.mark.asyncio
    async def test_what_a_kill_left_is_moved(self, tmp_path):
        await crawled(tmp_path)
        ((name, file),) = fsspec.filesystem("moody").store.items()
        fsspec.filesystem("moody").rm(name)
        (tmp_path / "warc" / (name.rpartition("/")[2] + ".open")).write_bytes(file.getvalue() + b"\x1f\x8b")
        await crawled(tmp_path)
        assert kept() == ([name], gzip.decompress(file.getvalue()))

    @pytest.mark.asyncio
    @pytest.mark.parametrize(
        ("refuses", "settings", "says"),
        [
            ("kept", {}, "REPLICA_WARC: moody://crawls/kept cannot be reached (An error occurred (503): Slow Down"),
            (
                "",
                {"JOBDIR": None},
                "REPLICA_WARC: files wait in the JOBDIR (--job) until they are whole and go to moody:",
            ),
            ("", {"REPLICA_WARC": "nowhere://x"}, "REPLICA_WARC: Protocol not known: nowhere"),
            ("", {"JOBDIR": "s3://bucket/job"}, "JOBDIR: s3://bucket/job is no folder of this machine"),
        ],
    )
    async def test_what_cannot_be_is_told_in_one_line_at_the_start(
        self, tmp_path, monkeypatch, refuses, settings, says
    ):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(Moody, "refuses", refuses)
        with pytest.raises(RefusedError) as error:
            await crawled(tmp_path / "job", **settings)
        assert str(error.value).startswith(says)
        assert "\n" not in str(error.value)

    @pytest.mark.asyncio
    async def test_without_the_extra(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "fsspec", None)
        with pytest.raises(RefusedError, match=r"needs fsspec: pip install 'scrapy-replica\[bucket\]'$"):
            await crawled(tmp_path)


class TestExport:
    @pytest.fixture
    def job(self, tmp_path):
        asyncio.run(crawled(tmp_path / "job"))
        return tmp_path / "job"

    def test_tables_reports_and_archives(self, job):
        pytest.importorskip("cdxj_indexer")  # which warns when it is compiled
        for what in ("pages", "--format parquet"), ("links", ""), ("wacz", "--warc moody://crawls/kept"):
            out = f"moody://crawls/{what[0]}"
            done = replica("export", job, what[0], *what[1].split(), "--out", out)
            assert (done.code, done.err) == (0, "")
            assert done.out.startswith(f"{out}: ")
        store = fsspec.filesystem("moody")
        assert store.cat("/crawls/pages")[:4] == b"PAR1"
        assert store.cat("/crawls/links").count(b"\n") == 1 + len(PAGES)
        with zipfile.ZipFile(store.open("/crawls/wacz")) as archive:
            assert len([name for name in archive.namelist() if name.endswith(".warc.gz")]) == 1

    def test_a_store_that_is_away_leaves_what_was_there(self, job, monkeypatch):
        fsspec.filesystem("moody").pipe("/crawls/pages", b"old")
        monkeypatch.setattr(Moody, "refuses", "crawls")
        done = replica("export", job, "pages", "--out", "moody://crawls/pages")
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert "moody://crawls/ cannot be reached (An error occurred (503)" in done.err
        assert fsspec.filesystem("moody").cat("/crawls/pages") == b"old"

    def test_a_bucket_without_archives(self, job):
        done = replica("export", job, "wacz", "--warc", "moody://crawls/other", "--out", "moody://crawls/x")
        assert done.code == 2
        assert "moody://crawls/other: no WARC file that was ended (*.warc.gz) is there" in done.err


def test_users_of_stores_are_not_told():
    assert Bucket("memory://hugo:sesame@x/y").url == "memory://x/y"


def test_a_path_is_no_url(tmp_path):
    assert not is_url(tmp_path)
    assert not is_url(None)
    assert is_url("s3://bucket")
