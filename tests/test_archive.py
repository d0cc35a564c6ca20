from __future__ import annotations

import gzip
import io
import logging
import os
import pickle
import stat

import pytest

from scrapy_replica.warc import archive_index
from scrapy_replica.warc.archive import Archive, open_archive
from scrapy_replica.warc.http_block import parse_response, remove_chunks


def record(url: str, block: bytes, kind: str = "response", ip: str | None = "192.0.2.1") -> bytes:
    """One WARC record, written out by hand: the format is the test's own."""
    content = "application/http; msgtype=response" if kind == "response" else "text/html"
    lines = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Target-URI: {url}",
        "WARC-Date: 2022-01-15T00:00:00Z",
        "WARC-Record-ID: <urn:uuid:05dd41be-a44d-4bbb-b508-9007339fb26b>",
        f"Content-Type: {content}",
        f"Content-Length: {len(block)}",
    ]
    if ip:
        lines.append(f"WARC-IP-Address: {ip}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"


def http(body: bytes = b"<p>hello</p>", status: int = 200, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} X", "Content-Type: text/html", *headers]).encode() + b"\r\n\r\n" + body


def urls_of(archive: Archive) -> list[str]:
    return [one.url for one in archive.records()]


@pytest.fixture(autouse=True)
def cache_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(params=["plain", "gzip"])
def pack(request):
    return (lambda data: data) if request.param == "plain" else gzip.compress


@pytest.fixture
def write(tmp_path, pack):
    def writes(*records: bytes, name: str = "a.warc.gz"):
        path = tmp_path / name
        path.write_bytes(b"".join(pack(item) for item in records))
        return path

    return writes


class TestLookup:
    def test_everything_about_a_capture(self, write):
        path = write(record("http://a.example/x", http(b"<p>x</p>", 200, "Set-Cookie: a=1", "Set-Cookie: b=2")))
        found = Archive([path]).get("http://a.example/x")
        assert (found.url, found.status, found.body, found.ip) == ("http://a.example/x", 200, b"<p>x</p>", "192.0.2.1")
        assert found.headers == [
            (b"Content-Type", b"text/html"),
            (b"Set-Cookie", b"a=1"),
            (b"Set-Cookie", b"b=2"),
        ]
        assert found.date.isoformat() == "2022-01-15T00:00:00+00:00"

    def test_many_captures_each_found_under_its_own_url(self, write):
        urls = [f"http://h{i % 7}.example/{i}" for i in range(200)]
        archive = Archive([write(*(record(url, http(url.encode())) for url in urls))])
        assert [archive.get(url).body.decode() for url in urls] == urls
        assert urls_of(archive) == urls
        assert len(archive) == 200
        assert archive.get("http://h1.example/2") is None

    def test_first_200_wins_else_the_first(self, write):
        path = write(
            record("http://a.example/", http(b"gone", 404)),
            record("http://a.example/", http(b"one")),
            record("http://a.example/", http(b"two")),
            record("http://b.example/", http(b"moved", 301, "Location: http://a.example/")),
            record("http://b.example/", http(b"error", 500)),
        )
        archive = Archive([path])
        assert archive.get("http://a.example/").body == b"one"
        assert archive.get("http://b.example/").status == 301
        assert len(archive) == 5

    def test_several_files(self, write):
        first = write(record("http://a.example/1", http(b"1")), record("http://a.example/0", http(b"", 500)))
        second = write(
            record("http://a.example/2", http(b"2")), record("http://a.example/0", http(b"0")), name="b.warc"
        )
        archive = Archive([first, second])
        assert [archive.get(f"http://a.example/{i}").body for i in range(3)] == [b"0", b"1", b"2"]

    @pytest.mark.parametrize(
        ("stored", "asked"),
        [
            ("http://a.example/a b", "http://a.example/a%20b"),
            ("http://a.example/ä?q=ö", "http://a.example/%C3%A4?q=%C3%B6"),
            ("http://a.example/a%20b", "http://a.example/a b"),
            ("http://a.example", "http://a.example/"),
            ("http://a.example/", "http://a.example"),
            ("http://a.example/x", "http://a.example/x#part"),
            ("http://A.example/x", "http://a.example/x"),
            ("<http://a.example/x>", "http://a.example/x"),
            ("http://[bad/x", "http://[bad/x"),
        ],
    )
    def test_spellings_of_one_url(self, write, stored, asked):
        assert Archive([write(record(stored, http()))]).get(asked) is not None

    def test_equal_keys_are_told_apart_by_the_url(self, write, monkeypatch):
        monkeypatch.setattr(archive_index, "url_key", lambda form: 7)
        monkeypatch.setattr("scrapy_replica.warc.archive.url_key", lambda form: 7)
        archive = Archive([write(record("http://a.example/1", http(b"1")), record("http://a.example/2", http(b"2")))])
        assert archive.get("http://a.example/2").body == b"2"
        assert archive.get("http://a.example/3") is None

    def test_only_pages_count(self, write):
        path = write(
            record("", b"software: x", "warcinfo"),
            record("http://a.example/x", b"GET /x HTTP/1.1\r\n\r\n", "request"),
            record("dns:a.example", b"20220115 192.0.2.1"),
            record("http://a.example/old", b"<p>an answer without a header</p>"),
            record("http://a.example/r", b"<p>r</p>", "resource", ip=None),
        )
        archive = Archive([path])
        found = archive.get("http://a.example/r")
        assert urls_of(archive) == ["http://a.example/r"]
        assert (found.status, found.ip, found.body) == (200, None, b"<p>r</p>")
        assert found.headers == [(b"Content-Type", b"text/html")]

    def test_robots(self, write):
        assert Archive([write(record("http://a.example/robots.txt", http(b"")))]).has_robots
        assert not Archive([write(record("http://a.example/x/robots.txt", http(b"")), name="b.warc")]).has_robots


class TestBadFiles:
    def test_cut_anywhere(self, write, tmp_path, caplog):
        whole = [record(f"http://a.example/{i}", http(os.urandom(300))) for i in range(3)]
        data = write(*whole).read_bytes()
        sizes = [write(*whole[:i]).stat().st_size for i in range(4)]
        for cut in range(sizes[1], sizes[3], 37):
            path = tmp_path / f"cut{cut}.warc"
            path.write_bytes(data[:cut])
            archive = Archive([path])
            complete = sum(size <= cut for size in sizes) - 1
            # The line ends and the checksum behind a record's content may miss: the capture is whole without them.
            assert len(archive) in {complete, complete + 1}
            assert all(archive.get(f"http://a.example/{i}").body == whole[i][-304:-4] for i in range(len(archive)))

    def test_a_cut_is_said_once_each_time_the_archive_is_opened(self, write, caplog):
        path = write(record("http://a.example/1", http()), record("http://a.example/2", http(os.urandom(900))))
        path.write_bytes(path.read_bytes()[:-400])
        for _ in range(2):
            caplog.clear()
            with caplog.at_level(logging.WARNING):
                assert len(Archive([path])) == 1
            assert [entry.getMessage() for entry in caplog.records] == [
                f"{path} is cut off or damaged after 1 records; these are used"
            ]

    def test_a_whole_file_gives_no_warning(self, write, caplog):
        Archive([write(record("http://a.example/1", http()))])
        assert not caplog.records

    @pytest.mark.parametrize(
        "data", [b"", b"\x1f", b"<html>" * 999, gzip.compress(b"<html>" * 999, mtime=0), os.urandom(9999)]
    )
    def test_foreign_file(self, tmp_path, data):
        path = tmp_path / "x.warc.gz"
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"^\S*x\.warc\.gz is no WARC file: give [^\n]*$"):
            Archive([path])

    def test_compressed_as_a_whole(self, tmp_path):
        path = tmp_path / "x.warc.gz"
        path.write_bytes(gzip.compress(b"".join(record(f"http://a.example/{i}", http()) for i in range(3))))
        with pytest.raises(ValueError, match="compressed as a whole: unpack it"):
            Archive([path])

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            Archive([tmp_path / "none.warc"])


