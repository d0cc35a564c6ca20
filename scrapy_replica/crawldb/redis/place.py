"""Where a waiting URL stands, as bytes that sort as URLs are taken."""

from __future__ import annotations

import struct
from typing import NamedTuple

DEMOTED, FIRST, USUAL, LAST = 0x80, 1, 2, 3
"""Bit of the first byte, and its rest: a priority above 0, of 0 and below."""

MOST = (1 << 63) - 1
"""Greatest priority."""

SIGN = 1 << 63

FLOAT, BITS = struct.Struct(">d"), struct.Struct(">Q")
USUAL_PLACE, OTHER_PLACE = struct.Struct(">BQ"), struct.Struct(">BQQ")


class Place(NamedTuple):
    """What the order of waiting URLs goes by, before the order in which they were found."""

    is_demoted: bool
    priority: int
    """The user's, -2^63 < priority < 2^63."""
    score: float
    """The strategy's, which may be infinite."""

    def pack(self) -> bytes:
        """Return 9 bytes, 17 where there is a priority: the first in the order are the smallest."""
        (bits,) = BITS.unpack(FLOAT.pack(self.score + 0.0))
        # Floats sort as their bits do, but for the negative ones.
        score = bits if bits & SIGN else MOST - bits
        demoted = DEMOTED * self.is_demoted
        if not self.priority:
            return USUAL_PLACE.pack(demoted | USUAL, score)
        return OTHER_PLACE.pack(demoted | (FIRST if self.priority > 0 else LAST), MOST - self.priority, score)

    @classmethod
    def unpack(cls, packed: bytes) -> Place:
        """Return what :meth:`pack` made bytes of."""
        is_usual = packed[0] & ~DEMOTED == USUAL
        priority = 0 if is_usual else MOST - BITS.unpack(packed[1:9])[0]
        (bits,) = BITS.unpack(packed[-8:])
        (score,) = FLOAT.unpack(BITS.pack(bits if bits & SIGN else MOST - bits))
        return cls(bool(packed[0] & DEMOTED), priority, score)
