"""Hosts that rest because they asked for it, as a job keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping

RESTS = "rests"
"""Key under which a job has them."""
MOST = 1_000
"""Slots that are kept, those that began to rest last: each rest writes them all, 50 bytes a slot."""


def load(stored: bytes | None) -> dict[str, float]:
    """Return the download slots that rest, and until when, in seconds since the epoch."""
    return {str(slot): float(until) for slot, until in json.loads(stored or b"{}").items()}


def dump(rests: Mapping[str, float], now: float) -> bytes:
    """Return what is stored of *rests*, in the order in which they began: those that are not over."""
    left = [(slot, until) for slot, until in rests.items() if until > now]
    return json.dumps(dict(left[-MOST:])).encode()
