"""Graphs as GEXF 1.2, which Gephi and networkx read."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, NamedTuple
from xml.sax.saxutils import quoteattr

from scrapy_replica.commands.formats import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

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
    """Write a graph and return the number of its nodes."""
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
