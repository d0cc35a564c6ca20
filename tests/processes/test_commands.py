from __future__ import annotations

import contextlib
import gzip
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import forked
import pytest
from command_line import replica as replica_here
from scrapy.cmdline import execute
from web import job_states, page, record, text

from scrapy_replica.commands import run
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB

PAGES = 90
SITE = "http://w.example/"
HASTE = ("-s", "DOWNLOAD_DELAY=0", "-s", "CONCURRENT_REQUESTS_PER_DOMAIN=8")
"""A live crawl is polite by default."""
FIGURES = {
    *("pages", "novel", "near_duplicates", "exact_duplicates", "traps", "relevant"),
    *("relevant_at_5", "relevant_at_10", "relevant_at_25", "relevant_at_50"),
    *("harvest", "cpu_ms_per_page", "wall_s", "max_rss_mb", "false_drop_rate"),
}


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    """A WARC of 90 pages, every third about networks, a table of them, and examples of the topic."""
    folder = tmp_path_factory.mktemp("web")
    rows, records = ["url,trap,topics"], []
    for n in range(PAGES):
        about = "networks" if n % 3 == 0 else "cooking"
        words = " ".join(f"{about[:4]}{word}" for word in text(("w", n), 80).split())
        links = [f"/{k}" for k in (2 * n + 1, 2 * n + 2) if k < PAGES]
        records.append(record(f"{SITE}{n}", page(links, seed=n).replace("<p>", f"<p>{words} ")))
        rows.append(f"{SITE}{n},{int(n == 4)},{about}|all")
    (folder / "web.warc.gz").write_bytes(b"".join(records))
    (folder / "truth.csv").write_text("\n".join(rows) + "\n")
    (folder / "topic").mkdir()
    for n in range(5):
        words = " ".join(f"netw{word}" for word in text(("t", n), 80).split())
        (folder / "topic" / f"{n}.txt").write_text(words)
    return folder


def replica(*arguments, **kwargs):
    return forked.run("scrapy", "replica", *arguments, **kwargs)


def rehearse(web, *arguments):
    return replica("rehearse", web / "web.warc.gz", "--seeds", f"{SITE}0", *arguments)


def figures(done):
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {*result} == {"figures", "inputs", "versions"}
    assert all(type(value) in {int, float} for value in result["figures"].values())
    return result["figures"]


class TestRehearse:
    def test_figures_with_a_topic(self, web):
        truth = f"{web / 'truth.csv'}:networks"
        done = rehearse(web, "--topic", web / "topic", "--truth", truth, "--max-pages", 60, "--json")
        found = figures(done)
        assert found.keys() >= FIGURES
        assert found["pages"] == 60
        assert found["relevant"] == round(found["harvest"] * 60) <= 30
        assert found["relevant_at_5"] <= found["relevant_at_10"] <= found["relevant_at_25"] <= found["relevant_at_50"]
        assert found["novel"] == 60
        assert found["max_rss_mb"] > 10
        assert json.loads(done.stdout)["versions"]["scrapy-replica"]

    @pytest.mark.parametrize("options", [("--plain",), ("--strategy", "depth-first")])
    def test_whole_web(self, web, options):
        found = figures(rehearse(web, *options, "--json"))
        assert (found["pages"], found["novel"], found["exact_duplicates"]) == (PAGES, PAGES, 0)
        assert found["false_drop_rate"] == 0

    def test_a_page_under_two_names_is_relevant_once(self, tmp_path):
        pages = {"0": page(["/a", "/b"], seed=0), "a": page(seed=1), "b": page(seed=1)}
        (tmp_path / "web.warc.gz").write_bytes(b"".join(record(SITE + name, html) for name, html in pages.items()))
        (tmp_path / "truth.csv").write_text(f"url,trap,topics\n{SITE}a,0,x\n{SITE}b,0,x\n")
        found = figures(rehearse(tmp_path, "--plain", "--truth", f"{tmp_path / 'truth.csv'}:x", "--json"))
        assert (found["pages"], found["relevant"], found["relevant_distinct"]) == (3, 2, 1)

    def test_table_for_a_person(self, web):
        done = rehearse(web, "--max-pages", 5)
        lines = [line.split("  ") for line in done.stdout.splitlines()]
        told = {line[0]: line[-1].strip() for line in lines}
        assert (told["pages"], told["new"]) == ("5", "5")
        assert not {"None", "nan", "0"} & set(told.values())
        assert max(map(len, done.stdout.splitlines())) <= 80

    def test_job_goes_on(self, web, tmp_path):
        job, items = tmp_path / "job", tmp_path / "items.jsonl"
        first = figures(rehearse(web, "--job", job, "--max-pages", 30, "-o", items, "--json"))
        second = figures(rehearse(web, "--job", job, "-o", items, "--json"))
        assert first["pages"] == 30
        assert PAGES - 30 >= second["pages"] >= PAGES - 30 - 16
        found = Counter(json.loads(line)["url"] for line in items.read_text().splitlines())
        assert found == Counter(f"{SITE}{n}" for n in range(PAGES))
        assert figures(rehearse(web, "--job", job, "--json"))["pages"] == 0
        assert set(map(tuple, job_states(job).values())) == {("done",)}


