"""Index of a collection: what writing it costs, and looking up pages that it has not.

``PAGES=100000000 pytest tests/benchmarks/bench_collection.py -s -o python_files='bench_*.py'``: that many take 5 GB of
disk and three minutes; 10 million otherwise.
"""

from __future__ import annotations

import os
import resource
import time

import numpy as np

from scrapy_replica.pages import collection

N_PAGES = int(os.environ.get("PAGES", "10000000"))
LOOKUPS = 4_000


def rows(n, seed):
    draw = np.random.default_rng(seed)
    for first in range(0, n, collection.HELD):
        yield draw.integers(0, 1 << 64, (min(collection.HELD, n - first), 3), dtype=np.uint64)


def told(what, work, texts):
    """Print what *work* costs for each of *texts*, and how many pages of 4 kB were read from the disk for it."""
    before, begun = resource.getrusage(resource.RUSAGE_SELF), (time.process_time(), time.perf_counter())
    for text in texts:
        work(text)
    cpu, wall = time.process_time() - begun[0], time.perf_counter() - begun[1]
    n_reads = (resource.getrusage(resource.RUSAGE_SELF).ru_inblock - before.ru_inblock) / 8
    each = 1e6 / len(texts)
    print(f"{what:<32}{cpu * each:6.1f} us CPU, {wall * each:6.1f} us, {n_reads / len(texts):6.2f} pages read")


def test_index(tmp_path):
    path = tmp_path / "index"
    begun = time.process_time()
    with path.open("wb") as file:
        collection.write_collection(rows(N_PAGES, 1), "learned", file, tmp_path)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size
    print(f"\n{N_PAGES:,} pages: {size / 1e6:,.0f} MB, {size / N_PAGES:.1f} bytes each", end="")
    print(f", written in {time.process_time() - begun:.1f} s CPU, {memory:.0f} MB")
    draw = np.random.default_rng(2)
    others = draw.integers(0, 1 << 64, (2, LOOKUPS), dtype=np.uint64).tolist()
    its_own = draw.choice(next(rows(N_PAGES, 1))[:, 0], 2 * LOOKUPS, replace=False).reshape(2, LOOKUPS).tolist()
    for disk, lacked, had in zip(("cold", "warm"), others, its_own, strict=True):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while disk == "warm" and file.read(1 << 22):
                pass
        begun = time.process_time()
        known = collection.Collection(path)
        print(f"{disk} disk: opened in {time.process_time() - begun:.2f} s CPU")
        told("by the filter", known._may_have, lacked)
        told("among the rows, what it lacks", known._rows_of, lacked)
        told("among the rows, what it has", known._rows_of, had)
    assert sum(map(known._may_have, others[0])) < LOOKUPS / 50
    assert all(len(known._rows_of(text)) for text in its_own[0])
