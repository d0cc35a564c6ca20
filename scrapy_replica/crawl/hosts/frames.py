"""What a host puts around each of its pages, left out of what these are compared with other hosts by."""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter

from scrapy_replica.host_cache import HostCache
from scrapy_replica.pages.repetition import HostBlocks
from scrapy_replica.pages.simhash import simhash_of, token_hashes
from scrapy_replica.records import Page
from scrapy_replica.sites.evidence import MIN_WORDS

FIRST_PAGES, MOST_OF_THEM = 5, 4
"""First pages of a host, and of them those that a block of its frame stands on. Most copies are blocked after six."""
MAX_BYTES = 5_000_000
"""Blocks of hosts in memory, 1 to 8 kB each; of the others the next five pages are taken for the first."""


class Frames:
    """The blocks that most of the first pages of a host have, in their main text or beside it.

    A note of fifty words below each page made short pages of a manual others than its original's: the verdict ended,
    and of a host of 150 pages 100 were fetched again.
    """

    def __init__(self) -> None:
        self._hosts: HostCache[HostBlocks] = HostCache(
            lambda _: HostBlocks(None, FIRST_PAGES, MOST_OF_THEM), MAX_BYTES, attrgetter("weight")
        )

    def without(self, page: Page) -> Page:
        """Return *page* as it is without the frame of its host, or as a whole where that leaves next to nothing.

        It is counted, if it is one of the first.
        """
        blocks = self._hosts.of(page.host)
        if not blocks.is_known:
            if page.text:
                blocks.add(f"{page.text}\n{page.beside}")
            return page
        text = blocks.without_repeated(page.text)
        if text == page.text or len(tokens := token_hashes(text)) < MIN_WORDS:
            return page
        return replace(page, text=text, words=len(tokens), simhash=simhash_of(tokens))
