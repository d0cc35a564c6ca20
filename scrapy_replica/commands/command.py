"""What all commands share: how they are declared and how they print."""

from __future__ import annotations

import json
import platform
import sys
from abc import ABC, abstractmethod
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, ClassVar

from scrapy_replica.commands.figures import as_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from scrapy.settings import Settings


GROUPS = {
    "crawl": "crawl",
    "see": "see what a crawl does and did, and why",
    "steer": "steer a crawl, while it runs or before it is next run",
    "keep": "keep what it brought, and mend what broke",
    "measure": "measure how good the add-on is: the laboratory",
}
"""What commands are for, in the order of the map that ``scrapy replica`` shows."""


class Command(ABC):
    """One command of ``scrapy replica``."""

    name: ClassVar[str]
    help: ClassVar[str]
    """What it is for, in one line that begins with a small letter and has no full stop."""
    group: ClassVar[str] = "see"
    """One of :data:`GROUPS`."""
    examples: ClassVar[tuple[str, ...]] = ()
    """Command lines that ``--help`` shows."""

    @abstractmethod
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""

    @abstractmethod
    def run(self, opts: argparse.Namespace, settings: Settings) -> int:
        """Do it and return the exit code: 0 fine, 1 fell short or found nothing, 2 wrong use, 130 interrupted.

        :raises ValueError: an argument, a setting or a file is wrong: one line that says what to do.
        :raises OSError: a file cannot be read or written.
        :raises ImportError: an extra is missing: one line that names it.
        """


def say(text: str) -> None:
    """Write a line for a person, beside the figures."""
    sys.stderr.write(text + "\n")


@contextmanager
def needing(extra: str, told: str) -> Iterator[None]:
    """Import what *extra* brings within this span; *told* begins the line that says what to install.

    :raises ImportError: it is missing: ``reports need jinja2: pip install 'scrapy-replica[report]'``.
    """
    try:
        yield
    except ImportError as error:
        if error.name is None:
            raise  # it says so itself
        raise ImportError(f"{told} {error.name}: pip install 'scrapy-replica[{extra}]'") from error


def print_figures(figures: Mapping[str, float], inputs: Mapping[str, object], *, as_json: bool) -> None:
    """Print the *figures* of a crawl as one JSON object with inputs and versions, or in words."""
    sys.stdout.write(json.dumps(as_object(figures, inputs)) + "\n" if as_json else as_text(figures))


def as_object(figures: Mapping[str, float], inputs: Mapping[str, object]) -> dict[str, object]:
    """Return *figures* with inputs and versions, as ``--json`` prints them."""
    versions = {name: version(name) for name in ("scrapy-replica", "scrapy", "numpy")}
    versions["python"] = platform.python_version()
    return {"figures": figures, "inputs": {k: _plain(v) for k, v in inputs.items()}, "versions": versions}


def _plain(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
