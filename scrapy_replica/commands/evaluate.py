"""``scrapy replica eval``: how good each part is, on labelled data and beside peers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_replica.commands.command import Command, print_figures

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy.settings import Settings


class EvalCommand(Command):
    """One sub-command for each question. What they need beyond the core is imported when they run."""

    name = "eval"
    help = "measure a part of the add-on on labelled data, beside peers and baselines"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        questions = parser.add_subparsers(dest="question", metavar="QUESTION", required=True)
        replicas = questions.add_parser("replicas", help="replica hosts: a folder of WARC files with truth.csv")
        replicas.add_argument("folder", metavar="DIR")
        replicas.add_argument("--crawl", action="store_true", help="rehearse one crawl over all hosts and judge in it")
        replicas.add_argument("--train", metavar="DIR", help="learn from this folder instead of the other folds")
        replicas.add_argument("--model", metavar="FILE", help="take this judge as it is")
        replicas.set_defaults(evaluate=replica_figures)
        noise = questions.add_parser("noise", help="main text: a folder of <set>/html/<id>.html, <set>/gold/<id>.txt")
        noise.add_argument("folder", metavar="DIR")
        noise.add_argument("--shipped", action="store_true", help="the shipped extractor in place of leave-set-out")
        noise.add_argument("--pages", metavar="FILE", help="show ten pages side by side, kept text marked, as HTML")
        noise.set_defaults(evaluate=noise_figures)
        forms = questions.add_parser("forms", help="pages that forms returned: a folder with councils/<vendor>-<site>")
        forms.add_argument("folder", metavar="DIR")
        forms.set_defaults(evaluate=form_figures)
        for question in (replicas, noise, forms):
            question.add_argument("--json", action="store_true", help="print the figures as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        figures: Mapping[str, Any] = opts.evaluate(opts)
        numbers = {name: value for name, value in figures.items() if value == value}  # noqa: PLR0124 - NaN is no number
        hidden = {"evaluate", "run", "command", "question", "json", "set", "loglevel", "logfile"}
        inputs = {k: v for k, v in vars(opts).items() if k not in hidden and v not in (None, False)}
        print_figures(numbers, inputs, as_json=opts.json)
        return 0


def replica_figures(opts: argparse.Namespace) -> Mapping[str, float]:
    """Return the figures of ``eval replicas``."""
    from scrapy_replica.evaluation import replica_crawl, replica_pairs, replicas  # noqa: PLC0415 - extra learn
    from scrapy_replica.sites.judge import Judge  # noqa: PLC0415

    folder = existing(opts.folder)
    if not opts.crawl:
        train = existing(opts.train) if opts.train else None
        return replicas.evaluate(folder, train_folder=train, model=existing(opts.model) if opts.model else None)
    judge = Judge.load(existing(opts.model)) if opts.model else Judge.load()
    truth, pages = replica_pairs.read_truth(folder), replica_pairs.read_pages(folder)
    return replica_crawl.crawl_figures(truth, pages, judge)


def noise_figures(opts: argparse.Namespace) -> Mapping[str, float]:
    """Return the figures of ``eval noise``."""
    from scrapy_replica.evaluation import noise  # noqa: PLC0415 - extra learn

    picture = Path(opts.pages) if opts.pages else None
    return noise.evaluate(existing(opts.folder), is_leave_set_out=not opts.shipped, picture=picture)


def form_figures(opts: argparse.Namespace) -> Mapping[str, float]:
    """Return the figures of ``eval forms``."""
    from scrapy_replica.evaluation import forms  # noqa: PLC0415 - extra learn

    return forms.evaluate(existing(opts.folder))


def existing(name: str) -> Path:
    """Return *name* as a path.

    :raises ValueError: there is no such file or folder.
    """
    path = Path(name)
    if not path.exists():
        raise ValueError(f"there is no {path}")
    return path
