"""The links seen a short while ago: most links of a page stand on the pages before it, too."""

from __future__ import annotations

import math
from collections.abc import Mapping

MAX_SEEN = 50_000
"""URLs whose best score is remembered: about 10 MB."""


class Seen:
    """URL -> the best score that it was entered with."""

    def __init__(self) -> None:
        self._best: dict[str, float] = {}

    def has(self, url: str, score: float) -> bool:
        """Tell whether *url* was entered with at least that *score*."""
        best = self._best.get(url)
        return best is not None and score <= best

    def add(self, url: str, score: float) -> None:
        """Take note that *url* was entered with that *score*."""
        self._best[url] = score
        if len(self._best) > MAX_SEEN:
            for old in list(self._best)[: MAX_SEEN // 2]:
                del self._best[old]

    def update(self, scores: Mapping[str, float]) -> None:
        """Take note of other scores of URLs that wait; what was dropped or demoted may still come up again."""
        for url, score in scores.items():
            if self._best.get(url, -math.inf) > -math.inf:
                self._best[url] = score

    def clear(self) -> None:
        """Forget all."""
        self._best.clear()
