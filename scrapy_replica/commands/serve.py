"""``scrapy replica serve``: the control page of a crawl."""

from __future__ import annotations

import asyncio
import secrets
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy_replica.commands import INTERRUPTED
from scrapy_replica.commands.command import Command, needing, say
from scrapy_replica.commands.job import add_job_argument, has_begun, is_shared, name_of, reading

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings

PORT = 6870


class ServeCommand(Command):
    """Shows a job in a browser, while its crawl runs, before and after."""

    name = "serve"
    help = "see a crawl live in a browser, and steer it there"
    group = "steer"
    examples = ("scrapy replica serve job",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_job_argument(parser)
        parser.add_argument("--port", type=int, default=PORT, help=f"port of the page ({PORT}); 0 takes a free one")
        parser.add_argument(
            "--bind", metavar="ADDRESS", default="127.0.0.1", help="address to listen at (127.0.0.1: this machine only)"
        )

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        with needing("report", "the control page needs"):
            from scrapy_replica.commands.served import ServedJob  # noqa: PLC0415 - an extra
            from scrapy_replica.control.server import ControlServer  # noqa: PLC0415
        if not 0 <= opts.port < 1 << 16:
            raise ValueError(f"--port is {opts.port}: it must be between 0 and 65535")
        if has_begun(opts.job):
            with reading(opts.job):
                pass  # what cannot be read is refused at once
        elif not is_shared(opts.job) and Path(opts.job).is_file():
            raise ValueError(f"{opts.job} is a file; name the JOBDIR of a crawl")
        else:
            say(f"no crawl has begun in {name_of(opts.job)} yet: the page waits for it")
        token = secrets.token_urlsafe(32)
        server = ControlServer(ServedJob(opts.job), token, opts.bind)
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
