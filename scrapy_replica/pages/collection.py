"""A collection as an index: which pages it has, in one file that is mapped into memory.

A line of JSON, padded to :data:`HEAD` bytes, a filter, the first text of each group of rows, and the rows: three
little-endian 64-bit numbers for each page, hashes of its main text, of its host, and of its title and what it says
beside. Rows are sorted, each once; what several hosts say is one row, whose host is 0.

The filter is a Bloom filter in blocks (Putze, Sanders, Singler: Cache-, hash- and space-efficient Bloom filters, 2007)
of 64 bytes, a line of the processor's cache, in the order of the texts. So a page takes 25.6 bytes at most.
"""

from __future__ import annotations

import json
import mmap
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import mmh3
import numpy as np

from scrapy_replica.pages.beside import hash_of_beside
from scrapy_replica.pages.simhash import UInt64Array
from scrapy_replica.records import Page

HEAD = 256
FORMAT, VERSION = "scrapy-replica collection", 3
COLUMNS = 3
PARTS = 256
"""Rows are sorted in so many parts, by their first byte: of 100 million pages each takes 10 MB."""
HELD = 1 << 19
"""Rows in memory before they are parted, 12 MB."""
GROUP = 32
"""Rows of which the first text is kept in memory, 25 MB of 100 million pages. A group is .75 kB, nearly always on one
page of the disk: a look-up read 1.05 of 4 kB each, and 1.27 with groups of 128."""
BLOCK = 64
"""Bytes of a block of the filter."""
TEXTS = 48
"""Texts of a block, 10.7 bits each: of texts that the collection has not one in 110 passes, with five bits each."""
SHIFTS = (0, 9, 18, 27, 36)
"""Places of the bits of a text among the 512 of its block; the highest bits of its hash name the block."""
AGAIN = "make it again, with scrapy replica mine --index"


def row_of(signature: bytes, host: str, title: str | None, beside: int | None) -> tuple[int, int, int]:
    """Return the row of a page with that *signature*; *beside* is what ``hash_of_beside`` returns."""
    told = f"{title or ''}\0{beside or 0}".encode("utf-8", "surrogatepass")
    return int.from_bytes(signature[:8], "big"), _hash(host.encode()) or 1, _hash(told)


def _hash(told: bytes) -> int:
    return mmh3.hash64(told, signed=False)[0]


