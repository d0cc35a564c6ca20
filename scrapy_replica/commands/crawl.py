"""``scrapy replica crawl``: a focused crawl of the live web."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from scrapy_replica.addon import Addon
from scrapy_replica.address import host_of, site_of
from scrapy_replica.commands.command import Command, print_figures, say
from scrapy_replica.commands.job import database_path, is_begun, name_of, reading
from scrapy_replica.commands.run import SHOWN, Run, add_crawl_arguments, apply_arguments
from scrapy_replica.commands.status_text import saved_in_words
from scrapy_replica.components.seeds import read_seeds
from scrapy_replica.components.shared_crawl import ALL
from scrapy_replica.components.slots import CONCURRENCY, DELAY
from scrapy_replica.crawldb.contract import State
from scrapy_replica.crawldb.orders import SEEDS
from scrapy_replica.words.text import cleaned

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from scrapy.settings import Settings


TOLD_OF_THE_JOB = ("decision.", "samples", "false_drop_rate")
"""Beginnings of figures that ``status`` tells of the whole job, counted by URL: a person gets these."""

OF_ALL = {"all_pages": "page/observed", "processes": "processes"}
"""Figures of all processes that share a crawl -> what they are called among the sums."""

MOST_ORDERS = 1_000
"""Orders given last among which added seeds are looked for."""

POLITE = {"ROBOTSTXT_OBEY": True, CONCURRENCY: 1, DELAY: 1}
"""What ``scrapy startproject`` writes into a new project's settings; a project's own settings and ``-s`` win."""


class CrawlCommand(Command):
    """Crawls from seeds with the add-on and prints what came of it."""

    name = "crawl"
    help = "crawl the live web from SEEDS, pages on the topic first"
    group = "crawl"
    examples = (
        "scrapy replica crawl https://example.org/ --job job --max-pages 1000",
        "scrapy replica crawl seeds.txt --topic examples/ --job job -o pages.jsonl",
        "scrapy replica crawl https://example.org/ --job job --revisit",
        "scrapy replica crawl https://example.org/ --job job --warc warc",
        "scrapy replica crawl seeds.txt --join redis://host/?prefix=news -o 1.jsonl",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("seeds", metavar="SEEDS", nargs="+", help="URLs, or a file with one URL a line")
        add_crawl_arguments(parser)
        parser.add_argument(
            "--join", metavar="ADDRESS", help="share the crawl with other processes; see REPLICA_CRAWLDB"
        )
        parser.add_argument(
            "--warc",
            metavar="DIR",
            help="keep what is fetched as WARC files, in a folder or at s3://...; see REPLICA_WARC",
        )
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        opts.seeds = " ".join(opts.seeds)
        settings.setdict(POLITE, "command")
        settings.set("REPLICA_PRIVATE_ADDRESSES", False, "command")
        settings.set("REPLICA_SCOPE", "any" if opts.domains else "domains", "command")
        if opts.warc:
            settings.set("REPLICA_WARC", opts.warc, "cmdline")
        apply_arguments(opts, settings)
        settings.set("ADDONS", {**settings.getdict("ADDONS"), Addon: 500}, "cmdline")
        shared = settings.get("REPLICA_CRAWLDB")
        is_resumed = bool(opts.job) and not shared and is_begun(opts.job)
        if is_resumed:
            check_seeds(opts.job, read_seeds(opts.seeds))
        run = Run(opts, settings)
        novelties = ("novel", "near-duplicate", "exact-duplicate", "unknown", "relevant")
        counts = {n.replace("-", "_") + "_pages": run.stats.get(f"replica/page/{n}", 0) for n in novelties}
        pages = run.stats.get("replica/page/observed", len(run.meter.urls))  # with those in flight at the end
        figures, held_back = {"pages": pages, **counts, **run.figures()}, ""
        has_job = opts.job and not shared and run.stats.get("finish_reason") != "crawl_database"
        if has_job and not opts.json and is_begun(opts.job):
            with reading(opts.job) as job:
                held_back = "\nThe job so far:\n" + saved_in_words(job.status(None, 0))
            figures = {name: value for name, value in figures.items() if not name.startswith(TOLD_OF_THE_JOB)}
        inputs = {"seeds": opts.seeds, "topic": opts.topic, "job": opts.job}
        if shared:
            inputs["join"] = name_of(shared)
            figures |= {name: run.stats.get(f"{ALL}{key}", 0) for name, key in OF_ALL.items()}
        print_figures(figures, inputs, as_json=opts.json)
        sys.stdout.write(held_back)
        if opts.warc:
            whole, repeated = (run.stats.get(f"replica/warc/{kind}", 0) for kind in ("responses", "revisits"))
            say(f"kept in {opts.warc}: {whole} responses, and {repeated} that repeat one")
        if is_resumed and not opts.revisit and is_over(run, opts.job):
            say(
                f"nothing waits in {opts.job}, everything in scope was fetched: another --job begins anew, and "
                "--revisit asks again for what may have changed"
            )
        if shared:
            say(f"ledger: {name_of(shared)} (scrapy replica explain URL --job ADDRESS)")
        elif opts.job:
            say(f"ledger: {database_path(opts.job)} (scrapy replica explain URL --job {opts.job})")
        return run.exit_code


def check_seeds(job: str, seeds: Sequence[str]) -> None:
    """Refuse to go on with the crawl of *job* from *seeds* of another site, as when somebody names a wrong job.

    :raises ValueError: no seed is on a site that the crawl began with.
    """
    with reading(job) as reader:
        added = [order.what for order in reader.orders(MOST_ORDERS) if order.kind == SEEDS]
        urls = (url for what in added for url in what.get("urls", ()))
        known = sorted({*reader.seed_hosts(), *map(host_of, urls)})
    wanted = sorted({host_of(url) for url in seeds})
    if known and not {site_of(host) for host in known} & {site_of(host) for host in wanted}:
        began, others = (cleaned(", ".join(hosts[:SHOWN])) for hosts in (known, wanted))
        raise ValueError(
            f"--job {job}: that crawl began on {began}, and {others} is another site: give another --job, or let it in "
            f"with scrapy replica steer add {job} {cleaned(seeds[0])}"
        )


def is_over(run: Run, job: str) -> bool:
    """Tell whether *run* found nothing left to fetch of the job in the folder *job*."""
    if run.stats.get("finish_reason") != "finished" or run.stats.get("downloader/request_count"):
        return False
    with reading(job) as reader:
        return not reader.status(None, 0).urls.get(State.WAITING, 0)
