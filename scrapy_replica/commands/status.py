"""``scrapy replica status``: how a crawl goes, once or for as long as it runs."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

from scrapy_replica.commands.command import Command, as_object
from scrapy_replica.commands.job import add_job_argument, is_running, name_of, processes, reading
from scrapy_replica.commands.status_text import in_words

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import Process, RuleView, VerdictView
    from scrapy_replica.crawldb.status import Status

LOOK_SECONDS = 2.0
"""Least time between two looks at a running crawl."""

MOST_ORDERS = 5
"""Orders of a person that are told."""

REST = 20
"""Times as long as a look took until the next: it costs a twentieth of a processor at most, however large the job."""


class StatusCommand(Command):
    """Reads the crawl database of a finished or running crawl."""

    name = "status"
    help = "tell how a crawl goes: pages, speed, what was saved and lost, hosts"
    examples = ("scrapy replica status job", "scrapy replica status job --watch")

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument("--hosts", type=int, default=10, metavar="N", help="tell of the N most fetched hosts (10)")
        parser.add_argument("--watch", action="store_true", help="go on while the crawl runs; Ctrl-C ends it")
        parser.add_argument("--json", action="store_true", help="print it as JSON; with --watch an object a line")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        if opts.hosts < 0:
            raise ValueError(f"--hosts is {opts.hosts}: it must be at least 0")
        if not opts.watch:
            sys.stdout.write(look(opts, runs=is_running(opts.job)))
            return 0
        return watch(opts)


def look(opts: argparse.Namespace, *, runs: bool) -> str:
    """Return the figures of the job as they are now, for a person or as JSON."""
    with reading(opts.job) as job:
        now = time.time()
        status, orders = job.status(now if runs else None, opts.hosts), job.orders(MOST_ORDERS)
        sharing = processes(opts.job)
    if opts.json:
        figures = as_object(status.figures, {"job": name_of(opts.job)})
        by_hand = [order._asdict() for order in orders]
        return json.dumps(figures | rows_of(status) | _processes(sharing) | {"by_hand": by_hand}) + "\n"
    return in_words(status, orders, now, sharing, is_running=runs)


def _processes(sharing: Sequence[Process]) -> dict[str, Any]:
    """Return the processes of a job that some share; nothing of another one."""
    return {"processes": [process._asdict() for process in sharing]} if sharing else {}


def watch(opts: argparse.Namespace) -> int:
    """Print the figures again and again until the crawl has ended."""
    screen = Screen() if not opts.json and sys.stdout.isatty() and os.environ.get("TERM") != "dumb" else None
    try:
        while True:
            begun = time.monotonic()
            runs = is_running(opts.job)
            told = look(opts, runs=runs)
            if screen is not None:
                screen.show(told, is_last=not runs)
            else:
                sys.stdout.write(told if opts.json else f"{told}\n")
                sys.stdout.flush()
            if not runs:
                return 0
            time.sleep(max(LOOK_SECONDS, REST * (time.monotonic() - begun)))
    finally:
        if screen is not None:
            screen.close()


class Screen:
    """A terminal on which a text takes the place of the one before."""

    def __init__(self) -> None:
        sys.stdout.write("\x1b[2J\x1b[?7l")  # clear; what is too long for a line is cut, so that lines can be counted

    def show(self, text: str, *, is_last: bool) -> None:
        """Show *text*; as much as fits, unless it is the last one."""
        lines = text.splitlines()
        if not is_last:
            lines = lines[: shutil.get_terminal_size().lines - 1]
        sys.stdout.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in lines) + "\x1b[J")
        sys.stdout.flush()

    def close(self) -> None:
        """Give the terminal back as it was."""
        sys.stdout.write("\x1b[?7h")
        sys.stdout.flush()


def rows_of(status: Status) -> dict[str, Any]:
    """Return what of *status* is no single figure."""
    return {
        "spider": status.spider,
        "first_at": status.first_at,
        "last_at": status.last_at,
        "by_host": [
            {"host": host.host, **host.traffic._asdict(), "recent": host.recent}
            | {"waiting": host.waiting, "dropped": host.dropped, "last_at": host.last_at}
            for host in status.hosts
        ],
        "verdicts": [_verdict(view) for view in status.claims.verdicts],
        "rules": [_rule(view) for view in status.claims.new_rules],
    }


def _verdict(view: VerdictView) -> dict[str, Any]:
    verdict = view.verdict
    record = {"copy": verdict.copy, "canonical": verdict.canonical, "score": round(verdict.score, 4), "at": view.at}
    return record | {
        "by": "hand" if verdict.is_manual else "judge",
        "saved": view.saved,
        "standing": view.standing.value,
    }


def _rule(view: RuleView) -> dict[str, Any]:
    row = view.row
    return {"id": row.id, "rule": row.rule, "right": row.right, "wrong": row.wrong, "saved": view.saved}
