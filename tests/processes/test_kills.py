"""Crawls that are killed: the items over all runs are those of an undisturbed crawl, and verdicts hold.

``KILLS=100 pytest tests/processes/test_kills.py`` for a hundred of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from replica_kill_target import SITES
from test_live_replicas import ALL, crawl_sites, held
from test_warc import captured
from web import job_states

from scrapy_replica.components.spider import USUAL
from scrapy_replica.warc.folder import OPEN

KILLS = int(os.environ.get("KILLS", "15"))
PAGES = 200 + 15 * KILLS
TESTS = Path(__file__).parents[1]
TARGET = TESTS / "kills_target.py"


def items(folder: Path, kills: int) -> tuple[set[str], str]:
    """Return the items of a job killed so many times, as a set, and what it printed."""
    command = [sys.executable, str(TARGET), str(folder / "job"), str(folder / f"items{kills}"), str(kills), "1"]
    environment = {**os.environ, "PAGES": str(PAGES)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return set((folder / f"items{kills}").read_text().splitlines()), done.stdout


def test_items_are_those_of_an_undisturbed_crawl(tmp_path):
    undisturbed, _ = items(tmp_path, 0)
    killed, hits = items(tmp_path, KILLS)
    assert all('"is_whole": false' not in item for item in undisturbed)
    assert undisturbed - killed == set()
    assert killed - undisturbed == set()
    assert int(hits) >= 0.9 * KILLS  # the others came when the job was done


@pytest.mark.asyncio
async def test_verdicts_hold(tmp_path):
    target = [sys.executable, str(TESTS / "replica_kill_target.py"), str(tmp_path), "45"]
    killed = subprocess.run(target, capture_output=True, text=True, timeout=120, check=False)
    assert killed.returncode == -9, killed.stderr
    before = held(tmp_path)
    assert set(before) == {"b.example"}
    done = await crawl_sites(*SITES, settings=ALL | {"JOBDIR": str(tmp_path)})
    assert held(tmp_path) == before
    assert len([url for url in done.urls if "b.example" in url]) <= 8  # what was in flight
    assert {"done", "dropped"} == {state for found in job_states(tmp_path).values() for state in found}


def test_no_record_and_no_item_is_lost(tmp_path):
    command = [sys.executable, str(TESTS / "warc_kill_target.py"), str(tmp_path)]
    killed = subprocess.run([*command, "85"], capture_output=True, text=True, timeout=60)
    assert killed.returncode == -9, killed.stderr
    assert list((tmp_path / "warc").glob(f"*{OPEN}"))
    done = {url for url, states in job_states(tmp_path / "job").items() if "done" in states}
    whole = (tmp_path / "items.csv").read_text().rpartition("\n")[0]
    assert len(done) > 10
    assert done <= {line.split(",")[0] for line in whole.splitlines()}
    with (tmp_path / "items.csv").open("a") as file:
        file.write('http://a.example/half,"of a')
    finished = subprocess.run([*command, "0"], capture_output=True, text=True, timeout=60)
    assert finished.returncode == 0, finished.stderr
    everything = {f"http://h{n % 7}.example/{n}" for n in range(100)}
    assert captured(tmp_path / "warc") == everything
    assert not list((tmp_path / "warc").glob(f"*{OPEN}"))
    header, *rows = (tmp_path / "items.csv").read_text().splitlines()
    assert header == ",".join(USUAL)
    assert {row.split(",")[0] for row in rows} == everything
