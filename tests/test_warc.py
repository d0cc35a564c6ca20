"""What a crawl keeps as WARC files: complete, readable by others, whole after a kill and on a full disk, no secrets."""

from __future__ import annotations

import asyncio
import gzip
import io
import logging
import resource
import zlib
from ipaddress import ip_address

import pytest
from fastwarc.warc import ArchiveIterator
from scrapy import FormRequest, Request, Spider
from scrapy.http import HtmlResponse
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.checker import Checker
from web import HTML, REPLICA, crawl, job_states, page, redirect

from scrapy_replica import TopicSpider
from scrapy_replica.components.borders import Borders
from scrapy_replica.components.handler import rehearsal_settings
from scrapy_replica.components.refused import RefusedError
from scrapy_replica.components.warc import Recorder, exchange_of
from scrapy_replica.warc import records
from scrapy_replica.warc.archive import Archive
from scrapy_replica.warc.folder import OPEN, WarcFolder

SITE = "http://a.example"
SQUASHED = gzip.compress(page(["/"], seed="squashed").encode(), mtime=0)
PAGES = {
    f"{SITE}/": page(["/1", "/2", "/copy", "/moved", "/gone", "/squashed"], seed=0),
    f"{SITE}/1": page(["/3"], seed=1),
    f"{SITE}/2": page(["/copy"], seed=2),
    f"{SITE}/3": page(seed=3),
    f"{SITE}/copy": page(["/3"], seed=1),
    f"{SITE}/moved": redirect("/2", 301),
    f"{SITE}/gone": (410, HTML, "gone"),
    f"{SITE}/squashed": (200, {**HTML, "Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}, SQUASHED),
    f"{SITE}/robots.txt": (200, {"Content-Type": "text/plain"}, "User-agent: *\nDisallow: /private\n"),
}

TREE = {f"{SITE}/{n}": page([f"/{2 * n + 1}", f"/{2 * n + 2}"] if n < 35 else (), seed=n) for n in range(71)}


def warcs(folder):
    return sorted(folder.glob("*.warc.gz"))


def read(folder):
    """(type, URL, header lines, block) of every record, in the order of the files."""
    found = []
    for path in warcs(folder):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                headers = dict(record.headers)
                found.append((headers["WARC-Type"], headers.get("WARC-Target-URI"), headers, record.reader.read()))
    return found


def by_url(folder, kind):
    return {url: (headers, block) for found, url, headers, block in read(folder) if found == kind}


def captured(folder):
    return {url for kind, url, *_ in read(folder) if kind in {"response", "revisit"}}


class Settings(dict):
    def __init__(self, folder, **more):
        super().__init__({**REPLICA, "REPLICA_WARC": folder, "ROBOTSTXT_OBEY": True, **more})


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("warc")
    result = asyncio.run(crawl(TopicSpider, PAGES, Settings(folder), seeds=f"{SITE}/"))
    assert result.stats["replica/warc/responses"] + result.stats["replica/warc/revisits"] == len(PAGES)
    return folder


class TestWhatIsKept:
    def test_everything_that_was_fetched(self, kept):
        assert captured(kept) == {*PAGES}
        assert by_url(kept, "request").keys() == PAGES.keys()
        kinds = [kind for kind, *_ in read(kept)]
        assert kinds.count("warcinfo") == 1
        assert not list(kept.glob(f"*{OPEN}"))

    def test_others_can_read_it(self, kept, capsys):
        assert Checker(type("", (), {"inputs": list(map(str, warcs(kept))), "verbose": True})).process_all() in {
            None,
            0,
        }
        assert "fail" not in capsys.readouterr().out
        with warcs(kept)[0].open("rb") as file:
            urls = {record.rec_headers.get_header("WARC-Target-URI") for record in WarcioIterator(file)}
        assert urls >= {*PAGES}

    def test_payload_is_as_it_came(self, kept):
        headers, block = by_url(kept, "response")[f"{SITE}/squashed"]
        head, _, body = block.partition(b"\r\n\r\n")
        assert body == SQUASHED
        assert b"Content-Encoding: gzip" in head
        assert b"chunked" not in head, "the body has no chunks any more"
        assert headers["WARC-IP-Address"] == "192.0.2.1"
        assert headers["WARC-Payload-Digest"].startswith("sha1:")

    def test_a_copy_refers_to_its_original(self, kept):
        (url, (headers, block)), *others = by_url(kept, "revisit").items()
        assert not others
        assert {url, headers["WARC-Refers-To-Target-URI"]} == {f"{SITE}/1", f"{SITE}/copy"}
        original = by_url(kept, "response")[headers["WARC-Refers-To-Target-URI"]][0]
        assert headers["WARC-Refers-To-Date"] == original["WARC-Date"]
        assert headers["WARC-Payload-Digest"] == original["WARC-Payload-Digest"]
        assert headers["WARC-Profile"] == records.IDENTICAL_PAYLOAD
        assert block.startswith(b"HTTP/1.1 200 OK\r\n")
        assert block.endswith(b"\r\n\r\n")

    def test_what_is_known_of_pages(self, kept):
        known = {url: block.decode() for url, (_, block) in by_url(kept, "metadata").items()}
        assert f"via: {SITE}/\r\ndepth: 1\r\ndecision: fetch\r\n" in known[f"{SITE}/1"]
        assert "novelty: exact-duplicate" in known[f"{SITE}/copy"] + known[f"{SITE}/1"]
        assert "relevance" not in known[f"{SITE}/1"], "there is no topic"
        assert "depth: 1" in known[f"{SITE}/gone"]

    @pytest.mark.asyncio
    async def test_a_rehearsal_brings_the_same_pages(self, kept):
        async def items(settings):
            result = await crawl(TopicSpider, PAGES, {**REPLICA, **settings}, seeds=f"{SITE}/")
            return sorted((item["url"], item["title"], item["novelty"]) for item in result.items)

        live = await items({"ROBOTSTXT_OBEY": True})
        assert len(live) >= 6
        again = kept / "again"
        assert await items({"REPLICA_WARC": again, **rehearsal_settings(warcs(kept))}) == live
        assert not again.exists(), "nothing was fetched"


class TestOtherSchedulers:
    @pytest.mark.asyncio
    async def test_everything_is_kept_there_as_well(self, tmp_path):
        settings = Settings(tmp_path, SCHEDULER="scrapy.core.scheduler.Scheduler")
        result = await crawl(TopicSpider, PAGES, settings, seeds=f"{SITE}/")
        assert captured(tmp_path) == {*PAGES}
        assert by_url(tmp_path, "metadata").keys() == {item["url"] for item in result.items} | {f"{SITE}/gone"}


class TestUnchanged:
    @pytest.mark.asyncio
    async def test_a_page_that_did_not_change_refers_to_its_record(self, tmp_path):
        class Asks(Spider):
            name = "asks"
            custom_settings = {"HTTPERROR_ALLOW_ALL": True}  # noqa: RUF012

            async def start(self):
                yield Request(f"{SITE}/1")

            def parse(self, response):
                if response.status == 200:
                    yield Request(f"{SITE}/1", headers={"If-None-Match": "x"}, dont_filter=True)

        def web(request):
            return (304, {"ETag": "x"}, "") if "If-None-Match" in request.headers else PAGES[f"{SITE}/1"]

        await crawl(Asks, web, Settings(tmp_path, ROBOTSTXT_OBEY=False))
        headers, block = by_url(tmp_path, "revisit")[f"{SITE}/1"]
        assert headers["WARC-Profile"] == records.NOT_MODIFIED
        assert headers["WARC-Refers-To-Target-URI"] == f"{SITE}/1"
        assert headers["WARC-Refers-To-Date"] == by_url(tmp_path, "response")[f"{SITE}/1"][0]["WARC-Date"]
        assert block.startswith(b"HTTP/1.1 304 Not Modified\r\n")
        assert Archive(warcs(tmp_path)).get(f"{SITE}/1").body == PAGES[f"{SITE}/1"].encode()

    @pytest.mark.parametrize("condition", ["whatever", None])
    @pytest.mark.asyncio
    async def test_word_of_what_is_not_kept_is_a_response(self, tmp_path, condition):
        class Asks(Spider):
            name = "asks"
            custom_settings = {"HTTPERROR_ALLOW_ALL": True}  # noqa: RUF012

            async def start(self):
                yield Request(f"{SITE}/1", headers={"If-None-Match": condition} if condition else {})

        await crawl(Asks, {f"{SITE}/1": (304, {}, "")}, Settings(tmp_path, ROBOTSTXT_OBEY=False))
        assert not by_url(tmp_path, "revisit")
        assert by_url(tmp_path, "response")[f"{SITE}/1"][1].startswith(b"HTTP/1.1 304 Not Modified\r\n")


class Tagged:
    """A web whose pages have ETags and may be changed."""

    def __init__(self, n):
        self.pages = {f"{SITE}/{k}": page([f"/{k + 1}"] if k + 1 < n else (), seed=k) for k in range(n)}
        self.told = []

    def __call__(self, request):
        body = self.pages[request.url]
        tag = f'"{zlib.crc32(body.encode())}"'
        is_same = request.headers.get("If-None-Match", b"").decode() == tag
        self.told.append(304 if is_same else 200)
        return (304, {"ETag": tag}, "") if is_same else (200, {**HTML, "ETag": tag}, body)

    async def crawl(self, job, folder):
        """Crawl it, keeping in *folder*; return the statuses that it answered."""
        each = {"REPLICA_REVISIT": True, "REPLICA_REVISIT_CHANCE": 0, "REPLICA_EXPLORE": 0}
        await crawl(TopicSpider, self, Settings(folder, JOBDIR=job, ROBOTSTXT_OBEY=False, **each), seeds=f"{SITE}/0")
        told, self.told = self.told, []
        return told


@pytest.mark.asyncio
class TestComingBack:
    """A folder holds a body of whatever is said to be unchanged in it."""

    @pytest.mark.parametrize("before", [None, "other", "deleted"])
    async def test_what_the_folder_does_not_hold_is_asked_for_whole(self, tmp_path, before):
        web, job, folder = Tagged(4), tmp_path / "job", tmp_path / "warc"
        await web.crawl(job, {None: None, "other": tmp_path / "other", "deleted": folder}[before])
        for path in warcs(folder):
            path.unlink()
        assert await web.crawl(job, folder) == [200] * 4
        assert by_url(folder, "response").keys() == web.pages.keys()
        assert not by_url(folder, "revisit")
        assert await web.crawl(job, folder) == [304] * 4
        for url, (headers, _) in by_url(folder, "revisit").items():
            assert headers["WARC-Refers-To-Date"] == by_url(folder, "response")[url][0]["WARC-Date"]
        assert Archive(warcs(folder)).get(f"{SITE}/3").body == web.pages[f"{SITE}/3"].encode()

    async def test_what_came_while_nothing_was_kept_is_not_taken_for_what_was(self, tmp_path):
        web, job, folder = Tagged(1), tmp_path / "job", tmp_path / "warc"
        await web.crawl(job, folder)
        web.pages[f"{SITE}/0"] = page(seed="new")
        await web.crawl(job, None)
        assert await web.crawl(job, folder) == [200]
        assert web.pages[f"{SITE}/0"].encode() in by_url(folder, "response")[f"{SITE}/0"][1]

    async def test_word_refers_to_the_body_that_the_page_had_last(self, tmp_path):
        web, job, folder = Tagged(1), tmp_path / "job", tmp_path / "warc"
        old, new = web.pages[f"{SITE}/0"], page(seed="new")
        for body in (old, new, old):
            web.pages[f"{SITE}/0"] = body
            assert await web.crawl(job, folder) == [200]
        assert await web.crawl(job, folder) == [304]
        dates = [headers["WARC-Date"] for kind, _, headers, _ in read(folder) if kind == "response"]
        referred = [headers["WARC-Refers-To-Date"] for kind, _, headers, _ in read(folder) if kind == "revisit"]
        assert referred == [dates[0]] * 2


def killed(folder, prefix, job, records):
    """Write as a crawl does that is killed then; return the file that it leaves."""
    writing = WarcFolder(folder, prefix, job, 10**9, {})
    writing.write(records)
    (left,) = folder.glob(f"*{OPEN}")
    written = left.read_bytes()
    writing.close()
    for path in warcs(folder):
        path.unlink()
    left.write_bytes(written)
    return left


class TestFiles:
    @pytest.mark.asyncio
    async def test_the_next_file_begins_when_one_is_full(self, tmp_path):
        await crawl(TopicSpider, PAGES, Settings(tmp_path, REPLICA_WARC_SIZE=1), seeds=f"{SITE}/")
        assert len(warcs(tmp_path)) >= 2, "one batch is one file"
        assert [kind for kind, *_ in read(tmp_path)].count("warcinfo") == len(warcs(tmp_path))
        assert captured(tmp_path) == {*PAGES}

    @pytest.mark.asyncio
    async def test_copies_of_what_was_taken_away_are_kept_whole(self, tmp_path):
        job = {"JOBDIR": tmp_path / "job", "ROBOTSTXT_OBEY": False}
        await crawl(TopicSpider, {f"{SITE}/1": PAGES[f"{SITE}/1"]}, Settings(tmp_path, **job), seeds=f"{SITE}/1")
        for path in warcs(tmp_path):
            path.unlink()
        await crawl(TopicSpider, PAGES, Settings(tmp_path, **job), seeds=f"{SITE}/copy")
        assert f"{SITE}/copy" in by_url(tmp_path, "response")
        await crawl(TopicSpider, {f"{SITE}/x": PAGES[f"{SITE}/1"]}, Settings(tmp_path, **job), seeds=f"{SITE}/x")
        assert f"{SITE}/x" in by_url(tmp_path, "revisit")

    def test_what_a_kill_cut_off_is_taken_away(self, tmp_path):
        left = killed(tmp_path, "a b/c", "job1", [b"WARC/1.1 one", b"two" * 10**6])
        whole = left.read_bytes()
        left.write_bytes(whole + gzip.compress(b"three" * 1000)[:-3])
        other = tmp_path / left.name.replace("job1", "job2")
        other.write_bytes(b"of another job, which runs")
        WarcFolder(tmp_path, "a b/c", "job1", 10**9, {})
        assert [path.read_bytes() for path in warcs(tmp_path)] == [whole]
        assert other.exists()

    def test_a_damaged_file_is_left_as_it_is(self, tmp_path, caplog):
        left = killed(tmp_path, "a", "job", [b"one"])
        damaged = left.read_bytes() + bytes(20) + gzip.compress(b"two")
        left.write_bytes(damaged)
        WarcFolder(tmp_path, "a", "job", 10**9, {})
        assert warcs(tmp_path)[0].read_bytes() == damaged
        assert "damaged" in caplog.text

    def test_runs_within_one_second_have_files_of_their_own(self, tmp_path):
        for number in range(3):
            folder = WarcFolder(tmp_path, "a", "job", 10**9, {})
            folder.write([b"%d" % number])
            folder.close()
        assert len(warcs(tmp_path)) == 3

    def test_half_a_batch_on_a_full_disk(self, tmp_path):
        folder = WarcFolder(tmp_path, "a", "job", 10**9, {})
        folder.write([b"one"])
        (path,) = tmp_path.glob(f"*{OPEN}")
        whole = path.read_bytes()
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 10, limits[1]))
        try:
            with pytest.raises(OSError, match="too large"):
                folder.write([b"two", b"three"])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        folder.close()
        assert warcs(tmp_path)[0].read_bytes() == whole