class TestWrongArguments:
    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--topic", "nowhere"], "REPLICA_TOPIC: nowhere: no such file or folder"),
            (["--strategy", "worst-first"], "there is no strategy 'worst-first'; choose one of best-first, "),
        ],
    )
    def test_refused_when_the_crawl_begins(self, web, arguments, says):
        done = rehearse(web, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
        assert says in done.stderr

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--truth", "nowhere.csv:x"], "--truth: cannot read nowhere.csv"),
            (["--truth", "nonsense"], "--truth: expected CSV:TOPIC"),
            (["--mode", "maybe"], "REPLICA_MODE is 'maybe'"),
            (["--max-pages", "-1"], "--max-pages is -1"),
            (["--max-pages", "0"], "--max-pages is 0: it must be at least 1; without it there is no limit"),
            (["--seeds", "ftp://a/"], "seeds: ftp://a/ is no http or https URL"),
            (["--seeds", os.devnull], f"expected URLs such as https://example.org/ in {os.devnull}, got nothing"),
            (["-O", "pages.xyz"], "rehearse: -O: Unrecognized output format 'xyz'"),
            (["-o", "pages.parquet"], "rehearse: -o: no Parquet, which can be read only when it is whole"),
            (["--topic", ""], "rehearse: REPLICA_TOPIC is empty"),
            (["--revisit"], "--revisit: give the --job"),
            (["--max-pages", "many"], "invalid int value"),
            (["--seeds", "nowhere.txt"], "neither a URL nor a readable file"),
            (["-s", "REPLICA_MOD=drop"], "did you mean REPLICA_MODE"),
            (["-s", "REPLICA_EXPLORE=2"], "it must be at most 1"),
        ],
    )
    def test_one_line_and_exit_code_2(self, web, arguments, says, capsys):
        command = ["scrapy", "replica", "rehearse", str(web / "web.warc.gz"), "--seeds", SITE, *arguments]
        with pytest.raises(SystemExit) as end:
            execute(command)
        told = capsys.readouterr()
        assert end.value.code == 2
        assert told.out == ""
        assert says in told.err
        assert len([line for line in told.err.splitlines() if not line.startswith(("usage:", "  "))]) == 1

    def test_foreign_file(self, tmp_path):
        (tmp_path / "x.warc").write_text("<html>")
        done = replica("rehearse", tmp_path / "x.warc", "--seeds", SITE)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "is no WARC file" in done.stderr

    def test_seeds_that_are_cut_off(self, web, tmp_path):
        (tmp_path / "seeds.gz").write_bytes(gzip.compress(SITE.encode() * 99)[:-12])
        done = replica("rehearse", web / "web.warc.gz", "--seeds", tmp_path / "seeds.gz")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "is neither a URL nor a readable file of URLs (it is cut off)" in done.stderr

    def test_warc_that_is_not_there(self):
        done = replica("rehearse", "missing.warc", "--seeds", SITE)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "missing.warc: No such file or directory" in done.stderr

    @pytest.mark.parametrize("options", [(), ("--plain",)], ids=["add-on", "plain"])
    def test_job_folder_that_cannot_be_made(self, web, options):
        done = rehearse(web, "--job", web / "truth.csv" / "job", *options)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "Not a directory" in done.stderr

    def test_job_that_another_crawl_has_open(self, web, tmp_path):
        other = SqliteCrawlDB(tmp_path, "topic")
        done = rehearse(web, "--job", tmp_path)
        other.close()
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.endswith("open: wait for its end, or give another --job\n")

    def test_unknown_format_of_items(self, web, tmp_path):
        done = rehearse(web, "-o", tmp_path / "pages.xyz")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert "-o: Unrecognized output format 'xyz'" in done.stderr

    @pytest.mark.parametrize("command", [["hosts"], ["rules", "list"], ["explain", SITE], ["steer", "allow", "x"]])
    def test_job_that_is_no_crawl(self, tmp_path, command):
        (tmp_path / "replica.sqlite").write_text("something else")
        code, out, err = replica_here(*command, "--job", tmp_path)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert "database" in err

    def test_job_of_another_version(self, web, tmp_path):
        import sqlite3

        SqliteCrawlDB(tmp_path, "topic").close()
        with contextlib.closing(sqlite3.connect(tmp_path / "replica.sqlite")) as db, db:
            db.execute("UPDATE meta SET value = ? WHERE key = 'version'", (b"999",))
        done = rehearse(web, "--job", tmp_path)
        assert done.returncode == 2
        assert "has version 999, this release reads" in done.stderr
        assert "Traceback" not in done.stderr

    def test_topic_that_cannot_be_had(self, web, tmp_path):
        """Its examples are URLs, and none of them is in the archive."""
        (tmp_path / "urls.txt").write_text("http://nowhere.example/\n")
        done = rehearse(web, "--topic", tmp_path / "urls.txt", "--json")
        assert done.returncode == 2
        assert "example http://nowhere.example/ cannot be had" in done.stderr
        assert "REPLICA_TOPIC" in done.stderr
        assert "Traceback" not in done.stderr


