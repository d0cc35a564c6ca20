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
LOOKUPS = 20_000


def rows(n, seed):
    draw = np.random.default_rng(seed)
    for first in range(0, n, collection.HELD):
        yield draw.integers(0, 1 << 64, (min(collection.HELD, n - first), 3), dtype=np.uint64)


def spent(work):
    """Return seconds of the processor, and how often the disk was read meanwhile."""
    faults, begun = resource.getrusage(resource.RUSAGE_SELF).ru_majflt, time.process_time()
    work()
    return time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_majflt - faults


def test_index(tmp_path):
    path = tmp_path / "index"
    begun = time.process_time()
    with path.open("wb") as file:
        collection.write_collection(rows(N_PAGES, 1), "learned", file, tmp_path)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = path.stat().st_size
    print(f"\n{N_PAGES:,} pages: {size / 1e6:,.0f} MB, {size / N_PAGES:.1f} bytes each", end="")
    print(f", written in {time.process_time() - begun:.1f} s CPU, {memory:.0f} MB")
    opened = []
    cpu, reads = spent(lambda: opened.append(collection.Collection(path)))
    print(f"opened in {cpu:.3f} s CPU, {reads} reads")
    known, texts = opened[0], [*np.random.default_rng(2).integers(0, 1 << 64, LOOKUPS, dtype=np.uint64).tolist()]
    passed = []
    cpu, reads = spent(lambda: passed.extend(text for text in texts if known._may_have(text)))
    print(f"filter: {1e6 * cpu / LOOKUPS:.1f} us each, {reads} reads; {len(passed)} of {LOOKUPS:,} pass")
    cpu, reads = spent(lambda: [known._rows_of(text) for text in texts[:2_000]])
    print(f"rows: {1e6 * cpu / 2_000:.1f} us each, {reads} reads of 2,000")
    assert len(passed) < LOOKUPS / 50
