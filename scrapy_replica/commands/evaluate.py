"""``scrapy replica eval``: how good each part is, on labelled data and beside peers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_replica.commands import eval_crawl, eval_replicas, eval_visits
from scrapy_replica.commands.command import Command, existing, needing, print_measures

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from scrapy.settings import Settings


class EvalCommand(Command):
    """One sub-command for each question. What they need beyond the core is imported when they run."""

    name = "eval"
    help = "measure a part of the add-on on labelled data, beside peers and baselines"
    group = "measure"
    examples = (
        "scrapy replica eval crawl web.warc.gz --seeds seeds.txt --truth pages.csv",
        "scrapy replica eval replicas hosts/ --crawl",
        "scrapy replica eval replicas hosts/ --tables --plots curves/",
        "scrapy replica eval visits crawl.parquet --topic medicine --plot curves.svg",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        questions = parser.add_subparsers(dest="question", metavar="QUESTION", required=True)
        replicas = questions.add_parser("replicas", help="replica hosts: a folder with truth.csv, or a web")
        eval_replicas.add_replica_arguments(replicas)
        replicas.set_defaults(evaluate=eval_replicas.replica_figures)
        crawl = questions.add_parser("crawl", help="a whole crawl: WARC files of a closed web, and which pages are one")
        eval_crawl.add_crawl_arguments(crawl)
        crawl.set_defaults(evaluate=lambda opts: eval_crawl.crawl_figures(opts, opts.settings))
        dust = questions.add_parser("dust", help="DUST rules: a table like dust_urls.csv.gz")
        dust.add_argument("file", metavar="FILE")
        dust.add_argument("--combined", metavar="DIR", help="with the replica hosts of this folder as one collection")
        dust.add_argument("--out", metavar="DIR", help="write the curve of the best N pairwise rules, as CSV and plot")
        dust.set_defaults(evaluate=dust_figures)
        visits = questions.add_parser("visits", help="visiting strategies: a labelled crawl (Parquet), or an archive")
        eval_visits.add_visit_arguments(visits)
        visits.set_defaults(evaluate=eval_visits.visit_figures)
        tunnels = questions.add_parser("tunnels", help="how far apart the pages of a topic lie in a labelled crawl")
        tunnels.add_argument("file", metavar="FILE")
        tunnels.add_argument("--topic", required=True, help="label of the pages")
        tunnels.set_defaults(evaluate=tunnel_figures)
        text = questions.add_parser("text", help="relevance models: 20 Newsgroups, WebKB, a labelled crawl (Parquet)")
        text.add_argument("file", metavar="FILE")
        text.add_argument("--splits", type=int, default=5, metavar="N", help="splits drawn, of seeds 0, 1, ... (5)")
        text.add_argument("--topic", metavar="LABEL", help="FILE is a labelled crawl: find the pages of this label")
        text.set_defaults(evaluate=text_figures)
        noise = questions.add_parser("noise", help="main text: a folder of <set>/html/<id>.html, <set>/gold/<id>.txt")
        noise.add_argument("folder", metavar="DIR")
        noise.add_argument("--shipped", action="store_true", help="the shipped extractor in place of leave-set-out")
        noise.add_argument("--pages", metavar="FILE", help="show ten pages side by side, kept text marked, as HTML")
        noise.set_defaults(evaluate=noise_figures)
        forms = questions.add_parser("forms", help="pages that forms returned: a folder with councils/<vendor>-<site>")
        forms.add_argument("folder", metavar="DIR")
        forms.set_defaults(evaluate=form_figures)
        revisits = questions.add_parser("revisits", help="orders of coming back: a simulated web of changing pages")
        add_revisit_arguments(revisits)
        for question in (replicas, crawl, dust, visits, tunnels, text, noise, forms, revisits):
            question.add_argument("--json", action="store_true", help="print the figures as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        opts.settings = settings
        with needing("eval", f"eval {opts.question} needs"):
            figures: Mapping[str, Any] | str = opts.evaluate(opts)
        if isinstance(figures, str):
            sys.stdout.write(figures + "\n")
            return 0
        numbers = {name: value for name, value in figures.items() if value == value}  # noqa: PLR0124 - NaN is no number
        hidden = {"evaluate", "run", "command", "question", "json", "set", "settings", "loglevel", "logfile"}
        inputs = {k: v for k, v in vars(opts).items() if k not in hidden and v is not None and v is not False}
        print_measures(numbers, inputs, as_json=opts.json)
        return 0


def dust_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``eval dust``, or their tables."""
    file, folder = existing(opts.file), existing(opts.combined) if opts.combined else None
    from scrapy_replica.evaluation import dust, dust_table, dust_top  # noqa: PLC0415 - needed when it runs

    if opts.out:
        with needing("report", "--out needs"):
            import matplotlib  # noqa: F401, ICN001, PLC0415 - so that it is not missed after all is measured
        if Path(opts.out).is_file():
            raise ValueError(f"--out: {opts.out} is a file: name a folder")
        Path(opts.out).mkdir(parents=True, exist_ok=True)
    together: Mapping[str, float] = {}
    if folder is not None:
        from scrapy_replica.evaluation import dust_combined  # noqa: PLC0415 - extras eval, warc

        together = dust_combined.evaluate(file, folder)
    found = dust.evaluate(file)
    if opts.out:
        dust_top.write(found.top, Path(opts.out))
    if opts.json:
        return {**found.figures, **together}
    return dust_table.table(found) + (f"\n\n{dust_table.together_table(together)}" if together else "")


