"""What a store keeps of URLs that are not fetched, or behind the others: by which claims, and what stands for them."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_replica.claim import Claim


class Suppressed(NamedTuple):
    """A URL that a claim suppressed."""

    id: int
    claim: Claim
    representative: int | None
    """Key of the URL that is fetched in its place."""


def spread(rows: list[Suppressed], most: int) -> list[Suppressed]:
    """Return *most* of *rows*, spread over all of them, or all where there are no more."""
    n = min(most, len(rows))
    return [rows[one * len(rows) // n] for one in range(n)]


class Restored(NamedTuple):
    """A suppressed URL that comes back."""

    id: int
    url: str | None
    """``None`` where it went on meanwhile."""
    representative: int | None
    """Key of the URL that was fetched in its place."""