class TestFullDisk:
    @pytest.mark.asyncio
    async def test_what_was_not_kept_is_fetched_again(self, tmp_path, monkeypatch, caplog):
        write, calls = WarcFolder.write, []

        def fails(self, batch):
            calls.append(batch)
            if len(calls) == 4:
                raise OSError(28, "No space left on device")
            return write(self, batch)

        monkeypatch.setattr(WarcFolder, "write", fails)
        job, folder = tmp_path / "job", tmp_path / "warc"
        settings = Settings(folder, JOBDIR=job, ROBOTSTXT_OBEY=False)
        first = await crawl(TopicSpider, TREE, settings, seeds=f"{SITE}/0")
        assert first.stats["finish_reason"] == "output"
        errors = [line.message for line in caplog.records if line.levelno >= logging.ERROR]
        assert len(errors) == 1
        assert f"REPLICA_WARC: {folder} cannot be written to (No space left on device): free some space" in errors[0]
        done = {url for url, states in job_states(job).items() if "done" in states}
        assert done <= captured(folder)
        assert first.stats["replica/warc/responses"] == len(captured(folder))
        assert len(first.urls) < len(TREE)
        second = await crawl(TopicSpider, TREE, settings, seeds=f"{SITE}/0")
        assert second.stats["finish_reason"] == "finished"
        assert captured(folder) == {*TREE}
        assert not second.unfinished

    @pytest.mark.asyncio
    async def test_a_disk_that_is_slower_than_the_web(self, tmp_path, monkeypatch):
        """What waits to be written is bounded: nothing more is fetched meanwhile."""
        monkeypatch.setattr("scrapy_replica.components.warc.MOST_BYTES", 2000)
        most, add = [], Recorder._add

        def noted(self, flight, *made):
            add(self, flight, *made)
            most.append(self._waiting_bytes)

        monkeypatch.setattr(Recorder, "_add", noted)
        result = await crawl(TopicSpider, TREE, Settings(tmp_path, ROBOTSTXT_OBEY=False), seeds=f"{SITE}/0")
        assert captured(tmp_path) == {*TREE}
        assert max(most) < 2000 + 17 * 3000
        assert len(result.items) == len(TREE)


