"""The links seen a short while ago: most links of a page stand on the pages before it, too."""

from __future__ import annotations

from collections.abc import Mapping

MAX_SEEN = 50_000
"""URLs whose best score is remembered: about 10 MB."""


class RecentLinks:
    """URL -> the best place that it was entered with: the user's priority, then the strategy's score."""

    def __init__(self) -> None:
        self._best: dict[str, tuple[int, float]] = {}

    def has(self, url: str, score: float, priority: int = 0) -> bool:
        """Tell whether *url* was entered in at least that place."""
        best = self._best.get(url)
        return best is not None and (priority, score) <= best

    def add(self, url: str, score: float, priority: int = 0) -> None:
        self._best[url] = priority, score
        if len(self._best) > MAX_SEEN:
            for old in list(self._best)[: MAX_SEEN // 2]:
                del self._best[old]

    def discard(self, url: str) -> None:
        """Take note that *url* was dropped or demoted: it may come up again from a better page."""
        self._best.pop(url, None)

    def update(self, scores: Mapping[str, float]) -> None:
        """Take note of other scores of URLs that wait."""
        for url, score in scores.items():
            if (best := self._best.get(url)) is not None:
                self._best[url] = best[0], score

    def clear(self) -> None:
        self._best.clear()
