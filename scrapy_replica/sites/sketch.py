"""A 64-byte sketch of a text whose agreement estimates the Jaccard coefficient of two texts' shingles.

One-permutation hashing (Li, Owen & Zhang 2012) with 64 bins, of which the minimum's lowest byte is kept (b-bit
minwise hashing, Li & Koenig 2010, b = 8). An empty bin borrows from the next one (Shrivastava & Li 2014). The numbers
of a text, which are few, are sketched by their least hashes (Broder 1997).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.numeric import FloatArray

BINS = 64
MOST_NUMBERS = 16
"""Numbers of a page that are kept, those of least hash: all of most pages, and a sample that two pages draw alike."""
_MAX_BYTES = 40_000
_GRAM = 24  # bytes: about four English words, eight CJK characters
_MIX = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)


def sketch(text: str) -> bytes | None:
    """Return the sketch of *text*, or None for less than 24 bytes of it.

    Shingles are the 24 bytes from the start of a word (of any character in scripts without spaces).
    """
    raw = text[:_MAX_BYTES].lower().encode("utf-8", "surrogatepass")
    n = len(raw) - _GRAM + 1
    if n < 1:
        return None
    octets = np.frombuffer(raw, dtype=np.uint8)
    before = octets[: n - 1]
    # a word starts behind a blank; characters of three bytes from U+3000 on are words of their own
    starts = np.flatnonzero((before == 0x20) | (octets[1:n] >= 0xE3)) + 1
    starts = np.concatenate([np.zeros(1, dtype=np.int64), starts])
    words = np.ndarray(shape=(len(raw) - 7,), dtype="<u8", buffer=raw, strides=(1,))
    hashes = words[starts] * np.uint64(_MIX[0])
    hashes ^= hashes >> np.uint64(29)
    hashes += words[starts + 8] * np.uint64(_MIX[1])
    hashes ^= hashes >> np.uint64(32)
    hashes += words[starts + 16]
    return _bins(_finalised(hashes)).tobytes()


def _finalised(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    hashes ^= hashes >> np.uint64(33)
    hashes *= np.uint64(0xFF51AFD7ED558CCD)
    hashes ^= hashes >> np.uint64(33)
    hashes *= np.uint64(0xC4CEB9FE1A85EC53)
    hashes ^= hashes >> np.uint64(33)
    return hashes


_EDGES = np.arange(BINS, dtype=np.uint64) << np.uint64(58)


def _bins(hashes: NDArray[np.uint64]) -> NDArray[np.uint8]:
    hashes.sort()
    # the first hash at or above a bin's lower edge is its minimum, or what an empty bin borrows from the next ones
    first = np.searchsorted(hashes, _EDGES)
    first[first == len(hashes)] = 0
    return hashes[first].astype(np.uint8)


def jaccards(first: Sequence[bytes], second: Sequence[bytes]) -> FloatArray:
    """Return the estimated Jaccard coefficients of pairs of sketches, 0..1; standard error at most 0.07."""
    a = np.frombuffer(b"".join(first), dtype=np.uint8).reshape(-1, BINS)
    b = np.frombuffer(b"".join(second), dtype=np.uint8).reshape(-1, BINS)
    equal: FloatArray = (a == b).sum(axis=1) / BINS
    return np.maximum((equal - 1 / 256) / (1 - 1 / 256), 0.0).astype(np.float64)


def numbers_sketch(numbers: Iterable[str]) -> bytes:
    """Return the hashes of the *numbers* that a page states, two bytes each, at most the 16 least, ascending."""
    hashes = {crc32(number.encode()) & 0xFFFF for number in numbers}
    return np.array(sorted(hashes)[:MOST_NUMBERS], dtype="<u2").tobytes()


def numbers_in_common(first: bytes, second: bytes) -> float:
    """Return the estimated Jaccard coefficient of two sets of numbers, not both empty, by their sketches (Broder 1997).

    Exact for sets of fewer than 16 numbers.
    """
    a, b = (set(np.frombuffer(one, dtype="<u2").tolist()) for one in (first, second))
    both = sorted(a | b)
    if max(len(a), len(b)) == MOST_NUMBERS:
        both = both[:MOST_NUMBERS]
    return sum(number in a and number in b for number in both) / len(both)
