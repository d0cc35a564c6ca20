"""``scrapy replica mine``: the crawl's judgement over a collection that is there."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command, as_object, needing, print_figures
from scrapy_replica.commands.figures import as_text
from scrapy_replica.commands.index import write_index
from scrapy_replica.commands.job import is_shared, name_of, reading
from scrapy_replica.components.archived import ArchivedPages
from scrapy_replica.config import Config
from scrapy_replica.sites.judge import judge_at

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy.settings import Settings


class MineCommand(Command):
    """Mines hosts that are one, URLs that are one page, and a judge that knows the collection; or indexes its pages."""

    name = "mine"
    help = "find mirrors and duplicate URLs in finished crawls, Parquet, CDX or WARC files, or index their pages"
    group = "keep"
    examples = (
        "scrapy replica mine job --out mined",
        "scrapy replica mine warc/ index.cdxj pages.parquet --out mined",
        "scrapy replica mine pages.parquet --out mined --engine spark://host:7077",
        "scrapy replica mine warc/ job old.index --index new.index",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "inputs",
            nargs="+",
            metavar="INPUT",
            help="job folders; Parquet, CDX and WARC files, or folders of them; with --index jobs, WARC files, indexes",
        )
        result = parser.add_mutually_exclusive_group(required=True)
        result.add_argument("--out", metavar="DIR", help="new folder for what is found")
        result.add_argument(
            "--index",
            metavar="FILE",
            help="write only which pages the inputs have, for crawls that fetch what they lack (-s REPLICA_KNOWN=FILE)",
        )
        parser.add_argument(
            "--engine", default="duckdb", metavar="ENGINE", help="duckdb, or Spark: spark://HOST:PORT or local[2]"
        )
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        if opts.index is not None:
            if opts.engine != "duckdb":
                raise ValueError("--engine goes with --out")
            n_pages = write_index(opts.inputs, Path(opts.index), settings)
            print_figures({"pages": n_pages}, {"inputs": opts.inputs, "index": opts.index}, as_json=opts.json)
            return int(not n_pages)
        config, out = Config.from_settings(settings), Path(opts.out)
        if (out / "mine.json").is_file():
            raise ValueError(f"{out} holds what a run has found: name another folder with --out, or delete it")
        for name in opts.inputs:
            if is_shared(name):
                instead = "mine reads folders and files: give it the WARC files that the processes kept (--warc)"
                raise ValueError(f"{name_of(name)} is in Redis, and {instead}")
        with needing("mine", "mining needs"):
            from scrapy_replica.commands import mined  # noqa: PLC0415 - an extra
            from scrapy_replica.mining import inputs, run  # noqa: PLC0415
        openers = inputs.Openers(reading, partial(ArchivedPages, settings.copy()))
        judge = judge_at(config.judge)
        sources = inputs.sources_of(opts.inputs)
        with run.going_on(out):
            found = run.mine(sources, out, opts.engine, openers, judge)
            figures = as_object(found.figures, {"inputs": opts.inputs, "out": opts.out, "engine": opts.engine})
            mined.write_all(found, out, figures)
        run.end(out)
        sys.stdout.write(json.dumps(figures) + "\n" if opts.json else in_words(found.figures) + mined.contents(out))
        return int(not any(found.figures[name] for name in ("verdicts", "rules", "clusters")))


def in_words(figures: Mapping[str, float]) -> str:
    """Return the *figures* but for the times of single steps, which ``mine.json`` has."""
    return as_text({name: value for name, value in figures.items() if not name.startswith("seconds.")})
