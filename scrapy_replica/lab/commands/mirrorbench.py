"""``scrapy replica lab mirrorbench``: a benchmark of mirrors and near misses for any crawler, and its baselines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command, needing, say
from scrapy_replica.lab.commands.output import existing

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

    from scrapy_replica.lab.manuals.packages import Edition
    from scrapy_replica.lab.manuals.trees import Tree


class MirrorBenchCommand(Command):
    """Makes the benchmark, serves it to any crawler, and runs the baselines on it."""

    name = "mirrorbench"
    help = "make a benchmark of mirrors and near misses, serve it to any crawler, and run baselines on it"
    group = "measure"
    examples = (
        "scrapy replica lab mirrorbench make --out bench",
        "scrapy replica lab mirrorbench make --out bench --packages packages",
        "scrapy replica lab mirrorbench serve bench/test --out mine/test/fetches.jsonl",
        "scrapy replica lab mirrorbench baselines bench --out results",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        make = actions.add_parser("make", help="write the webs, what is true of them, the card and the scorer")
        make.add_argument("--out", metavar="DIR", required=True, help="new folder")
        make.add_argument(
            "--packages", metavar="DIR", help="real manuals in place of made texts; where their packages are kept"
        )
        make.add_argument(
            "--table", metavar="CSV", help="family, registry, package, version, language, licence of each"
        )
        make.add_argument("--seed", type=int, default=1, metavar="N", help="another one, other webs (1)")
        make.set_defaults(act=make_bench)
        serve = actions.add_parser("serve", help="answer a crawler over HTTP, as a proxy, and log what it asks for")
        serve.add_argument("split", metavar="DIR", help="a split: bench/test")
        serve.add_argument("--port", type=int, default=8080, metavar="N", help="on 127.0.0.1 (8080)")
        serve.add_argument("--out", metavar="FILE", help="new file for the requests, which the scorer reads")
        serve.set_defaults(act=serve_split)
        baselines = actions.add_parser(
            "baselines", help="run and score plain Scrapy, canonical, NormPaths, the add-on, mine"
        )
        baselines.add_argument("bench", metavar="DIR", help="what make wrote")
        baselines.add_argument("--out", metavar="DIR", required=True, help="new folder for the results")
        baselines.add_argument("--orders", type=int, default=1, metavar="N", help="crawl in N orders of links (1)")
        baselines.set_defaults(act=run_baselines)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        result: int = opts.act(opts)
        return result


def make_bench(opts: argparse.Namespace) -> int:
    """Write the benchmark and tell what is in it."""
    if opts.table and not opts.packages:
        raise ValueError("--table names packages: --packages says where they are kept")
    out, packages = _new(opts.out), Path(opts.packages) if opts.packages else None
    table = existing(opts.table) if opts.table else None
    with needing("lab", "features need"):
        from scrapy_replica.lab.mirrorbench.folder import make  # noqa: PLC0415 - needs an extra
    splits = make(out, _made(opts.seed) if packages is None else _manuals(packages, table), opts.seed, packages)
    for split, counts in splits.items():
        told = ", ".join(
            f"{counts[name]:,} {name.replace('_', ' ')}" for name in ("families", "hosts", "copies", "urls")
        )
        sys.stdout.write(f"{split}: {told}, {counts['near_miss']:,} near misses\n")
    sys.stdout.write(f"{out / 'README.md'} says what all of it is\n")
    return 0


def _made(seed: int) -> dict[Edition, Tree]:
    from scrapy_replica.lab.mirrorbench.families import made_families  # noqa: PLC0415 - needed when it runs

    return made_families(seed)


def _manuals(packages: Path, table: Path | None) -> dict[Edition, Tree]:
    from scrapy_replica.lab.manuals.folder import read_trees  # noqa: PLC0415 - needed when it runs
    from scrapy_replica.lab.manuals.packages import TABLE, read_table  # noqa: PLC0415
    from scrapy_replica.lab.mirrorbench.families import MAX_PAGES  # noqa: PLC0415

    return read_trees(read_table(table or TABLE), packages, say, MAX_PAGES)


def serve_split(opts: argparse.Namespace) -> int:
    """Serve a split until interrupted."""
    from scrapy_replica.lab.mirrorbench.replay import serve  # noqa: PLC0415 - needed when it runs

    return serve(existing(opts.split), opts.port, Path(opts.out) if opts.out else None)


def run_baselines(opts: argparse.Namespace) -> int:
    """Run all baselines and print how they score."""
    bench, out = existing(opts.bench), _new(opts.out)
    with needing("lab,mine", "baselines need"):
        from scrapy_replica.lab.mirrorbench.baselines import run  # noqa: PLC0415 - needs extras
    sys.stdout.write(run(bench, out, opts.orders, say) + "\n")
    return 0


def _new(name: str) -> Path:
    path = Path(name)
    if path.exists():
        raise ValueError(f"--out: {path} exists; name a new folder")
    return path
