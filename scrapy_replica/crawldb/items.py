"""What a store keeps of the items that callbacks make of pages: hashes, and nothing of what they say."""

from __future__ import annotations

from collections.abc import Collection

SKETCH = 64
"""Hashes of one page that are kept, the least ones: all of most pages, and a sample that two pages draw alike."""


def goes_beyond(items: Collection[int], others: Collection[int]) -> bool:
    """Tell whether one page gave an item that another did not, by the sketches of both."""
    end = max(others) if len(others) >= SKETCH else None
    return any(item not in others and (end is None or item < end) for item in items)
