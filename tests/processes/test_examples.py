"""Each example does what its folder promises, on the web that all of them share."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from pydoc_web import HOSTS, PydocWeb  # noqa: E402

CODE = str(Path(__file__).parents[2])


@pytest.fixture(scope="module")
def web(tmp_path_factory):
    with PydocWeb(cache=tmp_path_factory.mktemp("pydoc"), modules_limit=40) as web:
        yield web


@pytest.fixture
def run(web, tmp_path):
    """Run an example in a copy of the folder; return what it printed."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    web.write_topic(tmp_path / "topic")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    python_path = os.pathsep.join(filter(None, [CODE, os.environ.get("PYTHONPATH")]))
    own = {"http_proxy": web.proxy_url, "no_proxy": "", "TOPIC": str(tmp_path / "topic"), "COLUMNS": "80"}
    environment = {**os.environ, **own, "PATH": path, "PYTHONPATH": python_path}

    def runs(name):
        folder = tmp_path / "examples" / name
        command = ["/bin/sh", "run.sh"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        assert "Traceback" not in done.stderr
        return folder, done.stdout

    return runs


def items(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_existing_spider(run):
    folder, told = run("existing_spider")
    without, with_addon = ({item["title"] for item in items(folder / f"{name}.jsonl")} for name in ("without", "with"))
    # Which titles stand among 300 pages depends on what answers first, in both crawls: 74 to 105 were seen.
    assert len(with_addon) >= 0.7 * len(without) > 0
    assert "pages (status 200)" in told


def test_topic_crawl(run, web):
    folder, told = run("topic_crawl")
    found = [item for item in items(folder / "pages.jsonl") if item["relevance"] > 0.5]
    assert found
    assert sum(web.truth(item["url"]).is_networking for item in found) > len(found) / 2
    assert "http://docs.pydoc.example/pages/socket.html" in told
    assert len((folder / "pages.csv").read_text(encoding="utf-8").splitlines()) > 100


def test_mirrors(run):
    folder, told = run("mirrors")
    assert "archive.other.example" in (folder / "host-urlnormalizer.txt").read_text() + told
    assert "www.docs.pydoc.example" in told
    assert "allow" in told


def test_rehearsal(run):
    folder, told = run("rehearsal")
    (warc,) = (folder / "warcs").glob("*.warc.gz")
    kinds = WarcRecordType.response | WarcRecordType.revisit
    with warc.open("rb") as file:
        kept = {record.headers["WARC-Target-URI"] for record in ArchiveIterator(file, kinds)}
    assert len(kept) > 150  # the pages, of five hosts behind a proxy, and the files robots.txt
    assert {urlsplit(url).hostname for url in kept} == {*HOSTS} - {"archive.other.example"}  # another domain
    assert len(re.findall(r"^pages +\d+$", told, re.MULTILINE)) == 3


def test_ledger_sql(run):
    _, told = run("ledger_sql")
    assert "decisions by reason\n   " in told
    assert "what waits, best first" in told


def test_revisit(run):
    folder, told = run("revisit")
    first, second = items(folder / "first.jsonl"), items(folder / "second.jsonl")
    assert len(first) > 20
    assert len(second) < len(first) / 2
    assert int(re.search(r"^pages not modified \(304\) +(\d+)$", told, re.MULTILINE)[1]) > len(first) / 2
