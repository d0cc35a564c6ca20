"""Discovering 20 links and taking one URL, with a million URLs (or ``BENCH_URLS``) waiting on 10,000 hosts."""

from __future__ import annotations

import os
import random
import resource
import statistics
import time
from pathlib import Path

from scrapy_replica.components.fingerprinter import host_key
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB

WAITING = int(os.environ.get("BENCH_URLS", "1_000_000"))
HOSTS = 10_000
LINKS_PER_PAGE = 20
OWN_HOST_LINKS = 14  # of the links of a real university crawl 46 to 97 % stay on their page's host
PAGES = 10_000


def new_url(rng: random.Random, host: str) -> NewUrl:
    url = f"http://{host}/section/{rng.randrange(100)}/article-{rng.getrandbits(40)}.html"
    return NewUrl(url, host, host_key(host, rng.randbytes(8)), rng.random(), depth=3, parent=1)


def links_of_a_page(rng: random.Random) -> list[NewUrl]:
    own = some_host(rng)
    return [new_url(rng, own if n < OWN_HOST_LINKS else some_host(rng)) for n in range(LINKS_PER_PAGE)]


def some_host(rng: random.Random) -> str:
    return f"host{rng.randrange(HOSTS)}.example"


def rss_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def quantile(values: list[float], share: float) -> float:
    return 1e3 * sorted(values)[int(share * (len(values) - 1))]


def test_discover_and_take(tmp_path, capsys, figures):
    rng = random.Random(1)
    before = rss_bytes()
    db = SqliteCrawlDB(tmp_path)
    filling = []
    for _ in range(WAITING // LINKS_PER_PAGE):
        links = links_of_a_page(rng)
        start = time.perf_counter()
        with db.span():
            db.urls.discover(links)
        db.commit()
        filling.append(time.perf_counter() - start)
    costs, stalls = [], []
    for _ in range(PAGES):
        links = links_of_a_page(rng)
        start, cpu = time.perf_counter(), time.process_time()
        taken = db.urls.take()
        with db.span():
            db.urls.discover(links)
            db.urls.finish([taken.id])
        db.commit()
        costs.append(time.process_time() - cpu)
        stalls.append(time.perf_counter() - start)
    growth = rss_bytes() - before
    db.close()
    size = (tmp_path / FILE_NAME).stat().st_size / (WAITING + PAGES * LINKS_PER_PAGE)
    start = time.perf_counter()
    again = SqliteCrawlDB(tmp_path)
    first = again.urls.take()
    opened = time.perf_counter() - start
    assert first is not None
    again.close()
    with capsys.disabled():
        print(f"\nfrontier, {WAITING:,} URLs waiting on {HOSTS:,} hosts")
        print(f"  discover {LINKS_PER_PAGE} new links, take, finish, commit:", end=" ")
        print(f"median {quantile(costs, 0.5):.3f} ms, mean {1e3 * statistics.mean(costs):.3f} ms of CPU")
        for name, times in (("filling", filling), ("taking", stalls)):
            print(f"  elapsed while {name} (target 99.9th percentile 20 ms, most 100 ms):", end=" ")
            print(f"{quantile(times, 0.999):.1f} ms, most {quantile(times, 1):.1f} ms, total {sum(times):.0f} s")
        print(f"  on disk {size:.0f} bytes a URL (target 400), resident {growth / 1e6:.0f} MB more")
        print(f"  opening to the first URL {opened:.2f} s")
    figures.add(f"20 links, one URL taken, {WAITING:,} wait", quantile(costs, 0.5), "ms", "0.25 ms")
