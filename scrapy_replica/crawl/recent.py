"""Which records were met a short while ago."""

from __future__ import annotations

MOST = 20_000
"""Ids remembered at least, twice as many at most: 4 MB. What was heard of comes up again within seconds."""


class Recent:
    """The ids that were added last."""

    def __init__(self) -> None:
        self._new: set[int] = set()
        self._old: set[int] = set()

    def add(self, number: int) -> bool:
        """Add an id; ``False`` if it is known."""
        if number in self:
            return False
        if len(self._new) >= MOST:
            self._old, self._new = self._new, set()
        self._new.add(number)
        return True

    def __contains__(self, number: object) -> bool:
        return number in self._new or number in self._old
