"""Simhash beside the legacy fingerprint on the same texts and pairs: what the document's factor of 30 is made of.

The legacy measure is taken twice. *Vectorised* is ours: all 128 functions over 256 shingles at a time, pairs compared a
thousand at a time. *Plain* takes one shingle at a time under all 128 functions and one pair at a time, as programs do
that are not written for arrays (datasketch, for one). Both use our token and shingle hashes; simhash is what a crawl
uses.
"""

from __future__ import annotations

import random
import time

import numpy as np

from scrapy_replica.lab.calibration import minhash
from scrapy_replica.lab.calibration.minhash import differences, minhash_of
from scrapy_replica.pages.near_duplicates import NearDuplicates
from scrapy_replica.pages.simhash import shingle_hashes, simhash_of, token_hashes

PAGES = 4_000
WORDS = 390  # the mean of a campus crawl
PLAIN_PAGES, PLAIN_PAIRS = 100, 100_000
PAIRS = 5_000_000  # a thousand and more a page, as ten million of ten thousand pages
CHUNK = 1024


def texts():
    rng = random.Random(1)
    vocabulary = [f"w{number:x}" for number in range(30_000)]
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    return [" ".join(rng.choices(vocabulary, weights, k=WORDS)) for _ in range(PAGES)]


def cpu_s(function):
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def plain_minhash(tokens):
    minima = np.full(minhash.N_HASHES, ~np.uint64(0))
    for shingle in shingle_hashes(tokens):
        minima = np.minimum(minima, minhash.FACTORS * shingle + minhash.SUMMANDS)
    return minima


def bits(one, other):
    return np.bitwise_count(one ^ other)


def compared(measure, fingerprints, left, right):
    for first in range(0, len(left), CHUNK):
        part = slice(first, first + CHUNK)
        measure(fingerprints[left[part]], fingerprints[right[part]])


def found(simhashes):
    index = NearDuplicates()
    index.extend(simhashes)
    return [index.query(value, 3) for value in simhashes.tolist()]


def test_both_measures(capsys):
    written = texts()
    tokens, parting = cpu_s(lambda: [token_hashes(text) for text in written])
    simhashes, simhash_pages = cpu_s(lambda: np.array([simhash_of(each) for each in tokens], dtype=np.uint64))
    minhashes, legacy_pages = cpu_s(lambda: np.stack([minhash_of(each) for each in tokens]))
    some, plain_pages = cpu_s(lambda: [plain_minhash(each) for each in tokens[:PLAIN_PAGES]])
    assert np.array_equal(some, minhashes[:PLAIN_PAGES])
    left, right = np.random.default_rng(1).integers(0, PAGES, (2, PAIRS))
    _, simhash_pairs = cpu_s(lambda: compared(bits, simhashes, left, right))
    _, legacy_pairs = cpu_s(lambda: compared(differences, minhashes, left, right))
    ends = zip(left[:PLAIN_PAIRS].tolist(), right[:PLAIN_PAIRS].tolist(), strict=True)
    _, plain_pairs = cpu_s(lambda: [np.count_nonzero(minhashes[a] != minhashes[b]) for a, b in ends])
    _, looking_up = cpu_s(lambda: found(simhashes))
    every = PAGES * (PAGES - 1) / 2 / PAIRS
    rows = {
        "simhash": (parting + simhash_pages, simhash_pairs),
        "legacy, vectorised": (parting + legacy_pages, legacy_pairs),
        "legacy, plain": (parting + plain_pages * PAGES / PLAIN_PAGES, plain_pairs * PAIRS / PLAIN_PAIRS),
    }
    ours = rows["simhash"]
    with capsys.disabled():
        print(f"\n{PAGES:,} pages of {WORDS} words, {PAIRS:,} pairs: processor seconds and times those of simhash")
        for name, row in rows.items():
            told = [f"{s:6.2f} s {s / o:5.1f}x" for s, o in zip((*row, sum(row)), (*ours, sum(ours)), strict=True)]
            print(f"  {name:<20} fingerprints {told[0]}   pairs {told[1]}   both {told[2]} (target 25)")
        for name in ("legacy, vectorised", "legacy, plain"):
            pages, pairs = rows[name]
            ratio = (pages + every * pairs) / (ours[0] + looking_up)
            print(f"  near pairs of a crawl, simhash by its index and {name} by all pairs: {ratio:.1f}x")
