"""``scrapy replica lab crawl``: what a whole crawl of a closed web finds, loses and saves."""

from __future__ import annotations

import argparse
import multiprocessing
import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from scrapy_replica.addon import Addon
from scrapy_replica.commands.command import say
from scrapy_replica.commands.job import reading
from scrapy_replica.commands.rehearse import judged
from scrapy_replica.commands.run import Run
from scrapy_replica.components.handler import rehearsal_settings
from scrapy_replica.components.seeds import read_seeds
from scrapy_replica.config import Config
from scrapy_replica.crawldb.contract import State
from scrapy_replica.decision import Action
from scrapy_replica.lab.crawls.crawl_figures import Block, Draw, Fetched, figures_of, plot
from scrapy_replica.lab.crawls.crawl_truth import HostTruth, PageTable
from scrapy_replica.records import Novelty

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

SHOWN = 40
"""Lost pages that are told one by one."""

UNSEEN = "unseen"
"""No page that was fetched has a link to it."""


def add_crawl_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``lab crawl`` takes."""
    parser.add_argument("warcs", nargs="+", metavar="WARC", help="a closed web: WARC files; gzip or not")
    parser.add_argument("--seeds", required=True, help="URLs, or a file with one URL a line")
    parser.add_argument("--truth", metavar="CSV", help="table of url, host, page_key, status, role; else texts tell")
    parser.add_argument("--hosts", metavar="CSV", help="table of host, kind, replica_of; else page keys tell")
    parser.add_argument("--plain", action="store_true", help="crawl without the add-on as well, each draw")
    parser.add_argument("--draws", type=int, default=1, metavar="N", help="orders of the seeds (1)")
    parser.add_argument("--job", metavar="DIR", help="keep the jobs here, in folders 0, 1, ...")
    parser.add_argument("--plot", metavar="FILE", help="draw the pages found over the fetches (.png, .svg, .pdf)")


def crawl_figures(opts: argparse.Namespace, settings: Settings) -> Mapping[str, float]:
    """Return the figures of ``lab crawl``.

    :raises ValueError: an argument, a setting or a table is wrong, or a crawl was stopped.
    """
    if opts.draws < 1:
        raise ValueError(f"--draws is {opts.draws}: it must be at least 1")
    Config.from_settings(settings)
    seeds = read_seeds(opts.seeds)
    settings.setdict(rehearsal_settings([Path(warc) for warc in opts.warcs]), "cmdline")
    table = PageTable.read(Path(opts.truth)) if opts.truth else None
    of_pages = table.hosts() if table else HostTruth()
    hosts = HostTruth.read(Path(opts.hosts)) if opts.hosts else of_pages
    with ExitStack() as stack:
        jobs = Path(opts.job or stack.enter_context(TemporaryDirectory()))
        plain = opts.plain or table is None
        draws = [
            draw(order, jobs / str(number), settings, table, has_plain=plain)
            for number, order in enumerate(orders(seeds, opts.draws))
        ]
    if opts.plot:
        plot(draws, Path(opts.plot))
    figures = figures_of(draws, hosts)
    # Without a table of pages or hosts nothing says which blocks are right.
    return figures if hosts != HostTruth() else {k: v for k, v in figures.items() if not k.startswith("wrong_blocks")}


def orders(seeds: Sequence[str], n: int) -> list[list[str]]:
    """Return *n* orders of *seeds*: first as they are, then shuffled, the same in each run."""
    return [random.Random(draw).sample(seeds, len(seeds)) if draw else list(seeds) for draw in range(n)]


def draw(seeds: Sequence[str], job: Path, settings: Settings, table: PageTable | None, *, has_plain: bool) -> Draw:
    """Crawl from *seeds* with the add-on, without it if *has_plain*, and find out what was lost and why."""
    say(f"draw {job.name}: with the add-on")
    ours = crawled(seeds, settings, job)
    if has_plain:
        say(f"draw {job.name}: plain Scrapy")
        plain = crawled(seeds, settings, None)
    else:
        assert table is not None
        plain = Fetched(list(table.key_of))
    key_of = table.key_of if table else keys_by_text([*plain.urls, *ours.urls], settings)
    with reading(str(job)) as known:
        blocks = [Block(view.verdict.copy, view.verdict.canonical, view.pages) for view in known.verdicts()]
        found = Draw(ours, plain, key_of, blocks)
        return Draw(ours, plain, key_of, blocks, reasons_of(found.lost, key_of, known))


def crawled(seeds: Sequence[str], settings: Settings, job: Path | None) -> Fetched:
    """Crawl to the end in a process of its own: the processor time is that of one crawl.

    :param job: folder of a crawl with the add-on, ``None`` for plain Scrapy.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_crawl, " ".join(seeds), settings.copy(), job).result()


def _crawl(seeds: str, settings: Settings, job: Path | None) -> Fetched:
    if job is not None:
        settings.set("ADDONS", {**settings.getdict("ADDONS"), Addon: 500}, "cmdline")
        settings.set("JOBDIR", str(job), "cmdline")
        # What is sampled is drawn anew in each draw, and the same when the command is run again.
        settings.set("REPLICA_SEED", settings.getint("REPLICA_SEED") or int(job.name) + 1, "cmdline")
    arguments = argparse.Namespace(seeds=seeds, domains="", max_pages=0, fields="url", new_only=False)
    run = Run(arguments, settings)
    if run.exit_code or run.stats.get("finish_reason") != "finished":
        raise ValueError(f"a crawl did not come to its end: {run.stats.get('finish_reason')}")
    # Plain Scrapy's pages have the fragments of the links that led to them.
    return Fetched([url.partition("#")[0] for url in run.meter.urls], run.meter.cpu_seconds)


def keys_by_text(urls: Sequence[str], settings: Settings) -> dict[str, str]:
    """Return URL -> identity of its page, near duplicates being one page; pages without text are one as well."""
    key_of: dict[str, str] = {}
    say("judging the pages' texts")
    for url, seen in judged(list(dict.fromkeys(urls)), settings):
        if seen.novelty is Novelty.UNKNOWN:
            key_of[url] = f"text {seen.page.text}"
        else:
            key_of[url] = key_of.get(seen.twin.url, seen.twin.url) if seen.twin else url
    return key_of


def reasons_of(lost: set[str], key_of: Mapping[str, str], job: SqliteReader) -> dict[str, str]:
    """Return for each lost page key why none of its URLs was fetched, and tell of the first on standard error."""
    told: dict[str, list[tuple[str, str]]] = {key: [] for key in sorted(lost)}
    for url, key in key_of.items():
        if key in told:
            told[key].append((why(url, job), url))
    reasons = {}
    for key, answers in told.items():
        counts = Counter(reason for reason, _ in answers if reason != UNSEEN)
        reasons[key] = counts.most_common(1)[0][0] if counts else UNSEEN
        if len(reasons) <= SHOWN:
            say(f"  lost: {reasons[key]}  {next(url for reason, url in answers if reason == reasons[key])}")
    if len(reasons) > SHOWN:
        say(f"  and {len(reasons) - SHOWN} more")
    return reasons


def why(url: str, job: SqliteReader) -> str:
    """Return what a crawl knows of a URL that it did not fetch: the reason of a decision, or its state."""
    view = job.url(url)
    if view is None:
        return UNSEEN
    if view.state is State.DROPPED or view.is_demoted:
        against = [decision for decision in view.decisions if decision.action is not Action.FETCH]
        if against:
            return against[-1].reason.value
    if view.page is not None:
        return "failed" if view.page.error else f"status-{view.page.status}"
    return view.state.value.replace(" ", "-")
