from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from command_line import replica

from scrapy_replica.address import host_of
from scrapy_replica.claim import Claim, Standing, Work
from scrapy_replica.commands.job import ordering, reading
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import URGENT, NewUrl, State
from scrapy_replica.crawldb.orders import ALLOW, BLOCK
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.decision import Action, Decision, Reason
from scrapy_replica.records import Verdict
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.words.terminal import time_of
from scrapy_replica.words.text import width_of

JUDGED = Verdict("www.a.example", "a.example", "", "", 0.912, 9, {"sm10": 0.93, "alpha_pu": 0.97})
MOVED = Verdict("b.example", "a.example", "mirror", "docs", 0.87, 12, {"teq": 1.0}, is_manual=True)


@pytest.fixture
def job(tmp_path):
    db = SqliteCrawlDB(tmp_path)
    db.verdicts.enter(JUDGED, 1_700_000_000.0, 1_800_000_000.0)
    db.verdicts.enter(MOVED, 1_700_000_100.0, 1_800_000_000.0)
    db.verdicts.enter(Verdict("c.example", "a.example", "", "", 0.9, 5), 1_700_000_000.0, 1_800_000_000.0)
    db.verdicts.end("c.example", Standing.REFUTED)
    enter(db, "http://a.example/0", "a.example", 10)
    for number, action in enumerate((Action.DROP, Action.REWRITE, Action.FETCH)):
        is_saved = action is not Action.FETCH
        url_id = enter(db, f"http://www.a.example/{number}", "www.a.example", number, is_dropped=is_saved)
        db.ledger.record(url_id, Decision(action, Action.DROP, Reason.REPLICA_HOST), 1_700_000_001.0)
        if is_saved:
            db.suppressed.enter([Suppressed(url_id, JUDGED.claim, 10 + number)])
    enter(db, "http://c.example/", "c.example", 20)
    enter(db, "http://www.a.example:8080/", "www.a.example:8080", 21, slot="mine", priority=3, score=0.5)
    db.close()
    return tmp_path


def enter(db, url, host, key, **fields):
    return db.urls.discover([NewUrl(url, host, key, **fields)])[0][0]


class TestHosts:
    def test_table(self, job):
        code, out, _ = replica("hosts", "--job", job)
        assert code == 0
        assert out.splitlines()[0] == "a.example is kept"
        assert (
            "  www.a.example\n    score 0.91; 2 URLs not fetched\n    pages in equal places that agree: 9 of 9\n" in out
        )
        assert "  b.example\n    blocked by hand; 0 URLs not fetched; b.example/mirror/ is a.example/docs/\n" in out
        assert "c.example" not in out
        assert max(map(len, out.splitlines())) <= 80

    def test_json(self, job):
        _, out, _ = replica("hosts", "--job", job, "--json")
        found = json.loads(out)
        assert found["figures"] == {"verdicts": 2, "urls_saved": 2}
        assert [verdict["copy"] for verdict in found["verdicts"]] == ["www.a.example", "b.example"]
        assert found["verdicts"][0]["evidence"] == {"sm10": 0.93, "alpha_pu": 0.97}

    def test_a_kept_host_that_became_a_copy_heads_no_group(self, job):
        db = SqliteCrawlDB(job)
        db.verdicts.enter(Verdict("a.example", "z.example", "", "", 0.9, 5), 1_700_000_000.0, 1_800_000_000.0)
        db.close()
        out = replica("hosts", "--job", job)[1]
        assert [line for line in out.splitlines() if not line.startswith(" ")] == ["z.example is kept"]
        assert "  www.a.example, a copy of a.example\n    score" in out

    @pytest.mark.parametrize("name", ["<script>\x1b[2Jx\u202e", "x" * 10_000, "\u6f22" * 90])
    def test_a_name_steers_no_terminal(self, job, name):
        db = SqliteCrawlDB(job)
        db.verdicts.enter(
            Verdict(name, "a.example", name, "", 0.9, 5, {"sm10": 0.8}, is_manual=True),
            1_700_000_000.0,
            1_800_000_000.0,
        )
        db.close()
        code, out, _ = replica("hosts", "--job", job)
        assert code == 0
        assert all(line.isprintable() for line in out.splitlines())
        assert max(map(width_of, out.splitlines())) <= 80
        assert json.loads(replica("hosts", "--job", job, "--json")[1])["verdicts"][-1]["copy"] == name

    def test_no_verdicts(self, tmp_path):
        SqliteCrawlDB(tmp_path).close()
        assert replica("hosts", "--job", tmp_path)[1] == "no host is known to be a copy of another\n"

    def test_nutch_lines_are_read_as_aliases(self, job, tmp_path):
        _, out, _ = replica("hosts", "--job", job, "--export", "nutch")
        (tmp_path / "aliases.txt").write_text(out)
        aliases = Aliases.from_file(tmp_path / "aliases.txt")
        assert aliases.canonical_url("http://www.a.example/x?y", "www.a.example") == "http://a.example/x?y"
        # an alias keeps the path, so it cannot say that the site lies elsewhere on the copy
        assert aliases.canonical_host("b.example") == "b.example"

    @pytest.mark.parametrize(
        ("url", "target"),
        [
            ("http://www.a.example:8080/x", "http://a.example:8080/x"),
            ("http://www.b.example:8080/x", "http://c.example/x"),
            ("http://www.b.example/x", "http://www.b.example/x"),
            ("http://d.example/x", "http://d.example:8080/x"),
            ("http://d.example:9090/x", "http://d.example:8080/x"),
            ("http://[::1]:8080/x", "http://e.example:8080/x"),
        ],
    )
    def test_a_mirror_with_a_port_is_one_service(self, tmp_path, url, target):
        lines = "www.a.example a.example\nwww.b.example:8080 c.example\nd.example d.example:8080\n[::1] e.example\n"
        (tmp_path / "aliases.txt").write_text(lines)
        assert Aliases.from_file(tmp_path / "aliases.txt").canonical_url(url, host_of(url)) == target

    def test_httrack_and_algolia(self, job):
        assert replica("hosts", "--job", job, "--export", "httrack")[1] == ("--host-alias www.a.example=a.example\n")
        _, out, _ = replica("hosts", "--job", job, "--export", "algolia")
        assert json.loads(out) == {"hostnameAliases": {"www.a.example": "a.example"}}


