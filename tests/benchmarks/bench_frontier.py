"""Discovering 20 links and taking one URL, with a million URLs waiting on 10,000 hosts."""

from __future__ import annotations

import random
import resource
import statistics
import time

from scrapy_replica.crawldb.keys import host_key
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, NewUrl, SqliteCrawlDB

WAITING = 1_000_000
HOSTS = 10_000
LINKS_PER_PAGE = 20
OWN_HOST_LINKS = 14  # of the links of a real university crawl 46 to 97 % stay on their page's host
PAGES = 3_000


def new_url(rng: random.Random, host: str = "") -> NewUrl:
    host = host or f"host{rng.randrange(HOSTS)}.example"
    url = f"http://{host}/section/{rng.randrange(100)}/article-{rng.getrandbits(40)}.html"
    return NewUrl(url, host, host_key(host, rng.randbytes(8)), rng.random(), 3, 1)


def rss_bytes() -> int:
    with open("/proc/self/statm") as statm:  # noqa: PTH123
        return int(statm.read().split()[1]) * resource.getpagesize()


def test_discover_and_take(tmp_path, capsys):
    rng = random.Random(1)
    db = SqliteCrawlDB(tmp_path / FILE_NAME)
    before = rss_bytes()
    for n in range(WAITING):
        db.discover(new_url(rng))
        if n % LINKS_PER_PAGE == 0:
            db.commit()
    db.commit()
    growth = (rss_bytes() - before) / WAITING
    size = (tmp_path / FILE_NAME).stat().st_size / WAITING
    costs = []
    for _ in range(PAGES):
        host = f"host{rng.randrange(HOSTS)}.example"
        links = [new_url(rng, host if n < OWN_HOST_LINKS else "") for n in range(LINKS_PER_PAGE)]
        start = time.process_time()
        taken = db.take()
        for link in links:
            db.discover(link)
        db.finish(taken.id)
        db.commit()
        costs.append(time.process_time() - start)
    db.close()
    with capsys.disabled():
        print(f"\nfrontier, {WAITING:,} URLs waiting on {HOSTS:,} hosts, CPU time a page")
        print(f"  discover {LINKS_PER_PAGE} new links, take, finish, commit (target 0.4 ms):", end=" ")
        print(f"median {1e3 * statistics.median(costs):.3f} ms, mean {1e3 * statistics.mean(costs):.3f} ms")
        print(f"  on disk {size:.0f} bytes a URL (target 400), resident growth {growth:.0f} bytes a URL (target 60)")