class TestCache:
    @pytest.fixture
    def builds(self, monkeypatch):
        calls = []
        build = archive_index.build_index
        monkeypatch.setattr(archive_index, "build_index", lambda path: calls.append(path) or build(path))
        return calls

    def test_second_opening_reads_the_cache(self, write, builds):
        path = write(record("http://a.example/1", http(b"1")))
        Archive([path])
        assert Archive([path]).get("http://a.example/1").body == b"1"
        assert len(builds) == 1
        assert [item.name for item in path.parent.glob("*.npz")] == ["a.warc.gz.index.npz"]

    def test_changed_file_is_indexed_again(self, write, builds):
        Archive([write(record("http://a.example/1", http(b"1")))])
        path = write(record("http://a.example/2", http(b"2")))
        os.utime(path, ns=(1, 1))
        assert urls_of(Archive([path])) == ["http://a.example/2"]
        assert len(builds) == 2

    @pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 broken", b"text"])
    def test_damaged_cache_is_made_anew(self, write, builds, damage):
        path = write(record("http://a.example/1", http(b"1")))
        cache = path.with_name(path.name + ".index.npz")
        cache.write_bytes(damage)
        assert len(Archive([path])) == 1
        assert len(Archive([path])) == 1
        assert len(builds) == 1

    def test_other_version_is_made_anew(self, write, builds, monkeypatch):
        path = write(record("http://a.example/1", http(b"1")))
        Archive([path])
        monkeypatch.setattr(archive_index, "VERSION", archive_index.VERSION + 1)
        Archive([path])
        assert len(builds) == 2

    def test_folder_that_must_not_be_written(self, write, builds, cache_home):
        path = write(record("http://a.example/1", http(b"1")))
        folder = path.parent / "sealed"
        folder.mkdir()
        path = path.rename(folder / path.name)
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        try:
            Archive([path])
            assert Archive([path]).get("http://a.example/1") is not None
        finally:
            folder.chmod(stat.S_IRWXU)
        assert [item.name for item in folder.iterdir()] == [path.name]
        assert len(list((cache_home / "scrapy-replica").iterdir())) == 1
        assert len(builds) == 1

    def test_one_archive_per_path_set(self, write):
        path = write(record("http://a.example/1", http(b"1")))
        first = open_archive([path])
        assert open_archive([str(path)]) is first
        os.utime(path, ns=(1, 1))
        assert open_archive([path]) is not first


