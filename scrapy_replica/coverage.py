"""How much a crawl found of what is within reach."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_replica.numeric import hits_left

RECENT = 100
"""Checks that tell of what waits before the end: what waits changes."""


class Coverage(NamedTuple):
    """How much of what is within reach was found, as the checks say."""

    found: int
    """Contents: pages that repeat no other word by word, those on the topic where there is one."""
    waiting: int
    checked: int
    """URLs that were drawn from those that wait, as they are now, and fetched."""
    news: int
    """Those of them that brought another content."""

    @property
    def left(self) -> tuple[float, int, int] | None:
        """Waiting URLs that would bring another content, and the 95 % interval; ``None`` before anything is known."""
        if not self.waiting:
            return 0.0, 0, 0
        if not self.checked:
            return None
        low, high = hits_left(self.checked, self.news, self.waiting)
        return min(max(self.waiting * self.news / self.checked, low), high), low, high

    @property
    def share(self) -> tuple[float, float, float] | None:
        """Share of the contents within reach that was found, and its 95 % interval; ``None`` before it is known."""
        if self.left is None or not self.found:
            return None
        about, low, high = (self.found / (self.found + left) for left in self.left)
        return about, high, low
