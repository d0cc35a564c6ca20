"""Times and sizes for a reader."""

from __future__ import annotations

from datetime import datetime, timezone


def amount(n_bytes: float) -> str:
    """Return a number of bytes with two digits and more: ``950 B``, ``1.2 MB``, ``310 GB`` (1 kB is 1,000 bytes)."""
    value, units = float(n_bytes), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.1f} {units[0]}" if value < 9.95 and units[0] != "B" else f"{value:,.0f} {units[0]}"


def duration(seconds: float) -> str:
    """Return a time in its two largest units: ``45 seconds``, ``3 hours 12 minutes``."""
    told: list[str] = []
    rest = round(seconds)
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        n, rest = divmod(rest, length)
        if n or (unit == "second" and not told):
            told.append(f"{n:,} {unit}{'' if n == 1 else 's'}")
    return " ".join(told[:2])


def day(at: float) -> str:
    """Return the time *at* (seconds since the epoch): ``22 November 2026, 13:45 UTC``."""
    time = datetime.fromtimestamp(at, timezone.utc)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"
