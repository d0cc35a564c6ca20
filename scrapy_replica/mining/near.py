"""Fingerprints within some bits of each other, by joins on equal blocks and a bit count, in the engine.

Pigeonhole principle (Manku, Jain & Das Sarma 2007): of *n* blocks, two fingerprints that differ in at most *d* bits
have n - d in common, so each choice of n - d blocks is one table that is joined with itself.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import ibis

if TYPE_CHECKING:
    from ibis.expr.types import IntegerValue, Table

    from scrapy_replica.mining.engine import Engine

BITS = 64
MAX_BUCKET = 300
"""Fingerprints with equal blocks; where there are more, a template speaks, and none of them is near another there."""


@ibis.udf.scalar.builtin(name="bit_count")  # type: ignore[untyped-decorator]
def _bit_count(value: int) -> int:  # type: ignore[empty-body]
    """Count the bits that are set."""


def near(engine: Engine, name: str, prints: Table, distance: int, n_blocks: int) -> Table:
    """Return pairs of different fingerprints within *distance* bits, each pair once: ``within``, ``one`` < ``two``.

    Args:
        name: What intermediate results are kept under.
        prints: Distinct rows of ``within`` and ``simhash``; only fingerprints of one ``within`` are compared.
        n_blocks: More blocks make more tables of longer keys: for *n* fingerprints compared with each other choose them
            so that n is not much more than 2 to the power of 64 (n_blocks - distance) / n_blocks.
    """
    choices = list(combinations(_blocks(n_blocks), n_blocks - distance))
    step = 7  # tables at a time: more need more memory, fewer read the fingerprints more often
    parts = []
    for begin in range(0, len(choices), step):
        keys = [
            _joined(prints.simhash, choice) * len(choices) + begin + n
            for n, choice in enumerate(choices[begin : begin + step])
        ]
        entries = prints.select("within", "simhash", key=ibis.array(keys).unnest())
        parts.append(engine.keep(f"{name}_{begin}", _close(entries, distance)))
    return engine.keep(name, ibis.union(*parts, distinct=True) if len(parts) > 1 else parts[0])


def _blocks(n_blocks: int) -> list[tuple[int, int]]:
    """Return (lowest bit, number of bits) of each block."""
    edges = [BITS * n // n_blocks for n in range(n_blocks + 1)]
    return [(low, high - low) for low, high in pairwise(edges)]


def _joined(simhash: IntegerValue, blocks: tuple[tuple[int, int], ...]) -> IntegerValue:
    """Return the bits of *blocks*, one behind the other; at most 33."""
    key: IntegerValue = ibis.literal(0, "int64")
    for low, width in blocks:
        key = key * (1 << width) + ((simhash >> low) & ((1 << width) - 1))
    return key


def _close(entries: Table, distance: int) -> Table:
    """Return the pairs of *entries* with equal keys that are near."""
    counted = entries.group_by("within", "key").agg(n=entries.count())
    buckets = counted.filter(counted.n.between(2, MAX_BUCKET)).select("within", "key")
    one = entries.semi_join(buckets, ["within", "key"])
    two = one.view()
    pairs = one.join(two, ["within", "key", one.simhash < two.simhash])
    pairs = pairs.select(within=one.within, one=one.simhash, two=two.simhash)
    return pairs.filter(_bit_count(pairs.one ^ pairs.two) <= distance).distinct()