class TestSecrets:
    @pytest.mark.asyncio
    async def test_credentials_stay_out(self, tmp_path):
        class Login(Spider):
            name = "login"
            http_user, http_pass, http_auth_domain = "hugo", "sesame1", None

            async def start(self):
                headers = {"X-Api-Key": "sesame2", "X-Auth-Token": "sesame3", "Referer": f"{SITE}/from"}
                yield Request("http://hugo:sesame4@a.example/page", headers=headers, cookies={"id": "sesame5"})
                yield FormRequest(f"{SITE}/login", formdata={"kennwort": "sesame6"})

            def parse(self, response):
                pass

        answer = (200, {**HTML, "Set-Cookie": "id=sesame7", "X-CSRF-Token": "sesame8", "ETag": '"x"'}, page(seed=1))
        await crawl(Login, lambda request: answer, Settings(tmp_path, ROBOTSTXT_OBEY=False))
        everything = b"".join(gzip.decompress(path.read_bytes()) for path in warcs(tmp_path))
        assert b"sesame" not in everything
        assert b"hugo" not in everything
        assert b'Etag: "x"' in everything
        assert b"Referer: http://a.example/from" in everything
        headers, block = by_url(tmp_path, "request")[f"{SITE}/login"]
        assert block.startswith(b"POST /login HTTP/1.1\r\nHost: a.example\r\n")
        assert headers["WARC-Truncated"] == "unspecified"
        assert Archive(warcs(tmp_path)).get("http://hugo:sesame4@a.example/page") is not None


