"""One query and one add of the near-duplicate index against PyPI simhash's SimhashIndex."""

from __future__ import annotations

import logging
import sys
import time

import numpy as np
import pytest

from scrapy_replica.pages.near_duplicates import NearDuplicates

DISTANCE = 3
QUERIES = 20_000
PEER_QUERIES = 500


def bytes_of(index: NearDuplicates) -> int:
    """Return the memory of the index, the places where its buckets begin included."""
    levels = [level for level in (index._large, index._small) if len(level)]
    starts = sum(sys.getsizeof(each) for level in levels for each in level._starts)
    return index._recent.nbytes + starts + sum(table.nbytes for level in levels for table in level.tables)


def query_and_add_us(index: NearDuplicates, size: int) -> float:
    """Return the median CPU time of a query and an add, in rounds of a thousand."""
    rng = np.random.default_rng(size)
    values = rng.integers(0, 2**64, QUERIES, dtype=np.uint64).tolist()
    times = []
    for first in range(0, QUERIES, 1_000):
        start = time.process_time()
        for value in values[first : first + 1_000]:
            index.query(value, DISTANCE)
            index.add(value)
        times.append(time.process_time() - start)
    return float(np.median(times)) * 1e3


def built(size: int) -> tuple[NearDuplicates, float]:
    """Return an index of *size* random fingerprints and the CPU seconds it took."""
    fingerprints = np.random.default_rng(7).integers(0, 2**64, size, dtype=np.uint64)
    start = time.process_time()
    index = NearDuplicates()
    index.extend(fingerprints)
    return index, time.process_time() - start


@pytest.mark.parametrize("size", [1_000_000, 10_000_000])
def test_query_and_add(size, capsys):
    index, seconds = built(size)
    built_bytes = bytes_of(index) / size
    ours = query_and_add_us(index, size)
    fresh = np.random.default_rng(3).integers(0, 2**64, size // 5, dtype=np.uint64).tolist()
    for value in fresh:
        index.add(value)
    grown_bytes = bytes_of(index) / len(index)
    with capsys.disabled():
        print(f"\nindex of {size:,} fingerprints, distance {DISTANCE}, query and add: {ours:.1f} us CPU")
        print(f"  built in {seconds:.2f} s, {built_bytes:.0f} bytes each; a fifth added singly: {grown_bytes:.0f}")
        for distance in (5, 7):
            start = time.process_time()
            for value in fresh[:5_000]:
                index.query(value, distance)
            print(f"  query at distance {distance}: {(time.process_time() - start) / 5e-3:.1f} us")


def test_against_simhash_index(figures):
    peer = pytest.importorskip("simhash")
    logging.getLogger().setLevel(logging.ERROR)  # it warns of every large bucket
    size = 1_000_000
    index, _ = built(size)
    ours = query_and_add_us(index, size)
    fingerprints = np.random.default_rng(7).integers(0, 2**64, size, dtype=np.uint64).tolist()
    objects = [(str(number), peer.Simhash(value)) for number, value in enumerate(fingerprints)]
    theirs_index = peer.SimhashIndex(objects, k=DISTANCE)
    queries = [peer.Simhash(value ^ 1) for value in fingerprints[:PEER_QUERIES]]
    start = time.process_time()
    for number, value in enumerate(queries):
        theirs_index.get_near_dups(value)
        theirs_index.add(f"new{number}", value)
    theirs = (time.process_time() - start) / PEER_QUERIES * 1e6
    figures.add("entered among a million; PyPI simhash", ours, "us", f"{1 / 25} x", peer=theirs)
