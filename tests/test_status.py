"""``scrapy replica status``: what it says of a job is what the crawl did, and it disturbs no crawl."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from argparse import Namespace

import pytest
from command_line import replica
from web import crawl, page

from scrapy_replica import Addon, TopicSpider
from scrapy_replica.claim import Claim, Standing, Work
from scrapy_replica.commands import status as command
from scrapy_replica.commands.job import is_running, ordering, reading
from scrapy_replica.control import view
from scrapy_replica.crawldb.claims import Suppressed
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.pages import Fetched
from scrapy_replica.crawldb.revisits import History
from scrapy_replica.crawldb.samples import Sample, Stratum
from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.decision import Action, Decision, Outcome, Reason
from scrapy_replica.records import Verdict
from scrapy_replica.words.terminal import lasting

VERDICT = Verdict("b.example", "a.example", "", "", 0.9, 9)
NOW = 1_700_010_000.0


def enter(db, url, host, **fields):
    return db.urls.discover([NewUrl(url, host, hash(url) >> 2, **fields)])[0][0]


def fill(db, host="a.example", at=NOW - 1_000.0):
    """Ten fetches ten seconds apart: seven pages, one of them a duplicate, three that failed; five URLs wait."""
    for n in range(10):
        url_id = enter(db, f"http://{host}/{n}", host, priority=1)
        status = {7: 404, 8: 500, 9: None}.get(n, 200)
        novelty = None if status != 200 else "exact-duplicate" if n == 6 else "novel"
        relevance = 0.9 if n < 2 else 0.1
        fetched = Fetched(url_id, at + 10 * n, status, relevance=relevance if novelty else None, novelty=novelty)
        db.pages.enter(fetched)
        assert db.urls.take().id == url_id
        db.urls.finish([url_id])
    for n in range(5):
        enter(db, f"http://{host}/waits/{n}", host, is_demoted=n < 2)


def save(db, n, reason=Reason.REPLICA_HOST, claim=VERDICT.claim):
    """Drop *n* URLs, the first of which were to be dropped before; return their ids."""
    ids = []
    for number in range(n):
        url_id = enter(db, f"http://b.example/{reason.value}/{number}", "b.example", is_dropped=True)
        db.ledger.record(url_id, Decision(Action.DROP, Action.DROP, reason), NOW)
        db.suppressed.enter([Suppressed(url_id, claim, 10_000 + url_id)])
        ids.append(url_id)
    return ids


@pytest.fixture
def job(tmp_path):
    db = SqliteCrawlDB(tmp_path, "news")
    fill(db)
    db.verdicts.enter(VERDICT, NOW - 1_200.0, NOW * 2)
    db.verdicts.enter(Verdict("c.example", "a.example", "", "", 0.8, 5), NOW - 90_000.0, NOW * 2)
    db.verdicts.end("c.example", Standing.REFUTED)
    save(db, 4)
    sample = enter(db, "http://b.example/sample", "b.example")
    db.ledger.record(sample, Decision(Action.FETCH, Action.DROP, Reason.REPLICA_HOST, is_sampled=True), NOW)
    db.samples.enter([Sample(sample, VERDICT.claim, Reason.REPLICA_HOST, 5, Stratum(), 3.0)])
    db.samples.settle(sample, Outcome.OTHER)
    db.samples.enter([Sample(1, VERDICT.claim, Reason.REPLICA_HOST, 6, Stratum(), 1.0)])
    db.samples.settle(1, Outcome.SAME)
    db.close()
    return tmp_path


def status(job, *arguments):
    code, out, err = replica("status", job, "--json", *arguments)
    assert (code, err) == (0, "")
    return json.loads(out)


def figures(job):
    return status(job)["figures"]


def dropping(*arguments):
    """A rule that takes *arguments* away, ``name`` or ``name=value``."""
    steps = [["drop", name, value or None] for name, _, value in (one.partition("=") for one in arguments)]
    return {"host": "a.example", "transformation": steps, "context": [], "learntFrom": "", "examples": []}


class TestFigures:
    def test_urls_and_fetches(self, job):
        found = figures(job)
        assert found["urls.waiting"] == 6
        assert (found["urls.done"], found["urls.dropped"], found["urls.demoted"]) == (10, 4, 2)
        assert (found["fetches"], found["pages"], found["failed"], found["refused"]) == (10, 7, 1, 2)
        assert (found["novel"], found["exact_duplicates"], found["relevant"]) == (6, 1, 2)
        assert found["harvest"] == pytest.approx(6 / 7, abs=1e-4)  # without a topic: what is new

    def test_speed_is_that_of_the_end_of_the_crawl(self, job):
        db = SqliteCrawlDB(job, "news")
        db.pages.enter(Fetched(enter(db, "http://old.example/", "old.example"), 1_000.0, 200, novelty="novel"))
        db.close()
        found = figures(job)
        assert (found["fetches"], found["recent.fetches"], found["recent.seconds"]) == (11, 10, 600)
        assert found["per_second"] == pytest.approx(10 / 600, abs=1e-4)
        assert found["seconds_left"] == pytest.approx(found["urls.waiting"] * 60, rel=1e-3)

    def test_what_is_as_it_was_counts_for_the_speed(self, job):
        db = SqliteCrawlDB(job, "news")
        for url_id, believed in ((1, 1), (2, 3), (3, 0)):
            db.revisits.enter(History(url_id, checked_at=NOW, believed=believed))
        db.close()
        found = figures(job)
        assert (found["unchanged"], found["recent.unchanged"], found["fetches"]) == (2, 2, 10)
        assert found["per_second"] == pytest.approx(2 / 600, abs=1e-4)
        assert status(job)["by_host"][0]["recent"] == 2
        assert re.search(r"as before \(304\) +2 +2\n", replica("status", job)[1])

    def test_a_url_is_saved_once_and_so_says_the_report(self, job):
        db = SqliteCrawlDB(job, "news")
        again = save(db, 2, Reason.EXACT_DUPLICATE_LINKS, Claim.read("links a.example of b.example"))
        for url_id in again:
            db.ledger.record(url_id, Decision(Action.REWRITE, Action.REWRITE, Reason.REPLICA_HOST), NOW)
        excluded = save(db, 3, Reason.EXCLUDED, "excluded *")
        db.ledger.record(excluded[0], Decision(Action.FETCH, Action.FETCH, Reason.EXCLUDED), NOW)
        db.close()
        found = figures(job)
        assert (found["dropped.replica-host"], found["dropped.excluded"], found["saved"]) == (6, 3, 6)
        assert "dropped.exact-duplicate-links" not in found
        assert sum(n for name, n in found.items() if name.startswith("dropped.")) == found["urls.dropped"]
        with reading(str(job)) as reader:
            assert reader.results.savings().urls == found["saved"]

    def test_what_a_person_did_not_want_is_not_saved(self, job):
        db = SqliteCrawlDB(job, "news")
        save(db, 3, Reason.OUT_OF_SCOPE, "out-of-scope on b.example")
        db.close()
        found = figures(job)
        assert (found["dropped.out-of-scope"], found["saved"]) == (3, 4)
        assert "place out of scope" in replica("status", job)[1]

    def test_what_was_saved_and_what_was_lost(self, job):
        found = figures(job)
        assert found["dropped.replica-host"] == found["saved"] == 4
        assert (found["samples.replica-host"], found["false_drops.replica-host"]) == (2, 1)
        assert found["false_drop_rate.replica-host"] == 0.75  # the one stands for three URLs
        assert found["false_drop_rate_low"] < 0.75 < found["false_drop_rate_high"]
        assert found["decision.replica-host.drop"] == 4

    def test_what_came_back_is_not_saved(self, job):
        db = SqliteCrawlDB(job, "news")
        db.suppressed.restore(Work(VERDICT.claim), 3)
        db.close()
        found = figures(job)
        assert (found["saved"], found["decision.replica-host.drop"]) == (1, 4)

    def test_verdicts_of_the_last_hour_of_a_crawl_that_ended(self, job):
        told = status(job)
        assert [verdict["copy"] for verdict in told["verdicts"]] == ["b.example"]
        assert (told["figures"]["verdicts.holding"], told["figures"]["verdicts.refuted"]) == (1, 1)

    def test_rules_of_the_last_hour_that_act(self, job):
        db = SqliteCrawlDB(job, "news")
        for name, at in (("sid", NOW - 90_000.0), ("ref", NOW - 1_500.0), ("at", NOW - 1_400.0)):
            db.rules.update(db.rules.enter(dropping(name), at), Standing.IN_FORCE, 9, 0, 0)
        db.rules.enter(dropping("by"), NOW)
        db.close()
        told = status(job)
        assert [row["id"] for row in told["rules"]] == [3, 2]
        assert (told["figures"]["rules.in_force"], told["figures"]["rules.candidate"]) == (3, 1)
        assert "rule 3: on a.example the page is the same without" in replica("status", job)[1]

    def test_a_rule_of_which_others_do_all_is_no_other_one(self, job):
        db = SqliteCrawlDB(job, "news")
        rules = (
            dropping("print=1"),
            dropping("ref", "print"),
            dropping("print"),
            dropping("ref"),
            dropping("ref=a", "x"),
        )
        for rule in rules:
            db.rules.update(db.rules.enter(rule, NOW), Standing.IN_FORCE, 9, 0, 0)
        db.close()
        told = status(job)
        assert [row["id"] for row in told["rules"]] == [5, 4, 3]
        assert "Rules: 3 in force; 3 of its last hour" in replica("status", job)[1]
        listed = replica("rules", "list", job)[1].replace("\n      ", " ")
        assert listed.count("in force, with others that do all of it") == 2

    def test_hosts_with_most_fetches_first(self, job):
        db = SqliteCrawlDB(job, "news")
        db.pages.enter(Fetched(enter(db, "http://a.example/s", "a.example", slot="mine"), NOW, 200, novelty="novel"))
        db.pages.enter(Fetched(enter(db, "http://b.example/1", "b.example"), NOW, 200, novelty="novel"))
        db.close()
        told = status(job)
        hosts = {row["host"]: row for row in told["by_host"]}
        assert list(hosts) == ["a.example", "b.example"]
        assert (hosts["a.example"]["fetches"], hosts["a.example"]["waiting"]) == (11, 6)  # of two download slots
        assert (hosts["b.example"]["fetches"], hosts["b.example"]["dropped"]) == (1, 4)
        told = status(job, "--hosts", 1)
        assert (len(told["by_host"]), told["figures"]["hosts"]) == (1, 2)

    @pytest.mark.asyncio
    async def test_they_are_those_of_the_crawl(self, tmp_path):
        pages = {f"http://a.example/{n}": page([f"/{2 * n + 1}", f"/{2 * n + 2}"], seed=n // 2) for n in range(20)}
        settings = {"ADDONS": {Addon: 500}, "JOBDIR": str(tmp_path), "REPLICA_MODE": "drop"}
        result = await crawl(TopicSpider, pages, settings, seeds="http://a.example/0")
        told = json.loads(command.look(Namespace(job=str(tmp_path), hosts=5, json=True), runs=False))
        found, stats = told["figures"], result.stats
        assert found["pages"] == stats["replica/page/observed"] > 10
        assert found["exact_duplicates"] == stats["replica/page/exact-duplicate"] > 0
        assert found["refused"] == stats.get("replica/page/other", 0)
        decided = {name: n for name, n in stats.items() if name.startswith("replica/decision/")}
        told_decided = {f"replica/{n.replace('.', '/')}": found[n] for n in found if n.startswith("decision.")}
        assert decided == told_decided != {}


class TestText:
    def test_is_for_a_terminal(self, job):
        out = replica("status", job)[1]
        assert max(map(len, out.splitlines())) <= 80
        assert "no crawl has the job open; spider news" in out
        assert "  new                            6    86 %" in out
        assert "host is a copy of another      0            4       2      1" in out
        told = " ".join(out.split())
        assert "At least 4 of 14 requests saved (29 %); 2 tests, 1 wrong. Lost: about 3 pages." in told
        assert "b.example is a.example, score 0.90, 4 URLs saved" in out

    def test_the_control_page_says_the_same(self, job):
        with reading(str(job)) as reader:
            status = reader.status(None, 1)
            tiles = {tile["name"]: tile["note"] for tile in view.figures(reader, status, is_running=False)["figures"]}
        assert (found := figures(job))["lost.about"] == pytest.approx(0.75 * found["saved"], rel=0.1)
        assert tiles["fetches saved"] == "29 %; 2 tests, 1 wrong"

    def test_what_a_person_blocked_is_not_told_as_found(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        for host in ("a.example", "b.example", "c.example"):
            fill(db, host)
        db.verdicts.enter(Verdict("b.example", "a.example", "", "", 0.9, 9), NOW, NOW * 2)
        db.verdicts.enter(Verdict("c.example", "a.example", "", "", 1.0, 0, is_manual=True), NOW, NOW * 2)
        db.close()
        told = " ".join(replica("status", tmp_path)[1].split())
        assert "1 mirror found, 1 blocked host by hand" in told
        assert "Copies of hosts: 2 blocked, 1 of them by hand; " in told
        found = figures(tmp_path)
        assert (found["verdicts.holding"], found["verdicts.by_hand"]) == (2, 1)

    def test_what_a_person_said_is_told_whole(self, job):
        with ordering(str(job)) as give:
            give("exclude", {"pattern": "*/nothing/*", "lift": True})
        out = " ".join(replica("status", job)[1].split())
        assert "exclude */nothing/* --lift: not seen by the crawl yet" in out

    def test_crawled_names_steer_no_terminal(self, tmp_path):
        hosts = ["\x1b[2J\x9bhidden.example", "a" * 10_000 + ".example", "\u202eright.example", "日本語" * 30]
        db = SqliteCrawlDB(tmp_path)
        for host in hosts:
            fill(db, host)
            db.verdicts.enter(Verdict(host, "a.example" * 90, "", "", 0.9, 9), NOW - 950.0, NOW * 2)
        db.close()
        code, out, _ = replica("status", tmp_path)
        assert code == 0
        assert all(character.isprintable() for line in out.splitlines() for character in line)
        assert max(map(len, out.splitlines())) <= 80

    @pytest.mark.parametrize(
        ("seconds", "told"),
        [
            (0.2, "0 s"),
            (59, "59 s"),
            (60, "1 min"),
            (3_725, "1 h 2 min"),
            (90_000, "1 day 1 h"),
            (1e9, "11,574 days 1 h"),
        ],
    )
    def test_times(self, seconds, told):
        assert lasting(seconds) == told


class TestJob:
    def test_nothing_was_fetched_yet(self, tmp_path):
        db = SqliteCrawlDB(tmp_path)
        enter(db, "http://a.example/", "a.example")
        db.commit()
        assert replica("status", tmp_path)[1] == "the crawl has just begun: nothing was fetched yet, 1 URL waiting\n"
        db.close()
        assert figures(tmp_path)["urls.waiting"] == 1

    def test_that_runs_is_read_as_last_committed(self, job):
        db = SqliteCrawlDB(job, "news")
        before = figures(job)["urls.waiting"]
        enter(db, "http://d.example/", "d.example")
        assert figures(job)["urls.waiting"] == before
        db.commit()
        assert figures(job)["urls.waiting"] == before + 1
        assert "the crawl runs; spider news" in replica("status", job)[1]
        db.close()
        assert not is_running(str(job))

    def test_looking_whether_it_runs_keeps_no_crawl_out(self, job):
        end = time.monotonic() + 0.3
        looks = threading.Thread(
            target=lambda: [is_running(str(job)) for _ in iter(lambda: time.monotonic() < end, False)]
        )
        looks.start()
        while time.monotonic() < end:
            SqliteCrawlDB(job, "news").close()
        looks.join()

    def test_that_is_none(self, tmp_path):
        code, out, err = replica("status", tmp_path)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert str(tmp_path / FILE_NAME) in err
        (tmp_path / FILE_NAME).write_text("something else, and long enough to be told from a database")
        code, _, err = replica("status", tmp_path)
        assert (code, err.count("\n")) == (2, 1)
        assert "is not a crawl database" in err

    def test_of_another_version(self, job):
        file = sqlite3.connect(job / FILE_NAME)
        file.execute("UPDATE meta SET value = ? WHERE key = 'version'", (b"1",))
        file.commit()
        file.close()
        code, _, err = replica("status", job)
        assert (code, err.count("\n")) == (2, 1)
        assert "has version 1" in err

    def test_that_another_program_locked(self, job, monkeypatch):
        connect = sqlite3.connect
        monkeypatch.setattr(sqlite3, "connect", lambda *args, **kwargs: connect(*args, **{**kwargs, "timeout": 0}))
        file = connect(job / FILE_NAME, isolation_level=None)
        file.execute("PRAGMA locking_mode = EXCLUSIVE")
        file.execute("BEGIN EXCLUSIVE")
        code, _, err = replica("status", job)
        file.close()
        assert (code, err.count("\n")) == (2, 1)
        assert "locked" in err

    @pytest.mark.parametrize("arguments", [("--hosts", "-1"), ("--hosts", "many")])
    def test_wrong_arguments(self, job, arguments):
        code, out, err = replica("status", job, *arguments)
        assert (code, out) == (2, "")
        assert "--hosts" in err


class TestWatch:
    @pytest.fixture(autouse=True)
    def haste(self, monkeypatch):
        monkeypatch.setattr(command, "LOOK_SECONDS", 0.02)
        monkeypatch.setattr(command, "REST", 0)

    def test_follows_a_crawl_to_its_end(self, job, monkeypatch):
        db = SqliteCrawlDB(job, "news")
        looks = []

        def look(opts, *, runs):
            looks.append(runs)
            if runs:
                enter(db, f"http://d.example/{len(looks)}", "d.example")
                db.commit()
            if len(looks) == 3:
                db.close()
            return look_once(opts, runs=runs)

        look_once = command.look
        monkeypatch.setattr(command, "look", look)
        code, out, err = replica("status", job, "--watch", "--json")
        assert (code, err) == (0, "")
        waiting = [json.loads(line)["figures"]["urls.waiting"] for line in out.splitlines()]
        assert waiting == [7, 8, 9, 9]
        assert looks == [True, True, True, False]

    def test_ctrl_c(self, job, monkeypatch):
        def interrupted(seconds):
            raise KeyboardInterrupt

        db = SqliteCrawlDB(job, "news")
        monkeypatch.setattr(command.time, "sleep", interrupted)
        assert replica("status", job, "--watch")[0] == 130
        db.close()

    def test_a_terminal_shows_as_many_lines_as_it_has(self, capsys, monkeypatch):
        monkeypatch.setenv("LINES", "5")
        screen = command.Screen()
        screen.show("\n".join("abcdefgh"), is_last=False)
        screen.close()
        out = capsys.readouterr().out
        assert out.count("\n") == 4
        assert out.endswith("\x1b[J\x1b[?7h")


def test_only_indexes_are_read(job, monkeypatch):
    """However wide the rows are: of a million URLs the tables are half a gigabyte and more."""
    statements = {}
    read = Connection.read

    def noted(self, sql, values=()):
        statements[sql] = values
        return read(self, sql, values)

    monkeypatch.setattr(Connection, "read", noted)
    replica("status", job)
    file = sqlite3.connect(job / FILE_NAME)
    plans = {
        sql: [step for *_, step in file.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        for sql, values in statements.items()
        if sql.startswith("SELECT")
    }
    file.close()
    assert len(plans) > 15
    big = ("urls", "pages", "decisions", "suppressed")
    scans = {
        step for steps in plans.values() for step in steps if step.startswith(tuple(f"SCAN {table}" for table in big))
    }
    assert scans != set()
    # what is being fetched at the moment is little
    assert [step for step in scans if "COVERING INDEX" not in step and "INDEX leased" not in step] == []
    sorts = [sql for sql, steps in plans.items() for step in steps if "TEMP B-TREE FOR GROUP BY" in step]
    assert all("FROM rules" in sql or "FROM verdicts" in sql or "FROM samples" in sql for sql in sorts)
