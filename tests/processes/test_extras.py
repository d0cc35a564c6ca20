"""Without extras everything works but what needs them, and that says in one line what to install."""

from __future__ import annotations

import json
import subprocess
import sys
from configparser import ConfigParser
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_hosts_command import enter
from web import page

from scrapy_replica.commands import load_commands
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB

BLOCK = """
import sys

class Block:
    def __init__(self, finder):
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._finder, name)

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in BLOCKED else self._finder.find_spec(name, path, target)

sys.meta_path[:] = map(Block, sys.meta_path)
from scrapy.cmdline import execute
"""

ONE = "execute(sys.argv)"

MANY = """
import contextlib, io, json
told = []
for line in sys.argv[1:]:
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        try:
            execute(["scrapy", "replica", *line.split()])
        except SystemExit as end:
            told.append([line, end.code or 0, said.getvalue()])
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def blocked():
    """Top-level modules of all that is installed here and that a bare install does not bring."""
    setup = ConfigParser()
    setup.read(Path(__file__).parents[2] / "setup.cfg")
    brought, ahead = {"scrapy-replica"}, setup["options"]["install_requires"].split()
    while ahead:
        need = Requirement(ahead.pop())
        name = canonicalize_name(need.name)
        if name not in brought and (need.marker is None or need.marker.evaluate({"extra": ""})):
            brought.add(name)
            ahead += requires(name) or ()
    found = packages_distributions()
    modules = {module for module, names in found.items() if brought.isdisjoint(map(canonicalize_name, names))}
    assert modules >= {"tqdm", "fastwarc", "sklearn", "scipy", "matplotlib", "pyarrow", "pandas", "pytest"}
    assert modules >= {"jinja2", "markupsafe", "vl_convert", "redis", "hiredis", "msgpack"}
    assert not modules & {"scrapy", "twisted", "packaging", "numpy"}
    return modules


@pytest.fixture
def bare(blocked, tmp_path):
    """Run ``scrapy`` where nothing can be imported but what a bare install brings."""

    def run(*arguments, how=ONE):
        command = [sys.executable, "-W", "error", "-c", f"BLOCKED = {blocked!r}{BLOCK}{how}", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    return run


@pytest.mark.parametrize("arguments", [["version"], ["startproject", "new"], [], ["replica", "-h"]])
def test_scrapys_commands(bare, arguments):
    done = bare(*arguments)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_crawl(bare, tmp_path):
    (tmp_path / "page.html").write_text(page(seed=1))
    done = bare("replica", "crawl", (tmp_path / "page.html").as_uri(), "-o", "items.jsonl", "--job", "job")
    assert done.returncode == 0, done.stderr
    assert '"novelty": "novel"' in (tmp_path / "items.jsonl").read_text()


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["crawl", "http://a.example/", "--warc", "warc"], "warc"),
        (["rehearse", "file", "--seeds", "http://a.example/"], "warc"),
        (["lab", "visits", "file", "--topic", "x"], "lab"),
        (["lab", "text", "file"], "lab"),
        (["lab", "replicas", "."], "lab"),
        (["lab", "noise", "."], "lab"),
        (["report", "file"], "report"),
        (["serve", "job"], "report"),
        (["mine", "file", "--out", "out"], "mine"),
        (["lab", "archive", "build", "file", "--out", "out"], "lab"),
        (["lab", "archive", "show", "file"], "lab"),
        (["lab", "generate", "--pages", "5", "--out", "out"], "lab"),
        (["lab", "generate", "--pages", "5", "--out", "out", "--warc"], "warc"),
        (["lab", "generate", "--show", "file"], "lab"),
        (["crawl", "http://a.example/", "--join", "redis://127.0.0.1:1"], "redis"),
        (["status", "redis://127.0.0.1:1"], "redis"),
        (["steer", "block", "b.example", "--as", "a.example", "--job", "redis://127.0.0.1:1"], "redis"),
    ],
)
def test_what_needs_an_extra_names_it(bare, tmp_path, arguments, extra):
    (tmp_path / "file").write_text("something")
    done = bare("replica", *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert f"pip install 'scrapy-replica[{extra}]'" in done.stderr


def test_a_file_that_is_not_there_is_named_first(bare):
    """Who installs an extra to hear of a wrong name has been sent on an errand."""
    done = bare("replica", "lab", "text", "nowhere.parquet")
    assert (done.returncode, done.stderr) == (2, "scrapy replica lab text: there is no nowhere.parquet\n")


def test_calibrate_leaves_out_the_picture_alone(bare, tmp_path):
    (tmp_path / "pages").mkdir()
    for number in range(2):
        (tmp_path / "pages" / f"{number}.html").write_text(page(seed=number))
    done = bare("replica", "lab", "calibrate", "pages", "--out", "out", "-s", "REPLICA_NOISE=none")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "pip install 'scrapy-replica[report]'" in done.stderr
    written = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert written == ["calibration.json", "histogram.csv", "pairs.csv", "pairs.html", "thresholds.csv"]


WORK = (
    "status job",
    "explain http://a.example/ --job job",
    "hosts --job job",
    "hosts job --undecided",
    "steer block b.example --as a.example --job job",
    "steer allow b.example --job job",
    "steer add http://a.example/new --job job",
    "steer exclude */calendar/* --job job",
    "steer pause a.example --job job",
    "steer resume a.example --job job",
    "rules list --job job",
    "rules export --job job",
    "export job links --format csv --out links.csv",
    "export job links --format jsonl --out links.jsonl",
    "export job links --format gexf --out links.gexf",
    "doctor job --salvage mended",
    "doctor job",
    "lab revisits --pages 20 --passes 2",
    "lab capacity --urls 1000 --hosts 10",
)
"""Commands that do their work without extras."""

TOPIC = ("export job model --out topic.npz", "judge job")
"""Those that this job has no topic for."""

NOTHING = "mine job --index collection.index"
"""Writes an index of no page, and says so by its exit code: the pages of the job have no text."""

PARQUET = "export job links --format parquet --out links.parquet"


def test_the_other_commands(bare, tmp_path):
    (tmp_path / "job").mkdir()
    store = SqliteCrawlDB(tmp_path / "job")
    for number, host in enumerate(("a.example", "b.example")):
        enter(store, f"http://{host}/", host, number)
    store.close()
    done = bare(*WORK, *TOPIC, NOTHING, PARQUET, how=MANY)
    assert done.returncode == 0, done.stderr
    told = {line: (code, said) for line, code, said in json.loads(done.stdout)}
    assert {line: told[line] for line in WORK if told[line][0]} == {}
    assert all(told[line][0] == 2 and "topic" in told[line][1] for line in TOPIC)
    assert told[NOTHING][0] == 1
    assert told[PARQUET][0] == 2
    assert "pip install 'scrapy-replica[parquet]'" in told[PARQUET][1]
    used = {line.split()[0] for line in (*WORK, *TOPIC, NOTHING)}
    assert used | {"crawl", "rehearse", "report", "serve"} == {command.name for command in load_commands()}
