"""``scrapy replica doctor``: whether installation, settings and job are sound, and what to do where they are not."""

from __future__ import annotations

import json
import sys
from itertools import groupby
from typing import TYPE_CHECKING

from scrapy.utils.project import inside_project

from scrapy_replica.commands.checks import BROKEN, LOOK, OK, of_installation, of_job, of_settings
from scrapy_replica.commands.command import Command, print_figures, say
from scrapy_replica.commands.job import JOB, folder_of, is_begun, salvaging
from scrapy_replica.words.terminal import wrapped
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from scrapy.settings import Settings

    from scrapy_replica.commands.checks import Check

WIDTH = 13
"""Columns before what was found."""


class DoctorCommand(Command):
    """Looks, and changes nothing of what it looks at."""

    name = "doctor"
    help = "check the installation, the settings of the project, and a job; salvage a damaged one"
    group = "keep"
    examples = (
        "scrapy replica doctor",
        "scrapy replica doctor job",
        "scrapy replica doctor job --salvage mended",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("job", metavar="JOB", type=folder_of, nargs="?", help=f"{JOB}; else the one that is set")
        parser.add_argument(
            "--salvage", metavar="NEWJOB", help="read what can be read of JOB, which is damaged, into this new folder"
        )
        parser.add_argument("--json", action="store_true", help="print what was found as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        if opts.salvage:
            if opts.job is None:
                raise ValueError("--salvage: name the job that is damaged: doctor JOB --salvage NEWJOB")
            salvage(opts.job, opts.salvage, as_json=opts.json)
            return 0
        found = list(checks(opts.job, settings))
        states = [check.state for check in found]
        if opts.json:
            figures = {state.replace(" ", "_"): states.count(state) for state in (OK, LOOK, BROKEN)}
            listed = [check._asdict() for check in found]
            sys.stdout.write(json.dumps({"figures": figures, "checks": listed}) + "\n")
        else:
            sys.stdout.write(as_text(found))
        return int(BROKEN in states)


def checks(job: str | None, settings: Settings) -> Iterator[Check]:
    """Yield all that was looked at."""
    yield from of_installation()
    if job is None:
        job = settings.get("REPLICA_CRAWLDB")
    if job is None and (folder := settings.get("JOBDIR")) and is_begun(folder):
        job = folder
    yield from of_settings(settings, has_project=inside_project(), has_job=job is not None)
    if job is not None:
        yield from of_job(job)


def as_text(found: list[Check]) -> str:
    """Return a line for each thing, below what it belongs to, and what to do."""
    lines = []
    for area, of_area in groupby(found, lambda check: check.area):
        lines.append(wrapped(cleaned(area)))
        for check in of_area:
            lines.append(f"  {check.state:<{WIDTH - 2}}{wrapped(cleaned(check.what, 2_000), WIDTH).lstrip()}")
            if check.todo:
                lines.append(wrapped(f"-> {check.todo}", WIDTH, WIDTH + 3))
    wrong = [sum(check.state == state for check in found) for state in (BROKEN, LOOK)]
    lines.append("all is well" if not any(wrong) else f"{wrong[0]} broken, {wrong[1]} to look at")
    return "\n".join(lines) + "\n"


CALLED = {"pages": "fetches", "samples": "tests_of_claims"}
"""Tables whose rows have another name among the figures."""


def salvage(job: str, folder: str, *, as_json: bool) -> None:
    """Read what can be read of *job*, which no crawl can open any more, into a new one, and leave it as it is."""
    found = salvaging(job, folder)
    figures = {
        **{f"urls_{state.value.replace(' ', '_')}": count for state, count in found.urls.items()},
        **{CALLED.get(table, table): count for table, count in found.rows.items()},
        "lost_urls": found.lost,
        "fetched_again": found.fetched_again,
        "restored": found.restored,
        "unreadable": found.unreadable,
    }
    print_figures(figures, {"job": job, "out": folder}, as_json=as_json)
    say(f"give the command of the crawl again, with {folder} for {job}")
