"""The commands of ``scrapy replica``."""

from __future__ import annotations

import argparse
import sqlite3
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_replica.components.refused import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy_replica.commands.command import Command

COMMANDS = (
    ("crawl", "CrawlCommand"),
    ("rehearse", "RehearseCommand"),
    ("explain", "ExplainCommand"),
    ("model", "ModelCommand"),
    ("hosts", "HostsCommand"),
    ("hosts", "BlockCommand"),
    ("hosts", "AllowCommand"),
    ("rules", "RulesCommand"),
    ("list_forms", "FormsCommand"),
    ("report", "ReportCommand"),
    ("salvage", "SalvageCommand"),
    ("evaluate", "EvalCommand"),
)
"""Module and class of each command."""


def load_commands() -> Iterator[Command]:
    """Yield the commands. Scrapy loads this module for each of its own commands, which must not pay for ours."""
    for module, name in COMMANDS:
        yield getattr(import_module(f"{__name__}.{module}"), name)()


class ReplicaCommand(ScrapyCommand):
    """``scrapy replica COMMAND``: one entry point, a module for each command."""

    requires_crawler_process = False
    default_settings = {"LOG_LEVEL": "WARNING"}  # noqa: RUF012 - Scrapy's own way to declare it

    def syntax(self) -> str:
        return "COMMAND [options]"

    def short_desc(self) -> str:
        return "Focused crawls that know what they have seen"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        everywhere = argparse.ArgumentParser(add_help=False)
        everywhere.add_argument(
            "-s", "--set", action="append", default=argparse.SUPPRESS, metavar="NAME=VALUE", help="set a setting"
        )
        everywhere.add_argument("-L", "--loglevel", default=argparse.SUPPRESS, metavar="LEVEL", help="log level")
        commands = parser.add_subparsers(dest="command", metavar="COMMAND")
        for command in load_commands():
            sub = commands.add_parser(command.name, help=command.help, description=command.help, parents=[everywhere])
            command.add_arguments(sub)
            sub.set_defaults(run=command)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unknown arguments: {' '.join(args)}", print_help=False)
        command: Command | None = getattr(opts, "run", None)
        if command is None:
            raise UsageError("name a command: " + ", ".join(c.name for c in load_commands()), print_help=False)
        assert self.settings is not None
        try:
            self.exitcode = command.run(opts, self.settings)
        except sqlite3.DatabaseError as error:
            sys.stderr.write(f"scrapy replica {command.name}: the crawl database cannot be used: {error}\n")
            self.exitcode = 2
        except (ValueError, ImportError, OSError) as error:
            sys.stderr.write(f"scrapy replica {command.name}: {one_line(error)}\n")
            self.exitcode = 2