class TestExplain:
    def test_tells_the_verdict_on_a_host(self, job):
        _, out, _ = replica("explain", "www.a.example", "--job", job)
        since = time_of(1_700_000_000)
        assert f"a copy of: a.example, since {since} by the judge, score 0.91" in out.splitlines()
        assert "  pages in equal places that agree: 9 of 9" in out.splitlines()
        found = json.loads(replica("explain", "www.a.example", "--job", job, "--json")[1])
        assert found["evidence"] == {"sm10": 0.93, "alpha_pu": 0.97}

    def test_tells_the_replicas_of_a_host(self, job):
        assert "copies of it: www.a.example, b.example" in replica("explain", "a.example", "--job", job)[1]

    def test_tells_that_a_verdict_ended(self, job):
        assert "but: refuted" in replica("explain", "c.example", "--job", job)[1]

    def test_tells_what_is_fetched_in_the_place_of_a_url(self, job):
        lines = replica("explain", "http://www.a.example/0", "--job", job)[1].splitlines()
        told = {
            "state: not fetched",
            "because: www.a.example is a copy of a.example",
            "in its place: http://a.example/0 (waiting)",
        }
        assert told <= {*lines}
        assert "in its place:" not in replica("explain", "http://www.a.example/2", "--job", job)[1]

    def test_tells_the_place_in_the_order(self, job):
        lines = replica("explain", "http://www.a.example:8080/", "--job", job)[1].splitlines()
        assert {"state: waiting", "priority: 3", "score: 0.50"} <= {*lines}
        assert not any(line.startswith("because") for line in lines)

    def test_tells_what_is_urgent_in_proper_json(self, job):
        db = SqliteCrawlDB(job)
        db.urls.rescore({20: URGENT})
        db.close()
        out = replica("explain", "http://c.example/", "--job", job, "--json")[1]
        assert json.loads(out, parse_constant=pytest.fail)["score"] == "urgent"

    def test_two_services_on_one_name_are_two_hosts(self, job):
        lines = replica("explain", "www.a.example:8080", "--job", job)[1].splitlines()
        assert lines == ["host: www.a.example:8080", "URLs: 1 waiting", "decisions: none, nothing spoke against it"]
        lines = replica("explain", "WWW.a.example", "--job", job)[1].splitlines()
        assert {"URLs: 1 waiting, 2 not fetched", "  1 URL: host is a copy of another; not fetched"} <= {*lines}

    def test_follows_what_is_fetched_in_the_place_of_what_is_not(self, job):
        db = SqliteCrawlDB(job)
        url_id = enter(db, "http://mirror.example/0", "mirror.example", 30, is_dropped=True)
        db.suppressed.enter([Suppressed(url_id, Claim.read("rule 7"), 1)])
        db.close()
        lines = replica("explain", "mirror.example/0", "--job", job)[1].splitlines()
        assert [line for line in lines if line.startswith("in its place")] == [
            "in its place: http://www.a.example/1 (not fetched)",
        ]
        db = SqliteCrawlDB(job)
        db.suppressed.enter([Suppressed(db.urls.find([1])[1].id, JUDGED.claim, 10)])
        db.close()
        lines = replica("explain", "http://mirror.example/0", "--job", job)[1].splitlines()
        assert "in its place: http://a.example/0 (waiting)" in lines

    def test_a_title_steers_no_terminal(self, job):
        db = SqliteCrawlDB(job)
        url_id = enter(db, "http://d.example/", "d.example", 31)
        db.pages.enter(Fetched(url_id, 1_700_000_000.0, 200, title="\x1b[2J" + "<b>\u202e" + "x" * 10_000))
        db.close()
        out = replica("explain", "http://d.example/", "--job", job)[1]
        assert "title: <b>\n  xxx" in out
        assert all(line.isprintable() for line in out.splitlines())

    def test_nothing_is_known(self, job):
        for what in ("http://nowhere.example/", "nowhere.example"):
            code, out, err = replica("explain", what, "--job", job)
            assert (code, out, err.count("\n")) == (1, "", 1)


