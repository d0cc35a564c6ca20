"""The control page: who may open it, what it shows, and what it tells a running crawl."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import socket
import time
from collections import Counter
from types import MappingProxyType

import pytest
from aiohttp.test_utils import TestClient, TestServer
from command_line import replica
from test_hosts_command import enter
from test_uncertain_pairs import pair

from scrapy_replica.commands.served import ServedJob
from scrapy_replica.control import feed, view
from scrapy_replica.control.server import MAX_LISTENERS, MAX_ORDER_BYTES, ControlServer
from scrapy_replica.crawldb.orders import ALLOW, BLOCK, DIFFERENT, DISABLE_RULE, EXCLUDE, SEEDS
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.records import Doubt, PagePair, UncertainPair

TOKEN = "right"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
MARKUP = "<script>alert(1)</script>\x1b[31m\u202e" + "x" * 10_000


@pytest.fixture
def store(tmp_path):
    db = SqliteCrawlDB(tmp_path)
    for number, host in enumerate(("a.example", "b.example")):
        enter(db, f"http://{host}/", host, number)
    db.commit()
    yield db
    db.close()


@contextlib.asynccontextmanager
async def page(job):
    """The control page of *job*, to be asked for."""
    server = ControlServer(ServedJob(str(job)), TOKEN, "127.0.0.1")
    looking = asyncio.create_task(server.feed.run())
    async with TestClient(TestServer(server.app)) as client:
        yield client
    looking.cancel()


async def told(client, *wanted):
    """The first state of each *wanted* section."""
    found = {}
    response = await client.get("/api/events", headers=BEARER)
    assert response.content_type == "text/event-stream"
    while not found.keys() >= set(wanted):
        line = (await asyncio.wait_for(response.content.readline(), 10)).decode()
        if line.startswith("event: "):
            section = line.split()[1]
        elif line.startswith("data: "):
            found[section] = json.loads(line.removeprefix("data: "))
    response.close()
    return found


async def give(client, kind, what, **headers):
    response = await client.post("/api/orders", json={"kind": kind, "what": what}, headers=BEARER | headers)
    return response.status, await response.text()


@pytest.mark.asyncio
class TestGuard:
    async def test_the_page_opens_with_its_token_only(self, store, tmp_path):
        async with page(tmp_path) as client:
            for path in ("/", "/?token=wrong", "/?token=", "/?token=%ff", "/?token=right2"):
                response = await client.get(path)
                assert response.status == 403
                assert "with its token" in await response.text()
            response = await client.get(f"/?token={TOKEN}")
            assert response.status == 200
            assert TOKEN not in await response.text()
            assert "Set-Cookie" not in response.headers

    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"Authorization": "Bearer wrong"},
            {"Authorization": f"Basic {TOKEN}"},
            {"Cookie": f"token={TOKEN}"},
            BEARER | {"Origin": "http://evil.example"},
            BEARER | {"Origin": "null"},
            BEARER | {"Origin": "http://127.0.0.1:1"},
            BEARER | {"Sec-Fetch-Site": "cross-site"},
            BEARER | {"Sec-Fetch-Site": "same-site"},
            BEARER | {"Host": "rebound.example"},
            BEARER | {"Host": "127.0.0.1.rebound.example"},
            BEARER | {"Host": "localhost.rebound.example:80"},
            BEARER | {"Host": "[::1]evil.example"},
            BEARER | {"Host": "[::1"},
        ],
    )
    async def test_nothing_is_read_or_told_from_elsewhere(self, headers, store, tmp_path):
        async with page(tmp_path) as client:
            order = {"kind": ALLOW, "what": {"host": "a.example"}}
            assert (await client.get("/api/events?token=right", headers=headers)).status == 403
            assert (await client.post("/api/orders?token=right", json=order, headers=headers)).status == 403
        assert store.orders.open() == []

    async def test_the_page_itself_may(self, store, tmp_path):
        async with page(tmp_path) as client:
            own = f"http://127.0.0.1:{client.port}"
            assert (await give(client, ALLOW, {"host": "a.example"}, Origin=own))[0] == 200
            named = {"Host": f"localhost:{client.port}", "Origin": f"http://localhost:{client.port}"}
            assert (await give(client, ALLOW, {"host": "b.example"}, **named))[0] == 200
        assert [order.what["host"] for order in store.orders.open()] == ["a.example", "b.example"]

    @pytest.mark.parametrize(
        ("kind", "what"),
        [
            (EXCLUDE, {"pattern": "*\ud800*"}),
            (DISABLE_RULE, {"id": 10**30}),
            (DISABLE_RULE, {"id": True}),
            (SEEDS, {"urls": ["http://a.example/", 7]}),
            (BLOCK, {"host": "a.example", "canonical": "b.example", "copy_prefix": 7}),
        ],
    )
    async def test_what_cannot_be_obeyed_is_refused(self, store, tmp_path, kind, what):
        async with page(tmp_path) as client:
            assert (await give(client, kind, what))[0] == 400
        assert store.orders.open() == []

    async def test_the_command_that_does_the_same_has_no_secret_and_all_its_quotes(self, store, tmp_path):
        async with page(tmp_path) as client:
            status, text = await give(client, SEEDS, {"urls": ["http://u:p@a.example/?a=b&token=SECRET123"]})
        assert status == 200
        assert shlex.split(json.loads(text)["command"])[4:6] == ["http://***@a.example/?a=b&token=***", "--job"]

    async def test_every_answer_forbids_what_is_not_ours(self, store, tmp_path):
        async with page(tmp_path) as client:
            for path in (f"/?token={TOKEN}", "/page.js", "/", "/nothing", "/api/events"):
                headers = (await client.get(path)).headers
                policy = headers["Content-Security-Policy"]
                assert policy.startswith("default-src 'none'; script-src 'self';")
                assert "unsafe" not in policy
                assert "frame-ancestors 'none'" in policy
                assert headers["X-Frame-Options"] == "DENY"
                assert headers["X-Content-Type-Options"] == "nosniff"
                assert headers["Cache-Control"] == "no-store"
                assert headers["Referrer-Policy"] == "no-referrer"
                assert "Access-Control-Allow-Origin" not in headers

    async def test_only_so_many_pages_are_open(self, store, tmp_path):
        async with page(tmp_path) as client:
            for _ in range(MAX_LISTENERS):
                assert (await client.get("/api/events", headers=BEARER)).status == 200
            assert (await client.get("/api/events", headers=BEARER)).status == 503


@pytest.mark.asyncio
class TestOrders:
    @pytest.mark.parametrize(
        ("kind", "what", "written", "command"),
        [
            (BLOCK, {"host": " B.example", "canonical": "a.example"}, {"host": "b.example", "canonical": "a.example"},
             "steer block b.example --as a.example"),
            (BLOCK, {"host": "b.example", "canonical": "a.example", "copy_prefix": "", "canonical_prefix": "x y"},
             {"host": "b.example", "canonical": "a.example", "canonical_prefix": "x y"},
             "steer block b.example --as 'a.example/x y'"),
            (ALLOW, {"host": "a.example", "more": 1}, {"host": "a.example"}, "steer allow a.example"),
            (DIFFERENT, {"host": "a.example", "other": "b.example"}, {"host": "a.example", "other": "b.example"},
             "steer allow a.example --beside b.example"),
        ],
    )  # fmt: skip
    async def test_are_written_and_said_as_commands(self, kind, what, written, command, store, tmp_path):
        async with page(tmp_path) as client:
            status, text = await give(client, kind, what)
            assert status == 200
            assert json.loads(text) == {"id": 1, "command": f"scrapy replica {command} --job {tmp_path}"}
            (order,) = store.orders.open()
            assert (order.kind, order.what) == (kind, written)
            (order,) = (await told(client, "orders"))["orders"]
            assert (order["command"], order["is_open"]) == (f"scrapy replica {command} --job {tmp_path}", True)

    @pytest.mark.parametrize(
        ("kind", "what", "says"),
        [
            ("explode", {}, "there is no order"),
            (ALLOW, {}, "the host is missing"),
            (ALLOW, {"host": ["a.example"]}, "the host is missing"),
            (ALLOW, {"host": "http://a.example/x"}, "is no host name"),
            (ALLOW, {"host": "unknown.example"}, "knows no host unknown.example"),
            (BLOCK, {"host": "a.example", "canonical": "A.example"}, "cannot be a copy of itself"),
            (BLOCK, {"host": "a.example", "canonical": "c.example"}, "knows no host c.example; did you mean"),
            ("seeds", {"urls": []}, "name at least one URL"),
            ("seeds", {"urls": ["file:///etc/passwd"]}, "is no http or https URL"),
            ("disable-rule", {"id": "1"}, "named by its number"),
            ("exclude", {"pattern": "calendar"}, "matches no whole URL"),
            ("mark", {"url": "http://a.example/", "is_relevant": True}, "has no topic to learn"),
        ],
    )
    async def test_nonsense_is_refused_in_a_line(self, kind, what, says, store, tmp_path):
        async with page(tmp_path) as client:
            status, text = await give(client, kind, what)
        assert status == 400
        assert says in json.loads(text)["error"]
        assert store.orders.open() == []

    @pytest.mark.parametrize(
        ("body", "kind", "status"),
        [
            ("{}", "text/plain", 415),
            ("kind=allow&what=x", "application/x-www-form-urlencoded", 415),
            ("[" * 100_00, "application/json", 400),
            ("[]", "application/json", 400),
            ("{}", "application/json; charset=klingon", 400),
            (b"\xff", "application/json", 400),
            (" " * (MAX_ORDER_BYTES + 1), "application/json", 413),
        ],
    )
    async def test_what_is_no_order_is_refused(self, body, kind, status, store, tmp_path):
        async with page(tmp_path) as client:
            response = await client.post("/api/orders", data=body, headers=BEARER | {"Content-Type": kind})
            assert response.status == status


@pytest.mark.asyncio
class TestShown:
    async def test_a_job_that_has_not_begun_and_then_does(self, tmp_path):
        async with page(tmp_path / "job") as client:
            state = (await told(client, "state"))["state"]
            assert (state["is_running"], state["problem"][:22]) == (False, "No crawl has begun her")
            status, text = await give(client, ALLOW, {"host": "a.example"})
            assert (status, "there is no" in text) == (400, True)
            (tmp_path / "job").mkdir()
            db = SqliteCrawlDB(tmp_path / "job")
            enter(db, "http://a.example/", "a.example", 1)
            db.commit()
            found = await told(client, "state", "figures")
            db.close()
        assert (found["state"]["is_running"], found["state"]["problem"]) == (True, "")
        assert {"name": "waiting", "value": "1", "note": "0 behind the others"} in found["figures"]["figures"]

    async def test_pairs_with_their_texts_cleaned_and_cut(self, store, tmp_path):
        urls = ("http://b.example/?token=s3cret", "javascript:alert(1)")
        pages = (PagePair(urls, (MARKUP, None), (MARKUP, "text")),)
        store.uncertain_pairs.enter(UncertainPair(pair("b.example").verdict, 0.6, Doubt.SCORE, pages))
        store.commit()
        async with page(tmp_path) as client:
            (shown,) = (await told(client, "pairs"))["pairs"]
        assert (shown["copy"], shown["canonical"], shown["wanted"]) == ("b.example", "a.example", "0.60")
        assert shown["scores"] == "0.40 for one site, 0.60 against it"
        ((mine, theirs),) = shown["pages"]
        assert mine["title"].startswith("<script>alert(1)</script> x")
        assert len(mine["title"]) == 200
        assert len(mine["text"]) == 700
        assert "s3cret" not in str(shown)
        assert not mine["is_link"]
        assert not theirs["is_link"]

    async def test_nothing_is_looked_at_while_nobody_looks(self, store, tmp_path, monkeypatch):
        looks = []
        monkeypatch.setattr(ServedJob, "look", lambda self, sections: looks.append(sections) or {})
        async with page(tmp_path) as client:
            await asyncio.sleep(0.1)
            assert looks == []
            await client.get("/api/events", headers=BEARER)
            while not looks:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)
            assert len(looks) == 1


@pytest.mark.asyncio
async def test_what_is_dear_to_look_at_is_looked_at_seldom(monkeypatch):
    monkeypatch.setattr(feed, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(feed, "SOON_SECONDS", 0.01)
    looks = Counter()

    class Job:
        sections = MappingProxyType({"orders": 0.3, "cheap": 0.3, "dear": 0.3})
        load = 1.0
        trace = staticmethod(time.monotonic)  # the job changes all the time

        def look(self, sections):
            looks.update(sections)
            return {section: ("1", 10.0 if section == "dear" else 0.0) for section in sections}

    fed = feed.Feed(Job())
    looking = asyncio.create_task(fed.run())
    with fed.listening() as listener:
        assert (await listener.news()).keys() == Job.sections.keys()
        fed.ordered()
        while looks["cheap"] < 4:
            await asyncio.sleep(0.01)
    looking.cancel()
    assert looks["dear"] == 1


class TestCommand:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--port", "70000"], "--port is 70000"),
            (["--bind", "no.such.name.invalid"], "cannot listen at no.such.name.invalid"),
        ],
    )
    def test_wrong_use_is_one_line(self, arguments, says, tmp_path):
        code, out, err = replica("serve", tmp_path, *arguments)
        assert (code, out) == (2, "")
        assert says in err.splitlines()[-1]

    def test_a_port_that_is_taken(self, store, tmp_path):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            code, out, err = replica("serve", tmp_path, "--port", taken.getsockname()[1])
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "is taken, maybe by another serve" in err

    def test_a_job_that_cannot_be_read(self, tmp_path):
        (tmp_path / "replica.sqlite").write_bytes(b"<html>" * 100)
        code, out, err = replica("serve", tmp_path)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "is not a crawl database" in err


@pytest.mark.parametrize(
    ("url", "shown", "is_link"),
    [
        ("https://a.example/x?page=2", "https://a.example/x?page=2", True),
        ("https://a.example/x?sid=1a29", "https://a.example/x?sid=***", False),
        ("https://me:pw@a.example/", "https://***@a.example/", False),
        ("file:///etc/passwd", "file:///etc/passwd", False),
    ],
)
def test_a_url_is_a_link_where_it_leads_there_as_it_is_shown(url, shown, is_link):
    assert view.address(url) == {"url": shown, "is_link": is_link}