class Slow(BaseHTTPRequestHandler):
    """Endless pages."""

    def do_GET(self):
        number = int(self.path.strip("/") or 0) if self.path != "/robots.txt" else None
        body = page([f"/{number + 1}", f"/{number + 2}"], seed=number).encode() if number is not None else b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.answered.add(self.path)
        if len(self.server.answered) == 30:
            self.server.is_busy.set()

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    server.answered, server.is_busy = set(), threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class TestCrawl:
    def test_live(self, server, tmp_path):
        seeds = f"http://127.0.0.1:{server.server_port}/"
        job, items = tmp_path / "job", tmp_path / "items.jsonl"
        done = replica("crawl", seeds, "--max-pages", 20, "--job", job, "-o", items, "--json", *HASTE)
        found = figures(done)
        status = json.loads(replica("status", job, "--json").stdout)["figures"]
        assert found["pages"] == status["pages"] in range(20, 30), "with those in flight at the end"
        assert f"ledger: {job}" in done.stderr
        assert len(items.read_text().splitlines()) >= 20
        told = replica("explain", seeds, "--job", job)
        assert "state: fetched" in told.stdout
        assert "ip: 127.0.0.1" in replica("explain", f"127.0.0.1:{server.server_port}", "--job", job).stdout

    def test_no_seed_answers(self, server, tmp_path):
        seeds = f"http://127.0.0.1:{server.server_port}/robots.txt"
        done = replica("crawl", seeds, "--job", tmp_path, *HASTE)
        assert done.returncode == 1
        assert "no seed was answered with a page" in done.stderr
        again = replica("crawl", seeds, "--job", tmp_path, *HASTE)
        assert again.returncode == 0, "nothing was left to do"
        assert f"nothing waits in {tmp_path}, everything in scope was fetched: another --job begins" in again.stderr

    def test_interrupted_and_taken_up(self, server, tmp_path):
        seeds = f"http://127.0.0.1:{server.server_port}/"
        command = [sys.executable, "-m", "scrapy", "replica", "crawl", seeds, "--job", str(tmp_path), "--json", *HASTE]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert server.is_busy.wait(60)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert json.loads(out)["figures"]["pages"] >= 20
        assert "Traceback" not in err
        before = set(server.answered)
        assert "being fetched" not in {state for states in job_states(tmp_path).values() for state in states}
        done = replica("crawl", seeds, "--job", tmp_path, "--max-pages", 10, *HASTE)
        assert done.returncode == 0
        assert "The job so far:\nnothing was decided against a URL\n" in done.stdout
        after = server.answered - before - {"/robots.txt"}
        assert len(after) >= 10
        assert {int(path[1:]) for path in after}.isdisjoint(
            int(path[1:] or 0) for path in before if path != "/robots.txt"
        )


