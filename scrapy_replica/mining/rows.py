"""Rows of the tables, written and read in batches: what is in memory does not grow with the collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import parquet
from typing_extensions import Self

from scrapy_replica.address import registered_domain
from scrapy_replica.mining.schema import LINKS, PAGES

BATCH = 20_000
"""Rows written at once: 5 to 10 MB."""

MAX_TOLD = 1_000_000
"""Links of one input that are remembered so that none is written twice; more are, twice at most times."""


class MinedRow(NamedTuple):
    """A row of :data:`~scrapy_replica.mining.schema.PAGES`."""

    url: str
    host: str
    path: str
    ip: str | None = None
    signature: bytes | None = None
    simhash: int | None = None
    words: int | None = None
    title: str | None = None
    mark: bytes | None = None
    neighbours: str | None = None
    status: int | None = None
    at: float | None = None
    cluster: int | None = None
    fetched: bool = True


def arrow_schema(columns: Mapping[str, str]) -> Any:
    """Return the Arrow schema of a table."""
    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])


class TableWriter:
    """A Parquet file that takes rows; it is there, whole, when it is closed without an error.

    :raises OSError: it cannot be written.
    """

    def __init__(self, path: Path, columns: Mapping[str, str]) -> None:
        self._path, self._partial = path, path.with_name(f"{path.name}.partial")
        self._schema = arrow_schema(columns)
        self._rows: list[tuple[Any, ...]] = []
        self._writer = parquet.ParquetWriter(self._partial, self._schema, compression="zstd")

    def add(self, row: tuple[Any, ...]) -> None:
        """Write a row, its values in the order of the columns."""
        self._rows.append(row)
        if len(self._rows) >= BATCH:
            self._flush()

    def add_table(self, table: Any) -> None:
        """Write an Arrow table of these columns."""
        self._flush()
        self._writer.write_table(table)

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(values, field.type) for values, field in zip(columns, self._schema, strict=True)]
            self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
            self._rows = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None:
            self._flush()
            self._writer.close()
            self._partial.replace(self._path)
            return
        with suppress(OSError, pa.ArrowException):  # what went wrong is told already
            self._writer.close()
        self._partial.unlink(missing_ok=True)


class PageWriter:
    """The pages and links of one input: ``BASE.pages.parquet`` and ``BASE.links.parquet``."""

    def __init__(self, base: Path) -> None:
        self._pages = TableWriter(base.with_name(f"{base.name}.pages.parquet"), PAGES)
        self._links = TableWriter(base.with_name(f"{base.name}.links.parquet"), LINKS)
        self._told: set[int] = set()

    def page(self, row: MinedRow) -> None:
        self._pages.add(row)

    def url(self, row: MinedRow) -> None:
        """Take a URL that is known; one told before may be left out."""
        if self._is_new(hash(row.url)):
            self._pages.add(row)

    def link(self, host: str, source: str) -> None:
        domain = registered_domain(source)
        if self._is_new(hash((host, domain))):
            self._links.add((host, domain))

    def pages(self, table: Any) -> None:
        self._pages.add_table(table)

    def _is_new(self, number: int) -> bool:
        if number in self._told:
            return False
        if len(self._told) >= MAX_TOLD:
            self._told.clear()
        self._told.add(number)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pages.__exit__(kind, error, trace)
        self._links.__exit__(kind, error, trace)


def batches(paths: Iterable[Path], columns: Iterable[str]) -> Iterator[Any]:
    """Yield Arrow batches of Parquet files, file by file, with these *columns*."""
    names = list(columns)
    for path in paths:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH, columns=names):
                yield batch.select(names)


def read(paths: Iterable[Path], columns: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of Parquet files, file by file, with the *columns* in that order."""
    for batch in batches(paths, names := list(columns)):
        yield from zip(*(batch.column(name).to_pylist() for name in names), strict=True)
