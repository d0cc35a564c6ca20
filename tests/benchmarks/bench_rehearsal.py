"""The whole add-on: CPU time a page beside plain Scrapy with the same spider, on a real campus web from a WARC."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

import pytest

PAGES = 5_000
ROUNDS = 3
FRONT_PAGES = (
    "https://www.ics.uci.edu/ https://www.cs.uci.edu/ https://www.informatics.uci.edu/ https://www.stat.uci.edu/"
)


def rehearse(warc, topic, *arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", "scrapy", "replica", "rehearse", str(warc), "--seeds", FRONT_PAGES]
    command += ["--topic", str(topic), "--max-pages", str(PAGES), "--json", *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["figures"]


@pytest.mark.shared
def test_addon_beside_plain_scrapy(shared, tmp_path, capsys):
    (tmp_path / "topic.txt").write_text("machine learning, neural networks, classifiers and statistical inference " * 9)
    warc = shared / "web" / "campus.warc.gz"
    runs: dict[str, list[dict[str, float]]] = {"plain": [], "best-first": [], "breadth-first": []}
    for _ in range(ROUNDS):
        runs["plain"].append(rehearse(warc, tmp_path, "--plain"))
        for strategy in ("best-first", "breadth-first"):
            runs[strategy].append(rehearse(warc, tmp_path, "--strategy", strategy))
    cpu = {name: statistics.median(run["cpu_ms_per_page"] for run in figures) for name, figures in runs.items()}
    with capsys.disabled():
        print(f"\nrehearsal of {PAGES:,} pages, CPU ms a page (median of {ROUNDS})")
        print("  and the ratio to plain Scrapy (target 1.5, aim 1.25)")
        for name, value in cpu.items():
            print(f"  {name:<14} {value:6.3f}  {value / cpu['plain']:5.2f}x")
