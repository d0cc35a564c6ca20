"""The items that callbacks make of pages: hashes, and nothing of what they say."""

from __future__ import annotations

import heapq
from collections.abc import Collection

import numpy as np

from scrapy_replica.crawldb.sqlite.connection import Connection
from scrapy_replica.crawldb.sqlite.table import Table

SKETCH = 64
"""Hashes of one page that are kept, the least ones: all of most pages, and a sample that two pages draw alike."""


def goes_beyond(items: Collection[int], others: Collection[int]) -> bool:
    """Tell whether one page gave an item that another did not, by the sketches of both."""
    end = max(others) if len(others) >= SKETCH else None
    return any(item not in others and (end is None or item < end) for item in items)


EXACT = 100_000
"""Items of a crawl that are known exactly, some 2 MB; those after them are known to a Bloom filter."""
BLOCKS, BLOCK_BITS, PROBES = 1_024, 32_768, 7
"""Parts of that filter, 4 kB each, and bits that one item sets in its part: of three million items it takes 1 % of the
new ones for known (Putze, Sanders & Singler 2007), which are then judged by the text of their page."""


class ItemTable(Table):
    """Items of the crawl, each known by 64 bits, signed."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._n_exact = self._number("SELECT COUNT(*) FROM seen_items")

    def enter(self, items: Collection[int]) -> bool:
        """Take note of *items* that a callback gave; tell whether one of them is new to the crawl."""
        return sum([self._enter(item) for item in items]) > 0

    def _enter(self, item: int) -> bool:
        if self._n_exact < EXACT:
            is_new = self._write("INSERT OR IGNORE INTO seen_items VALUES (?)", (item,)).rowcount > 0
            self._n_exact += is_new
            return is_new
        return not self._is_exact(item) and self._filter(item)

    def _is_exact(self, item: int) -> bool:
        return self._has("SELECT 1 FROM seen_items WHERE hash = ?", item)

    def know(self, items: Collection[int]) -> bool:
        """Tell whether each of *items* was entered for certain: one that only the filter knows may be new."""
        return all(map(self._is_exact, items))

    def _filter(self, item: int) -> bool:
        """Set the bits of *item* in the filter; tell whether one was not set."""
        block, first, step = item % BLOCKS, item >> 10 & 0x7FFF, item >> 25 & 0x7FFF | 1
        known = self._cell("SELECT bits FROM item_filter WHERE block = ?", block)
        bits = bytearray(BLOCK_BITS // 8 if known is None else known)
        places = [(first + probe * step) % BLOCK_BITS for probe in range(PROBES)]
        if all(bits[place >> 3] & 1 << (place & 7) for place in places):
            return False
        for place in places:
            bits[place >> 3] |= 1 << (place & 7)
        self._write("INSERT OR REPLACE INTO item_filter VALUES (?, ?)", (block, bytes(bits)))
        return True

    def are_given(self) -> bool:
        """Tell whether any page gave one."""
        return self._n_exact > 0 or self._has("SELECT 1 FROM items LIMIT 1")

    def keep(self, url_id: int, items: Collection[int]) -> None:
        """Keep which items the page of that URL gave, in place of what is known of it."""
        self._write("INSERT OR REPLACE INTO items VALUES (?, ?)", (url_id, _packed(items)))

    def add_brought(self, url_id: int, items: Collection[int]) -> None:
        """Keep which items a request brought that a callback made up of the page of that URL, beside those before."""
        before = self.brought(url_id)
        if not before.issuperset(items):
            self._write("INSERT OR REPLACE INTO brought VALUES (?, ?)", (url_id, _packed(before.union(items))))

    def of_page(self, url_id: int) -> frozenset[int] | None:
        """Return the sketch of the items of the page of that URL, ``None`` where it gave none."""
        sketch = self._cell("SELECT sketch FROM items WHERE url = ?", url_id)
        return _unpacked(sketch) if sketch is not None else None

    def brought(self, url_id: int) -> frozenset[int]:
        """Return the sketch of what requests brought that a callback made up of the page of that URL."""
        return _unpacked(self._cell("SELECT sketch FROM brought WHERE url = ?", url_id) or b"")


def _packed(items: Collection[int]) -> bytes:
    return np.array(heapq.nsmallest(SKETCH, items), dtype="<i8").tobytes()


def _unpacked(sketch: bytes) -> frozenset[int]:
    return frozenset(np.frombuffer(sketch, dtype="<i8").tolist())
