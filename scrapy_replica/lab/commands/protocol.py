"""``scrapy replica lab protocol``: the judge of hosts on sources that are left out whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def add_protocol_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``lab protocol`` takes."""
    parser.add_argument("sources", metavar="NAME=SOURCE", nargs="+", help="a folder with truth.csv, or WARC:HOSTS")
    parser.add_argument("--draws", type=int, default=5, metavar="N", help="of the families, for the spread (5)")
    parser.add_argument("--no-crawls", action="store_true", help="leave the offline crawls out, which take longest")
    parser.add_argument("--curve", metavar="NAME", help="learn from ever more families of this source alone")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="list the pairs most mistaken about")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def protocol_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``lab protocol``, or their table."""
    from scrapy_replica.lab.replicas import protocol  # noqa: PLC0415 - extras lab, warc

    sources = protocol.read_sources(opts.sources)
    figures = protocol.learning_curve(sources, opts.curve, max(opts.draws, 1)) if opts.curve else {}
    figures = protocol.evaluate(sources, opts.draws, crawls=not opts.no_crawls) | figures
    if opts.json:
        return figures
    lines = (
        f"{name} {kind} {score:.3f} {a} {b}" for name, kind, score, a, b in protocol.worst_pairs(sources, opts.worst)
    )
    return "\n".join([protocol.table_of(figures), *lines])
