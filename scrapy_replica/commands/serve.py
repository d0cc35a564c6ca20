"""``scrapy replica serve``: the control page of a crawl."""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
import time
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy_replica.address import redacted
from scrapy_replica.commands import INTERRUPTED
from scrapy_replica.commands.acts import act, command_of
from scrapy_replica.commands.command import Command
from scrapy_replica.commands.job import has_begun, is_running, reading, trace
from scrapy_replica.commands.run import say
from scrapy_replica.crawl.links.questions import asked_about
from scrapy_replica.crawldb.contract import StoreError
from scrapy_replica.words import cleaned, score

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Mapping

    from scrapy.settings import Settings

    from scrapy_replica.crawldb.reader import Reader

logger = logging.getLogger(__name__)

PORT = 6870

SLOW_SECONDS = 5.0
"""Least time between two looks at what the charts show and at the pages to ask about."""

MOST_ASKED = 10


class ServeCommand(Command):
    """Shows a job in a browser, while its crawl runs, before and after."""

    name = "serve"
    help = "see a crawl live in a browser, and steer it there"
    group = "steer"
    examples = ("scrapy replica serve job",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("job", metavar="JOB", help="folder of the crawl (its JOBDIR)")
        parser.add_argument("--port", type=int, default=PORT, help=f"port of the page ({PORT}); 0 takes a free one")
        parser.add_argument(
            "--bind", metavar="ADDRESS", default="127.0.0.1", help="address to listen at (127.0.0.1: this machine only)"
        )

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        try:
            from scrapy_replica.control.server import Server  # noqa: PLC0415 - needs an extra
        except ImportError as error:
            raise ImportError(f"the control page needs {error.name}: pip install 'scrapy-replica[report]'") from error
        if not 0 <= opts.port < 1 << 16:
            raise ValueError(f"--port is {opts.port}: it must be between 0 and 65535")
        if has_begun(opts.job):
            with reading(opts.job):
                pass  # what cannot be read is refused at once
        elif Path(opts.job).is_file():
            raise ValueError(f"{opts.job} is a file; name the JOBDIR of a crawl")
        else:
            say(f"no crawl has begun in {opts.job} yet: the page waits for it")
        token = secrets.token_urlsafe(32)
        server = Server(ServedJob(opts.job), token, opts.bind)
        asyncio.run(server.run(opts.port, lambda port: _opened(opts.bind, port, token)))
        return INTERRUPTED


def _opened(address: str, port: int, token: str) -> None:
    if not _is_loopback(address):
        say(f"Listening at {address}: whoever reaches it with the token below steers the crawl; nothing is encrypted")
    name = f"[{address}]" if ":" in address else address
    sys.stdout.write(f"http://{name}:{port}/?token={token}\n")
    sys.stdout.flush()
    say("Open this address in a browser; Ctrl-C ends the page, not the crawl")


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address.lower() == "localhost"


def _asking(reader: Reader) -> list[dict[str, str]] | None:
    """Return the pages to ask about; ``None`` where the crawl has no topic that it could learn."""
    try:
        pages = asked_about(reader, MOST_ASKED)
    except StoreError:
        raise
    except ValueError:
        return None
    return [page._asdict() | {"relevance": score(page.relevance), "shown": redacted(page.url)} for page in pages]


class ServedJob:
    """A job as the control page sees it: a :class:`~scrapy_replica.control.feed.Job`.

    :param job: its folder, in which a crawl may not have begun yet.
    """

    def __init__(self, job: str) -> None:
        from scrapy_replica.control import view  # noqa: PLC0415 - the page alone needs it

        self._job = job
        self._broken: set[str] = set()
        self._sections: dict[str, Callable[[Reader], Any]] = {
            "acts": lambda reader: view.acts(reader, lambda order: command_of(order, job)),
            "pairs": view.pairs,
            "copies": view.copies,
            "rules": view.rules,
            "figures": lambda reader: view.figures(reader, is_running=is_running(job)),
            "asking": _asking,
            "report": lambda reader: view.report(reader, is_running=is_running(job)),
        }

    @property
    def sections(self) -> Mapping[str, float]:
        """Return ``state`` and what only a job that has begun has, and the least seconds between two looks at each."""
        return dict.fromkeys(("state", *self._sections), 1.0) | {"asking": SLOW_SECONDS, "report": SLOW_SECONDS}

    def trace(self) -> object:
        """Return something that is another thing whenever the job has changed."""
        return trace(self._job)

    def look(self, sections: Collection[str]) -> Mapping[str, tuple[Any, float]]:
        """Return what there is to show of each of *sections*, and the seconds of processor time that it took."""
        found: dict[str, tuple[Any, float]] = {}
        problem = ""
        try:
            if has_begun(self._job):
                with reading(self._job) as reader:
                    for section in self._sections.keys() & set(sections):
                        begun = time.thread_time()
                        state = self._shown(section, reader)
                        found[section] = state, time.thread_time() - begun
            else:
                problem = "No crawl has begun here yet; what it does is shown as soon as it does."
        except ValueError as error:
            problem = str(error)
        told = {"job": cleaned(self._job), "is_running": is_running(self._job), "problem": problem}
        return {"state": (told, 0.0), **found}

    def _shown(self, section: str, reader: Reader) -> Any:
        """Return what *section* shows; nothing from the moment on that it cannot: the others go on."""
        try:
            return self._sections[section](reader) if section not in self._broken else None
        except StoreError:
            raise
        except Exception:
            logger.exception("The section %s of the page cannot be made and is left out from now on", section)
            self._broken.add(section)

    def act(self, kind: str, what: Mapping[str, Any]) -> tuple[int, str]:
        """Give an order; return its id and the command that does the same."""
        return act(self._job, kind, what)
