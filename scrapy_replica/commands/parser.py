"""How the arguments of commands are read, and what ``--help`` shows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from scrapy_replica.words import wrapped

if TYPE_CHECKING:
    from scrapy_replica.commands.command import Command

_MANY = {"?": "[{}]", "*": "[{} ...]", "+": "{} [{} ...]", argparse.PARSER: "{} ..."}
"""How often an argument may come -> how a usage line shows it."""


class Parser(argparse.ArgumentParser):
    """Reads what follows ``scrapy replica``: what must be given stands first in its usage, errors are one line."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._declared: list[argparse.Action] = []
        super().__init__(*args, **kwargs)
        self.formatter_class = argparse.RawDescriptionHelpFormatter

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        action = super().add_argument(*args, **kwargs)
        self._declared.append(action)
        return action

    def add_subparsers(self, **kwargs: Any) -> Any:
        action = super().add_subparsers(**kwargs)
        self._declared.append(action)
        return action

    def format_help(self) -> str:
        given = [_shown(action) for action in self._declared if not action.option_strings]
        wanted = [
            f"{action.option_strings[-1]} {_shown(action)}"
            for action in self._declared
            if action.option_strings and action.required
        ]
        self.usage = wrapped(" ".join([self.prog, *given, *wanted, "[options]"]), hanging=len("usage: "), width=73)
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help tells more\n")


def _shown(action: argparse.Action) -> str:
    is_choice = action.choices is not None and not action.option_strings
    choices = f"{{{','.join(map(str, action.choices or ()))}}}" if is_choice else action.dest
    name = str(action.metavar or choices)
    return _MANY.get(str(action.nargs), "{}").replace("{}", name)


def parser_of(command: Command) -> Parser:
    """Return the parser of the arguments of *command*."""
    told = command.help[0].upper() + command.help[1:]
    examples = "\n".join(f"  {line}" for line in command.examples)
    parser = Parser(
        prog=f"scrapy replica {command.name}",
        description=wrapped(f"{told}."),
        epilog=f"examples:\n{examples}" if examples else None,
    )
    command.add_arguments(parser)
    everywhere = parser.add_argument_group("options of all commands")
    everywhere.add_argument("-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="set a setting")
    everywhere.add_argument("-L", "--loglevel", metavar="LEVEL", help="log level (default: WARNING)")
    everywhere.add_argument("--logfile", metavar="FILE", help="write the log to FILE instead of standard error")
    return parser
