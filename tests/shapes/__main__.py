"""``make shapes``: crawls every shape in all modes and prints which items the add-on loses."""

from __future__ import annotations

import argparse
import asyncio
import sys
from dataclasses import replace
from textwrap import shorten

from hostile.scenario import Crawled, Outcome, outcomes_of, quiet, reasons

from shapes.catalogue import SHAPES
from shapes.shape import Shape, problems_of

COLUMNS = ("shape", "items", "lost: obs", "demote", "drop", "requests", "ours", "CPU")
WIDTHS = (31, 6, 10, 7, 6, 9, 6, 5)
LEGEND = """items: different ones, with plain Scrapy; lost: those that the add-on does not
bring, by mode; requests: plain Scrapy's, and the add-on's in demote; CPU: time
for a page in demote, for that of plain Scrapy."""


def line(cells: tuple[object, ...]) -> str:
    return f"{cells[0]:<{WIDTHS[0]}}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(cells[1:], WIDTHS[1:], strict=True)
    )


def cpu_a_page(crawled: Crawled) -> float:
    """CPU seconds from one page to the next."""
    return (crawled.asked[-1].cpu - crawled.asked[0].cpu) / (len(crawled.asked) - 1)


def row(outcomes: list[Outcome]) -> tuple[object, ...]:
    """Return the figures of a shape, one for each column."""
    demote = next(outcome for outcome in outcomes if outcome.mode == "demote")
    plain, ours = demote.plain, demote.ours
    lost = (len(outcome.lost) for outcome in outcomes)
    ratio = f"{cpu_a_page(ours) / cpu_a_page(plain):.1f}"
    return demote.scenario.name, len(demote.wanted), *lost, len(plain.asked), len(ours.asked), ratio


async def run(shapes: list[Shape], settings: dict[str, str], *, is_small: bool, is_verbose: bool) -> int:
    """Print the table; return in how many shapes something did not hold."""
    print(line(COLUMNS), flush=True)
    failed = 0
    for shape in shapes:
        size = shape.small if is_small else shape.full
        scenario = shape.make(size)
        outcomes = await outcomes_of(replace(scenario, settings={**scenario.settings, **settings}))
        print(line(row(outcomes)), flush=True)
        problems = [
            f"{outcome.mode}: {problem}" for outcome in outcomes for problem in problems_of(shape, size, outcome)
        ]
        failed += bool(problems)
        if is_verbose:
            problems += [f"{outcome.mode}: {dict(reasons(outcome.ours))}" for outcome in outcomes]
        for problem in problems:
            print(f"    {problem if is_verbose else shorten(problem, 76)}", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="make shapes", description=__doc__)
    parser.add_argument("names", nargs="*", help="only shapes whose name has one of these in it")
    parser.add_argument("--small", action="store_true", help="at the sizes of the tests")
    parser.add_argument("--verbose", action="store_true", help="problems at full length, and decisions")
    parser.add_argument(
        "-s", "--set", metavar="NAME=VALUE", action="append", default=[], help="a setting of the crawls"
    )
    opts = parser.parse_args()
    quiet()
    shapes = [shape for shape in SHAPES if not opts.names or any(name in shape.name for name in opts.names)]
    settings = dict(one.partition("=")[::2] for one in opts.set)
    failed = asyncio.run(run(shapes, settings, is_small=opts.small, is_verbose=opts.verbose))
    print(f"\n{LEGEND}")
    print("\nNothing was lost." if not failed else f"\n{failed} of {len(shapes)} shapes did not hold.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
