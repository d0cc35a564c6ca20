"""One number that waiting URLs carry from the pages that led to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from scrapy_replica.focus.window import UrlWindow


class PathMemory:
    """URL -> number, combined by *better* where several pages link to it; *unknown* for all others.

    The ``MOST_URLS`` URLs found last, 250 bytes each, at most 75 MB; a number is forgotten when it is taken.
    """

    def __init__(self, unknown: float, better: Callable[[float, float], float]) -> None:
        self._unknown = unknown
        self._better = better
        self._urls = UrlWindow()
        self._urls.add_column("value", np.float64)
        self._urls.add_column("is_known", np.bool_)

    def put(self, url: str, value: float) -> None:
        row = self._urls.row(self._urls.enter(url))
        values, is_known = self._urls["value"], self._urls["is_known"]
        values[row] = self._better(float(values[row]), value) if is_known[row] else value
        is_known[row] = True

    def take(self, url: str) -> float:
        row = self._urls.row(self._urls.find(url))
        if not self._urls["is_known"][row]:
            return self._unknown
        self._urls["is_known"][row] = False
        return float(self._urls["value"][row])

    def state(self) -> dict[str, Any]:
        return self._urls.state()

    def restore(self, state: Mapping[str, Any]) -> None:
        self._urls.restore(state)
