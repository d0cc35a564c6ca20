"""Tables as CSV, JSON lines and Parquet, a batch of rows at a time, and graphs as GEXF."""

from __future__ import annotations

import csv
import io
import json
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from scrapy_replica.commands.command import needing
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Columns = Mapping[str, type]
    """Name -> type of its values, which may be ``None`` as well."""
    Batches = Iterable[Sequence[Sequence[Any]]]

FORMULA = ("=", "+", "-", "@")
"""What a text begins with that spreadsheets take for a formula."""


def printable(text: str) -> str:
    """Return *text* whole, without characters that steer a terminal or that XML has no place for."""
    return text if text.isprintable() else cleaned(text, len(text))


def write_csv(columns: Columns, batches: Batches, file: IO[bytes]) -> int:
    """Write CSV in UTF-8 with a header; a text that a spreadsheet would take for a formula gets a ``'`` before it."""
    text, count = io.TextIOWrapper(file, "utf-8", newline=""), 0
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for rows in batches:
        writer.writerows([[_cell(value) for value in row] for row in rows])
        count += len(rows)
    text.flush()
    text.detach()
    return count


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def write_jsonl(columns: Columns, batches: Batches, file: IO[bytes]) -> int:
    """Write an object a line, in ASCII."""
    count = 0
    for rows in batches:
        file.writelines(f"{json.dumps(dict(zip(columns, row, strict=True)))}\n".encode() for row in rows)
        count += len(rows)
    return count


def write_parquet(columns: Columns, batches: Batches, file: IO[bytes]) -> int:
    """Write Parquet, a row group for each batch.

    :raises ImportError: pyarrow is not installed.
    """
    with needing("parquet", "--format parquet needs"):
        import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415 - an extra
        from pyarrow import parquet  # noqa: PLC0415
    types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
    schema, count = pa.schema([(name, types[kind]) for name, kind in columns.items()]), 0
    with parquet.ParquetWriter(file, schema) as writer:
        for rows in batches:
            arrays = [
                pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)
            ]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
            count += len(rows)
    return count


def write_sitemap(urls: Iterable[str], file: IO[bytes]) -> int:
    """Write a sitemap of *urls* (sitemaps.org); return how many."""
    count = 0
    file.write(b'<?xml version="1.0" encoding="UTF-8"?>\n')
    file.write(b'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n')
    for url in urls:
        file.write(f"<url><loc>{escape(printable(url))}</loc></url>\n".encode())
        count += 1
    file.write(b"</urlset>\n")
    return count


FORMATS: dict[str, Callable[[Columns, Batches, IO[bytes]], int]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}


TYPES = {int: "long", float: "double", bool: "boolean", str: "string"}
"""Types of attributes."""

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">\n'
    '<meta><creator>scrapy-replica</creator></meta>\n<graph defaultedgetype="directed">\n'
)


class Node(NamedTuple):
    """A node; its attributes stand in the order of the columns."""

    id: int | str
    label: str
    attributes: Sequence[Any]


class Edge(NamedTuple):
    """An edge and its weight."""

    source: int | str
    target: int | str
    weight: int


def write_gexf(columns: Mapping[str, type], nodes: Iterable[Node], edges: Iterable[Edge], file: IO[bytes]) -> int:
    """Write a graph as GEXF 1.2, which Gephi and networkx read; return the number of its nodes."""
    count = 0
    file.write(f'{HEAD}<attributes class="node">\n'.encode())
    for place, (name, kind) in enumerate(columns.items()):
        file.write(f'<attribute id="{place}" title={_quoted(name)} type="{TYPES[kind]}"/>\n'.encode())
    file.write(b"</attributes>\n<nodes>\n")
    for node in nodes:
        count += 1
        file.write(f"<node id={_quoted(node.id)} label={_quoted(node.label)}>{_values(node)}</node>\n".encode())
    file.write(b"</nodes>\n<edges>\n")
    file.writelines(_edges(edges))
    file.write(b"</edges>\n</graph>\n</gexf>\n")
    return count


def _values(node: Node) -> str:
    told = (
        f'<attvalue for="{place}" value={_quoted(str(value).lower() if isinstance(value, bool) else value)}/>'
        for place, value in enumerate(node.attributes)
        if value is not None
    )
    return f"<attvalues>{''.join(told)}</attvalues>"


def _edges(edges: Iterable[Edge]) -> Iterator[bytes]:
    for number, (source, target, weight) in enumerate(edges):
        ends = f"source={_quoted(source)} target={_quoted(target)}"
        yield f'<edge id="{number}" {ends} weight="{weight}"/>\n'.encode()


def _quoted(value: object) -> str:
    return quoteattr(printable(str(value)))
