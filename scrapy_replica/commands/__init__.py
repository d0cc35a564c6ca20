"""The commands of ``scrapy replica``."""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import sys
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, ParamSpec

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from scrapy_replica.commands.command import Command

COMMANDS = {
    "crawl": (".crawl", "CrawlCommand"),
    "rehearse": (".rehearse", "RehearseCommand"),
    "status": (".status", "StatusCommand"),
    "report": (".report", "ReportCommand"),
    "serve": (".serve", "ServeCommand"),
    "explain": (".explain", "ExplainCommand"),
    "hosts": (".hosts", "HostsCommand"),
    "rules": (".rules", "RulesCommand"),
    "judge": (".judge", "JudgeCommand"),
    "steer": (".steer", "SteerCommand"),
    "export": (".export", "ExportCommand"),
    "mine": (".mine", "MineCommand"),
    "doctor": (".doctor", "DoctorCommand"),
    "lab": ("..lab.commands.lab", "LabCommand"),
}
"""Name of a command -> its module, relative to this one, and its class."""

P = ParamSpec("P")

INTERRUPTED = 128 + signal.SIGINT


def load_commands() -> Iterator[Command]:
    return map(command_named, COMMANDS)


def _interruptible(method: Callable[P, None]) -> Callable[P, None]:
    """Let Ctrl-C end the command without a traceback; a crawl has its own way to end, while it runs."""

    @wraps(method)
    def interruptible(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(*args, **kwargs)
        except KeyboardInterrupt:
            sys.stderr.write("interrupted\n")
            sys.exit(INTERRUPTED)

    return interruptible


class _ShowMap(argparse.Action):
    """Show the map of the commands above the options: all are imported for it, but not for one of them."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.description = map_of_commands()
        parser.print_help()
        parser.exit()


class ReplicaCommand(ScrapyCommand):
    """``scrapy replica COMMAND``: one entry point, a module for each command."""

    requires_crawler_process = False
    default_settings = {"LOG_LEVEL": "WARNING"}  # noqa: RUF012 - Scrapy's own way to declare it

    def syntax(self) -> str:
        return "COMMAND ... [options]"

    def short_desc(self) -> str:
        return "Focused crawls that know what they have seen"

    @_interruptible
    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.add_argument("-h", "--help", action=_ShowMap, nargs=0, help="show this help message and exit")
        parser.add_argument(
            "arguments", nargs=argparse.REMAINDER, metavar="COMMAND", help="a command, and what it takes"
        )

    @_interruptible
    def process_options(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy_replica.commands.parser import parser_of  # noqa: PLC0415 - not for Scrapy's own commands

        try:
            if args:
                raise UsageError(f"unknown arguments: {' '.join(args)}; a command comes first")
            if opts.arguments:
                name, *given = opts.arguments
                opts.run = command_named(name)
                parser_of(opts.run).parse_args(given, opts)
            super().process_options(args, opts)
        except UsageError as error:
            sys.stderr.write(f"scrapy replica: {error}\n")
            raise UsageError(print_help=False) from None  # Scrapy would print its usage as well

    @_interruptible
    def run(self, args: list[str], opts: argparse.Namespace) -> None:  # noqa: ARG002
        from scrapy_replica.components.refused import one_line  # noqa: PLC0415 - not for Scrapy's own commands

        assert self.settings is not None
        command: Command | None = getattr(opts, "run", None)
        _write_anything()
        try:
            if command is None:
                sys.stdout.write(map_of_commands())
            else:
                self.exitcode = command.run(opts, self.settings)
            sys.stdout.flush()
        except BrokenPipeError:  # as of ``scrapy replica hosts --job DIR | head``
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except sqlite3.DatabaseError as error:
            self._refuse(opts, f"the crawl database cannot be used: {one_line(error)}")
        except (ValueError, ImportError, OSError) as error:
            self._refuse(opts, one_line(error))

    def _refuse(self, opts: argparse.Namespace, why: str) -> None:
        from scrapy_replica.words.text import cleaned  # noqa: PLC0415 - not for Scrapy's own commands

        names = [command.name for name in ("run", "chosen") if (command := getattr(opts, name, None))]
        sys.stderr.write(f"{' '.join(['scrapy replica', *names])}: {cleaned(why, 2_000)}\n")
        self.exitcode = 2


def command_named(name: str) -> Command:
    """Return the command called *name*; no other one is imported, since each takes long enough by itself.

    :raises UsageError: there is none.
    """
    if name not in COMMANDS:
        close = get_close_matches(name, COMMANDS, 1)
        hint = f"did you mean {close[0]}?" if close else "scrapy replica, alone, tells which there are"
        raise UsageError(f"there is no command {name!r}; {hint}")
    module, kind = COMMANDS[name]
    command: Command = getattr(import_module(module, __name__), kind)()
    return command


def map_of_commands() -> str:
    """Return what each command is for, in groups."""
    from scrapy_replica.commands.command import GROUPS  # noqa: PLC0415
    from scrapy_replica.words.terminal import wrapped  # noqa: PLC0415

    commands = list(load_commands())
    width = 4 + max(len(command.name) for command in commands)
    lines = ["Focused crawls that know what they have seen: scrapy replica COMMAND ..."]
    for group, title in GROUPS.items():
        lines += ["", title]
        lines += [
            f"  {command.name:<{width - 2}}{wrapped(command.help, width).lstrip()}"
            for command in commands
            if command.group == group
        ]
    lines += ["", "scrapy replica COMMAND --help tells what a command takes, with examples."]
    return "\n".join(lines) + "\n"


def _write_anything() -> None:
    """Let no character fail to be written that the terminal has no code for."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
