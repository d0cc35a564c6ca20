"""``scrapy replica mine``: from inputs to the files that the next crawl begins with."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import sys
from contextlib import redirect_stdout

import pytest
from command_line import replica
from pyarrow import parquet
from scrapy.cmdline import execute
from test_live_replicas import ALL, crawl_sites, site
from test_mining_inputs import collected, line, warc_of
from web import page

from scrapy_replica.commands import INTERRUPTED
from scrapy_replica.lab.replicas.replica_pairs import read_truth
from scrapy_replica.mining import expressions, run
from scrapy_replica.mining.rows import TableWriter
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.sites.judge import Judge, judge_at
from scrapy_replica.urls.interchange import rules_at
from scrapy_replica.urls.rule import Step

FILES = {
    "aliases.txt", "clusters.parquet", "groups.csv", "judge.json", "mine.json", "rules.json", "uncertain.csv",
    "verdicts.csv",
}  # fmt: skip


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def warc(tmp_path_factory):
    """A site, another name of it, one below a path, and a site of its own; session ids on the first."""
    sites = [site("http://a.example", "w"), site("http://b.example/m", "w"), site("http://other.example", "x")]
    names = [(url.replace("//", "//www."), body.replace("//", "//www.")) for url, body in sites[0].items()]
    sites.append(dict(names))
    captures = [(url, 200, body) for pages in sites for url, body in pages.items()]
    captures += [(f"{url}?sid={n}", 200, body) for n, (url, body) in enumerate(sites[0].items())]
    return warc_of(tmp_path_factory.mktemp("web") / "web.warc.gz", captures)


@pytest.fixture(scope="module")
def mined(warc, tmp_path_factory):
    """The folder that was written, what was told a person, and what a program."""
    folder = tmp_path_factory.mktemp("mined")
    told = {}
    for name, options in (("words", ()), ("json", ("--json",))):
        with redirect_stdout(io.StringIO()) as output, pytest.raises(SystemExit) as end:
            execute(["scrapy", "replica", "mine", str(warc), "--out", str(folder / name), *options])
        assert not end.value.code
        told[name] = output.getvalue()
    return folder / "json", told["words"], json.loads(told["json"])


class TestOutputs:
    def test_all_files_are_there_and_nothing_else(self, mined):
        assert {path.name for path in mined[0].iterdir()} == FILES

    def test_verdicts_and_groups(self, mined):
        out, _, _ = mined
        verdicts = table(out / "verdicts.csv")
        assert {(row["copy"], row["copy_prefix"]) for row in verdicts} == {("www.a.example", ""), ("b.example", "m")}
        assert all(row["sure"] == "yes" and float(row["score"]) > 0.8 for row in verdicts)
        assert all("pages in equal places that agree: " in row["evidence"] for row in verdicts)
        hosts = ["a.example", "b.example", "www.a.example"]
        assert table(out / "groups.csv") == [{"kept": "a.example", "host": host} for host in hosts]

    def test_a_crawl_loads_what_it_is_to_begin_with(self, mined):
        out, _, _ = mined
        aliases = Aliases.from_file(out / "aliases.txt")
        assert aliases.canonical_host("www.a.example") == "a.example"
        assert aliases.canonical_host("b.example") == "b.example"
        (rule,) = rules_at(out / "rules.json")
        assert (rule.host, rule.transformation) == ("a.example", (Step("drop", "sid"),))
        learnt = judge_at(out / "judge.json")
        assert learnt.lac.cube.counts.sum() > Judge.load().lac.cube.counts.sum()

    def test_clusters(self, mined):
        rows = parquet.read_table(mined[0] / "clusters.parquet").to_pylist()
        assert len(rows) == 3 * 40 + 39  # the front page of the copy has a text of its own
        by_cluster = {}
        for row in rows:
            by_cluster.setdefault(row["cluster"], set()).add(row["url"])
        front = {"http://a.example/", "http://www.a.example/", "http://a.example/?sid=***"}
        assert front in by_cluster.values()

    def test_figures(self, mined):
        out, _, told = mined
        assert told == json.loads((out / "mine.json").read_text())
        figures = told["figures"]
        expected = {"pages": 200, "verdicts": 2, "groups": 1, "hosts_in_groups": 3, "aliases": 1, "rules": 1}
        assert {name: figures[name] for name in expected} == expected
        assert told["inputs"]["engine"] == "duckdb"

    def test_a_person_reads_what_lies_where(self, mined):
        out, told, _ = mined
        assert "hosts that are copies of others                        2\n" in told
        assert all(f"{out.with_name('words')}/{name} " in told for name in FILES)


@pytest.mark.asyncio
async def test_a_job_is_mined(tmp_path):
    """Pages that the crawl did not fetch of a copy are known by their URLs; rules that acted are handed on."""
    job = tmp_path / "job"
    await crawl_sites(
        site("http://a.example", "w"), site("http://b.example/m", "w"), settings=ALL | {"JOBDIR": str(job)}
    )
    from scrapy_replica.commands.job import reading
    from scrapy_replica.mining import inputs

    found = run.mine(
        inputs.sources_of([str(job)]), tmp_path / "out", "duckdb", inputs.Openers(reading, list), Judge.load()
    )
    assert [(verdict.copy, verdict.canonical) for verdict in found.judged.verdicts] == [("b.example", "a.example")]
    assert found.figures["pages"] < 60


class TestRefusals:
    def test_wrong_use_is_told_in_one_line(self, tmp_path):
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "file").touch()
        cdx = tmp_path / "a.cdx"
        cdx.write_text(line())
        (tmp_path / "empty.cdx").touch()
        for arguments, told in (
            ([tmp_path / "nowhere", "--out", tmp_path / "o"], "nowhere: there is no such file or folder"),
            ([tmp_path / "empty.cdx", "--out", tmp_path / "o"], "empty.cdx is empty"),
            ([cdx, "--out", tmp_path / "full"], "full is not empty: name a new folder with --out"),
            ([cdx, "--out", tmp_path / "o", "--engine", "spork"], "there is no engine 'spork'"),
            ([cdx, "--out", cdx], "a.cdx"),
            ([cdx, "--out", tmp_path / "p", "-s", "REPLICA_JUDGE=nowhere"], "REPLICA_JUDGE: cannot read nowhere"),
        ):
            code, out, err = replica("mine", *arguments)
            assert (code, out, err.count("\n")) == (2, "", 1), arguments
            assert told in err
        assert not (tmp_path / "o").exists()

    def test_without_spark_nothing_is_written(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyspark.sql", None)
        (tmp_path / "a.cdx").write_text(line())
        code, _, err = replica("mine", tmp_path / "a.cdx", "--out", tmp_path / "o", "--engine", "local[2]")
        assert (code, err.count("\n")) == (2, 1)
        assert "pip install 'scrapy-replica[spark]'" in err
        assert not (tmp_path / "o").exists()

    def test_inputs_without_a_page(self, tmp_path):
        (tmp_path / "a.cdx").write_text(line(status="404") + line(mime="image/png"))
        code, _, err = replica("mine", tmp_path / "a.cdx", "--out", tmp_path / "o")
        assert code == 2
        assert "there is no page in the inputs: 1 not status 200, 1 not HTML\n" in err
        assert not (tmp_path / "o").exists()

    def test_after_a_wrong_input_the_same_folder_takes_a_right_one(self, warc, tmp_path):
        (tmp_path / "wrong.txt").write_text("no record")
        code, _, err = replica("mine", tmp_path / "wrong.txt", "--out", tmp_path / "o")
        assert (code, err.count("\n")) == (2, 1)
        assert replica("mine", warc, "--out", tmp_path / "o")[0] == 0

    def test_what_a_run_has_found_is_not_written_over(self, mined, warc):
        code, _, err = replica("mine", warc, "--out", mined[0])
        assert code == 2
        assert "holds what a run has found" in err

    def test_nothing_found_is_no_failure_and_no_success(self, tmp_path):
        (tmp_path / "a.cdx").write_text(line())
        code, _, err = replica("mine", tmp_path / "a.cdx", "--out", tmp_path / "o")
        assert (code, err) == (1, "")


class TestGoingOn:
    def interrupted(self, monkeypatch, error):
        def rows(_):
            raise error

        monkeypatch.setitem(expressions.TABLES, "rows", rows)

    def test_the_same_command_goes_on(self, warc, tmp_path, monkeypatch):
        out = tmp_path / "mined"
        with monkeypatch.context() as patch:
            self.interrupted(patch, KeyboardInterrupt())
            assert replica("mine", warc, "--out", out)[0] == INTERRUPTED
        made = {path: path.stat().st_mtime_ns for name in ("pairs", "weak") for path in (out / "work" / name).iterdir()}
        monkeypatch.setitem(expressions.TABLES, "pairs", None)  # not made again
        assert made
        assert replica("mine", warc, "--out", out)[0] == 0
        assert {path.name for path in out.iterdir()} == FILES
        assert len(table(out / "verdicts.csv")) == 2

    def test_another_command_does_not(self, warc, tmp_path, monkeypatch):
        out = tmp_path / "mined"
        with monkeypatch.context() as patch:
            self.interrupted(patch, KeyboardInterrupt())
            replica("mine", warc, "--out", out)
        (tmp_path / "a.cdx").write_text(line())
        code, _, err = replica("mine", warc, tmp_path / "a.cdx", "--out", out)
        assert code == 2
        assert f"delete {out}" in err

    def test_a_full_disk_is_one_line(self, warc, tmp_path, monkeypatch):
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(TableWriter, "_flush", full)
            code, _, err = replica("mine", warc, "--out", tmp_path / "mined")
        assert code == 2
        told = "the disk is full; make room, and the same command goes on where it was"
        assert err == f"scrapy replica mine: {tmp_path}/mined: {told}\n"
        assert replica("mine", warc, "--out", tmp_path / "mined")[0] == 0


@pytest.mark.shared
def test_real_replicas_are_found(shared, tmp_path):
    """In every second family, in order of name, beside the others of which the folder has pairs with them."""
    truth = read_truth(shared / "replicas")
    families = sorted({row["family"] for row in truth} - {""})[::2]
    hosts = {row[side] for row in truth if row["family"] in families for side in ("host_a", "host_b")}
    rows = [row for row in truth if {row["host_a"], row["host_b"]} <= hosts]
    with (tmp_path / "truth.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    out, warcs = tmp_path / "mined", [shared / "replicas" / "warc" / f"{host}.warc.gz" for host in sorted(hosts)]
    assert replica("mine", *warcs, "--out", out)[0] == 0
    code, told, _ = replica("lab", "replicas", tmp_path, "--groups", out / "groups.csv", "--json")
    figures = json.loads(told)["figures"]
    assert code == 0
    # 26 of 26 pairs measured, of 27 replicas, 75 near misses, 904 others
    assert figures["groups.precision"] == 1.0
    assert figures["groups.recall"] >= 0.96


class TestManyFiles:
    def test_many_are_read_in_processes_of_their_own(self, tmp_path):
        for n in range(3):
            warc_of(tmp_path / f"{n}.warc.gz", [(f"http://{n}.example/", 200, page(seed=n))])
        rows, _, _, counts = collected(tmp_path, tmp_path)
        assert sorted(row.host for row in rows) == ["0.example", "1.example", "2.example"]
        assert counts == {"pages": 3}

    def test_what_fails_in_one_of_them_is_told(self, tmp_path):
        warc_of(tmp_path / "1.warc.gz", [("http://1.example/", 200, page(seed=1))])
        (tmp_path / "2.warc.gz").write_bytes(gzip.compress(b"WARC is not what this is"))
        with pytest.raises(ValueError, match=r"2\.warc\.gz is no WARC file"):
            collected(tmp_path, tmp_path)
