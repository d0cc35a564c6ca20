"""Forms of an archive: bytes a page, microseconds for terms and links of a page anywhere, pages a second in order.

Beside the form in use: blocks of other sizes and levels; Parquet with dictionaries, deltas and Zstandard; Arrow's own
format, compressed; plain columns mapped into memory. Terms, counts and links only. The PyPI package ``webgraph`` 0.2.0
is not among them: it reads graphs only with an index that no Python code writes, and gives links sorted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet
from zstandard import ZstdCompressor

from scrapy_replica.lab.archives.batch import Batch
from scrapy_replica.lab.archives.collection import Collection, read_parquet
from scrapy_replica.lab.archives.direct import DirectArchive, Writer, block
from scrapy_replica.pages.terms import terms

pytestmark = pytest.mark.shared
READS, ROUNDS = 500, 8
Read = Callable[[int], Any]


@pytest.fixture(scope="module")
def collection(shared: Path) -> Collection:
    return read_parquet(shared / "focus/uci.parquet", terms)


def told(name: str, size: int, pages: int, read: Read, in_order: Callable[[], Iterator[int]]) -> None:
    """Print the figures of one form; *in_order* yields how many pages it has read since. Times are of the processor."""
    chosen = np.random.default_rng(1).integers(0, pages, (ROUNDS, READS)).tolist()
    random, sequential = [], []
    for some in chosen:
        start = time.process_time()
        for page in some:
            read(page)
        random.append((time.process_time() - start) / READS * 1e6)
        start, count = time.process_time(), 0
        for read_now in in_order():
            count += read_now
            if time.process_time() - start > 0.5:
                break
        sequential.append(count / (time.process_time() - start))
    print(
        f"\n{name:<28} {size / pages:6.1f} B/page {min(random):8.1f} us a page {max(sequential):10,.0f} pages/s", end=""
    )


def table_of(columns: Batch) -> pa.Table:
    def lists(start: np.ndarray, values: np.ndarray) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array(start, pa.int32()), pa.array(values))

    ids = lists(columns.term_start, columns.term_ids)
    counts = lists(columns.term_start, columns.term_counts)
    return pa.table({"terms": ids, "counts": counts, "links": lists(columns.link_start, columns.targets)})


def test_form_in_use(collection: Collection, tmp_path: Path) -> None:
    with Writer(tmp_path / "archive", collection.vocabulary, collection.anchor_texts) as writer:
        writer.add(collection.columns)
        writer.finish(collection.seeds.tolist(), collection.labels)
    archive = DirectArchive(tmp_path / "archive")
    size = sum(file.stat().st_size for file in archive.folder.glob("pages.*"))

    def uncached(page: int) -> None:
        number, place = divmod(page, block.PAGES)
        found = archive._read(number)
        found.term_ids(place), found.term_counts(place), found.targets(place)

    def in_order() -> Iterator[int]:
        for place in range(archive.blocks):
            yield len(archive._read(place).batch_columns()[0]) - 1

    def number(url: str) -> int:
        return archive.number(url) is not None

    told("in use, never cached", size, len(archive), uncached, in_order)
    told("with URLs and titles", size, len(archive), archive.page, lambda: map(len, archive.batches()))
    size = sum(file.stat().st_size for file in archive.folder.glob("urls.*"))
    told("URLs by number", size, len(archive), archive.urls.__getitem__, lambda: map(bool, archive.urls))
    urls = list(archive.urls)
    told("numbers by URL", size, len(archive), lambda page: archive.number(urls[page]), lambda: map(number, urls))


@pytest.mark.parametrize("level", [3, 9, 19])
@pytest.mark.parametrize("pages", [8, 16, 32, 64])
def test_blocks(collection: Collection, monkeypatch: pytest.MonkeyPatch, pages: int, level: int) -> None:
    monkeypatch.setattr(block, "pack", ZstdCompressor(level=level).compress)
    firsts = range(0, len(collection), pages)
    parts = [collection.columns.part(first, min(first + pages, len(collection))) for first in firsts]
    blocks = [block.packed(part, first) for part, first in zip(parts, firsts, strict=True)]

    def opened(number: int) -> block.Block:
        return block.Block(blocks[number], number * pages, len(parts[number]))

    def read(page: int) -> None:
        found = opened(page // pages)
        found.term_ids(page % pages), found.term_counts(page % pages), found.targets(page % pages)

    def in_order() -> Iterator[int]:
        for number in range(len(blocks)):
            yield len(opened(number).batch_columns()[0]) - 1

    size = sum(map(len, blocks)) + 8 * len(blocks)
    told(f"blocks of {pages}, level {level}", size, len(collection), read, in_order)


@pytest.mark.parametrize("pages", [128, 1_024])
def test_parquet(collection: Collection, tmp_path: Path, pages: int) -> None:
    file, names = tmp_path / "a.parquet", ("terms", "counts", "links")
    parquet.write_table(
        table_of(collection.columns),
        file,
        row_group_size=pages,
        compression="zstd",
        compression_level=9,
        use_dictionary=["counts.list.element"],
        column_encoding={f"{name}.list.element": "DELTA_BINARY_PACKED" for name in ("terms", "links")},
    )
    opened = parquet.ParquetFile(file, memory_map=True)

    def read(page: int) -> list[np.ndarray]:
        group = opened.read_row_group(page // pages)
        return [group.column(name)[page % pages].values.to_numpy() for name in names]

    def in_order() -> Iterator[int]:
        for number in range(opened.num_row_groups):
            yield opened.read_row_group(number).num_rows

    told(f"Parquet, row groups of {pages}", file.stat().st_size, len(collection), read, in_order)


def test_arrow(collection: Collection, tmp_path: Path) -> None:
    file = tmp_path / "a.arrow"
    feather.write_feather(table_of(collection.columns), str(file), "zstd", compression_level=9, chunksize=128)
    opened = ipc.open_file(pa.memory_map(str(file)))

    def read(page: int) -> list[np.ndarray]:
        batch = opened.get_batch(page // 128)
        return [column[page % 128].values.to_numpy() for column in batch.columns]

    def in_order() -> Iterator[int]:
        for number in range(opened.num_record_batches):
            yield opened.get_batch(number).num_rows

    told("Arrow, batches of 128", file.stat().st_size, len(collection), read, in_order)


def test_plain_columns(collection: Collection) -> None:
    columns = collection.columns
    names = ("term_start", "term_ids", "term_counts", "link_start", "targets")
    size = sum(getattr(columns, name).nbytes for name in names)

    def read(page: int) -> None:
        collection.term_ids(page), collection.term_counts(page), collection.targets(page)

    def in_order() -> Iterator[int]:
        for first, stop in pairwise(range(0, len(collection), 100)):
            columns.term_ids[columns.term_start[first] : columns.term_start[stop]].sum()
            yield stop - first

    told("plain columns", size, len(collection), read, in_order)
