"""What the crawl database on Redis costs: CPU time of a crawler's calls, beside SQLite's, and memory a waiting URL.

Usage: python tests/benchmarks/bench_redis.py [pages [hosts [urls]]]
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mmh3

sys.path.insert(0, str(Path(__file__).parents[1]))
from redis_server import RedisServer

from scrapy_replica.components.fingerprinter import host_key
from scrapy_replica.crawldb.contract import NewUrl
from scrapy_replica.crawldb.redis.database import RedisCrawlDB
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB

LINKS, ROUNDS = 20, 5
PAGES, HOSTS = 1_000, 300


def new(url: str, host: str, score: float) -> NewUrl:
    digest = mmh3.hash_bytes(url)
    return NewUrl(url, host, host_key(host, digest), score, depth=3, parent=1)


def link(numbers: random.Random, hosts: int) -> NewUrl:
    host = f"www.host-{int(hosts * numbers.random() ** 2)}.example"
    path = f"section/{numbers.randrange(100)}/an-article-of-usual-length-{numbers.randrange(1 << 40)}.html"
    return new(f"http://{host}/{path}", host, numbers.random())


def pages_ms(db: RedisCrawlDB | SqliteCrawlDB, numbers: random.Random, pages: int, hosts: int) -> float:
    """Return the CPU time of discovering 20 links and taking one URL, with the commit between."""
    links = [[link(numbers, hosts) for _ in range(LINKS)] for _ in range(pages)]
    begun = time.process_time()
    for page in links:
        with db.span():
            db.urls.discover(page)
        db.commit()
        db.urls.take()
    return (time.process_time() - begun) / pages * 1000


def memory(server: RedisServer, urls: int, hosts: int) -> float:
    """Return bytes of Redis a waiting URL."""
    server.clear()
    db, numbers = RedisCrawlDB(server.address()), random.Random(7)
    before = int(server.info("used_memory"))
    for begin in range(0, urls, 1_000):
        db.urls.discover([link(numbers, hosts) for _ in range(min(1_000, urls - begin))])
        db.commit()
    db._server.run("XTRIM", db._server.key("log"), "MAXLEN", 0)  # whose size does not grow with the job
    size = int(server.info("used_memory")) - before
    waiting = db.urls.waiting
    db.close()
    return size / waiting


def measure(server: RedisServer, pages: int, hosts: int) -> tuple[float, float]:
    """Return what a page takes on Redis and on SQLite, medians by turns."""
    redis, sqlite = [], []
    for number in range(ROUNDS):
        server.clear()
        one, numbers = RedisCrawlDB(server.address()), random.Random(number)
        redis.append(pages_ms(one, numbers, pages, hosts))
        one.close()
        with TemporaryDirectory() as job:
            two = SqliteCrawlDB(Path(job))
            sqlite.append(pages_ms(two, random.Random(number), pages, hosts))
            two.close()
    return statistics.median(redis), statistics.median(sqlite)


def test_beside_sqlite(tmp_path: Path, figures: Any) -> None:
    with RedisServer(tmp_path) as server:
        redis, sqlite = measure(server, PAGES, HOSTS)
    figures.add("20 links, one URL taken, Redis; SQLite", redis, "ms", "0.5 ms", peer=sqlite)


def main() -> None:
    pages, hosts, urls = (int(one) for one in [*sys.argv[1:], PAGES, HOSTS, "200000"][:3])
    with TemporaryDirectory() as folder, RedisServer(Path(folder)) as server:
        redis, sqlite = measure(server, pages, hosts)
        print(f"20 links discovered, one URL taken, ms of CPU: Redis {redis:.2f}, SQLite {sqlite:.2f}")
        for n_hosts in (urls // 1000, urls // 20):
            size = memory(server, urls, n_hosts)
            print(f"{urls:,} URLs that wait on {n_hosts:,} hosts: {size:.0f} bytes of Redis each")


if __name__ == "__main__":
    main()
