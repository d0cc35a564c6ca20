"""How the arguments of commands are read, and what ``--help`` shows."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from scrapy_replica.commands.command import Command
from scrapy_replica.words.terminal import wrapped

if TYPE_CHECKING:
    from scrapy.settings import Settings

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

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if args is not None and any(action.dest == "job" and not action.option_strings for action in self._declared):
            args = self._with_job_first(list(args))
        return super().parse_known_args(args, namespace)

    def _with_job_first(self, args: list[str]) -> list[str]:
        """Return *args* with the job of ``--job`` as the first of them."""
        for index, arg in enumerate(args):
            if arg == "--":
                break
            if arg == "--job" and index + 1 == len(args):
                self.error("argument --job: expected one argument")
            if arg == "--job":
                return [args[index + 1], *args[:index], *args[index + 2 :]]
            if arg.startswith("--job="):
                return [arg.removeprefix("--job="), *args[:index], *args[index + 1 :]]
        return args

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


class CommandGroup(Command):
    """Commands below one name: ``scrapy replica steer block``."""

    commands: ClassVar[tuple[type[Command], ...]]
    metavar: ClassVar[str]
    """What one of them is called in the usage."""

    def __init_subclass__(cls) -> None:
        cls.examples = tuple(command.examples[0] for command in cls.commands if command.examples)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parts = parser.add_subparsers(dest="part", metavar=self.metavar, required=True)
        for kind in self.commands:
            command = kind()
            part = parts.add_parser(command.name, help=command.help, **_described(command))
            _declare(command, part)
            part.set_defaults(chosen=command)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        chosen: Command = opts.chosen
        return chosen.run(opts, settings)


def parser_of(command: Command) -> Parser:
    parser = Parser(prog=f"scrapy replica {command.name}", **_described(command))
    _declare(command, parser)
    return parser


def _described(command: Command) -> dict[str, Any]:
    told = command.help[0].upper() + command.help[1:]
    examples = "\n".join(f"  {line}" for line in command.examples)
    return {"description": wrapped(f"{told}."), "epilog": f"examples:\n{examples}" if examples else None}


def _declare(command: Command, parser: argparse.ArgumentParser) -> None:
    command.add_arguments(parser)
    if isinstance(command, CommandGroup):
        return
    everywhere = parser.add_argument_group("options of all commands")
    everywhere.add_argument("-s", "--set", action="append", default=[], metavar="NAME=VALUE", help="set a setting")
    everywhere.add_argument("-L", "--loglevel", metavar="LEVEL", help="log level (default: WARNING)")
    everywhere.add_argument("--logfile", metavar="FILE", help="write the log to FILE instead of standard error")
