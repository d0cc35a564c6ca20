"""``scrapy replica report``: what came of a crawl, as one page."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command, needing
from scrapy_replica.commands.job import add_job_argument, is_running, is_shared, name_of, reading
from scrapy_replica.commands.write import write

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings


class ReportCommand(Command):
    """Reads the crawl database of a finished or running crawl, and writes a page of HTML that needs no network."""

    name = "report"
    help = "write a page with curves, copies, rules, traps and savings of a crawl"
    examples = ("scrapy replica report job --out report.html",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument(
            "--out", metavar="FILE", default="report.html", help="file to write; one that is there is replaced"
        )

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        with needing("report", "reports need"):
            from scrapy_replica.report.figures import HOSTS, figures  # noqa: PLC0415 - an extra
            from scrapy_replica.report.page import report  # noqa: PLC0415
        with reading(opts.job) as job:
            shown = figures(job, job.status(time.time() if is_running(opts.job) else None, HOSTS))
        if not shown.status.total.fetches:
            sys.stderr.write(f"{name_of(opts.job)}: nothing was fetched so far; there is nothing to report\n")
            return 1
        name = name_of(opts.job) if is_shared(opts.job) else Path(opts.job).resolve().name
        data = report(shown, name).encode("utf-8", "replace")
        write(opts.out, data)
        sys.stdout.write(f"{opts.out}: {len(data) / 1e6:.1f} MB, open it in a browser\n")
        return 0
