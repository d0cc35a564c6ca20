"""``scrapy replica lab generate``: a web of any size from a seed, with the truth about it."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command, as_object, needing
from scrapy_replica.lab.commands.output import print_measures
from scrapy_replica.lab.generation import measured
from scrapy_replica.lab.generation.control import TELLS, WANTED, make_control, write_control
from scrapy_replica.words.terminal import table, wrapped

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

    from scrapy_replica.lab.archives.collection import Documents
    from scrapy_replica.lab.generation.web import Chunk

TOLD = (
    "uci: 44,155 pages of a university; emacswiki: 9,324 of a wiki; mdn: 7,930 of a manual. What the generated web has "
    "otherwise than the web: the page Generated webs of the documentation."
)


class GenerateCommand(Command):
    """Makes webs, and shows their statistics beside those of real collections."""

    name = "generate"
    help = "make a web of any size from a seed, to visit or to crawl, with its truth"
    group = "measure"
    examples = (
        "scrapy replica lab generate --pages 1000000 --seed 1 --out web",
        "scrapy replica lab generate --pages 10000 --out web --warc",
        "scrapy replica lab generate --control words --sites 40 --out control",
        "scrapy replica lab generate --show web",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--pages", type=int, metavar="N", help="pages in all, copies and traps among them")
        parser.add_argument("--seed", type=int, default=1, metavar="S", help="another one, another web (1)")
        parser.add_argument("--out", metavar="DIR", help="new folder for the web and its truth")
        parser.add_argument("--warc", action="store_true", help="the pages as WARC, in place of a direct archive")
        parser.add_argument("--control", choices=TELLS, help="sites of one make instead; what tells the way on them")
        parser.add_argument("--sites", type=int, default=40, metavar="N", help="--control: sites (40)")
        parser.add_argument("--depth", type=int, default=3, metavar="N", help="--control: links to what is wanted (3)")
        parser.add_argument(
            "--noise", type=int, default=15, metavar="N", help="--control: words of its site on a page (15)"
        )
        parser.add_argument(
            "--binary", type=float, default=1.0, metavar="X", help="--control: sites where only wanted pages say so (1)"
        )
        parser.add_argument("--show", metavar="DIR", help="statistics of a web, an archive, or a Parquet file")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        if opts.show is not None:
            if opts.pages is not None or opts.out is not None or opts.warc or opts.control:
                raise ValueError("--show is of a web that there is: leave --pages, --control, --out and --warc out")
            return show(Path(opts.show), as_json=opts.json)
        if opts.control:
            if opts.out is None or opts.pages is not None or opts.warc:
                raise ValueError("--control makes a direct archive of --sites sites: give --out, not --pages or --warc")
            return make_sites(opts)
        if opts.pages is None or opts.out is None:
            raise ValueError("give --pages N and --out DIR to make a web, or --show DIR to see one")
        return make(opts)


def make(opts: argparse.Namespace) -> int:
    """Write a web and print what is in it."""
    with needing("warc", "generate --warc needs") if opts.warc else needing("lab", "direct archives need"):
        from tqdm import tqdm  # noqa: PLC0415 - an extra

        if not opts.warc:
            import scrapy_replica.lab.archives.direct  # noqa: F401, PLC0415 - an extra
    from scrapy_replica.lab.generation.build import build  # noqa: PLC0415
    from scrapy_replica.lab.generation.plan import KINDS  # noqa: PLC0415

    wall, cpu, out = time.perf_counter(), time.process_time(), Path(opts.out)

    def shown(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
        with tqdm(desc="pages", total=opts.pages, unit=" pages", leave=False, disable=None) as bar:
            for chunk in chunks:
                yield chunk
                bar.update(chunk.stop - chunk.first)

    try:
        web = build(opts.pages, opts.seed, out, as_warc=opts.warc, shown=shown)
    except KeyboardInterrupt:
        sys.stderr.write(f"{out} holds part of a web: delete it\n")
        raise
    figures: dict[str, float] = {"pages": len(web), "hosts": len(web.plan.original)}
    for number, kind in enumerate(KINDS):
        figures[f"pages.{kind or 'plain'}"] = int((web.plan.kind == number).sum())
    figures |= {f"topic.{name}": len(pages) for name, pages in web.labels.items()}
    figures["bytes"] = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    figures["pages_a_second"] = len(web) / (time.perf_counter() - wall)
    figures["pages_a_cpu_second"] = len(web) / (time.process_time() - cpu)
    inputs = {"pages": opts.pages, "seed": opts.seed, "out": opts.out, "warc": opts.warc}
    print_measures(figures, inputs, as_json=opts.json)
    return 0


def make_sites(opts: argparse.Namespace) -> int:
    """Write a control and print what is in it."""
    inputs = {name: getattr(opts, name) for name in ("control", "sites", "depth", "noise", "binary", "seed", "out")}
    made = make_control(opts.sites, opts.depth, opts.noise, opts.binary, opts.control, opts.seed)
    with needing("lab", "direct archives need"):
        write_control(made, Path(opts.out))
    pages = made.collection
    figures = {"pages": len(pages), "hosts": opts.sites, f"topic.{WANTED}": len(pages.labels[WANTED])}
    print_measures(figures, inputs, as_json=opts.json)
    return 0


def show(path: Path, *, as_json: bool) -> int:
    """Print the statistics of a collection beside those of real ones."""
    with needing("lab", "statistics need"):
        documents = _documents(path)
    from scrapy_replica.lab.generation.statistics import statistics  # noqa: PLC0415

    figures = statistics(documents)
    if as_json:
        sys.stdout.write(json.dumps(as_object(figures, {"show": str(path)})) + "\n")
        return 0
    rows = []
    for name, told in measured.NAMES.items():
        values = (figures.get(name, float("nan")), *measured.REAL[name])
        rows.append((told, *(_number(value) for value in values)))
    sys.stdout.write(table(("", "here", *measured.COLLECTIONS), rows) + "\n" + wrapped(TOLD) + "\n")
    return 0


def _number(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}" if value >= 10 else f"{value:.3f}"


def _documents(path: Path) -> Documents:
    from scrapy_replica.lab.archives.collection import read_parquet  # noqa: PLC0415
    from scrapy_replica.lab.archives.direct import DirectArchive  # noqa: PLC0415
    from scrapy_replica.lab.generation.build import ARCHIVE, WARC  # noqa: PLC0415
    from scrapy_replica.pages.terms import terms  # noqa: PLC0415

    if not path.exists():
        raise ValueError(f"--show: there is no {path}")
    if path.is_file():
        return read_parquet(path, terms)
    if (path / WARC).exists():
        raise ValueError(f"--show: {path} holds WARC; make the same web without --warc, or run archive build on it")
    return DirectArchive(path / ARCHIVE if (path / ARCHIVE).exists() else path)
