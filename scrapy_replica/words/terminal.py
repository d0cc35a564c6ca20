"""Numbers, times and tables for a person at a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone

from scrapy_replica.words.text import shortened, width_of

COLUMNS = 80
"""Columns of a terminal."""


def score(value: float) -> str:
    """Return a score, probability or share, 0 to 1, with two digits: ``0.81``."""
    return f"{value:.2f}"


def scores(*values: float) -> list[str]:
    """Return scores with two digits, or as many more, up to six, as tell different ones apart: ``0.868``, ``0.871``."""
    for digits in range(2, 7):
        told = [f"{value:.{digits}f}" for value in values]
        if len(set(told)) == len(set(values)):
            break
    return told


def percent(value: float) -> str:
    """Return a share, 0 to 1, in percent: ``12 %``, ``0.3 %``."""
    return f"{100 * value:.1f} %" if 0 < value < 0.1 else f"{100 * value:.0f} %"


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Return *number* with its noun: ``1 link``, ``2 links``, ``1,200 copies`` (*things*: its plural, if irregular)."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def share(part: int, whole: int) -> str:
    """Return ``17 of 18``."""
    return f"{part:,} of {whole:,}"


def time_of(at: float) -> str:
    """Return a moment, in seconds since the epoch, as the clock here showed it: ``2026-01-31 09:05:12``."""
    return f"{datetime.fromtimestamp(at).astimezone():%Y-%m-%d %H:%M:%S}"


def day(at: float) -> str:
    """Return the moment *at*, in seconds since the epoch, for readers anywhere: ``22 November 2026, 13:45 UTC``."""
    time = datetime.fromtimestamp(at, timezone.utc)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"


def amount(n_bytes: float) -> str:
    """Return a number of bytes with two digits and more: ``950 B``, ``1.2 MB``, ``310 GB`` (1 kB is 1,000 bytes)."""
    value, units = float(n_bytes), ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.1f} {units[0]}" if value < 9.95 and units[0] != "B" else f"{value:,.0f} {units[0]}"


_UNITS = ((86_400, "day"), (3_600, "h"), (60, "min"), (1, "s"))
"""Seconds of a unit of time and its name."""


def lasting(seconds: float) -> str:
    """Return a time in its two largest units: ``3 h 12 min``."""
    left = round(seconds)
    told: list[str] = []
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count or told or size == 1:
            told.append(counted(count, unit) if unit == "day" else f"{count} {unit}")
    return " ".join(one for one in told[:2] if one[:2] != "0 ") or "0 s"


def wrapped(text: str, indent: int = 0, hanging: int | None = None, width: int = COLUMNS) -> str:
    """Return *text* as lines of *width* columns, the first indented by *indent*, the others by *hanging*.

    A URL that is longer stays whole on a line of its own, so that it can be copied.
    """
    rest = indent if hanging is None else hanging
    lines, line = [], " " * indent
    for word in text.split():
        candidate = line + word if not line.strip() else f"{line} {word}"
        if width_of(candidate) > width and line.strip():
            lines.append(line)
            candidate = " " * rest + word
        line = candidate
    return "\n".join([*lines, line.rstrip()])


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of 80 columns at most, numbers to the right; the widest texts are shortened to fit.

    Cells are text or numbers; numbers are written with thousands separated, shares (floats) with two digits.
    """
    cells = [[_cell(cell) for cell in row] for row in rows]
    is_number = [all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(header))] if rows else []
    widths = [max(width_of(cell) for cell in column) for column in zip(header, *cells, strict=True)]
    while sum(widths) + 2 * (len(widths) - 1) > COLUMNS and max(widths) > 8:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in [header, *cells]:
        shown = [shortened(cell, most) for cell, most in zip(row, widths, strict=True)]
        padded = [
            " " * (most - width_of(cell)) + cell if right else cell + " " * (most - width_of(cell))
            for cell, most, right in zip(shown, widths, is_number or [False] * len(header), strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return score(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
