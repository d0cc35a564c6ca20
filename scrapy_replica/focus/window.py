"""The last so many of things that come without end, as columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.numeric import IntArray

MOST_URLS = 300_000
"""URLs found last that strategies know of: 230 bytes each with its string, besides the columns of the strategy."""


class Window(dict[str, NDArray[Any]]):
    """Columns over the last *most* things, by name: shape (rows or more,) or (rows or more, width).

    Things are numbered 1, 2, ... as they come, 0 stands for none.
    The row of a thing is that of its number until *most* others came; of what was forgotten it is row 0, which holds
    zeros. So a number may be kept anywhere, and needs no care when the thing is forgotten. Columns grow by doubling to
    *most* rows and never beyond; a new thing's row holds zeros.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.last = 0
        """Number of the newest."""
        self._reserved = min(1024, most + 1)

    @property
    def used(self) -> int:
        """Rows in use, row 0 included."""
        return min(self.last, self.most) + 1

    def add_column(self, name: str, dtype: type, width: int = 0) -> None:
        """Add a column of zeros; *width* of a second axis."""
        self[name] = np.zeros((self._reserved, width) if width else self._reserved, dtype)

    def add(self, count: int = 1) -> int:
        """Enter *count* things and return the number of the first."""
        first = self.last + 1
        self.last += count
        if self.used > self._reserved:
            self._reserve(min(self.most + 1, max(self.used, 2 * self._reserved)))
        if self.last > self.most:
            rows = self.row(first) if count == 1 else self.rows(np.arange(first, self.last + 1))
            for column in self.values():
                column[rows] = 0
        return first

    def _reserve(self, rows: int) -> None:
        for name, column in self.items():
            grown = np.zeros((rows, *column.shape[1:]), column.dtype)
            grown[: len(column)] = column
            self[name] = grown
        self._reserved = rows

    def row(self, number: int) -> int:
        """Return the row of a thing, 0 if it was forgotten."""
        return 1 + (number - 1) % self.most if number > 0 and number > self.last - self.most else 0

    def rows(self, numbers: IntArray) -> IntArray:
        """Return the rows of things, 0 for those forgotten; the same shape."""
        if self.last <= self.most:
            return numbers
        rows = (numbers - 1) % self.most + 1
        rows[numbers <= self.last - self.most] = 0
        return rows

    def number(self, row: int) -> int:
        """Return the number of the thing whose row is *row*, from 1 on."""
        return self.last - (self.last - row) % self.most

    def numbers(self) -> IntArray:
        """Return the number of the thing in each row, shape (used,); 0 of row 0."""
        rows = np.arange(self.used)
        return np.where(rows > 0, self.last - (self.last - rows) % self.most, 0)

    def write(self, name: str, rows: IntArray, values: Any) -> None:
        """Set rows of a column; what falls on row 0 is lost."""
        column = self[name]
        column[rows] = values
        column[0] = 0

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes: copies, which stay as they are."""
        return {"last": self.last, **{name: column[: self.used].copy() for name, column in self.items()}}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.last = state["last"]
        self._reserve(max(self._reserved, self.used))
        for name, column in self.items():
            column[: self.used] = state[name]


class UrlWindow(Window):
    """The URLs found last, each with a number."""

    def __init__(self) -> None:
        super().__init__(MOST_URLS)
        self.urls = [""]
        """URLs by row."""
        self._numbers: dict[str, int] = {}

    def find(self, url: str) -> int:
        """Return the number of *url*, 0 if it was not found or was forgotten."""
        return self._numbers.get(url, 0)

    def enter(self, url: str) -> int:
        """Return the number of *url*, a new one if it has none."""
        number = self._numbers.get(url)
        if number is None:
            number = self._numbers[url] = self.add()
            if len(self.urls) <= self.most:
                self.urls.append(url)
            else:
                row = self.row(number)
                del self._numbers[self.urls[row]]
                self.urls[row] = url
        return number

    def state(self) -> dict[str, Any]:
        return {**super().state(), "urls": self.urls.copy()}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.urls = list(state["urls"])
        self._numbers = {
            self.urls[self.row(number)]: number for number in range(self.last - self.used + 2, self.last + 1)
        }
