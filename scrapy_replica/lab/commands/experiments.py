"""``scrapy replica lab QUESTION``: how good each part is, on labelled data and beside peers."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_replica.commands.command import Command, needing
from scrapy_replica.lab.commands import crawl, left_out, replicas, visits
from scrapy_replica.lab.commands.output import existing, print_measures

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

Figures = Mapping[str, Any] | str
"""Figures, or a table of them."""

NO_INPUT = {"chosen", "command", "json", "logfile", "loglevel", "part", "run", "set"}
"""Arguments that are not told beside the figures."""


class Experiment(Command):
    """Measures one part. What it needs beyond the core is imported when it runs."""

    group = "measure"

    @abstractmethod
    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:
        """Measure, and return what was found."""

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        with needing("lab", f"lab {self.name} needs"):
            figures = self.figures(opts, settings)
        if isinstance(figures, str):
            sys.stdout.write(figures + "\n")
            return 0
        numbers = {name: value for name, value in figures.items() if value == value}  # noqa: PLR0124 - NaN is no number
        inputs = {k: v for k, v in vars(opts).items() if k not in NO_INPUT and v is not None and v is not False}
        print_measures(numbers, inputs, as_json=opts.json)
        return 0


class ReplicasExperiment(Experiment):
    name = "replicas"
    help = "replica hosts: a folder with truth.csv, or a web"
    examples = (
        "scrapy replica lab replicas hosts/ --crawl",
        "scrapy replica lab replicas hosts/ --tables --plots curves/",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        replicas.add_replica_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:  # noqa: ARG002
        return replicas.replica_figures(opts)


class LeftOutExperiment(Experiment):
    name = "left-out"
    help = "the judge of hosts on sources that it never learnt: two or more, each left out whole"
    examples = ("scrapy replica lab left-out captures=hosts/ manuals=manuals/",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        left_out.add_left_out_arguments(parser)

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:  # noqa: ARG002
        return left_out.left_out_figures(opts)


class CrawlExperiment(Experiment):
    name = "crawl"
    help = "a whole crawl: WARC files of a closed web, and which pages are one"
    examples = ("scrapy replica lab crawl web.warc.gz --seeds seeds.txt --truth pages.csv",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        crawl.add_crawl_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:
        return crawl.crawl_figures(opts, settings)


class DustExperiment(Experiment):
    name = "dust"
    help = "DUST rules: a table like dust_urls.csv.gz"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--combined", metavar="DIR", help="with the replica hosts of this folder as one collection")
        parser.add_argument("--out", metavar="DIR", help="write the curve of the best N rules, as CSV and plot")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:  # noqa: ARG002
        return dust_figures(opts)


class VisitsExperiment(Experiment):
    name = "visits"
    help = "visiting strategies: a labelled crawl (Parquet), or an archive"
    examples = ("scrapy replica lab visits crawl.parquet --topic medicine --plot curves.svg",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        visits.add_visit_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:  # noqa: ARG002
        return visits.visit_figures(opts)


class TunnelsExperiment(Experiment):
    name = "tunnels"
    help = "how far apart the pages of a topic lie in a labelled crawl"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--topic", required=True, help="label of the pages")
        parser.add_argument("--plot", metavar="FILE", help="draw how groups of pages with the label hang together")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:  # noqa: ARG002
        return tunnel_figures(opts)


class TextExperiment(Experiment):
    name = "text"
    help = "relevance models: 20 Newsgroups, WebKB, a labelled crawl (Parquet)"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE")
        parser.add_argument("--splits", type=int, default=5, metavar="N", help="splits drawn, of seeds 0, 1, ... (5)")
        parser.add_argument("--topic", metavar="LABEL", help="FILE is a labelled crawl: find the pages of this label")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:  # noqa: ARG002
        return text_figures(opts)


class NoiseExperiment(Experiment):
    name = "noise"
    help = "main text: a folder of <set>/html/<id>.html, <set>/gold/<id>.txt"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", metavar="DIR")
        parser.add_argument("--shipped", action="store_true", help="the shipped extractor in place of leave-set-out")
        parser.add_argument("--pages", metavar="FILE", help="show ten pages side by side, kept text marked, as HTML")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:  # noqa: ARG002
        return noise_figures(opts)


class FormsExperiment(Experiment):
    name = "forms"
    help = "pages that forms returned: a folder with councils/<vendor>-<site>"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", metavar="DIR")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:  # noqa: ARG002
        return form_figures(opts)


class RevisitsExperiment(Experiment):
    name = "revisits"
    help = "orders of coming back: a simulated web of changing pages"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_revisit_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def figures(self, opts: argparse.Namespace, settings: Settings) -> Figures:  # noqa: ARG002
        return revisit_figures(opts)


def dust_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``lab dust``, or their tables."""
    file, folder = existing(opts.file), existing(opts.combined) if opts.combined else None
    from scrapy_replica.lab.dust import dust, dust_table, dust_top  # noqa: PLC0415 - needed when it runs

    if opts.out:
        with needing("report", "--out needs"):
            import matplotlib  # noqa: F401, ICN001, PLC0415 - so that it is not missed after all is measured
        if Path(opts.out).is_file():
            raise ValueError(f"--out: {opts.out} is a file: name a folder")
        Path(opts.out).mkdir(parents=True, exist_ok=True)
    together: Mapping[str, float] = {}
    if folder is not None:
        from scrapy_replica.lab.dust import dust_combined  # noqa: PLC0415 - extras lab, warc

        together = dust_combined.evaluate(file, folder)
    found = dust.evaluate(file)
    if opts.out:
        dust_top.write(found.top, Path(opts.out))
    if opts.json:
        return {**found.figures, **together}
    return dust_table.table(found) + (f"\n\n{dust_table.together_table(together)}" if together else "")


