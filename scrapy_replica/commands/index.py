"""``scrapy replica mine --index``: which pages a collection has, for crawls that fetch what it lacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from scrapy_replica.commands.job import is_shared, reading
from scrapy_replica.commands.write import replacing
from scrapy_replica.components.archived import ArchivedPages
from scrapy_replica.config import Config
from scrapy_replica.pages.beside import hash_of_beside
from scrapy_replica.pages.collection import Collection, row_of, write_collection
from scrapy_replica.warc.archive import Archive

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy.settings import Settings

    from scrapy_replica.pages.simhash import UInt64Array

BATCH = 50_000
"""Pages of a job that are read at once; between two batches the crawl beside may clear its log."""


def write_index(names: list[str], out: Path, settings: Settings) -> int:
    """Write to *out* which pages jobs, WARC files, folders of them and other indexes have; return how many."""
    noise = Config.from_settings(settings).noise.value
    inputs = [one for name in names for one in _inputs(name)]
    with replacing(out) as file:
        batches = (batch for one in inputs for batch in _batches(one, noise, settings))
        return write_collection(batches, noise, file, out.resolve().parent)


def _inputs(name: str) -> list[str]:
    """Return the inputs that *name* stands for: the WARC files of a folder, or it alone."""
    path = Path(name)
    if is_shared(name) or path.is_file() or (path / "replica.sqlite").is_file():
        return [name]
    files = sorted(str(file) for file in path.rglob("*.warc*") if file.name.endswith((".warc", ".warc.gz")))
    if not files:
        raise ValueError(f"{name} is no job, index or WARC file, and no folder of WARC files")
    return files


def _batches(name: str, noise: str, settings: Settings) -> Iterator[UInt64Array]:
    """Yield the rows of one input.

    :raises ValueError: it is none, or its texts were found in another way than *noise* says.
    """
    path = Path(name)
    if path.is_file() and ".warc" in path.suffixes:
        yield from _rows(_of_warc(path, settings))
        return
    if path.is_file():
        collection = Collection(path)
        _check_noise(name, collection.noise, noise)
        yield from collection.batches()
        return
    with reading(name) as reader:
        _check_noise(name, reader.tables.noise(), noise)
    after = 0
    while True:
        with reading(name) as reader:
            texts = reader.tables.texts(after, BATCH)
        if not texts:
            return
        after = texts[-1].id
        yield from _rows(row_of(*text[1:]) for text in texts)


def _check_noise(name: str, found: str, noise: str) -> None:
    if found not in {"", noise}:
        raise ValueError(f"{name} was made with REPLICA_NOISE = {found}: give that, as -s REPLICA_NOISE={found}")


def _of_warc(path: Path, settings: Settings) -> Iterator[tuple[int, int, int]]:
    """Yield the rows of the pages of a WARC file; what is none of its captures is left out."""
    archive, page_of = Archive([path]), ArchivedPages(settings.copy())
    for record in archive.records():
        try:
            page = page_of(record) if record.status == 200 else None
        except Exception:  # noqa: BLE001, S112 - crawled bytes: whatever they bring about, the next page has its turn
            continue
        if page is not None and page.signature is not None:
            yield row_of(page.signature, page.host, page.title, hash_of_beside(page))


def _rows(rows: Iterable[tuple[int, int, int]]) -> Iterator[UInt64Array]:
    found = np.array([*rows], dtype=np.uint64).reshape(-1, 3)
    if len(found):
        yield found
