"""``scrapy replica lab capacity``: what a crawl of so many URLs needs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command, as_object
from scrapy_replica.lab.commands.sizing import LINKS_IN_PAGE, Need, needs
from scrapy_replica.words.terminal import table, wrapped

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
SECONDS = ((86_400.0, "days"), (3_600.0, "hours"), (60.0, "minutes"))


class CapacityCommand(Command):
    """Multiplies what benchmarks measured."""

    name = "capacity"
    help = "tell what a crawl of so many URLs needs: disk, memory, processors"
    group = "measure"
    examples = ("scrapy replica lab capacity --urls 1000000000 --hosts 10000000",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--urls", type=int, required=True, metavar="N", help="URLs that are found, and fetched")
        parser.add_argument("--hosts", type=int, required=True, metavar="N", help="hosts that they are on")
        parser.add_argument("--links", type=int, metavar="N", help=f"links of all pages ({LINKS_IN_PAGE} for each URL)")
        parser.add_argument("--json", action="store_true", help="print it as JSON, in bytes and seconds")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        links = LINKS_IN_PAGE * opts.urls if opts.links is None else opts.links
        found = needs(opts.urls, opts.hosts, links)
        if opts.json:
            inputs = {"urls": opts.urls, "hosts": opts.hosts, "links": links}
            figures = {f"{need.where}: {need.what}": need.amount for need in found}
            told = as_object(figures, inputs) | {"needs": [need._asdict() for need in found]}
            sys.stdout.write(json.dumps(told) + "\n")
        else:
            rows = [(need.where, need.what, in_words(need)) for need in found]
            sys.stdout.write(table(("Where", "What", "How much"), rows))
            sys.stdout.write("\n" + wrapped(TOLD) + "\n")
        return 0


TOLD = (
    "This is arithmetic with figures measured on one machine of two slow processors, for pages of 20 links and URLs of "
    "60 characters. What was measured, what was simulated and what is on paper: the page Capacity of the documentation."
)


def in_words(need: Need) -> str:
    """Return how much of it."""
    scale = {"bytes": BYTES, "seconds": SECONDS}.get(need.unit, ())
    for size, name in scale:
        if need.amount >= size:
            return f"{need.amount / size:,.1f} {name}"
    return f"{need.amount:,.1f}".removesuffix(".0") + f" {need.unit}".rstrip()
