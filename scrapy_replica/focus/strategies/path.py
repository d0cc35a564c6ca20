"""One number that waiting URLs carry from the pages that led to them."""

from __future__ import annotations

from collections.abc import Callable

from scrapy_replica.focus.frontier import MOST_URLS


class PathMemory:
    """URL -> number, combined by *better* where several pages link to it; *unknown* for all others.

    At most ``MOST_URLS`` waiting URLs; a URL is forgotten when it is taken.
    """

    def __init__(self, unknown: float, better: Callable[[float, float], float]) -> None:
        self._unknown = unknown
        self._better = better
        self._values: dict[str, float] = {}

    def put(self, url: str, value: float) -> None:
        known = self._values.get(url)
        if known is not None:
            self._values[url] = self._better(known, value)
        elif len(self._values) < MOST_URLS:
            self._values[url] = value

    def take(self, url: str) -> float:
        return self._values.pop(url, self._unknown)