def tunnel_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``lab tunnels``, or their table."""
    file = existing(opts.file)
    from scrapy_replica.lab.visits import tunnels  # noqa: PLC0415 - extra lab

    found = tunnels.evaluate(file, opts.topic, Path(opts.plot) if opts.plot else None)
    return found if opts.json else tunnels.table(found)


def add_revisit_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what ``lab revisits`` takes."""
    parser.add_argument("--pages", type=int, default=2_000, metavar="N", help="pages of the web (2000)")
    parser.add_argument("--passes", type=int, default=15, metavar="N", help="passes over it (15)")
    parser.add_argument("--days", type=float, default=60, metavar="N", help="between changes of the median page (60)")
    parser.add_argument("--share", type=float, default=0.1, metavar="P", help="of the pages fetched in a pass (0.1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the changes")


def revisit_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``lab revisits``, or their tables."""
    from scrapy_replica.lab.crawls import revisits  # noqa: PLC0415 - what it needs is imported when it runs

    for option, least in (("pages", 1), ("passes", 1), ("days", 0.01), ("share", 0), ("seed", 0)):
        if not getattr(opts, option) >= least:
            raise ValueError(f"--{option} is {getattr(opts, option)}: it must be at least {least}")
    if opts.share > 1:
        raise ValueError(f"--share is {opts.share}: it must be at most 1")
    figures = revisits.evaluate(opts.pages, opts.passes, opts.days, opts.share, opts.seed)
    return figures if opts.json else revisits.table(figures)


def text_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``lab text``, or their table."""
    file = existing(opts.file)
    from scrapy_replica.lab.texts import text  # noqa: PLC0415 - extra lab

    if opts.splits < 1:
        raise ValueError(f"--splits is {opts.splits}: it must be at least 1")
    if opts.topic:
        from scrapy_replica.lab.texts import text_crawl  # noqa: PLC0415 - extra lab

        found = text_crawl.evaluate(file, opts.topic, draws=opts.splits)
        return found["figures"] if opts.json else text_crawl.table(found)
    result = text.evaluate(file, splits=opts.splits)
    return result["figures"] if opts.json else text.table(result)


def noise_figures(opts: argparse.Namespace) -> Mapping[str, float]:
    """Return the figures of ``lab noise``."""
    folder = existing(opts.folder)
    from scrapy_replica.lab.pages import noise  # noqa: PLC0415 - extra lab

    picture = Path(opts.pages) if opts.pages else None
    return noise.evaluate(folder, is_leave_set_out=not opts.shipped, picture=picture)


def form_figures(opts: argparse.Namespace) -> Mapping[str, float] | str:
    """Return the figures of ``lab forms``, or their tables."""
    folder = existing(opts.folder)
    from scrapy_replica.lab.pages import form_results, form_table  # noqa: PLC0415 - extra lab

    figures = form_results.evaluate(folder)
    return figures if opts.json else form_table.table(figures)
