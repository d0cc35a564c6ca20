"""A crawl in the middle of a hundred million URLs on a million hosts: its file is generated, and then it goes on.

``python tests/benchmarks/bench_hundred_million.py FOLDER`` (an hour, 25 GB of disk); ``--urls 1000000 --hosts 10000``
is the same of a hundredth. The web is that of ``bench_million.py``, crawled breadth first: the first tenth of the
pages is fetched, and the links of those are the other nine tenths, which wait. Then the crawl is opened and fetches on,
without Scrapy's engine (``direct_crawl.py``).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sqlite3
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import direct_crawl
import mmh3
import numpy as np
from bench_million import LINKS, OWN_HOST, REPLICAS, SUBSITE_DEPTH, rss_mb
from numpy.typing import NDArray

from scrapy_replica import TopicSpider
from scrapy_replica.address import host_of
from scrapy_replica.components.fingerprinter import host_key
from scrapy_replica.crawldb.sqlite.database import FILE_NAME, SqliteCrawlDB
from scrapy_replica.crawldb.sqlite.schema import DONE, WAITING

KNOWN = 10
"""New links of a page."""
CHUNK = 200_000
INDEXES = ("waiting", "dropped", "leased", "with_payload", "signatures", "simhashes", "texts_of_host", "pages_of_host")
"""Made when the rows are there, as the crawl has them in the end."""


class CheapKeys:
    """A hash in the place of Scrapy's fingerprint, of which the key is 52 bits: a tenth of the time."""

    def __init__(self, *_: object) -> None:
        pass

    def of_url(self, url: str) -> int:
        return host_key(host_of(url), mmh3.hash_bytes(url))


