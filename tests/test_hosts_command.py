from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from scrapy.cmdline import execute

from scrapy_replica.address import host_of
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, NewUrl, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.schema import STATE_NAMES
from scrapy_replica.decision import Action, Decision, Reason
from scrapy_replica.records import Verdict
from scrapy_replica.sites.aliases import Aliases

JUDGED = Verdict("www.a.example", "a.example", "", "", 0.912, 9, {"sm10": 0.8, "alpha_pu": 0.97})
MOVED = Verdict("b.example", "a.example", "mirror", "docs", 0.87, 12, {"teq": 1.0})


@pytest.fixture
def job(tmp_path):
    db = SqliteCrawlDB(tmp_path / FILE_NAME)
    db.verdicts.enter(JUDGED, 1_700_000_000.0, 1_800_000_000.0)
    db.verdicts.enter(MOVED, 1_700_000_100.0, None)
    db.verdicts.enter(Verdict("c.example", "a.example", "", "", 0.9, 5), 1_700_000_000.0, 1_800_000_000.0)
    db.verdicts.end("c.example", "withdrawn")
    for number, action in enumerate((Action.DROP, Action.REWRITE, Action.FETCH)):
        url_id = db.discover_dropped(NewUrl(f"http://www.a.example/{number}", "www.a.example", number))
        db.ledger.record(url_id, Decision(action, Action.DROP, Reason.REPLICA_HOST), 1_700_000_001.0)
    for host in ("a.example", "c.example"):
        db.discover(NewUrl(f"http://{host}/", host, hash(host)))
    db.commit()
    db.close()
    return tmp_path


def replica(capsys, *arguments):
    """Run the command here; returns (exit code, standard output, standard error)."""
    with pytest.raises(SystemExit) as end:
        execute(["scrapy", "replica", *map(str, arguments)])
    told = capsys.readouterr()
    return end.value.code or 0, told.out, told.err


class TestHosts:
    def test_table(self, job, capsys):
        code, out, _ = replica(capsys, "hosts", "--job", job)
        assert code == 0
        assert out.splitlines()[0] == "a.example"
        assert "www.a.example  score 0.912 by judge, / = /, 9 pages compared, 2 URLs not fetched" in out
        assert "b.example  score 0.870 by hand, /mirror = /docs" in out
        assert "sm10 0.8, alpha_pu 0.97" in out
        assert "c.example" not in out

    def test_json(self, job, capsys):
        _, out, _ = replica(capsys, "hosts", "--job", job, "--json")
        found = json.loads(out)
        assert found["figures"] == {"verdicts": 2, "urls_saved": 2}
        assert [verdict["copy"] for verdict in found["verdicts"]] == ["www.a.example", "b.example"]
        assert found["verdicts"][0]["evidence"] == {"sm10": 0.8, "alpha_pu": 0.97}

    def test_a_kept_host_that_became_a_copy_heads_no_group(self, job, capsys):
        db = SqliteCrawlDB(job / FILE_NAME)
        db.verdicts.enter(Verdict("a.example", "z.example", "", "", 0.9, 5), 1_700_000_000.0, 1_800_000_000.0)
        db.commit()
        db.close()
        out = replica(capsys, "hosts", "--job", job)[1]
        assert [line for line in out.splitlines() if not line.startswith(" ")] == ["z.example"]
        assert "  www.a.example of a.example  score" in out

    def test_no_verdicts(self, tmp_path, capsys):
        SqliteCrawlDB(tmp_path / FILE_NAME).close()
        assert replica(capsys, "hosts", "--job", tmp_path)[1] == "no host is known to be a replica of another\n"

    def test_nutch_lines_are_read_as_aliases(self, job, tmp_path, capsys):
        _, out, _ = replica(capsys, "hosts", "--job", job, "--export", "nutch")
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

    def test_httrack_and_algolia(self, job, capsys):
        assert replica(capsys, "hosts", "--job", job, "--export", "httrack")[1] == (
            "--host-alias www.a.example=a.example\n"
        )
        _, out, _ = replica(capsys, "hosts", "--job", job, "--export", "algolia")
        assert json.loads(out) == {"hostnameAliases": {"www.a.example": "a.example"}}