class TestSaved:
    """What is told to be saved is what is not fetched."""

    def saved(self, job):
        return json.loads(replica("hosts", "--job", job, "--json")[1])["figures"]["urls_saved"]

    def test_but_not_what_came_back(self, job):
        db = SqliteCrawlDB(job)
        db.suppressed.restore(Work(None, 11), 10)
        db.close()
        assert self.saved(job) == 1

    def test_nor_what_only_waits_behind_the_others(self, job):
        db = SqliteCrawlDB(job)
        url_id = enter(db, "http://www.a.example/9", "www.a.example", 9, is_demoted=True)
        db.suppressed.enter([Suppressed(url_id, JUDGED.claim, None)])
        db.close()
        assert self.saved(job) == 2


class TestOpenJob:
    """A crawl that has the job open is not disturbed, and sees what it is told."""

    @pytest.fixture
    def live(self, job):
        db = SqliteCrawlDB(job)
        yield db
        db.close()

    def test_is_read_as_last_committed(self, live, job):
        enter(live, "http://d.example/", "d.example", 30)
        assert replica("explain", "d.example", "--job", job)[0] == 1
        live.commit()
        assert replica("explain", "d.example", "--job", job)[0] == 0

    def test_takes_orders(self, live, job, monkeypatch):
        monkeypatch.setattr("scrapy_replica.commands.orders.ANSWERED_SECONDS", 0.1)  # nobody obeys
        enter(live, "http://b.example:8080/", "b.example:8080", 40)
        enter(live, "http://[::1]:8080/", "[::1]:8080", 41)
        live.commit()
        assert replica("steer", "block", "b.example:8080", "--as", "A.example", "--job", job)[0] == 0
        assert replica("steer", "allow", "[::1]:8080", "--job", job)[0] == 0
        told = [(order.kind, order.what) for order in live.orders.open()]
        blocked, allowed = {"host": "b.example:8080", "canonical": "a.example"}, {"host": "[::1]:8080"}
        assert told == [(BLOCK, blocked), (ALLOW, allowed)]

    def test_an_order_waits_for_the_end_of_a_page(self, live, job):
        def allow():
            with ordering(job) as give:
                give(ALLOW, {"host": "b.example"})

        enter(live, "http://d.example/", "d.example", 30)
        person = threading.Thread(target=allow)
        person.start()
        person.join(0.3)
        assert person.is_alive()
        live.commit()
        person.join()
        assert [order.what["host"] for order in live.orders.open()] == ["b.example"]


def garbage(path):
    path.write_bytes(b"<html>" * 1000)


def nothing(path):
    path.write_bytes(b"")


def foreign(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE urls (id INTEGER)")
        db.commit()


def another_version(path):
    SqliteCrawlDB(path.parent).close()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (b"999",))


