"""``make everyday``: crawls ordinary sites, with the add-on and without, and prints what is saved and what is lost."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from textwrap import shorten

from hostile import scenario

from everyday import drawn
from everyday.catalogue import SITES
from everyday.figures import COLUMNS, LEGEND, SPIDERS, Figures, as_dict, line, mean_row, measure
from everyday.site import MODES, Site


def size_of(site: Site, opts: argparse.Namespace) -> int:
    if opts.size is not None:
        return int(opts.size)
    return site.small if opts.small else site.full


def drawn_sites(numbers: str) -> list[Site]:
    """Return the sites of *numbers*, as in ``3`` and ``0-40``."""
    first, _, last = numbers.partition("-")
    return [*map(drawn.site, range(int(first), int(last or first) + 1))]


def crawled(sites: list[Site], spider: str, opts: argparse.Namespace) -> Iterator[tuple[Figures, list[str]]]:
    """Yield the figures of each site, and what did not hold."""
    settings = dict(one.partition("=")[::2] for one in opts.set)
    modes = ("demote",) if opts.fast else MODES
    for site in sites:
        yield measure(site, size_of(site, opts), spider, settings, modes)


def show(spider: str, sites: list[Site], opts: argparse.Namespace) -> int:
    """Print the table of one spider; return on how many sites something did not hold."""
    print(f"{SPIDERS[spider]}\n\n{line(COLUMNS)}", flush=True)
    rows, failed = [], 0
    for row, problems in crawled(sites, spider, opts):
        rows.append(row)
        failed += bool(problems)
        print(line(row.cells), flush=True)
        for problem in problems:
            print(f"    {problem if opts.verbose else shorten(problem, 76)}", flush=True)
    print(f"{line(mean_row(rows))}\n", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(prog="make everyday", description=__doc__)
    parser.add_argument("names", nargs="*", help="only sites whose name has one of these in it")
    parser.add_argument(
        "--drawn", metavar="FIRST-LAST", type=drawn_sites, default=SITES, help="sites drawn from these numbers instead"
    )
    parser.add_argument("--small", action="store_true", help="at the sizes of the tests")
    parser.add_argument("--size", type=int, help="at this size: products, posts, articles")
    parser.add_argument("--spider", choices=SPIDERS, action="append", help="only with this spider; all, if not given")
    parser.add_argument("--fast", action="store_true", help="only in the default mode")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each site and spider")
    parser.add_argument("--verbose", action="store_true", help="problems at full length")
    parser.add_argument(
        "-s", "--set", metavar="NAME=VALUE", action="append", default=[], help="a setting of the crawls"
    )
    opts = parser.parse_args()
    scenario.quiet()
    scenario.LIMIT = 1800  # a site of full size takes minutes where other programs run
    sites = [site for site in opts.drawn if not opts.names or any(name in site.name for name in opts.names)]
    if not sites:
        parser.error(f"no site is called {' or '.join(opts.names)}")
    if opts.json:
        for spider in opts.spider or SPIDERS:
            for row, problems in crawled(sites, spider, opts):
                print(json.dumps({**as_dict(spider, row), "problems": problems}), flush=True)
        return 0
    failed = sum(show(spider, sites, opts) for spider in opts.spider or SPIDERS)
    print(LEGEND)
    print("\nEverything held." if not failed else f"\nOn {failed} of the rows something did not hold.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
