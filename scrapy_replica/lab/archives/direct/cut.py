"""Cuts of an archive: the pages that a shallow crawl would have taken (Orlandi 2007, p. 42)."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from scrapy_replica.lab.archives.batch import Batch, CountArray, Int32Array
from scrapy_replica.lab.archives.collection import Documents
from scrapy_replica.lab.archives.direct.archive import DirectArchive
from scrapy_replica.lab.archives.direct.block import PAGES, packed_numbers, unpacked_numbers
from scrapy_replica.lab.archives.direct.writer import WHOLE, begun
from scrapy_replica.numeric import IntArray

CUT = "cut.json"
"""Written last: which archive a folder is a cut of."""


def shallow(
    archive: Documents,
    per_host: int,
    depth: int,
    pages: int | None = None,
    tell: Callable[[], object] = lambda: None,
) -> IntArray:
    """Return the pages of a shallow crawl from the seeds of *archive*, in its order.

    Hosts are taken breadth-first: a link that leaves a host waits at the end of the queue. Within a host the visit goes
    depth-first, *depth* links at most below the page that it was entered at, and takes *per_host* pages at most; it
    ends with *pages* in all. Readings: a page that another host links to is entered like a front page, and a host that
    is entered again goes on with what is left of its pages. *tell* is called for each page.
    """
    hosts, taken = archive.host_numbers, np.zeros(len(archive), dtype=bool)
    of_host, order, entries = Counter[int](), list[int](), deque(archive.seeds.tolist())
    while entries and (pages is None or len(order) < pages):
        stack = [iter([entries.popleft()])]
        while stack and (pages is None or len(order) < pages):
            page = next(stack[-1], None)
            if page is None:
                stack.pop()
                continue
            host = int(hosts[page])
            if taken[page] or of_host[host] >= per_host:
                continue
            taken[page] = True
            of_host[host] += 1
            order.append(page)
            tell()
            found = archive.targets(page)
            found = found[~taken[found]]
            is_within = hosts[found] == host
            entries.extend(found[~is_within].tolist())
            stack.append(iter(found[is_within].tolist() if len(stack) <= depth else ()))
    return np.array(order, dtype=np.int64)


def write_cut(whole: DirectArchive, pages: IntArray, folder: Path) -> None:
    """Write the cut of *whole* to *pages*: 1 or 2 bytes a page. Its seeds are those of *whole* that are left.

    Raises ``ValueError`` if *folder* holds something.
    """
    begun(folder)
    numbers = np.sort(pages)
    (folder / "pages.numbers").write_bytes(packed_numbers(np.diff(numbers, prepend=0)))
    told = {"whole": str(whole.folder.resolve()), "pages": len(pages), "pages of whole": len(whole)}
    (folder / CUT).write_text(json.dumps(told), encoding="utf-8")


class Cut(Documents):
    """Documents of a cut: pages 0..m-1 in the order of the whole, of which only their numbers are its own.

    Links that leave the cut are left out. Raises ``ValueError`` if *folder* is no cut, or its whole is gone.
    """

    def __init__(self, folder: Path) -> None:
        told = json.loads((folder / CUT).read_text(encoding="utf-8"))
        self.folder, self.whole = folder, _whole_of(folder, told)
        self._pages = unpacked_numbers((folder / "pages.numbers").read_bytes()).cumsum(dtype=np.int32)
        self._numbers = np.full(len(self.whole), -1, dtype=np.int32)
        self._numbers[self._pages] = np.arange(len(self._pages), dtype=np.int32)
        self.urls = _Picked(self.whole.urls, self._pages)
        self.vocabulary, self.host_names = self.whole.vocabulary, self.whole.host_names
        self.host_numbers = self.whole.host_numbers[self._pages]
        self.seeds = self._own(self.whole.seeds).astype(np.int64)
        self.labels = {name: self._own(pages).astype(np.int64) for name, pages in self.whole.labels.items()}

    def _own(self, pages: IntArray | Int32Array) -> Int32Array:
        found = self._numbers[pages]
        return found[found >= 0]

    def number(self, url: str) -> int | None:
        page = self.whole.number(url)
        return None if page is None or self._numbers[page] < 0 else int(self._numbers[page])

    def title(self, page: int) -> str:
        return self.whole.title(int(self._pages[page]))

    def term_ids(self, page: int) -> Int32Array:
        return self.whole.term_ids(int(self._pages[page]))

    def term_counts(self, page: int) -> CountArray:
        return self.whole.term_counts(int(self._pages[page]))

    def targets(self, page: int) -> Int32Array:
        return self._own(self.whole.targets(int(self._pages[page])))

    def anchors(self, page: int) -> Sequence[str]:
        of_whole = int(self._pages[page])
        is_own = self._numbers[self.whole.targets(of_whole)] >= 0
        return [text for text, own in zip(self.whole.anchors(of_whole), is_own.tolist(), strict=True) if own]

    def batches(self) -> Iterator[Batch]:
        blocks, starts = np.unique(self._pages // PAGES, return_index=True)
        for block, places in zip(blocks.tolist(), np.split(self._pages % PAGES, starts[1:]), strict=False):
            batch = self.whole.batch(block).rows(places)
            yield batch.with_targets(self._numbers[batch.targets])


def opened(folder: Path) -> DirectArchive | Cut:
    """Open an archive or a cut of one. Raises ``ValueError`` if *folder* holds neither."""
    return Cut(folder) if (folder / CUT).exists() else DirectArchive(folder)


def _whole_of(folder: Path, told: dict[str, Any]) -> DirectArchive:
    of = Path(told["whole"])
    if not (of / WHOLE).exists():
        raise ValueError(f"{folder} is a cut of {of}, and there is no archive any more")
    whole = DirectArchive(of)
    if len(whole) != told["pages of whole"]:
        raise ValueError(f"{folder} is a cut of another archive than the one that is in {of} now: cut it again")
    return whole


class _Picked(Sequence[str]):
    def __init__(self, strings: Sequence[str], places: Int32Array) -> None:
        self._strings, self._places = strings, places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self._strings[one] for one in self._places[place].tolist()]
        return self._strings[int(self._places[place])]
