"""The codes of Orlandi (2007, sections 3.2 to 3.6) as lengths in bits, and what theory says of them.

Nothing is stored in these codes: an archive shows what they would take beside what it takes. Where the source counts
from 0 ("gamma after subtracting 1", p. 41) its library writes the number plus 1, so that all numbers here are from 1.
"""

from __future__ import annotations

import math

import numpy as np

from scrapy_replica.numeric import FloatArray, IntArray


def zeta(numbers: IntArray, k: int) -> IntArray:
    """Return the bits of each of *numbers* (from 1) in the code zeta_k of Boldi and Vigna (2004).

    The source prints x = 2^h + r (p. 30); read as its reference has it: h = floor(log2(x) / k) in unary from 1, then
    x - 2^(hk) in minimal binary out of 2^(hk) (2^k - 1) numbers.
    """
    h = (_floor_log2(numbers) // k).astype(np.int64)
    least = np.left_shift(1, h * k)
    return h + 1 + _minimal_binary(numbers - least, least * ((1 << k) - 1))


def gamma(numbers: IntArray) -> IntArray:
    """Return the bits of each of *numbers* in Elias' gamma code, which is zeta_1 (p. 31)."""
    return zeta(numbers, 1)


def golomb(numbers: IntArray, b: int) -> IntArray:
    """Return the bits of each of *numbers* in Golomb's code: (x - 1) // b in unary from 1, then minimal binary."""
    quotient, rest = np.divmod(numbers - 1, b)
    return quotient + 1 + _minimal_binary(rest, np.full_like(rest, b))


def golomb_parameter(p: float) -> int:
    """Return the b of the least mean length where each number is taken with probability *p* (p. 31), rounded up."""
    return max(1, math.ceil(math.log(2) / -math.log1p(-p))) if p < 1 else 1


def _minimal_binary(rests: IntArray, sizes: IntArray) -> IntArray:
    """Bits of *rests* out of 0..sizes - 1: the first 2^ceil(log2 z) - z of them take one bit less."""
    most = _floor_log2(np.maximum(sizes - 1, 1)) + 1
    most[sizes == 1] = 0
    return np.where(rests < np.left_shift(1, most) - sizes, most - 1, most).astype(np.int64)


def _floor_log2(numbers: IntArray) -> IntArray:
    # frexp is exact up to 2^53, where a rounded logarithm is not.
    return np.frexp(numbers.astype(np.float64))[1].astype(np.int64) - 1


def exponent(numbers: IntArray, weights: IntArray, highest: int) -> float:
    """Return the exponent of the power law on 1..highest that makes *numbers*, each *weights* times, most likely.

    Bauke (2007), equation 26, by Newton's method (p. 28); infinite where all numbers are 1.
    """
    mean = float(np.log(numbers) @ weights / weights.sum())
    if mean == 0.0:
        return math.inf
    logs = np.log(np.arange(1, highest + 1))
    k = 1.0
    for _ in range(100):
        likely = np.exp(-k * logs)
        likely /= likely.sum()
        expected = float(likely @ logs)
        step = (mean - expected) / float(likely @ (logs - expected) ** 2)
        k -= step
        if abs(step) < 1e-10:
            break
    return k


def entropy(numbers: IntArray) -> float:
    """Return the bits of all *numbers* in the best code that gives each value a word of its own."""
    _, counts = np.unique(numbers, return_counts=True)
    return float(counts @ np.log2(counts.sum() / counts)) if len(counts) else 0.0


def archive_bound(lengths: IntArray, longest: int, alpha: float, terms: int, s: float) -> float:
    """Return the bits that theorem 1 (Orlandi 2007, p. 38) allows an archive.

    *lengths*: occurrences of terms in each document, of which power law *alpha* holds on 1..longest; *s*: exponent of
    the occurrences of *terms* terms. Reading: the sums of the proof (p. 39), which the theorem restates with one
    logarithm approximated; identifiers without gaps (D = d_max), which cost nothing.
    """
    documents, occurrences = len(lengths), int(lengths.sum())
    return _list_bound(documents, longest, alpha) + _list_bound(occurrences, terms, s)


def _list_bound(drawn: int, highest: int, k: float) -> float:
    """Lemma 3 (p. 35): bits of a multiset of *drawn* numbers out of 1..highest, under a power law."""
    ranks: FloatArray = np.arange(1, highest + 1, dtype=np.float64)
    law = ranks**-k
    norm = float(law.sum())
    return drawn * (math.log2(math.e * norm) + k / norm * float(law @ np.log2(ranks)))
