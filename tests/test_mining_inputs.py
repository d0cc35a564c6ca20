"""What is mined comes into one form, whatever it is; what cannot be read is told in a line, or counted."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
from datetime import datetime, timezone
from functools import partial

import pyarrow as pa
import pytest
from fastwarc.warc import WarcRecord, WarcRecordType
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from scrapy.settings import Settings
from test_hosts_command import enter
from web import page

from scrapy_replica.commands.job import reading
from scrapy_replica.components.archived import ArchivedPages
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.mining import cdx, inputs, schema
from scrapy_replica.mining.rows import MinedRow, TableWriter, read
from scrapy_replica.sites.evidence import PageMark

OPENERS = inputs.Openers(reading, partial(ArchivedPages, Settings()))
SHA1 = base64.b32encode(hashlib.sha1(b"page").digest()).decode()
HEADER = " CDX N b a m s k r M S V g\n"


def line(url="http://a.example/x", time="20140325091500", mime="text/html", status="200", digest=SHA1):
    return f"example,a)/x {time} {url} {mime} {status} {digest} - - 100 5 file.warc.gz\n"


def json_line(url="http://a.example/x", time="20140325091500", **more):
    told = {"url": url, "mime": "text/html", "status": "200", "digest": f"sha1:{SHA1}", **more}
    return f"example,a)/x {time} {json.dumps(told)}\n"


def collected(folder, *names):
    """The fetched rows, the known URLs, the links and the counts of inputs."""
    work = folder / "work"
    work.mkdir(exist_ok=True)
    found = inputs.collect(inputs.sources_of(map(str, names)), work, OPENERS)
    rows = [MinedRow(*row) for path in found.pages for row in read([path], schema.PAGES)]
    links = set(read(found.links, schema.LINKS))
    counts = {kind: count for kind, count in found.counts.items() if count}
    return [row for row in rows if row.fetched], [row.url for row in rows if not row.fetched], links, counts


def write(path, text):
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


class TestCdx:
    @pytest.mark.parametrize("name", ["a.cdx", "a.cdx.gz"])
    def test_lines_of_all_kinds(self, tmp_path, name):
        text = (
            "!OpenWayback-CDXJ 1.0\n"
            + line()  # without a header, 11 fields
            + "example,a)/y 20140325091501 http://a.example/y text/html 200 " + SHA1 + " 77\n"  # of an index server
            + json_line("https://b.example:8080/z?q=1")
            + " CDX a b k s m\nhttp://a.example/w 20140325 " + SHA1 + " 200 text/html\n"
        )  # fmt: skip
        rows, known, links, counts = collected(tmp_path, write(tmp_path / name, text))
        assert [row.url.partition("//")[2] for row in rows] == [
            "a.example/x", "a.example/y", "b.example:8080/z?q=1", "a.example/w"]  # fmt: skip
        assert (rows[2].host, rows[2].path) == ("b.example:8080", "/z?q=1")
        assert {row.signature for row in rows} == {hashlib.sha1(b"page").digest()[:16]}
        assert datetime.fromtimestamp(rows[0].at, timezone.utc) == datetime(2014, 3, 25, 9, 15, tzinfo=timezone.utc)
        assert (known, links, counts) == ([], set(), {"pages": 4})

    def test_what_is_no_page_is_left_out_and_counted(self, tmp_path):
        text = HEADER + "".join(
            (
                line(),
                line(mime="warc/revisit", status="-"),
                json_line(mime="warc/revisit"),
                line(status="404"),
                line(status="-"),
                line(mime="application/pdf"),
                line(mime="-"),
                line(time="soon"),
                line(url="dns:a.example"),
                line(url="http://"),
                "one two\n",
                "a b {broken\n",
                "\n",
            )
        )
        rows, _, _, counts = collected(tmp_path, write(tmp_path / "a.cdx", text))
        assert len(rows) == 1
        assert counts == {"pages": 1, "revisit records": 2, "not status 200": 2, "not HTML": 2, "bad records": 5}

    def test_a_digest_that_is_none_is_not_known(self, tmp_path):
        text = line(digest="-") + line(digest="sha1:") + line(digest="sha256:" + "ab" * 32) + line(digest="zz!")
        rows, _, _, _ = collected(tmp_path, write(tmp_path / "a.cdx", text))
        assert [row.signature for row in rows] == [None, None, b"\xab" * 16, None]

    @pytest.mark.parametrize("text", ["no capture\nat all\n", HEADER + "x y\n", "a text of several words\n"])
    def test_what_is_no_cdx_is_refused(self, tmp_path, text):
        with pytest.raises(ValueError, match=r"a\.cdx is no CDX file"):
            collected(tmp_path, write(tmp_path / "a.cdx", text))

    @pytest.mark.parametrize("text", ["", HEADER])
    def test_an_empty_one_is_refused(self, tmp_path, text):
        with pytest.raises(ValueError, match=r"a\.cdx is empty"):
            collected(tmp_path, write(tmp_path / "a.cdx", text))

    def test_of_one_that_is_cut_off_the_beginning_is_used(self, tmp_path, capsys):
        whole = gzip.compress("".join(line(f"http://a.example/{n}", digest=f"{n:040x}") for n in range(9_999)).encode())
        path = tmp_path / "a.cdx.gz"
        path.write_bytes(whole[: len(whole) // 2])
        rows, _, _, counts = collected(tmp_path, path)
        assert 1_000 < len(rows) < 9_000
        assert counts == {"pages": len(rows), "cut off": 1}
        assert capsys.readouterr().err == f"{path} is cut off; what comes before is used\n"

    @given(st.datetimes(datetime(1990, 1, 1), datetime(2199, 12, 31)))
    def test_times(self, moment):
        expected = moment.replace(microsecond=0, tzinfo=timezone.utc).timestamp()
        assert cdx.seconds_of(f"{moment:%Y%m%d%H%M%S}") == expected
        assert cdx.seconds_of(f"{moment:%Y%m%d}") == expected - expected % 86_400

    @given(st.binary(min_size=20, max_size=20), st.binary(min_size=16, max_size=64))
    def test_digests(self, sha1, other):
        assert cdx.signature_of(base64.b32encode(sha1).decode()) == sha1[:16]
        assert cdx.signature_of("sha1:" + base64.b32encode(sha1).decode()) == sha1[:16]
        assert cdx.signature_of("other:" + other.hex()) == other[:16]

    @given(st.text(max_size=60), st.lists(st.sampled_from("abkmsNrMSVg"), max_size=8))
    def test_nothing_makes_it_fail(self, text, fields):
        for capture in (cdx.of_fields(text, fields), cdx.of_json(text)):
            if capture is not None:
                cdx.row_of(capture, cdx.Counter())


class TestParquet:
    def table(self, path, **columns):
        parquet.write_table(pa.table(columns), path)
        return path

    def test_columns_that_are_missing_are_not_known(self, tmp_path):
        urls = ["http://a.example/x?y=1", "https://B.example:443"]
        path = self.table(tmp_path / "a.parquet", url=urls, simhash=pa.array([2**63, 5], pa.uint64()))
        rows, _, _, counts = collected(tmp_path, path)
        assert [(row.host, row.path, row.simhash) for row in rows] == [
            ("a.example", "/x?y=1", -(2**63)),
            ("b.example", "/", 5),
        ]
        assert all(row.signature is row.mark is row.words is row.title is None for row in rows)
        assert counts == {"pages": 2}

    def test_rows_without_a_url_are_counted(self, tmp_path):
        path = self.table(tmp_path / "a.parquet", url=["http://a.example/", None, "mailto:x", ""])
        rows, _, _, counts = collected(tmp_path, path)
        assert [row.url for row in rows] == ["http://a.example/"]
        assert counts == {"pages": 1, "bad records": 3}

    def test_signatures_of_another_length_are_not_known(self, tmp_path):
        urls = [f"http://a.example/{n}" for n in range(3)]
        path = self.table(tmp_path / "a.parquet", url=urls, signature=[b"x" * 16, b"short", None])
        rows, _, _, _ = collected(tmp_path, path)
        assert [row.signature for row in rows] == [b"x" * 16, None, None]

    def test_one_with_our_columns_is_read_where_it_lies(self, tmp_path):
        path = tmp_path / "a.parquet"
        with TableWriter(path, schema.PAGES) as writer:
            writer.add(MinedRow("http://a.example/x", "a.example", "/x", signature=b"s" * 16))
        assert inputs.collect(inputs.sources_of([str(path)]), tmp_path, OPENERS).pages == [path]

    @pytest.mark.parametrize(
        ("columns", "told"),
        [
            ({"host": ["a"]}, r"a\.parquet: there is no column 'url'"),
            ({"url": [1]}, r"a\.parquet: the column 'url' holds int64; it takes text"),
            (
                {"url": ["x"], "simhash": ["x"]},
                r"a\.parquet: the column 'simhash' holds string; it takes whole numbers",
            ),
            ({"url": ["x"], "signature": ["x"]}, r"a\.parquet: the column 'signature' holds string; it takes bytes"),
            ({"url": ["x"], "at": ["x"]}, r"a\.parquet: the column 'at' holds string; it takes numbers"),
        ],
    )
    def test_wrong_columns_are_named(self, tmp_path, columns, told):
        with pytest.raises(ValueError, match=told):
            collected(tmp_path, self.table(tmp_path / "a.parquet", **columns))

    @pytest.mark.parametrize(
        "cut", [lambda data: data[:-20], lambda data: data[4:], lambda data: data[: len(data) // 2]]
    )
    def test_a_broken_one_is_refused(self, tmp_path, cut):
        path = self.table(tmp_path / "a.parquet", url=["http://a.example/"] * 1000)
        path.write_bytes(cut(path.read_bytes()))
        with pytest.raises(ValueError, match=r"a\.parquet is a broken Parquet file") as told:
            collected(tmp_path, path)
        assert "\n" not in str(told.value)

    def test_a_broken_page_within_is_told_and_leaves_nothing(self, tmp_path):
        path = self.table(tmp_path / "a.parquet", url=[f"http://a.example/{n}" for n in range(50_000)])
        data = bytearray(path.read_bytes())
        data[2_000:60_000] = b"\xff" * 58_000
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"a\.parquet is a broken Parquet file"):
            collected(tmp_path, path)
        assert not list((tmp_path / "work").iterdir())


def warc_of(path, captures):
    """Write (URL, status, body) as a WARC file."""
    with path.open("wb") as file:
        for url, status, body in captures:
            record = WarcRecord()
            record.init_headers(WarcRecordType.response)
            record.headers["WARC-Target-URI"] = url
            record.headers["WARC-Date"] = "2026-01-31T09:00:00Z"
            record.headers["WARC-IP-Address"] = "192.0.2.7"
            head = f"HTTP/1.1 {status} X\r\nContent-Type: text/html\r\n"
            if isinstance(body, bytes):
                head += "Content-Encoding: gzip\r\n"
            record.set_bytes_content(f"{head}\r\n".encode() + (body if isinstance(body, bytes) else body.encode()))
            out = io.BytesIO()
            record.write(out)
            file.write(gzip.compress(out.getvalue()))
    return path


class TestWarc:
    def test_pages_have_all_that_a_crawl_knows(self, tmp_path):
        links = ["/b", "http://b.example/", "mailto:x"]
        captures = [("http://a.example/", 200, page(links, title="Front")), ("http://a.example/gone", 404, "no")]
        rows, known, told, counts = collected(tmp_path, warc_of(tmp_path / "a.warc.gz", captures))
        front, gone = rows
        assert (front.host, front.path, front.title, front.ip, front.status) == (
            "a.example",
            "/",
            "Front",
            "192.0.2.7",
            200,
        )
        assert front.words == 60
        mark = PageMark.unpack(front.mark)
        assert mark.simhash == front.simhash % 2**64
        assert mark.signature == int.from_bytes(front.signature[:8], "little")
        assert front.at == datetime(2026, 1, 31, 9, tzinfo=timezone.utc).timestamp()
        assert (gone.status, gone.mark, gone.signature) == (404, None, None)
        assert known == ["http://a.example/b", "http://b.example/"]
        assert told == {("b.example", "a.example")}
        assert counts == {"pages": 1, "not status 200": 1}

    def test_a_bad_record_is_skipped_and_counted(self, tmp_path):
        captures = [("http://a.example/1", 200, b"\x1f\x8bnot gzip at all"), ("http://a.example/2", 200, page(seed=2))]
        rows, _, _, counts = collected(tmp_path, warc_of(tmp_path / "a.warc.gz", captures))
        assert [row.url for row in rows] == ["http://a.example/2"]
        assert counts == {"pages": 1, "bad records": 1}

    def test_of_one_that_is_cut_off_the_beginning_is_used(self, tmp_path, caplog):
        path = warc_of(tmp_path / "a.warc.gz", [(f"http://a.example/{n}", 200, page(seed=n)) for n in range(20)])
        path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])
        rows, _, _, _ = collected(tmp_path, path)
        assert 10 < len(rows) < 15
        assert [record.message for record in caplog.records] == [
            f"{path} is cut off or damaged after {len(rows)} records; these are used"
        ]

    def test_what_is_done_is_not_done_again(self, tmp_path):
        path = warc_of(tmp_path / "a.warc.gz", [("http://a.example/", 200, page(seed=1))])
        first = collected(tmp_path, path)
        made = {file: file.stat().st_mtime_ns for file in (tmp_path / "work").iterdir()}
        assert collected(tmp_path, path) == first
        assert {file: file.stat().st_mtime_ns for file in (tmp_path / "work").iterdir()} == made


class TestJob:
    def test_pages_known_urls_links_and_rules(self, tmp_path):
        job = tmp_path / "job"
        job.mkdir()
        store = SqliteCrawlDB(job)
        ids = [enter(store, f"http://a.example/{n}", "a.example", n) for n in range(3)]
        enter(store, "http://b.example/", "b.example", 9, parent=ids[0])
        store.pages.enter(Fetched(ids[0], 7.0, 200, signature=b"s" * 16, simhash=2**64 - 1, words=30, title="T"))
        store.pages.enter(Fetched(ids[1], 8.0, 404))
        store.commit()
        store.close()
        rows, known, links, counts = collected(tmp_path, job)
        assert rows == [
            MinedRow(
                "http://a.example/0", "a.example", "/0", None, b"s" * 16, -1, 30, "T", None, None, 200, 7.0, None, True
            ),
            MinedRow("http://a.example/1", "a.example", "/1", status=404, at=8.0),
        ]
        assert known == ["http://a.example/2", "http://b.example/"]
        assert links == {("b.example", "a.example")}
        assert counts == {"pages": 1, "not status 200": 1}


class TestSources:
    def test_kinds_are_told_by_content(self, tmp_path):
        warc_of(tmp_path / "one", [("http://a.example/", 200, "x")])
        write(tmp_path / "two", line())
        parquet.write_table(pa.table({"url": ["x"]}), tmp_path / "three")
        names = [str(tmp_path / name) for name in ("one", "two", "three")]
        assert [source.kind.value for source in inputs.sources_of(names)] == ["WARC", "CDX", "Parquet"]

    def test_a_file_named_twice_is_read_once(self, tmp_path):
        write(tmp_path / "a.cdx", line())
        assert len(inputs.sources_of([str(tmp_path), str(tmp_path / "a.cdx")])) == 1

    def test_what_is_not_there_or_holds_nothing_is_named(self, tmp_path):
        (tmp_path / "empty.warc.gz").touch()
        (tmp_path / "folder").mkdir()
        for name, told in (
            ("nowhere", "there is no such file or folder"),
            ("empty.warc.gz", "is empty"),
            ("folder", "is no job, and there is no"),
        ):
            with pytest.raises(ValueError, match=f"{name}.*{told}"):
                inputs.sources_of([str(tmp_path / name)])
