"""What a crawl of so many URLs needs: pure arithmetic on what benchmarks measured.

Every constant says which benchmark of ``tests/benchmarks`` it is from. Bytes are those of URLs of about 60 characters.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# One process with SQLite

SQLITE_URL = 150
"""Bytes on the disk of a URL that waits or is done: its row, its key, its place in the frontier (``bench_frontier.py``;
105 of 32 characters, ``bench_capacity.py``)."""
SQLITE_PAGE = 560
"""Bytes on the disk of a fetched page beside that: fingerprints, mark, where it leads, what was decided and saved
(``bench_capacity.py``)."""
SQLITE_HOST = 90
"""Bytes on the disk of a host (``bench_capacity.py``)."""
INDEX_PAGE, INDEX_MERGING = 33, 65
"""Bytes of memory of a fingerprint in the index of near duplicates, at rest and while it is merged
(``bench_near_duplicates.py``)."""
PROCESS = 400_000_000
"""Bytes of memory of a process beside its index and its hosts, all its caches full: detector 181 MB of them at most, a
strategy up to 195 MB, ``link-aware`` 289 (``bench_million.py``, ``bench_strategies_memory.py``)."""
FRONTIER_HOST = 960
"""Bytes of memory of a host that was met, in the frontier (``bench_memory.py``)."""
CPU_PAGE = 0.0080
"""Processor seconds of a page in the crawling process, Scrapy and 20 links included (``bench_ordinary.py``)."""
CPU_LINK = 15e-6
"""Processor seconds of each further link of a page (``bench_frontier.py``)."""
LINKS_IN_PAGE = 20

# Many processes over Redis

REDIS_URL = 165
"""Bytes of memory of Redis of a URL, whatever became of it (``bench_capacity.py --store redis``: 87 for one of 32
characters; the characters on top, and its hashes at their worst)."""
REDIS_WAITING = 95
"""Bytes of memory of Redis beside that while it waits (as above, and ``bench_redis.py``: 251 to 301 in all)."""
REDIS_PAGE = 525
"""Bytes of memory of Redis of a fetched page beside its URL (``bench_capacity.py --store redis``)."""
REDIS_HOST = 400
"""Bytes of memory of Redis of a host, its slot and its part of the frontier (``bench_capacity.py --store redis``)."""
REDIS_LOG = 30_000_000
"""Bytes of memory of Redis for the log of the last 20,000 changes (``bench_capacity.py --store redis``: 15 MB of
10,000)."""
REDIS_CPU_PAGE = 0.00065
"""Seconds that Redis, which has one thread, works for a page of 20 links (``bench_capacity.py --store redis``)."""
PROCESSES_OF_JOB = 8
"""Processes that one job is worth: each applies what all others write to a mirror of its own."""
REDIS_NODE = 64_000_000_000
"""Bytes of memory of a node of Redis that data may fill: half of a machine of 128 GB, since a snapshot may need as much
again."""

# Mining of what was crawled

PARQUET_URL = 47
"""Bytes of Parquet of a URL with host, path, address, signature and simhash (``bench_mining.py``)."""
MARKED_URL = 150
"""Bytes beside that of a mark and a title, which do not compress."""
SPILL_URL = 120
"""Bytes on the disk while candidates are joined: 120 of three million, 93 to 99 of thirty (``bench_mining.py``)."""
MINING_CPU_URL = 10.5e-6
"""Processor seconds of candidates: 10.5 us of three million, 9.0 to 9.5 of thirty (``bench_mining.py``)."""
MINED_ALONE = 30_000_000
"""URLs that one machine of two processors and 12 GB was measured with; beyond, more memory or Spark."""


class Need(NamedTuple):
    """One thing that is needed."""

    where: str
    what: str
    amount: float
    unit: str
    """``bytes``, ``seconds`` of a processor, or empty for a number."""


def needs(urls: int, hosts: int, links: int) -> list[Need]:
    """Return what a crawl needs that fetches *urls* on *hosts*, whose pages hold *links* links in all.

    :raises ValueError: a number makes no sense.
    """
    for name, value in (("--urls", urls), ("--hosts", hosts), ("--links", links)):
        if value < 0:
            raise ValueError(f"{name} is {value}: it must be at least 0")
    if not 0 < hosts <= urls:
        raise ValueError(f"--hosts is {hosts}, of {urls} URLs: there is one at least, and none without a URL")
    redis = redis_bytes(urls, hosts)
    jobs = max(1, math.ceil(redis / REDIS_NODE))
    return [*_one_process(urls, hosts, links), *_many_processes(urls, hosts, redis, jobs), *_mining(urls)]


def redis_bytes(urls: int, hosts: int) -> int:
    """Return the memory of Redis that a crawl takes when every URL is fetched."""
    return urls * (REDIS_URL + REDIS_PAGE) + hosts * REDIS_HOST + REDIS_LOG


def _one_process(urls: int, hosts: int, links: int) -> list[Need]:
    where = "one process, SQLite"
    disk = urls * (SQLITE_URL + SQLITE_PAGE) + hosts * SQLITE_HOST
    memory = PROCESS + urls * INDEX_PAGE + hosts * FRONTIER_HOST
    return [
        Need(where, "disk, all fetched", disk, "bytes"),
        Need(where, "disk, all waiting", urls * SQLITE_URL + hosts * SQLITE_HOST, "bytes"),
        Need(where, "memory", memory, "bytes"),
        Need(where, "memory while the index is merged", memory + urls * (INDEX_MERGING - INDEX_PAGE), "bytes"),
        Need(where, "of that, index of near duplicates", urls * INDEX_PAGE, "bytes"),
        Need(where, "of that, hosts of the frontier", hosts * FRONTIER_HOST, "bytes"),
        Need(where, "processor time", cpu_seconds(urls, links), "seconds"),
    ]


def cpu_seconds(urls: int, links: int) -> float:
    """Return the processor time of all crawling processes together."""
    return urls * CPU_PAGE + max(links - LINKS_IN_PAGE * urls, 0) * CPU_LINK


def _many_processes(urls: int, hosts: int, redis: int, jobs: int) -> list[Need]:
    where = "many processes, Redis"
    waiting = urls * (REDIS_URL + REDIS_WAITING) + hosts * REDIS_HOST + REDIS_LOG
    mirror = (urls * (SQLITE_URL + SQLITE_PAGE) + hosts * SQLITE_HOST) / jobs
    return [
        Need(where, "memory of Redis, all fetched", redis, "bytes"),
        Need(where, "memory of Redis, all waiting", waiting, "bytes"),
        Need(where, "time of Redis' one thread, a job", urls * REDIS_CPU_PAGE / jobs, "seconds"),
        Need(where, "jobs, a node of Redis each", jobs, ""),
        Need(where, "processes that they are worth", jobs * PROCESSES_OF_JOB, ""),
        Need(where, "disk of each process (mirror)", mirror, "bytes"),
        Need(where, "memory of each process", PROCESS + (urls * INDEX_PAGE + hosts * FRONTIER_HOST) / jobs, "bytes"),
    ]


def _mining(urls: int) -> list[Need]:
    where = "mining"
    return [
        Need(where, "Parquet", urls * (PARQUET_URL + MARKED_URL), "bytes"),
        Need(where, "disk while it joins", urls * SPILL_URL, "bytes"),
        Need(where, "processor time of candidates", urls * MINING_CPU_URL, "seconds"),
        Need(where, "times what was measured", urls / MINED_ALONE, ""),
    ]
