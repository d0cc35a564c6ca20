"""Commands on a crawl that processes share: the address stands where the job's folder stood."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from command_line import replica
from job_processes import NumberedWeb, Process, end_all, until
from redis_server import RedisServer
from test_control_page import TOKEN, give, page, told

from scrapy_replica.commands.job import is_running, processes, reading
from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.orders import PAUSE

SECRET = "pass/word@x"
WRITTEN = "pass%2Fword%40x"


@pytest.fixture
def redis_server(tmp_path):
    with RedisServer(tmp_path, password=SECRET) as server:
        server.password = WRITTEN
        yield server


@pytest.fixture
def crawling(started, redis_server):
    """A crawl by two processes that takes a while, and its address."""
    with NumberedWeb(400, seconds=0.1).serving() as web:
        both = [started("topic", name, {"CONCURRENT_REQUESTS": 3}, seeds=web.of(0)) for name in ("one", "two")]
        until(lambda: len(web.asked) > 60)
        yield web, both, redis_server.address(prefix="job", lease=5)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    with RedisServer(folder, password=SECRET) as server, NumberedWeb(60).serving() as web:
        server.password = WRITTEN
        address = server.address(prefix="job", lease=5)
        settings = {"REPLICA_CRAWLDB": address}
        end_all(*(Process("topic", folder, name, settings, seeds=web.of(0)) for name in ("one", "two")))
        yield web, address


def is_secret_told(*texts):
    return any(secret in text for text in texts for secret in (SECRET, WRITTEN, "word%40"))


class TestSeeing:
    def test_status_of_a_running_crawl(self, crawling):
        _, both, address = crawling
        code, out, error = replica("status", address)
        assert (code, error) == (0, "")
        assert "the crawl runs" in out
        assert out.count("leads") == 1
        lines = [line for line in out.splitlines() if " s ago" in line and "spider" not in line]
        assert len(lines) == 2
        assert all(any(str(process.process.pid) in line for line in lines) for process in both)
        assert max(map(len, out.splitlines())) <= 80
        code, out, _ = replica("status", address, "--json")
        told = json.loads(out)
        assert len(told["processes"]) == 2
        assert sum(process["leads"] for process in told["processes"]) == 1
        assert not is_secret_told(out, error)

    def test_looking_again_shows_what_is_new_and_who_was_killed_as_silent(self, crawling):
        web, both, address = crawling
        looks = []
        for _ in range(3):
            with reading(address) as reader:
                looks.append(reader.status(time.time(), 0).urls[State.DONE])
            before = len(web.asked)
            until(lambda before=before: len(web.asked) > before + 15)
        assert looks == sorted(set(looks))
        both[0].kill()
        time.sleep(2)
        silent = {process.name.split()[-1]: process.silent for process in processes(address)}
        assert max(silent.values()) > 1.5
        assert is_running(address)

    def test_what_is_told_of_a_finished_crawl(self, finished, tmp_path):
        web, address = finished
        outputs = []

        def run(*arguments):
            outputs.extend(replica(*arguments)[1:])
            return outputs[-2]

        assert "no crawl has the job open" in run("status", address)
        assert not is_running(address)
        assert web.of(7) in run("explain", web.of(7), "--job", address)
        assert web.host(2) in run("explain", web.host(2), "--job", address)
        assert len(run("export", address, "links", "--format", "jsonl").splitlines()) == 60
        run("report", address, "--out", str(tmp_path / "report.html"))
        outputs.append((tmp_path / "report.html").read_text())
        assert web.host(2) in outputs[-1]
        for command in (("hosts",), ("hosts", "--undecided"), ("rules", "list")):
            run(*command, "--job", address)
        run("doctor", address)
        run("judge", address, "--json")
        run("export", address, "model", "--out", str(tmp_path / "model.npz"))
        assert not is_secret_told(*outputs), "no password is told"

    def test_what_makes_no_sense_is_refused_in_one_line(self, finished, tmp_path):
        _, address = finished
        for arguments, why in (
            (("doctor", address, "--salvage", str(tmp_path / "new")), "is in Redis"),
            (("mine", address, "--out", str(tmp_path / "new")), "is in Redis"),
            (("crawl", "http://a.example/", "--job", address), "crawl --join"),
            (("crawl", "http://a.example/", "--join", str(tmp_path)), "no address of Redis"),
            (("status", address.replace("prefix=job", "prefix=other")), "no crawl"),
            (("status", "redis://127.0.0.1:1/0"), "cannot be reached"),
            (("status", "redis://"), "no host"),
        ):
            code, out, error = replica(*arguments)
            assert code == 2, arguments
            assert error.count("\n") == 1
            assert why in error
            assert not is_secret_told(out, error)


class TestSteering:
    def test_orders_are_obeyed_by_all(self, crawling):
        """A host pauses and goes on, URLs are added, a pattern is excluded: whichever process has the host."""
        web, both, address = crawling
        host = web.host(3)
        code, out, error = replica("steer", "pause", host, "--job", address)
        assert code == 0, error
        time.sleep(1)
        asked = [asked for asked in web.asked if host in asked.url]
        time.sleep(1.5)
        assert [asked for asked in web.asked if host in asked.url] == asked
        assert replica("steer", "resume", host, "--job", address)[0] == 0
        assert replica("steer", "exclude", "*/39*", "--job", address)[0] == 0
        new = web.url(9, "0")
        assert replica("steer", "add", new, "--job", address)[0] == 0
        end_all(*both)
        fetched = web.fetched()
        assert fetched[new] == 1
        left_out = {web.of(number) for number in range(390, 400)}
        assert not left_out & set(fetched)
        assert set(fetched) - {web.of(39)} == (web.whole - left_out - {web.of(39)}) | {new}
        code, out, _ = replica("status", address)
        assert out.count("done") >= 3

    def test_a_block_holds_in_all_processes(self, crawling):
        web, both, address = crawling
        copy, canonical = web.host(5), web.host(1)
        assert replica("steer", "block", copy, "--as", canonical, "--job", address)[0] == 0
        time.sleep(1)
        asked = sum(copy in asked.url for asked in web.asked)
        end_all(*both)
        late = sum(copy in asked.url for asked in web.asked) - asked
        assert late <= 10, "but for what tests the verdict"
        assert copy in replica("hosts", "--job", address)[1]

    @pytest.mark.asyncio
    async def test_the_control_page(self, crawling):
        web, both, address = crawling
        async with page(address) as client:
            shown = await told(client, "state", "figures")
            assert shown["state"]["is_running"]
            assert not is_secret_told(json.dumps(shown))
            status, text = await give(client, PAUSE, {"host": web.host(2)})
            assert status == 200, text
            assert not is_secret_told(text)
            assert TOKEN not in text
            await asyncio.sleep(1.5)
            shown = await told(client, "orders")
            assert not shown["orders"][0]["is_open"]
            status, text = await give(client, "resume", {"host": web.host(2)})
        await asyncio.to_thread(end_all, *both)
