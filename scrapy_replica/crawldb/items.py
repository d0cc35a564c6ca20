"""What a store keeps of the items that callbacks make of pages: hashes, and nothing of what they say."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

SKETCH = 64
"""Hashes of one page that are kept, the least ones: all of most pages, and a sample that two pages draw alike."""


def goes_beyond(items: Collection[int], others: Collection[int]) -> bool:
    """Tell whether one page gave an item that another did not, by the sketches of both."""
    end = max(others) if len(others) >= SKETCH else None
    return any(item not in others and (end is None or item < end) for item in items)


class ItemStore(Protocol):
    """Items of the crawl, each known by 64 bits, signed."""

    def enter(self, items: Collection[int]) -> bool:
        """Take note of *items* that a callback gave; tell whether one of them is new to the crawl."""

    def are_given(self) -> bool:
        """Tell whether any page gave one."""

    def keep(self, url_id: int, items: Collection[int]) -> None:
        """Keep which items the page of that URL gave, in place of what is known of it."""

    def of_page(self, url_id: int) -> frozenset[int] | None:
        """Return the sketch of the items of the page of that URL, ``None`` where it gave none."""
