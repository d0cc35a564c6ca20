"""The pages that wait in a simulated visit, in arrays: 16 bytes a page of the collection and 48 bytes a heap entry."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.numeric import FloatArray, IntArray

Pages = NDArray[np.integer[Any]]
"""Page numbers."""

LOOKED_AT = 8
"""Best waiting pages that are asked for their present score together."""
STALE = 4
"""Heap entries a waiting page from which on the outdated ones are dropped."""

_LAST = np.iinfo(np.int64)
_NOWHERE, _DONE = _LAST.max, _LAST.min
_FOUND = 0xFFFFFFFF


class Frontier:
    """Waiting pages of 0..n-1; gives the one with the highest score, the one found first among equals.

    A heap entry is one integer: the score's code, 64 bits that sort as the negated score does, before the number of the
    page in the order of discovery. Invariant: ``_codes[p]`` is the code of the present score of a waiting page; an
    entry with another code is outdated and is skipped when it comes up, so that raising costs O(log n). What is taken
    never depends on which outdated entries the heap still holds, so a frontier that was restored goes on alike.
    """

    def __init__(self, pages: int) -> None:
        self._codes = np.full(pages, _NOWHERE, dtype=np.int64)
        self._found = np.full(pages, -1, dtype=np.int32)
        self._pages = np.zeros(pages, dtype=np.int32)
        """Pages in the order in which they were found."""
        self._n_found = self._waiting = self._eldest = 0
        self._heap: list[int] = []
        self._is_steady = False

    def __len__(self) -> int:
        return self._waiting

    def waits(self, pages: Pages) -> NDArray[np.bool_]:
        """Return which of these pages wait, shape (n,)."""
        codes = self._codes[pages]
        return np.asarray((codes != _NOWHERE) & (codes != _DONE))

    def put(self, pages: Pages, scores: FloatArray) -> None:
        """Add distinct pages, or raise those whose score is better than their present one; shape (n,) each.

        A page that was taken for good (:meth:`done`) does not come back.
        """
        codes = _codes(scores)
        better = np.flatnonzero(codes < self._codes[pages])
        self._enter(pages[better], codes[better])

    def move(self, pages: Pages, scores: FloatArray) -> None:
        """Give distinct waiting pages other scores, better or worse; pages that do not wait are left out."""
        waiting = np.flatnonzero(self.waits(pages))
        self._enter(pages[waiting], _codes(scores[waiting]))

    def _enter(self, pages: Pages, codes: IntArray) -> None:
        self._waiting += int((self._codes[pages] == _NOWHERE).sum())
        self._codes[pages] = codes
        found = self._found[pages]
        if (new := np.flatnonzero(found < 0)).size:
            found[new] = np.arange(self._n_found, self._n_found + len(new))
            self._found[pages[new]] = found[new]
            self._pages[self._n_found : self._n_found + len(new)] = pages[new]
            self._n_found += len(new)
        self._eldest = min(self._eldest, int(found.min(initial=self._eldest)))
        heap = self._heap
        for code, number in zip(codes.tolist(), found.tolist(), strict=True):
            heapq.heappush(heap, code << 32 | number)
        if len(heap) > STALE * self._waiting + 1_000:
            self._heap = [entry for entry in set(heap) if self._is_present(entry)]
            heapq.heapify(self._heap)

    def oldest(self) -> int:
        """Take the page found first, whatever its score."""
        while not self.waits(self._pages[self._eldest : self._eldest + 1])[0]:
            self._eldest += 1
        return self._taken(int(self._pages[self._eldest]))

    def best(self, scores_now: Callable[[list[int]], FloatArray | None] | None = None) -> int:
        """Take the best page; *scores_now* is asked for the present scores of the few best, ``None`` if they stand."""
        while True:
            is_steady = self._is_steady or scores_now is None
            entries = self._top(1 if is_steady else LOOKED_AT)
            pages = self._pages[[entry & _FOUND for entry in entries]].astype(np.int64)
            now = None if is_steady or scores_now is None else scores_now(pages.tolist())
            if now is None:
                self._is_steady = scores_now is not None
                for entry in entries[1:]:
                    heapq.heappush(self._heap, entry)
                return self._taken(int(pages[0]))
            self._enter(pages, codes := _codes(now))
            best = int(now.argmax())
            if int(codes[best]) <= self._first() >> 32:
                return self._taken(int(pages[best]))

    def _top(self, most: int) -> list[int]:
        """Take the entries of the best pages from the heap."""
        entries: list[int] = []
        while self._heap and len(entries) < most:
            entry = heapq.heappop(self._heap)
            if self._is_present(entry) and (not entries or entry != entries[-1]):
                entries.append(entry)
        return entries

    def _first(self) -> int:
        while not self._is_present(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0]

    def _is_present(self, entry: int) -> bool:
        return bool(self._codes[self._pages[entry & _FOUND]] == entry >> 32)

    def _taken(self, page: int) -> int:
        self._codes[page] = _NOWHERE
        self._waiting -= 1
        return page

    def done(self, page: int) -> None:
        """Say that a page that was taken is visited: it waits never again."""
        self._codes[page] = _DONE

    def state(self) -> dict[str, Any]:
        """Return what :meth:`restore` takes besides the pages done: 12 bytes a page found."""
        pages = self._pages[: self._n_found].copy()
        return {"found": pages, "codes": self._codes[pages]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take what :meth:`state` of a frontier of as many pages returned; this one must be fresh."""
        pages, codes = state["found"], state["codes"]
        self._n_found = len(pages)
        self._pages[: len(pages)] = pages
        self._found[pages] = np.arange(len(pages))
        self._codes[pages] = codes
        waiting = np.flatnonzero(self.waits(pages))
        self._waiting = len(waiting)
        self._heap = [code << 32 | at for code, at in zip(codes[waiting].tolist(), waiting.tolist(), strict=True)]
        heapq.heapify(self._heap)


def _codes(scores: FloatArray) -> IntArray:
    """Return integers that sort as the negated scores do. Raises ``ValueError`` where a score is not finite."""
    if not np.isfinite(scores).all():
        raise ValueError("a strategy must return finite numbers as scores")
    bits = (0.0 - scores).view(np.int64)  # never -0.0, which would sort after 0.0
    return np.asarray(bits ^ (bits >> 63 & _LAST.max), dtype=np.int64)