def tunnel_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``eval tunnels``, or their table."""
    file = existing(opts.file)
    from scrapy_replica.evaluation import tunnels  # noqa: PLC0415 - extra eval

    found = tunnels.evaluate(file, opts.topic)
    return found if opts.json else tunnels.table(found)


def add_revisit_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``eval revisits`` takes."""
    parser.add_argument("--pages", type=int, default=2_000, metavar="N", help="pages of the web (2000)")
    parser.add_argument("--passes", type=int, default=15, metavar="N", help="passes over it (15)")
    parser.add_argument("--days", type=float, default=60, metavar="N", help="between changes of the median page (60)")
    parser.add_argument("--share", type=float, default=0.1, metavar="P", help="of the pages fetched in a pass (0.1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the changes")
    parser.set_defaults(evaluate=revisit_figures)


def revisit_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``eval revisits``, or their tables."""
    from scrapy_replica.evaluation import revisits  # noqa: PLC0415 - what it needs is imported when it runs

    for option, least in (("pages", 1), ("passes", 1), ("days", 0.01), ("share", 0), ("seed", 0)):
        if not getattr(opts, option) >= least:
            raise ValueError(f"--{option} is {getattr(opts, option)}: it must be at least {least}")
    if opts.share > 1:
        raise ValueError(f"--share is {opts.share}: it must be at most 1")
    figures = revisits.evaluate(opts.pages, opts.passes, opts.days, opts.share, opts.seed)
    return figures if opts.json else revisits.table(figures)


def text_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``eval text``, or their table."""
    file = existing(opts.file)
    from scrapy_replica.evaluation import text  # noqa: PLC0415 - extra eval

    if opts.splits < 1:
        raise ValueError(f"--splits is {opts.splits}: it must be at least 1")
    if opts.topic:
        from scrapy_replica.evaluation import text_crawl  # noqa: PLC0415 - extra eval

        found = text_crawl.evaluate(file, opts.topic, draws=opts.splits)
        return found["figures"] if opts.json else text_crawl.table(found)
    result = text.evaluate(file, splits=opts.splits)
    return result["figures"] if opts.json else text.table(result)


def noise_figures(opts: argparse.Namespace) -> Mapping[str, float]:
    """Return the figures of ``eval noise``."""
    folder = existing(opts.folder)
    from scrapy_replica.evaluation import noise  # noqa: PLC0415 - extra eval

    picture = Path(opts.pages) if opts.pages else None
    return noise.evaluate(folder, is_leave_set_out=not opts.shipped, picture=picture)


def form_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``eval forms``, or their tables."""
    folder = existing(opts.folder)
    from scrapy_replica.evaluation import form_results, form_table  # noqa: PLC0415 - extra eval

    figures = form_results.evaluate(folder)
    return figures if opts.json else form_table.table(figures)
