"""Own pages of copies: what nothing but the copy links to, of which the canonical host has some and lacks others."""

from __future__ import annotations

from collections import Counter

MIN_MISSING = 3
"""Pages of a copy that the canonical host lacks before its other own pages are fetched as they stand."""


class OwnPages:
    """Counts them for each copy, in this run."""

    def __init__(self) -> None:
        self._kept: Counter[str] = Counter()
        """Copy -> own pages that the canonical host has."""
        self._missing: Counter[str] = Counter()

    def count(self, copy: str, *, is_kept: bool) -> None:
        """Take note whether the canonical host has a page that nothing but the *copy* leads to."""
        (self._kept if is_kept else self._missing)[copy] += 1

    def are_missing(self, copy: str) -> bool:
        """Tell whether most of what nothing but the *copy* leads to is missing on the canonical host."""
        return self._missing[copy] >= max(MIN_MISSING, self._kept[copy] + 1)

    def forget(self, copy: str) -> None:
        """Count anew for *copy*."""
        del self._kept[copy], self._missing[copy]
