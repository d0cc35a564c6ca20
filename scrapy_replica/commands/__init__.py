"""The commands of ``scrapy replica``."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from scrapy_replica.commands import crawl, evaluate, explain, hosts, list_forms, rehearse, rules

if TYPE_CHECKING:
    from scrapy_replica.commands.command import Command

COMMANDS: tuple[Command, ...] = (
    crawl.CrawlCommand(),
    rehearse.RehearseCommand(),
    explain.ExplainCommand(),
    hosts.HostsCommand(),
    hosts.BlockCommand(),
    hosts.AllowCommand(),
    rules.RulesCommand(),
    list_forms.FormsCommand(),
    evaluate.EvalCommand(),
)


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
        for command in COMMANDS:
            sub = commands.add_parser(command.name, help=command.help, description=command.help, parents=[everywhere])
            command.add_arguments(sub)
            sub.set_defaults(run=command)

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        if args:
            raise UsageError(f"unknown arguments: {' '.join(args)}", print_help=False)
        command: Command | None = getattr(opts, "run", None)
        if command is None:
            raise UsageError("name a command: " + ", ".join(c.name for c in COMMANDS), print_help=False)
        assert self.settings is not None
        try:
            self.exitcode = command.run(opts, self.settings)
        except (ValueError, ImportError) as error:
            sys.stderr.write(f"scrapy replica {command.name}: {error}\n")
            self.exitcode = 2
