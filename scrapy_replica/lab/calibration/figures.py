"""The joint histogram of both measures, what each threshold finds and loses, and which one to take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from scrapy_replica.lab.calibration.minhash import N_HASHES
from scrapy_replica.lab.calibration.pairs import Pairs
from scrapy_replica.numeric import BoolArray, FloatArray, IntArray
from scrapy_replica.pages.near_duplicates import MAX_DISTANCE

BITS = 64
LEGACY_DISTANCE = 25
"""Entries in which duplicates of the legacy measure may differ. The document does not tell the number behind its
vertical line; the *reading* is a Jaccard similarity of .8 (25.6 of 128 entries differ), by which the rest of the
project tells duplicates."""


class Reference(NamedTuple):
    """Pairs by the bits in which their simhashes differ, shape (65,) each, told apart by something else."""

    duplicates: FloatArray
    others: FloatArray
    drawn: FloatArray
    """Pairs that were looked at, weights aside."""

    @property
    def false_shares(self) -> FloatArray:
        """Share of others among the pairs at each difference; 0 where there are none."""
        return self.others / np.maximum(self.duplicates + self.others, 1e-9)

    def rows(self) -> Iterator[dict[str, float]]:
        """Yield what each threshold 0..64 finds, how much of it is false, what it misses, and its last bit alone."""
        duplicates, others = np.cumsum(self.duplicates), np.cumsum(self.others)
        for bits in range(BITS + 1):
            found = duplicates[bits] + others[bits]
            yield {
                "found": float(found),
                "false": float(others[bits]),
                "false_share": float(others[bits] / found) if found else 0.0,
                "missed": float(duplicates[-1] - duplicates[bits]),
                "at_this": float(self.duplicates[bits] + self.others[bits]),
                "false_share_at_this": float(self.false_shares[bits]),
            }

    def recommended(self, rate: float) -> int | None:
        """Return the largest threshold, at most 7, of which no bit brings a share of others above *rate*.

        Each bit is looked at alone: in a crawl with many identical pages the share among all that is found stays small
        whatever the last bit brings. A bit that fewer than 1 / *rate* pairs differ by cannot show such a share and ends
        the search; ``None`` where already bit 0 does.
        """
        is_fine = (self.false_shares <= rate) & (self.drawn >= 1 / rate)
        bits = int(np.argmin(np.append(is_fine[: MAX_DISTANCE + 1], False))) - 1
        return bits if bits >= 0 else None


def histogram(pairs: Pairs, where: BoolArray | None = None, *, is_weighted: bool = True) -> FloatArray:
    """Return how many pairs of the collection differ in so many entries and bits, shape (129, 65)."""
    cells = pairs.legacy.astype(np.int32) * (BITS + 1) + pairs.simhash
    weights = pairs.weight if is_weighted else None
    if where is not None:
        cells, weights = cells[where], weights[where] if weights is not None else None
    counts = np.bincount(cells, weights, minlength=(N_HASHES + 1) * (BITS + 1))
    return counts.reshape(N_HASHES + 1, BITS + 1).astype(np.float64)


def legacy_reference(pairs: Pairs) -> Reference:
    """Return the pairs as the legacy measure tells them apart."""
    counts = histogram(pairs)
    drawn = histogram(pairs, is_weighted=False).sum(axis=0)
    return Reference(counts[: LEGACY_DISTANCE + 1].sum(axis=0), counts[LEGACY_DISTANCE + 1 :].sum(axis=0), drawn)


def true_reference(pairs: Pairs, clusters: IntArray) -> Reference:
    """Return the pairs as labels tell them apart: *clusters* has a number for each page, -1 where there is none."""
    left, right = clusters[pairs.left], clusters[pairs.right]
    is_known = (left >= 0) & (right >= 0)
    is_one = left == right
    duplicates, others = (histogram(pairs, is_known & told).sum(axis=0) for told in (is_one, ~is_one))
    return Reference(duplicates, others, histogram(pairs, is_known, is_weighted=False).sum(axis=0))


def quadrants(counts: FloatArray, near_distance: int) -> Mapping[str, float]:
    """Return the pairs of a :func:`histogram` on either side of both thresholds."""
    legacy, simhash = slice(None, LEGACY_DISTANCE + 1), slice(None, near_distance + 1)
    rest = slice(LEGACY_DISTANCE + 1, None), slice(near_distance + 1, None)
    return {
        "both": float(counts[legacy, simhash].sum()),
        "simhash_alone": float(counts[rest[0], simhash].sum()),
        "legacy_alone": float(counts[legacy, rest[1]].sum()),
        "neither": float(counts[rest].sum()),
    }


def as_rows(references: Mapping[str, Reference]) -> list[dict[str, Any]]:
    """Return a row for each threshold 0..64: the columns of each reference, its name before them."""
    tables = {name: list(reference.rows()) for name, reference in references.items()}
    return [
        {"bits": bits} | {f"{name}_{key}": value for name, rows in tables.items() for key, value in rows[bits].items()}
        for bits in range(BITS + 1)
    ]
