"""``scrapy replica rehearse``: the same crawl from WARC files, without a network."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.addon import Addon
from scrapy_replica.commands.command import Command, print_figures
from scrapy_replica.commands.run import SCOPE, Run, add_crawl_arguments, apply_arguments
from scrapy_replica.commands.truth import Truth
from scrapy_replica.components.archived import ArchivedPages
from scrapy_replica.components.fingerprinter import key_of_url
from scrapy_replica.components.handler import rehearsal_settings
from scrapy_replica.components.payloads import RequestPayloads
from scrapy_replica.config import Config
from scrapy_replica.crawl.crawl import Crawl
from scrapy_replica.crawldb.sqlite.database import SqliteCrawlDB
from scrapy_replica.decision import Mode
from scrapy_replica.records import Novelty
from scrapy_replica.sites.aliases import Aliases
from scrapy_replica.warc.archive import open_archive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from scrapy.settings import Settings

    from scrapy_replica.crawl.observation import Observation


class RehearseCommand(Command):
    """Rehearses a crawl, with the add-on or without, and measures it against the truth."""

    name = "rehearse"
    help = "crawl WARC files in place of the web, and measure it"
    group = "crawl"
    examples = (
        "scrapy replica rehearse web.warc.gz --seeds http://example.org/",
        "scrapy replica rehearse *.warc.gz --seeds seeds.txt --topic examples/",
        "scrapy replica rehearse web.warc.gz --seeds seeds.txt --plain",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("warcs", nargs="+", metavar="WARC", help="WARC files; gzip or not")
        parser.add_argument("--seeds", required=True, metavar="SEEDS", help="URLs, or a file with one URL a line")
        add_crawl_arguments(parser)
        parser.add_argument("--truth", metavar="CSV:TOPIC", help="table of url, trap, topics; and the topic wanted")
        parser.add_argument("--plain", action="store_true", help="the same spider without the add-on")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        apply_arguments(opts, settings)
        if opts.plain and (wanted := [name for name in SCOPE if name != "sitemaps" and getattr(opts, name)]):
            raise ValueError(f"--{wanted[0].replace('_', '-')} needs the add-on; --plain has --domains and --depth")
        truth = Truth.parse(opts.truth) if opts.truth else Truth()
        settings.setdict(rehearsal_settings([Path(warc) for warc in opts.warcs]), "cmdline")
        settings.set("REPLICA_SEED", settings.getint("REPLICA_SEED") or 1, "cmdline")  # so that it can be repeated
        if not opts.plain:
            settings.set("ADDONS", {**settings.getdict("ADDONS"), Addon: 500}, "cmdline")
        run = Run(opts, settings)
        figures = truth.harvest(run.meter.urls, opts.max_pages or 0) | novelty_figures(run, settings, truth)
        inputs = {
            name: getattr(opts, name)
            for name in ("warcs", "seeds", "topic", "topic_model", "strategy", "mode", "truth", "plain")
        }
        print_figures({**figures, **run.figures()}, inputs, as_json=opts.json)
        return run.exit_code


def novelty_figures(run: Run, settings: Settings, truth: Truth) -> dict[str, int | float]:
    """Judge the pages of *run* in their order, outside of its measured time."""
    counts, n_distinct = Counter[Novelty](), 0
    for url, observation in judged(run.meter.urls, settings):
        counts[observation.novelty] += 1
        n_distinct += url in truth.relevant and observation.novelty is not Novelty.EXACT_DUPLICATE
    return {
        "relevant_distinct": n_distinct,
        "novel": counts[Novelty.NOVEL],
        "near_duplicates": counts[Novelty.NEAR_DUPLICATE],
        "exact_duplicates": counts[Novelty.EXACT_DUPLICATE],
    }


def judged(urls: Sequence[str], settings: Settings) -> Iterator[tuple[str, Observation]]:
    """Yield the archived pages of *urls* with what a crawl in ``observe`` mode learns from them, in this order.

    The same judgement for every crawl, whatever it knew while it ran. It shows progress.
    """
    from tqdm import tqdm  # noqa: PLC0415 - part of the extra warc

    archive, page_of = open_archive(settings.getlist("REPLICA_ARCHIVE")), ArchivedPages(settings)
    crawl = observing_crawl(Config.from_settings(settings))
    for url in tqdm(urls, "judging", file=sys.stderr, disable=not sys.stderr.isatty(), leave=False):
        record = archive.get(url)
        if record is not None:
            yield url, crawl.fetches.observe(page_of(record, url), crawl.enter_fetched(url), 0)
    crawl.store.close()


def observing_crawl(config: Config) -> Crawl:
    """Return a crawl that looks at texts as *config* says, and does nothing else."""
    store, counts = SqliteCrawlDB(None), Counter[str]()
    return Crawl(
        Config(
            mode=Mode.OBSERVE,
            strategy="breadth-first",
            mirrors=False,
            dust=False,
            near_distance=config.near_distance,
            min_words=config.min_words,
        ),
        store,
        key=key_of_url,
        now=float,
        aliases=Aliases({}),
        payloads=RequestPayloads(is_stored=False, url_of=store.urls.url_of, counts=counts),
        counts=counts,
    )
