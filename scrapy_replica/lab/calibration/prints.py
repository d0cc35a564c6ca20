"""Both fingerprints of every page, and what each of them costs."""

from __future__ import annotations

import time
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import BinaryIO, NamedTuple

import numpy as np

from scrapy_replica.lab.calibration.minhash import N_HASHES, minhash_of
from scrapy_replica.pages.simhash import UInt64Array, simhash_of, token_hashes

_BATCH = 256


class PageText(NamedTuple):
    """A page as it is read."""

    url: str
    """Where it lies: a URL, or the path of a file."""
    text: str


class Prints:
    """Fingerprints of pages, in the order they came, and their texts in a file.

    1.1 kB a page in memory. Pages of fewer than *min_words* words are counted and left out: a crawl never takes them
    for duplicates of others.
    """

    def __init__(self, texts: BinaryIO, min_words: int) -> None:
        self.urls: list[str] = []
        self.short = 0
        """Pages of fewer words, but at least one."""
        self.empty = 0
        """Pages without a word."""
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """Processor time of ``simhash.fingerprints``, ``simhash.pairs``, ``legacy.fingerprints``, ``legacy.pairs``; to
        part a text into tokens, which both do, counts for both."""
        self._min_words = min_words
        self._file, self._ends = texts, array("q", [0])
        self._simhashes, self._minhashes = array("Q"), bytearray()

    def __len__(self) -> int:
        return len(self.urls)

    @property
    def n_pairs(self) -> int:
        """Pairs of two pages."""
        return len(self) * (len(self) - 1) // 2

    @property
    def simhashes(self) -> UInt64Array:
        """Simhashes of all pages, shape (n,)."""
        return np.frombuffer(self._simhashes, dtype=np.uint64)

    @property
    def minhashes(self) -> UInt64Array:
        """Legacy fingerprints of all pages, shape (n, 128)."""
        return np.frombuffer(self._minhashes, dtype=np.uint64).reshape(-1, N_HASHES)

    def extend(self, pages: Iterable[PageText]) -> None:
        """Take *pages*, many at a time: between two pages that are read nothing of a measure stays in the cache."""
        some = iter(pages)
        while batch := list(islice(some, _BATCH)):
            self._extend(batch)

    def _extend(self, pages: Sequence[PageText]) -> None:
        start = time.process_time()
        tokens = [token_hashes(page.text) for page in pages]
        parting = time.process_time() - start
        long = [number for number, each in enumerate(tokens) if len(each) >= self._min_words]
        n_empty = sum(not len(each) for each in tokens)
        self.empty, self.short = self.empty + n_empty, self.short + len(pages) - len(long) - n_empty
        with self.timed("simhash.fingerprints"):
            self._simhashes.extend(simhash_of(tokens[number]) for number in long)
        with self.timed("legacy.fingerprints"):
            minhashes = [minhash_of(tokens[number]) for number in long]
        for name in ("simhash.fingerprints", "legacy.fingerprints"):
            self.seconds[name] += parting
        self._minhashes += b"".join(each.tobytes() for each in minhashes)
        for page in map(pages.__getitem__, long):
            self.urls.append(page.url)
            self._ends.append(self._ends[-1] + self._file.write(page.text.encode("utf-8", "surrogatepass")))

    def text(self, page: int) -> str:
        """Return the text of a page by its number."""
        self._file.seek(self._ends[page])
        return self._file.read(self._ends[page + 1] - self._ends[page]).decode("utf-8", "surrogatepass")

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Count the processor time of this span under *name*."""
        start = time.process_time()
        yield
        self.seconds[name] += time.process_time() - start
