"""``scrapy replica lab manuals``: families of hosts made from the documentation that package registries hold."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands.command import Command
from scrapy_replica.lab.commands.output import existing

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings


class ManualsCommand(Command):
    """Gets the packages of a table and writes hosts that serve their manuals, with the truth about each pair."""

    name = "manuals"
    help = "make families of hosts from documentation in package registries, to judge them by lab replicas"
    group = "measure"
    examples = ("scrapy replica lab manuals --packages packages --out manuals",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--table", metavar="CSV", help="family, registry, package, version, language, licence")
        parser.add_argument("--packages", metavar="DIR", required=True, help="where packages are kept once they came")
        parser.add_argument("--out", metavar="DIR", required=True, help="new folder for the hosts and their truth")
        parser.add_argument("--seed", type=int, default=1, metavar="N", help="another one, other hosts (1)")

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        from scrapy_replica.lab.manuals.folder import make  # noqa: PLC0415 - needed when it runs
        from scrapy_replica.lab.manuals.packages import TABLE, read_table  # noqa: PLC0415

        out = Path(opts.out)
        if out.exists():
            raise ValueError(f"{out} exists: name a new folder")
        editions = read_table(existing(opts.table) if opts.table else TABLE)
        n_hosts = make(editions, Path(opts.packages), out, opts.seed, lambda line: print(line, file=sys.stderr))
        sys.stdout.write(f"{n_hosts:,} hosts are in {out}\n")
        return 0
