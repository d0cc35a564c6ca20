"""``scrapy replica judge``: a person tells which pages are on the topic, and the crawl learns from it."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

from scrapy_replica.address import redacted
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import add_job_argument, is_running, ordering, reading
from scrapy_replica.components.fingerprinter import key_of_url
from scrapy_replica.crawl.topic.questions import asked_about, check_page, check_topic
from scrapy_replica.crawldb.orders import MARK
from scrapy_replica.words.terminal import counted, score, wrapped
from scrapy_replica.words.text import shortened

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from scrapy.settings import Settings

    from scrapy_replica.crawl.topic.questions import ShownPage
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

MOST = 100
"""Pages asked about at once: to choose them out of 1,000 of 300 terms takes 0.2 s."""
ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "s": None, "skip": None}
QUIT = {"q", "quit"}
_LONG = re.compile(r"\S{38}")
"""As much without a space as fits a line whatever script it is in."""


class JudgeCommand(Command):
    """Asks about pages, and gives the answers to the crawl as orders."""

    name = "judge"
    help = "say of pages whether they are on the topic: the crawl learns from it"
    group = "steer"
    examples = (
        "scrapy replica judge job",
        "scrapy replica judge job --yes https://example.org/a --no https://example.org/",
        "scrapy replica judge job --json",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument("--most", type=int, default=10, metavar="N", help="ask about at most N pages (10)")
        for option, what in (("--yes", "is on the topic"), ("--no", "is not on the topic")):
            parser.add_argument(
                option, action="append", default=[], metavar="URL", help=f"this page {what}; may be given many times"
            )
        parser.add_argument("--json", action="store_true", help="print the pages to ask about as JSON, and ask nothing")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        if not 1 <= opts.most <= MOST:
            raise ValueError(f"--most is {opts.most}: it must be from 1 to {MOST}")
        if opts.yes or opts.no:
            return _mark(opts)
        with reading(opts.job) as job:
            pages = asked_about(job, opts.most)
        if opts.json:
            told = [page._asdict() | {"url": redacted(page.url)} for page in pages]
            sys.stdout.write(json.dumps({"pages": told}) + "\n")
        elif pages:
            _ask(opts.job, pages)
        else:
            sys.stderr.write("there is no page to ask about: none was fetched yet, or all were asked about\n")
        return 0 if pages else 1


def _ask(job: str, pages: Sequence[ShownPage]) -> None:
    """Ask about one page after the other; each answer is given to the crawl at once."""
    given = 0
    for number, page in enumerate(pages, 1):
        sys.stdout.write(_shown(page, f"{number} of {len(pages)}"))
        answer = _answer()
        if answer in QUIT:
            break
        if (is_relevant := ANSWERS[answer]) is not None:
            _give(job, {page.url: is_relevant})
            given += 1
    sys.stdout.write(_told(job, given))


def _shown(page: ShownPage, place: str) -> str:
    lines = [
        f"{place}, score {score(page.relevance)} (above 0.50 the crawl takes a page for relevant)",
        f"  {shortened(page.title, 78) or '(without a title)'}",
        f"  {shortened(redacted(page.url), 400)}",
        f"  on {shortened(page.host, 75)}",
        "",
        wrapped(_LONG.sub(r"\g<0> ", page.excerpt), 4),
    ]
    return "\n" + "\n".join(lines) + "\n\n"


def _answer() -> str:
    """Return a known answer; at the end of the input that is to quit."""
    while True:
        sys.stdout.write("Is it on the topic? [y]es, [n]o, [s]kip, [q]uit: ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not (line and sys.stdin.isatty()):
            sys.stdout.write("\n")
        answer = line.strip().lower() if line else "q"
        if answer in ANSWERS or answer in QUIT:
            return answer


def _mark(opts: argparse.Namespace) -> int:
    """Give the marks of the command line, all or none."""
    if both := {*opts.yes} & {*opts.no}:
        raise ValueError(f"{redacted(min(both))} is given with --yes and with --no")
    said = dict.fromkeys(opts.yes, True) | dict.fromkeys(opts.no, False)
    with reading(opts.job) as job:
        check_topic(job)
        known = {_known(job, url): is_relevant for url, is_relevant in said.items()}
    _give(opts.job, known)
    sys.stdout.write(_told(opts.job, len(known)))
    return 0


def _known(job: SqliteReader, given: str) -> str:
    """Return how the crawl writes the URL *given*.

    :raises ValueError: nothing could be learnt from that page.
    """
    try:
        key = key_of_url(given)
    except ValueError as error:
        raise ValueError(f"{given!r} is no URL ({error})") from None
    found = job.url(given, key)
    if found is None:
        raise ValueError(f"nothing is known of {redacted(given)}: no page of the crawl links there; nothing was marked")
    check_page(job, found.url)
    return found.url


def _give(job: str, said: Mapping[str, bool]) -> None:
    with ordering(job) as give:
        for url, is_relevant in said.items():
            give(MARK, {"url": url, "is_relevant": is_relevant})


def _told(job: str, given: int) -> str:
    """Return what comes of the answers."""
    if not given:
        return "nothing was marked\n"
    when = "with its next pages" if is_running(job) else "when it goes on"
    return f"{counted(given, 'page')} marked: the crawl learns from the answers {when}\n"
