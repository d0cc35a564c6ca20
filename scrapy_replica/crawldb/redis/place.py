"""Where a waiting URL stands, as bytes that sort as URLs are taken."""

from __future__ import annotations

import struct
from typing import NamedTuple

DEMOTED, FIRST, USUAL, LAST = 0x80, 1, 2, 3
"""Bit of the first byte, and its rest: a priority above 0, of 0 and below."""

MOST = (1 << 63) - 1
"""Greatest priority."""

ALL = (1 << 64) - 1
SIGN = 1 << 63


class Place(NamedTuple):
    """What the order of waiting URLs goes by, before the order in which they were found."""

    is_demoted: bool
    priority: int
    """The user's, -2^63 < priority < 2^63."""
    score: float
    """The strategy's, which may be infinite."""

    def pack(self) -> bytes:
        """Return 9 bytes, 17 where there is a priority: the first in the order are the smallest."""
        (bits,) = struct.unpack(">Q", struct.pack(">d", self.score + 0.0))
        # Floats sort as their bits do, but for the negative ones.
        score = struct.pack(">Q", bits if bits & SIGN else ALL - (bits | SIGN))
        demoted = DEMOTED * self.is_demoted
        if not self.priority:
            return bytes([demoted | USUAL]) + score
        kind = FIRST if self.priority > 0 else LAST
        return bytes([demoted | kind]) + struct.pack(">Q", MOST - self.priority) + score

    @classmethod
    def unpack(cls, packed: bytes) -> Place:
        """Return what :meth:`pack` made bytes of."""
        is_usual = packed[0] & ~DEMOTED == USUAL
        priority = 0 if is_usual else MOST - struct.unpack(">Q", packed[1:9])[0]
        (bits,) = struct.unpack(">Q", packed[-8:])
        (score,) = struct.unpack(">d", struct.pack(">Q", bits if bits & SIGN else (ALL - bits) & ~SIGN))
        return cls(bool(packed[0] & DEMOTED), priority, score)
