"""Hosts that rest because they asked for it, as a job keeps them."""

from __future__ import annotations

import json
from collections.abc import Mapping

RESTS = "rests"
"""Key under which a job has them."""


def load(stored: bytes | None) -> dict[str, float]:
    """Return the download slots that rest, and until when, in seconds since the epoch."""
    return {str(slot): float(until) for slot, until in json.loads(stored or b"{}").items()}


def dump(rests: Mapping[str, float], now: float) -> bytes:
    """Return what is stored of *rests*: those that are not over."""
    return json.dumps({slot: until for slot, until in rests.items() if until > now}).encode()
