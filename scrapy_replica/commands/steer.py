"""``scrapy replica add``, ``exclude``, ``pause`` and ``resume``: where a crawl goes, changed while it runs."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_replica.address import host_of, redacted
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.hosts import host_name
from scrapy_replica.commands.job import is_running, ordering, reading
from scrapy_replica.components.spider import read_seeds
from scrapy_replica.crawldb.contract import EXCLUDE, NOT_DONE, PAUSE, RESUME, SEEDS
from scrapy_replica.urls.scope import Pattern
from scrapy_replica.words import cleaned

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy.settings import Settings

ANSWER_SECONDS = 5.0
"""How long a command waits for what a running crawl says to its order; a crawl looks for orders every half second."""


def add_job_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what every command takes that gives an order."""
    parser.add_argument("--job", metavar="DIR", required=True, help="folder of the crawl (its JOBDIR)")
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def give(opts: argparse.Namespace, kind: str, what: Mapping[str, Any]) -> int:
    """Give an order, print what the crawl says to it, and return the exit code."""
    with ordering(opts.job) as orders:
        order = orders.give(kind, what)
    answer = answer_to(opts.job, order)
    told = answer if answer is not None else LATER
    if opts.json:
        sys.stdout.write(json.dumps({"order": order, "is_done": is_done(answer), "answer": answer}) + "\n")
    else:
        sys.stdout.write(redacted(cleaned(told, 2_000)) + "\n")
    return 0 if answer is None or is_done(answer) else 1


LATER = "noted; it is carried out when the job is next run"


def is_done(answer: str | None) -> bool:
    """Tell whether an order with that *answer* was carried out."""
    return answer is not None and not answer.startswith(NOT_DONE)


def answer_to(job: str, order: int) -> str | None:
    """Return what the crawl that has *job* open says to an *order*; ``None`` where none has, or none in time."""
    ends = time.monotonic() + ANSWER_SECONDS
    while is_running(job) and time.monotonic() < ends:
        with reading(job) as reader:
            given = next((act for act in reader.acts(MOST_ACTS) if act.id == order), None)
        if given is not None and not given.is_open:
            return given.answer or "done"
        time.sleep(0.1)
    return None


MOST_ACTS = 20
"""Orders that other people may give in the same seconds."""


class AddCommand(Command):
    """Adds seeds to a crawl; a running one fetches them next."""

    name = "add"
    help = "fetch URLs next, and let their hosts into the scope"
    group = "steer"
    examples = (
        "scrapy replica add https://example.org/new/ --job job",
        "scrapy replica add seeds.txt --job job",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("urls", nargs="+", metavar="URL", help="URLs, or a file with one URL a line")
        add_job_arguments(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        urls = [Request(url).url.partition("#")[0] for words in opts.urls for url in read_seeds(words)]
        for url in urls:
            if not url.startswith(("http://", "https://")) or not host_of(url):
                raise ValueError(f"{redacted(cleaned(url))} is no http or https URL")
        return give(opts, SEEDS, {"urls": urls})


class ExcludeCommand(Command):
    """Excludes a pattern of URLs from a crawl, or lifts one."""

    name = "exclude"
    help = "fetch nothing more that a pattern of URLs matches, or lift that"
    group = "steer"
    examples = (
        "scrapy replica exclude '*/calendar/*' --job job",
        "scrapy replica exclude '*/calendar/*' --lift --job job",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("pattern", metavar="PATTERN", help="of whole URLs; * stands for any characters")
        parser.add_argument("--lift", action="store_true", help="fetch it after all: what was kept out comes back")
        add_job_arguments(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        pattern = Pattern(opts.pattern).text
        return give(opts, EXCLUDE, {"pattern": pattern, **({"lift": True} if opts.lift else {})})


class PauseCommand(Command):
    """Lets a host pause."""

    name = "pause"
    help = "fetch nothing of HOST for now; what waits of it is kept"
    group = "steer"
    examples = ("scrapy replica pause example.org --job job",)
    kind = PAUSE

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("host", metavar="HOST", help="a host, as printed by hosts")
        add_job_arguments(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        return give(opts, self.kind, {"host": host_name(opts.host)})


class ResumeCommand(PauseCommand):
    """Lets a host go on."""

    name = "resume"
    help = "go on with HOST, which paused"
    examples = ("scrapy replica resume example.org --job job",)
    kind = RESUME
