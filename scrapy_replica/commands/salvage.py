"""``scrapy replica salvage``: a new job of what can be read of a damaged one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command, print_figures
from scrapy_replica.commands.job import salvaging
from scrapy_replica.commands.run import say

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings


class SalvageCommand(Command):
    """Reads a job that no crawl can open any more, and leaves it as it is."""

    name = "salvage"
    help = "read what can be read of the damaged job JOB into a new one"
    group = "keep"
    examples = ("scrapy replica salvage job --out mended",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("job", metavar="JOB", help="folder of the crawl (its JOBDIR), which no crawl has open")
        parser.add_argument("--out", metavar="NEWJOB", required=True, help="folder of the new job")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        found = salvaging(opts.job, opts.out)
        figures = {
            **{f"urls_{state.value.replace(' ', '_')}": count for state, count in found.urls.items()},
            **{"fetches" if table == "pages" else table: count for table, count in found.rows.items()},
            "lost_urls": found.lost,
            "fetched_again": found.fetched_again,
            "restored": found.restored,
            "unreadable": found.unreadable,
        }
        print_figures(figures, {"job": opts.job, "out": opts.out}, as_json=opts.json)
        say(f"give the command of the crawl again, with {opts.out} for {opts.job}")
        return 0
