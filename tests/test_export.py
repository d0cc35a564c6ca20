"""``scrapy replica export``: tables and graphs that other programs read, whatever crawled pages say."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sqlite3
import sys
import zipfile
from functools import partial
from hashlib import sha256

import pytest
from command_line import replica
from lxml import etree
from pyarrow import parquet

from scrapy_replica.claim import Claim, Kind
from scrapy_replica.commands import export
from scrapy_replica.crawldb.contract import URGENT, NewUrl
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Verdict
from scrapy_replica.warc import records
from scrapy_replica.warc.folder import WarcFolder
from scrapy_replica.warc.records import Exchange

FORMULA = '=HYPERLINK("http://evil.example","here")'
HOSTILE = '\x1b[2J</node>"&<b>\x00\ufffe\u202e'
GEXF = "{http://www.gexf.net/1.2draft}"


exported = partial(replica, "export")


def enter(db, url, parent=None, **fields):
    host = url.split("/")[2]
    return db.urls.discover([NewUrl(url, host, hash(url) >> 2, parent=parent, **fields)])[0][0]


@pytest.fixture
def job(tmp_path):
    """Two hosts: a seed leads to three pages, one of which leads to the other host."""
    folder = tmp_path / "job"
    folder.mkdir()
    db = SqliteCrawlDB(folder)
    seed = enter(db, "http://a.example/", score=0.25)
    for n, title in enumerate((FORMULA, "+1", HOSTILE)):
        url_id = enter(db, f"http://a.example/{n}", seed, depth=1, score=URGENT if n else 0.5)
        twin = seed if n == 1 else None
        db.pages.enter(Fetched(url_id, 1_700_000_000.5, 200, title=title, words=9, relevance=0.75, twin=twin))
    far = enter(db, "http://b.example/?token=0123456789abcdef", url_id, depth=2, is_dropped=True)
    db.ledger.record(
        far, Decision(Action.DROP, Action.DROP, Reason.REPLICA_HOST, evidence={"canonical": "é"}), 1_700_000_001
    )
    db.samples.enter(
        [Sample(far, Claim(Kind.MIRROR, "b.example", "a.example"), Reason.REPLICA_HOST, None, Stratum(), 1.0)]
    )
    db.samples.settle(far, Outcome.SAME)
    db.verdicts.enter(Verdict("b.example", "a.example", "", "", 0.9, 5), 1.0, 2e9)
    db.close()
    return folder


def rows(*arguments):
    """Return the table that the command prints, a dict a row."""
    code, out, err = exported(*arguments)
    assert (code, err) == (0, "")
    return (
        [json.loads(line) for line in out.splitlines()]
        if "jsonl" in arguments
        else list(csv.DictReader(io.StringIO(out)))
    )


class TestTables:
    def test_links(self, job):
        found = rows(job, "links", "--format", "jsonl")
        assert [row["target"] for row in found[:2]] == ["http://a.example/", "http://a.example/0"]
        assert [(row["source_id"], row["source"]) for row in found[:2]] == [(None, None), (1, "http://a.example/")]
        assert [row["score"] for row in found] == [0.25, 0.5, None, None, 0.0]
        assert (found[-1]["state"], found[-1]["depth"], found[-1]["is_demoted"]) == ("dropped", 2, False)

    def test_relevance(self, job):
        found = rows(job, "pages", "--format", "jsonl")
        assert [row["title"] for row in found] == [FORMULA, "+1", HOSTILE]
        assert found[1]["repeats"] == "http://a.example/"
        assert {**found[0], "id": 0} == {
            "id": 0,
            "url": "http://a.example/0",
            "host": "a.example",
            "fetched_at": "2023-11-14T22:13:20.500+00:00",
            "status": 200,
            "error": None,
            "title": FORMULA,
            "words": 9,
            "relevance": 0.75,
            "novelty": None,
            "repeats": None,
            **dict.fromkeys(("search", "ai_use", "train_ai", "tdm", "license", "statements")),
        }

    def test_decisions(self, job):
        (row,) = rows(job, "decisions")
        assert (row["action"], row["reason"], row["outcome"]) == ("drop", "replica-host", "same")
        assert json.loads(row["evidence"]) == {"canonical": "é"}

    def test_hosts(self, job):
        found = {row["host"]: row for row in rows(job, "hosts")}
        assert (found["a.example"]["fetches"], found["a.example"]["waiting"]) == ("3", "4")
        assert (found["b.example"]["dropped"], found["b.example"]["copy_of"]) == ("1", "a.example")

    def test_secrets_stay_here(self, job):
        for what in ("links", "decisions"):
            out = exported(job, what)[1]
            assert "http://b.example/?token=***" in out
            assert "0123456789abcdef" not in out

    @pytest.mark.parametrize("what", ["links", "pages", "decisions"])
    def test_a_row_once_however_many_are_read_at_a_time(self, job, monkeypatch, what):
        whole = rows(job, what, "--format", "jsonl")
        monkeypatch.setattr(export, "BATCH", 2)
        assert rows(job, what, "--format", "jsonl") == whole

    def test_a_crawl_that_runs_goes_on_meanwhile(self, job, monkeypatch):
        """No batch keeps it from clearing its log, and what it enters is exported as well."""
        monkeypatch.setattr(export, "BATCH", 2)
        db = SqliteCrawlDB(job)
        found = []
        for batch in export.batches(str(job), "links"):
            found += [row.id for row in batch]
            if len(found) == 2:
                enter(db, "http://c.example/")
                db.commit()
                busy, *_ = db.connection.read("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                assert not busy
        db.close()
        assert found == [1, 2, 3, 4, 5, 6]


class TestFormats:
    def test_no_text_of_a_page_is_a_formula(self, job):
        titles = [row["title"] for row in rows(job, "pages")]
        assert titles[:2] == [f"'{FORMULA}", "'+1"]

    @pytest.mark.parametrize(("what", "form"), [("pages", "csv"), ("pages", "jsonl"), ("links", "gexf")])
    def test_nothing_steers_the_terminal(self, job, what, form):
        out = exported(job, what, "--format", form)[1]
        assert all(line.isprintable() for line in out.split("\n"))

    def test_long_texts_are_whole(self, job):
        url = f"http://a.example/\x85{'x' * 20_000}"
        db = SqliteCrawlDB(job)
        enter(db, url)
        db.close()
        assert rows(job, "links")[-1]["target"] == url.replace("\x85", " ")

    def test_parquet(self, job, tmp_path, monkeypatch):
        monkeypatch.setattr(export, "BATCH", 2)
        assert exported(job, "pages", "--format", "parquet", "--out", tmp_path / "x")[:2] == (
            0,
            f"{tmp_path / 'x'}: 3 rows\n",
        )
        table = parquet.read_table(tmp_path / "x")
        assert table["title"].to_pylist() == [FORMULA, "+1", HOSTILE]
        assert [str(field.type) for field in table.schema][:5] == ["int64", "string", "string", "string", "int64"]

    def test_gexf_of_links(self, job, tmp_path, monkeypatch):
        monkeypatch.setattr(export, "BATCH", 2)
        assert exported(job, "links", "--format", "gexf", "--out", tmp_path / "x")[0] == 0
        graph = etree.parse(tmp_path / "x")
        labels = {node.get("id"): node.get("label") for node in graph.iter(f"{GEXF}node")}
        edges = [(labels[e.get("source")], labels[e.get("target")]) for e in graph.iter(f"{GEXF}edge")]
        assert len(labels) == 5
        assert edges[-1] == ("http://a.example/2", "http://b.example/?token=***")
        assert edges.count(("http://a.example/", "http://a.example/0")) == 1
        types = {a.get("id"): (a.get("title"), a.get("type")) for a in graph.iter(f"{GEXF}attribute")}
        values = next(graph.iter(f"{GEXF}attvalues"))
        told = {types[value.get("for")]: value.get("value") for value in values}
        assert told["is_demoted", "boolean"] == "false"
        assert told["score", "double"] == "0.25"

    def test_gexf_of_hosts(self, job):
        graph = etree.fromstring(exported(job, "hosts", "--format", "gexf")[1].encode())
        assert {node.get("id") for node in graph.iter(f"{GEXF}node")} == {"a.example", "b.example"}
        (edge,) = graph.iter(f"{GEXF}edge")
        assert (edge.get("source"), edge.get("target"), edge.get("weight")) == ("a.example", "b.example", "1")

    def test_gexf_is_xml_whatever_a_url_or_host_is_called(self, job):
        db = SqliteCrawlDB(job)
        enter(db, f"http://{HOSTILE.replace('/', '')}/{HOSTILE}")
        db.close()
        for what in ("links", "hosts"):
            graph = etree.fromstring(exported(job, what, "--format", "gexf")[1].encode())
            assert any("&<b>" in node.get("label") for node in graph.iter(f"{GEXF}node"))


def test_the_format_is_that_of_the_file_s_name(job, tmp_path):
    for name, begins in (
        ("x.jsonl", b"{"),
        ("x.csv", b"id,"),
        ("x.parquet", b"PAR1"),
        ("x.GEXF", b"<?xml"),
        ("x.txt", b"id,"),
    ):
        assert exported(job, "links", "--out", tmp_path / name)[0] == 0
        assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_sitemap_has_the_pages_that_repeat_no_other(job):
    _, out, _ = exported(job, "pages", "--format", "sitemap")
    places = etree.fromstring(out.encode()).iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")
    assert [place.text for place in places] == ["http://a.example/0", "http://a.example/2"]


class TestWacz:
    @pytest.fixture
    def kept(self, job):
        """Two WARC files of the job, one of which is being written."""
        pytest.importorskip("cdxj_indexer")
        folder = job / "kept"
        warcs = WarcFolder(folder, "topic", "1", 1, {})
        for n in (2, 0):
            head, body = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", f"page {n}".encode()
            warcs.write([records.response(Exchange(f"http://a.example/{n}", 1.7e9, b"", False, head, body))[1]])
        yield folder
        warcs.close()

    def test_index_pages_and_files_are_in_it(self, job, kept, tmp_path):
        assert exported(job, "wacz", "--warc", kept, "--out", tmp_path / "x.wacz")[0] == 0
        with zipfile.ZipFile(tmp_path / "x.wacz") as archive:
            described = json.loads(archive.read("datapackage.json"))
            for each in described["resources"]:
                data = archive.read(each["path"])
                assert (len(data), f"sha256:{sha256(data).hexdigest()}") == (each["bytes"], each["hash"])
            digest = sha256(archive.read("datapackage.json")).hexdigest()
            assert json.loads(archive.read("datapackage-digest.json"))["hash"] == f"sha256:{digest}"
            _, *pages = map(json.loads, archive.read("pages/pages.jsonl").splitlines())
            assert [page["url"] for page in pages] == ["http://a.example/0", "http://a.example/2"]
            lines = gzip.decompress(archive.read("indexes/index.cdx.gz")).decode().splitlines()
            (captured,) = [json.loads(line[line.index("{") :]) for line in lines]
            assert captured["url"] == "http://a.example/2"  # the other file is being written
            place = archive.getinfo(f"archive/{captured['filename']}")
            assert place.compress_type == zipfile.ZIP_STORED
            whole = (tmp_path / "x.wacz").read_bytes()
            extras = [whole[each.header_offset + 28 :][:2] for each in archive.infolist()]
            assert set(extras) == {b"\0\0"}  # lengths of extra fields, which replayweb.page does not expect
            record = archive.read(place)[int(captured["offset"]) :][: int(captured["length"])]
            assert gzip.decompress(record).endswith(b"page 2\r\n\r\n")

    def test_a_file_that_is_no_warc_leaves_nothing(self, job, kept, tmp_path):
        (kept / "z.warc.gz").write_bytes(b"junk")
        code, out, err = exported(job, "wacz", "--warc", kept, "--out", tmp_path / "x.wacz")
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "z.warc.gz: it is damaged" in err
        assert not (tmp_path / "x.wacz").exists()


class TestBadInput:
    def test_an_empty_job(self, tmp_path):
        SqliteCrawlDB(tmp_path).close()
        for what in export.TABLES:
            code, out, err = exported(tmp_path, what)
            assert (code, out.count("\n"), err.count("\n")) == (1, 1, 1)
        for form in ("parquet", "gexf"):
            assert exported(tmp_path, "links", "--format", form, "--out", tmp_path / form)[0] == 1
        assert parquet.read_table(tmp_path / "parquet").num_rows == 0
        assert not [*etree.parse(tmp_path / "gexf").iter(f"{GEXF}node")]

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (("decisions", "--format", "gexf"), "links and hosts"),
            (("links", "--format", "parquet"), "--out"),
            (("links", "--format", "xlsx"), "--format"),
            (("links", "--format", "sitemap"), "--format sitemap is for pages"),
            (("links", "--warc", "kept"), "wacz is made of the files that --warc names"),
            (("wacz", "--out", "x"), "wacz is made of the files that --warc names"),
            (("wacz", "--warc", "kept"), "name it with --out"),
            (("wacz", "--warc", "kept", "--out", "x"), "kept: no WARC file"),
            (("texts",), "invalid choice: 'texts'"),
        ],
    )
    def test_wrong_use(self, job, arguments, says):
        code, out, err = exported(job, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert says in err

    def test_no_job_and_no_place_to_write(self, job, tmp_path):
        for arguments in (
            (tmp_path, "links", "--out", tmp_path / "x"),
            (job, "links", "--out", tmp_path / "no" / "x"),
            (job, "links", "--out", tmp_path),
        ):
            code, _, err = exported(*arguments)
            assert (code, err.count("\n")) == (2, 1)
        assert [file.name for file in tmp_path.iterdir()] == ["job"]

    def test_without_the_extra_a_line_names_it(self, job, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        code, _, err = exported(job, "links", "--format", "parquet", "--out", tmp_path / "x")
        assert (code, err.count("\n")) == (2, 1)
        assert "pip install 'scrapy-replica[parquet]'" in err
        assert not (tmp_path / "x").exists()

    def test_a_file_is_whole_or_as_it_was(self, job, tmp_path, monkeypatch):
        (tmp_path / "x").write_text("before")
        monkeypatch.setattr(export, "BATCH", 2)
        file = sqlite3.connect(job / FILE_NAME)
        file.execute("UPDATE urls SET state = 9 WHERE id = 4")  # no such state: the second batch fails
        file.commit()
        file.close()
        code, _, err = exported(job, "links", "--out", tmp_path / "x")
        assert (code, err.count("\n")) == (2, 1)
        assert "malformed row" in err
        assert (tmp_path / "x").read_text() == "before"
        assert sorted(one.name for one in tmp_path.iterdir()) == ["job", "x"]
        assert exported(job, "pages", "--out", tmp_path / "x")[0] == 0
        assert (tmp_path / "x").read_text().startswith("id,url,")
