"""Writes a direct archive, pages as they come."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from scrapy_replica.address import host_of
from scrapy_replica.numeric import IntArray
from scrapy_replica.rehearsal.batch import Batch, joined
from scrapy_replica.rehearsal.direct import block
from scrapy_replica.rehearsal.direct.files import BlockWriter, StringWriter, hashes, write_numbers

FORM = 1
"""Grows with every change of the files that readers must know of."""

WHOLE = "archive.json"
"""Written last: a folder without it holds part of an archive."""


class Writer:
    """Takes pages in batches; their numbers go on from those added before.

    *vocabulary*: term id -> stem; *anchor_texts*: what ``Batch.anchors`` point into. Raises ``ValueError`` if *folder*
    holds something.
    """

    def __init__(self, folder: Path, vocabulary: Sequence[str], anchor_texts: Sequence[str] = ("",)) -> None:
        if folder.exists() and any(folder.iterdir()):
            raise ValueError(f"{folder} is not empty: delete it, or name another folder for the archive")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._waiting, self._sizes = folder, list[Batch](), {"terms": len(vocabulary), "pages": 0}
        self._anchor_texts, self._most_linked, self._written = len(anchor_texts), -1, 0
        for name, strings in (("vocabulary", vocabulary), ("anchor_texts", anchor_texts)):
            writer = StringWriter(folder / f"{name}.strings")
            writer.add(strings)
            writer.close()
        self._pages, self._anchors = BlockWriter(folder / "pages.blocks"), BlockWriter(folder / "anchors.blocks")
        self._urls, self._titles = StringWriter(folder / "urls.strings"), StringWriter(folder / "titles.strings")
        self._hashes, self._hosts, self._host_numbers = list[IntArray](), dict[str, int](), list[IntArray]()

    def add(self, batch: Batch) -> None:
        """Add the next pages. Raises ``ValueError`` if their columns do not fit, or name what there is not."""
        tidied = batch.tidied(self._sizes["pages"])
        terms = self._sizes["terms"]
        if len(tidied.term_ids) and tidied.term_ids.max() >= terms:
            raise ValueError(f"a page has the term {tidied.term_ids.max()}, the vocabulary has {terms}")
        anchors = tidied.anchors if tidied.anchors is not None else np.zeros(len(tidied.targets), np.int32)
        if len(anchors) and not 0 <= anchors.min() <= anchors.max() < self._anchor_texts:
            raise ValueError(f"a link has the anchor {anchors.max()}, there are {self._anchor_texts} anchor texts")
        self._sizes["pages"] += len(batch)
        self._most_linked = max(self._most_linked, int(tidied.targets.max(initial=-1)))
        self._urls.add(batch.urls)
        self._titles.add(batch.titles or [""] * len(batch))
        self._hashes.append(hashes(batch.urls))
        hosts = (self._hosts.setdefault(host, len(self._hosts)) for host in map(host_of, batch.urls))
        self._host_numbers.append(np.fromiter(hosts, np.int32, len(batch)))
        self._waiting.append(replace(tidied, anchors=anchors, titles=None))
        if sum(map(len, self._waiting)) >= block.PAGES:
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
        self._written += len(pages)
        self._anchors.add(block.packed_numbers(np.asarray(pages.anchors)))

    def finish(self, seeds: Sequence[int], labels: Mapping[str, Sequence[int] | IntArray]) -> None:
        """Write the rest; *labels*: name -> page numbers. Raises ``ValueError`` if a page number is none."""
        pages = self._sizes["pages"]
        numbers = {name: np.unique(np.asarray(found, dtype=np.int32)) for name, found in labels.items()}
        for what, lowest, highest in (
            ("a link leads to", 0, self._most_linked),
            ("the seeds name", min(seeds, default=0), max(seeds, default=-1)),
            *((f"label {name} names", found.min(initial=0), found.max(initial=-1)) for name, found in numbers.items()),
        ):
            if lowest < 0 or highest >= pages:
                raise ValueError(f"{what} page {highest if highest >= pages else lowest}, there are {pages} pages")
        if any(map(len, self._waiting)):
            self._write(joined(self._waiting))
        for part in (self._pages, self._anchors, self._urls, self._titles):
            part.close()
        write_numbers(self._folder / "urls.numbers", np.concatenate([np.zeros(0, np.int64), *self._hashes]))
        hosts = np.concatenate([np.zeros(0, np.int32), *self._host_numbers])
        (self._folder / "hosts.pages").write_bytes(block.packed_numbers(hosts))
        host_names = StringWriter(self._folder / "hosts.strings")
        host_names.add(self._hosts)
        host_names.close()
        gaps = np.concatenate([np.diff(found, prepend=0) for found in numbers.values()] or [np.zeros(0, np.int32)])
        (self._folder / "labels.pages").write_bytes(block.packed_numbers(gaps))
        told = {
            "form": FORM,
            **self._sizes,
            "hosts": len(self._hosts),
            "anchor_texts": self._anchor_texts,
            "seeds": [int(seed) for seed in seeds],
            "labels": {name: len(found) for name, found in numbers.items()},
        }
        (self._folder / WHOLE).write_text(json.dumps(told), encoding="utf-8")