class Collection:
    """The pages of a collection.

    :raises OSError: the file cannot be read.
    :raises ValueError: it is no such index, of another version, or cut off.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.noise, n_pages = _read_head(path, file.read(HEAD))
            self._n_blocks = _n_blocks(n_pages)
            firsts_at = HEAD + BLOCK * self._n_blocks
            n_groups = -(-n_pages // GROUP)
            self._path, self._rows_at = path, firsts_at + 8 * n_groups
            if path.stat().st_size != self._rows_at + 8 * COLUMNS * n_pages:
                raise ValueError(f"{path} is cut off or damaged: {AGAIN}")
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._firsts = np.frombuffer(self._data, "<u8", n_groups, firsts_at)
        self._rows = np.frombuffer(self._data, "<u8", offset=self._rows_at).reshape(n_pages, COLUMNS)
        np.frombuffer(self._data, np.uint8, self._rows_at).max()  # reads what is looked at first, in its order
        if sys.platform != "win32":
            # Else the disk reads ahead, 8 MB on one of ours, what nobody asks for.
            self._data.madvise(mmap.MADV_RANDOM)

    def __len__(self) -> int:
        return len(self._rows)

    def has(self, page: Page) -> bool:
        """Tell whether the collection has *page*.

        As within a crawl, a page of another host is the same if its main text is, and one of its own host if its title
        and what it says beside are equal as well. One of 100 million pages is met by chance once in 10**11 texts.
        """
        if page.signature is None:
            return False
        text, host, beside = row_of(page.signature, page.host, page.title, hash_of_beside(page))
        if not self._may_have(text):
            return False
        rows = self._rows_of(text)
        if not len(rows) or int(rows[0, 1]) != host:  # all rows of one text have one host
            return len(rows) > 0
        return len(_range(rows, 2, beside)) > 0

    def _may_have(self, text: int) -> bool:
        """Tell by the filter whether there may be rows of *text*."""
        start = HEAD + BLOCK * ((text >> 32) * self._n_blocks >> 32)
        block = int.from_bytes(self._data[start : start + BLOCK], "little")
        return all(block >> (text >> shift & 511) & 1 for shift in SHIFTS)

    def _rows_of(self, text: int) -> UInt64Array:
        """Return the rows of *text*: those groups are read that may have some, nearly always one."""
        key = np.uint64(text)
        first = max(0, int(self._firsts.searchsorted(key)) - 1)
        end = int(self._firsts.searchsorted(key, side="right"))
        return _range(self._rows[first * GROUP : end * GROUP], 0, text)

    def batches(self) -> Iterator[UInt64Array]:
        """Yield the rows, shape (n, 3), some at a time."""
        for first in range(0, len(self), HELD):
            at = self._rows_at + 8 * COLUMNS * first
            yield np.fromfile(self._path, "<u8", COLUMNS * HELD, offset=at).reshape(-1, COLUMNS)


def _n_blocks(n_pages: int) -> int:
    """Return how many blocks a filter has: as many of each part."""
    return PARTS * -(-n_pages // (PARTS * TEXTS))


def _blocks(texts: UInt64Array, part: int, n_blocks: int) -> UInt64Array:
    """Return that *part* of a filter, shape (blocks, 8)."""
    blocks = np.zeros((n_blocks // PARTS, BLOCK // 8), "<u8")
    block = ((texts >> np.uint64(32)) * np.uint64(n_blocks) >> np.uint64(32)) - np.uint64(part * len(blocks))
    for shift in SHIFTS:
        place = texts >> np.uint64(shift) & np.uint64(511)
        np.bitwise_or.at(blocks, (block, place >> np.uint64(6)), np.uint64(1) << (place & np.uint64(63)))
    return blocks


def _range(rows: UInt64Array, column: int, value: int) -> UInt64Array:
    """Return those of *rows*, sorted by that *column*, which have *value* there."""
    key = np.uint64(value)
    return rows[rows[:, column].searchsorted(key) : rows[:, column].searchsorted(key, side="right")]


def _read_head(path: Path, head: bytes) -> tuple[str, int]:
    try:
        told = json.loads(head)
        is_one, version = told["format"] == FORMAT, told["version"]
        noise, n_pages = str(told["noise"]), int(told["pages"])
    except (ValueError, KeyError, TypeError):
        is_one = False
    if not is_one:
        raise ValueError(f"{path} is no index of a collection: make one with scrapy replica mine --index")
    if version != VERSION:
        raise ValueError(f"{path} is an index of another release: {AGAIN}")
    return noise, n_pages


def write_collection(batches: Iterable[UInt64Array], noise: str, file: BinaryIO, folder: Path) -> int:
    """Write an index of rows, in any order and more than once, into *file*; return how many pages it has.

    What is in memory hardly grows with them; what is in *folder* meanwhile is as large as the index.

    :param batches: arrays of rows, shape (n, 3).
    :param noise: name of the way in which their texts were found.
    """
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        parts = [Path(temporary, f"{number:03}") for number in range(PARTS)]
        for rows in batches:
            _part(rows, parts)
        n_pages = sum(map(_sort, parts))
        head = {"format": FORMAT, "version": VERSION, "noise": noise, "pages": n_pages}
        file.write(json.dumps(head).encode().ljust(HEAD - 1) + b"\n")
        firsts, n = [], 0
        for number, part in enumerate(parts):
            texts = _rows(part)[:, 0] if part.exists() else np.empty(0, np.uint64)
            file.write(_blocks(texts, number, _n_blocks(n_pages)).tobytes())
            firsts.append(texts[-n % GROUP :: GROUP].copy())  # a view would keep the part in memory
            n += len(texts)
        file.writelines(texts.tobytes() for texts in firsts)
        for part in filter(Path.exists, parts):
            with part.open("rb") as sorted_rows:
                shutil.copyfileobj(sorted_rows, file)
    return n_pages


def _part(rows: UInt64Array, parts: list[Path]) -> None:
    rows = rows[np.argsort(rows[:, 0])].astype("<u8", copy=False)
    ends = np.searchsorted(rows[:, 0] >> np.uint64(56), np.arange(PARTS), side="right")
    for part, own in zip(parts, np.split(rows, ends[:-1]), strict=True):
        if len(own):
            with part.open("ab") as file:
                file.write(own.tobytes())


def _rows(part: Path) -> UInt64Array:
    return np.fromfile(part, "<u8").reshape(-1, COLUMNS)


def _sort(part: Path) -> int:
    """Sort the rows of a *part*, each once; return how many there are."""
    if not part.exists():
        return 0
    rows = _rows(part)
    rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
    starts = np.flatnonzero(np.r_[True, rows[1:, 0] != rows[:-1, 0]])
    # The rows of a text are in the order of their hosts.
    are_several = rows[starts, 1] != rows[np.r_[starts[1:], len(rows)] - 1, 1]
    rows[np.repeat(are_several, np.diff(np.r_[starts, len(rows)])), 1:] = 0
    is_new = np.r_[True, (rows[1:] != rows[:-1]).any(axis=1)]
    rows = rows[is_new]
    rows.tofile(part)
    return len(rows)
