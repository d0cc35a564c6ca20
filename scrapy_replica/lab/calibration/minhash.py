"""Legacy fingerprint of a text: 128 minima of 64 bits, which simhash took the place of.

*Visualizando webpages duplicadas*, Marketing Digital 2013: each page becomes "um vetor de 128 de 64 bits", and the
difference of two is proportional to the number of entries that differ. How entries come about it does not say. The
*reading*: MinHash (Broder: On the resemblance and containment of documents, 1997), the one fingerprint in use of which
this is true; features are the shingles of our simhash, so that nothing differs but the measures.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.numeric import BoolArray
from scrapy_replica.pages.simhash import UInt64Array, shingle_hashes

N_HASHES = 128
BAND = 4
"""Entries in a band. Of pairs of Jaccard similarity .8 all but 5 in 10^8 have one of the 32 bands in common, of those
of .5 87 %, of .3 23 %, of .1 0.3 %."""

CHUNK = 256  # shingles at a time: 256 kB of hashes stay in the cache
_SEED = 4

Differences = NDArray[np.uint8]


def _hash_functions() -> tuple[UInt64Array, UInt64Array]:
    """Return factors, odd so that each function is a bijection, and summands, shape (128,)."""
    factors, summands = np.random.default_rng(_SEED).integers(0, 1 << 64, (2, N_HASHES), dtype=np.uint64)
    return factors | np.uint64(1), summands


FACTORS, SUMMANDS = _hash_functions()


def minhash_of(tokens: UInt64Array) -> UInt64Array:
    """Return the minima over the shingles of *tokens*, shape (n,), n > 0, under 128 hash functions, shape (128,).

    A function is ``factor * shingle + summand`` modulo 2**64; the shingles are spread over all bits already. The share
    of entries that two pages have in common estimates the Jaccard similarity of their sets of shingles. Unlike simhash
    it does not count how often a shingle stands in the text.
    """
    shingles = shingle_hashes(tokens)[:, None]
    minima = np.full(N_HASHES, ~np.uint64(0))
    for first in range(0, len(shingles), CHUNK):
        hashes = shingles[first : first + CHUNK] * FACTORS
        hashes += SUMMANDS
        np.minimum(minima, hashes.min(axis=0), out=minima)
    return minima


def differences(one: UInt64Array, other: UInt64Array) -> Differences:
    """Return how many entries differ, 0..128, for each row of *one* and *other*, shape (n, 128) each."""
    counts: Differences = (one != other).sum(axis=1, dtype=np.uint8)
    return counts


def bands(vectors: UInt64Array) -> UInt64Array:
    """Return 64-bit keys of the bands of *vectors*, shape (n, 128): equal where all four entries are, shape (n, 32)."""
    keys = vectors[:, ::BAND].copy()
    for place in range(1, BAND):
        keys *= FACTORS[0]
        keys ^= vectors[:, place::BAND]
    return keys


def common_bands(one: UInt64Array, other: UInt64Array) -> BoolArray:
    """Return which bands are equal in each row of *one* and *other*, shape (n, 128) each: shape (n, 32)."""
    is_equal: BoolArray = (one == other).reshape(-1, N_HASHES // BAND, BAND).all(axis=2)
    return is_equal
