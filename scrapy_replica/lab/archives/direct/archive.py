"""Reads a direct archive: by page, or all pages in order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from scrapy_replica.lab.archives.batch import Batch, CountArray, Int32Array
from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.archives.direct.block import PAGES, Block, unpacked_numbers
from scrapy_replica.lab.archives.direct.files import Blocks, Numbers, Strings
from scrapy_replica.lab.archives.direct.writer import FORM, WHOLE

CACHED = 2_048
"""Blocks that are held as they were read, the ones used last."""


class DirectArchive(Documents):
    """Documents of a folder that ``Writer`` wrote, mapped into memory.

    Raises ``ValueError`` if *folder* holds no whole archive.
    """

    def __init__(self, folder: Path) -> None:
        told = _told(folder)
        pages = told["pages"]
        self.folder = folder
        self.urls = Strings(folder / "urls.strings", pages)
        self._titles = Strings(folder / "titles.strings", pages)
        self.vocabulary = Strings(folder / "vocabulary.strings", told["terms"])[:]
        self.anchor_texts = Strings(folder / "anchor_texts.strings", told["anchor_texts"])[:]
        self.host_names = Strings(folder / "hosts.strings", told["hosts"])[:]
        self.host_numbers = unpacked_numbers((folder / "hosts.pages").read_bytes())
        self.seeds = np.array(told["seeds"], dtype=np.int64)
        gaps = unpacked_numbers((folder / "labels.pages").read_bytes())
        ends = np.cumsum(list(told["labels"].values()), dtype=np.int64)
        self.labels = {
            name: np.cumsum(found, dtype=np.int64)
            for name, found in zip(told["labels"], np.split(gaps, ends), strict=False)
        }
        self._numbers = Numbers(folder / "urls.numbers", self.urls) if pages else None
        self._blocks, self._anchors = Blocks(folder / "pages.blocks"), Blocks(folder / "anchors.blocks")
        self._block = lru_cache(maxsize=CACHED)(self._read)
        self._anchor_block = lru_cache(maxsize=CACHED)(self._read_anchors)

    def _read(self, number: int) -> Block:
        first = number * PAGES
        return Block(self._blocks[number], first, min(PAGES, len(self) - first))

    def _read_anchors(self, number: int) -> Int32Array:
        return unpacked_numbers(self._anchors[number])

    def number(self, url: str) -> int | None:
        return self._numbers.of(url) if self._numbers else None

    def title(self, page: int) -> str:
        return self._titles[page]

    def term_ids(self, page: int) -> Int32Array:
        return self._block(page // PAGES).term_ids(page % PAGES)

    def term_counts(self, page: int) -> CountArray:
        return self._block(page // PAGES).term_counts(page % PAGES)

    def targets(self, page: int) -> Int32Array:
        return self._block(page // PAGES).targets(page % PAGES)

    def anchors(self, page: int) -> Sequence[str]:
        number, place = divmod(page, PAGES)
        found = self._anchor_block(number)[self._block(number).links_of(place)]
        return [self.anchor_texts[anchor] for anchor in found.tolist()]

    @property
    def blocks(self) -> int:
        """Number of blocks, of ``PAGES`` pages each but the last."""
        return len(self._blocks)

    def batch(self, block: int) -> Batch:
        """Return the pages of one block."""
        span = slice(block * PAGES, min((block + 1) * PAGES, len(self)))
        columns = self._read(block).batch_columns()
        return Batch(self.urls[span], *columns, self._read_anchors(block), self._titles[span])

    def batches(self) -> Iterator[Batch]:
        return map(self.batch, range(self.blocks))


def _told(folder: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((folder / WHOLE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(_lacking(folder)) from None
    if told["form"] != FORM:
        raise ValueError(f"{folder} was written by another version (form {told['form']}): build it again")
    return told


def _lacking(folder: Path) -> str:
    # Only what an archive begins with may be called part of one: in a wrong folder nothing is to be deleted.
    if (folder / "vocabulary.strings").exists():
        return f"{folder} holds no whole archive: if its build was interrupted, delete {folder} and build it again"
    inner = next((file.parent for file in folder.glob(f"*/{WHOLE}")), None)
    if inner is not None:
        return f"{folder} holds no archive, but {inner} does: give that folder"
    return f"{folder} holds no archive: give a folder that archive build, archive cut or generate wrote"