def damaged(path):
    db = SqliteCrawlDB(path.parent)
    for number in range(3000):
        enter(db, f"http://a.example/{number}", "a.example", number)
    db.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 4] + bytes(len(whole) - len(whole) // 4))


class TestUnreadable:
    @pytest.mark.parametrize("arguments", [["explain", "a.example"], ["hosts"], ["steer", "allow", "a.example"]])
    @pytest.mark.parametrize("make", [garbage, nothing, foreign, another_version])
    def test_is_refused_in_one_line_and_left_as_it_is(self, make, arguments, tmp_path):
        make(tmp_path / FILE_NAME)
        before = (tmp_path / FILE_NAME).read_bytes()
        code, out, err = replica(*arguments, "--job", tmp_path)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert str(tmp_path / FILE_NAME) in err
        assert "JOBDIR" in err
        assert (tmp_path / FILE_NAME).read_bytes() == before

    @pytest.mark.parametrize("what", ["a.example", "http://a.example/2999"])
    def test_damage_is_told_in_one_line(self, what, tmp_path):
        damaged(tmp_path / FILE_NAME)
        code, out, err = replica("explain", what, "--job", tmp_path)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "begin the crawl in another JOBDIR" in err


class TestWrongArguments:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (
                ["steer", "block", "http://a.example/", "--as", "https://A.example"],
                "http and https of one host need no",
            ),
            (["steer", "block", "ftp://a.example/", "--as", "b.example"], "is no host name"),
            (["steer", "block", "a.example", "--as", "b.example/x"], "knows no host b.example"),
            (["steer", "block", "a.example", "--as", "A.example"], "cannot be a copy of itself"),
            (["steer", "allow", ""], "the host is missing"),
            (["steer", "allow", "a.example:http"], "is no host name"),
            (
                ["steer", "allow", "ww.a.example"],
                "the job knows no host ww.a.example; did you mean www.a.example or a.",
            ),
            (["steer", "block", "example", "--as", "a.example"], "knows no host example; did you mean a.example or"),
            (["steer", "block", "www.a.example", "--as", "xyzzy.org"], "the job knows no host xyzzy.org\n"),
            (["explain", "http://[bad"], "'http://[bad' is no URL (Invalid IPv6 URL)"),
            (["explain", "//"], "is no URL"),
        ],
    )
    def test_one_line_and_exit_code_2(self, job, arguments, says):
        code, out, err = replica(*arguments, "--job", job)
        assert (code, out) == (2, "")
        assert says in err
        assert len([line for line in err.splitlines() if not line.startswith(("usage:", "  "))]) == 1

    @pytest.mark.parametrize(
        "arguments", [["hosts"], ["steer", "allow", "a.example"], ["steer", "block", "a.example", "--as", "b.example"]]
    )
    def test_no_job(self, arguments, tmp_path):
        code, _, err = replica(*arguments, "--job", tmp_path)
        assert code == 2
        assert "name the JOBDIR of a crawl" in err


def wait_until(holds, process, seconds=60.0):
    """Look at the database until *holds*; fails after *seconds* or when the crawl ends."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
            raise AssertionError(process.communicate())


class TestRunningCrawl:
    def test_obeys_block_and_allow(self, tmp_path):
        """A page of a host a second; 400 URLs of b.example would wait for minutes."""
        target = Path(__file__).with_name("slow_target.py")
        process = subprocess.Popen(
            [sys.executable, str(target), str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            wait_until(lambda: waiting(tmp_path) > 300, process)
            told = replica("steer", "block", "b.example", "--as", "a.example", "--job", tmp_path)
            assert told == (0, "done: b.example is blocked as a copy of a.example\n", "")
            wait_until(lambda: waiting(tmp_path) == 0, process, seconds=10)
            assert "  b.example\n    blocked by hand" in replica("hosts", "--job", tmp_path)[1]
            replica("steer", "allow", "b.example", "--job", tmp_path)
            wait_until(lambda: waiting(tmp_path) > 200, process, seconds=10)
            assert replica("hosts", "--job", tmp_path)[1].startswith("no host is known")
        finally:
            process.kill()
            process.communicate()


def waiting(job):
    with contextlib.suppress(ValueError), reading(job) as reader:  # not made yet
        found = reader.host("b.example")
        return found.urls.get(State.WAITING, 0) if found is not None else 0
    return 0
