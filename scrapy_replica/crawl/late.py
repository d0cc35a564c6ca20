"""What this process saved a short while ago, of which others may not have known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection

KEPT_S = 60.0
"""Seconds that a save is remembered, at least: a process that the others did not hear of for so long is shut out."""


class LateSaves:
    """The URLs that this process saved in the last minute or two, by what they rest on.

    Where another process ends a cause, or sees a target fail, it lets come back what it knows to be saved so. What was
    saved here meanwhile comes back from here, when this process hears of it; later it saves nothing more of the kind.

    :param now: seconds since the epoch.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now, self._turned_at = now, now()
        self._new: defaultdict[str | int, list[int]] = defaultdict(list)
        self._old = self._new

    def add(self, url_id: int, causes: Collection[str], target: int | None) -> None:
        """Take note that the URL of that id was saved because of *causes*, in favour of the one with key *target*."""
        if self._now() - self._turned_at > KEPT_S:
            self._turned_at = self._now()
            self._old, self._new = self._new, defaultdict(list)
        for cause in causes:
            self._new[cause].append(url_id)
        if target is not None:
            self._new[target].append(url_id)

    def take(self, rest: str | int) -> list[int]:
        """Return the ids of what rests on a cause or a target, and forget them."""
        return [*self._old.pop(rest, []), *self._new.pop(rest, [])]
