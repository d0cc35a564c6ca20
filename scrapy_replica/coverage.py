"""How much a crawl found of what is within reach."""

from __future__ import annotations

from typing import NamedTuple

from scrapy_replica.numeric import most_left

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
    def left(self) -> tuple[float, int] | None:
        """Waiting URLs that would bring another content, about, and at most with 95 %; ``None`` before that is known.

        Nothing is told of the least: before the end what waits is ever poorer than when the checks were drawn from it,
        and at the end none of them brought anything.
        """
        if not self.waiting:
            return 0.0, 0
        if not self.checked:
            return None
        most = most_left(self.checked, self.news, self.waiting)
        return min(self.waiting * self.news / self.checked, most), most

    @property
    def share(self) -> tuple[float, float] | None:
        """Share of the contents within reach that was found, about, and at least with 95 %; ``None`` before that."""
        if self.left is None or not self.found:
            return None
        about, most = self.left
        return self.found / (self.found + about), self.found / (self.found + most)