class TestExplain:
    def test_tells_the_verdict_on_a_host(self, job, capsys):
        _, out, _ = replica(capsys, "explain", "www.a.example", "--job", job)
        for line in ("verdict: replica", "keeper: a.example", "score: 0.912", "since: 2023-11-14T22:13:20+00:00"):
            assert line in out.splitlines()
        assert "evidence: sm10 0.8, alpha_pu 0.97" in out
        found = json.loads(replica(capsys, "explain", "www.a.example", "--job", job, "--json")[1])
        assert found["evidence"] == {"sm10": 0.8, "alpha_pu": 0.97}

    def test_tells_the_replicas_of_a_host(self, job, capsys):
        assert "replicas: www.a.example, b.example" in replica(capsys, "explain", "a.example", "--job", job)[1]

    def test_tells_that_a_verdict_ended(self, job, capsys):
        assert "verdict: replica, withdrawn since" in replica(capsys, "explain", "c.example", "--job", job)[1]


class TestWrongArguments:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["block", "http://a.example/", "--as", "b.example"], "is no host name"),
            (["block", "a.example", "--as", "b.example/x"], "is no host name"),
            (["block", "a.example", "--as", "A.example"], "cannot be a copy of itself"),
            (["allow", ""], "is no host name"),
        ],
    )
    def test_one_line_and_exit_code_2(self, job, arguments, says, capsys):
        code, out, err = replica(capsys, *arguments, "--job", job)
        assert (code, out) == (2, "")
        assert says in err
        assert len([line for line in err.splitlines() if not line.startswith(("usage:", "  "))]) == 1

    @pytest.mark.parametrize(
        "arguments", [["hosts"], ["allow", "a.example"], ["block", "a.example", "--as", "b.example"]]
    )
    def test_no_job(self, arguments, tmp_path, capsys):
        code, _, err = replica(capsys, *arguments, "--job", tmp_path)
        assert code == 2
        assert "name the JOBDIR of a crawl" in err


def states(job, host):
    with contextlib.closing(sqlite3.connect(f"file:{job / FILE_NAME}?mode=ro", uri=True)) as db:
        rows = db.execute("SELECT urls.url, state FROM urls JOIN hosts ON hosts.id = host WHERE name = ?", (host,))
        return {url: STATE_NAMES[state] for url, state in rows}


def wait_until(holds, process, seconds=60.0):
    """Look at the database until *holds*; fails after *seconds* or when the crawl ends."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
            raise AssertionError(process.communicate())


class TestRunningCrawl:
    def test_obeys_block_and_allow(self, tmp_path, capsys):
        """A page of a host a second; 400 URLs of b.example would wait for minutes."""
        target = Path(__file__).with_name("slow_target.py")
        process = subprocess.Popen(
            [sys.executable, str(target), str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            wait_until(lambda: waiting(tmp_path) > 300, process)
            replica(capsys, "block", "b.example", "--as", "a.example", "--job", tmp_path)
            wait_until(lambda: waiting(tmp_path) == 0, process, seconds=10)
            assert "b.example  score 1.000 by hand" in replica(capsys, "hosts", "--job", tmp_path)[1]
            replica(capsys, "allow", "b.example", "--job", tmp_path)
            wait_until(lambda: waiting(tmp_path) > 200, process, seconds=10)
            assert replica(capsys, "hosts", "--job", tmp_path)[1].startswith("no host is known")
        finally:
            process.kill()
            process.communicate()


def waiting(job):
    with contextlib.suppress(sqlite3.OperationalError):  # not made yet
        return sum(state == "waiting" for state in states(job, "b.example").values())
    return 0
