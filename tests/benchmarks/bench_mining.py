"""Mining of a generated collection: seconds, memory and disk by number of URLs, and whether two engines agree.

``python tests/benchmarks/bench_mining.py FOLDER --urls 3000000 [--engine duckdb] [--tables pairs]``

The collection has a host for each 51.5 URLs, as the published one of 30 million URLs on 583,000 hosts. It is made so:

* Sites have a number of pages by a power law (exponent 2.2), 3 to 60,000. One site in ten is copied, to one host or,
  by a power law as well, up to 30; half of the copies are below a prefix of one to three segments.
* Of a host a share of its site's pages is known, 30 to 100 %, drawn for each host by itself.
* A site has up to twelve pages at paths that all sites draw from (40 of them, the first ones most often), three tenths
  of the rest at numbered paths (``article/17.html``, ``?p=17``), which strangers share, two fifths at two words of
  20,000 below one of 2,000 directories, the others at paths of their own.
* Of a copy's pages 85 % have the text of the original, 10 % one whose simhash differs in 1 to 6 bits, 5 % another.
  Two in a hundred of all pages have a text that stands on some 600 hosts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

from scrapy_replica.mining.collection import CollectionTables
from scrapy_replica.mining.engine import open_engine
from scrapy_replica.mining.expressions import TABLES

URLS_OF_HOST = 30_000_000 / 583_000
MIN_SIZE, MAX_SIZE = 3, 60_000
COPIED = 0.1
HOSTS_OF_COMMON = 583
"""Hosts for each text that stands everywhere."""
MAX_COPIES = 30

PATHS = """
CASE
    WHEN j < 12 AND j < size / 2 THEN '/' || (['', 'about', 'contact', 'news', 'index.php?lang=en', 'blog/',
        'login', 'sitemap', 'impressum', 'products.html', 'search', 'help', 'terms', 'privacy', 'feed', 'rss',
        'archive', 'tags', 'team', 'jobs', 'faq', 'press', 'events', 'links', 'gallery', 'register', 'cart', 'shop/',
        'support', 'download', 'docs/', 'api', 'static/info', 'img/logo', 'wp-login.php', 'en/', 'de/', 'fr/',
        'home/start', 'user/login'
        ])[1 + least(39, (40 * pow((hash(site, j, 1) % 1000) / 1000.0, 2))::INT)]
    WHEN hash(site, j, 2) % 10 < 2 THEN '/article/' || hash(site, j, 3) % (20 * size) || '.html'
    WHEN hash(site, j, 2) % 10 < 3 THEN '/?p=' || hash(site, j, 3) % (20 * size)
    WHEN hash(site, j, 2) % 10 < 7 THEN '/d' || hash(site, j // 30) % 2000 || '/w' || hash(site, j, 3) % 20000
        || '-w' || hash(site, j, 4) % 20000 || '.html'
    ELSE '/s' || hash(site, j // 100, 5) % 50 || '/x' || to_base((hash(site, j, 6) >> 20)::BIGINT, 36)
END
"""


def hosts_of(n_urls: int, seed: int = 7) -> pa.Table:
    """Return the hosts of a collection of about *n_urls*, a row each."""
    rng = np.random.default_rng(seed)
    n_hosts = round(n_urls / URLS_OF_HOST)
    n_copies = np.minimum(rng.pareto(1.5, n_hosts).astype(int) + 1, MAX_COPIES)
    n_copies[rng.random(n_hosts) >= COPIED] = 0
    first = np.cumsum(1 + n_copies) - (1 + n_copies)
    n_sites = int(np.searchsorted(first, n_hosts))
    site = np.repeat(np.arange(n_sites), 1 + n_copies[:n_sites])[:n_hosts]
    is_copy = np.concatenate([[False], site[1:] == site[:-1]])
    share = rng.choice([0.3, 0.5, 0.8, 1.0], n_hosts)
    power = rng.random(n_sites) ** (-1 / 1.2)
    low, high = 0.0, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        sizes = np.clip((middle * power).astype(int), MIN_SIZE, MAX_SIZE)
        low, high = (middle, high) if (sizes[site] * share).sum() < n_urls else (low, middle)
    depth = np.where(is_copy & (rng.random(n_hosts) < 0.5), rng.integers(1, 4, n_hosts), 0)
    prefix = ["".join(f"/m{number}" for number in rng.integers(0, 50, n)) for n in depth]
    numbers = np.arange(n_hosts)
    names = [f"www{n % 7}.s{n * 2654435761 % 2**32:x}.example" for n in numbers.tolist()]
    return pa.table(
        {
            "host": numbers,
            "name": names,
            "prefix": prefix,
            "site": site,
            "size": sizes[site],
            "share": share,
            "is_copy": is_copy,
        }
    )


def generate(n_urls: int, folder: Path) -> None:
    """Write the collection into *folder*, as Parquet files with our columns."""
    folder.mkdir(parents=True)
    connection = duckdb.connect(config={"threads": 2, "memory_limit": "6GB", "preserve_insertion_order": "false"})
    connection.execute(f"SET temp_directory = '{folder / 'spill'}'")
    hosts = hosts_of(n_urls)
    n_common = len(hosts) // HOSTS_OF_COMMON
    connection.register("hosts", hosts)
    connection.execute(f"""
    COPY (
        WITH known AS (
            SELECT host AS n, name, prefix, site, size, share, is_copy, unnest(range(size)) AS j FROM hosts
        ), pages AS (
            SELECT n, name, prefix || {PATHS} AS path, is_copy, hash(n, j, 7) % 100 AS draw,
                CASE WHEN hash(site, j, 9) % 50 = 0 THEN hash(hash(site, j, 10) % {n_common}) ELSE hash(site, j) END
                    AS text, j
            FROM known WHERE hash(n, j, 8) % 1000 < 1000 * share
        ), texts AS (
            SELECT *, CASE WHEN NOT is_copy OR draw < 85 THEN text
                WHEN draw < 95 THEN xor(text, (1::UBIGINT << (hash(n, j, 11) % 64))
                    | (1::UBIGINT << (hash(n, j, 12) % 64))
                    | (1::UBIGINT << (hash(n, j, 13) % 64)) | CASE WHEN draw < 90 THEN 0::UBIGINT ELSE
                    (1::UBIGINT << (hash(n, j, 14) % 64)) | (1::UBIGINT << (hash(n, j, 15) % 64))
                    | (1::UBIGINT << (hash(n, j, 16) % 64)) END)
                ELSE hash(n, j, 17) END AS simhash FROM pages
        )
        SELECT 'http://' || name || path AS url, name AS host, path,
            (n % 250) || '.' || (n // 250 % 250) || '.' || (n // 62500) || '.1' AS ip,
            unhex(md5(simhash::VARCHAR)) AS signature, simhash::BIT::BIGINT AS simhash
        FROM texts
    ) TO '{folder}' (FORMAT parquet, PER_THREAD_OUTPUT, ROW_GROUP_SIZE 200000)
    """)
    connection.close()
    shutil.rmtree(folder / "spill", ignore_errors=True)


class Watch(threading.Thread):
    """What the folder of an engine takes of the disk, looked at every two seconds."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.most, self.is_over = folder, 0, threading.Event()

    def run(self) -> None:
        while not self.is_over.wait(2):
            self.most = max(self.most, bytes_in(self.folder))


def told(keep):
    """Return *keep* that tells how long each step took."""

    def kept(name, expression):
        began, cpu = time.monotonic(), time.process_time()
        table = keep(name, expression)
        spent = f"{time.monotonic() - began:8.1f} s {time.process_time() - cpu:8.1f} s of processors"
        print(f"{name:20}{spent}", file=sys.stderr, flush=True)
        return table

    return kept


def bytes_in(folder: Path) -> int:
    """Return what *folder* takes by now; files come and go."""
    found = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                found += os.stat(os.path.join(place, name)).st_size  # noqa: PTH116, PTH118
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--urls", type=int, default=3_000_000)
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--tables", nargs="*", default=["pairs"])
    opts = parser.parse_args()
    pages, out = opts.folder / "pages", opts.folder / opts.engine.partition("[")[0].replace("/", "_")
    if not pages.exists():
        generate(opts.urls, pages)
    shutil.rmtree(out, ignore_errors=True)
    watch = Watch(out / "engine")
    watch.start()
    figures: dict[str, object] = {"urls": opts.urls, "engine": opts.engine}
    began, cpu = time.monotonic(), time.process_time()
    with open_engine(opts.engine, out / "engine") as engine:
        engine.keep = told(engine.keep)
        collection = CollectionTables(engine, sorted(pages.glob("*.parquet")))
        for name in opts.tables:
            engine.write(TABLES[name](collection), out / name)
            figures[name] = engine.number(engine.read([out / name]).count())
            figures[f"{name}_seconds"], figures[f"{name}_cpu"] = (
                round(time.monotonic() - began, 1),
                round(time.process_time() - cpu, 1),
            )
            print(json.dumps(figures), file=sys.stderr, flush=True)
    watch.is_over.set()
    figures["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    figures["peak_disk_mb"] = watch.most >> 20
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
