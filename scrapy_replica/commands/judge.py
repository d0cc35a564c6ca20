"""``scrapy replica judge``: a person tells which pages are on the topic, and the crawl learns from it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, NamedTuple

from scrapy_replica.address import redacted
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import is_running, ordering, reading
from scrapy_replica.crawl.links.recipe import MODEL, relevance_model
from scrapy_replica.crawl.links.relevance import KEY
from scrapy_replica.crawldb.contract import MARK
from scrapy_replica.focus.asking import Candidate, most_telling
from scrapy_replica.focus.links import finite
from scrapy_replica.words import cleaned, counted, score, shortened, wrapped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import Reader

MOST_ORDERS = 10_000
"""Orders given last among which the marks are looked for that the crawl has not seen yet."""
READ = 420
"""Characters of the main text that are shown: six lines."""
NO_TEXT = "the crawl has no text of that page, or keeps it no more; nothing was marked"
ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "s": None, "skip": None, "": None}
QUIT = {"q", "quit"}


class Asked(NamedTuple):
    """A page as it is shown."""

    url: str
    host: str
    title: str
    relevance: float
    excerpt: str


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
        parser.add_argument("job", metavar="JOB", help="folder of the crawl (its JOBDIR)")
        parser.add_argument("--most", type=int, default=10, metavar="N", help="ask about at most N pages (10)")
        for option, what in (("--yes", "is on the topic"), ("--no", "is not on the topic")):
            parser.add_argument(
                option, action="append", default=[], metavar="URL", help=f"this page {what}; may be given many times"
            )
        parser.add_argument("--json", action="store_true", help="print the pages to ask about as JSON, and ask nothing")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        if opts.most < 1:
            raise ValueError(f"--most is {opts.most}: it must be at least 1")
        if opts.yes or opts.no:
            return _mark_all(opts)
        with reading(opts.job) as job:
            pages = asked_about(job, opts.most)
        if opts.json:
            sys.stdout.write(
                json.dumps({"pages": [page._asdict() | {"url": redacted(page.url)} for page in pages]}) + "\n"
            )
        elif not pages:
            sys.stderr.write(
                "there is no page to ask about yet; the crawl keeps the texts of those that it is unsure of\n"
            )
        else:
            _ask(opts.job, pages)
        return 0 if pages else 1


def _check(job: Reader) -> None:
    if job.meta(MODEL) is not None:
        raise ValueError("JOB: that crawl began with a model, and has no examples to learn its topic from again")
    if job.meta(KEY) is None:
        raise ValueError("JOB: that crawl has no topic to learn; begin one with --topic, examples of what you want")


def asked_about(job: Reader, most: int) -> list[Asked]:
    """Return the pages, at most so many, of which it teaches most to hear whether they are on the topic.

    :raises ValueError: the crawl has no topic that it could learn.
    """
    _check(job)
    model = relevance_model(job)
    said = {mark.url for mark in job.texts.marks()} | set(_open_marks(job))
    questions = {one.url: one for one in job.texts.questions() if one.url not in said}
    candidates = [
        Candidate(one.url, one.host, finite(model.relevance(one.terms)), one.terms) for one in questions.values()
    ]
    return [
        Asked(
            page.url,
            page.host,
            cleaned(questions[page.url].title or ""),
            round(page.relevance, 4),
            cleaned(questions[page.url].excerpt, READ),
        )
        for page in most_telling(candidates, most)
    ]


def _open_marks(job: Reader) -> Mapping[str, bool]:
    """Return what was said of pages and the crawl has not seen yet."""
    acts = [act for act in job.acts(MOST_ORDERS) if act.is_open and act.kind == MARK]
    return {str(act.what.get("url")): bool(act.what.get("is_relevant")) for act in reversed(acts)}


def _ask(job: str, pages: Sequence[Asked]) -> None:
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


def _shown(page: Asked, place: str) -> str:
    lines = [
        f"{place}, score {score(page.relevance)} (above 0.50 the crawl takes a page for relevant)",
        wrapped(page.title or "(without a title)", 2),
        f"  {shortened(redacted(page.url), 400)}",
        f"  on {shortened(page.host, 75)}",
        "",
        wrapped(page.excerpt, 4),
    ]
    return "\n".join(lines) + "\n\n"


def _answer() -> str:
    """Return a known answer; at the end of the input that is to quit."""
    while True:
        sys.stdout.write("Is it on the topic? [y]es, [n]o, [s]kip, [q]uit: ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        answer = line.strip().lower() if line else "q"
        if not sys.stdin.isatty():
            sys.stdout.write("\n")
        if answer in ANSWERS or answer in QUIT:
            return answer


def check_page(job: Reader, url: str) -> None:
    """Raise ``ValueError`` where the crawl cannot learn from what is said of the page at *url*."""
    _check(job)
    if not (job.texts.terms_at(url) or job.visits.terms_of(url)):
        raise ValueError(f"{redacted(url)}: the crawl has no text of that page, or keeps it no more; no mark is taken")


def _mark_all(opts: argparse.Namespace) -> int:
    said = dict.fromkeys(opts.yes, True) | dict.fromkeys(opts.no, False)
    if both := set(opts.yes) & set(opts.no):
        raise ValueError(f"{min(both)} is given with --yes and with --no")
    with reading(opts.job) as job:
        for url in said:
            check_page(job, url)
    _give(opts.job, said)
    sys.stdout.write(_told(opts.job, len(said)))
    return 0


def _give(job: str, said: Mapping[str, bool]) -> None:
    with ordering(job) as orders:
        for url, is_relevant in said.items():
            orders.give(MARK, {"url": url, "is_relevant": is_relevant})


def _told(job: str, given: int) -> str:
    """Return what comes of the answers."""
    if not given:
        return "nothing was marked\n"
    when = (
        "the crawl learns from it with its next pages"
        if is_running(job)
        else "the crawl learns from it when it goes on"
    )
    return f"{counted(given, 'page')} marked; {when}\n"
