"""One job, killed again and again at random: the items over all runs are those of an undisturbed crawl.

``KILLS=100 pytest tests/processes/test_kills.py`` for a hundred of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KILLS = int(os.environ.get("KILLS", "25"))
PAGES = 200 + 15 * KILLS
TARGET = Path(__file__).parents[1] / "kills_target.py"


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