class TestWhatIsNotFetched:
    @pytest.mark.asyncio
    async def test_what_comes_from_the_cache(self, tmp_path):
        cached = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path / "cache"), "ROBOTSTXT_OBEY": False}
        for folder in ("first", "second"):
            await crawl(TopicSpider, PAGES, Settings(tmp_path / folder, **cached), seeds=f"{SITE}/3")
        assert captured(tmp_path / "first") == {f"{SITE}/3"}
        assert captured(tmp_path / "second") == set()

    @pytest.mark.asyncio
    async def test_what_the_border_refuses(self, tmp_path, monkeypatch):
        monkeypatch.setattr(Borders, "is_refused_answer", lambda self, url, ip: url.endswith("/1"))
        settings = Settings(tmp_path, REPLICA_PRIVATE_ADDRESSES=False)
        await crawl(TopicSpider, PAGES, settings, seeds=f"{SITE}/")
        assert f"{SITE}/2" in captured(tmp_path)
        assert f"{SITE}/1" not in captured(tmp_path)


class TestHostile:
    def block(self, url, **response):
        request = Request(url, meta={"verbatim_url": True})
        answer = HtmlResponse(url, request=request, ip_address=ip_address("192.0.2.1"), **response)
        exchange = exchange_of(request, answer)
        data = records.response(exchange)[1] + records.request(exchange, "<urn:uuid:x>")
        with io.BytesIO(data) as file:
            return [(dict(r.headers), r.reader.read()) for r in ArchiveIterator(file, parse_http=False)]

    def test_lines_that_a_site_smuggles_in(self):
        (headers, block), (_, asked) = self.block(
            "http://a.example/x?\r\nWARC-Type: warcinfo\r\n\r\ny",
            headers={"X": b"a\r\n\r\n<p>body</p>", "Location": "/caf\xe9".encode("latin-1")},
            body=b"body",
        )
        assert headers["WARC-Type"] == "response"
        head, _, body = block.partition(b"\r\n\r\n")
        assert body == b"body"
        assert b"Location: /caf\xe9" in head
        assert asked.count(b"\r\n\r\n") == 1

    @pytest.mark.asyncio
    async def test_what_no_record_can_be_made_of_is_crawled_all_the_same(self, tmp_path, monkeypatch, caplog):
        def fails(request, response):
            if request.url.endswith("/1"):
                raise ValueError("in the middle")
            return exchange_of(request, response)

        monkeypatch.setattr("scrapy_replica.components.warc.exchange_of", fails)
        with caplog.at_level(logging.CRITICAL):
            result = await crawl(TopicSpider, PAGES, Settings(tmp_path), seeds=f"{SITE}/")
        assert result.stats["replica/warc/failed"] == 1
        assert f"{SITE}/3" in result.urls
        assert captured(tmp_path) == {*PAGES} - {f"{SITE}/1"}

    @pytest.mark.asyncio
    async def test_a_redirect_to_a_url_that_no_reader_takes(self, tmp_path, caplog):
        long = f"{SITE}/{'x' * 40_000}"
        web = {f"{SITE}/": redirect(long), long: page(["/1"], seed=9), f"{SITE}/1": PAGES[f"{SITE}/1"]}
        result = await crawl(TopicSpider, web, Settings(tmp_path, ROBOTSTXT_OBEY=False), seeds=f"{SITE}/")
        assert f"{SITE}/1" in result.urls
        assert captured(tmp_path) >= {f"{SITE}/", f"{SITE}/1"}
        assert long not in captured(tmp_path)
        assert max(len(line.getMessage()) for line in caplog.records) < 1000
        assert "40017 characters" in caplog.text

    def test_what_breaks_off_says_so(self):
        (headers, _), _ = self.block("http://a.example/", body=b"bo", flags=["dataloss"])
        assert headers["WARC-Truncated"] == "disconnect"


class TestWrongSettings:
    @pytest.mark.parametrize("name", ["file", "file/below"])
    @pytest.mark.asyncio
    async def test_what_is_no_folder(self, tmp_path, name):
        (tmp_path / "file").write_text("")
        with pytest.raises(RefusedError, match=f"REPLICA_WARC: .*{name}"):
            await crawl(TopicSpider, PAGES, Settings(tmp_path / name), seeds=f"{SITE}/")