class TestHttpBlock:
    def test_headers_as_servers_send_them(self):
        block = b"HTTP/1.0 404 Not Found\nA: 1\n folded\nno colon\nB:  2 \n\nbody\n\nbody"
        assert parse_response(block) == (404, [(b"A", b"1 folded"), (b"B", b"2")], b"body\n\nbody")

    def test_no_status_line(self):
        assert parse_response(b"<html>") is None

    def test_chunks_are_removed_with_their_header(self):
        block = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"
        assert parse_response(block) == (200, [], b"hello world")

    @pytest.mark.parametrize(
        ("body", "payload"),
        [
            (b"<p>already joined</p>", b"<p>already joined</p>"),
            (b"5\r\nhel", b"hel"),
            (b"5\r\nhello\r\nzz", b"hello"),
            (b"0\r\n\r\n", b""),
            (b"", b""),
        ],
    )
    def test_odd_chunks(self, body, payload):
        assert remove_chunks(body) == payload

    def test_any_split_into_chunks(self):
        payload = os.urandom(1000)
        for size in (1, 7, 999, 2000):
            out = io.BytesIO()
            for start in range(0, 1000, size):
                piece = payload[start : start + size]
                out.write(b"%X\r\n%s\r\n" % (len(piece), piece))
            out.write(b"0\r\n\r\n")
            assert remove_chunks(out.getvalue()) == payload


@pytest.mark.shared
class TestCampus:
    """web/campus.warc.gz: 11,733 pages and 1,642 redirects."""

    def test_every_capture_is_found(self, shared):
        archive = Archive([shared / "web" / "campus.warc.gz"])
        assert len(archive) == 13_375
        assert len(pickle.dumps(archive)) < 200 * len(archive)  # what it holds in memory
        statuses = [item.status for item in archive.records()]
        assert (statuses.count(200), statuses.count(301)) == (11_733, 1_642)
        front = archive.get("http://alderis.ics.uci.edu/")
        assert (front.status, front.ip, len(front.body)) == (200, "198.51.100.57", 5_229)
