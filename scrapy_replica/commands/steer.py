"""``scrapy replica add``, ``exclude``, ``pause`` and ``resume``: where a crawl goes, changed while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request

from scrapy_replica.address import host_of, redacted
from scrapy_replica.commands.command import Command, add_job_argument
from scrapy_replica.commands.hosts import host_name
from scrapy_replica.commands.order import known_host, order
from scrapy_replica.components.spider import read_seeds
from scrapy_replica.crawldb.orders import EXCLUDE, PAUSE, RESUME, SEEDS
from scrapy_replica.urls.scope import Pattern
from scrapy_replica.words import cleaned, counted

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import Settings


class AddCommand(Command):
    """Adds seeds to a crawl; a running one fetches them next."""

    name = "add"
    help = "fetch URLs next, and let their hosts into the scope"
    group = "steer"
    examples = (
        "scrapy replica add https://example.org/new/ --job job",
        "scrapy replica add seeds.txt --job job",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("urls", nargs="+", metavar="URL", help="URLs, or a file with one URL a line")
        add_job_argument(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        urls = [web_url(url) for words in opts.urls for url in read_seeds(words)]
        what = f"{redacted(cleaned(urls[0]))} is" if len(urls) == 1 else f"{counted(len(urls), 'URL')} are"
        return order(opts.job, SEEDS, {"urls": urls}, f"{what} fetched next")


def web_url(text: str) -> str:
    """Return the URL *text* as it is fetched, without its fragment.

    :raises ValueError: it is no http or https URL.
    """
    url = Request(text).url.partition("#")[0]
    if not url.startswith(("http://", "https://")) or not host_of(url):
        raise ValueError(f"{redacted(cleaned(text))} is no http or https URL")
    return url


class ExcludeCommand(Command):
    """Excludes a pattern of URLs from a crawl, or lifts one."""

    name = "exclude"
    help = "fetch nothing more that a pattern of URLs matches, or lift that"
    group = "steer"
    examples = (
        "scrapy replica exclude '*/calendar/*' --job job",
        "scrapy replica exclude '*/calendar/*' --lift --job job",
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("pattern", metavar="PATTERN", help="of whole URLs; * stands for any characters")
        parser.add_argument("--lift", action="store_true", help="fetch it after all: what was kept out comes back")
        add_job_argument(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        pattern = Pattern(opts.pattern).text
        if opts.lift:
            told = f"{pattern} is fetched again, and what it kept out comes back"
            return order(opts.job, EXCLUDE, {"pattern": pattern, "lift": True}, told)
        return order(opts.job, EXCLUDE, {"pattern": pattern}, f"nothing more is fetched that matches {pattern}")


class PauseCommand(Command):
    """Lets a host pause."""

    name = "pause"
    help = "fetch nothing of HOST for now; what waits of it is kept"
    group = "steer"
    examples = ("scrapy replica pause example.org --job job",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("host", metavar="HOST", help="a host, as printed by hosts")
        add_job_argument(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        host = known_host(opts.job, host_name(opts.host))
        return order(opts.job, PAUSE, {"host": host}, f"{host} pauses")


class ResumeCommand(Command):
    """Lets a host go on."""

    name = "resume"
    help = "go on with HOST, which paused"
    group = "steer"
    examples = ("scrapy replica resume example.org --job job",)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("host", metavar="HOST", help="the host")
        add_job_argument(parser)

    def run(self, opts: argparse.Namespace, settings: Settings) -> int:  # noqa: ARG002
        host = known_host(opts.job, host_name(opts.host))
        return order(opts.job, RESUME, {"host": host}, f"{host} goes on")
