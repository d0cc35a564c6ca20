"""Text that a host shows on many pages: menus, cookie notes, boxes of related links."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field

import mmh3


def block_hash(text: str) -> int:
    """Return the 64-bit mmh3 of a block's *text*, case folded."""
    return mmh3.hash64(text.casefold(), signed=False)[0]


@dataclass(slots=True)
class BlockCounter:
    """Of one host: on how many pages each block text stood, bounded.

    ``counts`` holds at most ``max_blocks`` hashes. When it is full the text seen least recently goes, so that what
    stands on every page stays; a text that comes back begins at 1 again. ``pages`` and ``counts`` are the whole state.
    """

    max_blocks: int = 4096
    min_pages: int = 5
    """Nothing counts as repeated before that many pages of the host were seen."""
    min_share: float = 0.3
    """Share of the host's pages, since the text was first counted, that makes a block repeated."""
    pages: int = 0
    counts: OrderedDict[int, tuple[int, int]] = field(default_factory=OrderedDict)
    """Hash -> (pages with the text, number of the first of them), the text seen least recently first."""

    def add(self, texts: Iterable[str]) -> None:
        """Count one page with the block *texts*, each text once."""
        self.pages += 1
        for key in dict.fromkeys(block_hash(text) for text in texts):
            count, first = self.counts.pop(key, (0, self.pages))
            self.counts[key] = (count + 1, first)
        while len(self.counts) > self.max_blocks:
            self.counts.popitem(last=False)

    def is_repeated(self, text: str) -> bool:
        """Say whether *text* stood on at least ``min_pages`` pages and on ``min_share`` of those since its first."""
        count, first = self.counts.get(block_hash(text), (0, 0))
        return count >= self.min_pages and count >= self.min_share * (self.pages - first + 1)