def mixed(numbers: NDArray[np.uint64], more: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
    """Return what ``bench_million.mixed`` returns for each."""
    state = np.zeros(len(numbers), np.uint64)
    for part in (numbers, more) if more is not None else (numbers,):
        state = state + part + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    return state


def hosts_of(urls: int, hosts: int) -> tuple[NDArray[np.int32], list[int]]:
    """Return the host of each page, as ``GeneratedWeb`` has it, and the first number of each depth."""
    host, starts = np.zeros(urls, np.int32), [0, 1]
    while starts[-1] < urls:
        begin, end = starts[-1], min(urls, KNOWN * starts[-1] + 1)
        depth = len(starts) - 1
        for first in range(begin, end, 10 * CHUNK):
            numbers = np.arange(first, min(end, first + 10 * CHUNK), dtype=np.uint64)
            parents = (numbers - np.uint64(1)) // np.uint64(KNOWN)
            is_own = 10 * ((numbers - np.uint64(1)) % np.uint64(KNOWN)) < OWN_HOST * KNOWN
            away = (mixed(numbers) % np.uint64(hosts)).astype(np.int32)
            stays = is_own & (depth % SUBSITE_DEPTH != 0)
            host[numbers.astype(np.int64)] = np.where(stays, host[parents.astype(np.int64)], away)
        starts.append(KNOWN * begin + 1)
    return host, starts


def rows(host: NDArray[np.int32], starts: list[int], fetched: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows of ``urls``, in the order in which they were found."""
    prefix: dict[int, int] = {}
    for first in range(0, len(host), CHUNK):
        numbers = np.arange(first, min(len(host), first + CHUNK), dtype=np.uint64)
        parents = np.where(numbers > 0, (numbers - np.uint64(1)) // np.uint64(KNOWN), np.uint64(0))
        names = host[first : first + CHUNK].astype(np.int64)
        names += (names % REPLICAS == 0) & (mixed(numbers, parents) % np.uint64(2)).astype(bool)
        depth = np.searchsorted(starts, numbers.astype(np.int64), "right") - 1
        made = []
        for number, name, level in zip(numbers.tolist(), names.tolist(), depth.tolist(), strict=True):
            if (bits := prefix.get(name)) is None:
                bits = prefix[name] = mmh3.hash(f"h{name}.example") >> 20 << 52
            url = f"http://h{name}.example/{number % 40}/{number}.html"
            key = bits | int.from_bytes(mmh3.hash_bytes(url)[:8], "big") >> 12
            state = DONE if number < fetched else WAITING
            made.append((number + 1, name + 1, state, url, key, level, (number - 1) // KNOWN + 1 if number else None))
        yield made


def page_rows(host: NDArray[np.int32], fetched: int) -> Iterator[Iterator[tuple[Any, ...]]]:
    """Yield rows of ``pages``, with texts that are all new."""
    for first in range(0, fetched, CHUNK):
        numbers = np.arange(first, min(fetched, first + CHUNK), dtype=np.uint64)
        simhash, text = mixed(numbers), mixed(numbers, numbers)
        signatures = np.stack([simhash, text], 1).tobytes()
        places = np.stack([text + np.uint64(k) for k in range(KNOWN)], 1).tobytes()
        signed = zip(simhash.view(np.int64).tolist(), text.view(np.int64).tolist(), strict=True)
        yield (
            (n + 1, int(host[n]) + 1, 200, 1.7e9 + n, signatures[16 * k : 16 * k + 16], one, 4000, 65, str(n), "novel",
             1, other, places[80 * k : 80 * k + 80])
            for k, (n, (one, other)) in enumerate(zip(numbers.tolist(), signed, strict=True))
        )  # fmt: skip


def fill(job: Path, urls: int, hosts: int, fetched: int) -> dict[str, float]:
    """Write the job of a crawl that found so many *urls*; return what that took."""
    job.mkdir(parents=True)
    SqliteCrawlDB(job, TopicSpider.name).close()
    db = sqlite3.connect(job / FILE_NAME, isolation_level=None)
    made = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index'"))
    db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -4000000; BEGIN")
    for name in INDEXES:
        db.execute(f"DROP INDEX {name}")
    begun = time.process_time()
    names = ((n + 1, f"h{n}.example", f"h{n}.example") for n in range(hosts + 1))
    db.executemany("INSERT INTO hosts (id, name, slot) VALUES (?, ?, ?)", names)
    host, starts = hosts_of(urls, hosts)
    told = {"hosts_s": time.process_time() - begun}
    into = "INSERT INTO urls (id, host, state, url, key, is_demoted, priority, score, depth, parent, permission)"
    for done, part in enumerate(rows(host, starts, fetched), 1):
        db.executemany(f"{into} VALUES (?, ?, ?, ?, ?, 0, 0, 0.0, ?, ?, 0)", part)
        if done % 25 == 0:
            print(f"{done * CHUNK:,} URLs, {time.process_time() - begun:.0f} s", file=sys.stderr, flush=True)
    told["urls_s"] = time.process_time() - begun
    columns = "url, host, status, fetched_at, signature, simhash, size, words, title, novelty, is_news, content, leads"
    for part in page_rows(host, fetched):
        db.executemany(f"INSERT INTO pages ({columns}) VALUES ({', '.join('?' * 13)})", part)
    told["pages_s"] = time.process_time() - begun
    db.execute("INSERT OR REPLACE INTO meta VALUES ('waiting', ?)", (str(urls - fetched).encode(),))
    for name in INDEXES:
        db.execute(made[name])
    db.execute("COMMIT")
    db.close()
    return told | {"filled_s": time.process_time() - begun, "bytes": (job / FILE_NAME).stat().st_size}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--urls", type=int, default=100_000_000)
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=20_000, help="to fetch on (20,000)")
    opts = parser.parse_args()
    fetched = opts.urls // KNOWN
    before = rss_mb()
    if not (opts.folder / "job" / FILE_NAME).exists():
        # In a process of its own, lest what filling takes count as memory of the crawl.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            filled = process.submit(fill, opts.folder / "job", opts.urls, opts.hosts, fetched).result()
        print(json.dumps(filled), flush=True)
    direct_crawl.UrlFingerprints = CheapKeys
    options = argparse.Namespace(
        job=opts.folder, hosts=opts.hosts, known=KNOWN, strategy="breadth-first", topic=None, near=False
    )
    begun, begun_cpu = time.monotonic(), time.process_time()
    direct = direct_crawl.DirectCrawl(options)
    opened = {"opened_s": time.monotonic() - begun, "opened_cpu_s": time.process_time() - begun_cpu}
    print(json.dumps(opened | {"before_mb": before, "rss_mb": rss_mb()}), flush=True)
    turns = direct_crawl.Turns()
    direct_crawl.LongLived().open()
    waiting = direct.crawl.store.urls.waiting

    def told(pages: int) -> None:
        if pages % (opts.pages // 4) == 0:
            found = (direct.crawl.store.urls.waiting - waiting + pages) / pages
            print(json.dumps({"pages": pages, "rss_mb": rss_mb(), "new_a_page": found, **turns.figures()}), flush=True)

    direct.run(opts.pages, turns, told)
    assert direct.crawl.store.urls.waiting - waiting < LINKS * opts.pages
    direct.close()


if __name__ == "__main__":
    main()
