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
from scrapy_replica.coverage import Coverage
from scrapy_replica.crawl.scope import left_out
from scrapy_replica.crawl.topic.relevance import KEY
from scrapy_replica.crawldb.revisits import LAST_ROUND, Pass

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import RuleView, VerdictView
    from scrapy_replica.crawldb.shared import Process
    from scrapy_replica.crawldb.status import Status, Tested, Traffic

LOOK_SECONDS = 2.0
"""Least time between two looks at a running crawl."""

ACTS = 5
"""Acts of a person that are told."""

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
        status, has_topic = job.status(now if runs else None, opts.hosts), job.meta(KEY) is not None
        sharing = processes(opts.job)
        acts, outside, come_back = job.acts(ACTS), left_out(job), Pass.load(job.meta(LAST_ROUND))
    if opts.json:
        scope = {f"out_of_scope.{why.value}": n for why, n in outside.items()}
        again = {f"pass.{name}": n for name, n in come_back.counts.items()}
        figures = as_object(figures_of(status, has_topic=has_topic) | scope | again, {"job": name_of(opts.job)})
        by_hand = [act._asdict() for act in acts]
        return json.dumps(figures | rows_of(status) | _processes(sharing) | {"by_hand": by_hand}) + "\n"
    return in_words(status, acts, outside, come_back, now, sharing, is_running=runs, has_topic=has_topic)


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


def figures_of(status: Status, *, has_topic: bool) -> dict[str, float]:
    """Return *status* as flat figures; what is not known is left out."""
    total, tested = status.total, status.all_tested
    wanted = total.relevant if has_topic else total.novel
    figures: dict[str, float | None] = {
        **{f"urls.{state.value.replace(' ', '_')}": count for state, count in status.urls.items()},
        "urls.demoted": status.demoted,
        **_traffic("", total),
        "harvest": wanted / total.pages if total.pages else None,
        **_traffic("recent.", status.recent),
        "unchanged": status.unchanged,
        "recent.unchanged": status.recent_unchanged,
        "recent.seconds": status.seconds,
        **_coverage(status.coverage),
        "per_second": status.per_second,
        "seconds_left": status.seconds_left,
        "hosts": status.n_hosts,
        **{f"decision.{reason.value}.{action.value}": n for (reason, action), n in status.decisions.items()},
        "saved": status.n_saved,
        **({f"lost.{name}": n for name, n in status.lost._asdict().items()} if status.lost else {}),
        **{f"dropped.{reason.value}": count for reason, count in status.dropped.items()},
        **_tested("", tested),
        "verdicts.holding": status.holding,
        **{f"verdicts.{why.value}": count for why, count in status.ended.items()},
        "verdicts.last_hour": status.n_verdicts,
        **{f"rules.{state.replace(' ', '_')}": count for state, count in status.rules.items()},
        "rules.last_hour": status.n_new_rules,
    }
    for reason, one in status.tested.items():
        figures |= _tested(f".{reason.value}", one)
    return {name: round(value, 5) for name, value in figures.items() if value is not None}


def _traffic(prefix: str, traffic: Traffic) -> dict[str, float]:
    return {f"{prefix}{name}": count for name, count in traffic._asdict().items()}


def _coverage(coverage: Coverage) -> dict[str, float | None]:
    figures: dict[str, float | None] = {"coverage.found": coverage.found, "coverage.checked": coverage.checked}
    for name, told in (("share", coverage.share), ("left", coverage.left)):
        if told is not None:
            figures |= dict(zip((f"coverage.{name}{end}" for end in ("", "_low", "_high")), told, strict=True))
    return figures


def _tested(suffix: str, tested: Tested) -> dict[str, float]:
    rate = tested.rate
    names = ("false_drop_rate", "false_drop_rate_low", "false_drop_rate_high")
    shares = {f"{name}{suffix}": share for name, share in zip(names, rate, strict=True)} if rate else {}
    return {f"samples{suffix}": tested.samples, f"false_drops{suffix}": tested.false_drops, **shares}


def rows_of(status: Status) -> dict[str, Any]:
    """Return what of *status* is no single figure."""
    return {
        "spider": status.spider,
        "first_at": status.first_at,
        "last_at": status.last_at,
        "by_host": [
            {"host": host.host, **_traffic("", host.traffic), "recent": host.recent}
            | {"waiting": host.waiting, "dropped": host.dropped, "last_at": host.last_at}
            for host in status.hosts
        ],
        "verdicts": [_verdict(view) for view in status.verdicts],
        "rules": [_rule(view) for view in status.new_rules],
    }


def _verdict(view: VerdictView) -> dict[str, Any]:
    verdict = view.verdict
    record = {"copy": verdict.copy, "canonical": verdict.canonical, "score": round(verdict.score, 4), "at": view.at}
    return record | {"by": "hand" if view.is_manual else "judge", "saved": view.saved, "standing": view.standing.value}


def _rule(view: RuleView) -> dict[str, Any]:
    row = view.row
    return {"id": row.id, "rule": row.rule, "right": row.right, "wrong": row.wrong, "saved": view.saved}
