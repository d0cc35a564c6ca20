"""What a page costs more for patience, for an index of a collection, and a job for its version: medians of turns.

``pytest tests/benchmarks/bench_beyond.py -s -o python_files='bench_*.py'``
"""

from __future__ import annotations

import statistics
import time
from types import SimpleNamespace

import numpy as np
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings

from scrapy_replica.components.patience import PatienceMiddleware
from scrapy_replica.components.politeness import Politeness
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.pages.collection import Collection, write_collection
from scrapy_replica.records import Page

TURNS, TIMES, SLOT = 7, 20_000, "a.example"


def patience():
    """Return what is done when a request is given out and ends, and when it is answered."""
    limits = Settings({"CONCURRENT_REQUESTS_PER_DOMAIN": 8})
    downloader = SimpleNamespace(settings=limits, slots={}, per_slot_settings={})
    ignored = SimpleNamespace(hold=lambda _: None, release=lambda _: None)
    politeness = Politeness(downloader, hold=ignored.hold, release=ignored.release, now=time.monotonic, asked={})
    extension = SimpleNamespace(rest=lambda *_: None, recover=politeness.recover)
    middleware = PatienceMiddleware(SimpleNamespace(settings=Settings()), extension)
    request = Request(f"http://{SLOT}/", meta={"download_slot": SLOT})
    response = Response(request.url, request=request)

    def given_out():
        politeness.started(SLOT)
        politeness.ended(SLOT)

    return given_out, lambda: middleware.process_response(request, response)


def looked_up(folder):
    draw = np.random.default_rng(1)
    with (folder / "index").open("wb") as file:
        write_collection([draw.integers(0, 1 << 64, (1_000_000, 3), dtype=np.uint64)], "learned", file, folder)
    known = Collection(folder / "index")
    pages = iter([Page(url=f"http://{SLOT}/", host=SLOT, signature=draw.bytes(16)) for _ in range(TURNS * TIMES)])
    return lambda: known.has(next(pages))


def test_costs(tmp_path):
    store = SqliteCrawlDB(tmp_path)
    works = dict(zip(("request given out", "answer"), patience(), strict=True))
    works |= {"page that a collection lacks": looked_up(tmp_path), "version of a job": store.connection._check}
    spent = {what: [] for what in works}
    for _ in range(TURNS):
        for what, work in works.items():
            begun = time.process_time()
            for _ in range(TIMES):
                work()
            spent[what].append(1e6 * (time.process_time() - begun) / TIMES)
    print()
    for what, each in spent.items():
        print(f"{what:<30}{statistics.median(each):6.2f} us ({min(each):.2f} to {max(each):.2f})")
    store.close()