class TestExtras:
    @pytest.mark.parametrize(
        ("module", "question"),
        [
            ("rapidfuzz", ["noise", "."]),
            ("publicsuffixlist", ["visits", __file__, "--topic", "x"]),
        ],
    )
    def test_what_the_laboratory_lacks_is_named_in_one_line(self, tmp_path, module, question):
        program = f"import sys; sys.modules[{module!r}] = None; from scrapy.cmdline import execute; execute()"
        arguments = ["replica", "lab", *question]
        found = subprocess.run(
            [sys.executable, "-c", program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert found.returncode == 2
        assert found.stderr.count("\n") == 1
        assert f"needs {module}" in found.stderr
        assert "pip install 'scrapy-replica[lab]'" in found.stderr


DEAD = "http://127.0.0.1:1/"


class TestWhatCannotBegin:
    @pytest.mark.parametrize("given", ["example.org", "www.example.org:8080/docs", "localhost:8000", "127.0.0.1"])
    def test_a_url_without_its_scheme_is_suggested(self, given, tmp_path):
        slash = "" if "/" in given else "/"
        code, _, err = replica_here("crawl", given, "--job", tmp_path / "job")
        assert (code, err) == (
            2,
            f"scrapy replica crawl: seeds: {given} is no URL; did you mean https://{given}{slash}?\n",
        )

    @pytest.mark.parametrize("wrong", [["--strategy", "worst"], ["--topic", "nowhere"], ["--until", "3"]])
    def test_a_refused_crawl_leaves_no_folder(self, wrong, tmp_path):
        done = replica("crawl", DEAD, "--job", "jobs/a", *wrong, cwd=tmp_path)
        assert done.returncode == 2
        assert list(tmp_path.iterdir()) == []

    def test_a_refused_crawl_leaves_a_folder_that_was_there(self, tmp_path):
        (tmp_path / "job").mkdir()
        (tmp_path / "job" / "notes.txt").write_text("mine")
        assert replica("crawl", DEAD, "--job", "job", "--strategy", "worst", cwd=tmp_path).returncode == 2
        assert [path.name for path in (tmp_path / "job").iterdir()] == ["notes.txt"]

    def test_a_refused_crawl_leaves_files_that_are_called_like_a_job_s(self, tmp_path):
        (tmp_path / "job").mkdir()
        (tmp_path / "job" / "replica.sqlite.bak").write_text("mine")
        assert replica("crawl", DEAD, "--job", "job", "--strategy", "worst", cwd=tmp_path).returncode == 2
        assert [path.name for path in (tmp_path / "job").iterdir()] == ["replica.sqlite.bak"]

    def test_a_crawl_that_is_refused_beside_another_leaves_its_job(self, tmp_path):
        undo = run.undoing(str(tmp_path / "job"))
        (tmp_path / "job").mkdir()
        beside = SqliteCrawlDB(tmp_path / "job")
        undo()
        assert (tmp_path / "job" / "replica.sqlite").is_file()
        beside.close()

    def test_the_trace_of_a_callback_stays(self):
        def told(text):
            error = OSError("the disk of a pipeline")
            record = logging.LogRecord("scrapy.core.scraper", logging.ERROR, "", 1, text, (), (OSError, error, None))
            return run.without_trace(record), record.exc_info is not None

        assert told("Spider error processing <GET http://a.example/> (referer: None)") == (True, True)
        assert told("Error downloading <GET http://a.example/>") == (True, False)

    def test_an_item_that_cannot_be_told_stops_nothing(self):
        """The message was made of each item, at whatever level: one nested deeper than Python goes was never given."""
        item = []
        for _ in range(100_000):
            item = [item]
        record = logging.LogRecord("scrapy.core.scraper", logging.DEBUG, "", 1, "Scraped %s", (item,), None)
        assert run.without_trace(record)

    def test_a_dead_seed_is_one_line_and_its_job_goes_on_with_no_other_site(self, tmp_path):
        once = ("-s", "RETRY_ENABLED=False", *HASTE)
        dead = replica("crawl", DEAD, "--job", "job", *once, cwd=tmp_path)
        assert dead.returncode == 1
        assert [line for line in dead.stderr.splitlines() if "refused" in line] == [
            line for line in dead.stderr.splitlines() if f"Error downloading <GET {DEAD}>: " in line
        ]
        assert "Traceback" not in dead.stderr
        new = "http://127.0.0.2:1/"
        other = replica("crawl", new, "--job", "job", *once, cwd=tmp_path)
        assert (other.returncode, other.stderr.count("\n")) == (2, 1)
        assert "that crawl began on 127.0.0.1:1, and 127.0.0.2:1 is another site" in other.stderr
        assert replica("steer", "add", "job", new, cwd=tmp_path).returncode == 0
        assert "another site" not in replica("crawl", new, "--job", "job", *once, cwd=tmp_path).stderr
        assert "everything in scope was fetched" in replica("crawl", DEAD, "--job", "job", *once, cwd=tmp_path).stderr


def test_a_reader_that_goes_away_and_a_terminal_without_unicode_are_no_errors(tmp_path):
    command = f"{sys.executable} -W error -m scrapy replica | true"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
