"""Parquet files of other programs: what their columns must be, and the same pages with ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import compute, parquet

from scrapy_replica.address import host_of
from scrapy_replica.mining.rows import BATCH, PageWriter, arrow_schema
from scrapy_replica.mining.schema import PAGES
from scrapy_replica.sites.evidence import path_of

SIGNATURE_BYTES = 16


def is_text(kind: Any) -> bool:
    """Tell whether an Arrow type is one of texts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_binary(kind: Any) -> bool:
    """Tell whether an Arrow type is one of bytes."""
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


ACCEPTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "string": (is_text, "text"),
    "binary": (is_binary, "bytes"),
    "int64": (pa.types.is_integer, "whole numbers"),
    "int32": (pa.types.is_integer, "whole numbers"),
    "double": (lambda kind: pa.types.is_floating(kind) or pa.types.is_integer(kind), "numbers"),
    "bool": (pa.types.is_boolean, "true or false"),
}
"""Type of a column -> what is taken for it, and that in words."""


def checked(path: Path) -> Any:
    """Return the schema of a Parquet file whose columns can be used.

    :raises ValueError: it is broken, it has no ``url``, or a column is of another type: one line that names it.
    """
    try:
        schema = parquet.read_schema(path)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is a broken Parquet file ({' '.join(str(error).split())}): write it again") from None
    if "url" not in schema.names:
        raise ValueError(f"{path}: there is no column 'url'; it has {', '.join(schema.names[:10])}")
    for name, kind in PAGES.items():
        is_fine, words = ACCEPTED[kind]
        if name in schema.names and not (is_fine(schema.field(name).type) or pa.types.is_null(schema.field(name).type)):
            raise ValueError(f"{path}: the column {name!r} holds {schema.field(name).type}; it takes {words}")
    return schema


def is_ours(path: Path) -> bool:
    """Tell whether the engine can read the file as it is: its columns are ours, to the type."""
    schema = checked(path)
    wanted = arrow_schema(PAGES)
    names = [name for name in schema.names if name in PAGES]
    is_exact = all(schema.field(name).type == wanted.field(name).type for name in names)
    return is_exact and {"url", "host", "path"} <= set(names) and _begins_well(path)


def _begins_well(path: Path) -> bool:
    """Tell whether the first rows hold hosts and paths as we take them from URLs, and signatures of 16 bytes."""
    with parquet.ParquetFile(path) as file:
        names = [name for name in ("url", "host", "path", "signature") if name in file.schema_arrow.names]
        first = next(file.iter_batches(1_000, columns=names), None)
    rows = first.to_pylist() if first is not None else []
    return all(
        row["url"] and row["host"] == host_of(row["url"]) and row["path"] == path_of(row["url"]) for row in rows
    ) and all(len(row.get("signature") or bytes(SIGNATURE_BYTES)) == SIGNATURE_BYTES for row in rows)


def convert(path: Path, out: PageWriter, tell: Callable[[int], None]) -> Counter[str]:
    """Write the pages of a Parquet file; return how many there were.

    :param tell: told how many rows were read since.
    :raises ValueError: it is broken, or a column is of another type.
    """
    schema, counts = checked(path), Counter[str]()
    names = [name for name in PAGES if name in schema.names]
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH, columns=names):
                table = _ours(batch, path)
                out.pages(table)
                counts["pages"] += table.num_rows
                counts["bad records"] += batch.num_rows - table.num_rows
                tell(batch.num_rows)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is a broken Parquet file ({' '.join(str(error).split())}): write it again") from None
    return counts


def _ours(batch: Any, path: Path) -> Any:
    """Return the rows of *batch* that have the URL of a page, with our columns."""
    urls = batch.column("url").cast(pa.string())
    hosts = [host_of(url) if url is not None else "" for url in urls.to_pylist()]
    is_page = pa.array([bool(host) for host in hosts])
    batch, urls = batch.filter(is_page), urls.filter(is_page)
    made = {
        "url": urls,
        "host": pa.array([host for host in hosts if host], pa.string()),
        "path": pa.array([path_of(url) for url in urls.to_pylist()], pa.string()),
    }
    arrays = [made[name] if name in made else _column(batch, name, path) for name in PAGES]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(PAGES))


def _column(batch: Any, name: str, path: Path) -> Any:
    wanted = arrow_schema(PAGES).field(name).type
    if name not in batch.schema.names:
        return pa.array([True] * batch.num_rows) if name == "fetched" else pa.nulls(batch.num_rows, wanted)
    column = batch.column(name)
    if pa.types.is_null(column.type):
        return pa.nulls(batch.num_rows, wanted)
    if name == "simhash" and pa.types.is_uint64(column.type):
        return column.view(pa.int64())
    if name == "signature":
        column = column.cast(pa.binary())
        return compute.if_else(compute.equal(compute.binary_length(column), SIGNATURE_BYTES), column, None)
    try:
        return column.cast(wanted)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{path}: the column {name!r} holds what is too large for it ({error})") from None


def pages_in(path: Path) -> int:
    """Return how many fetched pages a Parquet file has that is ours."""
    with parquet.ParquetFile(path) as file:
        if "fetched" not in file.schema_arrow.names:
            return int(file.metadata.num_rows)
        batches = file.iter_batches(columns=["fetched"])
        return sum(compute.sum(batch.column(0).fill_null(True)).as_py() or 0 for batch in batches)
