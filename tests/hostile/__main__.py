"""``make trust``: crawls every scenario and prints what was tried and whether it held."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from dataclasses import replace

from hostile.catalogue import SCENARIOS
from hostile.families import scenario as family
from hostile.scenario import Outcome, Scenario, outcomes_of, quiet, reasons

COLUMNS = ("scenario", "found", "of", "lost", "wrong", "leaks", "saved", "held")
WIDTHS = (42, 5, 5, 5, 6, 6, 6, 5)
LEGEND = """found: contents that the add-on found, of those that plain Scrapy found; lost:
what it did not find; wrong: hosts that were blocked wrongly; leaks: secrets
that went elsewhere, and requests that were to stay undone; saved: fetches of
copies that plain Scrapy makes and the add-on does not."""


def row(outcome: Outcome) -> tuple[object, ...]:
    """Return the figures of an outcome, one for each column."""
    plain, ours = outcome.plain, outcome.ours
    name = outcome.scenario.name if outcome.mode == "demote" else f"{outcome.scenario.name} ({outcome.mode})"
    held = "no" if outcome.problems else "yes"
    wanted, lost = len(outcome.wanted), len(outcome.lost)
    saved = plain.copies - ours.copies
    counts = (wanted - lost, wanted, lost, len(outcome.wrongly_blocked), len(outcome.leaks), saved)
    return name, *counts, held


def line(cells: tuple[object, ...]) -> str:
    first, *others = (
        f"{cell:<{width}}" if not place else f"{cell:>{width}}"
        for place, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
    )
    # A long name has a line of its own.
    name = first if len(first) <= WIDTHS[0] else f"{first}\n{'':{WIDTHS[0]}}"
    return "".join([name, *others])


async def run(scenarios: list[Scenario], settings: dict[str, str], *, is_wide: bool, is_verbose: bool) -> int:
    """Print the table; return how many outcomes did not hold."""
    print(line(COLUMNS), flush=True)
    failed = 0
    for scenario in scenarios:
        begun = time.process_time()
        changed = replace(scenario, settings={**scenario.settings, **settings})
        for outcome in await outcomes_of(changed):
            told = f"  {scenario.tried}" if is_wide else ""
            print(line(row(outcome)) + told, flush=True)
            for problem in outcome.problems:
                print(f"    {problem}")
            failed += bool(outcome.problems)
            if is_verbose:
                print(f"    requests: {len(outcome.plain.asked)} plain, {len(outcome.ours.asked)} with the add-on;")
                cpu, other = outcome.ours.stalls
                print(f"    between two requests: {cpu:.2f} s CPU, {other:.2f} s besides")
                print(f"    blocked: {sorted(outcome.ours.blocked)}")
                print(f"    {dict(reasons(outcome.ours))}")
        if is_verbose:
            print(f"    {time.process_time() - begun:.1f} s CPU", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="make trust", description=__doc__)
    parser.add_argument("names", nargs="*", help="only scenarios whose name has one of these in it")
    parser.add_argument("--families", type=int, metavar="N", help="N random families of hosts instead")
    parser.add_argument("--wide", action="store_true", help="say as well what is tried")
    parser.add_argument("--verbose", action="store_true", help="requests, waits, blocked hosts and decisions as well")
    parser.add_argument(
        "-s",
        "--set",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a setting of the crawls; TEST_DISORDER=SEED: answers come in another order",
    )
    opts = parser.parse_args()
    quiet()
    settings = dict(one.partition("=")[::2] for one in opts.set)
    named = [one for one in SCENARIOS if not opts.names or any(name in one.name for name in opts.names)]
    scenarios = list(map(family, range(opts.families))) if opts.families else named
    failed = asyncio.run(run(scenarios, settings, is_wide=opts.wide, is_verbose=opts.verbose))
    print(f"\n{LEGEND}")
    print("\nEverything held." if not failed else f"\n{failed} did not hold.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
