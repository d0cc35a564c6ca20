"""How fast webs are made: pages a second as archive and as WARC, by the wall clock and by processor time."""

from __future__ import annotations

import resource
import time

import pytest

from scrapy_replica.lab.generation.build import build

PAGES = {False: 100_000, True: 20_000}


@pytest.mark.parametrize("as_warc", [False, True], ids=["archive", "warc"])
def test_pages_a_second(as_warc, tmp_path):
    pages, wall, cpu = PAGES[as_warc], time.perf_counter(), time.process_time()
    build(pages, 1, tmp_path / "web", as_warc=as_warc)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    size = sum(file.stat().st_size for file in (tmp_path / "web").rglob("*") if file.is_file())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"\n{pages:,} pages: {pages / wall:,.0f} a second, {pages / cpu:,.0f} a second of processor time,")
    print(f"{size / pages:.0f} bytes a page on the disk, {memory:.2f} GB of memory")
