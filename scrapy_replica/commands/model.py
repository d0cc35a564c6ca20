"""``scrapy replica model``: what a crawl has learnt, for another crawl to begin with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command, add_job_argument
from scrapy_replica.commands.job import reading
from scrapy_replica.commands.write import write
from scrapy_replica.crawl.links.recipe import made_again
from scrapy_replica.crawl.links.relevance import KEY
from scrapy_replica.focus.model_file import Learnt, dump
from scrapy_replica.words import wrapped

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

PARTS = {"layers": "how far the text of a page is from it", "links": "what its links lead to"}
"""Parts of what strategies learn, in words; ``hub`` goes with ``links``."""


class ModelCommand(Command):
    """Reads the crawl database of a finished or running crawl, and writes a file for ``--model``."""

    name = "model"
    help = "write what a crawl has learnt to FILE, for another crawl to begin with"
    group = "keep"
    examples = (
        "scrapy replica model topic.npz --job job",
        "scrapy replica crawl https://example.com/ --model topic.npz --job other",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="file to write, .npz; one that is there is replaced")
        add_job_argument(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        with reading(opts.job) as job:
            learnt = learnt_by(job)
        told = ["what is relevant", *(words for part, words in PARTS.items() if part in learnt.strategy)]
        write(Path(opts.file), dump(learnt))
        sys.stdout.write(wrapped(f"{opts.file}: {', '.join(told)}", hanging=2) + "\n")
        return 0


def learnt_by(job: SqliteReader) -> Learnt:
    """Return what the crawl of *job* has learnt.

    :raises ValueError: nothing, for it had no topic.
    """
    relevance = job.meta(KEY)
    if relevance is None:
        raise ValueError("--job: that crawl has learnt nothing, for it had no topic")
    strategy = made_again(job)
    return Learnt(relevance, strategy.learnt() if strategy is not None else {})
