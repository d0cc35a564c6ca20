"""Writes a direct archive, pages as they come."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from scrapy_replica.address import host_of
from scrapy_replica.lab.archives.batch import Batch, joined
from scrapy_replica.lab.archives.direct import block
from scrapy_replica.lab.archives.direct.files import BlockWriter, StringWriter, hashes, write_numbers
from scrapy_replica.numeric import IntArray

FORM = 1
"""Grows with every change of the files that readers must know of."""

WHOLE = "archive.json"
"""Written last: a folder without it holds part of an archive."""


def begun(folder: Path) -> None:
    """Make *folder*. Raises ``ValueError`` if it holds something."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: name a folder for the archive")
    if folder.exists() and any(folder.iterdir()):
        if (folder / WHOLE).exists():
            raise ValueError(f"{folder} holds an archive: name another folder")
        raise ValueError(
            f"{folder} is not empty: name another folder, or delete it if it is of a build that was interrupted"
        )
    folder.mkdir(parents=True, exist_ok=True)


class Writer:
    """Takes pages in batches; their numbers go on from those added before.

    *vocabulary*: term id -> stem; *anchor_texts*: what ``Batch.anchors`` point into. As a context manager it closes its
    files when the block raises. Raises ``ValueError`` if *folder* holds something.
    """

    def __init__(self, folder: Path, vocabulary: Sequence[str], anchor_texts: Sequence[str] = ("",)) -> None:
        begun(folder)
        self._folder, self._vocabulary, self._anchor_texts = folder, len(vocabulary), len(anchor_texts)
        self._write_strings("vocabulary", vocabulary)
        self._write_strings("anchor_texts", anchor_texts)
        self._pages, self._anchors = BlockWriter(folder / "pages.blocks"), BlockWriter(folder / "anchors.blocks")
        self._urls, self._titles = StringWriter(folder / "urls.strings"), StringWriter(folder / "titles.strings")
        self._hashes, self._hosts, self._host_numbers = list[IntArray](), dict[str, int](), list[IntArray]()
        self._waiting, self._added, self._written, self._most_linked = list[Batch](), 0, 0, -1

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            with suppress(OSError):  # of a full disk, once more
                self._close()

    def add(self, batch: Batch) -> None:
        """Add the next pages. Raises ``ValueError`` if their columns do not fit, or name what there is not."""
        tidied = batch.tidied(self._added)
        if tidied.term_ids.max(initial=-1) >= self._vocabulary:
            raise ValueError(f"a page has the term {tidied.term_ids.max()}, the vocabulary has {self._vocabulary}")
        anchors = tidied.anchors if tidied.anchors is not None else np.zeros(len(tidied.targets), np.int32)
        if len(anchors) and not 0 <= anchors.min() <= anchors.max() < self._anchor_texts:
            raise ValueError(f"a link has the anchor {anchors.max()}, there are {self._anchor_texts} anchor texts")
        if tidied.targets.min(initial=0) < 0:
            raise ValueError(f"a link leads to page {tidied.targets.min()}")
        self._added += len(batch)
        self._most_linked = max(self._most_linked, int(tidied.targets.max(initial=-1)))
        self._urls.add(batch.urls)
        self._titles.add(batch.titles or [""] * len(batch))
        self._hashes.append(hashes(batch.urls))
        hosts = (self._hosts.setdefault(host, len(self._hosts)) for host in map(host_of, batch.urls))
        self._host_numbers.append(np.fromiter(hosts, np.int64, len(batch)))
        self._waiting.append(replace(tidied, anchors=anchors, titles=None))
        if self._added - self._written >= block.PAGES:
            self._write_whole_blocks()

    def _write_whole_blocks(self) -> None:
        """Write what fills blocks: a batch has as many pages as its maker likes, a block always the same."""
        pages = joined(self._waiting)
        whole = len(pages) // block.PAGES * block.PAGES
        for first in range(0, whole, block.PAGES):
            self._write(pages.part(first, first + block.PAGES))
        self._waiting = [pages.part(whole, len(pages))]

    def _write(self, pages: Batch) -> None:
        self._pages.add(block.packed(pages, self._written))
        self._anchors.add(block.packed_numbers(np.asarray(pages.anchors)))
        self._written += len(pages)

    def finish(self, seeds: Sequence[int], labels: Mapping[str, Sequence[int] | IntArray]) -> None:
        """Write the rest; *labels*: name -> page numbers. Raises ``ValueError`` if a page number is none."""
        numbers = {name: np.unique(np.asarray(found, dtype=np.int64)) for name, found in labels.items()}
        self._check("a link leads to", [self._most_linked] if self._most_linked >= 0 else [])
        self._check("the seeds name", seeds)
        for name, found in numbers.items():
            self._check(f"the label {name} names", found)
        if self._added > self._written:
            self._write(joined(self._waiting))
        self._close()
        write_numbers(self._folder / "urls.numbers", _all(self._hashes))
        self._write_numbers("hosts.pages", _all(self._host_numbers))
        self._write_strings("hosts", list(self._hosts))
        self._write_numbers("labels.pages", _all([np.diff(found, prepend=0) for found in numbers.values()]))
        told = {
            "form": FORM,
            "pages": self._added,
            "terms": self._vocabulary,
            "hosts": len(self._hosts),
            "anchor_texts": self._anchor_texts,
            "seeds": [int(seed) for seed in seeds],
            "labels": {name: len(found) for name, found in numbers.items()},
        }
        (self._folder / WHOLE).write_text(json.dumps(told), encoding="utf-8")

    def _check(self, what: str, numbers: Sequence[int] | IntArray) -> None:
        wrong = [int(number) for number in numbers if not 0 <= number < self._added]
        if wrong:
            raise ValueError(f"{what} page {wrong[0]}, there are {self._added} pages, numbered from 0")

    def _close(self) -> None:
        for part in (self._pages, self._anchors, self._urls, self._titles):
            part.close()

    def _write_strings(self, name: str, strings: Sequence[str]) -> None:
        writer = StringWriter(self._folder / f"{name}.strings")
        writer.add(strings)
        writer.close()

    def _write_numbers(self, name: str, numbers: IntArray) -> None:
        (self._folder / name).write_bytes(block.packed_numbers(numbers))


def _all(columns: Sequence[IntArray]) -> IntArray:
    return np.concatenate([np.zeros(0, np.int64), *columns])
