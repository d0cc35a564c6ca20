"""Pages as columns: what a collection is made of, and what is handed to the writer of an archive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapy_replica.lab.arrays import ragged
from scrapy_replica.numeric import IntArray

Int32Array = NDArray[np.int32]
CountArray = NDArray[np.uint16]

MOST_COUNTED = 65_535
"""Occurrences of one term in one page beyond which no difference is made."""


@dataclass(frozen=True)
class Batch:
    """Pages one behind the other, their terms and links in rows that lie in one column each (CSR).

    The terms of the *i*-th page are ``term_ids[term_start[i]:term_start[i + 1]]``, its links in document order
    ``targets[link_start[i]:link_start[i + 1]]``.
    """

    urls: Sequence[str]
    term_start: IntArray
    """Shape (n + 1,), from 0."""
    term_ids: NDArray[Any]
    """Ranks by document frequency: 0 is the term of most pages."""
    term_counts: NDArray[Any]
    """Beside ``term_ids``, from 1."""
    link_start: IntArray
    targets: NDArray[Any]
    """Page numbers of the whole collection, also of pages that come later."""
    anchors: NDArray[Any] | None = None
    """Beside ``targets``: places in the collection's anchor texts; ``None``: all 0."""
    titles: Sequence[str] | None = None
    """``None``: no page has one."""

    def __len__(self) -> int:
        return len(self.urls)

    def tidied(self, first: int = 0) -> Batch:
        """Return the batch as a collection holds it; *first* is the number of its first page.

        Terms are sorted by id and counts end at 65,535. Of links to one page the first stays, of links to the page
        itself none. Raises ``ValueError`` where columns do not fit together.
        """
        self._check()
        rows = np.repeat(np.arange(len(self)), np.diff(self.term_start))
        by_id = np.lexsort((self.term_ids, rows))
        ids = self.term_ids[by_id].astype(np.int32)
        if ((ids[1:] == ids[:-1]) & (rows[1:] == rows[:-1])).any():
            raise ValueError("a page has one term twice")
        kept, link_start = self._kept_links(first)
        return replace(
            self,
            term_start=np.asarray(self.term_start, dtype=np.int64),
            term_ids=ids,
            term_counts=np.minimum(self.term_counts[by_id], MOST_COUNTED).astype(np.uint16),
            link_start=link_start,
            targets=self.targets[kept].astype(np.int32),
            anchors=None if self.anchors is None else self.anchors[kept].astype(np.int32),
        )

    def part(self, first: int, stop: int) -> Batch:
        """Return the pages from *first* up to *stop*."""
        terms, links = (slice(start[first], start[stop]) for start in (self.term_start, self.link_start))
        return Batch(
            self.urls[first:stop],
            self.term_start[first : stop + 1] - self.term_start[first],
            self.term_ids[terms],
            self.term_counts[terms],
            self.link_start[first : stop + 1] - self.link_start[first],
            self.targets[links],
            None if self.anchors is None else self.anchors[links],
            None if self.titles is None else self.titles[first:stop],
        )

    def rows(self, places: IntArray | Int32Array) -> Batch:
        """Return the pages at *places*."""
        n_terms, n_links = np.diff(self.term_start)[places], np.diff(self.link_start)[places]
        terms, links = ragged(self.term_start[places], n_terms), ragged(self.link_start[places], n_links)
        return Batch(
            [self.urls[place] for place in places.tolist()],
            _starts(n_terms),
            self.term_ids[terms],
            self.term_counts[terms],
            _starts(n_links),
            self.targets[links],
            None if self.anchors is None else self.anchors[links],
            None if self.titles is None else [self.titles[place] for place in places.tolist()],
        )

    def with_targets(self, targets: NDArray[Any]) -> Batch:
        """Return the batch with other targets, beside its own; where one is negative there is no link."""
        is_kept = targets >= 0
        return replace(
            self,
            link_start=_starts(is_kept)[self.link_start],
            targets=targets[is_kept],
            anchors=None if self.anchors is None else self.anchors[is_kept],
        )

    def with_terms(self, ids: NDArray[Any]) -> Batch:
        """Return the batch with other term ids, beside its own; where one is negative the term is left out."""
        is_kept = ids >= 0
        return replace(
            self,
            term_start=_starts(is_kept)[self.term_start],
            term_ids=ids[is_kept],
            term_counts=self.term_counts[is_kept],
        )

    def _kept_links(self, first: int) -> tuple[IntArray, IntArray]:
        rows = np.repeat(np.arange(len(self)), np.diff(self.link_start))
        targets = self.targets.astype(np.int64)
        _, kept = np.unique(rows << 32 | targets, return_index=True)
        kept = np.sort(kept[targets[kept] != rows[kept] + first])
        return kept, np.searchsorted(rows[kept], np.arange(len(self) + 1))

    def _check(self) -> None:
        for name, start, column in (
            ("term", self.term_start, self.term_ids),
            ("term", self.term_start, self.term_counts),
            ("link", self.link_start, self.targets),
            ("link", self.link_start, self.targets if self.anchors is None else self.anchors),
        ):
            fits = len(start) == len(self) + 1 and start[0] == 0 and start[-1] == len(column)
            if not fits or (np.diff(start) < 0).any():
                raise ValueError(f"{name}_start does not fit {len(self)} pages and columns of {len(column)}")
        for name, column, least in (("term id", self.term_ids, 0), ("count", self.term_counts, 1)):
            if len(column) and column.min() < least:
                raise ValueError(f"a {name} is {column.min()}: at least {least} is needed")


def _starts(lengths: NDArray[Any]) -> IntArray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def joined(batches: Sequence[Batch]) -> Batch:
    """Return one batch with the pages of all, which either all have titles and anchors or have none."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(batch, name) for batch in batches])

    def start(name: str) -> IntArray:
        return _starts(np.concatenate([np.diff(getattr(batch, name)) for batch in batches]))

    return Batch(
        [url for batch in batches for url in batch.urls],
        start("term_start"),
        column("term_ids"),
        column("term_counts"),
        start("link_start"),
        column("targets"),
        None if batches[0].anchors is None else column("anchors"),
        None if batches[0].titles is None else [title for batch in batches for title in batch.titles or ()],
    )
