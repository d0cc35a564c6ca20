"""``scrapy replica lab left-out``: the judge of hosts on sources that it never learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping


def add_left_out_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``lab left-out`` takes."""
    parser.add_argument("sources", metavar="NAME=SOURCE", nargs="+", help="a folder with truth.csv, or WARC:HOSTS")
    parser.add_argument("--draws", type=int, default=5, metavar="N", help="of the families, for the spread (5)")
    parser.add_argument("--no-crawls", action="store_true", help="leave out the offline crawls, which take longest")
    parser.add_argument("--curve", metavar="NAME", help="learn ever more families of this source alone, instead")
    parser.add_argument("--worst", type=int, metavar="N", help="list the pairs most mistaken about, instead")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def left_out_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``lab left-out``, or their table."""
    if opts.draws < 0 or (opts.worst is not None and opts.worst < 1):
        raise ValueError("--draws is 0 or more, and --worst 1 or more")
    from scrapy_replica.lab.replicas import left_out  # noqa: PLC0415 - extras lab, warc

    sources = left_out.read_sources(opts.sources)
    if opts.worst is not None:
        found = left_out.worst_pairs(sources, opts.worst)
        return "\n".join(f"{name} {kind} {score:.3f} {a} {b}" for name, kind, score, a, b in found)
    if opts.curve:
        figures = left_out.learning_curve(sources, opts.curve, max(opts.draws, 1))
    else:
        figures = left_out.evaluate(sources, opts.draws, crawls=not opts.no_crawls)
    return figures if opts.json else left_out.table_of(figures)
