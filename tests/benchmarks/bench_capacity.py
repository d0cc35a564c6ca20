"""What a crawl's database takes, by table: the generated web of bench_million, driven directly, on SQLite and on Redis.

``python tests/benchmarks/bench_capacity.py --pages 20000`` prints bytes and operations for each page and each waiting
URL; the figures of ``scrapy_replica.lab.commands.sizing`` are from here.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))
import direct_crawl
from redis import Redis
from redis_server import RedisServer

from scrapy_replica.crawldb.redis.database import RedisCrawlDB

WAITING = 200_000


def options_of(job: Path, pages: int) -> argparse.Namespace:
    return argparse.Namespace(
        job=job, hosts=pages // 20, known=10, pages=pages, every=pages, strategy="breadth-first", topic=None, near=False
    )


def tables_of_sqlite(path: Path) -> dict[str, int]:
    """Return the bytes of each table and index."""
    with sqlite3.connect(path) as connection:
        return dict(connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC"))


def tables_of_redis(client: Redis) -> dict[str, int]:
    """Return the bytes of the keys of each kind."""
    found: Counter[str] = Counter()
    for key in client.scan_iter(count=1000):
        parts = key.decode().split(":", 2)
        kind = ":".join(parts[1:]) if parts[1] == "t" else parts[1]
        found[kind] += client.memory_usage(key, samples=0) or 0
    return dict(found.most_common())


def crawled(options: argparse.Namespace) -> dict[str, Any]:
    """Crawl, and return processor seconds for each page and the URLs that wait."""
    options.job.joinpath("job").mkdir(parents=True)
    direct, turns = direct_crawl.DirectCrawl(options), direct_crawl.Turns()
    begun = time.process_time()
    direct.run(options.pages, turns, lambda _: None)
    spent = time.process_time() - begun
    waiting = direct.crawl.store.urls.waiting
    direct.crawl.store.commit()
    direct.close()
    return {"waiting": waiting, "cpu_ms_a_page": 1e3 * spent / options.pages}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--store", choices=("sqlite", "redis"), default="sqlite")
    opts = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options = options_of(Path(folder), opts.pages)
        if opts.store == "sqlite":
            figures = crawled(options)
            path = next(options.job.glob("job/*.sqlite"))
            figures |= {"bytes": path.stat().st_size, "tables": tables_of_sqlite(path)}
        else:
            with RedisServer(Path(folder)) as server, Redis(port=server.port) as client:
                direct_crawl.SqliteCrawlDB = lambda _, spider: RedisCrawlDB(server.address(), spider)
                before = client.info("memory")["used_memory"]
                figures = crawled(options)
                info, commands = client.info("memory"), client.info("commandstats")
                figures |= {"bytes": info["used_memory"] - before, "tables": tables_of_redis(client)}
                scripts = commands.get("cmdstat_evalsha", {"calls": 0, "usec": 0})
                figures |= {"scripts_a_page": scripts["calls"] / opts.pages}
                figures |= {"server_ms_a_page": scripts["usec"] / 1e3 / opts.pages}
    print(json.dumps({"pages": opts.pages, "store": opts.store, **figures}, indent=1))


if __name__ == "__main__":
    main()
