"""64-bit simhash of a text: near-duplicate pages have fingerprints a few bits apart.

Charikar, STOC 2002; Manku, Jain, Das Sarma: Detecting near-duplicates for web crawling, WWW 2007.
"""

from __future__ import annotations

import re
import sys
from functools import cache

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.numeric import IntArray

UInt64Array = NDArray[np.uint64]

MAX_CHARACTERS = 1 << 18
"""Characters of a text that are looked at; what comes later does not change the fingerprint."""

_SINGLE = np.uint64(1 << 21)
"""Mark of a character that is a token of its own; above every code point."""
# Scripts written without spaces: Thai, Lao, kana, bopomofo, CJK ideographs.
UNSPACED = "\u0e00-\u0eff\u3005-\u3007\u3040-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U00033fff"
_LAST_WORD_CHARACTER = 0x33FFF
_LAST_CASED_CHARACTER = 0x1FFFF
_LAST_WESTERN_CHARACTER = 0x2FFF
"""Most texts have no others: at the first page a table of 3 ms is made, in place of 20 for all characters."""

RADIX = 0x9E3779B97F4A7C15  # odd, so it has an inverse modulo 2**64
SHINGLE = np.array([0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93], dtype=np.uint64)
MURMUR = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_SHIFT = np.uint64(33)
_LANES = np.uint64(0x0101010101010101)
_BITS_OF_BYTE = np.arange(8, dtype=np.uint64)[:, None]
_LANE_CAPACITY = 255


def simhash_of(tokens: UInt64Array) -> int:
    """Return the simhash of the *tokens* of :func:`token_hashes`, shape (n,), n > 0: 0 <= value < 2**64.

    Features are the 3-shingles, each weighing as often as it occurs; a text of one or two tokens is one shingle. A bit
    is set if more than half of the shingle hashes have it.
    """
    shingles = shingle_hashes(tokens)
    counts = _bit_counts(shingles)
    bits = np.packbits(counts * 2 > len(shingles), bitorder="little")
    return int.from_bytes(bits.tobytes(), "little")


def token_hashes(text: str) -> UInt64Array:
    r"""Return one 64-bit hash per token of *text*, in order, shape (n,).

    A token is a run of word characters (``\w``), lower-case; in scripts written without spaces (:data:`UNSPACED`)
    every character is a token. Texts are cut at :data:`MAX_CHARACTERS`.
    """
    codes = _code_points(text[:MAX_CHARACTERS])
    is_western = not len(codes) or codes.max() <= _LAST_WESTERN_CHARACTER
    characters = _characters(_LAST_WESTERN_CHARACTER if is_western else _LAST_WORD_CHARACTER).take(codes, mode="clip")
    starts = _token_starts(characters)
    if not len(starts):
        return np.empty(0, dtype=np.uint64)
    powers, inverses = _powers()
    # What parts tokens is 0, so a token may be summed up to the start of the next.
    hashes: UInt64Array = np.add.reduceat(characters * powers[: len(characters)], starts) * inverses[starts]
    return hashes


def shingle_hashes(tokens: UInt64Array) -> UInt64Array:
    """Return the 64-bit hashes of the 3-shingles of the *tokens* of :func:`token_hashes`, in order; n - 2 of n > 2."""
    return _finalised(_shingled(tokens))


def _token_starts(characters: UInt64Array) -> NDArray[np.intp]:
    is_word = np.zeros(len(characters) + 1, dtype=bool)
    np.not_equal(characters, 0, out=is_word[1:])
    is_start = is_word[1:] > is_word[:-1]
    if len(characters) and characters.max() >= _SINGLE:
        is_single = np.zeros(len(characters) + 1, dtype=bool)
        np.greater_equal(characters, _SINGLE, out=is_single[1:])
        is_start |= is_single[1:] | (is_single[:-1] & is_word[1:])
    return np.flatnonzero(is_start)


def _shingled(tokens: UInt64Array) -> UInt64Array:
    width = min(len(tokens), len(SHINGLE))
    count = len(tokens) - width + 1
    shingles: UInt64Array = tokens[:count] * SHINGLE[0]
    for place in range(1, width):
        shingles += tokens[place : place + count] * SHINGLE[place]
    return shingles


def _finalised(hashes: UInt64Array) -> UInt64Array:
    """Spread every bit of *hashes* over the word, in place: the 64-bit finaliser of MurmurHash3."""
    for multiplier in MURMUR:
        hashes ^= hashes >> _SHIFT
        hashes *= multiplier
    hashes ^= hashes >> _SHIFT
    return hashes


def _bit_counts(hashes: UInt64Array) -> IntArray:
    """Return how many of the *hashes* have bit 0, 1, ..., 63 set, shape (64,).

    Eight bits are counted at once, each in its own byte of a word, and widened before a byte can overflow:
    4 times faster than summing unpacked bits.
    """
    lanes = np.add.reduceat((hashes >> _BITS_OF_BYTE) & _LANES, np.arange(0, len(hashes), _LANE_CAPACITY), axis=1)
    by_bit_and_byte: IntArray = (
        lanes.astype("<u8", copy=False).view(np.uint8).reshape(8, -1, 8).sum(axis=1, dtype=np.int64)
    )
    return by_bit_and_byte.T.reshape(64)


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


@cache
def _characters(last: int) -> UInt64Array:
    """Code point up to *last* -> lower-case code point of a word character, 0 for any other and for all above."""
    every = np.arange(last + 1, dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    table = np.zeros(last + 2, dtype=np.uint64)
    for run in re.finditer(r"\w+", every):
        table[run.start() : run.end()] = np.arange(run.start(), run.end())
    # Each character behind a mark, since one has two for its lower case; 25 ms less at the first page than one by one.
    mark = chr(sys.maxunicode)
    marked = _code_points(mark + mark.join(every[: _LAST_CASED_CHARACTER + 1]).lower())
    lowered = marked[np.flatnonzero(marked == sys.maxunicode) + 1]
    table[: len(lowered)] = np.where(table[: len(lowered)] != 0, lowered, 0)
    for run in re.finditer(f"[{UNSPACED}]+", every):
        part = table[run.start() : run.end()]
        part[part != 0] |= _SINGLE
    return table


@cache
def _powers() -> tuple[UInt64Array, UInt64Array]:
    """Return the powers 0, 1, ... of the radix and of its inverse modulo 2**64."""
    both = []
    for factor in (RADIX, pow(RADIX, -1, 1 << 64)):
        table = np.full(MAX_CHARACTERS + 1, factor, dtype=np.uint64)
        table[0] = 1
        both.append(np.cumprod(table))
    return both[0], both[1]
