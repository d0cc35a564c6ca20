"""``scrapy replica export JOB model``: what a crawl has learnt, for another crawl to begin with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.job import reading
from scrapy_replica.commands.write import write
from scrapy_replica.crawl.order.recipe import made_again
from scrapy_replica.crawl.topic.relevance import KEY
from scrapy_replica.focus.model_file import Learnt, dump
from scrapy_replica.words.terminal import wrapped

if TYPE_CHECKING:
    from scrapy_replica.crawldb.sqlite.reader import SqliteReader

PARTS = {"layers": "how far the text of a page is from it", "links": "what its links lead to"}
"""Parts of what strategies learn, in words; ``hub`` goes with ``links``."""


def write_model(job: str, out: str) -> None:
    """Write what the crawl of *job* has learnt to the file *out*, for ``--model``."""
    with reading(job) as reader:
        learnt = learnt_by(reader)
    told = ["what is relevant", *(words for part, words in PARTS.items() if part in learnt.strategy)]
    write(Path(out), dump(learnt))
    sys.stdout.write(wrapped(f"{out}: {', '.join(told)}", hanging=2) + "\n")


def learnt_by(job: SqliteReader) -> Learnt:
    """Return what the crawl of *job* has learnt.

    :raises ValueError: nothing, for it had no topic.
    """
    relevance = job.meta(KEY)
    if relevance is None:
        raise ValueError("that crawl has learnt nothing, for it had no topic")
    strategy = made_again(job)
    return Learnt(relevance, strategy.learnt() if strategy is not None else {})
